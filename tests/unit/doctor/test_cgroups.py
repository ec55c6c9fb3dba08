"""The checks of control groups: one row for each status they can give."""

from typing import Any

import pytest

from ctk.doctor.checks.cgroup_rows import CGROUP_CHECKS
from ctk.doctor.model import SKIP
from ctk.facts import Unknown
from ctk.facts.cgroups import HYBRID, V1, ContainerScope, ManagerReload
from ctk.facts.nvml import GpuProcess, Nvml
from ctk.facts.pci import Pci
from ctk.facts.platform import Platform
from ctk.facts.snapshot import Snapshot
from tests.builders import make_kubelet, make_system
from tests.driver_builders import make_device_nodes, make_driver, make_kernel, make_modules
from tests.engine_builders import (
    docker_host,
    make_cgroups,
    make_containerd,
    make_containerd_files,
    make_crio,
    make_daemon,
    make_docker,
    make_entry,
    no_runtimes,
    pod_host,
)
from tests.nvml_builders import make_nvml, make_nvml_gpu
from tests.toolkit_builders import make_config, make_toolkit_setup, make_tools, make_value, no_tools
from tests.unit.doctor.tables import Row, assert_row, outcomes_of, params

DENIED = Unknown("permission denied")
MODE = "nvidia-container-runtime.mode"
NO_CGROUPS, LOAD_KMODS = "nvidia-container-cli.no-cgroups", "nvidia-container-cli.load-kmods"
LEGACY = make_toolkit_setup(make_config(make_value(MODE, "legacy")))
ALONE = make_toolkit_setup(make_config(make_value(NO_CGROUPS, True), make_value(LOAD_KMODS, False)))
OLD_TOOLS = make_tools("1.7.0")
NO_HOOK = tuple(tool for tool in make_tools() if not tool.name.endswith("runtime-hook"))
MAPPED = Platform(maps_users=True)
NOTHING: dict[str, Any] = {
    "pci": Pci(),
    "driver": make_driver(version=None, libraries=(), firmware=(), traces=()),
    "modules": make_modules(loaded=(), files=()),
    "toolkit": no_tools(),
}
CLOSED_NODES: Any = make_device_nodes(links=None)
STARTED, LATER, EARLIER = "2024-05-01T09:00:00Z", "2024-05-02T05:30:00Z", "2024-05-01T08:30:00Z"
SCOPE = ContainerScope("docker-4f1c.scope", "4f1c" * 16, STARTED, (5001, 5002))
OTHER_SCOPE = ContainerScope("docker-9a07.scope", "9a07" * 16, STARTED, (7001,))
APT = ManagerReload(LATER, "PID 4532 ('systemctl') (unit apt-daily-upgrade.service)")
USED = make_nvml(make_nvml_gpu(processes=(GpuProcess(5002, "compute", None),)))


def groups(**changes: Any) -> Snapshot:
    return docker_host(cgroups=make_cgroups(**changes))


def kernel(**changes: Any) -> Snapshot:
    """Another root: the kernel cannot be asked, its configuration is a file."""
    return docker_host(cgroups=make_cgroups(device_programs=None), kernel=make_kernel(**changes))


def mapped(**changes: Any) -> Snapshot:
    return docker_host(platform=MAPPED, system=make_system(container="lxc"), **changes)


def kubelet(driver: object, item: Any = None, **changes: Any) -> Snapshot:
    return pod_host(item, kubelet=make_kubelet(cgroup_driver=driver), **changes)


def plain(**changes: Any) -> Any:
    """containerd that manages the groups itself."""
    entries = (make_entry("runc", systemd_cgroup=False), make_entry(systemd_cgroup=False))
    return make_containerd(files=make_containerd_files(*entries), **changes)


def at_risk(
    *scopes: ContainerScope, reloads: Any = (), nvml: Nvml | Unknown = USED, setup: Any = LEGACY, **changes: Any
) -> Snapshot:
    """The hook adds devices, and no link leads to them."""
    cgroups = make_cgroups(scopes=scopes, reloads=reloads)
    given: dict[str, Any] = {"cgroups": cgroups, "device_nodes": CLOSED_NODES, "nvml": nvml, "toolkit_setup": setup}
    return docker_host(**{**given, **changes})


