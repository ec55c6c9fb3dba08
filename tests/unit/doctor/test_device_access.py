"""The checks of who may open device nodes and of their links: one row for each status they can give."""

import errno
import os
from dataclasses import replace

import pytest

from ctk.doctor.checks.device_access import _upstream
from ctk.doctor.checks.device_rows import DEVICE_CHECKS
from ctk.doctor.checks.driver_params import DRIVER_PARAMETER_CHECKS
from ctk.facts import Unknown
from ctk.facts.cgroups import Cgroups
from ctk.facts.device_nodes import CharLink, LinkRule, OpenAttempt
from ctk.facts.driver import DriverParameter
from ctk.facts.engines import EngineDaemon
from ctk.facts.kernel_log import LogLine
from ctk.facts.packages import Package, Packages
from ctk.facts.services import PERSISTENCE
from ctk.facts.snapshot import Snapshot
from ctk.facts.toolkit_setup import ToolkitConfig, ToolkitSetup, ToolkitValue
from tests.builders import make_engine, make_kernel_log, make_kubelet, make_snapshot
from tests.driver_builders import (
    NODES,
    PARAMETERS,
    link_of,
    make_device_nodes,
    make_driver,
    make_library,
    make_loaded,
    make_modules,
)
from tests.nvml_builders import make_service, make_services
from tests.unit.doctor.tables import Row, assert_row, params
from tests.unit.doctor.test_device import ROWS as NODE_ROWS

DENIED = Unknown("permission denied")
NOT_LOADED = make_snapshot(modules=make_modules(loaded=()))
CLOSED = make_snapshot(device_nodes=DENIED)
CHECKS = (*DEVICE_CHECKS, *DRIVER_PARAMETER_CHECKS)


def every(**changes: object) -> Snapshot:
    """All nodes changed alike."""
    return make_snapshot(device_nodes=make_device_nodes(*(node._replace(**changes) for node in NODES)))  # type: ignore[arg-type] # the record's own fields by name


GROUPED = tuple(
    DriverParameter(row.name, {"DeviceFileMode": "432", "DeviceFileGID": "44"}.get(row.name, row.value))
    for row in PARAMETERS
)
HANDS_OFF = tuple(
    DriverParameter(row.name, "0" if row.name == "ModifyDeviceFiles" else row.value) for row in PARAMETERS
)


def grouped(parameters: object = GROUPED, **changes: object) -> Snapshot:
    nodes = make_device_nodes(*(node._replace(**{"mode": 0o660, "gid": 44, **changes}) for node in NODES))  # type: ignore[arg-type] # the record's own fields by name
    return make_snapshot(device_nodes=nodes, driver=make_driver(parameters=parameters))


RIGHTS_ROWS = [
    Row("device.permissions", "everybody", make_snapshot(), "pass", "every user"),
    Row("device.permissions", "group", grouped(), "warn", "only group 44 and root may open 6"),
    Row("device.permissions", "group-without-caller", grouped(accessible=False), "warn", "not among them"),
    Row("device.permissions", "root-alone", grouped(HANDS_OFF, mode=0o600), "warn", "only user 0"),
    Row("device.permissions", "changed-by-hand", grouped(PARAMETERS), "fail", "than the driver was told"),
    Row("device.permissions", "wider-than-told", make_snapshot(driver=make_driver(parameters=GROUPED)), "pass"),
    Row("device.permissions", "no-parameters", grouped(None), "warn"),
    Row("device.permissions", "parameters-closed", make_snapshot(driver=make_driver(parameters=DENIED)), "unknown"),
    Row("device.permissions", "no-nodes", make_snapshot(device_nodes=make_device_nodes(nodes=())), "skip"),
    Row("device.permissions", "closed", CLOSED, "unknown"),
    Row("device.permissions", "not-loaded", NOT_LOADED, "skip"),
]


def attempted(code: int, **changes: object) -> Snapshot:
    attempts = (OpenAttempt("/dev/nvidiactl", code, os.strerror(code) if code else ""),)
    nodes = tuple(node._replace(**changes) for node in NODES)  # type: ignore[arg-type] # the record's own fields by name
    return make_snapshot(device_nodes=make_device_nodes(*nodes, attempts=attempts))


