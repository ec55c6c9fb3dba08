"""The screens of `ctk runtime configure` and `unconfigure`, as text; prints nothing."""

import sys
from typing import TYPE_CHECKING

from ctk.cli.output import wants_colour
from ctk.cli.paths import shown_path
from ctk.runtime.planned import Planned
from ctk.runtime.targets import is_known_missing

if TYPE_CHECKING:
    from ctk.change.apply import Applied
    from ctk.change.plan import FileChange
    from ctk.cli.engine_run import Options
    from ctk.host import Host

PRESENT = {"create": "create", "edit": "change", "remove": "remove"}
PAST = {"create": "created", "edit": "changed", "remove": "removed"}

METHODS = {
    "config-dump": "containerd's own config dump",
    "crio-config": "CRI-O's own config output",
    "dockerd-validate": "dockerd --validate",
    "parse": "an independent parser",
}


def render(host: "Host", options: "Options", planned: Planned, applied: "Applied | None") -> str:
    """What one engine's run did, or would do."""
    if options.print_file:
        return _whole_files(host, planned)
    lines = [_diffs(planned), _summary(host, planned, applied)]
    if options.verbose:
        lines.append(_details(host, planned))
    lines.append(_restart_line(planned, applied))
    if applied is not None and applied.journal_id:
        lines.append(f"Undo with: ctk runtime rollback {applied.journal_id}\n")
    return "".join(lines)


def _whole_files(host: "Host", planned: Planned) -> str:
    """The files as they would be; where nothing is to be done, as they are."""
    files = [(change.path, change.after or b"") for change in planned.plan.pending]
    files = files or [(path, host.read_bytes(path)) for path in planned.files if host.exists(path)]
    texts = [(path, data.decode("utf-8", "backslashreplace")) for path, data in files]
    if len(texts) == 1:
        return texts[0][1]
    return "\n".join(f"# {shown_path(host, path)}\n{text}" for path, text in texts)


def _details(host: "Host", planned: Planned) -> str:
    """-v: what was read, and who is asked whether the result is right."""
    query = planned.plan.query
    asked = " ".join(query.argv) if query else "no program (none was found, or none of that host may be run)"
    return f"  reads  {shown_path(host, planned.target.config)}\n  asks   {asked}\n"


def _diffs(planned: Planned) -> str:
    if not planned.plan.pending:
        return ""
    from ctk.change.diff import render_coloured_diff, unified_diff

    text = "".join(unified_diff(change) for change in planned.plan.pending)
    return render_coloured_diff(text) if text and wants_colour(sys.stdout) else text


def _summary(host: "Host", planned: Planned, applied: "Applied | None") -> str:
    name = f"{planned.target.engine} ({planned.target.installation})"
    pending = planned.plan.pending
    if not pending:
        return f"{name}: nothing to do{_why_nothing(host, planned)}.\n"
    if applied is None:
        return f"{name}: would {_actions(pending, PRESENT)}. Nothing was written.\n"
    is_gone = all(change.after is None for change in pending)
    proof = "" if is_gone else METHODS.get(applied.verified.method)
    return f"{name}: {_actions(pending, PAST)}" + (f", proved with {proof}.\n" if proof else ".\n")


def _why_nothing(host: "Host", planned: Planned) -> str:
    files = ", ".join(shown_path(host, path) for path in planned.files)
    name = dict(planned.plan.facts).get("runtime")
    if planned.plan.operation == "unconfigure" and name:
        return f", no runtime {name!r} in {files}"
    return f" ({files})" if files else ""


def _actions(pending: "tuple[FileChange, ...]", verbs: dict[str, str]) -> str:
    return ", ".join(f"{verbs[change.action]} {change.path}" for change in pending)


def _restart_line(planned: Planned, applied: "Applied | None") -> str:
    target = planned.target
    if applied is not None and applied.restart_done:
        return f"{target.unit} was restarted and answers.\n"
    is_absent = planned.plan.operation != "rollback" and is_known_missing(target) and not target.explicit
    if not planned.restart_required or is_absent:
        return ""
    if target.installation == "custom":
        return f"{'Then' if applied is None else 'Now'} restart the {target.engine} that reads it.\n"
    scope = "--user " if target.installation == "rootless" else ""
    command = f"systemctl {scope}{planned.restart_action} {target.unit}"
    if not planned.plan.pending:
        return f"It is taken up with: {command}\n"
    return f"{'Then' if applied is None else 'Now'} take it up with: {command}\n"
