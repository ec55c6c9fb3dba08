"""Decides from files alone whether and which library is asked, and reads the child's lines; no process."""

import os
from pathlib import Path

import pytest

from ctk.facts import Unknown
from ctk.facts.nvml import Nvml, NvmlAnswer, PowerState
from ctk.host.collect import collect
from ctk.host.driver_library import Talk, find_library, is_loadable, parse_module_state
from ctk.host.nvml_watch import build_nvml, collect_nvml, collect_power
from tests.unit.host.trees import plant

NAME = "libnvidia-ml.so.1"
LOADED = "nvidia 54566912 2 nvidia_uvm, Live 0x0\n"
HEADER = b"\x7fELF\x02\x01\x01" + bytes(11)


def library_of_this_machine() -> bytes:
    machine = {"x86_64": 62, "aarch64": 183}[os.uname().machine]
    return HEADER + machine.to_bytes(2, "little") + bytes(8)


def put(root: Path, path: str, content: bytes) -> None:
    place = root / path.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)


@pytest.mark.parametrize(
    ("modules", "reason"),
    [
        ("ext4 1 1 - Live 0x0\n", "the kernel module nvidia is not loaded"),
        ("nvidia_uvm 1 0 - Live 0x0\nnvidiafb 1 0 - Live 0x0\n", "the kernel module nvidia is not loaded"),
        ("nvidia 1 0 - Loading 0x0\n", "the kernel module nvidia is in the state Loading"),
    ],
)
def test_library_is_not_asked_without_its_module(tmp_path: Path, modules: str, reason: str) -> None:
    host = plant(tmp_path, {"/proc/modules": modules})
    put(tmp_path, "/usr/lib64/libnvidia-ml.so.1", library_of_this_machine())
    assert collect_nvml(host) == Unknown(f"not asked: {reason}")


def test_host_without_proc_is_not_asked(tmp_path: Path) -> None:
    assert collect_nvml(plant(tmp_path, {})) == Unknown("not asked: the kernel module nvidia is not loaded")


def test_nobody_is_asked_when_told_so(tmp_path: Path) -> None:
    host = plant(tmp_path, {"/proc/modules": LOADED})
    put(tmp_path, "/usr/lib64/libnvidia-ml.so.1", library_of_this_machine())
    assert collect_nvml(host, None) == Unknown("not asked: --no-nvml")
    assert collect(host, None).nvml == Unknown("not asked: --no-nvml")


def test_this_machines_library_is_never_taken_for_another_roots(tmp_path: Path) -> None:
    assert collect_nvml(plant(tmp_path, {"/proc/modules": LOADED})) is None


def test_library_that_others_can_change_is_not_loaded(tmp_path: Path) -> None:
    host = plant(tmp_path, {"/proc/modules": LOADED})
    put(tmp_path, "/usr/lib64/libnvidia-ml.so.1", library_of_this_machine())
    (tmp_path / "usr" / "lib64").chmod(0o777)
    answer = collect_nvml(host)
    assert answer == Unknown(f"not asked: {os.path.realpath(tmp_path)}/usr/lib64 can be changed by others")


def test_library_of_another_architecture_is_passed_over(tmp_path: Path) -> None:
    host = plant(tmp_path, {})
    put(tmp_path, "/usr/lib64/libnvidia-ml.so.1", HEADER + (21).to_bytes(2, "little"))
    put(tmp_path, "/usr/lib/libnvidia-ml.so.1", b"\x7fELF\x01" + bytes(30))
    assert find_library(host, NAME) is None
    put(tmp_path, "/run/nvidia/driver/usr/lib64/libnvidia-ml.so.1", library_of_this_machine())
    assert find_library(host, NAME) == "/run/nvidia/driver/usr/lib64/libnvidia-ml.so.1"


def test_header_tells_what_can_be_loaded() -> None:
    assert is_loadable(library_of_this_machine(), os.uname().machine)
    assert is_loadable(HEADER + bytes(8), "riscv64"), "the loader judges what we do not know"
    assert not is_loadable(b"#!/bin/sh\n" + bytes(20), "riscv64")
    assert not is_loadable(b"", "x86_64")


@pytest.mark.parametrize(
    ("modules", "state"),
    [
        ("", None),
        (LOADED, "Live"),
        ("nvidia_current 1 0 - Live 0x0\n", "Live"),
        ("nvidia 1 0\n", "Live"),
        ("nvidia 1 0 - Unloading 0x0 (OE)\n", "Unloading"),
    ],
)
def test_module_state(modules: str, state: str | None) -> None:
    assert parse_module_state(modules) == state


def test_address_is_that_of_the_pci_facts() -> None:
    text = '{"gpu": 0, "fact": "pci_bus_id", "value": "03F8CFDD:00:00.0"}\n{"gpu": null, "fact": "count", "value": 1}\n'
    gpus = build(text).gpus
    assert isinstance(gpus, tuple)
    assert gpus[0].address == "cfdd:00:00.0"


def test_power_state_is_read_for_nvidia_devices_only(tmp_path: Path) -> None:
    files = {
        "/sys/bus/pci/devices/0000:3b:00.0/vendor": "0x10de\n",
        "/sys/bus/pci/devices/0000:3b:00.0/class": "0x030200\n",
        "/sys/bus/pci/devices/0000:3b:00.0/power/runtime_status": "suspended\n",
        "/sys/bus/pci/devices/0000:3b:00.1/vendor": "0x10de\n",
        "/sys/bus/pci/devices/0000:3b:00.1/class": "0x040300\n",
        "/sys/bus/pci/devices/0000:00:02.0/vendor": "0x8086\n",
        "/sys/bus/pci/devices/0000:00:02.0/class": "0x030000\n",
    }
    assert collect_power(plant(tmp_path, files)) == (("0000:3b:00.0", "suspended"),)


def build(text: str, why: str = "no answer within 30 s") -> Nvml:
    power = (PowerState(address="0000:3b:00.0", before="suspended", after="active"),)
    return build_nvml(f"/usr/lib64/{NAME}", Talk(text, why, 100, None), power)


def test_lines_that_were_cut_off_are_left_out() -> None:
    text = '{"gpu": null, "ask": "init"}\n{"gpu": null, "fact": "init", "value": 0}\n{"gpu": null, "fact": "driver_ver'
    nvml = build(text)
    assert nvml.init == NvmlAnswer(call="init", code=0, text="Success")
    assert nvml.driver_version == nvml.gpus == Unknown("no answer within 30 s (asked for init)")


def test_silence_is_unknown_and_no_verdict() -> None:
    nvml = build("", "no such program")
    assert nvml.init == nvml.gpus == nvml.confidential == Unknown("no such program")


def test_confidential_state_is_one_record() -> None:
    nvml = build(
        '{"gpu": null, "fact": "confidential", "value": {"feature": true, "developer_tools": false}}\n'
        '{"gpu": null, "fact": "confidential_ready", "code": 999, "text": "Unknown Error"}\n'
    )
    assert nvml.confidential is not None
    assert not isinstance(nvml.confidential, Unknown)
    assert (nvml.confidential.feature, nvml.confidential.ready) == (True, Unknown("Unknown Error (NVML 999)"))
