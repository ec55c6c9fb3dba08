"""`ctk config mode`: show or set the runtime's mode, and check that it can work on this host."""

from collections.abc import Mapping

import click

from ctk.cli.app import App, shared_options
from ctk.cli.arguments import CtkCommand
from ctk.cli.config_edit import edit_options
from ctk.cli.config_edits import assign, file_options
from ctk.cli.config_place import HELP, ConfigPlace, config_command, load_config
from ctk.errors import EXIT_NEGATIVE, EXIT_OK
from ctk.facts.toolkit_mode import ModeFacts
from ctk.result import Message, Result
from ctk.toolkit.document import effective
from ctk.toolkit.edits import parse_assignment
from ctk.toolkit.modes import Step, check_mode, resolve
from ctk.toolkit.problems import check_document, refuse_broken
from ctk.toolkit.settings import MODES

MODE_KEY = "nvidia-container-runtime.mode"
MARKS = {True: "yes", False: "NO", None: "?"}


@click.command(cls=CtkCommand, name="mode", context_settings=HELP)
@click.argument("mode", metavar="[MODE]", required=False, type=click.Choice(MODES))
@click.option("--no-host-checks", is_flag=True, help="Do not look whether the mode can work here (image builds).")
@file_options
@shared_options
@config_command("config mode")
def mode(app: App, place: ConfigPlace, values: Mapping[str, object]) -> None:
    """Show the runtime's mode and what auto means here, or set it to auto, legacy, csv, cdi or jit-cdi.

    A mode that cannot work here is set all the same, with a warning for each thing that is missing. With --check: exit
    1 if the mode cannot work here, or if MODE is not the one in the file.
    """
    wanted = values["mode"] if isinstance(values["mode"], str) else None
    configured, facts = _look(place, wanted, host_checks=not values["no_host_checks"])
    options = edit_options(app, values)
    if wanted is None:
        _show(app, place, configured, facts, check=options.check)
        return
    data = _as_data(wanted, facts)
    options = options._replace(in_place=True, negative=data["works"] is False)
    if options.check:
        options = options._replace(text=_screen(place, wanted, facts) + "\n")
    assignments = (parse_assignment(f"{MODE_KEY}={wanted}"),)
    assign(app, place, options, assignments, host_checks=False, data=data, messages=_warnings(facts))


def _look(place: ConfigPlace, wanted: str | None, *, host_checks: bool) -> tuple[str, ModeFacts | None]:
    text, content, _ = load_config(place)
    problems = check_document(text, content, place.defaults)
    mode_path = tuple(MODE_KEY.split("."))
    refuse_broken(place.location.path, (item for item in problems if wanted is None or item.path != mode_path))
    values = {row.setting.key: row.value for row in effective(content, place.defaults)}
    configured = wanted or str(values[MODE_KEY])
    if not host_checks:
        return configured, None
    from ctk.host.toolkit_modes import collect_mode_facts

    return configured, collect_mode_facts(place.host, values, configured)


def _show(app: App, place: ConfigPlace, configured: str, facts: ModeFacts | None, *, check: bool) -> None:
    data = _as_data(configured, facts)
    code = EXIT_NEGATIVE if check and data["works"] is False else EXIT_OK
    text = _screen(place, configured, facts)
    app.finish(Result(app.command, {"file": place.shown, **data}, code, text, place.messages))


def _as_data(configured: str, facts: ModeFacts | None) -> dict[str, object]:
    if facts is None:
        return {"mode": configured, "resolved": None, "works": None, "steps": [], "checks": []}
    resolution = resolve(facts)
    checks = check_mode(configured, facts)
    works = None if any(step.holds is None for step in checks) else True
    return {
        "mode": configured,
        "resolved": resolution.mode if resolution.mode in MODES else None,
        "works": False if any(step.holds is False for step in checks) else works,
        "steps": [step._asdict() for step in resolution.steps],
        "checks": [step._asdict() for step in checks],
    }


def _screen(place: ConfigPlace, configured: str, facts: ModeFacts | None) -> str:
    if facts is None:
        return f"mode {configured} ({place.shown})\n"
    resolution = resolve(facts)
    lines = [f"mode {configured} ({place.shown})"]
    if configured == "auto":
        lines += ["", f"auto is {resolution.mode} here:", *(f"  {_line(step)}" for step in resolution.steps)]
    lines += ["", f"Can {resolution.mode} work here?"]
    lines += [f"  {MARKS[step.holds]:<4}{_line(step)}" for step in check_mode(configured, facts)]
    return "\n".join(lines) + "\n"


def _line(step: Step) -> str:
    return f"{step.question} {step.answer}"


def _warnings(facts: ModeFacts | None) -> tuple[Message, ...]:
    if facts is None:
        return ()
    steps = [step for step in check_mode(facts.configured, facts) if step.holds is not True]
    return tuple(Message("warning", _sentence(resolve(facts).mode, step)) for step in steps)


def _sentence(resolved: str, step: Step) -> str:
    return f"mode {resolved} {'cannot' if step.holds is False else 'may not'} work here: {_line(step)}"
