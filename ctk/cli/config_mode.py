"""`ctk config mode`: show or set the runtime's mode, and check that it can work on this host."""

from typing import TYPE_CHECKING

import click

from ctk.cli.app import App, shared_options
from ctk.cli.arguments import CtkCommand
from ctk.cli.config_edit import ConfigHost, EditOptions, config_host, read_config, run_edit
from ctk.edit import toml
from ctk.errors import EXIT_NEGATIVE, EXIT_OK
from ctk.result import Message, Result
from ctk.toolkit.document import effective
from ctk.toolkit.edits import edit_text, parse_assignment
from ctk.toolkit.modes import ModeFacts, Step, check_mode, resolve
from ctk.toolkit.settings import MODES

if TYPE_CHECKING:
    from ctk.facts import Unknown

MODE_KEY = "nvidia-container-runtime.mode"
MARKS = {True: "yes", False: "NO", None: "?"}


@click.command(cls=CtkCommand, name="mode", context_settings={"help_option_names": ["--help", "-h"]})
@click.argument("mode", metavar="[MODE]", required=False, type=click.Choice(MODES))
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if the mode cannot work here.")
@click.option("--dry-run", is_flag=True, help="Show the diff; write nothing.")
@click.option("--no-journal", is_flag=True, help="Keep no record of the change.")
@click.option("--no-host-checks", is_flag=True, help="Do not look whether the mode can work here (image builds).")
@click.option("--config-file", "--config", "-c", "config_file", metavar="FILE", help="The file in force.")
@shared_options
@click.pass_context
def mode_command(ctx: click.Context, /, **values: object) -> None:
    """Show the runtime's mode and what auto means here, or set it to auto, legacy, csv, cdi or jit-cdi.

    Setting a mode that cannot work here is said, step by step, but done; --check asks only, exit 1 for no.
    """
    app = ctx.ensure_object(App)
    app.command = "config mode"
    config_file = values["config_file"] or ctx.meta.get("ctk.config_file")
    place = config_host(app, config_file if isinstance(config_file, str) else None)
    wanted = values["mode"] if isinstance(values["mode"], str) else None
    facts = None if values["no_host_checks"] else collect_mode_facts(place, wanted)
    if wanted is None or values["check"]:
        _show(app, place, facts, bool(values["check"]))
        return
    assignments = (parse_assignment(f"{MODE_KEY}={wanted}"),)
    options = EditOptions(in_place=True, dry_run=bool(values["dry_run"]), no_journal=bool(values["no_journal"]))
    data = {"file": place.location.path, "mode": wanted, **_as_data(facts)}

    def edit(text: str) -> str:
        return edit_text(text, place.location.path, assignments, place.defaults, None)

    run_edit(app, "config mode", place, options, edit, data, _warnings(facts))


def collect_mode_facts(place: ConfigHost, wanted: str | None) -> ModeFacts:
    """What the host says that bears on the mode; wanted None = the mode in force."""
    from ctk.host import toolkit_config as found
    from ctk.host.programs import find_program
    from ctk.host.system import collect_system

    source, text = read_config(place)
    content = toml.load(text, place.location.path) if source.data is not None else {}
    values = {row.setting.key: row.value for row in effective(content, place.defaults)}
    system = collect_system(place.host)
    root = str(values["nvidia-container-cli.root"] or "/")
    folders = values["nvidia-container-runtime.modes.cdi.spec-dirs"]
    folder_names = tuple(str(item) for item in folders) if isinstance(folders, list) else ()
    csv_folder = str(values["nvidia-container-runtime.modes.csv.mount-spec-path"])
    hook = str(values["nvidia-container-runtime-hook.path"])
    return ModeFacts(
        configured=wanted or str(values[MODE_KEY]),
        is_tegra=system.jetson,
        is_wsl=_is_wsl(system.wsl),
        driver_library=found.find_driver_library(place.host, root),
        hook=find_program(place.host, (hook, "ctk-container-runtime-hook")),
        injector=find_program(
            place.host,
            (str(values["nvidia-container-cli.path"] or "nvidia-container-cli"), "ctk-container-runtime-hook"),
        ),
        mount_spec_folder=csv_folder,
        csv_files=found.collect_csv_files(place.host, csv_folder),
        spec_folders=folder_names,
        specs=found.collect_spec_kinds(place.host, folder_names),
        default_kind=str(values["nvidia-container-runtime.modes.cdi.default-kind"]),
        cdi_tool=find_program(place.host, ("nvidia-cdi-hook", "nvidia-ctk")),
    )


def _is_wsl(wsl: "int | None | Unknown") -> "bool | Unknown":
    return wsl is not None if isinstance(wsl, int | None) else wsl


def _show(app: App, place: ConfigHost, facts: ModeFacts | None, check: bool) -> None:
    data = {"file": place.location.path, **_as_data(facts)}
    steps = check_mode(facts.configured, facts) if facts else ()
    cannot = any(step.holds is False for step in steps)
    text = _screen(place, facts) if facts else ""
    messages = tuple(Message("warning", words) for words in place.warnings)
    code = EXIT_NEGATIVE if check and cannot else EXIT_OK
    app.finish(Result("config mode", data, code, text, messages))


def _as_data(facts: ModeFacts | None) -> dict[str, object]:
    if facts is None:
        return {"resolved": None, "works": None, "steps": [], "checks": []}
    resolution = resolve(facts)
    checks = check_mode(facts.configured, facts)
    works = None if any(step.holds is None for step in checks) else True
    return {
        "mode": facts.configured,
        "resolved": resolution.mode,
        "works": False if any(step.holds is False for step in checks) else works,
        "steps": [step._asdict() for step in resolution.steps],
        "checks": [step._asdict() for step in checks],
    }


def _screen(place: ConfigHost, facts: ModeFacts) -> str:
    resolution = resolve(facts)
    lines = [f"mode {facts.configured} ({place.location.path}), here: {resolution.mode}", ""]
    lines += [f"  {step.question} {step.answer}" for step in resolution.steps]
    lines += ["", f"Can {resolution.mode} work here?"]
    lines += [f"  {MARKS[step.holds]:<4}{step.question} {step.answer}" for step in check_mode(facts.configured, facts)]
    return "\n".join(lines)


def _warnings(facts: ModeFacts | None) -> tuple[str, ...]:
    if facts is None:
        return ()
    return tuple(_sentence(facts, step) for step in check_mode(facts.configured, facts) if step.holds is not True)


def _sentence(facts: ModeFacts, step: Step) -> str:
    mode = resolve(facts).mode
    return f"mode {mode} {'cannot' if step.holds is False else 'may not'} work here: {step.question} {step.answer}"


mode = mode_command
