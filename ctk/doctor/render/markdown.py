"""A report as Markdown to be pasted into a ticket: verdict, root causes, warnings, counts; it lays out no screen."""

from collections.abc import Iterator

from ctk.doctor.model import UNKNOWN, WARN, Finding
from ctk.doctor.render.words import (
    Cause,
    by_reason,
    causes_of,
    command_text,
    count_line,
    evidence_line,
    printable,
    risk,
    title_of,
    verdict_line,
)
from ctk.doctor.report import Report

MOST_FOLLOW_UPS = 20


def render_markdown(report: Report) -> str:
    """The whole document; ends with a newline."""
    lines = [f"**{_inline(verdict_line(report))}.**", ""]
    for cause in causes_of(report):
        lines += [*_cause(cause), ""]
    lines += _list("Warnings", report.with_status(WARN))
    lines += _blind(report)
    return "\n".join([*lines, f"{count_line(report)}."]) + "\n"


def _cause(cause: Cause) -> Iterator[str]:
    first = cause.first
    subjects = ", ".join(_inline(finding.outcome.subject) for finding in cause.findings if finding.outcome.subject)
    yield f"## {_inline(first.check.id)} ({first.severity})" + (f": {subjects}" if subjects else "")
    yield ""
    yield _inline(first.outcome.message)
    yield ""
    for finding in cause.findings:
        for item in finding.outcome.evidence:
            yield f"- {_code(evidence_line(item))}"
    if first.check.explains:
        yield f"- What people see: {', '.join(_code(symptom) for symptom in first.check.explains)}"
    yield from _remedy(cause)
    yield from _follow_ups(cause)


def _remedy(cause: Cause) -> Iterator[str]:
    if cause.first.remedy is None:
        return
    yield ""
    yield f"What to do: {_inline(cause.first.remedy.summary)}"
    if cause.commands:
        yield ""
        yield "```sh"
        for command in cause.commands:
            tag = risk(command)
            yield printable(command_text(command)) + (f"  # {tag}" if tag else "")
        yield "```"


def _follow_ups(cause: Cause) -> Iterator[str]:
    if not cause.follow_ups:
        return
    names = [_code(title_of(finding)) for finding in cause.follow_ups]
    more = f" and {len(names) - MOST_FOLLOW_UPS} more" if len(names) > MOST_FOLLOW_UPS else ""
    yield ""
    yield f"It explains {', '.join(names[:MOST_FOLLOW_UPS])}{more}."


def _list(title: str, findings: tuple[Finding, ...]) -> list[str]:
    if not findings:
        return []
    return [f"## {title}", "", *(f"- {_code(title_of(item))} {_inline(item.outcome.message)}" for item in findings), ""]


def _blind(report: Report) -> list[str]:
    reasons = by_reason(report.with_status(UNKNOWN))
    lines = [f"- {_inline(reason)}: {', '.join(_code(name) for name in names)}" for reason, names in reasons.items()]
    return ["## Could not be looked at", "", *lines, ""] if lines else []


def _code(text: str) -> str:
    """As code, whatever back quotes it holds: the fence is longer than any run of them (CommonMark, code spans)."""
    text = printable(text)
    if "`" not in text:
        return f"`{text}`"
    fence = "`" * (max(len(run) for run in _runs(text)) + 1)
    return f"{fence} {text} {fence}"


def _runs(text: str) -> list[str]:
    return [run for run in "".join(character if character == "`" else " " for character in text).split() if run]


def _inline(text: str) -> str:
    """As words: what Markdown or HTML would take for a mark is escaped."""
    return "".join(f"\\{character}" if character in "\\`*_<>[]|#" else character for character in printable(text))
