"""One fault of the lower layers gives one root cause, and its follow-ups stand beneath it."""

import pytest

from ctk.doctor.causes import find_causes, root_causes
from ctk.doctor.checks import ALL_CHECKS
from ctk.doctor.model import ERROR, FAIL, WARN, Finding
from ctk.doctor.run import run_checks
from ctk.facts.driver import Driver
from ctk.facts.kernel_log import KernelLog, LogEvent, LogLine
from ctk.facts.modules import DkmsBuild
from ctk.facts.pci import Pci
from ctk.facts.snapshot import Snapshot
from tests.builders import make_snapshot, make_system
from tests.driver_builders import (
    FIRST,
    RELEASE,
    SECOND,
    make_driver,
    make_driver_gpu,
    make_function,
    make_kernel,
    make_library,
    make_loaded,
    make_module_file,
    make_modules,
    make_pci,
)

CHECKS = tuple(check for check in ALL_CHECKS if check.id.startswith(("host.", "pci.", "driver.")))
NOT_RUNNING: Driver = make_driver(version=None, flavour=None, banner=None, parameters=None, gpus=None, majors=())
OTHER = "550.107.02"
NEWER = (make_library(version=OTHER), make_library("libcuda.so", version=OTHER))


def log(*texts: str, events: tuple[LogEvent, ...] = ()) -> KernelLog:
    lines = tuple(LogLine(text, 1, 5.0, 5.0) for text in texts)
    return KernelLog(source="/dev/kmsg", reaches_boot=True, lines=lines, events=events)


def findings_of(snapshot: Snapshot) -> tuple[Finding, ...]:
    findings = find_causes(run_checks(CHECKS, snapshot), ALL_CHECKS)
    assert [finding.outcome.message for finding in findings if finding.status == ERROR] == []
    return findings


def unloaded(**changes: object) -> Snapshot:
    """The module is not loaded, for whatever reason the changes say."""
    values: dict[str, object] = {
        "modules": make_modules(loaded=(), files=(make_module_file(),)),
        "driver": NOT_RUNNING,
        "pci": make_pci(make_function(FIRST, driver=None)),
    }
    return make_snapshot(**{"kernel_log": log(), **values, **changes})


