"""The checks of containerd: one row for each status they can give."""

from typing import Any

import pytest

from ctk.doctor.checks.containerd_rows import CONTAINERD_CHECKS
from ctk.doctor.model import CRITICAL, FAIL, HIGH, PASS, SKIP
from ctk.facts import Unknown
from ctk.facts.cdi import Cdi
from ctk.facts.engines import GENERATED_ONLY, MAYBE_IMPORTED, NOT_IMPORTED, OTHER_PLUGIN, FileFault, UnreadRuntime
from ctk.facts.pci import Pci
from ctk.facts.snapshot import Snapshot
from tests.cdi_builders import make_cdi, make_cdi_file, make_gpu_spec
from tests.engine_builders import (
    AFTER,
    MAIN,
    make_containerd,
    make_containerd_files,
    make_entry,
    pod_host,
)
from tests.toolkit_builders import no_tools
from tests.unit.doctor.tables import Row, assert_row, outcomes_of, params

DENIED = Unknown("permission denied")
NOWHERE = Unknown("no processes in /proc")
DROP_IN = "/etc/containerd/conf.d/99-nvidia.toml"
BROKEN = FileFault(MAIN, "version must be an integer such as version = 2, not '2'", 1, 11)
TWO_VERSIONS = FileFault(DROP_IN, f"it is version 3, but {MAIN} is version 2", 1, 1)
GRPC = "io.containerd.grpc.v1.cri"
STRAY = UnreadRuntime("nvidia", DROP_IN, NOT_IMPORTED)
WRONG = UnreadRuntime("nvidia", MAIN, OTHER_PLUGIN, GRPC)
TEMPLATE = "/var/snap/microk8s/current/args/containerd-template.toml"
UNDONE = UnreadRuntime("nvidia", MAIN, GENERATED_ONLY, TEMPLATE)
RUNC = make_entry("runc")
PLUGIN_SPEC = make_cdi_file(
    make_gpu_spec(kind="k8s.device-plugin.nvidia.com/gpu"), "/var/run/cdi/k8s.device-plugin.nvidia.com-gpu.json"
)


def node(**changes: Any) -> Snapshot:
    return pod_host(make_containerd(**changes))


def files(*entries: Any, **changes: Any) -> Snapshot:
    return node(files=make_containerd_files(*entries, **changes))


def bare(cdi: Cdi | Unknown | None = None, *, version: str = "1.7.25", **changes: Any) -> Snapshot:
    """containerd was never told of the runtime; the rest of the host is like this."""
    given = {"cdi": cdi} if cdi is not None else {}
    return pod_host(make_containerd(files=make_containerd_files(RUNC), version=version), **given, **changes)


def alone(**changes: Any) -> Snapshot:
    """A containerd that serves only Docker."""
    return node(used_by=("docker",), **changes)


