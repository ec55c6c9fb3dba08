"""`ctk cdi list`: names on stdout as nvidia-ctk prints them, what is behind and what is wrong beside them."""

import json
from pathlib import Path

import pytest

from ctk.cdi.document import render_json, render_yaml
from ctk.cli.cdi_folders import VARIABLE
from ctk.facts.cdi_spec import CdiSpec, SpecDevice, SpecDeviceNode, SpecEdits, SpecHook, SpecMount
from tests.unit.cli.scene import Answer, HostFolder

LIBRARY = "/usr/lib/x86_64-linux-gnu/libcuda.so.535.100.01"
HOOK = "/usr/bin/nvidia-cdi-hook"
MOUNT = SpecMount(LIBRARY, LIBRARY, ("ro", "rbind"))
COMMON = SpecEdits(mounts=(MOUNT,), hooks=(SpecHook("createContainer", HOOK),))


def make_text(*names: str, kind: str = "nvidia.com/gpu", edits: SpecEdits = COMMON, env: str = "A=1") -> str:
    devices = tuple(SpecDevice(name, SpecEdits(env=(env,))) for name in names)
    return render_yaml(CdiSpec("0.5.0", kind, devices, edits))


def names_of(answer: Answer) -> list[str]:
    return answer.out.splitlines()


@pytest.fixture
def gpu_host(host: HostFolder) -> HostFolder:
    """Library and hook are there, and /var/run leads to /run."""
    host.put(LIBRARY, "")
    host.program(HOOK)
    host.path("/run").mkdir()
    host.path("/var").mkdir()
    host.path("/var/run").symlink_to("/run")
    return host


def test_one_qualified_name_a_line_in_the_order_of_bytes(gpu_host: HostFolder) -> None:
    gpu_host.put("/etc/cdi/nvidia.yaml", make_text("all", "1", "0"))
    gpu_host.put("/run/cdi/other.json", render_json(CdiSpec("0.5.0", "a.com/b", (SpecDevice("x", COMMON),))))
    answer = gpu_host.ctk("cdi", "list")
    assert answer.code == 0
    assert names_of(answer) == ["a.com/b=x", "nvidia.com/gpu=0", "nvidia.com/gpu=1", "nvidia.com/gpu=all"]
    assert answer.err == "note: Found 4 CDI devices\n"
    assert gpu_host.ctk("cdi", "list", "--quiet").err == ""


def test_no_spec_and_no_folder_is_no_error(host: HostFolder) -> None:
    answer = host.ctk("cdi", "list")
    assert (answer.code, answer.out) == (0, "")
    assert "/etc/cdi is not there" in answer.err
    assert "Found 0 CDI devices" in answer.err


def test_one_name_for_two_files_and_the_later_folder_wins(gpu_host: HostFolder) -> None:
    """Field case F70."""
    gpu_host.put("/etc/cdi/nvidia.yaml", make_text("0"))
    gpu_host.put("/run/cdi/nvidia.yaml", make_text("0", env="A=2"))
    assert names_of(gpu_host.ctk("cdi", "list")) == ["nvidia.com/gpu=0"]
    screen = gpu_host.ctk("cdi", "list", "-v").out
    assert f"file      {gpu_host.folder}/var/run/cdi/nvidia.yaml" in screen
    assert f"shadows   {gpu_host.folder}/etc/cdi/nvidia.yaml" in screen
    (device,) = gpu_host.ctk("cdi", "list", "--json").json()["data"]["devices"]
    assert (device["usable"], device["shadowed"]) == (True, [f"{gpu_host.folder}/etc/cdi/nvidia.yaml"])


def test_two_files_of_one_folder_make_the_device_unusable(gpu_host: HostFolder) -> None:
    """Field case F70."""
    gpu_host.put("/etc/cdi/nvidia.yaml", make_text("0", "1"))
    gpu_host.put("/etc/cdi/nvidia-gpu.yaml", make_text("0"))
    answer = gpu_host.ctk("cdi", "list")
    assert names_of(answer) == ["nvidia.com/gpu=1"]
    assert ["nvidia.com/gpu=0" in line and "engines take it from neither" in line for line in answer.warnings()] == [
        True
    ]
    devices = gpu_host.ctk("cdi", "list", "--json").json()["data"]["devices"]
    assert [(device["name"][-1], device["usable"], len(device["conflict"])) for device in devices] == [
        ("0", False, 2),
        ("1", True, 0),
    ]
    assert f"{gpu_host.path('/etc/cdi/nvidia-gpu.yaml')} and " in answer.warnings()[0]


def test_the_same_fault_in_two_edits_of_a_device_is_told_once(gpu_host: HostFolder) -> None:
    """ctk's hook stands in the common edits, and in those of a device with nodes for its screen."""
    device = SpecDevice("0", SpecEdits(hooks=(SpecHook("createContainer", HOOK, (HOOK, "x")),)))
    gpu_host.put("/etc/cdi/nvidia.yaml", render_yaml(CdiSpec("0.5.0", "nvidia.com/gpu", (device,), COMMON)))
    gpu_host.path(HOOK).unlink()
    assert gpu_host.ctk("cdi", "list").warnings() == [f"warning: nvidia.com/gpu=0: {HOOK} is not there"]


