"""`ctk config set`, `unset`, `default` and NVIDIA's form of set: options in, an edit out."""

from collections.abc import Callable, Mapping
from typing import TypeVar

import click

from ctk.cli.app import App, shared_options
from ctk.cli.arguments import CtkCommand
from ctk.cli.config_edit import ConfigHost, EditOptions, config_host, read_config, run_edit
from ctk.errors import CtkError, UsageFault
from ctk.result import Message, Result
from ctk.toolkit.document import render_default
from ctk.toolkit.edits import Assignment, edit_text, parse_assignment, parse_key, shown

Function = TypeVar("Function", bound=Callable[..., object])
HELP = {"help_option_names": ["--help", "-h"]}


def run_peer_form(app: App, values: Mapping[str, object]) -> None:
    """`ctk config [--set k=v]… [-i | -o FILE]`; without --set, --in-place and --output it shows the configuration."""
    assignments = values["assignments"]
    words = assignments if isinstance(assignments, tuple) else ()
    options = _options(values)
    if values["in_place"] and values["output"]:
        raise UsageFault("--in-place and --output exclude each other", hint="Choose one. Nothing was changed.")
    if not (words or options.in_place or options.output):
        from ctk.cli.config_views import show

        show(app, options.config_file)
        return
    separator = str(values["separator"])
    if not separator:
        raise UsageFault("--set-list-separator must not be empty")
    parsed = tuple(parse_assignment(str(word), separator, bool(values["allow_unknown"])) for word in words)
    _edit(app, "config", options, parsed, host_checks=not values["no_host_checks"])


def _options(values: Mapping[str, object]) -> EditOptions:
    def text(name: str) -> str | None:
        value = values.get(name)
        return value if isinstance(value, str) else None

    return EditOptions(
        config_file=text("config_file"),
        in_place=bool(values.get("in_place")),
        output=text("output"),
        dry_run=bool(values.get("dry_run")),
        check=bool(values.get("check")),
        no_journal=bool(values.get("no_journal")),
    )


def _edit(
    app: App, command: str, options: EditOptions, assignments: tuple[Assignment, ...], *, host_checks: bool
) -> None:
    place = config_host(app, options.config_file)
    original = _original(place)
    warnings = _host_warnings(place, assignments) if host_checks else ()

    def edit(text: str) -> str:
        return edit_text(text, place.location.path, assignments, place.defaults, original)

    run_edit(app, command, place, options, edit, {"file": place.location.path}, warnings)


def _original(place: ConfigHost) -> str | None:
    """The text from before ctk first changed the file: what was a comment then becomes one again when it is unset."""
    from ctk.change.journal import Journal
    from ctk.cli.applying import state_of
    from ctk.edit.text import decode_config

    try:
        baseline = Journal(state_of(place.host)).baseline(place.host.real_path(place.location.path))
    except (CtkError, OSError):
        return None  # a journal that cannot be read tells nothing; unset then goes by the default document
    if baseline is None or baseline.before is None:
        return None
    return decode_config(baseline.before, place.location.path).text


def _host_warnings(place: ConfigHost, assignments: tuple[Assignment, ...]) -> tuple[str, ...]:
    from ctk.host.toolkit_config import host_fault

    warnings = []
    for assignment in assignments:
        if assignment.setting is None or assignment.value is None:
            continue
        fault = host_fault(place.host, assignment.setting.check, assignment.value)
        if fault:
            warnings.append(f"{assignment.setting.key} = {shown(assignment.value)}: {fault}")
    return tuple(warnings)


def _file_options(function: Function) -> Function:
    for option in (
        click.option("--no-journal", is_flag=True, help="Keep no record of the change."),
        click.option("--check", is_flag=True, help="Write nothing; exit 1 if a change is pending."),
        click.option("--dry-run", is_flag=True, help="Show the diff; write nothing."),
        click.option("--config-file", "--config", "-c", "config_file", metavar="FILE", help="The file in force."),
    ):
        function = option(function)
    return function


