"""NVIDIA's driver as /proc shows it; it touches no device node and asks no library."""

import re
from collections.abc import Callable
from typing import TypeVar

from ctk.facts import Unknown
from ctk.facts.driver import OPEN, PROPRIETARY, DeviceMajor, Driver, DriverCapability, DriverGpu, DriverParameter
from ctk.facts.pci import normalize_address
from ctk.host import Host
from ctk.host.driver_files import (
    collect_firmware,
    collect_libraries,
    collect_modprobe,
    collect_node_rules,
    collect_root_libraries,
    collect_traces,
    firmware_search,
)
from ctk.host.driver_packages import UNINSTALLER, collect_packages
from ctk.host.reading import ABSENT, try_exists, try_read_text, unknown_from

T = TypeVar("T")

PROC = "/proc/driver/nvidia"
"""kernel-open/nvidia/nv-procfs.c in NVIDIA's open modules prints all of it."""
VERSION = re.compile(r"Kernel Module(?: for \S+)?\s+(\d+(?:\.\d+)+)")
MAJOR_NAMES = ("nvidia", "aux_nvidia")
NOTHING = frozenset({"", "N/A", "??", "?", "Unknown", "??.??.??.??.??"})
"""What the driver prints for what it does not know before a GPU was used for the first time."""


def collect_driver(host: Host, release: str | None | Unknown) -> Driver:
    """release: of the running kernel; the firmware's folders depend on it."""
    text = try_read_text(host, f"{PROC}/version")
    setuid_path, setuid = collect_modprobe(host)
    search = firmware_search(host, release)
    return Driver(
        version=_parsed(text, parse_version),
        flavour=_parsed(text, parse_flavour),
        banner=_parsed(text, lambda found: parse_version_line(found, "NVRM version")),
        compiler=_parsed(text, lambda found: parse_version_line(found, "GCC version")),
        parameters=_parsed(try_read_text(host, f"{PROC}/params"), parse_parameters),
        gpus=_collect_gpus(host),
        capabilities=_collect_capabilities(host),
        majors=_collect_majors(host),
        libraries=collect_libraries(host),
        root_libraries=collect_root_libraries(host),
        firmware=collect_firmware(host, search),
        firmware_search=search,
        traces=collect_traces(host),
        packages=collect_packages(host) if try_exists(host, UNINSTALLER) is True else None,
        udev_rules=collect_node_rules(host),
        modprobe_path=setuid_path,
        modprobe_setuid=setuid,
    )


def collect_running_driver(host: Host) -> Driver:
    """Its version, GPUs, capabilities and majors only: what a CDI spec must agree with."""
    return Driver(
        version=_parsed(try_read_text(host, f"{PROC}/version"), parse_version),
        gpus=_collect_gpus(host),
        capabilities=_collect_capabilities(host),
        majors=_collect_majors(host),
    )


def parse_version(text: str) -> str | None:
    """The driver's version in its NVRM line, dots and leading zeros kept ("580.95.05")."""
    found = VERSION.search(text)
    return found.group(1) if found else None


def parse_flavour(text: str) -> str | None:
    """OPEN or PROPRIETARY; None when the text has no NVRM line."""
    line = parse_version_line(text, "NVRM version")
    return None if line is None else OPEN if "Open Kernel Module" in line else PROPRIETARY


def parse_version_line(text: str, name: str) -> str | None:
    """What stands behind "name:"."""
    for line in text.splitlines():
        label, colon, value = line.partition(":")
        if colon and label.strip() == name:
            return " ".join(value.split())
    return None


def parse_parameters(text: str) -> tuple[DriverParameter, ...]:
    """Lines of "Name: value"; texts are quoted, and the quotes are dropped."""
    found = []
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon and name.strip():
            found.append(DriverParameter(name.strip(), value.strip().strip('"')))
    return tuple(found)


