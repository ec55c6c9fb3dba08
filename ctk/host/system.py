"""The machine itself: distribution, kernel, init, and whether it is a container, WSL or a Jetson; no devices."""

import os
import re
from collections.abc import Mapping

from ctk.facts import Unknown
from ctk.facts.system import System
from ctk.host import Host
from ctk.host.reading import try_exists, try_read_text
from ctk.host.unit_text import parse_environment_file

OS_RELEASE_FILES = ("/etc/os-release", "/usr/lib/os-release")
"""The first that exists counts, even if it is empty: os-release(5)."""

PLAIN_DISTRIBUTIONS = frozenset({"debian", "ubuntu", "rhel", "rocky", "almalinux", "centos", "fedora", "amzn", "sles"})
"""Those most hosts run, which have one name only: the library that knows the others takes 10 ms to load."""

CONTAINER_FILES = (("/.dockerenv", "docker"), ("/run/.containerenv", "podman"))
CONTAINER_CGROUPS = (
    ("/kubepods", "kubernetes"),
    ("/docker/", "docker"),
    ("/docker-", "docker"),
    ("/libpod", "podman"),
    ("/lxc", "lxc"),
    ("/machine.slice/systemd-nspawn", "systemd-nspawn"),
)
JETSON_FILES = ("/etc/nv_tegra_release", "/sys/module/tegra_fuse")
JETSON_FAMILY = "Tegra"
"""/sys/devices/soc0/family on NVIDIA's boards."""

ELF_MACHINES = {21: "ppc64le", 62: "x86_64", 183: "aarch64", 243: "riscv64"}

INITS = (
    ("/run/systemd/system", "systemd"),  # sd_booted(3)
    ("/run/openrc", "openrc"),
    ("/run/runit", "runit"),
    ("/run/s6", "s6"),
)
INIT_NAMES = {"systemd": "systemd", "init": "sysvinit", "openrc-init": "openrc", "runit": "runit", "dinit": "dinit"}


def collect_system(host: Host) -> System:
    """One record; each value is known, absent or unknown by itself."""
    release = _collect_os_release(host)
    kernel = collect_kernel_release(host)
    return System(
        distribution=_field(release, "ID"),
        distribution_version=_field(release, "VERSION_ID"),
        distribution_name=_field(release, "PRETTY_NAME"),
        distribution_like=tuple(release.get("ID_LIKE", "").split()) if isinstance(release, Mapping) else (),
        kernel=kernel,
        architecture=collect_architecture(host),
        init=_collect_init(host),
        container=_collect_container(host),
        wsl=parse_wsl(kernel) if isinstance(kernel, str) else kernel,
        jetson=_collect_jetson(host),
    )


def collect_host_name(host: Host) -> str | None | Unknown:
    """The name the kernel answers with; below another root what /etc/hostname says."""
    if host.is_live:
        return os.uname().nodename or None
    text = try_read_text(host, "/etc/hostname")
    if not isinstance(text, str):
        return text
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return lines[0] if lines else None


def parse_os_release(text: str) -> dict[str, str]:
    """os-release(5): shell-like assignments, quotes optional; unlike an EnvironmentFile's, none spans lines."""
    return {name: value for line in text.splitlines() for name, value, _ in parse_environment_file(line)}


def normalize_distribution(identity: str) -> str:
    """One name for each distribution, whatever its files call it ("ol" and "enterpriseenterprise" are oracle)."""
    name = identity.strip().lower().replace(" ", "_")
    if name in PLAIN_DISTRIBUTIONS:
        return name
    import distro

    return distro.NORMALIZED_OS_ID.get(name, name)


def parse_wsl(kernel: str) -> int | None:
    """1 or 2: WSL 1's kernel text ends in -Microsoft, WSL 2's holds microsoft-standard or WSL2."""
    lowered = kernel.lower()
    if "microsoft-standard" in lowered or "wsl2" in lowered:
        return 2
    return 1 if "microsoft" in lowered else None


