"""The checks of the host's state: one row for each status they can give."""

import pytest

from ctk.doctor.checks.host_state import HOST_STATE_CHECKS
from ctk.facts import Unknown
from ctk.facts.conditions import FileSystem, StuckProcess
from ctk.facts.driver import DriverPackage, DriverTrace
from ctk.facts.kernel_log import KernelLog, LogLine
from ctk.facts.pci import Pci
from ctk.facts.snapshot import Snapshot
from tests.builders import make_engine, make_snapshot, make_system
from tests.driver_builders import VERSION, make_conditions, make_driver
from tests.unit.doctor.tables import Row, assert_row, params
from tests.unit.host.test_conditions import DENIAL

DENIED = Unknown("permission denied")
LXC = make_snapshot(system=make_system(container="lxc"))
PODMAN = (make_engine(engine="podman"),)
STUCK = StuckProcess(4711, "nvidia-smi", "nv_open", True)
BLOCKED = "INFO: task nvidia-smi:4711 blocked for more than 120 seconds."
INSTALLER = (DriverTrace("runfile", "/usr/bin/nvidia-uninstall"),)


def conditions(**changes: object) -> Snapshot:
    return make_snapshot(conditions=make_conditions(**changes))


def log(*texts: str) -> KernelLog:
    return KernelLog(source="/dev/kmsg", reaches_boot=True, lines=tuple(LogLine(text, 1, 1.0, 2.0) for text in texts))


def disk(path: str, free: int, *, read_only: bool = False) -> FileSystem:
    return FileSystem(path, 1000, free, 1000, 900, read_only)


def packaged(version: str | None, **changes: object) -> Snapshot:
    packages = (DriverPackage("nvidia-driver-580", version, "/var/lib/dpkg/status"),) if version else ()
    return make_snapshot(driver=make_driver(**{"traces": INSTALLER, "packages": packages, **changes}))


ROWS = [
    Row("host.dstate-nvidia", "none", make_snapshot(), "pass"),
    Row("host.dstate-nvidia", "seen", conditions(stuck=(STUCK,)), "warn", "4711 (nvidia-smi)"),
    Row(
        "host.dstate-nvidia",
        "proven",
        make_snapshot(conditions=make_conditions(stuck=(STUCK, STUCK)), kernel_log=log(BLOCKED)),
        "fail",
        "and 1 more",
    ),
    Row("host.dstate-nvidia", "closed", conditions(stuck=DENIED), "unknown"),
    Row("host.dstate-nvidia", "all-closed", make_snapshot(conditions=DENIED), "unknown"),
    Row("host.dstate-nvidia", "lxc", LXC, "skip"),
    Row("host.kernel-trouble", "quiet", make_snapshot(kernel_log=log("NVRM: loading")), "pass"),
    Row("host.kernel-trouble", "driver", make_snapshot(kernel_log=log(BLOCKED)), "fail", "concerns the driver"),
    Row(
        "host.kernel-trouble",
        "another-program",
        make_snapshot(kernel_log=log("Out of memory: Killed process 9 (env_worker) total-vm:1kB")),
        "warn",
        "ran out of memory",
    ),
    Row("host.kernel-trouble", "closed", make_snapshot(kernel_log=DENIED), "unknown"),
    Row("host.kernel-trouble", "lxc", LXC, "skip"),
    Row("host.disk-space", "room", make_snapshot(), "pass"),
    Row("host.disk-space", "full", conditions(file_systems=(disk("/var", 1),)), "fail", "/var is full", "/var"),
    Row("host.disk-space", "nearly", conditions(file_systems=(disk("/", 80),)), "warn", "92%", "/"),
    Row("host.disk-space", "read-only-run", conditions(file_systems=(disk("/run", 900, read_only=True),)), "fail"),
    Row("host.disk-space", "image-based", conditions(file_systems=(disk("/", 0, read_only=True),)), "pass"),
    Row("host.disk-space", "other-root", conditions(file_systems=DENIED), "unknown"),
    Row("host.disk-space", "lxc", LXC, "skip"),
    Row("host.selinux", "off", make_snapshot(), "skip"),
    Row("host.selinux", "denial", conditions(selinux="enforcing", denials=(DENIAL,)), "fail", "denied a container"),
    Row("host.selinux", "permissive", conditions(selinux="permissive", denials=(DENIAL,)), "info"),
    Row(
        "host.selinux",
        "switch-off-with-podman",
        make_snapshot(conditions=make_conditions(selinux="enforcing", selinux_devices=False), engines=PODMAN),
        "warn",
        "container_use_devices",
    ),
    Row("host.selinux", "switch-off-with-docker", conditions(selinux="enforcing", selinux_devices=False), "pass"),
    Row("host.selinux", "log-closed", conditions(selinux="enforcing", denials=DENIED), "unknown"),
    Row("host.selinux", "closed", conditions(selinux=DENIED), "unknown"),
    Row("host.selinux", "no-gpu", make_snapshot(pci=Pci()), "skip"),
    Row("host.install-method-mix", "packages", make_snapshot(), "pass"),
    Row("host.install-method-mix", "installer-alone", packaged(None), "pass", "alone"),
    Row("host.install-method-mix", "both-the-same", packaged(f"{VERSION}-0ubuntu1"), "warn"),
    Row("host.install-method-mix", "both-different", packaged("570.144-1"), "fail", "nvidia-driver-580 570.144-1"),
    Row("host.install-method-mix", "packages-closed", packaged(None, packages=DENIED), "unknown"),
    Row("host.install-method-mix", "traces-closed", packaged(None, traces=DENIED), "unknown"),
    Row("host.install-method-mix", "closed", make_snapshot(driver=DENIED), "unknown"),
    Row("host.install-method-mix", "no-gpu", make_snapshot(pci=Pci()), "skip"),
]


@pytest.mark.parametrize("row", params(ROWS))
def test_check_says(row: Row) -> None:
    assert_row(HOST_STATE_CHECKS, row)