ROWS = [
    # -- mode
    Row("cgroup.mode", "v2", groups(), "info", "version 2"),
    Row("cgroup.mode", "v1", groups(mode=V1), "info", "version 1"),
    Row("cgroup.mode", "hybrid", groups(mode=HYBRID), "info", "beside it"),
    Row("cgroup.mode", "none", groups(mode=None), "info", "no control groups"),
    Row("cgroup.mode", "hidden", groups(mode=DENIED), "unknown"),
    Row("cgroup.mode", "not-looked", docker_host(cgroups=DENIED), "unknown"),
    Row("cgroup.mode", "nothing-here", docker_host(**NOTHING), "skip"),
    # -- v2-bpf
    Row("cgroup.v2-bpf", "answers", groups(), "pass", "tells"),
    Row("cgroup.v2-bpf", "refused", groups(device_programs=False), "fail", "CGROUP_BPF"),
    Row("cgroup.v2-bpf", "closed", groups(device_programs=DENIED), "unknown"),
    Row("cgroup.v2-bpf", "by-config", kernel(), "pass", "built with"),
    Row("cgroup.v2-bpf", "not-built", kernel(options=()), "fail", "CGROUP_BPF"),
    Row("cgroup.v2-bpf", "no-config", kernel(config_path=None), "unknown", "not asked"),
    Row("cgroup.v2-bpf", "old-library", docker_host(toolkit=OLD_TOOLS), "fail", "1.7.0"),
    Row("cgroup.v2-bpf", "old-library-on-v1", docker_host(toolkit=OLD_TOOLS, cgroups=make_cgroups(mode=V1)), "skip"),
    Row("cgroup.v2-bpf", "v1", groups(mode=HYBRID), "skip"),
    Row("cgroup.v2-bpf", "hidden", groups(mode=DENIED), "unknown"),
    Row("cgroup.v2-bpf", "mapped", mapped(), "warn", "user namespace"),
    Row("cgroup.v2-bpf", "mapped-legacy", mapped(toolkit_setup=LEGACY), "fail", "do not start"),
    Row("cgroup.v2-bpf", "mapped-and-told", mapped(toolkit_setup=ALONE), "pass", "leaves device rules"),
    Row("cgroup.v2-bpf", "mapped-without-hook", mapped(toolkit=NO_HOOK), "pass", "tells"),
    # -- driver-agreement
    Row("cgroup.driver-agreement", "same", kubelet("systemd"), "pass", "systemd"),
    Row("cgroup.driver-agreement", "differ", kubelet("systemd", plain()), "fail", "engine's is cgroupfs", "containerd"),
    Row("cgroup.driver-agreement", "other-way", kubelet("cgroupfs"), "fail", "engine's is systemd"),
    Row("cgroup.driver-agreement", "both-themselves", kubelet("cgroupfs", plain()), "warn", "beside systemd"),
    Row("cgroup.driver-agreement", "on-v1", kubelet("cgroupfs", plain(), cgroups=make_cgroups(mode=V1)), "pass"),
    Row(
        "cgroup.driver-agreement",
        "docker",
        kubelet("systemd", make_docker(used_by=("kubelet",), daemon=make_daemon(cgroup_driver="cgroupfs"))),
        "fail",
        "",
        "docker",
    ),
    Row(
        "cgroup.driver-agreement",
        "docker-default",
        kubelet("systemd", make_docker(used_by=("kubelet",), daemon=DENIED)),
        "pass",
    ),
    Row(
        "cgroup.driver-agreement",
        "docker-unknown",
        kubelet("systemd", make_docker(used_by=("kubelet",), daemon=DENIED), cgroups=make_cgroups(mode=DENIED)),
        "unknown",
    ),
    Row("cgroup.driver-agreement", "crio", kubelet("systemd", make_crio()), "pass"),
    Row(
        "cgroup.driver-agreement", "crio-default", kubelet("systemd", make_crio(files=no_runtimes())), "pass", "systemd"
    ),
    Row("cgroup.driver-agreement", "unsaid", kubelet(None), "info", "do not say"),
    Row("cgroup.driver-agreement", "k3s", kubelet(None, make_containerd(used_by=("k3s",))), "skip", "distribution"),
    Row(
        "cgroup.driver-agreement",
        "k3s-unsaid",
        kubelet(
            "systemd", make_containerd(used_by=("k3s",), files=make_containerd_files(make_entry(systemd_cgroup=None)))
        ),
        "skip",
    ),
    Row("cgroup.driver-agreement", "kubelet-closed", kubelet(DENIED), "unknown"),
    Row("cgroup.driver-agreement", "kubelet-hidden", pod_host(kubelet=DENIED), "unknown"),
    Row("cgroup.driver-agreement", "engines-hidden", pod_host(engines=DENIED), "unknown"),
    Row("cgroup.driver-agreement", "files-closed", kubelet("systemd", make_containerd(files=DENIED)), "unknown"),
    Row(
        "cgroup.driver-agreement",
        "dangling",
        kubelet("systemd", make_containerd(files=make_containerd_files(dangling_default="x"))),
        "unknown",
    ),
    Row("cgroup.driver-agreement", "no-kubelet", docker_host(), "skip"),
    Row("cgroup.driver-agreement", "no-engine", pod_host(make_containerd(used_by=())), "skip"),
    # -- daemon-reload-risk
    Row("cgroup.daemon-reload-risk", "by-name", docker_host(toolkit=NO_HOOK), "pass", "by name"),
    Row("cgroup.daemon-reload-risk", "links", docker_host(toolkit_setup=LEGACY), "pass", "by their links"),
    Row("cgroup.daemon-reload-risk", "containers", at_risk(SCOPE, OTHER_SCOPE), "warn", "1 running containers"),
    Row("cgroup.daemon-reload-risk", "dockers-gpus", at_risk(SCOPE, setup=make_toolkit_setup()), "warn"),
    Row("cgroup.daemon-reload-risk", "nobody-uses-one", at_risk(OTHER_SCOPE), "info", "none that uses one"),
    Row("cgroup.daemon-reload-risk", "scopes-hidden", at_risk(cgroups=make_cgroups(scopes=DENIED)), "unknown"),
    Row("cgroup.daemon-reload-risk", "not-looked", at_risk(cgroups=make_cgroups()), "unknown"),
    Row("cgroup.daemon-reload-risk", "nvml-silent", at_risk(SCOPE, nvml=DENIED), "unknown"),
    Row("cgroup.daemon-reload-risk", "nodes-hidden", docker_host(device_nodes=DENIED), "unknown"),
    Row(
        "cgroup.daemon-reload-risk",
        "mode-hidden",
        docker_host(toolkit=NO_HOOK, toolkit_setup=make_toolkit_setup(make_config(mode=DENIED))),
        "unknown",
    ),
    Row("cgroup.daemon-reload-risk", "no-systemd", groups(systemd_version=None), "skip"),
    Row("cgroup.daemon-reload-risk", "nothing-here", docker_host(**NOTHING), "skip"),
    # -- reload-happened
    Row("cgroup.reload-happened", "no-risk", docker_host(), "skip"),
    Row("cgroup.reload-happened", "none", at_risk(SCOPE), "pass"),
    Row("cgroup.reload-happened", "before", at_risk(SCOPE, reloads=(ManagerReload(EARLIER, ""),)), "pass"),
    Row("cgroup.reload-happened", "after", at_risk(SCOPE, reloads=(APT,)), "fail", "apt-daily-upgrade"),
    Row("cgroup.reload-happened", "after-other", at_risk(OTHER_SCOPE, reloads=(APT,)), "pass"),
    Row("cgroup.reload-happened", "journal-closed", at_risk(SCOPE, reloads=DENIED), "unknown"),
    Row("cgroup.reload-happened", "not-asked", at_risk(SCOPE, reloads=None), "unknown"),
    Row("cgroup.reload-happened", "nvml-silent", at_risk(SCOPE, nvml=DENIED, reloads=(APT,)), "unknown"),
    Row("cgroup.reload-happened", "no-systemd", groups(systemd_version=None), "skip"),
]


