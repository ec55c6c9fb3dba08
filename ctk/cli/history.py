"""`ctk runtime history` and `ctk runtime rollback`: options and screens; the journal does the rest."""

from typing import TYPE_CHECKING

import click

from ctk.change.journal import Journal
from ctk.cli.app import App, shared_options
from ctk.cli.arguments import CtkCommand
from ctk.cli.engine_run import Options, check_options, run_targets
from ctk.cli.paths import journal_of
from ctk.result import Message, Result
from ctk.runtime.planned import Planned, restart_request
from ctk.runtime.request import DEFAULTS, Request
from ctk.runtime.targets import Target

if TYPE_CHECKING:
    from ctk.change.entry import Entry
    from ctk.change.history import HistoryRow
    from ctk.host import Host

HELP = {"help_option_names": ["--help", "-h"]}


@click.command(cls=CtkCommand, name="history", context_settings=HELP)
@click.option("--verbose", "-v", is_flag=True, help="Show each run's whole command line.")
@shared_options
@click.pass_obj
def history(app: App, /, verbose: bool) -> None:
    """List the runs that changed files, newest first; an id is what `ctk runtime rollback` takes."""
    from ctk.change.history import read_history

    app.command = "runtime history"
    app.refuse_snapshot()
    found = read_history(journal_of(app.host()))
    data = {
        "entries": [row._asdict() | {"files": [{"action": a, "path": p} for a, p in row.files]} for row in found.rows],
        "damaged": [{"name": name, "reason": reason} for name, reason in found.damaged],
    }
    messages = tuple(Message("warning", f"{name} cannot be read: {reason}") for name, reason in found.damaged)
    text = "\n".join(_row(row, verbose) for row in found.rows) or "No run has changed a file yet."
    app.finish(Result(app.command, data, text=text, messages=messages))


def _row(row: "HistoryRow", verbose: bool) -> str:
    files = ", ".join(f"{action} {path}" for action, path in row.files)
    state = "" if row.state == "finished" else f" ({row.state})"
    line = f"{row.id}  {row.operation:<11}  {row.key}{state}: {files}"
    return f"{line}\n    {' '.join(row.command)}" if verbose else line


@click.command(cls=CtkCommand, name="rollback", context_settings=HELP)
@click.argument("entry_id", metavar="ID")
@click.option("--dry-run", is_flag=True, help="Show the diff; write nothing.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if a change is pending.")
@click.option("--restart/--no-restart", default=False, help="Restart the engine, and wait for it. [no]")
@shared_options
@click.pass_obj
def rollback(app: App, /, entry_id: str, dry_run: bool, check: bool, restart: bool) -> None:
    """Put the files of the run ID back to what they were before it.

    If a file is no longer as that run left it, nothing is done and the difference is shown.
    """
    app.command = "runtime rollback"
    options = Options(Request(restart=restart), dry_run=dry_run, check=check)
    check_options(app, options)
    journal = journal_of(app.host())
    entry = journal.load(entry_id)

    def plan(_host: "Host", request: Request, target: Target) -> Planned:
        return _plan(journal, entry, request, target)

    run_targets(app, app.command, options, plan, (_target(entry),))


def _target(entry: "Entry") -> Target:
    engine = entry.fact("engine") or entry.key.partition("-")[0]
    return Target(engine, entry.fact("installation") or "system", entry.files[0].path, None)


def _plan(journal: Journal, entry: "Entry", request: Request, target: Target) -> Planned:
    from ctk.change.files import read_file
    from ctk.change.rollback import plan_rollback

    plan = plan_rollback(journal, entry.id, read_file)
    facts = (*plan.facts, ("engine", target.engine), ("installation", target.installation))
    asks_restart = request.restart and bool(plan.pending) and target.engine in DEFAULTS
    plan = plan._replace(facts=facts, restart=restart_request(target, "restart") if asks_restart else None)
    restart_required = bool(plan.pending) and target.engine in DEFAULTS
    paths = tuple(record.path for record in entry.files)
    return Planned(target, plan, restart_required=restart_required, method="none", files=paths)