OPEN_ROWS = [
    Row("device.open-test", "allowed", make_snapshot(), "pass", "may open"),
    Row("device.open-test", "forbidden", every(accessible=False), "fail", "the kernel still refuses"),
    Row("device.open-test", "left-out", every(accessible=False, mode=0o660), "info", "its mode leaves him out"),
    Row("device.open-test", "not-live", every(accessible=None), "unknown", "running machine"),
    Row("device.open-test", "no-node", make_snapshot(device_nodes=make_device_nodes(*NODES[:2])), "skip"),
    Row("device.open-test", "opened", attempted(0), "pass", "can be opened"),
    *(
        Row("device.open-test", errno.errorcode[code], attempted(code), "fail", words)
        for code, words in (
            (errno.ENXIO, "no driver stands behind"),
            (errno.ENODEV, "no driver stands behind"),
            (errno.EIO, "could not set the device up"),
            (errno.EPERM, "control group"),
            (errno.EACCES, "security module"),
            (errno.EBUSY, "another reason"),
        )
    ),
    Row("device.open-test", "attempt-left-out", attempted(errno.EACCES, mode=0o660), "info"),
    Row("device.open-test", "attempt-gone", attempted(errno.ENOENT), "skip"),
    Row(
        "device.open-test",
        "attempt-hung",
        make_snapshot(device_nodes=make_device_nodes(attempts=Unknown("no answer within 5 s"))),
        "unknown",
        "5 s",
    ),
    Row("device.open-test", "closed", CLOSED, "unknown"),
    Row("device.open-test", "not-loaded", NOT_LOADED, "skip"),
]

V2 = Cgroups(mode="v2", systemd_version=252)
RUNC = Packages(manager="dpkg", source="/var/lib/dpkg/status", packages=(Package("runc", "1.1.4+ds1-1+b2"),))


def daemon(driver: str | None) -> EngineDaemon:
    return EngineDaemon((), "runc", cgroup_driver=driver)


def unlinked(driver: str | None = "systemd", links: object = (), **changes: object) -> Snapshot:
    values: dict[str, object] = {"engines": (make_engine(daemon=daemon(driver)),), "cgroups": V2, "packages": None}
    return make_snapshot(device_nodes=make_device_nodes(links=links), **{**values, **changes})


def told_mode(mode: str) -> ToolkitSetup:
    value = ToolkitValue("nvidia-container-runtime.mode", mode, is_set=True)
    return ToolkitSetup(
        config=ToolkitConfig(path="/etc/nvidia-container-runtime/config.toml", exists=True, values=(value,))
    )


LINK_ROWS = [
    Row("device.char-symlinks", "there", make_snapshot(), "pass"),
    Row("device.char-symlinks", "systemd", unlinked(), "warn", "6 links below /dev/char are missing"),
    Row("device.char-symlinks", "no-folder", unlinked(links=None), "warn", "6 links"),
    Row(
        "device.char-symlinks",
        "wrong-target",
        unlinked(links=(*map(link_of, NODES[1:]), CharLink("/dev/char/195:0", "../nvidia7"))),
        "warn",
        "1 links",
    ),
    Row(
        "device.char-symlinks",
        "absolute-target",
        unlinked(links=(*map(link_of, NODES[1:]), CharLink("/dev/char/195:0", "/dev/nvidia0"))),
        "pass",
    ),
    Row("device.char-symlinks", "cgroupfs", unlinked("cgroupfs"), "info", "no engine here has systemd"),
    Row("device.char-symlinks", "by-default", unlinked(None), "warn"),
    Row("device.char-symlinks", "version-1", unlinked(None, cgroups=Cgroups(mode="v1")), "info"),
    Row("device.char-symlinks", "cgroups-closed", unlinked(None, cgroups=DENIED), "info"),
    Row("device.char-symlinks", "kubelet", unlinked("cgroupfs", kubelet=make_kubelet()), "warn"),
    Row("device.char-symlinks", "cdi", unlinked(toolkit_setup=told_mode("cdi")), "info", "by name"),
    Row("device.char-symlinks", "auto", unlinked(toolkit_setup=told_mode("auto")), "warn"),
    Row("device.char-symlinks", "dropping-runc", unlinked(packages=RUNC), "fail", "when systemd reloads"),
    Row("device.char-symlinks", "old-systemd", unlinked(cgroups=Cgroups(mode="v2", systemd_version=239)), "fail"),
    Row("device.char-symlinks", "links-closed", unlinked(links=DENIED), "unknown"),
    Row("device.char-symlinks", "engines-closed", unlinked(engines=DENIED), "unknown"),
    Row("device.char-symlinks", "closed", CLOSED, "unknown"),
    Row("device.char-symlinks", "not-loaded", NOT_LOADED, "skip"),
    Row("device.char-symlinks-persistent", "nvidia-modprobe", make_snapshot(), "pass", "nvidia-modprobe"),
    Row(
        "device.char-symlinks-persistent",
        "rule",
        make_snapshot(device_nodes=make_device_nodes(rules=(LinkRule("/etc/udev/rules.d/71-nvidia.rules", True),))),
        "pass",
        "udev rule",
    ),
    Row(
        "device.char-symlinks-persistent",
        "rules-closed",
        make_snapshot(device_nodes=make_device_nodes(rules=DENIED)),
        "unknown",
    ),
    Row("device.char-symlinks-persistent", "not-loaded", NOT_LOADED, "skip"),
    Row(
        "device.char-symlinks-persistent",
        "container",
        make_snapshot(driver=make_driver(root_libraries=(make_library(),))),
        "skip",
        "GPU Operator",
    ),
]


