"""Daemons are recognised in /proc, with their start and their user; containers' processes are not the host's."""

import os
import subprocess
from pathlib import Path

import pytest

from ctk.facts import Unknown
from ctk.host import LocalHost
from ctk.host.processes import (
    Process,
    collect_processes,
    parse_boot_time,
    parse_command_line,
    parse_start_ticks,
    parse_user,
)
from tests.conftest import AsNobody
from tests.unit.host.trees import Link, make_process, plant, proc_files

ID = "0123456789abcdef" * 4
STAT = {"/proc/stat": "cpu 1 2\nbtime 1714550400\n"}


def collect(tmp_path: Path, *parts: dict[str, str]) -> tuple[Process, ...]:
    found = collect_processes(plant(tmp_path, {key: text for part in parts for key, text in part.items()}), ["dockerd"])
    assert isinstance(found, tuple)
    return found


def test_daemon_is_found_with_all_that_is_known_of_it(tmp_path: Path) -> None:
    found = collect(
        tmp_path,
        STAT,
        proc_files(7, "/usr/bin/dockerd", "--config-file", "/a b.json", cgroup="0::/system.slice/docker.service\n"),
        {"/proc/7/exe": Link("/usr/bin/dockerd (deleted)"), "/proc/7/cwd": Link("/srv")},
        proc_files(8, "/usr/bin/dockerd-like"),
        proc_files(9, "bash", "dockerd"),
    )
    assert found == (
        make_process(
            "/usr/bin/dockerd",
            "--config-file",
            "/a b.json",
            pid=7,
            executable="/usr/bin/dockerd",
            started="2024-05-01T08:00:01Z",
            cgroup="0::/system.slice/docker.service\n",
            working_directory="/srv",
        ),
    )
    assert found[0].is_in_unit(("x.service", "docker.service"))
    assert not found[0].is_in_unit(("ocker.service",))


def test_oldest_process_comes_first(tmp_path: Path) -> None:
    found = collect(tmp_path, STAT, proc_files(10, "dockerd", "b"), proc_files(9, "dockerd", "a"))
    assert [process.pid for process in found] == [9, 10]


@pytest.mark.parametrize(
    ("first", "other", "is_ours"),
    [
        ("0::/init.scope\n", f"0::/system.slice/docker-{ID}.scope\n", False),
        ("0::/init.scope\n", f"0::/kubepods.slice/cri-containerd-{ID}.scope/system.slice/docker.service\n", False),
        ("0::/\n", "0::/lxc/box/system.slice/docker.service\n", False),
        ("0::/\n", "1:name=systemd:/lxc.payload.box/docker.service\n", False),
        (f"0::/docker/{ID}\n", f"0::/docker/{ID}\n", True),
        (f"0::/docker/{ID}\n", f"0::/docker/{ID}/docker/{ID[::-1]}\n", False),
        ("0::/\n", "0::/user.slice/user-1000.slice\n", True),
    ],
)
def test_process_of_a_container_is_left_out(tmp_path: Path, first: str, other: str, is_ours: bool) -> None:
    found = collect(tmp_path, STAT, proc_files(1, "init", cgroup=first), proc_files(5, "dockerd", cgroup=other))
    assert bool(found) is is_ours


def test_kernel_threads_zombies_and_vanished_processes_are_passed_over(tmp_path: Path) -> None:
    kernel_thread = {"/proc/3/comm": "dockerd\n", "/proc/3/cmdline": ""}
    assert collect(tmp_path, STAT, kernel_thread, {"/proc/4/comm": "dockerd\n", "/proc/x/comm": "dockerd\n"}) == ()


def test_start_that_cannot_be_told_is_unknown(tmp_path: Path) -> None:
    assert collect(tmp_path, proc_files(5, "dockerd"))[0].started == Unknown("no start time in /proc")


@pytest.mark.parametrize(("files", "reason"), [({"/etc/x": ""}, "no /proc"), (STAT, "no processes in /proc")])
def test_host_without_processes_is_unknown(tmp_path: Path, files: dict[str, str], reason: str) -> None:
    assert collect_processes(plant(tmp_path, files), ["dockerd"]) == Unknown(reason)


def test_closed_proc_is_unknown(tmp_path: Path, as_nobody: AsNobody) -> None:
    host = plant(tmp_path, STAT)
    (tmp_path / "proc").chmod(0)
    try:
        assert as_nobody(collect_processes, host, ["dockerd"]) == Unknown("permission denied")
    finally:
        (tmp_path / "proc").chmod(0o755)


@pytest.mark.real
def test_running_program_is_found_on_the_live_host() -> None:
    with subprocess.Popen(["cat", "-u"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(b"x")
        child.stdout.read(1)  # its answer: it has its own name by now
        found = collect_processes(LocalHost(), ["cat"])
        child.stdin.close()
    assert isinstance(found, tuple)
    mine = [process for process in found if process.pid == child.pid]
    assert [process.argv for process in mine] == [("cat", "-u")]
    assert mine[0].user == os.getuid()
    assert mine[0].sees_our_files
    assert isinstance(mine[0].started, str)
    assert mine[0].started.startswith("20")


@pytest.mark.parametrize(
    ("text", "argv"),
    [
        ("a\0b c\0\0", ("a", "b c")),
        ("/usr/local/bin/k3s server\0\0\0", ("/usr/local/bin/k3s", "server")),
        ("nginx: master process", ("nginx:", "master", "process")),
        ("one\0", ("one",)),
        ("a\0\0b\0", ("a", "", "b")),
    ],
)
def test_command_line_is_split(text: str, argv: tuple[str, ...]) -> None:
    assert parse_command_line(text) == argv


@pytest.mark.parametrize(
    ("text", "ticks"),
    [
        ("5 (a) b) (c) S 1 " + "0 " * 17 + "777 0", 777),
        ("5 (dockerd) S 1 2", None),
        ("", None),
        ("5 (x) S 1 " + "0 " * 17 + "no", None),
    ],
)
def test_start_ticks_are_behind_a_name_with_anything_in_it(text: str, ticks: int | None) -> None:
    assert parse_start_ticks(text) == ticks


def test_boot_time_and_user() -> None:
    assert parse_boot_time("cpu 1\nbtime 99\n") == 99
    assert parse_boot_time("btimes 99\nbtime x\n") is None
    assert parse_user("Name:\tx\nUid:\t1000\t0\t0\t0\n") == 1000
    assert parse_user("Uid:\n") == 0
