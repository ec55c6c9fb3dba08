"""One private host with everything a test needs: the engine, the recording runtimes, and ctk as a real process."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from .engines import REPOSITORY
from .private_host import BASE_ENVIRONMENT, PrivateHost
from .recorder import Recorder

SOURCE = os.environ.get("CTK_SOURCE", str(REPOSITORY))  # another checkout to take ctk from


class Scenario:
    """A private host; runtime records as nvidia-container-runtime, base as runc."""

    def __init__(self, host: PrivateHost, runtime: Recorder, base: Recorder, busybox: str) -> None:
        self.host = host
        self.runtime = runtime
        self.base = base
        self.busybox = busybox

    @property
    def environment(self) -> dict[str, str]:
        """What ctk gets; a warning of Python is an error."""
        return {**BASE_ENVIRONMENT, "PYTHONPATH": SOURCE, "PYTHONWARNINGS": "error", "COLUMNS": "200"}

    def write(self, name: str, content: str | bytes) -> Path:
        """Writes a file of the private host, with its folders."""
        self.host.require_private(name)
        path = self.host.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def read_tree(self, *folders: str) -> dict[str, bytes]:
        """Path -> bytes of every file below some folders."""
        found: dict[str, bytes] = {}
        for folder in folders:
            top = self.host.path(folder)
            for path in sorted(top.rglob("*")):
                if path.is_file():
                    found[f"{folder}/{path.relative_to(top)}"] = path.read_bytes()
        return found

    def ctk(
        self, *arguments: str, environment: Mapping[str, str] | None = None, seconds: float = 120.0
    ) -> subprocess.CompletedProcess[str]:
        """Runs ctk inside, as a process of its own."""
        command = [sys.executable, "-m", "ctk", *arguments]
        return self.host.run(command, seconds=seconds, environment={**self.environment, **(environment or {})})

    def ctk_json(self, *arguments: str, environment: Mapping[str, str] | None = None) -> dict[str, object]:
        """Runs ctk with --json and returns the one document it must print, whatever happened."""
        done = self.ctk(*arguments, "--json", environment=environment)
        document = json.loads(done.stdout)
        assert isinstance(document, dict)
        assert document["exit_code"] == done.returncode, done.stderr
        return document


def is_root() -> bool:
    """Whether namespaces can be made here."""
    return os.geteuid() == 0
