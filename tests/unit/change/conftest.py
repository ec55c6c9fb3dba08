"""Fixtures of the change layer's tests."""

from pathlib import Path

import pytest

from tests.unit.change.scene import Scene


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """A small host with one configuration file."""
    return Scene(tmp_path)
