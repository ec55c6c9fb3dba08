"""NVIDIA's functions on the PCI bus and the ports above the GPUs, from sysfs; it wakes no device."""

import os

from ctk.facts import Unknown
from ctk.facts.pci import NVIDIA, Pci, PciFunction, PciRegion, normalize_address
from ctk.host import Host
from ctk.host.reading import ABSENT, unknown_from

DEVICES = "/sys/bus/pci/devices"
"""Documentation/ABI/testing/sysfs-bus-pci in the kernel's tree describes the files below each device."""
PRODUCT = "/sys/class/dmi/id/product_name"
CONFIG_HEAD_BYTES = 64
LINK_FILES = ("current_link_width", "max_link_width", "current_link_speed", "max_link_speed")
ASLEEP = Unknown("the device sleeps, and looking would wake it")
REGION_COUNT = 7
"""Lines of `resource` that belong to a function itself: six BARs and the ROM; a bridge's windows follow."""


def collect_pci(host: Host) -> Pci | None | Unknown:
    """None: there is no PCI bus (a board with everything on one chip)."""
    try:
        names = host.list_directory(DEVICES)
    except ABSENT:
        return None if host.is_directory("/sys/bus") else Unknown("no /sys")
    except OSError as error:
        return unknown_from(error)
    vendors = {name: _number(host, f"{DEVICES}/{name}/vendor") for name in names}
    functions = tuple(_collect_function(host, name) for name in names if vendors[name] == NVIDIA)
    gpus = [function for function in functions if function.is_gpu]
    above = sorted({port for gpu in gpus if (port := _upstream(host, os.path.basename(gpu.folder)))})
    return Pci(
        functions=functions,
        ports=tuple(_collect_function(host, name) for name in above),
        product=_text(host, PRODUCT),
        unreadable=tuple(name for name, vendor in vendors.items() if isinstance(vendor, Unknown)),
    )


def _collect_function(host: Host, name: str) -> PciFunction:
    folder = f"{DEVICES}/{name}"
    power_state = _text(host, f"{folder}/power_state")
    runtime_status = _text(host, f"{folder}/power/runtime_status")
    # Reading configuration space, which the link's files do too, resumes a suspended device (pci-sysfs.c).
    asleep = runtime_status == "suspended" or power_state == "D3cold"
    link = {file: ASLEEP if asleep else _text(host, f"{folder}/{file}") for file in LINK_FILES}
    upstream = _upstream(host, name)
    vendor, device, code = (_number(host, f"{folder}/{file}") for file in ("vendor", "device", "class"))
    return PciFunction(
        address=normalize_address(name),
        folder=folder,
        vendor_id=vendor if isinstance(vendor, int) else 0,
        device_id=device if isinstance(device, int) else 0,
        class_code=code if isinstance(code, int) else 0,
        subsystem_vendor_id=_number(host, f"{folder}/subsystem_vendor"),
        subsystem_device_id=_number(host, f"{folder}/subsystem_device"),
        revision=_number(host, f"{folder}/revision"),
        driver=_link_name(host, f"{folder}/driver"),
        driver_override=_override(_text(host, f"{folder}/driver_override")),
        current_link_width=parse_link_width(link["current_link_width"]),
        max_link_width=parse_link_width(link["max_link_width"]),
        current_link_speed=parse_link_speed(link["current_link_speed"]),
        max_link_speed=parse_link_speed(link["max_link_speed"]),
        power_state=power_state,
        runtime_status=runtime_status,
        runtime_control=_text(host, f"{folder}/power/control"),
        numa_node=_number(host, f"{folder}/numa_node"),
        iommu_group=_group(_link_name(host, f"{folder}/iommu_group")),
        regions=_regions(_text(host, f"{folder}/resource")),
        config_head=ASLEEP if asleep else _config_head(host, f"{folder}/config"),
        correctable_errors=parse_error_total(_text(host, f"{folder}/aer_dev_correctable")),
        nonfatal_errors=parse_error_total(_text(host, f"{folder}/aer_dev_nonfatal")),
        fatal_errors=parse_error_total(_text(host, f"{folder}/aer_dev_fatal")),
        virtual_functions=_number(host, f"{folder}/sriov_numvfs"),
        max_virtual_functions=_number(host, f"{folder}/sriov_totalvfs"),
        physical_function=_address(_link_name(host, f"{folder}/physfn")),
        upstream=normalize_address(upstream) if upstream else None,
    )


