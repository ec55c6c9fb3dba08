"""`ctk cdi diff` and `ctk cdi refresh`: a spec on disk against what would be made now; how it is made is elsewhere."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

import click

from ctk.cli.app import App, shared_options
from ctk.cli.arguments import CtkCommand
from ctk.cli.cdi_generate import choose_format, count_devices, make_spec, notes, render, report, spec_files, write_spec
from ctk.cli.cdi_options import generate_options
from ctk.cli.paths import absolute_path, naming_files, shown_path, state_of
from ctk.errors import EXIT_NEGATIVE, EXIT_OK, NotApplicable, ReadFault, Refused, UsageFault, WriteFault
from ctk.result import Message, Result

if TYPE_CHECKING:
    from ctk.cdi.diff import SpecDifference
    from ctk.cdi.request import Generated
    from ctk.facts.cdi_spec import CdiSpec
    from ctk.host import Host

DEFAULT_FILE = "/var/run/cdi/nvidia.yaml"
CONTEXT = {"help_option_names": ["--help", "-h"]}
UNIT_OPTIONS = ("install_units", "remove_units")
SHOWN = 20
FORCE = "without-nvml"
LOCK = "cdi-spec"
LOCK_SECONDS = 60.0
"""Longer than a driver takes to start every GPU."""


class Compared(NamedTuple):
    """A spec file, as this machine names it, and what is made now.

    before: the spec in the file; why: why it is none, "" if it is one; is_missing: there is no file. others: files
    of the further specs (feature flag enable-coherent-annotations) that do not say what they should.
    """

    path: str
    generated: "Generated"
    differences: tuple["SpecDifference", ...]
    why: str = ""
    is_missing: bool = False
    warnings: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    before: "CdiSpec | None" = None

    @property
    def is_current(self) -> bool:
        """The file says what would be written now."""
        return not (self.differences or self.why or self.others)


@click.command(cls=CtkCommand, name="diff", context_settings=CONTEXT)
@click.argument("file", default="", metavar="[FILE]")
@generate_options
@click.option("--verbose", "-v", is_flag=True, help="Show every difference.")
@shared_options
@click.pass_context
def diff(ctx: click.Context, /, **values: object) -> None:
    """Compare a spec with what `ctk cdi generate` would write now, by effect: order and spelling do not count.

    FILE is /var/run/cdi/nvidia.yaml, or /etc/cdi/nvidia.yaml where only that is there. Give the options that the file
    was generated with. Exit 0: no difference; 1: it differs, or is no spec; 4: no driver or no GPU here.

    Example: ctk cdi diff /etc/cdi/nvidia.yaml
    """
    app = ctx.ensure_object(App)
    app.command = "cdi diff"
    app.refuse_snapshot()
    host = app.host()
    with naming_files(host):
        path = absolute_path(app, str(values["file"])) or _usual_file(host)
        compared = _compare(app, host, path, values)
    verbose = bool(values["verbose"])
    text = _lines(compared, verbose)
    code = EXIT_OK if compared.is_current else EXIT_NEGATIVE
    app.finish(Result(app.command, _data(compared), code, text=text, messages=_messages(compared, verbose)))


@click.command(cls=CtkCommand, name="refresh", context_settings=CONTEXT)
@click.option(
    "--output",
    "output_file",
    default=DEFAULT_FILE,
    show_default=True,
    metavar="FILE",
    envvar="NVIDIA_CTK_CDI_OUTPUT_FILE_PATH",
    help="The spec to keep true.",
)
@generate_options
@click.option("--dry-run", is_flag=True, help="Show the differences, write nothing.")
@click.option("--check", is_flag=True, help="Exit 1 if the spec is not true any more; write nothing.")
@click.option("--install-units", is_flag=True, help="Have systemd and udev run this when driver or GPUs change.")
@click.option("--remove-units", is_flag=True, help="Take these units away again.")
@click.option("--force", multiple=True, metavar="NAME", help="Overrule one refusal, by the name it prints.")
@click.option("--verbose", "-v", is_flag=True, help="Show every difference.")
@shared_options
@click.pass_context
def refresh(ctx: click.Context, /, **values: object) -> None:
    """Write the spec anew if, and only if, it differs from what `ctk cdi generate` would write now.

    Exit 0: written, or true already; 3: something is there but cannot be described; 4: no driver or no GPU here. In the
    last two cases the old file stays as it is.

    Example: ctk cdi refresh --install-units
    """
    app = ctx.ensure_object(App)
    app.command = "cdi refresh"
    app.refuse_snapshot()
    if values["install_units"] or values["remove_units"]:
        _run_units(ctx, app, values)
        return
    host = app.host()
    with naming_files(host):
        output = absolute_path(app, str(values["output_file"]))
        if output is None:
            raise UsageFault("--output must name a file", hint="Nothing was changed.")
        compared = _compare(app, host, output, values)
        writes = not (values["dry_run"] or values["check"]) and not compared.is_current
        if writes:
            _refuse_without_nvml(app, compared, values["force"])
            compared, writes = write_unless_moved(host, output, compared, lambda: _compare(app, host, output, values))
    code = EXIT_NEGATIVE if values["check"] and not compared.is_current else EXIT_OK
    data = {**_data(compared), "applied": writes}
    verbose = bool(values["verbose"])
    text = _lines(compared, verbose, _ending(compared, writes))
    app.finish(Result(app.command, data, code, text=text, messages=_messages(compared, verbose)))


def _refuse_without_nvml(app: App, compared: Compared, forced: object) -> None:
    """A driver that does not answer for a while is no reason to give containers other MIG devices than before."""
    reason = next((row.reason for row in compared.generated.left_out if row.what == "order"), "")
    names = () if compared.before is None else tuple(device.name for device in compared.before.devices)
    is_forced = app.no_nvml or (isinstance(forced, tuple) and FORCE in forced)
    if not reason or is_forced or not any(name.startswith("MIG-") for name in names):
        return
    raise Refused(
        f"cannot make {compared.path} anew without loss: its MIG devices would lose their UUIDs, {reason}",
        force=FORCE,
        hint=f"Does nvidia-smi -L answer? --force {FORCE} goes on all the same. Nothing was changed.",
        path=compared.path,
    )


def write_unless_moved(
    host: "Host", output: str, compared: Compared, again: Callable[[], Compared], wait_seconds: float = LOCK_SECONDS
) -> tuple[Compared, bool]:
    """Writes what was made, and whether it had to; made `again` if another run has written meanwhile.

    Of two runs at once the one that looked at the host first may come last, and would take back what the other saw.
    """
    with _one_at_a_time(host, wait_seconds):
        if _read(host, output) != (compared.before, compared.why, compared.is_missing):
            compared = again()
        if compared.is_current:
            return compared, False
        for path, spec in spec_files(output, compared.generated):
            write_spec(host, path, render(spec, choose_format(path, None)))
    return compared, True


@contextmanager
def _one_at_a_time(host: "Host", wait_seconds: float) -> Iterator[None]:
    """Without a state folder that can be written the spec is still replaced whole. Raises BusyFault."""
    from ctk.change.lock import lock

    with ExitStack() as stack:
        with suppress(WriteFault, OSError):
            stack.enter_context(lock(state_of(host), LOCK, wait_seconds, command=("ctk", "cdi", "refresh")))
        yield


def _run_units(ctx: click.Context, app: App, values: Mapping[str, object]) -> None:
    from ctk.cli.cdi_units import UnitOptions, check_unit_options, run_units

    check_unit_options(bool(values["install_units"]), bool(values["remove_units"]))
    taken = {*UNIT_OPTIONS, "dry_run", "check", "force", "verbose"}
    for parameter in ctx.command.params:
        given = ctx.get_parameter_source(parameter.name or "") is click.core.ParameterSource.COMMANDLINE
        if given and parameter.expose_value and parameter.name not in taken:
            raise UsageFault(
                f"{parameter.opts[0]} does not go with the units: they run `ctk cdi refresh` without options",
                hint="Set its variable in /etc/ctk/cdi-refresh.env. Nothing was changed.",
            )
    forced = values["force"]
    run_units(
        app,
        UnitOptions(
            remove=bool(values["remove_units"]),
            dry_run=bool(values["dry_run"]),
            check=bool(values["check"]),
            forced=frozenset(map(str, forced)) if isinstance(forced, tuple) else frozenset(),
        ),
    )


def _usual_file(host: "Host") -> str:
    """The generated one; the admin's own where there is no other."""
    by_hand = "/etc/cdi/nvidia.yaml"
    return by_hand if not host.exists(DEFAULT_FILE) and host.exists(by_hand) else DEFAULT_FILE


