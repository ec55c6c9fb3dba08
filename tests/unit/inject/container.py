"""A container's root for the tests of hooks, and a way to run hooks on it; it knows no hook."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

CHECKOUT = Path(__file__).resolve().parents[3]
SERVER = Path(__file__).with_name("hook_server.py")
MS_BIND = 4096
LIBRARIES = "/usr/lib/x86_64-linux-gnu"
HANG_SECONDS = 20.0

Mount = tuple[str, str, str, int]


class Ran(NamedTuple):
    """One finished hook. code is "hung" if it had to be killed."""

    code: int | str
    output: str


class HookServer:
    """The process that runs the hooks."""

    def __init__(self) -> None:
        command = [sys.executable, "-I", "-S", "-B", str(SERVER), str(CHECKOUT)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, request: dict[str, object]) -> Ran:
        """Run one request."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(request) + "\n")
        stdin.flush()
        return Ran(**json.loads(stdout.readline()))

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(timeout=10)


class Container:
    """A bundle with an empty root below a folder that the hooks must leave alone."""

    def __init__(self, folder: Path, server: HookServer) -> None:
        self.folder = folder
        self.root = folder / "bundle" / "rootfs"
        self.root.mkdir(parents=True)
        self.state = folder / "bundle" / "state.json"
        self.state.write_text(json.dumps({"ociVersion": "1.0.2", "id": "x", "bundle": str(folder / "bundle")}))
        (folder / "bundle" / "config.json").write_text(json.dumps({"root": {"path": "rootfs"}}))
        self._server = server

    def path(self, name: str) -> Path:
        """A path of the container, as one of this machine; folders above it are made."""
        path = self.root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def folder_at(self, name: str) -> Path:
        """A folder of the container."""
        path = self.path(name)
        path.mkdir(parents=True, exist_ok=True)
        return path

    def write(self, name: str, content: str | bytes = "") -> Path:
        """A file of the container."""
        path = self.path(name)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def link(self, name: str, target: str) -> Path:
        """A link of the container."""
        path = self.path(name)
        path.symlink_to(target)
        return path

    def node(self, name: str, major: int, minor: int) -> Path:
        """A character device of the container."""
        path = self.path(name)
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(major, minor))
        return path

    def read(self, name: str) -> str:
        """A file of the container as text."""
        return (self.root / name.lstrip("/")).read_text(encoding="utf-8")

    def run(
        self,
        *arguments: str,
        mounts: Sequence[Mount] = (),
        read_only: bool = False,
        no_openat2: bool = False,
        forbid: Sequence[str] = (),
        user_namespace: bool = False,
        without_ldconfig: bool = False,
        ldconfig_seconds: float = 60.0,
        seconds: float = 0.0,
        look_at: Sequence[str] = (),
    ) -> Ran:
        """Run a hook on it. seconds: again and again for so long. look_at: files to be shown as they are afterwards."""
        request = {
            "root": str(self.root),
            "arguments": [*arguments, f"--container-spec={self.state}"],
            "mounts": [list(mount) for mount in mounts],
            "read_only": read_only,
            "forbid": [*forbid, *(["openat2"] if no_openat2 else [])],
            "user_namespace": user_namespace,
            "without_ldconfig": without_ldconfig,
            "ldconfig_seconds": ldconfig_seconds,
            "seconds": seconds,
            "look_at": [str(self.root / name.lstrip("/")) for name in look_at],
            "deadline": HANG_SECONDS + seconds,
        }
        return self._server.ask(request)

    def done(self, *arguments: str, no_openat2: bool = False) -> str:
        """Run a hook that must succeed; what it said."""
        ran = self.run(*arguments, no_openat2=no_openat2)
        assert ran.code == 0, ran.output
        return ran.output

    def tree(self) -> dict[str, object]:
        """Everything in the root: kind, mode, link or content."""
        return read_tree(self.root)


def read_tree(top: Path, skip: Path | None = None) -> dict[str, object]:
    """Path -> (kind, mode, owner, group, time, content or link) of everything below a folder, and of itself.

    skip: a folder that is left out.
    """
    found: dict[str, object] = {}
    paths = [str(top)]
    while paths:
        path = paths.pop()
        if skip is not None and path == str(skip):
            continue
        status = os.lstat(path)
        row: list[object] = [oct(status.st_mode), status.st_uid, status.st_gid, status.st_mtime_ns, status.st_nlink]
        if stat.S_ISDIR(status.st_mode):
            paths += [os.path.join(path, name) for name in os.listdir(path)]
        elif stat.S_ISLNK(status.st_mode):
            row.append(os.readlink(path))
        elif stat.S_ISREG(status.st_mode):
            row.append(Path(path).read_bytes())
        found[os.path.relpath(path, top)] = tuple(row)
    return found
