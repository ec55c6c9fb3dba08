"""`ctk cdi transform root`: a spec made for one driver root becomes one for another; the rules are in ctk.cdi."""

import sys
from typing import TYPE_CHECKING

import click

from ctk.cdi.transform import HOST, SIDES, RootChange, transform_root
from ctk.cli import finish_with_help
from ctk.cli.app import App, shared_options
from ctk.cli.arguments import CtkCommand, CtkGroup
from ctk.errors import ParseFault, ReadFault, UsageFault
from ctk.result import Message, Result

if TYPE_CHECKING:
    from ctk.facts.cdi import SpecFault
    from ctk.facts.cdi_spec import CdiSpec

STANDARD = "-"
CONTEXT = {"help_option_names": ["--help", "-h"]}


class TransformGroup(CtkGroup):
    """The kinds of change."""

    rows = (("root", "ctk.cli.cdi_transform", "root", "Change the root that a spec's paths begin with."),)


@click.group(cls=TransformGroup, name="transform", invoke_without_command=True, context_settings=CONTEXT)
@shared_options
@click.pass_context
def transform(ctx: click.Context) -> None:
    """Change a CDI spec as a whole."""
    if ctx.invoked_subcommand is None:
        finish_with_help(ctx)


@click.command(cls=CtkCommand, name="root", context_settings=CONTEXT)
@click.option("--from", "source", default="/", show_default=True, metavar="DIR", help="The root the paths begin with.")
@click.option("--to", "target", default="/", show_default=True, metavar="DIR", help="The root they are to begin with.")
@click.option(
    "--relative-to",
    type=click.Choice(SIDES),
    default=HOST,
    show_default=True,
    help="Whose paths are changed: where things come from, or where they go to.",
)
@click.option("--input", "input_file", default=STANDARD, metavar="FILE", help="The spec to read; - is stdin. [-]")
@click.option("--output", "output_file", default="", metavar="FILE", help="The spec to write, with mode 0644. [stdout]")
@click.option(
    "--format", "output_format", type=click.Choice(("yaml", "json")), help="[by the output's name, else yaml]"
)
@shared_options
@click.pass_obj
def root(
    app: App,
    source: str,
    target: str,
    relative_to: str,
    input_file: str,
    output_file: str,
    output_format: str | None,
) -> None:
    """Change the root that the paths of a spec begin with; a path elsewhere stays as it is.

    A comment in the file does not survive. The cdiVersion stays unless a node needs hostPath (0.5.0).

    Example: ctk cdi transform root --from=/run/nvidia/driver --to=/ --input=nvidia.yaml --output=/etc/cdi/nvidia.yaml
    """
    app.command = "cdi transform root"
    app.refuse_snapshot()
    for name, folder in (("--from", source), ("--to", target)):
        if not folder.startswith("/"):
            raise UsageFault(f"{name} must be an absolute path, not {folder!r}", hint="Nothing was changed.")
    before, messages = _read(input_file)
    after = _with_enough_version(transform_root(before, RootChange(source, target, relative_to)))
    app.finish(_result(app, before, after, (output_file, output_format), messages))


def _read(path: str) -> tuple["CdiSpec", tuple[Message, ...]]:
    """The spec, and what is surprising in it. Raises ReadFault, ParseFault if no engine would load it."""
    from ctk.cdi.load import load_spec
    from ctk.cdi.validate import validate_spec
    from ctk.facts.cdi import REFUSED

    name = "the spec on stdin" if path == STANDARD else path
    loaded = load_spec(_bytes(path, name))
    if loaded.spec is None:
        raise _parse_fault(path, name, loaded.faults[0])
    faults = (*loaded.faults, *validate_spec(loaded.spec))
    for fault in faults:
        if fault.level == REFUSED:
            raise _parse_fault(path, name, fault)
    return loaded.spec, tuple(Message("warning", f"{name}: {fault.message}") for fault in faults)


def _parse_fault(path: str, name: str, fault: "SpecFault") -> ParseFault:
    where = f"{fault.where}: " if fault.where else ""
    return ParseFault(
        f"cannot read {name}: {where}{fault.message}",
        hint="Mend the file first; `ctk cdi validate FILE` shows all that is wrong. Nothing was changed.",
        path=None if path == STANDARD else path,
        line=fault.line,
        column=fault.column,
    )


def _bytes(path: str, name: str) -> bytes:
    try:
        if path == STANDARD:
            return sys.stdin.buffer.read()
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ReadFault(f"cannot read {name}: {reason}", path=path, hint="Nothing was changed.") from error


def _with_enough_version(spec: "CdiSpec") -> "CdiSpec":
    """The stated version, or the one that the moved paths need."""
    from ctk.cdi.version import VERSIONS, minimum_version

    needed = minimum_version(spec)
    stated = spec.version.removeprefix("v")
    return spec if VERSIONS.index(stated) >= VERSIONS.index(needed) else spec._replace(version=needed)


def _result(
    app: App,
    before: "CdiSpec",
    after: "CdiSpec",
    output: tuple[str, str | None],
    messages: tuple[Message, ...],
) -> Result:
    from ctk.cdi.diff import diff_specs
    from ctk.cdi.document import render_json, render_yaml, spec_to_document

    path, form = output
    text = render_json(after) if (form or path.rpartition(".")[2]) == "json" else render_yaml(after)
    changes = len(diff_specs(before, after))
    data: dict[str, object] = {"changes": changes, "output": path or None}
    if not path:
        return Result(app.command, {**data, "spec": spec_to_document(after)}, text=text, messages=messages)
    from ctk.change.output import write_output

    write_output(path, text.encode(), mode=0o644)
    return Result(app.command, data, text=f"{path}: written, {changes} entries changed.\n", messages=messages)