def no_tool(cgroup_driver: str, path: object = None) -> Snapshot:
    return make_snapshot(engines=(make_engine(daemon=daemon(cgroup_driver)),), driver=make_driver(modprobe_path=path))


def old_tool() -> Snapshot:
    modules = make_modules(loaded=(make_loaded(version="520.61.05"),))
    return replace(no_tool("systemd", "/usr/bin/nvidia-modprobe"), modules=modules)


def with_daemon(services: object) -> Snapshot:
    return replace(no_tool("systemd"), services=services)  # type: ignore[arg-type] # Unknown or the record


DAEMON = make_services(make_service(PERSISTENCE, unit="nvidia-persistenced.service"))
PERSISTENT_ROWS = [
    Row("device.char-symlinks-persistent", "daemon", with_daemon(DAEMON), "pass", "persistence daemon"),
    Row("device.char-symlinks-persistent", "services-closed", with_daemon(DENIED), "unknown"),
    Row("device.char-symlinks-persistent", "old-tool", old_tool(), "warn"),
    Row("device.char-symlinks-persistent", "no-maker", no_tool("systemd"), "warn", "nothing makes the links"),
    Row("device.char-symlinks-persistent", "nobody-needs-them", no_tool("cgroupfs"), "skip"),
    Row("device.char-symlinks-persistent", "tool-closed", no_tool("systemd", DENIED), "unknown"),
]


def with_log(text: str, **changes: object) -> Snapshot:
    return make_snapshot(kernel_log=make_kernel_log(lines=(LogLine(text, 1, 4.0, 4.0),)), **changes)


PARAMETER_ROWS = [
    Row("driver.params", "defaults", make_snapshot(), "pass"),
    Row("driver.params", "group", grouped(), "info", "other rights"),
    Row("driver.params", "hands-off", grouped(HANDS_OFF), "info", "leave the device nodes alone"),
    Row(
        "driver.params",
        "unknown-name",
        with_log("nvidia: unknown parameter 'NVreg_ModifyDeviceFile' ignored"),
        "fail",
        "does not know",
    ),
    Row("driver.params", "not-there", make_snapshot(driver=make_driver(parameters=None)), "unknown"),
    Row("driver.params", "values-closed", make_snapshot(driver=make_driver(parameters=DENIED)), "unknown"),
    Row("driver.params", "closed", make_snapshot(driver=DENIED), "unknown"),
    Row("driver.params", "not-loaded", NOT_LOADED, "skip"),
]

ROWS = (*RIGHTS_ROWS, *OPEN_ROWS, *LINK_ROWS, *PERSISTENT_ROWS, *PARAMETER_ROWS)


@pytest.mark.parametrize("row", params(ROWS))
def test_check_says(row: Row) -> None:
    assert_row(CHECKS, row)


def test_every_check_of_nodes_has_rows() -> None:
    assert {row.check for row in (*NODE_ROWS, *ROWS)} == {check.id for check in CHECKS}


@pytest.mark.parametrize(
    ("package", "version"),
    [("1.1.4+ds1-1+b2", "1.1.4"), ("1:1.1.5-1", "1.1.5"), ("1.2.0~rc1", "1.2.0"), ("1.1.3-1.el9", "1.1.3"), ("", "")],
)
def test_upstream_version_of_a_package(package: str, version: str) -> None:
    assert _upstream(package) == version
