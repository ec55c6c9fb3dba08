"""The units of `ctk cdi refresh --install-units` and `--remove-units` that keep the spec true; it makes no spec."""

import os
import sys
from typing import TYPE_CHECKING

from ctk.change.plan import FileChange, Plan
from ctk.cli.app import App
from ctk.cli.applying import apply_plan, repair_interrupted, until_unmoved
from ctk.cli.cdi_hook_program import why_untrusted
from ctk.cli.paths import journal_of
from ctk.errors import EXIT_NEGATIVE, EXIT_OK, Refused, UsageFault
from ctk.host.paths import display_path
from ctk.record import Record
from ctk.result import Message, Result
from ctk.runtime.sources import read_source
from ctk.templates import read_template

if TYPE_CHECKING:
    from ctk.change.apply import Applied
    from ctk.host import Host

KEY = "cdi-refresh-units"
FORCE = "two-writers"
FORCE_EDITED = "edited-units"
UNITS = ("ctk-cdi-refresh.path", "ctk-cdi-refresh.service")
FILES = (
    ("/etc/systemd/system/ctk-cdi-refresh.service", "systemd/ctk-cdi-refresh.service"),
    ("/etc/systemd/system/ctk-cdi-refresh.path", "systemd/ctk-cdi-refresh.path"),
    ("/etc/udev/rules.d/70-ctk-cdi-refresh.rules", "udev/70-ctk-cdi-refresh.rules"),
)
"""Where each file goes, and its template. /etc, because it is the admin who asks; a package would use /usr/lib."""
OTHER_UNITS = ("nvidia-cdi-refresh.path", "nvidia-cdi-refresh.service")
"""NVIDIA's own units, which write the same file (nvidia-container-toolkit from 1.18 on)."""
WANTS = "/etc/systemd/system/multi-user.target.wants"
DEFAULT_COMMAND = "/usr/bin/ctk"


class UnitOptions(Record):
    """The command line. remove: take the files away; check: exit 1 if something is to be done, and do nothing."""

    remove: bool = False
    dry_run: bool = False
    check: bool = False
    forced: frozenset[str] = frozenset()

    @property
    def writes(self) -> bool:
        """Whether files will be changed."""
        return not (self.dry_run or self.check)


def run_units(app: App, options: UnitOptions) -> None:
    """Put the three files in place, or take them away, and have systemd and udev know. Raises CtkError."""
    app.refuse_snapshot()
    host = app.host()
    messages = repair_interrupted(app, host, KEY) if options.writes else ()
    if not options.remove:
        messages += _refuse_others(host, options)
    problems: tuple[str, ...] = ()

    def plan() -> tuple[FileChange, ...]:
        changes = _changes(host, options.remove)
        _refuse_edited(options, _edited(host, changes))
        return changes

    def carry_out(changes: tuple[FileChange, ...]) -> "Applied | None":
        nonlocal problems
        if not options.writes or not _pending(changes):
            return None
        if options.remove and host.is_live:
            problems += _let_go(host)
        return apply_plan(app, host, Plan("cdi", KEY, changes), no_journal=False, no_verify=True)

    changes, applied = until_unmoved(plan, carry_out)
    if applied is not None:
        problems += _take_up(host, options.remove)
        messages += applied.messages
    else:
        messages += _refuse_edited(options, _edited(host, changes))
        if options.writes and not options.remove and not _are_enabled(host):
            problems += _take_up(host, remove=False)
    if not options.remove:
        problems += why_untrusted(host, own_command(host)[:1], "systemd runs the refresh")
    app.finish(_result(app, options, changes, applied, (*messages, *(Message("warning", text) for text in problems))))


def unit_text(template: str, command: tuple[str, ...]) -> str:
    """A template with the program to run in it, quoted as systemd.service(5) has it."""
    return read_template(template).replace("@CTK@", " ".join(quote_for_systemd(word) for word in command))


def quote_for_systemd(word: str) -> str:
    r"""One word of ExecStart: % and $ doubled, \ and " escaped, quoted where a blank or a quote asks for it."""
    text = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{text}"' if any(mark in text for mark in " \t'\"\\;") else text


def own_command(host: "Host") -> tuple[str, ...]:
    """How ctk is to be started on that host: as it was now, or where a package puts it below another root.

    -P: no module comes from the folder that systemd starts it in.
    """
    if not host.is_live:
        from ctk.host.programs import find_program

        found = find_program(host, ("ctk",))
        return (found if isinstance(found, str) else DEFAULT_COMMAND,)
    started = os.path.abspath(sys.argv[0])
    if os.path.basename(started) == "ctk" and os.access(started, os.X_OK):
        return (started,)
    return (sys.executable, "-P", "-m", "ctk")


def _changes(host: "Host", remove: bool) -> tuple[FileChange, ...]:
    command = own_command(host)
    changes = []
    for path, template in FILES:
        source = read_source(host, path)
        after = None if remove else unit_text(template, command).encode()
        changes.append(FileChange(display_path(host, path), source.target, source.data, after))
    return tuple(changes)


def _edited(host: "Host", changes: tuple[FileChange, ...]) -> list[str]:
    """The files that would be changed or removed, and hold what neither the journal nor the templates know as ours."""
    return [
        change.path
        for change, (_, template) in zip(changes, FILES, strict=True)
        if change.before is not None and change.action != "none" and not _is_ours(host, change, template)
    ]


