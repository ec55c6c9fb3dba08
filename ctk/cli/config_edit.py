"""Editing the toolkit's config.toml for the `ctk config` commands: read, edit, show or write; knows no option."""

import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ctk.change.plan import FileChange, Plan
from ctk.cli.app import App
from ctk.cli.applying import apply_plan, repair_interrupted, state_of
from ctk.errors import EXIT_NEGATIVE, EXIT_OK, BusyFault
from ctk.host.toolkit_config import (
    ConfigLocation,
    collect_default_user,
    collect_ldconfig,
    collect_look_alikes,
    find_config,
)
from ctk.result import Message, Result
from ctk.runtime.planned import display_path
from ctk.runtime.sources import Source, read_source
from ctk.toolkit.document import HostDefaults, render_default

if TYPE_CHECKING:
    from ctk.change.apply import Applied
    from ctk.host import Host

KEY = "toolkit-config"
ATTEMPTS = 30


class EditOptions(NamedTuple):
    """Where the result goes: in_place = the file in force; output = another file; neither = stdout."""

    config_file: str | None = None
    in_place: bool = False
    output: str | None = None
    dry_run: bool = False
    check: bool = False
    no_journal: bool = False


class ConfigHost(NamedTuple):
    """The host, the file in force, and the defaults that hold here."""

    host: "Host"
    location: ConfigLocation
    defaults: HostDefaults
    warnings: tuple[str, ...]


def config_host(app: App, config_file: str | None, *, look: bool = True) -> ConfigHost:
    """Find the file in force, and its look-alikes."""
    host = app.host()
    environment: Mapping[str, str] = os.environ
    explicit = None if config_file is None else os.path.abspath(config_file)
    location = find_config(environment, explicit)
    others = collect_look_alikes(host, location, environment) if look and explicit is None else ()
    warnings = tuple(
        f"{path} looks like the toolkit's configuration, but {location.path} is the one read" for path in others
    )
    return ConfigHost(host, location, HostDefaults(collect_ldconfig(host), collect_default_user(host)), warnings)


def read_config(place: ConfigHost) -> tuple[Source, str]:
    """The file in force and its text; the default document where there is no file."""
    source = read_source(place.host, place.location.path)
    return source, render_default(place.defaults) if source.data is None else source.text.text


def run_edit(
    app: App,
    command: str,
    place: ConfigHost,
    options: EditOptions,
    edit: Callable[[str], str],
    data: Mapping[str, object],
    warnings: tuple[str, ...] = (),
) -> None:
    """Edit the text, then print it, or write it with journal and diff; a busy file is read and edited again."""
    app.command = command
    app.refuse_snapshot()
    warnings = (*place.warnings, *warnings)
    if not (options.in_place or options.output):
        _, text = read_config(place)
        app.finish(_result(command, {**data, "text": edit(text)}, edit(text), warnings))
        return
    repaired = () if options.dry_run or options.check else repair_interrupted(app, state_of(place.host), KEY)
    for attempt in range(ATTEMPTS):
        change = _change(place, options, edit)
        try:
            applied = _apply(app, place, options, change)
        except BusyFault as error:
            if error.code != "changed" or attempt == ATTEMPTS - 1:
                raise
            continue
        app.finish(
            _report(command, options, change, applied, data, warnings)._replace(
                messages=(*repaired, *(Message("warning", text) for text in warnings))
            )
        )
        return


def _change(place: ConfigHost, options: EditOptions, edit: Callable[[str], str]) -> FileChange:
    source, text = read_config(place)
    new = edit(text)
    if options.output:
        target = read_source(place.host, os.path.abspath(options.output))
        return FileChange(
            display_path(place.host, target.path), target.target, target.data, new.encode(), owner=_owner(target)
        )
    data = source.text.encode(new)
    return FileChange(display_path(place.host, source.path), source.target, source.data, data, owner=_owner(source))


def _owner(source: Source) -> tuple[int, int] | None:
    return (source.uid, source.gid) if source.data is None and source.uid else None


def _apply(app: App, place: ConfigHost, options: EditOptions, change: FileChange) -> "Applied | None":
    if change.action == "none" or options.dry_run or options.check:
        return None
    plan = Plan("config", KEY, (change,))
    return apply_plan(app, place.host, plan, no_journal=options.no_journal)


def _report(
    command: str,
    options: EditOptions,
    change: FileChange,
    applied: "Applied | None",
    data: Mapping[str, object],
    warnings: tuple[str, ...],
) -> Result:
    from ctk.change.diff import render_coloured_diff, unified_diff
    from ctk.cli.output import wants_colour

    diff = unified_diff(change)
    pending = change.action != "none"
    row = {"path": change.path, "action": change.action, "diff": diff}
    text = render_coloured_diff(diff) if diff and wants_colour(sys.stdout) else diff
    if not pending:
        text += f"{change.path}: nothing to do.\n"
    elif applied is None:
        text += f"{change.path}: would be changed. Nothing was written.\n"
    else:
        text += f"{change.path}: changed.\n"
        if applied.journal_id:
            text += f"Undo with: ctk runtime rollback {applied.journal_id}\n"
    document = {
        **data,
        "dry_run": options.dry_run or options.check,
        "changed": pending,
        "applied": applied is not None and applied.applied,
        "files": [row],
        "journal_id": applied.journal_id if applied else None,
    }
    code = EXIT_NEGATIVE if options.check and pending else EXIT_OK
    return _result(command, document, text, warnings)._replace(exit_code=code)


def _result(command: str, data: Mapping[str, object], text: str, warnings: tuple[str, ...]) -> Result:
    return Result(command, data, text=text, messages=tuple(Message("warning", words) for words in warnings))