ROWS = [
    # -- running
    Row("runtime.containerd.running", "runs", node(), "pass"),
    Row("runtime.containerd.running", "stopped", node(running=False), "fail", "does not run", "containerd"),
    Row("runtime.containerd.running", "silent", node(listens=False), "fail", "nothing answers"),
    Row("runtime.containerd.running", "at-rest", node(running=False, enabled=False), "info"),
    Row("runtime.containerd.running", "k0s", node(running=False, unit="k0scontroller.service"), "info", "controller"),
    Row("runtime.containerd.running", "dockers-own", node(installation="docker", running=False), "skip", "dockerd"),
    Row("runtime.containerd.running", "hidden", node(running=NOWHERE), "unknown"),
    # -- config-parse
    Row("runtime.containerd.config-parse", "good", node(), "pass"),
    Row("runtime.containerd.config-parse", "broken", node(files=Unknown("x"), faults=(BROKEN,)), "fail", "integer"),
    Row("runtime.containerd.config-parse", "two-versions", node(faults=(TWO_VERSIONS,)), "fail", "version 3"),
    Row("runtime.containerd.config-parse", "undone", node(unread=(UNDONE,)), "warn", "written anew"),
    Row("runtime.containerd.config-parse", "closed", node(files=DENIED), "unknown"),
    # -- config-version
    Row("runtime.containerd.config-version", "fits", node(), "pass", "version 2"),
    Row("runtime.containerd.config-version", "empty", files(config_version=None), "pass", "defaults"),
    Row("runtime.containerd.config-version", "wrong-plugin", node(unread=(WRONG,)), "fail", GRPC, "containerd"),
    Row("runtime.containerd.config-version", "one", files(config_version=1), "warn", "containerd 2 no longer reads"),
    Row(
        "runtime.containerd.config-version",
        "one-for-docker",
        alone(files=make_containerd_files(RUNC, config_version=1)),
        "pass",
    ),
    Row("runtime.containerd.config-version", "closed", node(files=DENIED), "unknown"),
    # -- imports
    Row("runtime.containerd.imports", "none", node(), "skip", "no drop-in"),
    Row("runtime.containerd.imports", "imported", node(drop_ins=(DROP_IN,)), "pass"),
    Row(
        "runtime.containerd.imports",
        "stray",
        node(files=make_containerd_files(RUNC), unread=(STRAY,)),
        "fail",
        "no import of",
    ),
    Row("runtime.containerd.imports", "stray-copy", node(unread=(STRAY,)), "info", "registered elsewhere"),
    Row(
        "runtime.containerd.imports",
        "untyped",
        files(RUNC, make_entry(file=DROP_IN, kind=None)),
        "fail",
        "no runtime_type",
    ),
    Row("runtime.containerd.imports", "closed", node(files=DENIED), "unknown"),
    # -- registered
    Row("runtime.containerd.registered", "there", node(), "pass"),
    Row(
        "runtime.containerd.registered",
        "missing",
        bare(),
        "fail",
        "[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.nvidia]",
    ),
    Row(
        "runtime.containerd.registered",
        "maybe",
        node(files=make_containerd_files(RUNC), unread=(STRAY._replace(reason=MAYBE_IMPORTED),)),
        "unknown",
        "version",
    ),
    Row("runtime.containerd.registered", "cdi", bare(make_cdi(), version="2.1.4"), "info", "CDI serves"),
    Row("runtime.containerd.registered", "cdi-off", bare(make_cdi()), "fail"),
    Row("runtime.containerd.registered", "cdi-hidden", bare(DENIED, version="2.1.4"), "unknown"),
    Row("runtime.containerd.registered", "for-docker", alone(files=make_containerd_files(RUNC)), "skip", "no kubelet"),
    Row("runtime.containerd.registered", "no-toolkit", bare(toolkit=no_tools()), "skip", "no toolkit"),
    Row("runtime.containerd.registered", "no-gpu", bare(pci=Pci()), "skip", "no NVIDIA GPU"),
    Row("runtime.containerd.registered", "bus-hidden", bare(pci=DENIED), "unknown"),
    Row("runtime.containerd.registered", "closed", node(files=DENIED), "unknown"),
    # -- binary
    Row("runtime.containerd.binary", "there", node(), "pass"),
    Row(
        "runtime.containerd.binary",
        "gone",
        files(RUNC, make_entry(fault="/x does not exist")),
        "fail",
        "/x does not exist",
    ),
    Row(
        "runtime.containerd.binary",
        "gone-default",
        files(RUNC, make_entry(fault="/x"), default_runtime="nvidia"),
        "fail",
        "no new pod starts",
    ),
    Row("runtime.containerd.binary", "none", bare(), "skip"),
    Row("runtime.containerd.binary", "closed", node(files=DENIED), "unknown"),
    # -- default
    Row("runtime.containerd.default", "stock", node(), "info", "runc"),
    Row(
        "runtime.containerd.default",
        "dangling",
        files(dangling_default="crun", default_runtime="crun"),
        "fail",
        "'crun'",
    ),
    Row("runtime.containerd.default", "disabled", files(disabled_plugins=("cri",)), "skip"),
    Row("runtime.containerd.default", "closed", node(files=DENIED), "unknown"),
    # -- systemd-cgroup
    Row("runtime.containerd.systemd-cgroup", "same", node(), "pass", "true"),
    Row(
        "runtime.containerd.systemd-cgroup",
        "neither",
        files(make_entry("runc", systemd_cgroup=False), make_entry(systemd_cgroup=None)),
        "pass",
        "false",
    ),
    Row(
        "runtime.containerd.systemd-cgroup",
        "odd",
        files(RUNC, make_entry(systemd_cgroup=None)),
        "fail",
        "false for nvidia",
    ),
    Row("runtime.containerd.systemd-cgroup", "built-in-runc", files(make_entry()), "fail", "true for nvidia"),
    Row(
        "runtime.containerd.systemd-cgroup",
        "other-shim",
        files(RUNC, make_entry(kind="io.containerd.kata.v2", systemd_cgroup=None)),
        "skip",
    ),
    Row("runtime.containerd.systemd-cgroup", "dangling", files(make_entry(), dangling_default="runc"), "skip"),
    Row("runtime.containerd.systemd-cgroup", "for-docker", alone(), "skip"),
    Row("runtime.containerd.systemd-cgroup", "closed", node(files=DENIED), "unknown"),
    # -- restart-needed
    Row("runtime.containerd.restart-needed", "older", node(), "pass"),
    Row(
        "runtime.containerd.restart-needed",
        "newer",
        files(changed_at=AFTER, runtime_changed_at=AFTER),
        "fail",
        "not in force",
    ),
    Row("runtime.containerd.restart-needed", "other-file", files(changed_at=AFTER), "info", "was not"),
    Row("runtime.containerd.restart-needed", "no-start", node(running_since=DENIED), "unknown"),
    Row("runtime.containerd.restart-needed", "at-rest", node(running=False), "skip"),
    Row("runtime.containerd.restart-needed", "hidden", node(running=NOWHERE), "unknown"),
    Row("runtime.containerd.restart-needed", "closed", node(files=DENIED), "unknown"),
    # -- cdi
    Row("runtime.containerd.cdi", "on", files(cdi_enabled=True), "pass"),
    Row("runtime.containerd.cdi", "on-by-default", node(version="2.1.4"), "pass"),
    Row("runtime.containerd.cdi", "off", node(), "info"),
    Row(
        "runtime.containerd.cdi",
        "off-and-used",
        pod_host(cdi=make_cdi(PLUGIN_SPEC)),
        "fail",
        "without GPUs",
        "containerd",
    ),
    Row("runtime.containerd.cdi", "off-hidden", pod_host(cdi=DENIED), "unknown"),
    Row("runtime.containerd.cdi", "no-version", node(version=DENIED), "unknown", "version"),
    Row("runtime.containerd.cdi", "for-docker", alone(), "skip"),
    Row("runtime.containerd.cdi", "closed", node(files=DENIED), "unknown"),
    # -- cri-disabled
    Row("runtime.containerd.cri-disabled", "on", node(), "pass"),
    Row("runtime.containerd.cri-disabled", "off", files(disabled_plugins=("cri",)), "fail", "the kubelet uses"),
    Row(
        "runtime.containerd.cri-disabled",
        "in-vain",
        alone(files=make_containerd_files(disabled_plugins=("cri",))),
        "info",
        "no effect",
    ),
    Row(
        "runtime.containerd.cri-disabled",
        "for-docker",
        alone(files=make_containerd_files(RUNC, disabled_plugins=("cri",))),
        "skip",
    ),
    Row("runtime.containerd.cri-disabled", "nobody", alone(), "skip"),
    Row("runtime.containerd.cri-disabled", "closed", node(files=DENIED), "unknown"),
]


