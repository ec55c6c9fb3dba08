"""`ctk cdi generate`: options in, one spec out, to a file or to stdout; what it says is decided in ctk.cdi."""

import os
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import click

from ctk.cli.app import App, shared_options
from ctk.cli.arguments import CtkCommand
from ctk.cli.cdi_options import PREFIX, generate_options, make_query, make_request
from ctk.cli.paths import absolute_path, naming_files
from ctk.errors import UsageFault
from ctk.result import Message, Result

if TYPE_CHECKING:
    from ctk.cdi.request import Generated
    from ctk.facts.cdi_spec import CdiSpec
    from ctk.host import Host

FORMATS = ("yaml", "json")
MODE = 0o644
TOLD = ("device", "control node", "name", "order", "group", "annotation", "field")
"""What is worth a line without --verbose: a device that is missing or called otherwise than asked for."""


@click.command(cls=CtkCommand, name="generate", context_settings={"help_option_names": ["--help", "-h"]})
@click.option(
    "--output",
    "output_file",
    default="",
    metavar="FILE",
    envvar="NVIDIA_CTK_CDI_OUTPUT_FILE_PATH",
    help="The file to write, with mode 0644, such as /etc/cdi/nvidia.yaml. [stdout]",
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(FORMATS, case_sensitive=False),
    envvar=f"{PREFIX}OUTPUT_FORMAT",
    help="[json if the file's name ends so, else yaml]",
)
@generate_options
@click.option("--verbose", "-v", is_flag=True, help="Also say which files and nodes were left out, and why.")
@shared_options
@click.pass_context
def generate(ctx: click.Context, /, **values: object) -> None:
    """Describe this host's GPUs to the container engines: write a CDI spec.

    Exit 0: written, or the file says it already; 3: something is there but cannot be described; 4: no driver or no GPU
    here. In both cases nothing is written and an older file stays as it is.

    Example: ctk cdi generate --output=/etc/cdi/nvidia.yaml
    """
    app = ctx.ensure_object(App)
    app.command = "cdi generate"
    app.refuse_snapshot()
    _refuse_two_formats(ctx, app, values)
    host = app.host()
    with naming_files(host):
        generated, warnings = make_spec(app, host, values)
        messages = (*(Message("warning", text) for text in warnings), *notes(generated, bool(values["verbose"])))
        output = absolute_path(app, str(values["output_file"] or ""))
        form = choose_format(output or "", values["output_format"])
        result = _to_stdout(app, generated, form) if output is None else _to_file(app, host, generated, output, form)
    app.finish(result._replace(messages=(*messages, *result.messages)))


def make_spec(app: App, host: "Host", values: Mapping[str, object]) -> tuple["Generated", tuple[str, ...]]:
    """The spec that the options of `generate_options` ask for, as this host is now, and warnings; writes nothing.

    Raises UsageFault (2), NotApplicable (4), CtkError (3).
    """
    from ctk.cdi.generate import generate as generate_spec
    from ctk.host.driver_root import collect_driver_root

    request, warnings = make_request(values, host)
    query = make_query(app, host, values)
    with _progress(app):
        facts = collect_driver_root(host, query)
    return generate_spec(facts, request), warnings


def _progress(app: App) -> AbstractContextManager[object]:
    """A driver that nobody uses starts every GPU before it answers, which takes its time: say so on a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        return nullcontext()
    from ctk.cli.progress import Progress, progress_stream

    progress = Progress(progress_stream(sys.stderr, quiet=app.quiet))
    progress.tell("nvml")
    return progress


def _refuse_two_formats(ctx: click.Context, app: App, values: Mapping[str, object]) -> None:
    """--json is about stdout; with --output the format is the file's."""
    given = ctx.get_parameter_source("output_format") is click.core.ParameterSource.COMMANDLINE
    if app.json and given and not values["output_file"]:
        raise UsageFault(
            "--json and --format exclude each other without --output",
            hint="--json prints an envelope around the spec, --format json the bare spec. Nothing was changed.",
        )


def choose_format(path: str, asked: object) -> str:
    """The one that is asked for, else by the file's name; .yml and no ending are YAML."""
    if asked:
        return str(asked).lower()
    return "json" if path.lower().endswith(".json") else "yaml"


