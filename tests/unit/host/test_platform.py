"""What is read of a Jetson, WSL, a virtual machine and a user namespace, from small trees."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from ctk.facts import Unknown
from ctk.facts.pci import Pci
from ctk.facts.platform import MountFault, MountFile, Platform, Vgpu, WslStore
from ctk.facts.system import System
from ctk.host.platform import collect_mount_files, collect_platform, parse_tegra_release
from ctk.host.virtual_machine import collect_hypervisor, collect_maps_users
from tests.builders import make_system
from tests.driver_builders import FIRST, make_function, make_pci
from tests.unit.host.trees import plant
from tests.vgpu_config import make_vgpu_config

KVM = {"/sys/class/dmi/id/sys_vendor": "QEMU\n", "/sys/class/dmi/id/product_name": "Standard PC (Q35 + ICH9, 2009)\n"}
FLAGS = "processor\t: 0\nflags\t\t: fpu vme hypervisor lahf_lm\n"
STORE = "/usr/lib/wsl/drivers/nv_dispi.inf_amd64_1"
MOUNTS = "/etc/nvidia-container-runtime/host-files-for-container.d"


def look(
    tmp_path: Path, files: Mapping[str, str], system: System | None = None, pci: Pci | None | Unknown = None
) -> Platform:
    host = plant(tmp_path, {"/etc/hostname": "node\n", **files})
    return collect_platform(host, system or make_system(), pci)


@pytest.mark.parametrize(
    ("files", "name"),
    [
        (KVM, "kvm"),
        ({**KVM, "/proc/cpuinfo": FLAGS}, "kvm"),
        ({"/proc/cpuinfo": FLAGS}, "some hypervisor"),
        ({**KVM, "/proc/cpuinfo": FLAGS.replace("hypervisor ", "")}, None),
        ({"/sys/class/dmi/id/sys_vendor": "Dell Inc.\n"}, None),
        (
            {
                "/sys/class/dmi/id/sys_vendor": "Microsoft Corporation\n",
                "/sys/class/dmi/id/product_name": "Virtual Machine\n",
            },
            "hyperv",
        ),
        (
            {
                "/sys/class/dmi/id/sys_vendor": "Microsoft Corporation\n",
                "/sys/class/dmi/id/product_name": "Surface Laptop\n",
            },
            None,
        ),
        ({"/sys/class/dmi/id/sys_vendor": "Amazon EC2\n", "/proc/cpuinfo": "flags : fpu\n"}, None),
        ({"/sys/hypervisor/type": "xen\n"}, "xen"),
        ({"/sys/hypervisor/type": "xen\n", "/proc/xen/capabilities": "control_d\n"}, None),
        ({}, None),
    ],
)
def test_hypervisor(tmp_path: Path, files: Mapping[str, str], name: str | None) -> None:
    assert collect_hypervisor(plant(tmp_path, {"/etc/hostname": "node\n", **files})) == name


@pytest.mark.parametrize(
    ("text", "maps"),
    [("         0          0 4294967295\n", False), ("         0     100000      65536\n", True), (None, None)],
)
def test_user_namespace(tmp_path: Path, text: str | None, maps: bool | None) -> None:
    files = {"/etc/hostname": "node\n"} | ({"/proc/1/uid_map": text} if text else {})
    assert collect_maps_users(plant(tmp_path, files)) is maps


def test_vgpu_of_a_guest(tmp_path: Path) -> None:
    gpu = make_function(FIRST)
    found = look(tmp_path, KVM, pci=make_pci(gpu))
    assert found.vgpus == ()
    config = tmp_path / gpu.folder.lstrip("/") / "config"
    config.parent.mkdir(parents=True)
    config.write_bytes(make_vgpu_config("535.161.05", "r535_00"))
    assert look(tmp_path, KVM, pci=make_pci(gpu)).vgpus == (Vgpu(FIRST, "535.161.05", "r535_00"),)
    config.write_bytes(bytes(64))  # all that a user may read
    assert look(tmp_path, KVM, pci=make_pci(gpu)).vgpus == Unknown("only 64 bytes of configuration space")


def test_a_server_has_nothing_special(tmp_path: Path) -> None:
    assert look(tmp_path, {}, pci=make_pci()) == Platform()


def test_f77_the_store_of_another_vendor_is_none(tmp_path: Path) -> None:
    files = {
        "/dev/dxg": "",
        "/usr/lib/wsl/lib/libcuda.so.1": "",
        "/usr/lib/wsl/lib/libdxcore.so": "",
        "/usr/lib/wsl/drivers/iigd_dch.inf_amd64_0/libigd.so": "",
        "/usr/lib/wsl/drivers/nvhda.inf_amd64_2/nvhda64v.sys": "",
        f"{STORE}/libcuda.so.1.1": "",
        f"{STORE}/nvcubins.bin": "",
        "/var/lib/dpkg/status": "Package: libnvidia-compute-550\nStatus: install ok installed\nVersion: 550.1\n",
    }
    wsl = look(tmp_path, files, make_system(wsl=2)).wsl
    assert wsl is not None
    assert (wsl.dxg, wsl.libraries, wsl.first_cuda) == (True, ("libcuda.so.1", "libdxcore.so"), None)
    assert wsl.stores == (WslStore(STORE, ("libcuda.so.1.1", "nvcubins.bin")),)
    assert isinstance(wsl.packages, tuple)
    assert [package.name for package in wsl.packages] == ["libnvidia-compute-550"]


def test_wsl_without_what_windows_shares(tmp_path: Path) -> None:
    wsl = look(tmp_path, {"/etc/ld.so.cache": "no cache"}, make_system(wsl=2)).wsl
    assert wsl is not None
    assert (wsl.dxg, wsl.libraries, wsl.stores, wsl.packages) == (False, None, (), ())
    assert isinstance(wsl.first_cuda, Unknown)


def test_jetson(tmp_path: Path) -> None:
    files = {
        "/etc/nv_tegra_release": "# R36 (release), REVISION: 4.0, GCID: 37537400, BOARD: generic, EABI: aarch64\n",
        "/proc/device-tree/model": "NVIDIA Jetson AGX Orin Developer Kit\0",
        "/dev/nvmap": "",
        "/dev/nvgpu/igpu0/ctrl": "",
        "/etc/nvidia-container-runtime/config.toml": '[nvidia-container-runtime]\nmode = "csv"\n'
        '[nvidia-container-runtime.modes.csv]\nmount-spec-path = "/opt/mounts"\n',
        "/opt/mounts/l4t.csv": "dev, /dev/nvmap\n",
    }
    jetson = look(tmp_path, files, make_system(jetson=True)).jetson
    assert jetson is not None
    assert (jetson.release, jetson.model) == ("36.4.0", "NVIDIA Jetson AGX Orin Developer Kit")
    assert (jetson.mode, jetson.mount_folder) == ("csv", "/opt/mounts")
    assert jetson.nodes == ("/dev/nvmap", "/dev/nvgpu/igpu0/ctrl")
    assert jetson.mount_files == (MountFile("/opt/mounts/l4t.csv", True, 1),)


@pytest.mark.parametrize(
    ("text", "mode"),
    [(None, "auto"), ("[nvidia-container-runtime]\n", "auto"), ('[nvidia-container-runtime]\nmode = "cdi"\n', "cdi")],
)
def test_mode_of_a_jetson(tmp_path: Path, text: str | None, mode: str) -> None:
    files = {"/etc/nvidia-container-runtime/config.toml": text} if text else {}
    jetson = look(tmp_path, files, make_system(jetson=True)).jetson
    assert jetson is not None
    assert jetson.mode == mode
    assert jetson.mount_files is None


def test_configuration_that_cannot_be_read_is_no_mode(tmp_path: Path) -> None:
    files = {"/etc/nvidia-container-runtime/config.toml": "mode = = 3\n"}
    jetson = look(tmp_path, files, make_system(jetson=True)).jetson
    assert jetson is not None
    assert isinstance(jetson.mode, Unknown)


def test_f145_bad_rows_and_missing_paths_have_file_and_line(tmp_path: Path) -> None:
    files = {
        f"{MOUNTS}/l4t.csv": "dev, /dev/nvmap\ndev, /dev/nvidiactl\nlib /no/comma\nlib, /usr/lib/tegra/*.so\n",
        f"{MOUNTS}/extra.csv": "bin, /usr/bin/x\n",
        f"{MOUNTS}/README": "not read\n",
        "/dev/nvmap": "",
        "/usr/lib/tegra/libcuda.so": "",
    }
    found = collect_mount_files(plant(tmp_path, files), MOUNTS)
    assert isinstance(found, tuple)
    extra, base = found
    assert (base.path, base.in_force, base.paths) == (f"{MOUNTS}/l4t.csv", True, 3)
    assert base.faults == (MountFault(f"{MOUNTS}/l4t.csv", 3, "lib /no/comma", "there is no comma"),)
    assert base.missing == (MountFault(f"{MOUNTS}/l4t.csv", 2, "dev, /dev/nvidiactl", "not there"),)
    assert (extra.in_force, extra.paths, len(extra.faults)) == (False, 0, 1)


@pytest.mark.parametrize(
    ("text", "release"),
    [("# R32 (release), REVISION: 7.1, GCID: 1\n", "32.7.1"), ("# R36 (release)\n", None), ("", None)],
)
def test_tegra_release(text: str, release: str | None) -> None:
    assert parse_tegra_release(text) == release
