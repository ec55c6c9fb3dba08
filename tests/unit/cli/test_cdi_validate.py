"""`ctk cdi validate`: each kind of fault with its file, line and exit code, and what is true passes."""

import json
from pathlib import Path

import pytest

from ctk.cdi.document import render_yaml
from ctk.facts.cdi_spec import CdiSpec, SpecDevice, SpecDeviceNode, SpecEdits, SpecHook, SpecMount
from tests.unit.cli.scene import Answer, HostFolder

VERSION = "580.95.05"
LIBRARY = f"/usr/lib/x86_64-linux-gnu/libcuda.so.{VERSION}"
HOOK = "/usr/bin/nvidia-cdi-hook"
UUID = "GPU-5b1c6f2e-7d0a-4a55-9b7e-0c4f0d1e2a3b"
FILE = "/etc/cdi/nvidia.yaml"
GPU = "/proc/driver/nvidia/gpus/0000:3b:00.0/information"
MIG = "/proc/driver/nvidia/capabilities/gpu0/mig/gi1/access"


def make_spec(*names: str) -> CdiSpec:
    mount = SpecMount(LIBRARY, LIBRARY, ("ro", "rbind"))
    common = SpecEdits(mounts=(mount,), hooks=(SpecHook("createContainer", HOOK),))
    devices = tuple(SpecDevice(name, SpecEdits(env=("A=1",))) for name in names or ("0", UUID, "all"))
    return CdiSpec("0.5.0", "nvidia.com/gpu", devices, common)


