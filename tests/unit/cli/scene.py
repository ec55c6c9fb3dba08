"""A host in a folder and the whole command line in this process: what it answers, and what it left behind."""

import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ctk.cli import run

ENGINE_PROGRAMS = {"docker": "dockerd", "containerd": "containerd", "crio": "crio"}
CONFIGS = {
    "docker": "/etc/docker/daemon.json",
    "containerd": "/etc/containerd/config.toml",
    "crio": "/etc/crio/crio.conf",
}
RUNTIME = "/usr/bin/nvidia-container-runtime"
CRIO_DROP_IN = "/etc/crio/crio.conf.d/99-nvidia.toml"
CONTAINERD_V2 = """\
version = 2
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
    SystemdCgroup = true
"""


class Stream(io.TextIOWrapper):
    """stdout or stderr of one run: an encoding, a terminal or not, and the bytes that came."""

    def __init__(self, encoding: str, is_terminal: bool) -> None:
        self.bytes = io.BytesIO()
        self.is_terminal = is_terminal
        super().__init__(self.bytes, encoding=encoding, write_through=True)

    def isatty(self) -> bool:
        return self.is_terminal

    def text(self) -> str:
        return self.bytes.getvalue().decode(self.encoding)


class Answer(NamedTuple):
    """What one command line came to."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """stdout as the one JSON document it must be."""
        return json.loads(self.out)

    def errors(self) -> list[str]:
        """The error lines of stderr."""
        return [line for line in self.err.splitlines() if line.startswith("error: ")]

    def warnings(self) -> list[str]:
        return [line for line in self.err.splitlines() if line.startswith("warning: ")]


@contextmanager
def _streams(out: Any, err: Any) -> Iterator[None]:
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = out, err
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def ctk(*arguments: str, encoding: str = "utf-8", terminal: bool = False) -> Answer:
    """Run one command line here; a traceback that escapes fails the test."""
    out, err = Stream(encoding, terminal), Stream(encoding, terminal)
    with _streams(out, err):
        code = run(arguments)
    return Answer(code, out.text(), err.text())


def ctk_on(stdout: Any, *arguments: str) -> tuple[int, str]:
    """The same with a stdout of the test's own; exit code and stderr."""
    err = Stream("utf-8", False)
    with _streams(stdout, err):
        code = run(arguments)
    return code, err.text()


class HostFolder:
    """A host below a folder: files are written by their path on that host."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder.parent / "state"
        folder.mkdir()

    def path(self, name: str) -> Path:
        return self.folder / name.lstrip("/")

    def put(self, name: str, content: str | bytes, mode: int = 0o644) -> Path:
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        path.chmod(mode)
        return path

    def program(self, name: str) -> Path:
        return self.put(name, "#!/bin/sh\n", 0o755)

    def engine(self, engine: str, config: str | bytes | None = None) -> Path:
        """An installed engine with its configuration, and the runtime's program; returns the configuration's path."""
        self.program(f"/usr/bin/{ENGINE_PROGRAMS[engine]}")
        self.program(RUNTIME)
        if config is not None:
            self.put(CONFIGS[engine], config)
        return self.path(CONFIGS[engine])

    def unit(self, name: str, command: str, folder: str = "/usr/lib/systemd/system") -> Path:
        return self.put(f"{folder}/{name}", f"[Service]\nExecStart={command}\n")

    def ctk(self, *arguments: str, **settings: Any) -> Answer:
        return ctk("--root", str(self.folder), *arguments, **settings)

    def configure(self, engine: str, *arguments: str) -> Answer:
        return self.ctk("runtime", "configure", f"--runtime={engine}", *arguments)

    def unconfigure(self, engine: str, *arguments: str) -> Answer:
        return self.ctk("runtime", "unconfigure", f"--runtime={engine}", *arguments)

    def everything(self) -> dict[str, tuple[object, ...]]:
        """All below the folder: bytes or link target, mode, owner, modification time; to see that nothing moved."""
        return {str(path.relative_to(self.folder)): _look(path) for path in sorted(self.folder.rglob("*"))}

    def entries(self) -> list[str]:
        """The journal's folder, as it lies there."""
        folder = self.state / "journal"
        return sorted(os.listdir(folder)) if folder.is_dir() else []


def _look(path: Path) -> tuple[object, ...]:
    found = path.lstat()
    content: object = None
    if path.is_symlink():
        content = os.readlink(path)
    elif path.is_file():
        content = path.read_bytes()
    return content, found.st_mode, found.st_uid, found.st_gid, found.st_mtime_ns, found.st_ino
