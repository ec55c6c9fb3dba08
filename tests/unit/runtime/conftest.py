"""Fixtures of the planner's tests."""

from pathlib import Path

import pytest

from tests.unit.runtime.scene import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A host with NVIDIA's runtime program and no engine."""
    return Machine(tmp_path)
