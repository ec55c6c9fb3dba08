"""One engine's file, state folder and journal below a test's folder, and the questions asked of them afterwards."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ctk.change.apply import Applied, apply
from ctk.change.journal import Journal
from ctk.change.plan import CommandOutput, EngineQuery, FileChange, Plan, RestartRequest
from ctk.change.restart import Pace
from ctk.errors import CtkError

OLD = b'{\n  "log-level": "info"\n}\n'
NEW = b'{\n  "log-level": "info",\n  "runtimes": {}\n}\n'
QUICK = Pace(command=5.0, poll=0.02, confirm=0.1, ask_unit=0.1)


def no_program(argv: tuple[str, ...], _timeout: float) -> CommandOutput:
    return CommandOutput(argv, None, "", "", "not found")


def answer_none(argv: tuple[str, ...], _timeout: float) -> CommandOutput:
    """A program that starts, says nothing and ends well."""
    return CommandOutput(argv, 0, "", "")


class Scene:
    """A folder with etc/daemon.json (OLD, 0640) and a state folder that does not exist yet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.etc = folder / "etc"
        self.etc.mkdir(exist_ok=True)
        self.file = self.etc / "daemon.json"
        self.file.write_bytes(OLD)
        self.file.chmod(0o640)
        self.state = folder / "state"
        self.runner: Callable[[tuple[str, ...], float], CommandOutput] = no_program

    @property
    def journal(self) -> Journal:
        return Journal(str(self.state))

    def change(self, before: bytes | None = OLD, after: bytes | None = NEW, path: Path | None = None) -> FileChange:
        path = path or self.file
        return FileChange(str(path), os.path.realpath(path), before, after)

    def plan(
        self,
        *changes: FileChange,
        operation: str = "configure",
        query: EngineQuery | None = None,
        restart: RestartRequest | None = None,
        facts: tuple[tuple[str, str], ...] = (),
    ) -> Plan:
        return Plan(operation, "docker-system", changes or (self.change(),), query, restart, facts)

    def apply(self, plan: Plan | None = None, *, journal: bool = True, **options: Any) -> Applied:
        return apply(
            plan or self.plan(),
            journal=self.journal if journal else None,
            state_directory=str(self.state),
            runner=self.runner,
            command_line=("ctk", "runtime", "configure"),
            ctk_version="0.1.0",
            pace=QUICK,
            **options,
        )

    def wrong(self) -> EngineQuery:
        """A question whose answer is never the right one."""
        return EngineQuery("config-dump", ("engine",), lambda before, after: ("wrong",))

    def fails(self, plan: Plan) -> bool:
        """Whether the plan ends with an error of ours."""
        try:
            self.apply(plan)
        except CtkError:
            return True
        return False

    def leftovers(self) -> list[str]:
        """Temporary files of ours anywhere, and half-made journal entries."""
        return [
            str(path)
            for path in self.folder.rglob("*")
            if path.name.startswith((".ctk-", ".new-")) or path.name.endswith(".pending")
        ]

    def states(self) -> list[str]:
        """The states of the journal's entries, oldest first."""
        return [entry.state for entry in self.journal.entries()]


def look(path: Path) -> tuple[object, ...]:
    """All of a file that must stay the same when nothing is changed."""
    found = path.stat()
    attributes = {name: os.getxattr(path, name) for name in os.listxattr(path)}
    return path.read_bytes(), found.st_mode, found.st_uid, found.st_gid, found.st_mtime_ns, found.st_ino, attributes
