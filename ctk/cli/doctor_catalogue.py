"""`ctk doctor list` and `ctk doctor explain`: the checks' own rows as screens; they run no check."""

from typing import TYPE_CHECKING

import click

from ctk.cli.app import App, shared_options
from ctk.cli.arguments import CtkCommand
from ctk.errors import UsageFault
from ctk.result import Result

if TYPE_CHECKING:
    from ctk.doctor.model import Check

CONTEXT = {"help_option_names": ["--help", "-h"]}
KINDS_OF_NAMES = 3


def _complete_id(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    del ctx, parameter
    from ctk.doctor.checks import ALL_CHECKS

    return [check.id for check in ALL_CHECKS if check.id.startswith(incomplete)]


@click.command(cls=CtkCommand, name="list", context_settings=CONTEXT)
@shared_options
@click.pass_obj
def list_checks(app: App) -> None:
    """List all checks: id, severity, title."""
    from ctk.doctor.checks import ALL_CHECKS

    app.command = "doctor list"
    app.finish(Result(app.command, {"checks": [_data(check) for check in ALL_CHECKS]}, text=_list(ALL_CHECKS)))


def _list(checks: tuple["Check", ...]) -> str:
    lines: list[str] = []
    group = ""
    width = max((len(check.id) for check in checks), default=0)
    for check in checks:
        if check.group != group:
            group = check.group
            lines += ["", group] if lines else [group]
        lines.append(f"  {check.id:<{width}}  {check.severity:<8}  {check.title}")
    return "\n".join(lines) or "no checks"


@click.command(cls=CtkCommand, name="explain", context_settings=CONTEXT)
@click.argument("identity", metavar="CHECK-ID", shell_complete=_complete_id)
@shared_options
@click.pass_obj
def explain(app: App, identity: str) -> None:
    """Say what a check reads, its rule, which errors it explains, what to do, and where the rule comes from."""
    from ctk.doctor.render.catalogue import render_check

    app.command = "doctor explain"
    check = _find(identity)
    app.finish(Result(app.command, {"check": _data(check)}, text=render_check(check)))


def _find(identity: str) -> "Check":
    from difflib import get_close_matches

    from ctk.doctor.checks import ALL_CHECKS

    by_id = {check.id: check for check in ALL_CHECKS}
    if identity in by_id:
        return by_id[identity]
    near = get_close_matches(identity, by_id, KINDS_OF_NAMES)
    hint = f"Did you mean {' or '.join(near)}?" if near else "See them with: ctk doctor list."
    raise UsageFault(f"there is no check {identity!r}", hint=hint)


def _data(check: "Check") -> dict[str, object]:
    from ctk.doctor.render.document import check_to_document

    return check_to_document(check)