@pytest.fixture
def gpu_host(host: HostFolder) -> HostFolder:
    """One GPU whose node no folder can hold: its spec has none either, until a test adds it."""
    host.put(LIBRARY, "")
    host.program(HOOK)
    host.put("/proc/driver/nvidia/version", f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {VERSION}  Mon\n")
    return host


def write(host: HostFolder, spec: CdiSpec, path: str = FILE) -> None:
    host.put(path, render_yaml(spec))


def faults(answer: Answer) -> list[tuple[str, str, str]]:
    (file,) = answer.json()["data"]["files"]
    return [(fault["level"], fault["where"], fault["message"]) for fault in file["faults"]]


def test_a_true_spec_is_valid(gpu_host: HostFolder) -> None:
    write(gpu_host, make_spec())
    answer = gpu_host.ctk("cdi", "validate")
    assert answer.code == 0
    assert answer.out == f"{gpu_host.folder}{FILE}: valid (3 devices of nvidia.com/gpu, cdiVersion 0.5.0)\n"
    (file,) = gpu_host.ctk("cdi", "validate", "--json").json()["data"]["files"]
    assert (file["valid"], file["kind"], file["devices"]) == (True, "nvidia.com/gpu", ["0", UUID, "all"])


def test_without_any_spec_it_does_not_apply(host: HostFolder) -> None:
    answer = host.ctk("cdi", "validate", "--json")
    assert answer.code == 4
    assert answer.json()["status"] == "not-applicable"
    assert "there is no CDI spec in /etc/cdi, /var/run/cdi" in answer.json()["errors"][0]["message"]


BROKEN = {
    "no YAML": ("kind: [\n", "refused", "it is no YAML", 2),
    "empty": ("", "refused", "the file is empty", None),
    "unknown field": ("cdiVersion: 0.5.0\nkind: a.com/b\nfoo: 1\n", "refused", "'foo' is no field", 3),
    "old version": (
        "cdiVersion: 0.4.0\nkind: a.com/b\ndevices:\n- name: '0'\n  containerEdits:\n    env: [A=1]\n",
        "refused",
        "the spec needs 0.5.0: it uses a device name that begins with a digit",
        1,
    ),
    "relative hook": (
        "cdiVersion: 0.5.0\nkind: a.com/b\ndevices:\n- name: x\n  containerEdits:\n    hooks:\n"
        "    - hookName: prestart\n      path: hook\n",
        "invalid",
        "'hook' is no absolute path",
        8,
    ),
}


@pytest.mark.parametrize(("text", "level", "message", "line"), BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_told_with_its_line(
    gpu_host: HostFolder, text: str, level: str, message: str, line: int | None
) -> None:
    gpu_host.put(FILE, text)
    answer = gpu_host.ctk("cdi", "validate", "--no-host-checks", "--json")
    assert answer.code == 1
    (file,) = answer.json()["data"]["files"]
    assert not file["valid"]
    fault = file["faults"][0]
    assert (fault["level"], fault["line"]) == (level, line)
    assert message in fault["message"]
    place = f"{gpu_host.folder}{FILE}" + (f":{line}:" if line else ":")
    assert gpu_host.ctk("cdi", "validate").out.startswith(f"error: {place}")


def test_a_surprise_is_no_error(gpu_host: HostFolder) -> None:
    gpu_host.put(FILE, "cdiVersion: 0.5.0\nkind: a.com/b\ndevices:\n- name: yes\n  containerEdits:\n    env: [A=1]\n")
    answer = gpu_host.ctk("cdi", "validate")
    assert answer.code == 0
    assert answer.out.startswith(f"warning: {gpu_host.folder}{FILE}:4:9: devices[0].name: yes without quotes")


def test_every_path_must_be_there(gpu_host: HostFolder) -> None:
    """Field cases F65 and F81."""
    edits = SpecEdits(device_nodes=(SpecDeviceNode("/dev/nvidia0"), SpecDeviceNode("/dev/nvidiactl")))
    write(gpu_host, make_spec()._replace(devices=(SpecDevice("all", edits),)))
    gpu_host.path(LIBRARY).unlink()
    gpu_host.path(HOOK).chmod(0o644)
    gpu_host.put("/dev/nvidiactl", "a file in its place")
    assert faults(gpu_host.ctk("cdi", "validate", "--json")) == [
        ("invalid", "containerEdits.mounts[0]", f"{LIBRARY} is not there"),
        ("invalid", "containerEdits.hooks[0]", f"{HOOK} is not executable"),
        ("invalid", "devices[0].containerEdits.deviceNodes[0]", "/dev/nvidia0 is not there"),
        ("invalid", "devices[0].containerEdits.deviceNodes[1]", "/dev/nvidiactl is no device node but a file"),
    ]
    assert gpu_host.ctk("cdi", "validate", "--no-host-checks").code == 0


def test_the_script_of_our_own_hook_must_be_there(gpu_host: HostFolder) -> None:
    python = "/usr/bin/python3"
    gpu_host.program(python)
    hook = SpecHook("createContainer", python, (python, "-I", "-S", "/opt/ctk/hook.py", "apply"))
    write(gpu_host, make_spec()._replace(edits=SpecEdits(hooks=(hook,))))
    assert faults(gpu_host.ctk("cdi", "validate", "--json")) == [
        ("invalid", "containerEdits.hooks[0]", "/opt/ctk/hook.py is not there")
    ]


def test_a_program_of_the_container_is_not_looked_for_on_the_host(gpu_host: HostFolder) -> None:
    write(gpu_host, make_spec()._replace(edits=SpecEdits(hooks=(SpecHook("startContainer", "/sbin/in-it"),))))
    assert gpu_host.ctk("cdi", "validate").code == 0


def test_the_driver_must_be_the_one_it_was_made_for(gpu_host: HostFolder) -> None:
    write(gpu_host, make_spec())
    gpu_host.put("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  590.10.02  Mon\n")
    answer = gpu_host.ctk("cdi", "validate", "--json")
    assert answer.code == 1
    assert faults(answer) == [
        ("invalid", "containerEdits", f"it was made for driver {VERSION} ({LIBRARY}), and 590.10.02 is loaded")
    ]


def test_the_gpus_must_be_those_of_the_spec(gpu_host: HostFolder) -> None:
    write(gpu_host, make_spec())
    gpu_host.put(GPU, "GPU UUID: GPU-0000\nDevice Minor: 3\n")
    assert [message for _, _, message in faults(gpu_host.ctk("cdi", "validate", "--json"))] == [
        "GPUs of this host that it lacks: /dev/nvidia3, GPU-0000",
        f"GPUs that this host does not have: {UUID}",
    ]


def test_mig_devices_must_be_those_of_the_spec(gpu_host: HostFolder) -> None:
    """Field case F75."""
    write(gpu_host, make_spec("all"))
    gpu_host.put(MIG, "DeviceFileMinor: 12\nDeviceFileMode: 292\nDeviceFileModify: 1\n")
    assert [message for _, _, message in faults(gpu_host.ctk("cdi", "validate", "--json"))] == [
        "MIG devices of this host that it lacks: gpu0/mig/gi1/access (nvidia-cap12)"
    ]


def test_two_files_of_one_folder_contradict_each_other(gpu_host: HostFolder) -> None:
    write(gpu_host, make_spec())
    write(gpu_host, make_spec("all"), "/etc/cdi/z.yaml")
    answer = gpu_host.ctk("cdi", "validate")
    assert answer.code == 1
    assert "error: nvidia.com/gpu=all is defined by" in answer.out
    (conflict,) = gpu_host.ctk("cdi", "validate", "--json").json()["data"]["conflicts"]
    assert (conflict["name"], len(conflict["files"])) == ("nvidia.com/gpu=all", 2)


def test_a_shadowed_file_is_a_warning(gpu_host: HostFolder) -> None:
    write(gpu_host, make_spec())
    write(gpu_host, make_spec("all", "0"), "/var/run/cdi/nvidia.yaml")
    answer = gpu_host.ctk("cdi", "validate")
    assert answer.code == 0
    assert "var/run/cdi/nvidia.yaml wins over" in answer.out
    assert "for 2 devices" in answer.out


def test_one_file_alone_is_judged_by_itself(gpu_host: HostFolder) -> None:
    write(gpu_host, make_spec())
    gpu_host.put("/etc/cdi/bad.yaml", "x")
    write(gpu_host, make_spec(), "/tmp/a.yaml")
    assert gpu_host.ctk("cdi", "validate", "/tmp/a.yaml", FILE).code == 0
    assert gpu_host.ctk("cdi", "validate").code == 1


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("/none.yaml",), 3, "it does not exist"),
        (("/etc/cdi",), 3, "it is a folder"),
        (("/etc/cdi/x.yaml", "--spec-dir=/a"), 2, "cannot look at files and at --spec-dir together"),
        (("--bogus",), 2, "no such option"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
def test_what_cannot_be_looked_at(gpu_host: HostFolder, arguments: tuple[str, ...], code: int, message: str) -> None:
    write(gpu_host, make_spec())
    answer = gpu_host.ctk("cdi", "validate", *arguments)
    assert answer.code == code
    assert message in answer.err


def test_a_saved_snapshot_is_judged_the_same(gpu_host: HostFolder, tmp_path: Path) -> None:
    write(gpu_host, make_spec())
    gpu_host.path(HOOK).unlink()
    saved = tmp_path / "host.json"
    saved.write_text(json.dumps(gpu_host.ctk("info", "--json", "--no-redact").json()["data"]))
    gpu_host.program(HOOK)
    answer = gpu_host.ctk("cdi", "validate", "--snapshot", str(saved), "--json")
    assert answer.code == 1
    assert faults(answer) == [("invalid", "containerEdits.hooks[0]", f"{HOOK} is not there")]
