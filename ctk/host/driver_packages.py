"""The packages that bring the driver, as dpkg and rpm list them; it installs none and judges no version."""

import re

from ctk.facts import Unknown
from ctk.facts.driver import DriverPackage
from ctk.host import Host
from ctk.host.reading import try_exists, try_read_text

UNINSTALLER = "/usr/bin/nvidia-uninstall"
"""What NVIDIA's installer leaves, and takes away when it is asked to."""
DPKG_STATUS = "/var/lib/dpkg/status"
RPM_FOLDERS = ("/var/lib/rpm", "/usr/lib/sysimage/rpm")
NAME = re.compile(
    r"nvidia-driver(-\d.*|-cuda.*|-libs.*)?|nvidia-kernel-(dkms|open-dkms|common-.*)|cuda-drivers(-\d+)?"
    r"|libnvidia-compute-.*|(akmod|kmod|xorg-x11-drv)-nvidia(-.*)?|nvidia-headless-.*|nvidia-dkms-.*|nvidia-open(-\d+)?"
)
"""Packages of Debian, Ubuntu, the Red Hat family, RPM Fusion and NVIDIA's own repositories."""


def collect_packages(host: Host) -> tuple[DriverPackage, ...] | Unknown:
    """By name; below another root rpm's database stays closed, because only its program reads it."""
    text = try_read_text(host, DPKG_STATUS)
    if isinstance(text, Unknown):
        return text
    found = parse_dpkg_status(text) if isinstance(text, str) else ()
    if found or not any(try_exists(host, folder) is True for folder in RPM_FOLDERS):
        return found
    output = host.run(("rpm", "-qa", "--queryformat", r"%{NAME} %{VERSION}\n"))
    if output.returncode != 0:
        return Unknown(output.reason or "rpm failed")
    return parse_rpm_list(output.stdout)


def parse_dpkg_status(text: str) -> tuple[DriverPackage, ...]:
    """Stanzas of Package, Status and Version; only what is installed counts, not left configuration."""
    found = []
    name = ""
    installed = False
    for line in text.splitlines():
        label, _, value = line.partition(": ")
        if label == "Package":
            name, installed = value, False
        elif label == "Status":
            installed = value.endswith(" installed")
        elif label == "Version" and installed and NAME.fullmatch(name):
            found.append(DriverPackage(name, value, DPKG_STATUS))
    return tuple(sorted(found))


def parse_rpm_list(text: str) -> tuple[DriverPackage, ...]:
    """Lines of name and version."""
    pairs = (line.split() for line in text.splitlines())
    return tuple(
        sorted(DriverPackage(pair[0], pair[1], "rpm") for pair in pairs if len(pair) == 2 and NAME.fullmatch(pair[0]))
    )
