"""What sysfs shows of NVIDIA's functions becomes facts, and no sleeping device is woken."""

from pathlib import Path

import pytest

from ctk.facts import Unknown
from ctk.facts.pci import Pci, PciRegion, normalize_address
from ctk.host.pci import (
    ASLEEP,
    collect_pci,
    parse_error_total,
    parse_link_speed,
    parse_link_width,
    parse_number,
    parse_regions,
)
from tests.unit.host.trees import Link, plant

GPU = "/sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0"
PORT = "/sys/devices/pci0000:3a/0000:3a:00.0"
RESOURCE = (
    "0x00000000b4000000 0x00000000b4ffffff 0x0000000000040200\n"
    "0x0000020000000000 0x0000021fffffffff 0x000000000014220c\n"
    + "0x0000000000000000 0x0000000000000000 0x0000000000000000\n" * 5
    + "0x0000000000000001 0x0000000000000002 0x0000000000000200\n"
)
FILES = {
    "/sys/class/dmi/id/product_name": "DGXA100 920-23687-2531-001\n",
    f"{GPU}/vendor": "0x10de\n",
    f"{GPU}/device": "0x2330\n",
    f"{GPU}/class": "0x030200\n",
    f"{GPU}/subsystem_vendor": "0x10de\n",
    f"{GPU}/revision": "0xa1\n",
    f"{GPU}/driver": Link("../../../../bus/pci/drivers/nvidia"),
    f"{GPU}/driver_override": "(null)\n",
    f"{GPU}/current_link_width": "16\n",
    f"{GPU}/max_link_width": "16\n",
    f"{GPU}/current_link_speed": "32.0 GT/s PCIe\n",
    f"{GPU}/max_link_speed": "32.0 GT/s PCIe\n",
    f"{GPU}/power_state": "D0\n",
    f"{GPU}/power/runtime_status": "active\n",
    f"{GPU}/numa_node": "-1\n",
    f"{GPU}/iommu_group": Link("../../../../kernel/iommu_groups/21"),
    f"{GPU}/resource": RESOURCE,
    f"{GPU}/config": "head",
    f"{GPU}/aer_dev_fatal": "Undefined 0\nTOTAL_ERR_FATAL 2\n",
    f"{GPU}/sriov_totalvfs": "32\n",
    f"{GPU}/sriov_numvfs": "0\n",
    f"{PORT}/vendor": "0x8086\n",
    f"{PORT}/device": "0x352a\n",
    f"{PORT}/class": "0x060400\n",
    f"{PORT}/max_link_width": "8\n",
    "/sys/bus/pci/devices/0000:3a:00.0": Link("../../../devices/pci0000:3a/0000:3a:00.0"),
    "/sys/bus/pci/devices/0000:3b:00.0": Link("../../../devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0"),
}


def collected(root: Path, changes: dict[str, str] | None = None) -> Pci:
    found = collect_pci(plant(root, {**FILES, **(changes or {})}))
    assert isinstance(found, Pci)
    return found


def test_gpu_and_the_port_above_it(tmp_path: Path) -> None:
    pci = collected(tmp_path)
    (gpu,) = pci.gpus
    assert (gpu.address, gpu.device_id, gpu.driver, gpu.driver_override) == ("0000:3b:00.0", 0x2330, "nvidia", None)
    assert (gpu.current_link_speed, gpu.current_link_width) == (32000, 16)
    assert (gpu.numa_node, gpu.iommu_group, gpu.fatal_errors, gpu.nonfatal_errors) == (-1, 21, 2, None)
    assert (gpu.virtual_functions, gpu.max_virtual_functions, gpu.physical_function) == (0, 32, None)
    assert gpu.config_head == b"head".hex()
    assert gpu.regions == parse_regions(RESOURCE)
    port = pci.find_port(gpu.upstream)
    assert port is not None
    assert port.max_link_width == 8
    assert pci.product == "DGXA100 920-23687-2531-001"


def test_sleeping_gpu_is_left_alone(tmp_path: Path) -> None:
    (gpu,) = collected(tmp_path, {f"{GPU}/power/runtime_status": "suspended\n", f"{GPU}/power_state": "D3cold\n"}).gpus
    assert (gpu.power_state, gpu.runtime_status) == ("D3cold", "suspended")
    assert gpu.config_head == gpu.current_link_width == gpu.max_link_speed == ASLEEP


def test_unbound_gpu_and_plain_folders(tmp_path: Path) -> None:
    folder = "/sys/bus/pci/devices/0001:00:00.0"
    files = {f"{folder}/vendor": "0x10de\n", f"{folder}/device": "0x2342\n", f"{folder}/class": "0x030200\n"}
    found = collect_pci(plant(tmp_path, files))
    assert isinstance(found, Pci)
    assert (found.gpus[0].driver, found.gpus[0].upstream, found.gpus[0].regions) == (None, None, None)


def test_no_bus_and_no_sysfs(tmp_path: Path) -> None:
    assert collect_pci(plant(tmp_path / "board", {"/sys/bus/usb/x": ""})) is None
    assert collect_pci(plant(tmp_path / "bare", {"/etc/hostname": "x"})) == Unknown("no /sys")


def test_other_vendors_are_passed_over(tmp_path: Path) -> None:
    folder = "/sys/bus/pci/devices/0000:00:02.0"
    found = collect_pci(plant(tmp_path, {f"{folder}/vendor": "0x8086\n", f"{folder}/class": "0x030000\n"}))
    assert found == Pci()


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("0000:3b:00.0", "0000:3b:00.0"),
        ("00000000:3B:00.0", "0000:3b:00.0"),
        ("PCI", "pci"),
        ("0000:3b:00", "0000:3b:00.0"),
        ("03F8CFDD:00:00.0", "cfdd:00:00.0"),
        ("cfdd:00:00.0", "cfdd:00:00.0"),
        ("3b:00.1", "0000:3b:00.1"),
    ],
)
def test_address_has_one_spelling(text: str, address: str) -> None:
    assert normalize_address(text) == address
    assert normalize_address(address) == address


def test_small_files_of_sysfs() -> None:
    assert parse_link_speed("2.5 GT/s PCIe") == 2500
    assert parse_link_speed("64.0 GT/s PCIe") == 64000
    assert parse_link_speed("Unknown") is None
    assert parse_link_width("255") is None
    assert parse_link_width("0") is None
    assert parse_link_width(Unknown("x")) == Unknown("x")
    assert parse_number("0x10de") == 0x10DE
    assert parse_number("??") is None
    assert parse_error_total("RxErr 1\nTOTAL_ERR_COR 1001\n") == 1001
    assert parse_error_total("nothing\n") is None
    assert parse_regions(RESOURCE)[1] == PciRegion(1, 0x20000000000, 0x21FFFFFFFFF, 0x14220C)
    assert len(parse_regions(RESOURCE)) == 7
    assert parse_regions("odd\n") == ()
    assert (parse_regions(RESOURCE)[1].size_bytes, parse_regions(RESOURCE)[2].size_bytes) == (128 << 30, 0)
