"""The checks of posture: one row for each status they can give."""

import dataclasses

import pytest

from ctk.doctor.checks.security_rows import SECURITY_CHECKS
from ctk.facts import Unknown
from ctk.facts.cgroups import Cgroups
from ctk.facts.engines import EngineFiles, EngineInstallation, EngineRuntime
from ctk.facts.packages import Package
from ctk.facts.services import VGPU_MANAGER
from ctk.facts.snapshot import Snapshot
from ctk.facts.toolkit_setup import ToolkitValue
from tests.builders import make_engine, make_kubelet, make_snapshot, make_system, make_tool
from tests.driver_builders import make_driver, make_loaded, make_modules
from tests.nvml_builders import make_service, make_services
from tests.toolkit_builders import (
    make_config,
    make_packages,
    make_place,
    make_rights,
    make_toolkit_setup,
    make_tools,
    make_value,
    no_tools,
)
from tests.unit.doctor.tables import Row, assert_row, outcomes_of, params

DENIED = Unknown("permission denied")
NOT_RUN = Unknown("not run: --root")
ALLOW, LDCONFIG = "features.allow-ldconfig-from-container", "nvidia-container-cli.ldconfig"
COMPAT, UNKNOWN_FIELDS = "features.allow-cuda-compat-libs-from-container", "features.allow-unknown-oci-spec-fields"
ENVVAR = "accept-nvidia-visible-devices-envvar-when-unprivileged"
MODE, NO_HOOK = "nvidia-container-runtime.mode", "features.disable-cuda-compat-lib-hook"
NVIDIA = EngineFiles((EngineRuntime("nvidia", "/usr/bin/nvidia-container-runtime", "/etc/x.toml"),), None, None)


def rights(mode: int, path: str = "/etc/nvidia-container-runtime", **changes: object) -> Snapshot:
    return make_snapshot(rights=make_rights(make_place(path, mode, **changes)))


def config(*values: ToolkitValue, version: object = "1.20.0", **changes: object) -> Snapshot:
    setup = make_toolkit_setup(make_config(*values))
    return make_snapshot(toolkit_setup=setup, toolkit=make_tools(version), packages=None, **changes)


def driver(version: str | None, **changes: object) -> Snapshot:
    """The loaded module says it."""
    loaded = (make_loaded(version=version),) if version is not None else ()
    return make_snapshot(modules=make_modules(loaded=loaded), driver=make_driver(version=version), **changes)


def engine(name: str, version: object, *packages: Package, **changes: object) -> Snapshot:
    found = make_engine(**{"engine": name, "version": version, "binary": f"/usr/bin/{name}", **changes})
    return make_snapshot(engines=(found,), packages=make_packages(*packages) if packages else None)


def bundled(version: str) -> EngineInstallation:
    return make_engine(
        engine="containerd", installation="k3s", version=version, binary="/var/lib/rancher/k3s/containerd"
    )


def runc(version: object, *packages: Package, **changes: object) -> Snapshot:
    tool = make_tool(**{"name": "runc", "path": "/usr/bin/runc", "version": version, **changes})
    found = make_packages(*packages) if packages else None
    return make_snapshot(cgroups=Cgroups(mode="v2", runtimes=(tool,)), packages=found)


NODE = {"kubelet": make_kubelet(), "engines": (make_engine(engine="containerd", files=NVIDIA),)}