def test_a_stale_spec_marks_its_devices_as_broken(gpu_host: HostFolder) -> None:
    """Field case F65: the driver was updated, the spec was not."""
    gpu_host.put("/etc/cdi/nvidia.yaml", make_text("0", "all"))
    gpu_host.path(LIBRARY).unlink()
    answer = gpu_host.ctk("cdi", "list")
    assert names_of(answer) == ["nvidia.com/gpu=0", "nvidia.com/gpu=all"]
    assert answer.warnings() == [f"warning: nvidia.com/gpu=0, nvidia.com/gpu=all: {LIBRARY} is not there"]
    assert f"broken    {LIBRARY} is not there" in gpu_host.ctk("cdi", "list", "-v").out
    devices = gpu_host.ctk("cdi", "list", "--json").json()["data"]["devices"]
    assert [device["usable"] for device in devices] == [False, False]


def test_only_the_device_whose_node_is_gone_is_broken(gpu_host: HostFolder) -> None:
    gpu_host.put("/dev/null", "")
    node = SpecEdits(device_nodes=(SpecDeviceNode("/dev/nvidia7"),))
    spec = CdiSpec("0.5.0", "nvidia.com/gpu", (SpecDevice("0", SpecEdits(env=("A=1",))), SpecDevice("7", node)))
    gpu_host.put("/etc/cdi/nvidia.yaml", render_yaml(spec))
    assert gpu_host.ctk("cdi", "list").warnings() == ["warning: nvidia.com/gpu=7: /dev/nvidia7 is not there"]


def test_a_bad_file_is_told_and_hides_no_other(gpu_host: HostFolder) -> None:
    gpu_host.put("/etc/cdi/good.yaml", make_text("0"))
    gpu_host.put("/etc/cdi/bad.yaml", "kind: [\n")
    gpu_host.put("/etc/cdi/old.yaml", make_text("1").replace("0.5.0", "0.4.0"))
    answer = gpu_host.ctk("cdi", "list")
    assert names_of(answer) == ["nvidia.com/gpu=0"]
    assert len(answer.warnings()) == 2
    assert "bad.yaml:2:1: it is no YAML" in answer.err
    assert "old.yaml:2:13: cdiVersion is 0.4.0, but the spec needs 0.5.0" in answer.err
    broken = gpu_host.ctk("cdi", "list", "--json").json()["data"]["broken_files"]
    assert [(Path(file["file"]).name, file["faults"][0]["line"]) for file in broken] == [
        ("bad.yaml", 2),
        ("old.yaml", 2),
    ]


@pytest.mark.parametrize("kind", ["x.com/y", "x/y"])
def test_a_kind_of_one_letter_is_listed(gpu_host: HostFolder, kind: str) -> None:
    """nvidia-ctk ends with a stack trace here."""
    gpu_host.put("/etc/cdi/x.yaml", make_text("z", kind=kind))
    answer = gpu_host.ctk("cdi", "list")
    assert (answer.code, names_of(answer)) == (0, [f"{kind}=z"])


@pytest.mark.parametrize(
    "arguments",
    [
        ("--spec-dir=/a", "--spec-dir=/b"),
        ("--spec-dir=/a,/b",),
        ("-spec-dir", "/a, /b/"),
    ],
    ids=" ".join,
)
def test_folders_are_given_several_times_or_joined(gpu_host: HostFolder, arguments: tuple[str, ...]) -> None:
    gpu_host.put("/a/x.yaml", make_text("a"))
    gpu_host.put("/b/x.yaml", make_text("b"))
    gpu_host.put("/etc/cdi/x.yaml", make_text("c"))
    assert names_of(gpu_host.ctk("cdi", "list", *arguments)) == ["nvidia.com/gpu=a", "nvidia.com/gpu=b"]


def test_folders_of_the_environment_count_where_no_option_is_given(
    gpu_host: HostFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "/a,/b")
    gpu_host.put("/b/x.yaml", make_text("b"))
    gpu_host.put("/c/x.yaml", make_text("c"))
    assert names_of(gpu_host.ctk("cdi", "list")) == ["nvidia.com/gpu=b"]
    assert names_of(gpu_host.ctk("cdi", "list", "--spec-dir=/c")) == ["nvidia.com/gpu=c"]


def test_two_names_of_one_folder_are_read_once(gpu_host: HostFolder) -> None:
    """Field case F74."""
    gpu_host.put("/run/cdi/nvidia.yaml", make_text("0"))
    answer = gpu_host.ctk("cdi", "list", "--spec-dir", "/run/cdi,/var/run/cdi", "--json").json()
    (device,) = answer["data"]["devices"]
    assert (device["usable"], device["shadowed"], device["conflict"]) == (True, [], [])


def test_a_folder_that_cannot_be_read_is_no_empty_one(host: HostFolder) -> None:
    host.put("/etc/cdi", "a file")
    answer = host.ctk("cdi", "list")
    assert answer.code == 3
    assert answer.errors() == [f"error: cannot read {host.path('/etc/cdi')}: it is no folder"]
    assert "Name another folder with --spec-dir" in answer.err


def test_a_saved_snapshot_lists_the_same(gpu_host: HostFolder, tmp_path: Path) -> None:
    gpu_host.put("/etc/cdi/nvidia.yaml", make_text("0"))
    gpu_host.path(LIBRARY).unlink()
    saved = tmp_path / "host.json"
    document = gpu_host.ctk("info", "--json", "--no-redact").json()["data"]
    saved.write_text(json.dumps(document))
    answer = gpu_host.ctk("cdi", "list", "--snapshot", str(saved))
    assert names_of(answer) == ["nvidia.com/gpu=0"]
    assert answer.warnings() == [f"warning: nvidia.com/gpu=0: {LIBRARY} is not there"]
    assert gpu_host.ctk("cdi", "list", "--snapshot", str(saved), "--spec-dir=/a").code == 3
    del document["cdi"]
    saved.write_text(json.dumps(document))
    assert "cannot tell the specs of this snapshot" in gpu_host.ctk("cdi", "list", "--snapshot", str(saved)).err
