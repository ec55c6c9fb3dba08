"""Kills a command line before each of its system calls in turn, and looks at its files after each; knows no command.

strace traces only the process itself, not its children. The same command on the same fresh host makes the same calls:
hash seeds are fixed and byte code is compiled before, so "the 7th openat" is one place.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

CHANGING = frozenset(
    [
        *("openat", "write", "pwrite64", "rename", "renameat", "renameat2", "unlink", "unlinkat", "mkdir", "mkdirat"),
        *("rmdir", "link", "linkat", "symlink", "symlinkat", "chmod", "fchmod", "fchmodat", "chown", "fchown"),
        *("fchownat", "fsync", "fdatasync", "truncate", "ftruncate", "utimensat", "setxattr", "fsetxattr"),
        *("removexattr", "fremovexattr", "fallocate", "close", "flock", "exit_group"),
    ]
)
_CALL = re.compile(r"^(?P<name>[a-z_0-9]+)\(")
SECONDS = 60


class Case(NamedTuple):
    """A command to be killed. prepare lays out a fresh host below a folder and returns the command line.

    files: the files the command changes, relative to that folder. begin: the kills start at the first call whose line
    in strace's log matches. may_tear: a file may be a mix until the next run (written in place on a mount point).
    """

    prepare: Callable[[Path], tuple[str, ...]]
    files: tuple[str, ...]
    begin: str = r"/locks/"
    environment: Mapping[str, str] = {}
    may_tear: bool = False
    tidy: Callable[[Path], None] = lambda folder: None


class Step(NamedTuple):
    """The place of a kill: before the nth call of that name; line is what strace saw there."""

    call: str
    occurrence: int
    line: str


class Walked(NamedTuple):
    """What came of a walk: places, kills that really happened, and what was wrong, as sentences."""

    steps: int
    killed: int
    faults: tuple[str, ...]


def walk(case: Case, folder: Path, *, only: frozenset[str] | None = None) -> Walked:
    """Kill the command at every place (or before the named calls only), check its files, run it again, check again."""
    folder.mkdir(parents=True)
    old, new, steps = _survey(case, folder, only)
    faults: list[str] = []
    killed = 0
    for number, step in enumerate(steps):
        host = _fresh(folder, f"step-{number:05}")
        command = case.prepare(host)
        ended = _run(case, host, ["strace", "-o", "/dev/null", *_inject(step), *command])
        killed += ended.returncode == -signal.SIGKILL
        faults += [f"killed before {step.line}: {fault}" for fault in _check_one(case, host, command, old, new)]
        case.tidy(host)
        shutil.rmtree(host)
    return Walked(len(steps), killed, tuple(faults))


def _survey(
    case: Case, folder: Path, only: frozenset[str] | None
) -> tuple[dict[str, bytes | None], dict[str, bytes | None], tuple[Step, ...]]:
    """The files before and after an undisturbed run, and its calls; one run before that compiles byte code."""
    if shutil.which("strace") is None:
        raise AssertionError("strace is missing: scripts/engines installs it")
    for name in ("step-warm0", "step-trace"):
        host = _fresh(folder, name)
        log = folder / "strace.log"
        command = case.prepare(host)
        old = _contents(case, host)
        ended = _run(case, host, ["strace", "-o", str(log), "-s", "300", *command])
        assert ended.returncode == 0, ended.stderr
        new = _contents(case, host)
        case.tidy(host)
        shutil.rmtree(host)
    assert old != new
    steps = tuple(step for step in _steps(log.read_text(errors="replace"), case.begin) if not only or step.call in only)
    assert steps, "the command never came to its lock"
    return old, new, steps


def _fresh(folder: Path, name: str) -> Path:
    host = folder / name
    host.mkdir()
    return host


def _steps(log: str, begin: str) -> Iterator[Step]:
    counts: dict[str, int] = {}
    begun = False
    for line in log.splitlines():
        matched = _CALL.match(line)
        if matched is None:
            continue
        name = matched["name"]
        counts[name] = counts.get(name, 0) + 1
        begun = begun or re.search(begin, line) is not None
        if begun:
            yield Step(name, counts[name], line[:160])


def _inject(step: Step) -> list[str]:
    return ["-e", f"trace={step.call}", "-e", f"inject={step.call}:signal=SIGKILL:when={step.occurrence}"]


def _run(case: Case, host: Path, command: list[str] | tuple[str, ...]) -> "subprocess.CompletedProcess[str]":
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "PYTHONHASHSEED": "0",
        "LC_ALL": "C.UTF-8",
        "HOME": str(host),
        **case.environment,
    }
    return subprocess.run(
        command, env=environment, cwd=host, capture_output=True, text=True, timeout=SECONDS, check=False
    )


def _contents(case: Case, host: Path) -> dict[str, bytes | None]:
    return {name: (host / name).read_bytes() if (host / name).exists() else None for name in case.files}


def _check_one(
    case: Case, host: Path, command: tuple[str, ...], old: dict[str, bytes | None], new: dict[str, bytes | None]
) -> Iterator[str]:
    for name, data in _contents(case, host).items():
        if data not in (old[name], new[name]) and not case.may_tear:
            yield f"{name} is neither old nor new: {data!r}"
    again = _run(case, host, command)
    if again.returncode != 0:
        yield f"the next run ended with {again.returncode}: {again.stderr.strip()}"
    for name, data in _contents(case, host).items():
        if data != new[name]:
            yield f"{name} is not new after the next run: {data!r}"
    for path in host.rglob("*"):
        if path.name.startswith((".ctk-", ".new-")) or path.name.endswith(".pending"):
            yield f"{path.relative_to(host)} is left"


def python(*arguments: str) -> tuple[str, ...]:
    """A command line that runs this interpreter."""
    return (sys.executable, *arguments)
