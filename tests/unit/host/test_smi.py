"""NVIDIA's tool is run once, by an active probe, and never where it would hang or belong to somebody else."""

import os
from pathlib import Path

import pytest

from ctk.facts import Unknown
from ctk.facts.smi import Smi
from ctk.host.local import LocalHost
from ctk.host.smi import collect_smi
from tests.unit.host.trees import Program, plant


def test_below_another_root_nothing_is_run(tmp_path: Path) -> None:
    assert collect_smi(plant(tmp_path, {"/usr/bin/nvidia-smi": Program("#!/bin/sh\n")}), None) == Unknown(
        "not run: --root"
    )
    assert collect_smi(plant(tmp_path / "none", {"/x": ""}), None) is None


@pytest.mark.real
@pytest.mark.parametrize(
    ("script", "code", "said"),
    [("exit 0", 0, ""), ("echo 'No devices were found'; exit 6", 6, "No devices were found")],
)
def test_exit_code_is_kept(tmp_path: Path, script: str, code: int, said: str) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    tool.chmod(0o755)
    host = LocalHost(environment={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    answer = collect_smi(host, None)
    assert answer == Smi(str(tool), code, "", said)
