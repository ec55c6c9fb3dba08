"""`ctk config set`, `unset`, `default` and NVIDIA's form of set: options in, an edit out."""

from collections.abc import Callable, Mapping
from typing import TypeVar

import click

from ctk.cli.app import App, shared_options
from ctk.cli.arguments import CtkCommand
from ctk.cli.config_edit import Edited, EditOptions, edit_options, run_edit
from ctk.cli.config_keys import complete_assignment, complete_key
from ctk.cli.config_place import CONFIG_FILE, HELP, ConfigPlace, config_command, load_config, read_config
from ctk.cli.paths import journal_of, shown_error
from ctk.errors import CtkError, UsageFault
from ctk.result import Message, Result
from ctk.toolkit.document import render_default, shown, value_at
from ctk.toolkit.edits import Assignment, edit_text, parse_assignment, parse_key
from ctk.toolkit.settings import Value

Function = TypeVar("Function", bound=Callable[..., object])
NO_HOST_CHECKS = click.option(
    "--no-host-checks", is_flag=True, help="Do not look whether values fit this host (image builds)."
)
ALLOW_UNKNOWN = click.option("--allow-unknown", is_flag=True, help="Take keys that are no settings of the toolkit.")
DRIVER_ROOT = ("nvidia-container-cli", "root")
NO_JOURNAL = click.option("--no-journal", is_flag=True, help="Keep no record of the change.")


def file_options(function: Function) -> Function:
    """The options of a command that writes the file in force."""
    for option in (
        NO_JOURNAL,
        click.option("--check", is_flag=True, help="Write nothing; exit 1 if a change is pending."),
        click.option("--dry-run", is_flag=True, help="Show the diff; write nothing."),
        CONFIG_FILE,
    ):
        function = option(function)
    return function


def run_peer_form(app: App, place: ConfigPlace, values: Mapping[str, object]) -> None:
    """`ctk config [--set k=v]… [-i | -o FILE]`; without any of them it shows the configuration."""
    options = edit_options(app, values)
    words = _words(values["assignments"])
    if not (words or options.in_place or options.output):
        from ctk.cli.config_views import show

        show(app, place)
        return
    assign(app, place, options, _assignments(words, values), host_checks=not values["no_host_checks"])


def _words(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, tuple) else ()


def _assignments(words: tuple[str, ...], values: Mapping[str, object]) -> tuple[Assignment, ...]:
    separator = str(values["separator"])
    if not separator:
        raise UsageFault("--set-list-separator must not be empty", hint="Nothing was changed.")
    return tuple(parse_assignment(word, separator, bool(values["allow_unknown"])) for word in words)


def assign(
    app: App,
    place: ConfigPlace,
    options: EditOptions,
    assignments: tuple[Assignment, ...],
    *,
    host_checks: bool,
    data: Mapping[str, object] | None = None,
    messages: tuple[Message, ...] = (),
) -> None:
    """Carry out the assignments on the file in force."""
    app.refuse_snapshot()

    def edit(text: str) -> Edited:
        new, problems = edit_text(text, place.location.path, assignments, place.defaults, lambda: _original(place))
        return Edited(new, problems)

    warnings = _host_warnings(place, assignments) if host_checks else ()
    run_edit(app, place, options, edit, data or {}, (*warnings, *messages))


def _original(place: ConfigPlace) -> str | None:
    """The text from before ctk first changed the file: what was a comment then becomes one again when it is unset."""
    from ctk.edit.text import decode_config

    try:
        baseline = journal_of(place.host).baseline(place.host.real_path(place.location.path))
        if baseline is None or baseline.before is None:
            return None
        return decode_config(baseline.before, place.location.path).text
    except (CtkError, OSError):
        return None  # a journal that cannot be read tells nothing; unset then goes by the default document


def _host_warnings(place: ConfigPlace, assignments: tuple[Assignment, ...]) -> tuple[Message, ...]:
    found = (
        (item.setting, item.value, _host_fault(place, item.setting.check, item.value, assignments))
        for item in assignments
        if item.setting is not None and item.setting.check and item.value is not None
    )
    return tuple(
        Message("warning", f"{setting.key} = {shown(value)}: {fault}") for setting, value, fault in found if fault
    )


def _host_fault(place: ConfigPlace, check: str, value: Value, assignments: tuple[Assignment, ...]) -> str:
    from ctk.host.toolkit_values import host_fault

    return host_fault(place.host, check, value, _driver_root(place, assignments))