def parse_number(text: str) -> int | None:
    """A number as sysfs prints it, "0x10de" or "-1"; None for anything else."""
    try:
        return int(text.strip(), 0)
    except ValueError:
        return None


def parse_link_speed(text: str | None | Unknown) -> int | None | Unknown:
    """MT/s: "16.0 GT/s PCIe" is 16000; None for "Unknown", which stands for a link that is down or not PCI Express."""
    if not isinstance(text, str):
        return text
    whole, point, rest = text.partition(" ")[0].partition(".")
    if not whole.isdigit() or (point and not rest.isdigit()):
        return None
    return int(whole) * 1000 + int((rest + "000")[:3])


def parse_link_width(text: str | None | Unknown) -> int | None | Unknown:
    """Lanes; None for 0 and 255, which the kernel prints where a function has no link of its own."""
    if not isinstance(text, str):
        return text
    width = parse_number(text)
    return width if width is not None and 0 < width <= 32 else None


def parse_error_total(text: str | None | Unknown) -> int | None | Unknown:
    """The TOTAL_ERR_ line of an aer_dev_ file (sysfs-bus-pci-devices-aer_stats)."""
    if not isinstance(text, str):
        return text
    for line in text.splitlines():
        name, _, count = line.partition(" ")
        if name.startswith("TOTAL_ERR_"):
            return parse_number(count)
    return None


def parse_regions(text: str) -> tuple[PciRegion, ...]:
    """Lines of three hexadecimal numbers, start, end and flags; the first seven are the function's own."""
    regions = []
    for number, line in enumerate(text.splitlines()[:REGION_COUNT]):
        values = [parse_number(word) for word in line.split()]
        if len(values) == 3:
            start, end, flags = (value or 0 for value in values)
            regions.append(PciRegion(number, start, end, flags))
    return tuple(regions)


def _regions(text: str | None | Unknown) -> tuple[PciRegion, ...] | None | Unknown:
    return parse_regions(text) if isinstance(text, str) else text


def _override(text: str | None | Unknown) -> str | None | Unknown:
    return None if text == "(null)" else text


def _address(name: str | None | Unknown) -> str | None | Unknown:
    return normalize_address(name) if isinstance(name, str) else name


def _group(name: str | None | Unknown) -> int | None | Unknown:
    return parse_number(name) if isinstance(name, str) else name


def _text(host: Host, path: str) -> str | None | Unknown:
    """One of the kernel's small files, without the blanks around it; an empty one says nothing."""
    try:
        return host.read_head(path).decode("utf-8", "replace").strip() or None
    except ABSENT:
        return None
    except OSError as error:
        return unknown_from(error)


def _number(host: Host, path: str) -> int | None | Unknown:
    text = _text(host, path)
    return parse_number(text) if isinstance(text, str) else text


def _link_name(host: Host, path: str) -> str | None | Unknown:
    try:
        return os.path.basename(host.readlink(path))
    except ABSENT:
        return None
    except OSError as error:
        return unknown_from(error)


def _config_head(host: Host, path: str) -> str | None | Unknown:
    try:
        return host.read_head(path, CONFIG_HEAD_BYTES).hex() or None
    except ABSENT:
        return None
    except OSError as error:
        return unknown_from(error)


def _upstream(host: Host, name: str) -> str | None:
    """The entries of the folder are links into /sys/devices; the folder above the target is the port's."""
    try:
        parent = os.path.basename(os.path.dirname(host.readlink(f"{DEVICES}/{name}")))
    except OSError:
        return None
    return parent if parent.count(":") == 2 else None
