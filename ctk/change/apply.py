"""Carries out a plan: lock, compare, journal, replace, prove, restart; on any failure everything is put back."""

import os
from collections.abc import Sequence
from typing import NoReturn

from ctk.change.entry import ABANDONED, UNDONE, Entry
from ctk.change.faults import write_fault
from ctk.change.journal import Draft, Journal
from ctk.change.lock import lock
from ctk.change.plan import CommandOutput, Plan, RestartRequest, Runner
from ctk.change.probe import answers
from ctk.change.recover import recover
from ctk.change.restart import PACE, Pace, Restarted, restart, restart_again, serves_cri, unit_log
from ctk.change.signals import Deferred, deferred_signals
from ctk.change.transaction import Transaction, Undone
from ctk.change.verify import Verified, ask_before, verify
from ctk.errors import CtkError, RestartFault, VerifyFault
from ctk.record import Record
from ctk.result import Message

PUT_BACK = "The old files were put back."


class Applied(Record):
    """What came of a plan. applied False = no file had to change; journal_id None = no journal was kept."""

    applied: bool
    journal_id: str | None
    verified: Verified
    restart_done: bool
    messages: tuple[Message, ...] = ()


def apply(
    plan: Plan,
    *,
    journal: Journal | None,
    state_directory: str,
    runner: Runner,
    command_line: Sequence[str],
    ctk_version: str,
    no_verify: bool = False,
    lock_wait_seconds: float = 10.0,
    pace: Pace = PACE,
) -> Applied:
    """Carry out the plan, or leave everything as it was and raise.

    Raises BusyFault (the lock is held; with code "changed" a file is not as planned: plan anew), ReadFault, WriteFault,
    VerifyFault, RestartFault. Signals are held back while files change, see deferred_signals.
    """
    run = _Run(plan, journal, runner, tuple(command_line), ctk_version, no_verify, pace)
    fallback = None if journal else _existing_folder(plan)
    with lock(state_directory, plan.key, lock_wait_seconds, command=command_line, fallback_folder=fallback):
        messages = recover(journal, plan.key) if journal else ()
        applied = run.change_files() if plan.pending else run.restart_only()
        if journal:
            journal.prune()
    return applied._replace(messages=messages)


def _existing_folder(plan: Plan) -> str:
    folder = os.path.dirname(plan.changes[0].target) if plan.changes else "/"
    while folder != "/" and not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return folder


class _RestartFailed(Exception):
    """The engine did not come back with the new files."""

    def __init__(self, request: RestartRequest, outcome: Restarted, log: str, need_cri: bool) -> None:
        super().__init__(outcome.reason)
        self.request = request
        self.outcome = outcome
        self.log = log
        self.need_cri = need_cri


