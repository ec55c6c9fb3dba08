"""Faults that people reported with engines, toolkit, device nodes and libraries: a whole host each, by its number."""

from pathlib import Path
from typing import NamedTuple

import pytest

from ctk.doctor.checks import ALL_CHECKS
from ctk.doctor.model import FAIL, INFO, PASS, SKIP, WARN, Finding
from ctk.doctor.report import NOT_APPLICABLE, Report, judge
from ctk.doctor.run import select_checks
from tests.memory_host import snapshot_in_memory

pytestmark = pytest.mark.long

CHECKS = select_checks(ALL_CHECKS)


class Case(NamedTuple):
    """What a host must be told: the finding's status, and words in its message, evidence or remedy."""

    number: str
    host: str
    check: str
    status: str
    words: tuple[str, ...]


CASES = (
    Case(
        "f08",
        "docker-flag-and-file",
        "runtime.docker.flag-conflict",
        FAIL,
        ("--host", "/usr/lib/systemd/system/docker.service", "/etc/docker/daemon.json"),
    ),
    Case("f10-pending", "docker-restart-pending", "runtime.docker.restart-needed", FAIL, ("pending", "restart docker")),
    Case(
        "f10-other-file",
        "docker-other-file",
        "runtime.docker.registered",
        FAIL,
        ("/srv/docker/daemon.json", "/etc/docker/daemon.json", "does not read"),
    ),
    Case("f19", "docker-desktop-context", "runtime.docker.desktop", WARN, ("virtual machine", "daemon.json")),
    Case("f28", "containerd-drop-in-not-imported", "runtime.containerd.imports", FAIL, ("no import", "99-nvidia.toml")),
    Case("f37", "microk8s-edit-undone", "runtime.containerd.config-parse", WARN, ("written anew from", "template")),
    Case("f40", "containerd-default-gone", "runtime.containerd.binary", FAIL, ("does not exist", "it is the default")),
    Case("f42", "containerd-default-dangling", "runtime.containerd.default", FAIL, ("'runc'", "no such runtime")),
    Case(
        "f48", "crio-folder-not-read", "runtime.crio.config", WARN, ("/etc/crio/conf.d", "/etc/crio/crio.conf.d only")
    ),
    Case("f51", "crio-monitor-gone", "runtime.crio.config", FAIL, ("monitor_path", "/usr/libexec/crio/conmon does")),
    Case("f60", "toolkit-ldconfig-gone", "toolkit.ldconfig", FAIL, ("/sbin/ldconfig.real", "/sbin/ldconfig does")),
    Case("f62-left-over", "driver-root-left-over", "toolkit.root", FAIL, ("/run/nvidia/driver", "config unset")),
    Case("f62-not-named", "driver-container-not-named", "toolkit.root", FAIL, ("root=/run/nvidia/driver",)),
    Case("f84", "old-hook-beside-cdi", "toolkit.oci-hook-duplicate", FAIL, ("in addition to the CDI spec", "is there")),
    Case("f84-gone", "old-hook-without-program", "toolkit.oci-hook-duplicate", FAIL, ("does not exist",)),
    Case("f92", "shared-kubernetes-node", "security.envvar-unprivileged", WARN, ("NVIDIA_VISIBLE_DEVICES", "=false")),
    Case("f97", "toolkit-folder-open", "security.config-writable", FAIL, ("0777", "chmod go-w")),
    Case(
        "f113-node-missing",
        "uvm-nodes-missing",
        "device.uvm-nodes",
        FAIL,
        ("/dev/nvidia-uvm", "508 nvidia-uvm", "at boot"),
    ),
    Case("f113-not-loaded", "uvm-not-loaded", "driver.uvm-loaded", FAIL, ("modprobe nvidia-uvm", "every boot")),
    Case("f116", "modeset-node-missing", "device.modeset-node", INFO, ("display",)),
    Case("f118", "nodes-for-a-group", "device.permissions", WARN, ("0660", "44", "keep-groups")),
    Case("f118-caller", "nodes-for-a-user-outside", "device.permissions", WARN, ("caller is not among them",)),
    Case("f119", "char-links-missing", "device.char-symlinks", WARN, ("/dev/char/195:0", "508:1", "at boot")),
    Case(
        "f121", "docker-without-hook", "runtime.docker.gpus-flag", FAIL, ("nvidia-container-runtime-hook", "/usr/bin")
    ),
    Case("f123", "docker-29-without-spec", "runtime.docker.gpus-flag", FAIL, ("no CDI spec", "ctk cdi generate")),
    Case(
        "f126",
        "containerd-without-runtime",
        "runtime.containerd.registered",
        FAIL,
        ("/etc/containerd/config.toml", "containerd.runtimes.nvidia", "ctk runtime configure"),
    ),
    Case("f127-a", "driver-not-installed", "driver.installed", FAIL, ("no NVIDIA driver is installed",)),
    Case("f127-b", "libraries-not-installed", "lib.core", FAIL, ("module is loaded", "not installed")),
    Case("f127-b-32", "libraries-32-bit-only", "lib.core", FAIL, ("not installed", "32-bit")),
    Case("f127-c", "library-not-in-cache", "lib.core", FAIL, ("cache does not know it", "ldconfig")),
    Case("f127-d", "driver-container-not-named", "toolkit.root", FAIL, ("in a container's root",)),
    Case("f129", "compat-on-the-host", "lib.compat-on-host-path", FAIL, ("GeForce", "does not support", "compat")),
    Case("f130", "old-library-on-v2", "cgroup.v2-bpf", FAIL, ("1.7.0", "version 2", "toolkit")),
    Case("f132", "docker-rootless-legacy", "toolkit.no-cgroups", FAIL, ("no-cgroups = false", "rootless")),
    Case("f140", "mig-nodes-missing", "device.mig-caps", FAIL, ("gi1/access", "nvidia-cap12", "2 of 4")),
)


