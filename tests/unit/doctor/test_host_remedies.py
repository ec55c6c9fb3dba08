"""What the doctor tells people to run is for that host, and the commands of ctk among it mend what they are for."""

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from ctk.cli import root
from ctk.doctor.checks import ALL_CHECKS
from ctk.doctor.model import FAIL, WARN, Command, Finding
from ctk.doctor.report import Report, judge
from ctk.doctor.run import select_checks
from tests.fake_host import build_host, snapshot_of_host
from tests.memory_host import snapshot_in_memory
from tests.unit.doctor.test_checks import own_commands

MENDED = (
    ("containerd-cdi-off", "runtime.containerd.cdi[containerd]"),
    ("containerd-default-dangling", "runtime.containerd.default[containerd]"),
    ("containerd-drop-in-not-imported", "runtime.containerd.imports[containerd]"),
    ("containerd-without-runtime", "runtime.containerd.registered[containerd]"),
    ("crio-monitor-gone", "runtime.crio.config[crio]"),
    ("docker-without-runtime", "runtime.docker.registered[docker]"),
    ("docker-other-file", "runtime.docker.registered[docker]"),
    ("driver-root-left-over", "toolkit.root"),
    ("no-cgroups-left-on", "toolkit.no-cgroups"),
    ("operator-gone", "toolkit.multiple-installs[docker]"),
    ("toolkit-ldconfig-gone", "toolkit.ldconfig"),
    ("toolkit-setting-misplaced", "toolkit.config-unknown-keys"),
    ("toolkit-user-unknown", "toolkit.user"),
)
PENDING = "restart-needed"  # the daemon of a host of files cannot be started anew


def broken(report: Report) -> dict[str, Finding]:
    return {finding.key: finding for finding in report.findings if finding.status in (FAIL, WARN)}


@pytest.mark.long
@pytest.mark.parametrize(("name", "key"), MENDED, ids=[name for name, _ in MENDED])
def test_the_command_mends_the_fault_and_makes_no_other(name: str, key: str, tmp_path: Path) -> None:
    host, rows = build_host(name, tmp_path / "host")
    before = broken(judge(snapshot_of_host(host, rows), select_checks(ALL_CHECKS), ALL_CHECKS))
    remedy = before[key].remedy
    assert remedy is not None
    for words in (words for command in remedy.commands for words in own_commands(command.text)):
        result = CliRunner().invoke(
            root, ["--root", str(tmp_path / "host"), *words], env={"CTK_STATE_DIR": str(tmp_path / "state")}
        )
        assert result.exit_code == 0, (words, result.output)
    after = broken(judge(snapshot_of_host(host, rows), select_checks(ALL_CHECKS), ALL_CHECKS))
    assert key not in after
    assert {found for found in after if PENDING not in found} <= set(before)


def shown(name: str, folder: Path) -> list[Command]:
    snapshot = snapshot_in_memory(name, folder)
    report = judge(snapshot, select_checks(ALL_CHECKS, profile="all"), ALL_CHECKS)
    remedies = [finding.remedy for finding in broken(report).values()]
    return [command for remedy in remedies if remedy is not None for command in remedy.commands]


@pytest.mark.parametrize(
    ("name", "managers"),
    [
        ("el9-two-faults", {"dnf"}),
        ("ubuntu-kernel-without-modules", {"apt-get"}),
        ("libraries-not-installed", {"apt-get"}),
    ],
)
def test_packages_are_those_of_the_distribution(name: str, managers: set[str], tmp_path: Path) -> None:
    programs = {shlex.split(command.text, comments=True)[0] for command in shown(name, tmp_path)}
    assert programs & {"apt-get", "dnf", "zypper", "pacman", "ubuntu-drivers"} == managers


@pytest.mark.parametrize("name", ["docker-default-missing", "crio-default-missing"])
def test_a_default_that_is_not_ours_is_not_registered_by_ctk(name: str, tmp_path: Path) -> None:
    assert not any("ctk runtime configure" in command.text for command in shown(name, tmp_path))


def test_a_dockerd_that_hangs_may_still_have_containers(tmp_path: Path) -> None:
    (restart,) = [item for item in shown("docker-answers-nobody", tmp_path) if item.text == "systemctl restart docker"]
    assert restart.stops_containers


def test_a_runtime_that_moved_needs_no_restart_of_docker(tmp_path: Path) -> None:
    texts = [command.text for command in shown("operator-gone", tmp_path)]
    assert "systemctl reload docker" in texts
    assert "systemctl restart docker" not in texts


def test_the_kubelets_cgroup_driver_is_written_into_the_engines_file(tmp_path: Path) -> None:
    texts = [command.text for command in shown("cgroup-drivers-differ", tmp_path)]
    start = texts.index("systemctl restart containerd")
    assert texts[start : start + 2] == ["systemctl restart containerd", "systemctl restart kubelet"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("two-drivers-in-cache", "sed -i '\\|^/opt/old-driver/*$|d' /etc/ld.so.conf.d/000-old.conf"),
        ("gsp-stuck", "systemctl poweroff"),
        ("gsp-stuck", "nvidia-smi --gpu-reset -i 0000:3b:00.0"),
        ("driver-updated", "systemctl start nvidia-persistenced"),
        ("dkms-no-headers", "modprobe nvidia"),
        ("secure-boot-unsigned", "dkms install --force nvidia/$(modinfo -F version nvidia) # signs it"),
        ("module-denied", "systemctl reboot"),
        ("el9-two-faults", "dnf upgrade 'kmod-nvidia*'"),
        ("row-remap-failed", "nvidia-bug-report.sh"),
    ],
)
def test_the_last_step_is_named_too(name: str, text: str, tmp_path: Path) -> None:
    assert text in [command.text for command in shown(name, tmp_path)]


def test_a_processor_that_answers_again_needs_no_reset(tmp_path: Path) -> None:
    assert not any("--gpu-reset" in command.text for command in shown("xid-reset", tmp_path))


def test_where_there_is_no_dkms_nothing_is_built_with_it(tmp_path: Path) -> None:
    assert not any(command.text.startswith("dkms") for command in shown("el9-two-faults", tmp_path / "a"))
    assert not any(
        command.text.startswith("dkms") for command in shown("ubuntu-kernel-without-modules", tmp_path / "b")
    )
