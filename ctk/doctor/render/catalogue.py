"""The rows of the checks as a screen of one and as the reference page of all; it runs none of them."""

from collections.abc import Iterator, Sequence

from ctk.doctor.model import Check
from ctk.doctor.render.words import command_text, risk

PAGE_HEAD = """\
# Checks of `ctk doctor`

<!-- Written by scripts/gen_reference.py; do not edit. -->

Each check looks at the snapshot of a host and says `pass`, `info`, `warn`, `fail`, `skip` (it does not apply here),
`unknown` (could not look) or `error` (a bug in ctk). A failure is explained by the failures among the checks it needs;
what is left are the root causes. `ctk doctor explain CHECK-ID` prints the same as this page.
"""


def render_check(check: Check) -> str:
    """One row, for people at a terminal."""
    lines = [f"{check.id}: {check.title}", ""]
    for label, values in _facts(check):
        for name, value in zip((label, *[""] * len(values)), values, strict=False):
            lines.append(f"  {name:<9}  {value}")
    return "\n".join(lines) + "\n"


def _facts(check: Check) -> Iterator[tuple[str, Sequence[str]]]:
    yield "group", (check.group,)
    yield "severity", (check.severity,)
    yield "reads", (check.reads,)
    yield "rule", (check.rule,)
    yield "explains", check.explains
    yield "needs", check.needs
    if check.remedy is not None:
        yield "to do", (check.remedy.summary, *_commands(check))
    yield "fix", (check.fix,)
    yield "profiles", (", ".join(check.profiles),)
    yield "source", (check.source,)


def _commands(check: Check) -> Iterator[str]:
    for command in check.remedy.commands if check.remedy else ():
        tag = risk(command)
        yield f"  {command_text(command)}" + (f"    [{tag}]" if tag else "")


def render_page(checks: Sequence[Check]) -> str:
    """The reference page of all rows, by their groups."""
    lines = [PAGE_HEAD]
    group = ""
    for check in checks:
        if check.group != group:
            group = check.group
            lines += [f"## {group}", ""]
        lines += [*_section(check), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _section(check: Check) -> Iterator[str]:
    yield f"### `{check.id}`: {check.title}"
    yield ""
    needs = ", ".join(f"`{name}`" for name in check.needs) or "nothing"
    yield f"{check.layer}, {check.severity}, fix: {check.fix}, needs: {needs}, profiles: {', '.join(check.profiles)}"
    yield ""
    yield f"- Reads: {check.reads}"
    yield f"- Rule: {check.rule}"
    if check.explains:
        yield f"- Explains: {'; '.join(f'`{symptom}`' for symptom in check.explains)}"
    if check.remedy is not None:
        yield f"- What to do: {check.remedy.summary}"
        for command in check.remedy.commands:
            tag = risk(command)
            yield f"  - `{command_text(command)}`" + (f" ({tag})" if tag else "")
    yield f"- Source: {check.source}"