def _compare(app: App, host: "Host", path: str, values: Mapping[str, object]) -> Compared:
    """Raises NotApplicable (4) where there is nothing to describe, ReadFault, CtkError (3)."""
    from ctk.cdi.diff import diff_specs

    before, why, is_missing = _read(host, path)
    try:
        generated, warnings = make_spec(app, host, values)
    except NotApplicable as error:
        error.hint = f"{error.hint} {shown_path(host, path)} stays as it is.".strip() if not is_missing else error.hint
        raise
    differences = () if before is None else diff_specs(before, generated.spec)
    others = tuple(file for file, spec in spec_files(path, generated)[1:] if _differs(host, file, spec))
    return Compared(shown_path(host, path), generated, differences, why, is_missing, warnings, others, before)


def _differs(host: "Host", path: str, spec: "CdiSpec") -> bool:
    from ctk.cdi.diff import diff_specs

    before, why, _ = _read(host, path)
    return before is None or bool(why) or bool(diff_specs(before, spec))


def _read(host: "Host", path: str) -> tuple["CdiSpec | None", str, bool]:
    """The spec in a file, else why there is none, and whether there is no file at all."""
    from ctk.cdi.load import load_spec
    from ctk.cdi.validate import validate_spec
    from ctk.facts.cdi import REFUSED

    try:
        data = host.read_bytes(path)
    except FileNotFoundError:
        return None, "there is no such file", True
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ReadFault(f"cannot read {path}: {reason}", path=path, hint="Nothing was changed.") from error
    loaded = load_spec(data)
    if loaded.spec is None:
        return None, f"it is no spec: {loaded.faults[0].message}", False
    refused = [fault for fault in (*loaded.faults, *validate_spec(loaded.spec)) if fault.level == REFUSED]
    return loaded.spec, f"no engine loads it: {refused[0].message}" if refused else "", False


