"""The screens of `ctk runtime configure` and `unconfigure`, as text; prints nothing."""

import sys
from typing import TYPE_CHECKING

from ctk.cli.output import wants_colour
from ctk.runtime.planned import Planned

if TYPE_CHECKING:
    from ctk.change.apply import Applied
    from ctk.cli.engine_run import Options

METHODS = {
    "config-dump": "containerd's own config dump",
    "crio-config": "CRI-O's own config output",
    "dockerd-validate": "dockerd --validate",
    "parse": "an independent parser",
}


def render(options: "Options", planned: Planned, applied: "Applied | None") -> str:
    """What one engine's run did, or would do."""
    if options.print_file:
        return _whole_files(planned)
    lines = [_diffs(planned), _summary(planned, applied), _restart_line(planned, applied)]
    if applied is not None and applied.journal_id:
        lines.append(f"Undo with: ctk runtime rollback {applied.journal_id}\n")
    return "".join(lines)


def _whole_files(planned: Planned) -> str:
    parts = []
    for change in planned.plan.pending:
        text = (change.after or b"").decode("utf-8", "backslashreplace")
        parts.append(text if len(planned.plan.pending) == 1 else f"# {change.path}\n{text}")
    return "\n".join(parts)


def _diffs(planned: Planned) -> str:
    from ctk.change.diff import render_coloured_diff, unified_diff

    text = "".join(unified_diff(change) for change in planned.plan.pending)
    return render_coloured_diff(text) if text and wants_colour(sys.stdout) else text


def _summary(planned: Planned, applied: "Applied | None") -> str:
    name = f"{planned.target.engine} ({planned.target.installation})"
    paths = ", ".join(change.path for change in planned.plan.pending)
    if not planned.plan.pending:
        where = f" ({', '.join(planned.files)})" if planned.files else ""
        return f"{name}: nothing to do{where}.\n"
    if applied is None:
        return f"{name}: would change {paths}. Nothing was written.\n"
    proof = METHODS.get(applied.verified.method)
    return f"{name}: changed {paths}" + (f", proved with {proof}.\n" if proof else ".\n")


def _restart_line(planned: Planned, applied: "Applied | None") -> str:
    if applied is not None and applied.restart_done:
        return f"{planned.target.unit} was restarted and answers.\n"
    if not planned.restart_required:
        return ""
    when = "Then" if applied is None else "Now"
    return f"{when} take it up with: systemctl {planned.restart_action} {planned.target.unit}\n"
