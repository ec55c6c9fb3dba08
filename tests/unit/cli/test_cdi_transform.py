"""`ctk cdi transform root`: files and streams, formats, what is refused, and that a bad spec leaves the old file."""

import io
import json
import os
import sys
from pathlib import Path

import pytest
import yaml

from tests.unit.cli.scene import ctk

SPEC = """\
---
cdiVersion: 0.3.0
kind: nvidia.com/gpu
devices:
- name: gpu0
  containerEdits:
    deviceNodes:
    - path: /run/nvidia/driver/dev/nvidia0
containerEdits:
  mounts:
  - hostPath: /run/nvidia/driver/usr/lib64/libcuda.so.550.1
    containerPath: /usr/lib64/libcuda.so.550.1
"""
DRIVER = "/run/nvidia/driver"


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "nvidia.yaml"
    path.write_text(SPEC)
    return path


def test_host_paths_move_and_the_file_is_readable_by_all(spec: Path, tmp_path: Path) -> None:
    output = tmp_path / "moved.yaml"
    old = os.umask(0o077)
    try:
        answer = ctk("cdi", "transform", "root", f"--from={DRIVER}", f"--input={spec}", f"--output={output}")
    finally:
        os.umask(old)
    assert answer.code == 0, answer.err
    document = yaml.safe_load(output.read_text())
    assert document["containerEdits"]["mounts"][0]["hostPath"] == "/usr/lib64/libcuda.so.550.1"
    node = document["devices"][0]["containerEdits"]["deviceNodes"][0]
    assert node == {"path": f"{DRIVER}/dev/nvidia0", "hostPath": "/dev/nvidia0"}
    assert output.stat().st_mode & 0o777 == 0o644
    assert answer.out == f"{output}: written, 3 entries changed.\n"


def test_version_rises_to_what_the_paths_need(spec: Path) -> None:
    document = yaml.safe_load(ctk("cdi", "transform", "root", f"--from={DRIVER}", f"--input={spec}").out)
    assert document["cdiVersion"] == "0.5.0"


def test_container_side_moves_alone(spec: Path) -> None:
    answer = ctk("cdi", "transform", "root", "--to=/opt", "--relative-to=container", f"--input={spec}")
    mount = yaml.safe_load(answer.out)["containerEdits"]["mounts"][0]
    assert mount == {
        "hostPath": f"{DRIVER}/usr/lib64/libcuda.so.550.1",
        "containerPath": "/opt/usr/lib64/libcuda.so.550.1",
    }


def test_streams_and_single_dashes_work_as_in_nvidia_ctk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SPEC.encode())))
    answer = ctk("cdi", "transform", "root", "-from", DRIVER, "-to", "/host")
    assert answer.code == 0, answer.err
    assert "hostPath: /host/usr/lib64/libcuda.so.550.1" in answer.out


@pytest.mark.parametrize(("options", "is_json"), [(("--format=json",), True), ((), False)])
def test_format_goes_before_the_name(options: tuple[str, ...], is_json: bool, spec: Path) -> None:
    assert ctk("cdi", "transform", "root", f"--input={spec}", *options).out.startswith("{") is is_json


def test_name_chooses_the_format(spec: Path, tmp_path: Path) -> None:
    assert ctk("cdi", "transform", "root", f"--input={spec}", f"--output={tmp_path}/x.json").code == 0
    assert json.loads((tmp_path / "x.json").read_text())["kind"] == "nvidia.com/gpu"


def test_json_holds_the_spec_or_names_the_file(spec: Path, tmp_path: Path) -> None:
    data = ctk("cdi", "transform", "root", f"--input={spec}", "--json").json()["data"]
    assert data["spec"]["kind"] == "nvidia.com/gpu"
    assert (data["changes"], data["output"]) == (0, None)
    output = tmp_path / "out.yaml"
    data = ctk("cdi", "transform", "root", f"--input={spec}", f"--output={output}", "--json").json()["data"]
    assert data == {"changes": 0, "output": str(output)}


BAD = {
    "no devices": ("cdiVersion: 0.3.0\nkind: a.com/b\n", "parse"),
    "not YAML": ("cdiVersion: [", "parse"),
    "unknown field": (SPEC.replace("kind:", "knid: x\nkind:"), "parse"),
    "too old a version": (SPEC.replace("gpu0", "0"), "parse"),
}


@pytest.mark.parametrize(("text", "code"), BAD.values(), ids=BAD)
def test_a_spec_that_no_engine_reads_is_refused_and_the_old_file_stays(text: str, code: str, spec: Path) -> None:
    output = spec.with_name("out.yaml")
    output.write_text("old")
    spec.write_text(text)
    answer = ctk("cdi", "transform", "root", f"--input={spec}", f"--output={output}", "--json")
    assert answer.code == 3
    assert answer.json()["errors"][0]["code"] == code
    assert output.read_text() == "old"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(("--from=run",), 2), (("--relative-to=guest",), 2), (("--input=/nowhere",), 3), (("extra",), 2)],
)
def test_what_cannot_be_meant_or_read_is_an_error(arguments: tuple[str, ...], code: int, spec: Path) -> None:
    answer = ctk("cdi", "transform", "root", f"--input={spec}", *arguments)
    assert answer.code == code
    assert answer.out == ""
    assert len(answer.errors()) == 1