def _is_ours(host: "Host", change: FileChange, template: str) -> bool:
    """As today's template has it, with whatever command; or, for an older one, as the last run left it."""
    before = change.before or b""
    started = next(
        (line for line in before.decode("utf-8", "replace").splitlines() if line.startswith("ExecStart=")), ""
    )
    command = started.removeprefix("ExecStart=").removesuffix(" cdi refresh")
    if before == read_template(template).replace("@CTK@", command).encode():
        return True
    baseline = journal_of(host).baseline(change.target)
    return baseline is not None and baseline.holds_only_ours(before)


def _refuse_edited(options: UnitOptions, paths: list[str]) -> tuple[Message, ...]:
    """A hand edit is not to be lost unasked."""
    if not paths or FORCE_EDITED in options.forced:
        return ()
    text = f"{' and '.join(paths)} {'was' if len(paths) == 1 else 'were'} changed by hand"
    hint = "Keep changes in a drop-in (systemctl edit ctk-cdi-refresh.service) or in /etc/ctk/cdi-refresh.env."
    if options.writes:
        verb = "remove" if options.remove else "replace"
        raise Refused(
            f"cannot {verb} ctk's units: {text}",
            force=FORCE_EDITED,
            hint=f"{hint} --force {FORCE_EDITED} goes on all the same. Nothing was changed.",
            path=paths[0],
        )
    return (Message("warning", f"a real run would stop here: {text}; --force {FORCE_EDITED} goes on. {hint}"),)


def _pending(changes: tuple[FileChange, ...]) -> bool:
    return any(change.action != "none" for change in changes)


def _refuse_others(host: "Host", options: UnitOptions) -> tuple[Message, ...]:
    enabled = [unit for unit in OTHER_UNITS if host.is_link(f"{WANTS}/{unit}")]
    if not enabled:
        return ()
    text = f"{' and '.join(enabled)} of nvidia-ctk would write the same spec"
    hint = f"Disable them first: systemctl disable --now {' '.join(enabled)}."
    if FORCE not in options.forced:
        if options.writes:
            raise Refused(
                f"cannot install ctk's units: {text}",
                force=FORCE,
                hint=f"{hint} --force {FORCE} goes on all the same. Nothing was changed.",
            )
        return (Message("warning", f"a real run would stop here: {text}; --force {FORCE} goes on. {hint}"),)
    return (Message("warning", f"{text}, and the last one wins. {hint}"),)


def _let_go(host: "Host") -> tuple[str, ...]:
    from ctk.change.units import disable_units

    return disable_units(UNITS, host.run) if _has_systemd(host) else ()


def _take_up(host: "Host", remove: bool) -> tuple[str, ...]:
    """What systemd and udev could not do, as sentences."""
    if not host.is_live:
        verb = "disable" if remove else "enable"
        return (
            "no program of that host was run; systemd learns of it by: "
            f"systemctl --root={host.root} {verb} {' '.join(UNITS)}",
        )
    if not _has_systemd(host):
        return () if remove else ("systemd does not run here: nothing starts the refresh by itself",)
    from ctk.change.units import enable_units, forget_units

    return forget_units(host.run) if remove else enable_units(UNITS, host.run)


def _are_enabled(host: "Host") -> bool:
    """Files that an image brought along, or that a run left which systemd refused, are in place and do nothing."""
    return all(host.is_link(f"{WANTS}/{unit}") for unit in UNITS)


def _has_systemd(host: "Host") -> bool:
    return host.is_directory("/run/systemd/system")


def _result(
    app: App,
    options: UnitOptions,
    changes: tuple[FileChange, ...],
    applied: "Applied | None",
    messages: tuple[Message, ...],
) -> Result:
    from ctk.change.diff import unified_diff

    rows = [{"path": change.path, "action": change.action, "diff": unified_diff(change)} for change in changes]
    lines = [_line(change, applied is not None) for change in changes]
    if applied is not None and applied.journal_id:
        is_new = all(change.before is None for change in changes)
        undo = "cdi refresh --remove-units" if is_new else f"runtime rollback {applied.journal_id}"
        lines.append(f"Undo with: ctk {undo}")  # a rollback leaves the links by which systemd knows enabled units
    shown = "".join(str(row["diff"]) for row in rows) if applied is None else ""
    data = {
        "changed": _pending(changes),
        "applied": applied is not None and applied.applied,
        "dry_run": not options.writes,
        "files": rows,
        "journal_id": applied.journal_id if applied else None,
    }
    code = EXIT_NEGATIVE if options.check and _pending(changes) else EXIT_OK
    return Result(app.command, data, code, text=shown + "\n".join(lines) + "\n", messages=messages)


def _line(change: FileChange, is_done: bool) -> str:
    if change.action == "none":
        return f"{change.path}: nothing to do."
    past = {"create": "written", "edit": "changed", "remove": "removed"}[change.action]
    return f"{change.path}: {past}." if is_done else f"{change.path} would be {past}. Nothing was written."


def check_unit_options(install: bool, remove: bool) -> None:
    """Both at once cannot be meant."""
    if install and remove:
        raise UsageFault("--install-units and --remove-units exclude each other", hint="Nothing was changed.")