def _messages(compared: Compared, verbose: bool) -> tuple[Message, ...]:
    warnings = tuple(Message("warning", text) for text in compared.warnings)
    return (*warnings, *notes(compared.generated, verbose))


def _data(compared: Compared) -> dict[str, object]:
    rows = [{**row._asdict(), "change": row.change} for row in compared.differences]
    return {
        **report(compared.generated),
        "file": compared.path,
        "exists": not compared.is_missing,
        "fault": compared.why or None,
        "current": compared.is_current,
        "differences": rows,
    }


def _ending(compared: Compared, written: bool) -> str:
    if compared.is_current:
        return ""
    return (
        f"{compared.path}: written, {count_devices(compared.generated.spec)}.\n"
        if written
        else "Nothing was written.\n"
    )


def _lines(compared: Compared, verbose: bool, ending: str = "") -> str:
    """The differences, the most telling ones first; as many as a screen holds without --verbose."""
    if compared.is_current:
        return f"{compared.path}: says what would be written now.\n"
    lines = [f"{compared.path}: {compared.why}."] if compared.why else []
    lines += [f"{path}: is not what would be written now." for path in compared.others]
    rows = [_line(row) for row in compared.differences]
    shown = rows if verbose or len(rows) <= SHOWN else rows[:SHOWN]
    more = [f"… and {len(rows) - len(shown)} more; -v shows them."] if len(rows) > len(shown) else []
    head = [f"{compared.path}: {len(rows)} difference{'s' if len(rows) != 1 else ''}."] if rows else []
    return "".join(f"{line}\n" for line in (*lines, *head, *shown, *more)) + ending


def _line(row: "SpecDifference") -> str:
    marks = {"added": "+", "removed": "-", "changed": "~"}
    what = f"{row.before} -> {row.after}" if row.change == "changed" else row.before or row.after
    return f"  {marks[row.change]} {row.where}: {row.what} {what}"