FAULTS = [
    pytest.param(
        make_snapshot(pci=Pci(), kernel_log=log()),
        {"pci.gpus-present"},
        set(),
        id="gpus-gone",
    ),
    pytest.param(
        unloaded(
            pci=make_pci(make_function(FIRST, driver="nouveau")),
            modules=make_modules(loaded=(make_loaded("nouveau"),)),
            kernel_log=log("NVRM: The NVIDIA probe routine was not called for 1 device(s)."),
        ),
        {f"host.nouveau-loaded[{FIRST}]"},
        {"driver.load-errors", "driver.module-loaded"},
        id="nouveau",
    ),
    pytest.param(
        unloaded(kernel=make_kernel(lockdown="integrity", secure_boot=True, efi=True)),
        {"host.module-signature"},
        {"driver.module-loaded"},
        id="secure-boot",
    ),
    pytest.param(
        unloaded(
            kernel=make_kernel(headers=None),
            modules=make_modules(loaded=(), files=(), dkms=(DkmsBuild("nvidia", "580.95.05", "added"),)),
        ),
        {"host.kernel-headers"},
        {"host.dkms-status", "driver.module-available", "driver.module-loaded"},
        id="no-headers",
    ),
    pytest.param(
        unloaded(
            modules=make_modules(
                loaded=(),
                files=(),
                dkms=(DkmsBuild("nvidia", "580.95.05", "failed", RELEASE, log="/x/make.log", error="error: x"),),
            ),
        ),
        {"host.dkms-status"},
        {"driver.module-available", "driver.module-loaded"},
        id="build-failed",
    ),
    pytest.param(
        unloaded(kernel=make_kernel(module_folders=("6.1.0-22-amd64",)), modules=make_modules(loaded=(), files=None)),
        {"host.reboot-pending"},
        {"driver.module-available", "driver.module-loaded"},
        id="kernel-removed",
    ),
    pytest.param(
        unloaded(modules=make_modules(loaded=(), files=(make_module_file(version_magic="6.1.0-20-amd64 SMP"),))),
        {"host.module-vermagic"},
        {"driver.module-loaded"},
        id="other-kernel",
    ),
    pytest.param(
        unloaded(kernel=make_kernel(command_line=("module_blacklist=nvidia",))),
        {"host.cmdline"},
        {"driver.module-loaded"},
        id="denied",
    ),
    pytest.param(
        unloaded(
            pci=make_pci(make_function(FIRST, device_id=0x1B06, driver=None)),
            kernel_log=log(
                f"NVRM: The NVIDIA GPU {FIRST} (PCI ID: 10de:1b06)",
                "NVRM: installed in this system is not supported by open nvidia.ko because it does not include the",
                "NVRM: The NVIDIA probe routine failed for 1 device(s).",
            ),
        ),
        {f"pci.gpu-supported[{FIRST}]"},
        {"driver.load-errors", "driver.module-loaded"},
        id="old-gpu-with-open-modules",
    ),
    pytest.param(
        unloaded(
            modules=make_modules(loaded=(), files=()), driver=make_driver(version=None, flavour=None, libraries=())
        ),
        {"driver.installed"},
        {"driver.module-available", "driver.module-loaded"},
        id="no-driver",
    ),
    pytest.param(
        unloaded(pci=make_pci(make_function(FIRST, driver="vfio-pci"))),
        {f"pci.vfio-bound[{FIRST}]"},
        set(),
        id="all-for-virtual-machines",
    ),
    pytest.param(
        make_snapshot(driver=make_driver(libraries=NEWER, firmware=()), kernel_log=log()),
        {"driver.version-mismatch"},
        {"driver.gsp-firmware-files"},
        id="updated-under-way",
    ),
    pytest.param(
        make_snapshot(
            driver=make_driver(firmware=(), gpus=(make_driver_gpu(), make_driver_gpu(SECOND))),
            kernel_log=log(f"NVRM: GPU {FIRST}: RmInitAdapter failed! (0x62:0x40:2350)"),
        ),
        {"driver.gsp-firmware-files"},
        {f"driver.rm-init-failed[{FIRST}]"},
        id="firmware-gone",
    ),
    pytest.param(
        make_snapshot(
            kernel_log=log(
                f"NVRM: GPU {FIRST}: RmInitAdapter failed! (0x23:0x65:1416)",
                events=(LogEvent(False, FIRST, 79, "", 1, 4.0, 4.0, "GPU has fallen off the bus."),),
            ),
        ),
        {f"pci.fell-off-bus[{FIRST}]"},
        {f"driver.rm-init-failed[{FIRST}]"},
        id="off-the-bus",
    ),
    pytest.param(
        make_snapshot(
            kernel_log=log(
                f"NVRM: GPU {FIRST}: RmInitAdapter failed! (0x24:0x1c:1603)",
                events=(LogEvent(False, SECOND, 79, "", 1, 4.0, 4.0, "GPU has fallen off the bus."),),
            ),
        ),
        {f"pci.fell-off-bus[{SECOND}]", f"driver.rm-init-failed[{FIRST}]"},
        set(),
        id="two-gpus-two-faults",
    ),
]


@pytest.mark.parametrize(("snapshot", "roots", "masked"), FAULTS)
def test_fault_has_its_roots_and_no_others(snapshot: Snapshot, roots: set[str], masked: set[str]) -> None:
    findings = findings_of(snapshot)
    assert {finding.key for finding in root_causes(findings)} == roots
    assert {finding.key for finding in findings if finding.status == FAIL and finding.caused_by} == masked


HEALTHY = [
    pytest.param(make_snapshot(kernel_log=log()), id="server"),
    pytest.param(
        make_snapshot(
            pci=Pci(),
            toolkit=(),
            modules=make_modules(loaded=(), files=()),
            driver=make_driver(version=None, libraries=(), firmware=(), traces=(), gpus=None),
            kernel_log=log(),
        ),
        id="cpu-only",
    ),
    pytest.param(make_snapshot(system=make_system(wsl=2), pci=None, kernel_log=log()), id="wsl"),
    pytest.param(make_snapshot(system=make_system(jetson=True), pci=None, kernel_log=log()), id="jetson"),
    pytest.param(make_snapshot(system=make_system(container="lxc"), kernel_log=log()), id="lxc"),
    pytest.param(
        make_snapshot(
            driver=make_driver(libraries=(), root_libraries=(make_library(),)),
            modules=make_modules(files=()),
            kernel_log=log(),
        ),
        id="driver-container",
    ),
    pytest.param(
        make_snapshot(
            pci=make_pci(make_function(FIRST, driver="vfio-pci")),
            modules=make_modules(loaded=(), files=()),
            driver=make_driver(version=None, libraries=(), firmware=(), gpus=None),
            toolkit=(),
            kernel_log=log(),
        ),
        id="virtual-machine-host",
    ),
]


@pytest.mark.parametrize("snapshot", HEALTHY)
def test_healthy_host_fails_and_warns_of_nothing(snapshot: Snapshot) -> None:
    assert [
        (finding.key, finding.outcome.message) for finding in findings_of(snapshot) if finding.status in (FAIL, WARN)
    ] == []
