"""Fixtures of the hooks' tests: a container below a folder of the test's own, and the process that runs hooks on it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.inject.container import Container, HookServer


@pytest.fixture(scope="session")
def hook_server() -> Iterator[HookServer]:
    """One process for all tests of a worker."""
    server = HookServer()
    yield server
    server.close()


@pytest.fixture
def container(tmp_path: Path, hook_server: HookServer) -> Container:
    """A bundle with an empty root."""
    return Container(tmp_path / "host", hook_server)
