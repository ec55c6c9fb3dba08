"""The checks of the installed toolkit: one row for each status they can give."""

import dataclasses

import pytest

from ctk.doctor.checks.toolkit_rows import TOOLKIT_CHECKS
from ctk.facts import Unknown
from ctk.facts.engines import EngineFiles, EngineRuntime
from ctk.facts.kernel_log import KernelLog, LogLine
from ctk.facts.packages import CHANGED, MISSING, Package, PackageFile
from ctk.facts.pci import Pci
from ctk.facts.snapshot import Snapshot
from ctk.facts.toolkit_mode import SpecKind
from ctk.facts.toolkit_setup import OPERATOR
from tests.builders import make_engine, make_snapshot, make_system, make_tool
from tests.driver_builders import FIRST, make_function, make_pci
from tests.nvml_builders import make_nvml, make_nvml_gpu
from tests.toolkit_builders import (
    PROGRAMS,
    make_config,
    make_copy,
    make_hook,
    make_mode,
    make_packages,
    make_refresh,
    make_toolkit_setup,
    make_tools,
    make_value,
    no_tools,
)
from tests.unit.doctor.tables import Row, assert_row, outcomes_of, params

DENIED = Unknown("permission denied")
NOT_RUN = Unknown("not run: --root")
GONE = make_snapshot(toolkit=no_tools())
CLOSED = make_snapshot(toolkit=DENIED)
OPERATORS = "/usr/local/nvidia/toolkit"
SPEC = SpecKind("/etc/cdi/nvidia.yaml", "nvidia.com/gpu")
WITH_SPEC = make_config(mode=make_mode(specs=(SPEC,)))
HALF = (Package("libnvidia-container1", "1.17.8-1"), Package("nvidia-container-toolkit", "1.18.1-1"))
OLD_HALF = (Package("libnvidia-container1", "1.16.0-1"), Package("nvidia-container-toolkit", "1.17.4-1"))
PODMAN = make_engine(engine="podman", installation="system", binary="/usr/bin/podman")


def files(runtime: EngineRuntime, default: str | None = None, *, cdi: bool | None = None) -> EngineFiles:
    return EngineFiles((runtime,), default, cdi)


NVIDIA = EngineRuntime("nvidia", "/usr/bin/nvidia-container-runtime", "/etc/docker/daemon.json")
LOST = EngineRuntime(
    "nvidia", f"{OPERATORS}/nvidia-container-runtime", "/etc/containerd/config.toml", "it is not there"
)
CDI_DOCKER = make_engine(files=files(NVIDIA, cdi=True))


def setup(**changes: object) -> Snapshot:
    return make_snapshot(toolkit_setup=make_toolkit_setup(**changes))


def versions(version: object, **changes: object) -> Snapshot:
    return make_snapshot(**{"toolkit": make_tools(version), "packages": None, **changes})


def packages(*listed: Package, **changes: object) -> Snapshot:
    return make_snapshot(packages=make_packages(*listed, **changes))


def refresh(**changes: object) -> Snapshot:
    return make_snapshot(engines=(CDI_DOCKER,), toolkit_setup=make_toolkit_setup(refresh=(make_refresh(**changes),)))


def log(seconds: float) -> KernelLog:
    text = "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05"
    return KernelLog(source="/dev/kmsg", reaches_boot=True, lines=(LogLine(text, 1, seconds, seconds),))


