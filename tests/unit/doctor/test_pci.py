"""The checks of the PCI bus: one row for each status they can give."""

import pytest

from ctk.doctor.checks.pci import PCI_CHECKS
from ctk.doctor.checks.pci_faults import PCI_FAULT_CHECKS
from ctk.facts import Unknown
from ctk.facts.driver import DriverTrace
from ctk.facts.kernel_log import KernelLog, LogEvent, LogLine
from ctk.facts.pci import Pci, PciRegion
from ctk.facts.snapshot import Snapshot
from tests.builders import make_snapshot, make_system
from tests.driver_builders import (
    FIRST,
    SECOND,
    make_driver,
    make_function,
    make_modules,
    make_pci,
    make_port,
)
from tests.unit.doctor.tables import Row, assert_row, params

CHECKS = (*PCI_CHECKS, *PCI_FAULT_CHECKS)
DENIED = Unknown("permission denied")
WSL = make_snapshot(system=make_system(wsl=2), pci=None)
JETSON = make_snapshot(system=make_system(jetson=True), pci=None)
BARE = make_snapshot(
    pci=Pci(), toolkit=(), modules=make_modules(loaded=(), files=()), driver=make_driver(libraries=(), traces=())
)


def one(**changes: object) -> Snapshot:
    """One GPU of this kind."""
    return make_snapshot(pci=make_pci(make_function(FIRST, **changes)))


def log(*texts: str, **changes: object) -> KernelLog:
    lines = tuple(LogLine(text, 1, 12.0, 12.0) for text in texts)
    return KernelLog(**{"source": "/dev/kmsg", "reaches_boot": True, "lines": lines, **changes})  # type: ignore[arg-type] # the record's own fields


XID_79 = LogEvent(False, FIRST, 79, "", 2, 5.0, 9.0, "pid=1, GPU has fallen off the bus.")
PROPRIETARY = make_driver(flavour="proprietary")
OLD = 0x1B06