def report_of(host: str, folder: Path) -> Report:
    return judge(snapshot_in_memory(host, folder), CHECKS, ALL_CHECKS)


def words_of(found: Finding) -> str:
    """All that is said of it."""
    remedy = found.remedy
    told = [remedy.summary, *(command.text for command in remedy.commands)] if remedy else []
    return "\n".join([found.outcome.message, *(text for item in found.outcome.evidence for text in item), *told])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.number)
def test_the_fault_is_named_with_what_people_need_to_know(case: Case, tmp_path: Path) -> None:
    report = report_of(case.host, tmp_path)
    found = [item for item in report.findings if item.check.id == case.check and item.status == case.status]
    assert found, [
        (item.key, item.status, item.outcome.message) for item in report.findings if item.check.id == case.check
    ]
    text = words_of(found[0])
    assert [part for part in case.words if part not in text] == [], text


def test_f11_every_daemon_is_judged_by_itself(tmp_path: Path) -> None:
    report = report_of("docker-rootless-legacy", tmp_path)
    subjects = {item.outcome.subject for item in report.findings if item.check.id == "runtime.docker.config-parse"}
    assert any("rootless" in subject for subject in subjects)


def test_f32_of_two_containerds_only_the_one_that_serves_pods_needs_the_runtime(tmp_path: Path) -> None:
    report = report_of("two-containerds", tmp_path)
    by_subject = {
        item.outcome.subject: item.status
        for item in report.findings
        if item.check.id == "runtime.containerd.registered"
    }
    assert sorted(by_subject.values()) == [PASS, SKIP] or sorted(by_subject.values()) == [INFO, PASS]
    assert report.exit_code(strict=True) == 0


def test_f121_a_host_without_a_gpu_is_told_no_such_thing(tmp_path: Path) -> None:
    report = report_of("cpu-only-docker", tmp_path)
    assert report.verdict == NOT_APPLICABLE
    assert {item.status for item in report.findings if item.check.id == "runtime.docker.gpus-flag"} <= {SKIP, INFO}


def test_f124_a_docker_that_serves_gpus_by_cdi_alone_is_healthy(tmp_path: Path) -> None:
    report = report_of("docker-cdi-only", tmp_path)
    assert report.exit_code(strict=True) == 0
    statuses = {item.status for item in report.findings if item.check.id == "runtime.docker.registered"}
    assert statuses == {INFO}