ROWS = [
    Row("toolkit.installed", "all", make_snapshot(), "pass", "1.20.0"),
    Row("toolkit.installed", "base-alone", make_snapshot(toolkit=(make_tool(),)), "info", "without the hook"),
    Row("toolkit.installed", "ctk-runtime", make_snapshot(toolkit=(make_tool(name="ctk-container-runtime"),)), "pass"),
    Row("toolkit.installed", "none", GONE, "fail", "(docker)"),
    Row("toolkit.installed", "ctk-alone", make_snapshot(toolkit=(*no_tools(), make_tool(name="ctk"))), "fail"),
    Row(
        "toolkit.installed",
        "spec-alone",
        dataclasses.replace(GONE, toolkit_setup=make_toolkit_setup(WITH_SPEC)),
        "info",
        "a CDI spec is there",
    ),
    Row(
        "toolkit.installed",
        "specs-closed",
        dataclasses.replace(GONE, toolkit_setup=make_toolkit_setup(make_config(mode=DENIED))),
        "unknown",
    ),
    Row("toolkit.installed", "setup-closed", dataclasses.replace(GONE, toolkit_setup=DENIED), "unknown"),
    Row("toolkit.installed", "no-engine", dataclasses.replace(GONE, engines=()), "skip"),
    Row("toolkit.installed", "engines-closed", dataclasses.replace(GONE, engines=DENIED), "unknown"),
    Row("toolkit.installed", "no-gpu", dataclasses.replace(GONE, pci=Pci()), "skip", "no NVIDIA GPU"),
    Row(
        "toolkit.installed",
        "for-virtual-machines",
        dataclasses.replace(GONE, pci=make_pci(make_function(FIRST, driver="vfio-pci"))),
        "skip",
        "virtual machines",
    ),
    Row("toolkit.installed", "no-bus", dataclasses.replace(GONE, pci=DENIED), "unknown"),
    Row("toolkit.installed", "wsl", dataclasses.replace(GONE, system=make_system(wsl=2)), "skip"),
    Row("toolkit.installed", "jetson", dataclasses.replace(GONE, system=make_system(jetson=True), pci=None), "fail"),
    Row("toolkit.installed", "closed", CLOSED, "unknown"),
    Row("toolkit.installed", "folder-closed", make_snapshot(toolkit=make_tools(path=DENIED)), "unknown"),
    Row("toolkit.binaries", "good", make_snapshot(), "pass", "5 programs"),
    Row("toolkit.binaries", "no-bit", make_snapshot(toolkit=make_tools(executable=False)), "fail", "not executable"),
    Row("toolkit.binaries", "arm", make_snapshot(toolkit=make_tools(machine="aarch64")), "fail", "it is for aarch64"),
    Row("toolkit.binaries", "noexec", setup(copies=(make_copy(no_exec=True),)), "fail", "mounted noexec"),
    Row("toolkit.binaries", "32-bit", make_snapshot(toolkit=make_tools(machine="i386")), "pass"),
    Row("toolkit.binaries", "scripts", make_snapshot(toolkit=make_tools(machine=None)), "pass"),
    Row("toolkit.binaries", "not-read", make_snapshot(toolkit=make_tools(machine=DENIED)), "unknown"),
    Row(
        "toolkit.binaries",
        "runtime-alone",
        make_snapshot(toolkit=(make_tool(),), packages=None),
        "warn",
        "nvidia-cdi-hook",
    ),
    Row("toolkit.binaries", "none", GONE, "skip"),
    Row("toolkit.binaries", "closed", CLOSED, "unknown"),
    Row("toolkit.package-integrity", "whole", make_snapshot(), "pass"),
    Row(
        "toolkit.package-integrity",
        "hook-gone",
        packages(faults=(PackageFile("nvidia-container-toolkit", "/usr/bin/x", MISSING),)),
        "fail",
        "/usr/bin/x of the package nvidia-container-toolkit is missing",
    ),
    Row(
        "toolkit.package-integrity",
        "rpm-changed",
        packages(
            manager="rpm",
            faults=(
                PackageFile("nvidia-container-toolkit", "/usr/bin/x", CHANGED),
                PackageFile("nvidia-container-toolkit", "/usr/bin/y", MISSING),
            ),
        ),
        "fail",
        "changed, and 1 more",
    ),
    Row("toolkit.package-integrity", "lists-closed", packages(faults=DENIED), "unknown"),
    Row("toolkit.package-integrity", "no-manager", make_snapshot(packages=None), "skip"),
    Row("toolkit.package-integrity", "not-asked", make_snapshot(packages=NOT_RUN), "unknown"),
    Row("toolkit.package-integrity", "by-hand", packages(Package("runc", "1.1.5-1")), "skip", "not installed from"),
    Row("toolkit.package-integrity", "none", GONE, "skip"),
    Row("toolkit.version-skew", "equal", make_snapshot(), "pass", "1.20.0"),
    Row("toolkit.version-skew", "half", packages(*HALF), "fail", "half updated"),
    Row("toolkit.version-skew", "half-rpm", packages(*HALF, manager="rpm"), "fail", "libnvidia-container1 1.17.8"),
    Row("toolkit.version-skew", "old-half", packages(*OLD_HALF), "warn", "different versions"),
    Row("toolkit.version-skew", "programs", versions("1.18.1"), "pass", "1.18.1"),
    Row(
        "toolkit.version-skew",
        "programs-differ",
        make_snapshot(toolkit=(*make_tools("1.18.1")[:3], *make_tools("1.17.0")[4:]), packages=None),
        "fail",
        "nvidia-container-cli 1.17.0",
    ),
    Row(
        "toolkit.version-skew",
        "copies-differ",
        setup(copies=(make_copy(version="1.20.0"), make_copy(kind=OPERATOR, folder=OPERATORS, version="1.17.8"))),
        "warn",
        "copies",
    ),
    Row("toolkit.version-skew", "not-run", versions(NOT_RUN), "unknown", "--root"),
    Row("toolkit.version-skew", "no-version", versions(None), "unknown"),
    Row("toolkit.version-skew", "none", GONE, "skip"),
    Row("toolkit.legacy-packages", "none", make_snapshot(), "pass"),
    Row(
        "toolkit.legacy-packages",
        "docker2",
        packages(Package("nvidia-docker2", "2.13.0-1"), Package("nvidia-container-toolkit", "1.17.8-1")),
        "warn",
        "nvidia-docker2",
    ),
    Row("toolkit.legacy-packages", "runtime", packages(Package("nvidia-container-runtime", "3.5.0-1")), "fail"),
    Row(
        "toolkit.legacy-packages",
        "empty-successor",
        packages(Package("nvidia-container-runtime", "3.14.0-1"), Package("nvidia-container-toolkit", "1.14.0-1")),
        "warn",
    ),
    Row("toolkit.legacy-packages", "no-manager", make_snapshot(packages=None), "skip"),
    Row("toolkit.legacy-packages", "not-asked", make_snapshot(packages=NOT_RUN), "unknown"),
    Row("toolkit.known-bad", "good", make_snapshot(), "pass"),
    Row("toolkit.known-bad", "not-here", versions("1.17.4"), "info", "error 222"),
    Row(
        "toolkit.known-bad",
        "default-runtime",
        versions("1.18.1", engines=(make_engine(files=files(NVIDIA, "nvidia")),)),
        "warn",
        "mended in 1.18.2",
    ),
    Row(
        "toolkit.known-bad", "arm", versions("1.17.6", system=make_system(architecture="aarch64")), "warn", "64-bit Arm"
    ),
    Row(
        "toolkit.known-bad",
        "mig",
        versions("1.19.0", nvml=make_nvml(make_nvml_gpu(FIRST, 0, mig_current=True))),
        "warn",
        "MIG",
    ),
    Row(
        "toolkit.known-bad",
        "containerd-2",
        versions("1.17.3", engines=(make_engine(engine="containerd", version="2.0.1"),)),
        "warn",
        "containerd 2",
    ),
    Row("toolkit.known-bad", "not-run", versions(NOT_RUN), "unknown"),
    Row("toolkit.known-bad", "none", GONE, "skip"),
    Row("toolkit.unknown-oci-fields", "same", setup(newest_bundle="1.3.0"), "pass", "1.3.0"),
    Row("toolkit.unknown-oci-fields", "newer", setup(newest_bundle="1.4.0+dev"), "warn", "1.4.0"),
    Row("toolkit.unknown-oci-fields", "lenient", versions("1.18.2"), "pass"),
    Row(
        "toolkit.unknown-oci-fields",
        "allowed",
        setup(config=make_config(make_value("features.allow-unknown-oci-spec-fields", True)), newest_bundle="1.4.0"),
        "pass",
        "is told",
    ),
    Row("toolkit.unknown-oci-fields", "no-container", make_snapshot(), "skip"),
    Row(
        "toolkit.unknown-oci-fields",
        "toolkit-newer-than-the-table",
        versions("1.31.0", toolkit_setup=make_toolkit_setup(newest_bundle="1.9.0")),
        "skip",
    ),
    Row("toolkit.unknown-oci-fields", "bundles-closed", setup(newest_bundle=DENIED), "unknown"),
    Row("toolkit.unknown-oci-fields", "not-run", versions(NOT_RUN), "unknown"),
    Row("toolkit.oci-hook-duplicate", "none", make_snapshot(), "pass"),
    Row("toolkit.oci-hook-duplicate", "docker-alone", setup(hooks=(make_hook(),)), "info"),
    Row(
        "toolkit.oci-hook-duplicate",
        "podman",
        make_snapshot(engines=(PODMAN,), toolkit_setup=make_toolkit_setup(hooks=(make_hook(),))),
        "warn",
        "of the old kind for Podman",
    ),
    Row(
        "toolkit.oci-hook-duplicate",
        "crio-and-runtime",
        make_snapshot(
            engines=(make_engine(engine="crio", files=files(NVIDIA, "crun")),),
            toolkit_setup=make_toolkit_setup(hooks=(make_hook(),)),
        ),
        "warn",
        "in addition to the runtime nvidia",
    ),
    Row(
        "toolkit.oci-hook-duplicate",
        "podman-and-spec",
        make_snapshot(engines=(PODMAN,), toolkit_setup=make_toolkit_setup(WITH_SPEC, hooks=(make_hook(),))),
        "fail",
        "in addition to the CDI spec",
    ),
    Row(
        "toolkit.oci-hook-duplicate",
        "crio-default",
        make_snapshot(
            engines=(make_engine(engine="crio", files=files(NVIDIA, "nvidia")),),
            toolkit_setup=make_toolkit_setup(hooks=(make_hook(),)),
        ),
        "fail",
        "the default runtime nvidia",
    ),
    Row(
        "toolkit.oci-hook-duplicate",
        "program-gone",
        make_snapshot(
            engines=(PODMAN,), toolkit_setup=make_toolkit_setup(hooks=(make_hook(program_fault="x does not exist"),))
        ),
        "fail",
        "x does not exist",
    ),
    Row("toolkit.oci-hook-duplicate", "folders-closed", setup(hooks=DENIED), "unknown"),
    Row("toolkit.oci-hook-duplicate", "setup-closed", make_snapshot(toolkit_setup=DENIED), "unknown"),
    Row(
        "toolkit.oci-hook-duplicate",
        "engines-closed",
        make_snapshot(engines=DENIED, toolkit_setup=make_toolkit_setup(hooks=(make_hook(),))),
        "unknown",
    ),
    Row("toolkit.multiple-installs", "one", make_snapshot(), "pass"),
    Row(
        "toolkit.multiple-installs",
        "two",
        setup(copies=(make_copy(), make_copy(kind=OPERATOR, folder=OPERATORS))),
        "warn",
        f"/usr/bin and {OPERATORS}",
    ),
    Row(
        "toolkit.multiple-installs",
        "operator-gone",
        make_snapshot(engines=(make_engine(engine="containerd", unit="containerd.service", files=files(LOST)),)),
        "fail",
        "which is gone",
    ),
    Row("toolkit.multiple-installs", "copies-closed", setup(copies=DENIED), "unknown"),
    Row("toolkit.multiple-installs", "engines-closed", make_snapshot(engines=DENIED), "unknown"),
    Row("toolkit.multiple-installs", "none", GONE, "skip"),
    Row("toolkit.cdi-refresh-enabled", "on", refresh(), "pass"),
    Row("toolkit.cdi-refresh-enabled", "own", refresh(owner="ctk"), "pass"),
    Row("toolkit.cdi-refresh-enabled", "off", refresh(path_enabled=False), "warn", "is not enabled"),
    Row("toolkit.cdi-refresh-enabled", "masked", refresh(masked=True), "warn", "is masked"),
    Row("toolkit.cdi-refresh-enabled", "links-closed", refresh(path_enabled=DENIED), "unknown"),
    Row("toolkit.cdi-refresh-enabled", "no-units", make_snapshot(engines=(CDI_DOCKER,)), "warn"),
    Row("toolkit.cdi-refresh-enabled", "old-release", versions("1.17.8", engines=(CDI_DOCKER,)), "skip", "has no such"),
    Row("toolkit.cdi-refresh-enabled", "by-hand", versions("1.20.0", engines=(CDI_DOCKER,)), "skip"),
    Row("toolkit.cdi-refresh-enabled", "no-cdi", setup(refresh=(make_refresh(path_enabled=False),)), "skip"),
    Row("toolkit.cdi-refresh-enabled", "units-closed", setup(refresh=DENIED), "unknown"),
    Row("toolkit.cdi-refresh-enabled", "none", GONE, "skip"),
    Row("toolkit.cdi-refresh-result", "good", refresh(), "pass"),
    Row("toolkit.cdi-refresh-result", "failed", refresh(result="exit-code", exit_status=1), "fail", "exit status 1"),
    Row("toolkit.cdi-refresh-result", "timeout", refresh(result="timeout", exit_status=None), "fail"),
    Row("toolkit.cdi-refresh-result", "condition", refresh(condition=False), "warn", "did nothing"),
    Row("toolkit.cdi-refresh-result", "no-module", refresh(result="exec-condition"), "warn", "modules.dep"),
    Row(
        "toolkit.cdi-refresh-result",
        "before-the-driver",
        dataclasses.replace(refresh(ended_seconds=12.0), kernel_log=log(44.0)),
        "warn",
        "before the driver",
    ),
    Row("toolkit.cdi-refresh-result", "after-the-driver", dataclasses.replace(refresh(), kernel_log=log(4.0)), "pass"),
    Row("toolkit.cdi-refresh-result", "no-gpu", dataclasses.replace(refresh(result="exit-code"), pci=Pci()), "skip"),
    Row("toolkit.cdi-refresh-result", "never", refresh(result=None), "skip"),
    Row("toolkit.cdi-refresh-result", "not-asked", refresh(result=NOT_RUN), "unknown"),
    Row("toolkit.cdi-refresh-result", "no-service", setup(refresh=(make_refresh(service=None),)), "skip"),
    Row("toolkit.cdi-refresh-result", "units-closed", setup(refresh=DENIED), "unknown"),
    Row("toolkit.cdi-refresh-result", "none", GONE, "skip"),
]


