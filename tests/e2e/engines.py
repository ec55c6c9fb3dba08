"""Which real engines this machine has, from the list that scripts/engines wrote; it starts and installs nothing."""

import json
import os
from pathlib import Path
from typing import NamedTuple

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
MANIFEST = REPOSITORY / ".cache" / "engines" / "engines.json"

CONTAINERD_GENERATIONS = ("1.6", "1.7", "2")
DOCKERD_GENERATIONS = ("20.10", "26", "28")
OPTIONAL_GENERATIONS = frozenset({"dockerd-26"})


class Engine(NamedTuple):
    """One engine's binary. root is / for the distribution's own, else the folder its packages were unpacked into."""

    engine: str
    version: str
    binary: str
    generation: str
    root: str

    @property
    def label(self) -> str:
        """How test ids and the header name it."""
        return f"{self.engine}-{self.generation}"


def read_engines() -> tuple[Engine, ...]:
    """Every engine in the list; empty when scripts/engines has not run."""
    if not MANIFEST.exists():
        return ()
    return tuple(Engine(**row) for row in json.loads(MANIFEST.read_text())["engines"])


def find_engine(engine: str, generation: str) -> Engine | None:
    """The newest engine of a generation."""
    found = [row for row in read_engines() if row.engine == engine and row.generation == generation]
    return max(found, key=lambda row: tuple(map(int, row.version.split("."))), default=None)


def find_binary(engine: str) -> str:
    """The path of a tool that has one generation only (runc, podman, busybox, strace)."""
    for row in read_engines():
        if row.engine == engine:
            return row.binary
    raise LookupError(f"{engine} is not in {MANIFEST}; run scripts/engines as root")


def is_ci() -> bool:
    """Whether a missing engine must fail rather than skip."""
    return os.environ.get("CI", "") not in ("", "0", "false")


def need_engine(engine: str, generation: str) -> Engine:
    """The engine, or the end of the test: a failure in CI, where a missing generation must not look green."""
    found = find_engine(engine, generation)
    if found is not None:
        return found
    message = f"{engine} {generation} is not on this machine; run scripts/engines as root"
    if is_ci() and f"{engine}-{generation}" not in OPTIONAL_GENERATIONS:
        pytest.fail(message)
    pytest.skip(message)


def render_header() -> str:
    """One line for pytest's header: the versions met."""
    rows = [f"{row.engine} {row.version}" for row in read_engines()]
    return "engines: " + (", ".join(rows) if rows else "none (run scripts/engines as root)")