ROWS = [
    Row("security.config-writable", "roots", make_snapshot(), "pass"),
    Row("security.config-writable", "everybody", rights(0o777, is_directory=True), "fail", "by everybody (mode 0777)"),
    Row("security.config-writable", "a-file", rights(0o646), "fail", "by everybody"),
    Row("security.config-writable", "a-group", rights(0o775, gid=1000), "fail", "by the group 1000"),
    Row("security.config-writable", "users", rights(0o775, gid=100), "fail", "by the group 100"),
    Row("security.config-writable", "roots-group", rights(0o775), "pass"),
    Row("security.config-writable", "sticky", rights(0o1777, "/tmp", is_directory=True), "pass"),
    Row("security.config-writable", "sticky-file", rights(0o1777, "/etc/x"), "fail"),
    Row("security.config-writable", "staff", rights(0o2775, "/usr/local", gid=50, is_directory=True), "pass"),
    Row(
        "security.config-writable",
        "staff-elsewhere",
        dataclasses.replace(
            rights(0o2775, "/usr/local", gid=50, is_directory=True), system=make_system(distribution="fedora")
        ),
        "fail",
    ),
    Row("security.config-writable", "microk8s", rights(0o770, "/var/snap/microk8s/current/args", gid=998), "pass"),
    Row("security.config-writable", "a-user", rights(0o755, uid=1000), "fail", "belongs to user 1000"),
    Row(
        "security.config-writable",
        "hosts-file-in-a-system-container",
        dataclasses.replace(rights(0o755, uid=65534), system=make_system(container="lxc")),
        "pass",
    ),
    Row(
        "security.config-writable",
        "two",
        make_snapshot(
            rights=make_rights(make_place("/etc/cdi", 0o777, used_for="/etc/cdi/x.yaml"), make_place("/x", 0o666))
        ),
        "fail",
        "on the way to /etc/cdi/x.yaml can be changed by everybody (mode 0777), and 1 more",
    ),
    Row("security.config-writable", "hidden", make_snapshot(rights=make_rights(hidden=DENIED)), "unknown"),
    Row("security.config-writable", "closed", make_snapshot(rights=DENIED), "unknown"),
    Row("security.ldconfig-from-container", "hosts", make_snapshot(), "pass"),
    Row("security.ldconfig-from-container", "allowed", config(make_value(ALLOW, True)), "fail", "may be run"),
    Row(
        "security.ldconfig-from-container", "refused", config(make_value(LDCONFIG, "/sbin/ldconfig")), "pass", "refuses"
    ),
    Row(
        "security.ldconfig-from-container",
        "old",
        config(make_value(LDCONFIG, "/sbin/ldconfig"), version="1.16.2"),
        "fail",
        "1.16.2",
    ),
    Row(
        "security.ldconfig-from-container",
        "no-version",
        config(make_value(LDCONFIG, "/sbin/ldconfig"), version=NOT_RUN),
        "info",
    ),
    Row("security.ldconfig-from-container", "no-toolkit", make_snapshot(toolkit=no_tools()), "skip"),
    Row("security.ldconfig-from-container", "closed", make_snapshot(toolkit_setup=DENIED), "unknown"),
    Row("security.envvar-unprivileged", "one-user", make_snapshot(), "info"),
    Row("security.envvar-unprivileged", "off", config(make_value(ENVVAR, False), **NODE), "pass"),
    Row("security.envvar-unprivileged", "kubernetes", config(**NODE), "warn", "any pod can take GPUs"),
    Row("security.envvar-unprivileged", "no-runtime", config(kubelet=make_kubelet()), "info"),
    Row("security.envvar-unprivileged", "kubelet-closed", config(kubelet=DENIED), "unknown"),
    Row("security.envvar-unprivileged", "engines-closed", config(engines=DENIED), "unknown"),
    Row("security.envvar-unprivileged", "wrong-type", config(make_value(ENVVAR, None)), "skip"),
    Row("security.envvar-unprivileged", "closed", make_snapshot(toolkit_setup=DENIED), "unknown"),
    Row("security.compat-from-container", "off", make_snapshot(), "pass"),
    Row("security.compat-from-container", "on", config(make_value(COMPAT, True)), "warn"),
    Row("security.compat-from-container", "no-toolkit", make_snapshot(toolkit=no_tools()), "skip"),
    Row("security.compat-from-container", "closed", make_snapshot(toolkit_setup=DENIED), "unknown"),
    Row("security.unknown-oci-fields", "off", make_snapshot(), "pass"),
    Row("security.unknown-oci-fields", "on", config(make_value(UNKNOWN_FIELDS, True)), "info", "are dropped"),
    Row("security.unknown-oci-fields", "no-toolkit", make_snapshot(toolkit=no_tools()), "skip"),
    Row("security.unknown-oci-fields", "closed", make_snapshot(toolkit_setup=DENIED), "unknown"),
    Row("security.toolkit-cve", "current", make_snapshot(), "pass", "1.20.0"),
    Row("security.toolkit-cve", "old", config(version="1.16.1"), "fail", "CVE-2024-0132"),
    Row("security.toolkit-cve", "hook", config(version="1.17.7"), "fail", "CVE-2025-23266"),
    Row(
        "security.toolkit-cve",
        "from-the-package",
        dataclasses.replace(
            config(version=NOT_RUN), packages=make_packages(Package("nvidia-container-toolkit", "1.17.7-1"))
        ),
        "fail",
    ),
    Row("security.toolkit-cve", "not-run", config(version=NOT_RUN), "unknown"),
    Row("security.toolkit-cve", "ctk-alone", make_snapshot(toolkit=(make_tool(name="ctk-container-runtime"),)), "skip"),
    Row("security.toolkit-cve", "no-toolkit", make_snapshot(toolkit=no_tools()), "skip"),
    Row("security.driver-cve", "current", driver("595.71.05"), "pass"),
    Row("security.driver-cve", "old", driver("580.95.05"), "fail", "580.159.03"),
    Row("security.driver-cve", "left-out", driver("570.211.01"), "warn", "R570"),
    Row("security.driver-cve", "forgotten", driver("560.35.05"), "warn", "R560"),
    Row("security.driver-cve", "newer-than-the-table", driver("620.10.01"), "info", "R620"),
    Row(
        "security.driver-cve",
        "vgpu-host",
        driver("580.159.01", services=make_services(make_service(VGPU_MANAGER))),
        "pass",
    ),
    Row("security.driver-cve", "guest-of-that", driver("580.159.01"), "fail"),
    Row("security.driver-cve", "not-loaded", driver(None), "skip"),
    Row("security.driver-cve", "wsl", make_snapshot(system=make_system(wsl=2)), "skip"),
    Row("security.driver-cve", "closed", make_snapshot(modules=DENIED, driver=DENIED), "unknown"),
    Row("security.runc-cve", "current", runc("1.4.3"), "pass"),
    Row("security.runc-cve", "old", runc("1.1.11"), "fail", "CVE-2024-21626"),
    Row("security.runc-cve", "dockers", runc("1.2.5", Package("containerd.io", "1.7.25-1")), "fail", "CVE-2025-31133"),
    Row("security.runc-cve", "debians", runc("1.1.5+ds1", Package("runc", "1.1.5+ds1-1+deb12u1")), "info"),
    Row(
        "security.runc-cve",
        "packages-closed",
        dataclasses.replace(runc("1.1.12"), packages=NOT_RUN),
        "info",
        "the distribution's build may have it",
    ),
    Row("security.runc-cve", "not-run", runc(NOT_RUN), "unknown"),
    Row("security.runc-cve", "none", runc(None, path=None), "skip"),
    Row("security.runc-cve", "folder-closed", runc(DENIED, path=DENIED), "unknown"),
    Row("security.runc-cve", "closed", make_snapshot(cgroups=DENIED), "unknown"),
    Row("security.docker-cve", "current", engine("docker", "29.7.0"), "pass"),
    Row("security.docker-cve", "old", engine("docker", "28.5.2"), "fail", "CVE-2026-17106"),
    Row(
        "security.docker-cve",
        "dockers-package",
        engine("docker", "28.5.2", Package("docker-ce", "5:28.5.2-1~debian.12~bookworm")),
        "fail",
    ),
    Row(
        "security.docker-cve",
        "debians-package",
        engine("docker", "26.1.5+dfsg1", Package("docker.io", "26.1.5+dfsg1-9+deb13u1")),
        "info",
        "the distribution's build may have it",
    ),
    Row("security.docker-cve", "rebuilt", engine("docker", "26.1.5+dfsg1"), "info"),
    Row(
        "security.docker-cve",
        "rpm-of-the-distribution",
        engine("docker", "20.10.24", Package("docker", "20.10-1.el8")),
        "info",
    ),
    Row(
        "security.docker-cve",
        "not-run",
        engine("docker", NOT_RUN, Package("docker-ce", "5:29.1.3-1~ubuntu.24.04~noble")),
        "fail",
        "29.1.3",
    ),
    Row("security.docker-cve", "nothing-tells", engine("docker", NOT_RUN), "unknown"),
    Row("security.docker-cve", "none", make_snapshot(engines=()), "skip"),
    Row("security.docker-cve", "closed", make_snapshot(engines=DENIED), "unknown"),
    Row("security.containerd-cve", "current", engine("containerd", "2.2.1"), "pass"),
    Row("security.containerd-cve", "old", engine("containerd", "1.7.28"), "fail", "CVE-2024-25621"),
    Row("security.containerd-cve", "branch", engine("containerd", "2.3.4"), "fail", "CVE-2026-53495"),
    Row("security.containerd-cve", "branch-mended", engine("containerd", "2.3.5"), "pass"),
    Row("security.containerd-cve", "debian", engine("containerd", "1.6.20~ds1"), "info"),
    Row(
        "security.containerd-cve",
        "k3s-beside-a-good-one",
        make_snapshot(
            engines=(make_engine(engine="containerd", version="2.2.1"), bundled("1.7.23-k3s2")), packages=None
        ),
        "fail",
        "/var/lib/rancher/k3s/containerd",
    ),
    Row("security.containerd-cve", "none", make_snapshot(engines=()), "skip"),
    Row("security.containerd-cve", "closed", make_snapshot(engines=DENIED), "unknown"),
]


