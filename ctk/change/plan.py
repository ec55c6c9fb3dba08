"""What will be changed, as values: files, how to prove it, how to restart; shows a diff, touches nothing."""

from collections.abc import Callable

from ctk.facts.command import CommandOutput
from ctk.record import Record

__all__ = [
    "CommandOutput",
    "EngineQuery",
    "FileChange",
    "Plan",
    "RestartRequest",
    "Runner",
]

Runner = Callable[[tuple[str, ...], float], CommandOutput]
"""Runs a program with a deadline in seconds; given by the CLI, never raises for what the program does."""


class FileChange(Record):
    """One file. path is as the user names it (with --root in front), target the real file behind symbolic links.

    before None = new file, after None = remove. mode and owner are for new files only: an existing file keeps both.
    Missing folders are made 0755 and recorded. remove_folders: folders to remove afterwards if they are empty.
    """

    path: str
    target: str
    before: bytes | None
    after: bytes | None
    mode: int = 0o644
    owner: tuple[int, int] | None = None
    remove_folders: tuple[str, ...] = ()

    @property
    def action(self) -> str:
        """create, edit, remove or none."""
        if self.before == self.after:
            return "none"
        if self.before is None:
            return "create"
        return "remove" if self.after is None else "edit"


class EngineQuery(Record):
    """How the engine itself is asked what it makes of its files.

    argv prints the effective configuration (or only judges the file). judge gets the answer from before the change
    (None if it was not asked or failed) and the one from after it, and returns the problems, empty when all is well.
    is_answer tells whether the engine understood the question, None = it always does: one that is too old for it
    (`dockerd --validate` before 23) is no failure, and then the result counts as verified by parse.
    """

    method: str  # config-dump, crio-config, dockerd-validate
    argv: tuple[str, ...]
    judge: Callable[[CommandOutput | None, CommandOutput], tuple[str, ...]]
    ask_before: bool = True
    timeout_seconds: float = 5.0
    is_answer: Callable[[CommandOutput], bool] | None = None


class RestartRequest(Record):
    """How the engine takes up the new file. action is restart or reload; protocol docker (HTTP) or grpc (HTTP/2).

    default_runtime: what Docker must give as its default afterwards, runtimes: the names and paths it must know; a
    reload that dockerd refuses is only logged. Neither is asked of a gRPC engine.
    """

    unit: str
    action: str
    socket: str
    protocol: str
    timeout_seconds: float = 30.0
    runtimes: tuple[tuple[str, str], ...] = ()
    default_runtime: str = ""


class Plan(Record):
    """All that one engine's run will do. operation is configure, unconfigure, rollback or config.

    key names the lock and the journal's subject, such as "containerd-system"; facts go into the journal as they are.
    """

    operation: str
    key: str
    changes: tuple[FileChange, ...]
    query: EngineQuery | None = None
    restart: RestartRequest | None = None
    facts: tuple[tuple[str, str], ...] = ()

    @property
    def pending(self) -> tuple[FileChange, ...]:
        """The changes that change something."""
        return tuple(change for change in self.changes if change.action != "none")