def _driver_root(place: ConfigPlace, assignments: tuple[Assignment, ...]) -> str:
    """The driver root that will be in force."""
    assigned = [item.value for item in assignments if item.path == DRIVER_ROOT]
    root = assigned[-1] if assigned else value_at(load_config(place)[1], DRIVER_ROOT)
    return root if isinstance(root, str) and root else "/"


@click.command(cls=CtkCommand, name="set", context_settings=HELP)
@click.argument("words", metavar="KEY[=VALUE]…", nargs=-1, required=True, shell_complete=complete_assignment)
@click.option("--set-list-separator", "separator", default=":", show_default=True, help="Between a list's items.")
@ALLOW_UNKNOWN
@NO_HOST_CHECKS
@file_options
@shared_options
@config_command("config set")
def set_command(app: App, place: ConfigPlace, values: Mapping[str, object]) -> None:
    """Set keys in the file in force; a missing file is made from the defaults.

    A list's items are separated by colons; KEY alone is true.

    \b
    Examples:
      ctk config set nvidia-container-runtime.mode=cdi
      ctk config set nvidia-container-runtime.runtimes=crun:runc accept-nvidia-visible-devices-as-volume-mounts
    """
    options = edit_options(app, values)._replace(in_place=True)
    assignments = _assignments(_words(values["words"]), values)
    assign(app, place, options, assignments, host_checks=not values["no_host_checks"])


@click.command(cls=CtkCommand, name="unset", context_settings=HELP)
@click.argument("keys", metavar="KEY…", nargs=-1, required=True, shell_complete=complete_key)
@ALLOW_UNKNOWN
@file_options
@shared_options
@config_command("config unset")
def unset(app: App, place: ConfigPlace, values: Mapping[str, object]) -> None:
    """Take keys out of the file in force, so that the default holds; a commented default is commented again.

    A key that is no setting of the toolkit is taken out if the file has it.
    """
    options = edit_options(app, values)._replace(in_place=True, create=False)
    held = _held(place, _words(values["keys"]))
    parsed = tuple(parse_key(key, bool(values["allow_unknown"]) or key in held) for key in _words(values["keys"]))
    assign(app, place, options, parsed, host_checks=False)


def _held(place: ConfigPlace, keys: tuple[str, ...]) -> frozenset[str]:
    """The keys that the file has, where some are no settings."""
    from ctk.toolkit.settings import find_setting

    if all(find_setting(key) for key in keys):
        return frozenset()
    content = load_config(place)[1]
    return frozenset(key for key in keys if value_at(content, tuple(key.split("."))) is not None)


@click.command(cls=CtkCommand, name="default", context_settings=HELP)
@click.option("--in-place", "-i", is_flag=True, help="Write it to the file in force.")
@click.option("--output", "-o", metavar="FILE", help="Write it to FILE.")
@click.option("--if-missing", is_flag=True, help="Leave an existing file alone, broken or not, and exit 0.")
@file_options
@shared_options
@config_command("config default")
def default(app: App, place: ConfigPlace, values: Mapping[str, object]) -> None:
    """Print the default file, or write it.

    For a package's post-install step: ctk config default --if-missing --in-place
    """
    options = edit_options(app, values)
    text = render_default(place.defaults)
    if not values["if_missing"]:
        run_edit(app, place, options, lambda _: Edited(text), {})
        return
    if options.output:
        place = place.at(options.output)
        options = options._replace(output=None, in_place=True)
    if not _left_alone(app, place):
        run_edit(app, place, options, Edited, {})  # one that has come meanwhile is kept as it is


def _left_alone(app: App, place: ConfigPlace) -> bool:
    """Whether a file is there already; a broken one gets a warning and nothing else (a post-install must go on)."""
    from ctk.edit import toml
    from ctk.toolkit.problems import check_document

    path = place.location.path
    try:
        source, text = read_config(place)
        if source.data is None:
            return False
        problems = check_document(text, toml.load(text, path), place.defaults)
        found = [f"{place.shown}:{item.where} {item.key}: {item.text}" for item in problems]
    except CtkError as error:
        found = [f"{shown_error(place.host, error).message}; it is left as it is"]
    data = {
        "file": place.shown,
        "dry_run": False,
        "changed": False,
        "applied": False,
        "files": [{"path": place.shown, "action": "none", "diff": ""}],
        "journal_id": None,
    }
    messages = (*place.messages, *(Message("warning", words) for words in found))
    app.finish(Result(app.command, data, text=f"{place.shown} exists and is left as it is.\n", messages=messages))
    return True