def parse_gpu(text: str, address: str, folder: str) -> DriverGpu:
    """The file `information`: "Label:", blanks and tabs, value."""
    values = {label.strip(): value.strip() for label, _, value in (line.partition(":") for line in text.splitlines())}
    excluded = values.get("GPU Excluded")
    return DriverGpu(
        address=address,
        folder=folder,
        model=_known(values.get("Model")),
        uuid=_known(values.get("GPU UUID")),
        video_bios=_known(values.get("Video BIOS")),
        firmware=_known(values.get("GPU Firmware")),
        minor=_number(values.get("Device Minor")),
        excluded=None if excluded is None else excluded == "Yes",
    )


def parse_capability(text: str, path: str) -> DriverCapability:
    """DeviceFileMinor, DeviceFileMode and DeviceFileModify, all decimal."""
    values = {row.name: row.value for row in parse_parameters(text)}
    modify = _number(values.get("DeviceFileModify"))
    return DriverCapability(
        path=path,
        minor=_number(values.get("DeviceFileMinor")),
        mode=_number(values.get("DeviceFileMode")),
        modify=None if modify is None else modify == 1,
    )


def parse_majors(text: str) -> tuple[DeviceMajor, ...]:
    """NVIDIA's character devices in /proc/devices; what stands below "Block devices:" is none."""
    found = []
    for line in text.partition("Block devices:")[0].splitlines():
        number, _, name = line.strip().partition(" ")
        if number.isdigit() and name.startswith(MAJOR_NAMES):
            found.append(DeviceMajor(name.strip(), int(number)))
    return tuple(found)


def _parsed(text: str | None | Unknown, parse: Callable[[str], T | None]) -> T | None | Unknown:
    return parse(text) if isinstance(text, str) else text


def _known(value: str | None) -> str | None:
    return None if value is None or value in NOTHING or "?" in value else value


def _number(value: str | None) -> int | None:
    return int(value) if value is not None and value.isdigit() else None


def _collect_gpus(host: Host) -> tuple[DriverGpu, ...] | None | Unknown:
    try:
        names = host.list_directory(f"{PROC}/gpus")
    except ABSENT:
        return None
    except OSError as error:
        return unknown_from(error)
    return tuple(_collect_gpu(host, name) for name in names)


def _collect_gpu(host: Host, name: str) -> DriverGpu:
    folder = f"{PROC}/gpus/{name}"
    address = normalize_address(name)
    text = try_read_text(host, f"{folder}/information")
    if isinstance(text, Unknown):
        return DriverGpu(address, folder, text, text, text, text, text, text, text, text)
    return parse_gpu(text or "", address, folder)._replace(
        numa_status=_labelled(try_read_text(host, f"{folder}/numa_status"), "Status"),
        dynamic_power=_labelled(try_read_text(host, f"{folder}/power"), "Runtime D3 status"),
    )


def _labelled(text: str | None | Unknown, label: str) -> str | None | Unknown:
    return parse_version_line(text, label) if isinstance(text, str) else text


def _collect_capabilities(host: Host) -> tuple[DriverCapability, ...] | None | Unknown:
    try:
        if not host.is_directory(f"{PROC}/capabilities"):
            return None
        return tuple(_walk_capabilities(host, "", 0))
    except OSError as error:
        return unknown_from(error)


def _walk_capabilities(host: Host, below: str, depth: int) -> list[DriverCapability]:
    """Files and folders, at most gpuN/mig/giN/ciN/access deep."""
    found = []
    for name in host.list_directory(f"{PROC}/capabilities/{below}"):
        path = f"{below}/{name}".lstrip("/")
        if host.is_directory(f"{PROC}/capabilities/{path}"):
            found += _walk_capabilities(host, path, depth + 1) if depth < 6 else []
        else:
            text = try_read_text(host, f"{PROC}/capabilities/{path}")
            found.append(parse_capability(text if isinstance(text, str) else "", path))
    return found


def _collect_majors(host: Host) -> tuple[DeviceMajor, ...] | Unknown:
    text = try_read_text(host, "/proc/devices")
    if isinstance(text, str):
        return parse_majors(text)
    return text if isinstance(text, Unknown) else Unknown("no /proc/devices")
