"""What /proc says of the driver, and what its files' names say, become facts; what the driver hides stays absent."""

import os
from pathlib import Path

import pytest

from ctk.facts import Unknown
from ctk.facts.driver import DeviceMajor, DriverCapability, DriverTrace, FirmwareFolder
from ctk.host.driver import collect_driver, parse_flavour, parse_gpu, parse_majors, parse_version
from ctk.host.driver_files import collect_modprobe, firmware_search
from tests.unit.host.trees import Link, Program, plant

RELEASE = "6.1.0-21-amd64"
OPEN_LINE = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.144  Release Build  (dvs)  Thu Apr 10\n"
CLOSED_LINE = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024\n"
INFORMATION = (
    "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 63\n"
    "GPU UUID: \t GPU-????????-????-????-????-????????????\n"
    "Video BIOS: \t 96.00.74.00.01\nBus Location: \t 0000:3b:00.0\nDevice Minor: \t 3\n"
    "GPU Firmware: \t N/A\nGPU Excluded:\t Yes\n"
)
DEVICES = "Character devices:\n  1 mem\n195 nvidia-frontend\n508 nvidia-uvm\n\nBlock devices:\n  8 nvidia-odd\n"
PROC = "/proc/driver/nvidia"
LIBRARIES = "/usr/lib/x86_64-linux-gnu"


@pytest.mark.parametrize(
    ("text", "version", "flavour"),
    [(OPEN_LINE, "570.144", "open"), (CLOSED_LINE, "550.90.07", "proprietary"), ("odd\n", None, None)],
)
def test_version_line_of_both_flavours(text: str, version: str | None, flavour: str | None) -> None:
    assert (parse_version(text), parse_flavour(text)) == (version, flavour)


def test_driver_that_runs(tmp_path: Path) -> None:
    host = plant(
        tmp_path,
        {
            f"{PROC}/version": OPEN_LINE + "GCC version:  gcc version 12.2.0 (Debian)\n",
            f"{PROC}/params": 'ModifyDeviceFiles: 1\nDeviceFileMode: 438\nRegistryDwords: ""\n',
            f"{PROC}/gpus/cfdd:00:00.0/information": INFORMATION,
            f"{PROC}/gpus/cfdd:00:00.0/power": "Runtime D3 status:          Disabled by default\n",
            f"{PROC}/capabilities/mig/config": "DeviceFileMinor: 1\nDeviceFileMode: 256\nDeviceFileModify: 1\n",
            f"{PROC}/capabilities/gpu0/mig/gi1/access": "DeviceFileMinor: 12\nDeviceFileMode: 292\n",
            "/proc/devices": DEVICES,
        },
    )
    driver = collect_driver(host, RELEASE)
    assert (driver.version, driver.flavour, driver.compiler) == ("570.144", "open", "gcc version 12.2.0 (Debian)")
    assert (driver.find_parameter("devicefilemode"), driver.find_parameter("RegistryDwords")) == ("438", "")
    assert driver.find_parameter("nothing") is None
    assert isinstance(driver.gpus, tuple)
    (gpu,) = driver.gpus
    assert (gpu.address, gpu.model, gpu.minor, gpu.excluded) == ("cfdd:00:00.0", "NVIDIA H100 80GB HBM3", 3, True)
    assert (gpu.uuid, gpu.firmware, gpu.dynamic_power) == (None, None, "Disabled by default")
    assert driver.capabilities == (
        DriverCapability("gpu0/mig/gi1/access", 12, 292),
        DriverCapability("mig/config", 1, 256, True),
    )
    assert driver.majors == (DeviceMajor("nvidia-frontend", 195), DeviceMajor("nvidia-uvm", 508))
    assert (driver.find_major("nvidia", "nvidia-frontend"), driver.find_major("x")) == (195, None)