@click.command(cls=CtkCommand, name="set", context_settings=HELP)
@click.argument("words", metavar="KEY[=VALUE]…", nargs=-1, required=True)
@click.option("--set-list-separator", "separator", default=":", show_default=True, help="Between a list's items.")
@click.option("--allow-unknown", is_flag=True, help="Set keys that are no settings of the toolkit.")
@click.option("--no-host-checks", is_flag=True, help="Do not look whether values fit this host (image builds).")
@_file_options
@shared_options
@click.pass_context
def set_command(ctx: click.Context, /, **values: object) -> None:
    """Set keys in the file in force; a missing file is made from the defaults.

    A list's items are separated by colons; KEY alone is true.

    \b
    Examples:
      ctk config set nvidia-container-runtime.mode=cdi
      ctk config set nvidia-container-runtime.runtimes=crun:runc accept-nvidia-visible-devices-as-volume-mounts
    """
    app, options = _begin(ctx, values)
    words = values["words"] if isinstance(values["words"], tuple) else ()
    separator, allow = str(values["separator"]), bool(values["allow_unknown"])
    if not separator:
        raise UsageFault("--set-list-separator must not be empty")
    parsed = tuple(parse_assignment(str(word), separator, allow) for word in words)
    _edit(app, "config set", options, parsed, host_checks=not values["no_host_checks"])


@click.command(cls=CtkCommand, name="unset", context_settings=HELP)
@click.argument("keys", metavar="KEY…", nargs=-1, required=True)
@click.option("--allow-unknown", is_flag=True, help="Take out keys that are no settings of the toolkit.")
@_file_options
@shared_options
@click.pass_context
def unset(ctx: click.Context, /, **values: object) -> None:
    """Take keys out of the file in force, so that the default holds; a commented default is commented again."""
    app, options = _begin(ctx, values)
    keys = values["keys"] if isinstance(values["keys"], tuple) else ()
    parsed = tuple(parse_key(str(key), bool(values["allow_unknown"])) for key in keys)
    place = config_host(app, options.config_file)
    if place.host.is_file(place.location.path) or app.snapshot_file:
        _edit(app, "config unset", options, parsed, host_checks=False)
        return
    text = f"{place.location.path} does not exist: the defaults hold. Nothing to do.\n"
    app.finish(Result("config unset", {"file": place.location.path, "changed": False}, text=text))


def _begin(ctx: click.Context, values: Mapping[str, object]) -> tuple[App, EditOptions]:
    options = _options(values)
    options = options._replace(in_place=True, config_file=options.config_file or ctx.meta.get("ctk.config_file"))
    return ctx.ensure_object(App), options


@click.command(cls=CtkCommand, name="default", context_settings=HELP)
@click.option("--in-place", "-i", is_flag=True, help="Write it to the file in force.")
@click.option("--output", "-o", metavar="FILE", help="Write it to FILE.")
@click.option("--if-missing", is_flag=True, help="Leave an existing file alone, broken or not, and exit 0.")
@_file_options
@shared_options
@click.pass_context
def default(ctx: click.Context, /, **values: object) -> None:
    """Print the default file, or write it.

    For a package's post-install step: ctk config default --if-missing --in-place
    """
    app = ctx.ensure_object(App)
    options = _options(values)
    options = options._replace(config_file=options.config_file or ctx.meta.get("ctk.config_file"))
    if options.in_place and options.output:
        raise UsageFault("--in-place and --output exclude each other", hint="Choose one. Nothing was changed.")
    place = config_host(app, options.config_file)
    if values["if_missing"] and _left_alone(app, place, options):
        return
    text = render_default(place.defaults)
    run_edit(app, "config default", place, options, lambda _: text, {"file": place.location.path})


def _left_alone(app: App, place: ConfigHost, options: EditOptions) -> bool:
    """Whether a file is there already; a broken one gets a warning and nothing else (a post-install must go on)."""
    from ctk.edit import toml
    from ctk.toolkit.document import check_document

    path = options.output or place.location.path
    checked = place._replace(location=place.location._replace(path=path))
    messages = [Message("warning", words) for words in place.warnings]
    try:
        source, text = read_config(checked)
        if source.data is None:
            return False
        problems = check_document(text, toml.load(text, path), place.defaults)
        messages += [Message("warning", f"{path}: {item.key}: {item.text}") for item in problems if item.is_error]
    except CtkError as error:
        messages.append(Message("warning", f"{error.message}; it is left as it is"))
    data = {"file": path, "changed": False}
    text = f"{path} exists and is left as it is.\n"
    app.finish(Result("config default", data, text=text, messages=tuple(messages)))
    return True