def render(spec: "CdiSpec", form: str) -> str:
    """The text of a spec."""
    from ctk.cdi.document import render_json, render_yaml

    return render_json(spec) if form == "json" else render_yaml(spec)


def notes(generated: "Generated", verbose: bool) -> tuple[Message, ...]:
    """One line for each reason; what is not TOLD only with --verbose."""
    names: dict[tuple[str, str], list[str]] = {}
    for row in generated.left_out:
        names.setdefault((row.what, row.reason), []).append(row.name)
    levels = {True: "warning", False: "info"}
    return tuple(
        Message(levels[what in TOLD], f"left out: {what} {', '.join(listed)}: {reason}")
        for (what, reason), listed in names.items()
        if verbose or what in TOLD
    )


def report(generated: "Generated") -> dict[str, object]:
    """What was made, as data; without the spec itself."""
    return {
        "mode": generated.mode,
        "source": generated.source,
        "driver_version": generated.driver_version or None,
        "kind": generated.spec.kind,
        "cdi_version": generated.spec.version,
        "devices": [device.name for device in generated.spec.devices],
        "left_out": [row._asdict() for row in generated.left_out],
    }


def _to_stdout(app: App, generated: "Generated", form: str) -> Result:
    from ctk.cdi.document import spec_to_document

    specs = (generated.spec, *(spec for _, spec in generated.others))
    data = {**report(generated), "output": None, "changed": False, "others": []}
    text = "" if app.json else "".join(render(spec, form) for spec in specs)
    spec = spec_to_document(generated.spec) if app.json else None
    return Result(app.command, {**data, "spec": spec}, text=text)


def _to_file(app: App, host: "Host", generated: "Generated", output: str, form: str) -> Result:
    """The file, and beside it those of the other specs, each by a word before its ending."""
    from ctk.cli.cdi_neighbours import warn_of_neighbours

    files = spec_files(output, generated)
    written = [write_spec(host, path, render(spec, form)) for path, spec in files]
    paths = [path for path, _ in written]
    data = {**report(generated), "output": paths[0], "changed": written[0][1], "others": paths[1:], "spec": None}
    verbs = {True: "written", False: "says so already"}
    lines = [
        f"{path}: {verbs[changed]}, {spec.kind} with {count_devices(spec)} (CDI {spec.version}).\n"
        for (path, changed), (_, spec) in zip(written, files, strict=True)
    ]
    warnings = tuple(message for path, spec in files for message in warn_of_neighbours(host, path, spec))
    return Result(app.command, data, text="".join(lines), messages=warnings)


def spec_files(output: str, generated: "Generated") -> list[tuple[str, "CdiSpec"]]:
    """The file of the spec, and those of the further specs, which have a word before the ending."""
    stem, ending = os.path.splitext(output)
    return [(output, generated.spec), *((f"{stem}.{word}{ending}", spec) for word, spec in generated.others)]


def count_devices(spec: "CdiSpec") -> str:
    """For a sentence."""
    number = len(spec.devices)
    return "one device name" if number == 1 else f"{number} device names"


def write_spec(host: "Host", output: str, text: str) -> tuple[str, bool]:
    """Writes a spec file of the host, mode 0644, whole or not at all; its path here, and whether it was not so before.

    A link is followed, below --root inside that root. Raises WriteFault.
    """
    from ctk.change.output import write_output
    from ctk.host.paths import display_path

    shown = display_path(host, output)
    place = _place(host, output)
    content = text.encode()
    if _is_so_already(place, content):
        return shown, False
    write_output(place, content, MODE, make_folders=True)
    return shown, True


def _place(host: "Host", output: str) -> str:
    """The file on this machine. Raises WriteFault for links in a circle, or a file in place of a folder."""
    if host.is_live:
        return output
    from ctk.errors import WriteFault

    try:
        return host.real_path(output)
    except OSError as error:
        raise WriteFault(
            f"cannot write {output}: {(error.strerror or str(error)).lower()}",
            path=output,
            hint="Name a file in a folder you may write to. Nothing was changed.",
        ) from error


def _is_so_already(path: str, content: bytes) -> bool:
    try:
        status = os.stat(path)
        if status.st_size != len(content) or status.st_mode & 0o7777 != MODE:
            return False
        with open(path, "rb") as file:
            return file.read() == content
    except OSError:
        return False