def parse_container_cgroup(text: str) -> str | None:
    """The kind of container the first process's cgroup shows."""
    for mark, name in CONTAINER_CGROUPS:
        if mark in text:
            return name
    return None


def parse_container_variable(environment: bytes) -> str | None:
    """`container=` in /proc/1/environ, set by every manager that follows systemd's container interface."""
    for item in environment.split(b"\0"):
        if item.startswith(b"container=") and len(item) > len(b"container="):
            return item.removeprefix(b"container=").decode("ascii", "replace")
    return None


def parse_elf_machine(header: bytes) -> str | None:
    """The machine of an ELF file's e_machine field (elf(5)), by the name `uname -m` gives it."""
    if len(header) < 20 or not header.startswith(b"\x7fELF"):
        return None
    return ELF_MACHINES.get(int.from_bytes(header[18:20], "big" if header[5] == 2 else "little"))


def _collect_os_release(host: Host) -> Mapping[str, str] | None | Unknown:
    for path in OS_RELEASE_FILES:
        text = try_read_text(host, path)
        if text is not None:
            return text if isinstance(text, Unknown) else parse_os_release(text)
    return None


def _field(release: Mapping[str, str] | None | Unknown, name: str) -> str | None | Unknown:
    if not isinstance(release, Mapping):
        return release
    value = release.get(name) or None
    return normalize_distribution(value) if value and name == "ID" else value


def collect_kernel_release(host: Host) -> str | None | Unknown:
    if host.is_live:
        return os.uname().release
    text = try_read_text(host, "/proc/sys/kernel/osrelease")
    if text is None:
        return Unknown("no /proc/sys/kernel/osrelease below --root")
    return text.strip() if isinstance(text, str) else text


def collect_architecture(host: Host) -> str | None | Unknown:
    """Below another root the kernel's file or a program's ELF header tells; this machine's own would be a guess."""
    if host.is_live:
        return os.uname().machine
    text = try_read_text(host, "/proc/sys/kernel/arch")  # Linux 6.1
    if isinstance(text, str) and text.strip():
        return text.strip()
    try:
        return parse_elf_machine(host.read_bytes("/bin/sh")) or Unknown("/bin/sh is no known program")
    except OSError:
        return Unknown("neither /proc/sys/kernel/arch nor /bin/sh below --root")


def _collect_init(host: Host) -> str | None | Unknown:
    for path, name in INITS:
        if try_exists(host, path) is True:
            return name
    text = try_read_text(host, "/proc/1/comm")
    if isinstance(text, str):
        return INIT_NAMES.get(text.strip(), text.strip())
    if isinstance(text, Unknown):
        return text
    return Unknown("no first process in /proc")


def _collect_container(host: Host) -> str | None | Unknown:
    for path, name in CONTAINER_FILES:
        if try_exists(host, path) is True:
            return name
    text = try_read_text(host, "/run/systemd/container")
    if isinstance(text, str) and text.strip():
        return text.strip()
    variable = _collect_container_variable(host)
    if variable:
        return variable
    cgroup = try_read_text(host, "/proc/1/cgroup")
    if isinstance(cgroup, Unknown):
        return cgroup
    if cgroup is None and not host.is_directory("/proc"):
        return Unknown("no /proc")
    return parse_container_cgroup(cgroup or "")


def _collect_container_variable(host: Host) -> str | None:
    """Only root may read it; without it the other signs have to do."""
    try:
        return parse_container_variable(host.read_bytes("/proc/1/environ"))
    except OSError:
        return None


def _collect_jetson(host: Host) -> bool | Unknown:
    answers = [try_exists(host, path) for path in JETSON_FILES]
    family = try_read_text(host, "/sys/devices/soc0/family")
    if True in answers or (isinstance(family, str) and re.search(JETSON_FAMILY, family)):
        return True
    unknown = [answer for answer in (*answers, family) if isinstance(answer, Unknown)]
    return unknown[0] if unknown else False
