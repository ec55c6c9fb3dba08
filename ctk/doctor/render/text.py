"""A report as a screen: verdict, root causes with their commands, warnings, passes as a line a group, the counts."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from ctk.doctor.model import ERROR, INFO, PASS, SKIP, UNKNOWN, WARN, Command, Finding
from ctk.doctor.render.words import (
    Cause,
    by_group,
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
from ctk.doctor.report import BROKEN, HEALTHY, Report

T = TypeVar("T")

BOLD, RED, GREEN, YELLOW = "1", "31", "32", "33"
MOST_EVIDENCE = 3
MOST_SYMPTOMS = 3
MOST_COMMANDS = 4
MOST_SUBJECTS = 4
MOST_REASONS = 4
MESSAGE_LINES, EVIDENCE_LINES, SYMPTOM_LINES = 4, 2, 1
NARROWEST, USUAL_WIDTH = 40, 80
INDENT = "  "


class Style(NamedTuple):
    """verbose: everything; show_masked: the follow-ups of each cause; width in columns, None: whole lines."""

    verbose: bool = False
    show_masked: bool = False
    colour: bool = False
    width: int | None = None

    def paint(self, text: str, code: str) -> str:
        """The text in colour, where colour is wanted."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text

    def some(self, items: Iterable[T], most: int) -> list[T]:
        """The first few, each once; all of them under -v."""
        found = list(dict.fromkeys(items))
        return found if self.verbose else found[:most]

    def wrap(self, text: str, first: str, most_lines: int | None = None) -> list[str]:
        """The text behind `first`, later lines indented as far; cut behind most_lines, but not under -v.

        Commands never come here: they are copied whole.
        """
        if self.width is None:
            return [first + text]
        import textwrap

        width = max(self.width, NARROWEST)
        lines = textwrap.wrap(
            text,
            width,
            initial_indent=first,
            subsequent_indent=" " * len(first),
            break_on_hyphens=False,
            max_lines=None if self.verbose or most_lines is None else most_lines * -(-USUAL_WIDTH // width),
            placeholder=" …",
        )
        return lines or [first.rstrip()]


def render_text(report: Report, style: Style) -> str:
    """The whole screen; ends with a newline."""
    colour = {BROKEN: RED, HEALTHY: GREEN}.get(report.verdict, YELLOW)
    lines = [style.paint(f"{verdict_line(report)}.", f"{BOLD};{colour}"), ""]
    parts: list[Iterator[str]] = [_cause(cause, style) for cause in causes_of(report)]
    parts += [_warnings(report, style), _blind(report, style), _details(report, style), _passes(report, style)]
    for part in parts:
        found = list(part)
        lines += [*found, ""] if found else []
    return "\n".join([*lines, f"{count_line(report)}."]) + "\n"


def _cause(cause: Cause, style: Style) -> Iterator[str]:
    """At most one screen: three pieces of evidence, three symptoms, four commands; -v has them all."""
    first = cause.first
    subjects = [printable(finding.outcome.subject) for finding in cause.findings if finding.outcome.subject]
    head = f"FAIL  {first.check.id}  {_subjects(subjects, style)}".rstrip()
    yield f"{style.paint(head, f'{BOLD};{RED}')}  ({first.severity})"
    yield from style.wrap(printable(first.outcome.message), INDENT, MESSAGE_LINES)
    for item in style.some((item for finding in cause.findings for item in finding.outcome.evidence), MOST_EVIDENCE):
        yield from style.wrap(evidence_line(item), f"{INDENT}- ", EVIDENCE_LINES)
    label = "What people see:  "
    for symptom in style.some(first.check.explains, MOST_SYMPTOMS):
        yield from style.wrap(printable(symptom), INDENT + label, SYMPTOM_LINES)
        label = " " * len(label)
    yield from _remedy(first, style, cause.commands)
    yield from _follow_ups(cause, style)


def _subjects(subjects: Sequence[str], style: Style) -> str:
    if style.verbose or len(subjects) <= MOST_SUBJECTS:
        return ", ".join(subjects)
    shown = subjects[: MOST_SUBJECTS - 1]
    return f"{', '.join(shown)} and {len(subjects) - len(shown)} more"


def _remedy(finding: Finding, style: Style, commands: Sequence[Command]) -> Iterator[str]:
    if finding.remedy is None:
        return
    yield from style.wrap(printable(finding.remedy.summary), f"{INDENT}What to do:  ", MESSAGE_LINES)
    shown = style.some(commands, MOST_COMMANDS)
    for command in shown:
        yield f"{INDENT}  {_command(command)}"
    if len(shown) < len(commands):
        yield f"{INDENT}  ({len(commands) - len(shown)} more commands: ctk doctor -v)"


def _command(command: Command) -> str:
    text, tag = printable(command_text(command)), risk(command)
    return f"{text}    [{tag}]" if tag else text


def _follow_ups(cause: Cause, style: Style) -> Iterator[str]:
    number = len(cause.follow_ups)
    if not number:
        return
    words = f"It explains {number} more {'failure' if number == 1 else 'failures'}"
    if not (style.show_masked or style.verbose):
        yield f"{INDENT}{words}: ctk doctor --show-masked"
        return
    yield f"{INDENT}{words}:"
    for finding in cause.follow_ups:
        yield from style.wrap(f"{title_of(finding)}: {printable(finding.outcome.message)}", f"{INDENT}- ")


def _warnings(report: Report, style: Style) -> Iterator[str]:
    for finding in report.with_status(WARN):
        head = f"WARN  {title_of(finding)}"
        first, *rest = style.wrap(printable(finding.outcome.message), f"{head}  ")
        yield style.paint(head, YELLOW) + first.removeprefix(head)
        yield from rest
        if style.verbose:
            for item in finding.outcome.evidence:
                yield from style.wrap(evidence_line(item), f"{INDENT}- ")
        yield from _remedy(finding, style, Cause((finding,), ()).commands)


def _blind(report: Report, style: Style) -> Iterator[str]:
    """What could not be looked at: a line for each reason."""
    for finding in report.with_status(ERROR):
        yield from style.wrap(f"{title_of(finding)}  {printable(finding.outcome.message)}", "BUG   ")
    for reason, names in by_reason(report.with_status(UNKNOWN)).items():
        shown = names if style.verbose else names[:MOST_REASONS]
        more = f" and {len(names) - len(shown)} more" if len(shown) < len(names) else ""
        yield from style.wrap(f"{reason}  ({', '.join(shown)}{more})", "?     ")


def _details(report: Report, style: Style) -> Iterator[str]:
    """Under -v: what was noted, what does not apply, what was switched off."""
    if not style.verbose:
        return
    for finding in report.with_status(INFO):
        yield from style.wrap(f"{title_of(finding)}  {printable(finding.outcome.message)}", "note  ")
    for finding in report.with_status(SKIP):
        yield from style.wrap(f"{title_of(finding)}  {printable(finding.outcome.message)}", "skip  ")
    for finding in report.findings:
        if finding.suppressed:
            yield from style.wrap(f"{title_of(finding)}  {printable(finding.suppressed)}", "off   ")


def _passes(report: Report, style: Style) -> Iterator[str]:
    for group, findings in by_group(report.with_status(PASS)).items():
        yield f"{style.paint('ok', GREEN)}    {group}: {len(findings)}"
        if style.verbose:
            for finding in findings:
                yield from style.wrap(f"{title_of(finding)}  {printable(finding.outcome.message)}", "      ")
