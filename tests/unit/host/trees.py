"""Small hosts as folders, for tests of discovery; it knows no collector."""

from collections.abc import Mapping
from pathlib import Path

from ctk.host.local import LocalHost
from ctk.host.processes import Process

PROGRAM = "#!/bin/sh\n"


class Link(str):
    """A symbolic link to this target instead of a text."""


class Program(str):
    """A text that may be executed."""


def plant(root: Path, files: Mapping[str, str]) -> LocalHost:
    """Writes the files below root; the host sees only them and an empty environment."""
    for name, content in files.items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Link):
            path.symlink_to(content)
        else:
            path.write_text(content, encoding="utf-8")
            path.chmod(0o755 if isinstance(content, Program) else 0o644)
    return LocalHost(str(root), environment={})


def make_process(*argv: str, **changes: object) -> Process:
    """A root's process of the host itself, number 42; override what the test is about."""
    values: dict[str, object] = {
        "pid": 42,
        "argv": argv,
        "executable": None,
        "started": "2024-05-01T08:00:00Z",
        "user": 0,
        "cgroup": "",
    }
    return Process(**{**values, **changes})  # type: ignore[arg-type] # the values are Process's own fields by name


def proc_files(pid: int, *argv: str, cgroup: str = "0::/\n", uid: int = 0, ticks: int = 100) -> dict[str, str]:
    """What /proc says of one process."""
    name = argv[0].rpartition("/")[2][:15]
    fields = " ".join(["S", "1", *["0"] * 17, str(ticks), "0"])
    return {
        f"/proc/{pid}/comm": f"{name}\n",
        f"/proc/{pid}/cmdline": "\0".join(argv) + "\0",
        f"/proc/{pid}/stat": f"{pid} ({name}) {fields}\n",
        f"/proc/{pid}/status": f"Name:\t{name}\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\n",
        f"/proc/{pid}/cgroup": cgroup,
    }
