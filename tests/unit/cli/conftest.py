"""Fixtures of the command line's tests: a host folder and a state folder of the test's own."""

from pathlib import Path

import pytest

from tests.unit.cli.scene import HostFolder


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HostFolder:
    """An empty host; ctk's journal for it lies beside it."""
    folder = HostFolder(tmp_path / "host")
    monkeypatch.setenv("CTK_STATE_DIR", str(folder.state))
    return folder
