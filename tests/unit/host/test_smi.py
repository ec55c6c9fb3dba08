"""NVIDIA's tool is run once, by an active probe, and never where it would hang or belong to somebody else."""

import os
from pathlib import Path

import pytest

from ctk.facts import Unknown
from ctk.facts.nvml import VgpuLicence
from ctk.facts.smi import Smi
from ctk.host.local import LocalHost
from ctk.host.smi import collect_licence_status, collect_smi, parse_licence_status
from tests.nvml_builders import make_nvml, make_nvml_gpu
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


UNLICENSED = VgpuLicence("NVIDIA RTX Virtual Workstation", False)
SECTION = """
    vGPU Software Licensed Product
        Product Name                      : NVIDIA RTX Virtual Workstation
        License Status                    : Unlicensed (Restricted)
    GPU Reset Status
"""


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (SECTION, "Unlicensed (Restricted)"),
        ("License Status   : Licensed (Expiry: 2024-10-19 6:51:17 GMT)\n", "Licensed (Expiry: 2024-10-19 6:51:17 GMT)"),
        ("License Status :\n", None),
        ("", None),
    ],
)
def test_what_the_tool_says_of_a_licence(text: str, status: str | None) -> None:
    assert parse_licence_status(text) == status


@pytest.mark.parametrize(
    "nvml",
    [
        None,
        Unknown("not asked"),
        make_nvml(make_nvml_gpu()),
        make_nvml(make_nvml_gpu(licence=UNLICENSED._replace(licensed=True))),
    ],
)
def test_the_tool_is_asked_only_for_a_vgpu_without_a_licence(tmp_path: Path, nvml: object) -> None:
    host = plant(tmp_path, {"/usr/bin/nvidia-smi": Program("#!/bin/sh\nexit 1\n")})
    assert collect_licence_status(host, nvml) is None


def test_a_tool_that_cannot_be_run_leaves_the_question_open(tmp_path: Path) -> None:
    nvml = make_nvml(make_nvml_gpu(licence=UNLICENSED))
    host = plant(tmp_path / "a", {"/usr/bin/nvidia-smi": Program("#!/bin/sh\n")})
    assert collect_licence_status(host, nvml) == Unknown("not run: --root")
    assert collect_licence_status(plant(tmp_path / "b", {"/x": ""}), nvml) is None


@pytest.mark.real
def test_a_tool_that_answers(tmp_path: Path) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\ncat <<'END'\n{SECTION}\nEND\n", encoding="utf-8")
    tool.chmod(0o755)
    host = LocalHost(environment={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    nvml = make_nvml(make_nvml_gpu(licence=UNLICENSED))
    assert collect_licence_status(host, nvml) == "Unlicensed (Restricted)"
