"""Carries out an edit of the toolkit's config.toml: read, edit, then show or write; knows no setting and no option."""

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ctk.change.plan import FileChange, Plan
from ctk.cli.app import App
from ctk.cli.applying import apply_plan, repair_interrupted, until_unmoved
from ctk.cli.config_place import ConfigPlace, read_config
from ctk.cli.paths import absolute_path
from ctk.errors import EXIT_NEGATIVE, EXIT_OK, UsageFault
from ctk.host.paths import display_path
from ctk.record import Record
from ctk.result import Message, Result
from ctk.runtime.sources import Source, read_source
from ctk.toolkit.problems import Problem

if TYPE_CHECKING:
    from ctk.change.apply import Applied

KEY = "toolkit-config"
VERBS = {"create": ("would be created", "created"), "edit": ("would be changed", "changed")}


class EditOptions(Record):
    """Where the result goes: in_place = the file in force; output = another file; neither = stdout.

    create: a missing file is made from the defaults; else there is nothing to edit. negative: --check answers no
    whatever the file holds. text: stands before the report.
    """

    in_place: bool = False
    output: str | None = None
    dry_run: bool = False
    check: bool = False
    no_journal: bool = False
    create: bool = True
    negative: bool = False
    text: str = ""

    @property
    def writes(self) -> bool:
        """Whether a file will be changed."""
        return not (self.dry_run or self.check)


class Edited(Record):
    """The new text, and what is wrong in it."""

    text: str
    problems: tuple[Problem, ...] = ()


class _Made(Record):
    change: FileChange
    problems: tuple[Problem, ...]


Edit = Callable[[str], Edited]


def edit_options(app: App, values: Mapping[str, object]) -> EditOptions:
    """The options as values. --dry-run and --check without --output are about the file in force."""
    in_place, output = bool(values.get("in_place")), values.get("output")
    if in_place and output:
        raise UsageFault("--in-place and --output exclude each other", hint="Choose one. Nothing was changed.")
    dry_run, check = bool(values.get("dry_run")), bool(values.get("check"))
    return EditOptions(
        in_place=in_place or ((dry_run or check) and not output),
        output=absolute_path(app, output) if isinstance(output, str) else None,
        dry_run=dry_run,
        check=check,
        no_journal=bool(values.get("no_journal")),
    )


def run_edit(
    app: App,
    place: ConfigPlace,
    options: EditOptions,
    edit: Edit,
    data: Mapping[str, object],
    messages: tuple[Message, ...] = (),
) -> None:
    """Edit the text, then print it, or write it with journal and diff; a file that moves is read and edited again."""
    messages = (*place.messages, *messages)
    if not (options.in_place or options.output):
        edited = edit(read_config(place)[1])
        document = {"file": place.shown, **data, "text": edited.text}
        app.finish(
            Result(app.command, document, text=edited.text, messages=(*messages, *_told(place, edited.problems)))
        )
        return
    if options.writes:
        messages = (*messages, *repair_interrupted(app, place.host, KEY))

    def carry_out(made: _Made) -> "Applied | None":
        if made.change.action == "none" or not options.writes:
            return None
        plan = Plan("config", KEY, (made.change,))
        return apply_plan(app, place.host, plan, no_journal=options.no_journal, no_verify=True)

    made, applied = until_unmoved(lambda: _make(place, options, edit), carry_out)
    messages = (*messages, *(applied.messages if applied else ()), *_told(place, made.problems))
    result = _report(app, options, made.change, applied, {"file": place.shown, **data})
    app.finish(result._replace(messages=tuple(dict.fromkeys(messages))))


def _told(place: ConfigPlace, problems: tuple[Problem, ...]) -> tuple[Message, ...]:
    return tuple(Message("warning", f"{place.shown}: {problem.key}: {problem.text}") for problem in problems)


def _make(place: ConfigPlace, options: EditOptions, edit: Edit) -> _Made:
    source, text = read_config(place)
    if source.data is None and not options.create:
        return _Made(FileChange(place.shown, source.target, None, None), ())
    edited = edit(text)
    target = read_source(place.host, options.output) if options.output else source
    path = display_path(place.host, target.path)
    after = target.text.encode(edited.text)
    return _Made(FileChange(path, target.target, target.data, after, owner=_owner(target)), edited.problems)


def _owner(source: Source) -> tuple[int, int] | None:
    """A new file belongs to whom the folder above belongs to (a user's ~/.config)."""
    return (source.uid, source.gid) if source.data is None and source.uid else None


def _report(
    app: App, options: EditOptions, change: FileChange, applied: "Applied | None", data: Mapping[str, object]
) -> Result:
    pending = change.action != "none"
    diff = _diff(change) if pending else ""
    told = "" if app.quiet and applied else _coloured(diff)
    document = {
        **data,
        "dry_run": not options.writes,
        "changed": pending,
        "applied": applied is not None and applied.applied,
        "files": [{"path": change.path, "action": change.action, "diff": diff}],
        "journal_id": applied.journal_id if applied else None,
    }
    code = EXIT_NEGATIVE if options.check and (pending or options.negative) else EXIT_OK
    return Result(app.command, document, code, text=options.text + told + _summary(change, applied))


def _diff(change: FileChange) -> str:
    from ctk.change.diff import unified_diff

    return unified_diff(change)


def _coloured(diff: str) -> str:
    from ctk.cli.output import wants_colour

    if not diff or not wants_colour(sys.stdout):
        return diff
    from ctk.change.diff import render_coloured_diff

    return render_coloured_diff(diff)


def _summary(change: FileChange, applied: "Applied | None") -> str:
    if change.action == "none":
        there = "" if change.before is not None else "does not exist, the defaults hold: "
        return f"{change.path}: {there}nothing to do.\n"
    future, past = VERBS[change.action]
    if applied is None:
        return f"{change.path} {future}. Nothing was written.\n"
    undo = f"Undo with: ctk runtime rollback {applied.journal_id}\n" if applied.journal_id else ""
    return f"{change.path}: {past}.\n{undo}"