ROWS = [
    Row("pci.gpus-present", "two", make_snapshot(), "pass", "2 NVIDIA GPUs are"),
    Row("pci.gpus-present", "none-but-a-driver", make_snapshot(pci=Pci()), "fail", "yet the host has a driver"),
    Row("pci.gpus-present", "no-bus-but-a-driver", make_snapshot(pci=None), "fail"),
    Row("pci.gpus-present", "cpu-only", BARE, "skip", "no trace of a driver"),
    Row("pci.gpus-present", "closed", make_snapshot(pci=DENIED), "unknown", "permission denied"),
    Row("pci.gpus-present", "one-vendor-closed", make_snapshot(pci=Pci(unreadable=(FIRST,))), "unknown"),
    Row("pci.gpus-present", "wsl", WSL, "skip", "Windows"),
    Row("pci.gpus-present", "jetson", JETSON, "skip", "Jetson"),
    Row(
        "pci.gpus-present",
        "left-over-of-an-installer",
        make_snapshot(
            pci=Pci(),
            modules=make_modules(loaded=(), files=None),
            driver=make_driver(libraries=(), traces=(DriverTrace("runfile", "/usr/bin/nvidia-uninstall"),)),
        ),
        "fail",
    ),
    Row("pci.binding", "bound", make_snapshot(), "pass"),
    Row("pci.binding", "unbound", one(driver=None), "fail", "bound to no driver", FIRST),
    Row(
        "pci.binding",
        "unbound-without-module",
        make_snapshot(pci=make_pci(make_function(driver=None)), modules=make_modules(loaded=())),
        "skip",
    ),
    Row("pci.binding", "another", one(driver="pci-stub"), "fail", "pci-stub"),
    Row("pci.binding", "vfio", one(driver="vfio-pci"), "skip"),
    Row("pci.binding", "closed", one(driver=DENIED), "unknown"),
    Row("pci.binding", "container", make_snapshot(system=make_system(container="lxc")), "skip", "lxc"),
    Row("pci.vfio-bound", "none", make_snapshot(), "pass"),
    Row("pci.vfio-bound", "all", one(driver="vfio-pci", driver_override="vfio-pci"), "fail", "no container", FIRST),
    Row(
        "pci.vfio-bound",
        "virtual-machine-host",
        make_snapshot(pci=make_pci(make_function(driver="vfio-pci")), toolkit=()),
        "info",
    ),
    Row(
        "pci.vfio-bound",
        "some",
        make_snapshot(pci=make_pci(make_function(), make_function(SECOND, driver="vfio-pci"))),
        "info",
    ),
    Row("pci.vfio-bound", "closed", one(driver=DENIED), "unknown"),
    Row("pci.vfio-bound", "no-gpu", BARE, "skip"),
    Row("pci.config-space", "answers", make_snapshot(), "pass"),
    Row("pci.config-space", "ones", one(config_head="f" * 128), "fail", "no longer answers", FIRST),
    Row("pci.config-space", "asleep", one(config_head=DENIED, power_state="D3cold"), "skip", "sleeps"),
    Row("pci.config-space", "closed", one(config_head=DENIED), "unknown"),
    Row("pci.config-space", "not-there", one(config_head=None), "unknown"),
    Row("pci.bars", "assigned", make_snapshot(), "pass"),
    Row(
        "pci.bars",
        "unassigned",
        one(regions=(PciRegion(0, 0xB4000000, 0xB4FFFFFF, 0x40200), PciRegion(1, 0, 0x1FFFFFFFF, 0x14220C))),
        "fail",
        "BAR1 (8 GiB)",
    ),
    Row("pci.bars", "closed", one(regions=DENIED), "unknown"),
    Row("pci.bars", "empty", one(regions=()), "unknown"),
    Row("pci.bars", "io-port-at-zero", one(regions=(PciRegion(5, 0, 0x7F, 0x40101),)), "pass"),
    Row("pci.link-width", "full", make_snapshot(), "pass"),
    Row("pci.link-width", "half", one(current_link_width=8), "warn", "8 of 16"),
    Row("pci.link-width", "quarter", one(current_link_width=4), "fail", "4 of 16"),
    Row(
        "pci.link-width",
        "port-has-no-more",
        make_snapshot(pci=make_pci(make_function(current_link_width=8), ports=(make_port(max_link_width=8),))),
        "pass",
    ),
    Row("pci.link-width", "no-link", one(current_link_width=None), "skip"),
    Row("pci.link-width", "asleep", one(current_link_width=DENIED), "unknown"),
    Row("pci.nvswitch", "none", make_snapshot(), "skip"),
    Row("pci.nvswitch", "one", one(class_code=0x068000), "info", "1 NVSwitch on"),
    Row("pci.nvswitch", "closed", make_snapshot(pci=DENIED), "unknown"),
    Row("pci.fell-off-bus", "xid", make_snapshot(kernel_log=log(events=(XID_79,))), "fail", "hardware or power", FIRST),
    Row(
        "pci.fell-off-bus",
        "three-records",
        make_snapshot(
            kernel_log=log(
                "NVRM: The NVIDIA GPU 0000:3b:00.0 (PCI ID: 10de:2330)",
                "NVRM: installed in this system has",
                "NVRM: fallen off the bus and is not responding to commands.",
            )
        ),
        "fail",
        FIRST,
        FIRST,
    ),
    Row("pci.fell-off-bus", "quiet", make_snapshot(kernel_log=log()), "pass", "since boot"),
    Row("pci.fell-off-bus", "wrapped", make_snapshot(kernel_log=log(reaches_boot=False)), "pass", "part of"),
    Row("pci.fell-off-bus", "closed", make_snapshot(kernel_log=DENIED), "unknown"),
    Row("pci.fell-off-bus", "no-log", make_snapshot(kernel_log=None), "unknown"),
    Row("pci.fell-off-bus", "wsl", WSL, "skip"),
    Row(
        "pci.power-cable",
        "sentence",
        make_snapshot(kernel_log=log(f"NVRM: GPU {SECOND}: GPU does not have the necessary power cables connected.")),
        "fail",
        "external power",
        SECOND,
    ),
    Row("pci.power-cable", "quiet", make_snapshot(kernel_log=log()), "pass"),
    Row("pci.power-cable", "closed", make_snapshot(kernel_log=DENIED), "unknown"),
    Row("pci.power-cable", "cpu-only", BARE, "pass"),
    Row("pci.gpu-supported", "hopper-open", make_snapshot(), "pass"),
    Row("pci.gpu-supported", "pascal-open", one(device_id=OLD), "fail", "needs the proprietary", FIRST),
    Row(
        "pci.gpu-supported",
        "blackwell-proprietary",
        make_snapshot(pci=make_pci(make_function(device_id=0x2901)), driver=PROPRIETARY),
        "fail",
        "needs the open",
    ),
    Row(
        "pci.gpu-supported",
        "pascal-proprietary",
        make_snapshot(pci=make_pci(make_function(device_id=OLD)), driver=PROPRIETARY),
        "pass",
    ),
    Row(
        "pci.gpu-supported",
        "refused-by-the-release",
        make_snapshot(
            pci=make_pci(make_function(device_id=0x0FFD, driver=None)),
            driver=PROPRIETARY,
            kernel_log=log(
                f"NVRM: The NVIDIA GPU {FIRST} (PCI ID: 10de:0ffd)",
                "NVRM: installed in this system is not supported by the",
                "NVRM: NVIDIA 580.95.05 driver release.",
            ),
        ),
        "fail",
        "does not support",
    ),
    Row(
        "pci.gpu-supported",
        "by-the-file-on-disk",
        make_snapshot(pci=make_pci(make_function(device_id=OLD)), driver=make_driver(flavour=None)),
        "fail",
    ),
    Row(
        "pci.gpu-supported",
        "no-driver",
        make_snapshot(driver=make_driver(flavour=None), modules=make_modules(files=())),
        "skip",
    ),
    Row("pci.gpu-supported", "closed", make_snapshot(driver=DENIED, modules=DENIED), "unknown"),
    Row("pci.gpu-supported", "bus-closed", make_snapshot(pci=DENIED), "unknown"),
    Row("pci.gpu-supported", "vfio", one(driver="vfio-pci"), "skip"),
]


@pytest.mark.parametrize("row", params(ROWS))
def test_check_says(row: Row) -> None:
    assert_row(CHECKS, row)
