"""`ctk doctor`: options in, one report out; the rules are in ctk.doctor, and nothing is changed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ctk.cli.app import App, shared_options
from ctk.cli.arguments import CtkGroup
from ctk.errors import EXIT_FAILED, EXIT_NOT_APPLICABLE, UsageFault
from ctk.result import ErrorInfo, Message, Result

if TYPE_CHECKING:
    from ctk.doctor.model import Check
    from ctk.doctor.report import Report
    from ctk.facts.snapshot import Snapshot

FORMATS = ("text", "json", "markdown")
PROFILES = ("install", "triage", "security", "all")


class DoctorGroup(CtkGroup):
    """The doctor's catalogue beside the doctor itself."""

    rows = (
        ("list", "ctk.cli.doctor_catalogue", "list_checks", "List all checks."),
        ("explain", "ctk.cli.doctor_catalogue", "explain", "Say what a check reads, its rule, and what to do."),
    )


@click.group(
    cls=DoctorGroup,
    name="doctor",
    invoke_without_command=True,
    context_settings={"help_option_names": ["--help", "-h"]},
)
@click.option(
    "--profile",
    type=click.Choice(PROFILES),
    default="triage",
    show_default=True,
    help="Which checks: what an installer can be blamed for, what finds faults, posture, or all.",
)
@click.option("--only", multiple=True, metavar="ID", help="Only these checks, by id or glob, whatever the profile.")
@click.option("--skip", multiple=True, metavar="ID", help="Leave these checks out, by id or glob.")
@click.option("--strict", is_flag=True, help="A warning makes the exit code 1 too.")
@click.option(
    "--format",
    "output_format",
    type=click.Choice(FORMATS),
    help="The bare report: a screen, JSON without the envelope of --json, or Markdown for a ticket.",
)
@click.option("--probe", is_flag=True, help="Also start CUDA once, which wakes the GPUs and may make device nodes.")
@click.option("--show-masked", is_flag=True, help="Also the failures that a root cause explains.")
@click.option("--verbose", "-v", is_flag=True, help="Everything: all findings, all evidence, all commands.")
@shared_options
@click.pass_context
def doctor(
    ctx: click.Context,
    profile: str,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    strict: bool,
    output_format: str | None,
    probe: bool,
    show_masked: bool,
    verbose: bool,
) -> None:
    """Find out why containers cannot use the GPUs: root causes first, each with the command that mends it.

    Changes nothing. Exit 0: no failure; 1: a failure, or a warning under --strict; 3: nothing fails, but what decides
    could not be looked at; 4: no GPU and no trace of one.

    Examples: ctk doctor --only 'driver.*'; ctk doctor --snapshot host.json --format markdown
    """
    if ctx.invoked_subcommand is not None:
        _refuse_own_options(ctx)
        return
    app = ctx.ensure_object(App)
    app.command = "doctor"
    _refuse_two_formats(app, output_format)
    checks = _chosen(profile, only, skip)
    if probe and app.snapshot_file is not None:
        raise UsageFault("cannot probe a snapshot: --probe starts CUDA on a machine", hint="Leave out one of the two.")
    app.probe = probe
    snapshot = app.snapshot(_parts(checks))
    report = _judge(checks, snapshot)
    text = "" if app.json else _text(report, snapshot, output_format or "text", show_masked, verbose)
    app.finish(_result(app, report, snapshot, report.exit_code(strict=strict), text))


def _refuse_own_options(ctx: click.Context) -> None:
    """The catalogue takes none of the doctor's options: it would not heed them."""
    for parameter in ctx.command.params:
        given = ctx.get_parameter_source(parameter.name or "") is click.core.ParameterSource.COMMANDLINE
        if given and parameter.expose_value:
            raise click.UsageError(f"{parameter.opts[0]} does not go with {ctx.invoked_subcommand}", ctx)


def _refuse_two_formats(app: App, output_format: str | None) -> None:
    if app.json and output_format is not None:
        raise UsageFault(
            "--json and --format exclude each other",
            hint="--json prints an envelope around the report, --format json the bare report. Nothing was changed.",
        )


def _chosen(profile: str, only: Sequence[str], skip: Sequence[str]) -> tuple["Check", ...]:
    """The checks of the command line; words may also be joined by commas. A word that names none is a typing error."""
    from ctk.doctor.checks import ALL_CHECKS
    from ctk.doctor.run import select_checks

    wanted, unwanted = _split(only), _split(skip)
    for word in (*wanted, *unwanted):
        if not select_checks(ALL_CHECKS, only=(word,)):
            raise UsageFault(f"there is no check {word!r}", hint="See them with: ctk doctor list. Nothing was changed.")
    return select_checks(ALL_CHECKS, profile=profile, only=wanted, skip=unwanted)


def _split(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for word in words for name in word.split(",") if name)


def _parts(checks: Sequence["Check"]) -> frozenset[str] | None:
    from ctk.doctor.parts import parts_of

    return parts_of(checks)


def _judge(checks: Sequence["Check"], snapshot: "Snapshot") -> "Report":
    from ctk.doctor.checks import ALL_CHECKS
    from ctk.doctor.report import judge

    return judge(snapshot, checks, ALL_CHECKS)


def _text(report: "Report", snapshot: "Snapshot", output_format: str, show_masked: bool, verbose: bool) -> str:
    import sys

    if output_format == "json":
        import json

        return json.dumps(_data(report, snapshot), indent=2, sort_keys=True) + "\n"
    if output_format == "markdown":
        from ctk.doctor.render.markdown import render_markdown

        return render_markdown(report)
    from ctk.cli.output import terminal_width, wants_colour
    from ctk.doctor.render.text import Style, render_text

    return render_text(report, Style(verbose, show_masked, wants_colour(sys.stdout), terminal_width(sys.stdout)))


def _result(app: App, report: "Report", snapshot: "Snapshot", code: int, text: str) -> Result:
    from ctk.doctor.checks import ALL_CHECKS
    from ctk.doctor.suppress import describe_suppressions

    said = describe_suppressions(snapshot, [check.id for check in ALL_CHECKS])
    messages = (*(Message("warning", line) for line in said), *_age(app, snapshot))
    errors = _errors(report, code) if app.json else ()
    data = _data(report, snapshot) if app.json else {}
    return Result(app.command, data, code, text, messages, errors)


def _age(app: App, snapshot: "Snapshot") -> tuple[Message, ...]:
    """What was true of a host days ago may not be any more."""
    from datetime import UTC, datetime

    if app.snapshot_file is None:
        return ()
    try:
        days = (datetime.now(UTC) - datetime.fromisoformat(snapshot.taken_at)).days
    except (ValueError, TypeError):  # TypeError: a time without its zone
        return (Message("warning", "the snapshot does not say when it was taken"),)
    words = "a day" if days == 1 else f"{days} days"
    return (Message("info", f"the snapshot was taken {words} ago, at {snapshot.taken_at}"),) if days > 0 else ()


def _data(report: "Report", snapshot: "Snapshot") -> dict[str, object]:
    from ctk.doctor.render.document import report_to_document

    return report_to_document(report, snapshot)


def _errors(report: "Report", code: int) -> tuple[ErrorInfo, ...]:
    """In the envelope each code beyond 1 has its error; on the screen the verdict has said it."""
    from ctk.doctor.render.words import verdict_line

    if code == EXIT_NOT_APPLICABLE:
        return (ErrorInfo("not-applicable", verdict_line(report), "There is nothing to do."),)
    if code == EXIT_FAILED:
        return (ErrorInfo("incomplete", verdict_line(report), "Run it as root, on the host itself."),)
    return ()