@pytest.mark.parametrize("row", params(ROWS))
def test_check_says(row: Row) -> None:
    assert_row(SECURITY_CHECKS, row)


def test_every_check_has_rows() -> None:
    assert {row.check for row in ROWS} == {check.id for check in SECURITY_CHECKS}


def names(snapshot: Snapshot) -> str:
    (outcome,) = outcomes_of(SECURITY_CHECKS, "security.toolkit-cve", snapshot)
    return " ".join(row.value for row in outcome.evidence)


def test_a_weakness_counts_where_the_set_up_opens_it() -> None:
    everything = config(version="1.16.1")
    assert "CVE-2024-0132" in names(everything)
    assert "CVE-2024-0132" not in names(config(make_value(MODE, "cdi"), version="1.16.1"))
    assert "CVE-2024-0136" not in names(everything)
    assert "CVE-2024-0136" in names(config(make_value(ALLOW, True), version="1.16.1"))
    assert "CVE-2025-23266" not in names(everything)
    assert "CVE-2025-23266" in names(config(make_value(MODE, "cdi"), version="1.16.1"))
    assert "CVE-2025-23266" not in names(config(make_value(NO_HOOK, True), version="1.17.7"))


@pytest.mark.parametrize(
    ("snapshot", "check", "commands"),
    [
        (
            engine("docker", "28.5.2", Package("docker-ce", "5:28.5.2-1~debian.12~bookworm")),
            "security.docker-cve",
            ["apt-get install --only-upgrade docker-ce"],
        ),
        (
            runc("1.2.5", Package("containerd.io", "1-1")),
            "security.runc-cve",
            ["apt-get install --only-upgrade containerd.io"],
        ),
        (
            make_snapshot(engines=(bundled("1.7.23-k3s2"),), packages=make_packages(Package("containerd.io", "1-1"))),
            "security.containerd-cve",
            None,
        ),
        (config(version="1.17.7"), "security.toolkit-cve", ["apt-get install --only-upgrade nvidia-container-toolkit"]),
    ],
    ids=["docker", "runc-by-docker", "k3s", "toolkit"],
)
def test_the_package_that_brings_it_is_updated(snapshot: Snapshot, check: str, commands: list[str] | None) -> None:
    (outcome,) = outcomes_of(SECURITY_CHECKS, check, snapshot)
    assert outcome.status == "fail"
    found = None if outcome.remedy is None else [entry.text for entry in outcome.remedy.commands]
    assert found == commands


def test_a_driver_is_updated_within_its_branch() -> None:
    (outcome,) = outcomes_of(SECURITY_CHECKS, "security.driver-cve", driver("535.104.05"))
    assert outcome.remedy is not None
    assert "'nvidia-*-535*'" in outcome.remedy.commands[0].text
    assert outcome.remedy.commands[-1].reboots
