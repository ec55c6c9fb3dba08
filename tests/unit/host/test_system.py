"""What kind of machine a tree stands for; every guess has its sign, and no sign means unknown."""

from pathlib import Path

import pytest

from ctk.facts import Unknown
from ctk.host import LocalHost
from ctk.host.system import (
    PLAIN_DISTRIBUTIONS,
    collect_host_name,
    collect_system,
    normalize_distribution,
    parse_container_variable,
    parse_elf_machine,
    parse_os_release,
    parse_wsl,
)
from tests.unit.host.trees import Link, plant

PROC = {"/proc/1/comm": "systemd\n", "/proc/1/cgroup": "0::/init.scope\n", "/proc/sys/kernel/osrelease": "6.1.0-1\n"}


def test_os_release_is_read_like_the_shell_reads_it() -> None:
    quoted = 'ID="rocky"\nID_LIKE="rhel  centos"\nPRETTY_NAME="A \\"b\\" \\$c"\nBAD="open\n'
    text = f"# x\n{quoted}VERSION_ID='9.3'\nno\n\nEMPTY=\n"
    assert parse_os_release(text) == {
        "ID": "rocky",
        "VERSION_ID": "9.3",
        "ID_LIKE": "rhel  centos",
        "PRETTY_NAME": 'A "b" $c',
        "BAD": "open",
        "EMPTY": "",
    }


@pytest.mark.parametrize(
    ("identity", "name"), [("ol", "oracle"), ("opensuse-leap", "opensuse"), ("Ubuntu", "ubuntu"), ("my os", "my_os")]
)
def test_distribution_has_one_name(identity: str, name: str) -> None:
    assert normalize_distribution(identity) == name


def test_second_os_release_counts_only_without_the_first(tmp_path: Path) -> None:
    host = plant(tmp_path, {"/usr/lib/os-release": "ID=a\n"})
    assert collect_system(host).distribution == "a"
    plant(tmp_path, {"/etc/os-release": Link("../usr/lib/other"), "/usr/lib/other": "NAME=x\n"})
    assert collect_system(host).distribution is None


def test_host_without_os_release_has_no_distribution(tmp_path: Path) -> None:
    system = collect_system(plant(tmp_path, {"/etc/x": ""}))
    assert (system.distribution, system.distribution_name, system.distribution_like) == (None, None, ())
    assert isinstance(system.kernel, Unknown)
    assert isinstance(system.architecture, Unknown)
    assert isinstance(system.container, Unknown)


@pytest.mark.parametrize(
    ("kernel", "wsl"),
    [
        ("4.4.0-19041-Microsoft", 1),
        ("5.15.153.1-microsoft-standard-WSL2", 2),
        ("6.6.0-custom-WSL2", 2),
        ("6.1.0-1-amd64", None),
    ],
)
def test_wsl_is_told_by_the_kernels_name(kernel: str, wsl: int | None) -> None:
    assert parse_wsl(kernel) == wsl


@pytest.mark.parametrize(
    ("files", "container"),
    [
        ({}, None),
        ({"/.dockerenv": ""}, "docker"),
        ({"/run/.containerenv": ""}, "podman"),
        ({"/run/systemd/container": "systemd-nspawn\n"}, "systemd-nspawn"),
        ({"/proc/1/environ": "PATH=/bin\0container=lxc\0"}, "lxc"),
        ({"/proc/1/cgroup": "0::/kubepods.slice/x\n"}, "kubernetes"),
        ({"/proc/1/cgroup": "1:devices:/docker/0123\n"}, "docker"),
        ({"/proc/1/cgroup": "1:devices:/lxc/box\n"}, "lxc"),
        ({"/proc/1/cgroup": "0::/system.slice/x\n"}, None),
    ],
)
def test_container_is_told_by_its_signs(tmp_path: Path, files: dict[str, str], container: str | None) -> None:
    assert collect_system(plant(tmp_path, {**PROC, **files})).container == container


@pytest.mark.parametrize(
    ("files", "init"),
    [
        ({"/run/systemd/system/x": ""}, "systemd"),
        ({"/run/openrc/softlevel": ""}, "openrc"),
        ({"/proc/1/comm": "init\n"}, "sysvinit"),
        ({"/proc/1/comm": "tini\n"}, "tini"),
    ],
)
def test_init_system(tmp_path: Path, files: dict[str, str], init: str) -> None:
    assert collect_system(plant(tmp_path, {**PROC, **files})).init == init


@pytest.mark.parametrize(
    ("files", "jetson"),
    [
        ({}, False),
        ({"/etc/nv_tegra_release": "# R36"}, True),
        ({"/sys/devices/soc0/family": "Tegra\n"}, True),
        ({"/sys/devices/soc0/family": "i.MX\n"}, False),
    ],
)
def test_jetson(tmp_path: Path, files: dict[str, str], jetson: bool) -> None:
    assert collect_system(plant(tmp_path, {**PROC, **files})).jetson is jetson


@pytest.mark.parametrize(
    ("header", "machine"),
    [
        (b"\x7fELF\x02\x01" + bytes(12) + b"\x3e\x00", "x86_64"),
        (b"\x7fELF\x02\x01" + bytes(12) + b"\xb7\x00", "aarch64"),
        (b"\x7fELF\x02\x02" + bytes(12) + b"\x00\x15", "ppc64le"),
        (b"\x7fELF\x02\x01" + bytes(12) + b"\x01\x00", None),
        (b"#!/bin/sh\n", None),
        (b"", None),
    ],
)
def test_machine_of_a_program(header: bytes, machine: str | None) -> None:
    assert parse_elf_machine(header) == machine


def test_architecture_below_a_root_comes_from_its_shell(tmp_path: Path) -> None:
    host = plant(tmp_path, {"/bin": Link("usr/bin"), "/usr/bin/x": ""})
    (tmp_path / "usr/bin/sh").write_bytes(b"\x7fELF\x02\x01" + bytes(12) + b"\xb7\x00")
    assert collect_system(host).architecture == "aarch64"


def test_environment_of_the_first_process() -> None:
    assert parse_container_variable(b"A=1\0container=oci\0") == "oci"
    assert parse_container_variable(b"container=\0xcontainer=a\0") is None


def test_host_name_is_the_first_line_that_is_no_comment(tmp_path: Path) -> None:
    assert collect_host_name(plant(tmp_path, {"/etc/hostname": "# x\n\n node-1 \n"})) == "node-1"
    (tmp_path / "etc/hostname").write_text("\n")
    assert collect_host_name(LocalHost(str(tmp_path))) is None


def test_live_host_is_asked_directly() -> None:
    import os

    system = collect_system(LocalHost())
    assert system.kernel == os.uname().release
    assert system.architecture == os.uname().machine
    assert collect_host_name(LocalHost()) == os.uname().nodename


def test_the_names_that_are_taken_as_they_are_are_those_of_the_library() -> None:
    import distro

    assert not PLAIN_DISTRIBUTIONS & set(distro.NORMALIZED_OS_ID)