class _Run(Record):
    """One run under the lock: the plan and what it is carried out with."""

    plan: Plan
    journal: Journal | None
    runner: Runner
    command: tuple[str, ...]
    ctk_version: str
    no_verify: bool
    pace: Pace

    def restart_only(self) -> Applied:
        """No file changes, but the engine may still have to take up what an earlier run wrote."""
        nothing = Applied(False, None, Verified("none", "not-asked", "nothing to do"), False)
        try:
            return nothing._replace(restart_done=self._restart())
        except _RestartFailed as failure:
            raise _restart_fault(failure, "No file was changed.") from failure

    def change_files(self) -> Applied:
        run_id = self.journal.new_id() if self.journal else os.urandom(8).hex()
        files = Transaction(self.plan, run_id)
        before = ask_before(self.plan, self.runner, self.no_verify)
        with deferred_signals() as signals:
            entry = self._record(run_id, files)
            try:
                verified, restarted = self._change(files, entry, before, signals)
            except BaseException as error:
                self._undo_and_raise(files, entry, error)
        return Applied(True, entry.id if entry else None, verified, restarted)

    def _record(self, run_id: str, files: Transaction) -> Entry | None:
        if self.journal is None:
            return None
        return self.journal.prepare(
            Draft(run_id, self.plan, files.steps, files.made, files.removed, self.command, self.ctk_version)
        )

    def _change(
        self, files: Transaction, entry: Entry | None, before: CommandOutput | None, signals: Deferred
    ) -> tuple[Verified, bool]:
        files.stage()
        signals.stop_if_received()
        files.commit(lambda target: self._note_in_place(entry, target))
        verified, problems = verify(self.plan, self.runner, before, self.no_verify)
        if problems:
            raise _verify_fault(self.plan, problems)
        restarted = self._restart()
        if self.journal and entry:
            try:
                self.journal.finish(entry)
            except OSError as error:
                raise write_fault(error, entry.folder, ending=PUT_BACK) from error
        return verified, restarted

    def _note_in_place(self, entry: Entry | None, target: str) -> None:
        if self.journal and entry:
            self.journal.note_in_place(entry, target)

    def _restart(self) -> bool:
        request = self.plan.restart
        if request is None:
            return False
        need_cri = serves_cri(request)
        outcome = restart(request, self.runner, self.pace, need_cri=need_cri)
        if not outcome.done:
            raise _RestartFailed(request, outcome, unit_log(request.unit, self.runner), need_cri)
        return True

    # -- the way back -------------------------------------------------------------------------------------------

    def _undo_and_raise(self, files: Transaction, entry: Entry | None, error: BaseException) -> NoReturn:
        undone = files.undo()
        self._close(entry, undone)
        if isinstance(error, _RestartFailed):
            error_now: BaseException = _restart_fault(error, self._restart_with_old_files(error))
            error_now.__cause__ = error
        else:
            error_now = error
        problems = undone.left + undone.failed
        if problems and isinstance(error_now, CtkError):
            raise _with_problems(error_now, problems, entry) from error
        raise error_now

    def _close(self, entry: Entry | None, undone: Undone) -> None:
        """A run that changed nothing leaves no entry; one that could not go back stays unfinished for the next run."""
        if self.journal is None or entry is None or undone.failed:
            return
        try:
            if undone.changed:
                self.journal.mark(entry, ABANDONED if undone.left else UNDONE)
            else:
                self.journal.discard(entry)
        except OSError:
            return  # it stays unfinished: the next run finds the old files and closes it

    def _restart_with_old_files(self, failure: _RestartFailed) -> str:
        again = restart_again(failure.request, self.runner, self.pace, need_cri=failure.need_cri)
        unit = failure.request.unit
        if again.done:
            return f"{PUT_BACK} {unit} was restarted with them and answers again."
        if answers(failure.request.socket, failure.request.protocol):
            return f"{PUT_BACK} {unit} still answers, but could not be restarted with them either ({again.reason})."
        return f"{PUT_BACK} {unit} does not come back with them either ({again.reason}): see `systemctl status {unit}`."


def _restart_fault(failure: _RestartFailed, hint: str) -> RestartFault:
    request = failure.request
    message = f"cannot {request.action} {request.unit}: {failure.outcome.reason}"
    if failure.log:
        lines = "\n".join(f"  {line}" for line in failure.log.split("\n"))
        message += f"\nlast lines of its log:\n{lines}"
    return RestartFault(message, hint=hint)


def _verify_fault(plan: Plan, problems: tuple[str, ...]) -> VerifyFault:
    path = plan.pending[0].path
    program = plan.query.argv[0] if plan.query else "the engine"
    return VerifyFault(
        f"cannot accept the new {path}: {program} reads it otherwise than meant: {'; '.join(problems)}",
        hint=f"{PUT_BACK} --no-verify goes without this check.",
        path=path,
    )


def _with_problems(error: CtkError, problems: tuple[str, ...], entry: Entry | None) -> CtkError:
    where = f" The old files are in {entry.folder} (or the same name without its ending)." if entry else ""
    return type(error)(
        f"{error.message}\nand the way back was not clear: {'; '.join(problems)}",
        hint=f"Look at these files now; running the command again tries once more.{where}",
        code=error.code,
        path=error.path,
    )