@pytest.mark.parametrize("row", params(ROWS))
def test_check_says(row: Row) -> None:
    assert_row(CONTAINERD_CHECKS, row)


def test_every_check_has_rows() -> None:
    assert {row.check for row in ROWS} == {check.id for check in CONTAINERD_CHECKS}


@pytest.mark.parametrize(
    ("check", "snapshot", "severity"),
    [
        ("runtime.containerd.binary", files(make_entry(fault="/x")), CRITICAL),
        ("runtime.containerd.default", files(dangling_default="crun"), CRITICAL),
        ("runtime.containerd.default", alone(files=make_containerd_files(dangling_default="crun")), HIGH),
    ],
)
def test_what_stops_every_pod_is_critical(check: str, snapshot: Snapshot, severity: str) -> None:
    assert [outcome.severity for outcome in outcomes_of(CONTAINERD_CHECKS, check, snapshot)] == [severity]


def test_a_default_that_is_gone_has_to_go_first() -> None:
    host = files(RUNC, make_entry(fault="/x"), default_runtime="nvidia")
    (found,) = outcomes_of(CONTAINERD_CHECKS, "runtime.containerd.binary", host)
    assert found.remedy is not None
    assert found.remedy.summary.startswith(f"Make runc the default in {MAIN} first")


@pytest.mark.parametrize(
    ("installation", "used_by", "command"),
    [
        ("k3s", ("k3s",), "systemctl restart k3s"),
        ("system", ("kubelet",), "ctk runtime configure --runtime=containerd"),
        ("microk8s", ("microk8s",), "ctk runtime configure --runtime=containerd --installation=microk8s"),
    ],
)
def test_remedy_fits_the_installation(installation: str, used_by: tuple[str, ...], command: str) -> None:
    item = make_containerd(
        installation=installation, used_by=used_by, unit=f"{installation}.service", files=make_containerd_files(RUNC)
    )
    (found,) = outcomes_of(CONTAINERD_CHECKS, "runtime.containerd.registered", pod_host(item))
    assert found.status == FAIL
    assert found.remedy is not None
    assert found.remedy.commands[0].text == command
    assert not any(one.stops_containers for one in found.remedy.commands)


def test_two_containerds_are_judged_each_by_its_use() -> None:
    """Docker's has no runtime and needs none; the kubelet's has one."""
    docker = make_containerd(used_by=("docker",), files=make_containerd_files(RUNC, disabled_plugins=("cri",)))
    k3s = make_containerd(installation="k3s", used_by=("k3s",))
    host = pod_host(engines=(docker, k3s))
    found = [outcome for check in CONTAINERD_CHECKS for outcome in outcomes_of(CONTAINERD_CHECKS, check.id, host)]
    assert {outcome.subject for outcome in found} == {"containerd", "containerd (k3s)"}
    assert {outcome.status for outcome in found} <= {PASS, "info", SKIP}


def test_blind_containerd_is_no_failure() -> None:
    item = make_containerd(files=DENIED, running=NOWHERE, enabled=DENIED, listens=DENIED, version=DENIED)
    host = pod_host(item)
    found = [outcome for check in CONTAINERD_CHECKS for outcome in outcomes_of(CONTAINERD_CHECKS, check.id, host)]
    assert not {outcome.status for outcome in found} & {FAIL, "warn", PASS}