@pytest.mark.parametrize("row", params(ROWS))
def test_check_says(row: Row) -> None:
    assert_row(TOOLKIT_CHECKS, row)


def test_every_check_has_rows() -> None:
    assert {row.check for row in ROWS} == {check.id for check in TOOLKIT_CHECKS}


@pytest.mark.parametrize(
    ("distribution", "like", "again", "update"),
    [
        ("debian", (), "apt-get install --reinstall {}", "apt-get install --only-upgrade {}"),
        ("linuxmint", ("ubuntu",), "apt-get install --reinstall {}", "apt-get install --only-upgrade {}"),
        ("rocky", ("rhel", "centos", "fedora"), "dnf reinstall {}", "dnf upgrade {}"),
        ("opensuse-leap", ("suse", "opensuse"), "zypper install --force {}", "zypper update {}"),
        ("arch", (), "pacman -S {}", "pacman -Syu"),
    ],
)
def test_commands_are_those_of_the_distribution(
    distribution: str, like: tuple[str, ...], again: str, update: str
) -> None:
    system = make_system(distribution=distribution, distribution_like=like)
    name = "nvidia-container-toolkit"
    fault = PackageFile(name, f"/usr/bin/{PROGRAMS[1]}", MISSING)
    broken = make_snapshot(system=system, packages=make_packages(faults=(fault,)))
    (outcome,) = outcomes_of(TOOLKIT_CHECKS, "toolkit.package-integrity", broken)
    assert outcome.remedy is not None
    assert [entry.text for entry in outcome.remedy.commands] == [again.format(name)]
    old = versions("1.17.6", system=dataclasses.replace(system, architecture="aarch64"))
    (outcome,) = outcomes_of(TOOLKIT_CHECKS, "toolkit.known-bad", old)
    assert outcome.remedy is not None
    assert [entry.text for entry in outcome.remedy.commands] == [update.format(name)]


def test_half_an_update_is_completed_to_the_newest_version() -> None:
    (outcome,) = outcomes_of(TOOLKIT_CHECKS, "toolkit.version-skew", packages(*HALF))
    assert outcome.remedy is not None
    (command,) = outcome.remedy.commands
    assert command.text.split()[2:4] == ["nvidia-container-toolkit=1.18.1-1", "nvidia-container-toolkit-base=1.18.1-1"]