def test_no_driver_at_all(tmp_path: Path) -> None:
    driver = collect_driver(plant(tmp_path, {"/proc/devices": DEVICES}), RELEASE)
    assert (driver.version, driver.flavour, driver.gpus, driver.capabilities) == (None, None, None, None)
    assert (driver.libraries, driver.firmware, driver.traces, driver.root_libraries) == ((), (), (), None)
    assert collect_driver(plant(tmp_path / "b", {"/x": ""}), RELEASE).majors == Unknown("no /proc/devices")


def test_file_without_lines_is_a_gpu_without_facts() -> None:
    gpu = parse_gpu("", "0000:3b:00.0", "/x")
    assert (gpu.model, gpu.minor, gpu.excluded) == (None, None, None)
    assert parse_majors("odd\n") == ()


def test_libraries_are_told_by_their_names(tmp_path: Path) -> None:
    host = plant(
        tmp_path,
        {
            f"{LIBRARIES}/libnvidia-ml.so.570.144": "",
            f"{LIBRARIES}/libnvidia-ml.so.550.90.07": "",
            f"{LIBRARIES}/libnvidia-ml.so.1": Link("libnvidia-ml.so.570.144"),
            f"{LIBRARIES}/libcuda.so.570.144": "",
            f"{LIBRARIES}/libcudadebugger.so.570.144": "",
            "/usr/lib/udev/rules.d/71-nvidia.rules": 'RUN+="/usr/bin/nvidia-modprobe -c0 -u"\n',
            "/usr/lib/udev/rules.d/99-nvidia-cdi-refresh.rules": 'ENV{SYSTEMD_WANTS}+="nvidia-cdi-refresh.service"\n',
            "/usr/lib/udev/rules.d/60-other.rules": "",
            "/run/nvidia/driver/usr/lib64/libnvidia-ml.so.580.95.05": "",
        },
    )
    driver = collect_driver(host, RELEASE)
    assert isinstance(driver.libraries, tuple)
    found = [(library.name, library.version, library.linked) for library in driver.libraries]
    assert found == [
        ("libcuda.so", "570.144", False),
        ("libnvidia-ml.so", "550.90.07", False),
        ("libnvidia-ml.so", "570.144", True),
    ]
    assert isinstance(driver.root_libraries, tuple)
    assert [library.version for library in driver.root_libraries] == ["580.95.05"]
    assert driver.traces == (DriverTrace("container", "/run/nvidia/driver"),)
    assert driver.udev_rules == ("/usr/lib/udev/rules.d/71-nvidia.rules",)
    assert driver.packages is None


def test_firmware_is_looked_for_where_the_kernel_looks(tmp_path: Path) -> None:
    host = plant(
        tmp_path,
        {
            "/sys/module/firmware_class/parameters/path": "/run/nvidia/driver/lib/firmware\n",
            "/run/nvidia/driver/lib/firmware/nvidia/580.95.05/gsp_ga10x.bin": "",
            "/lib/firmware/nvidia/570.144/gsp_tu10x.bin.xz": "",
            "/lib/firmware/nvidia/ga102/gsp/x.bin": "",
        },
    )
    assert firmware_search(host, RELEASE)[0] == "/run/nvidia/driver/lib/firmware"
    assert firmware_search(host, None)[-2:] == ("/lib/firmware/updates", "/lib/firmware")
    assert collect_driver(host, RELEASE).firmware == (
        FirmwareFolder("580.95.05", "/run/nvidia/driver/lib/firmware/nvidia/580.95.05", ("gsp_ga10x.bin",)),
        FirmwareFolder("570.144", "/lib/firmware/nvidia/570.144", ("gsp_tu10x.bin.xz",)),
    )


def test_program_that_makes_nodes_for_everybody(tmp_path: Path) -> None:
    host = plant(tmp_path, {"/usr/bin/nvidia-modprobe": Program("x")})
    assert collect_modprobe(host) == ("/usr/bin/nvidia-modprobe", False)
    os.chmod(tmp_path / "usr/bin/nvidia-modprobe", 0o4755)
    assert collect_modprobe(host) == ("/usr/bin/nvidia-modprobe", True)
    assert collect_modprobe(plant(tmp_path / "b", {"/x": ""})) == (None, False)
