"""Programs that run containers by ways of their own."""

from pathlib import Path

import pytest

from ctk.facts import Unknown
from ctk.host.other_engines import collect_other_engines
from tests.fake_host import FakeHost
from tests.unit.host.trees import PROGRAM, Program, plant


def test_paths_of_those_that_are_there(tmp_path: Path) -> None:
    host = plant(tmp_path, {"/usr/local/bin/apptainer": Program(PROGRAM), "/usr/bin/enroot": Program(PROGRAM)})
    assert collect_other_engines(host) == ("/usr/local/bin/apptainer", "/usr/bin/enroot")


def test_none(tmp_path: Path) -> None:
    assert collect_other_engines(plant(tmp_path, {"/usr/bin/docker": Program(PROGRAM)})) == ()


@pytest.mark.parametrize("closed", ["/usr", "/usr/local/bin"])
def test_a_closed_folder_may_hide_one(tmp_path: Path, closed: str) -> None:
    plant(tmp_path, {"/usr/local/bin/x": "", "/usr/bin/x": ""})
    host = FakeHost(str(tmp_path), {"denied": [{"path": closed}]})
    assert collect_other_engines(host) == Unknown("permission denied")