@pytest.mark.parametrize("row", params(ROWS))
def test_check_says(row: Row) -> None:
    assert_row(CGROUP_CHECKS, row)


def test_every_check_has_rows() -> None:
    assert {row.check for row in ROWS} == {check.id for check in CGROUP_CHECKS}


def test_the_first_reload_that_hit_a_container_is_told() -> None:
    second = ManagerReload("2024-05-02T06:00:00Z", "")
    (found,) = outcomes_of(CGROUP_CHECKS, "cgroup.reload-happened", at_risk(SCOPE, reloads=(APT, second)))
    assert LATER in found.message
    assert [one.value for one in found.evidence[1:]] == [f"container {SCOPE.container[:12]}, started {STARTED}"]


def test_inside_a_user_namespace_both_settings_are_named() -> None:
    (found,) = outcomes_of(CGROUP_CHECKS, "cgroup.v2-bpf", mapped(toolkit_setup=LEGACY))
    assert found.remedy is not None
    (command,) = found.remedy.commands
    assert command.text == f"ctk config set {NO_CGROUPS}=true {LOAD_KMODS}=false"


def test_a_healthy_host_has_nothing_but_facts() -> None:
    found = [outcome for check in CGROUP_CHECKS for outcome in outcomes_of(CGROUP_CHECKS, check.id, docker_host())]
    assert {outcome.status for outcome in found} <= {"pass", "info", SKIP}
