"""The host's files and programs: what is read, what is refused, and that every child ends in time."""

import os
import socket
import time
from pathlib import Path

import pytest

from ctk.host import LocalHost
from ctk.host.local import OUTPUT_LIMIT_BYTES, child_environment
from tests.conftest import AsNobody
from tests.unit.host.trees import Link, plant


def test_absolute_links_lead_to_files_below_the_root(tmp_path: Path) -> None:
    host = plant(tmp_path, {"/srv/real": "text", "/etc/alias": Link("/srv/real"), "/etc/up": Link("../../srv")})
    assert host.read_text("/etc/alias") == "text"
    assert host.read_bytes("/etc/up/real") == b"text"
    assert host.real_path("/etc/alias") == f"{tmp_path}/srv/real"
    assert host.readlink("/etc/alias") == "/srv/real"
    assert host.is_link("/etc/alias")
    assert not host.is_link("/srv/real")


def test_root_itself_may_be_reached_through_a_link(tmp_path: Path) -> None:
    plant(tmp_path / "real", {"/etc/os-release": "ID=x\n"})
    (tmp_path / "link").symlink_to("real")
    assert LocalHost(str(tmp_path / "link")).real_path("/etc/os-release") == f"{tmp_path}/real/etc/os-release"


def test_writer_gets_the_place_of_a_file_that_is_not_there(tmp_path: Path) -> None:
    host = plant(tmp_path, {"/data/.keep": "", "/etc/docker": Link("/data")})
    assert host.real_path("/etc/docker/daemon.json") == f"{tmp_path}/data/daemon.json"


def test_kinds_of_paths_are_told_apart(tmp_path: Path) -> None:
    host = plant(tmp_path, {"/a/file": "x", "/a/dangling": Link("nowhere")})
    assert host.exists("/a/file")
    assert host.is_file("/a/file")
    assert not host.is_directory("/a/file")
    assert host.is_directory("/a")
    assert not host.exists("/a/dangling")
    assert host.is_link("/a/dangling")
    assert not host.exists("/a/file/below")
    assert not host.is_link("/none/x")
    assert host.stat("/a/file").st_size == 1


def test_missing_file_and_folder_raise_as_the_system_does(tmp_path: Path) -> None:
    host = plant(tmp_path, {"/folder/file": ""})
    with pytest.raises(FileNotFoundError):
        host.read_text("/none")
    with pytest.raises(IsADirectoryError):
        host.read_text("/folder")
    with pytest.raises(FileNotFoundError):
        host.list_directory("/none")


@pytest.mark.real
def test_pipes_sockets_and_devices_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        host = LocalHost(str(tmp_path))
        for name in ("/pipe", "/socket"):
            with pytest.raises(OSError, match="not a regular file"):
                host.read_bytes(name)
    with pytest.raises(OSError, match="not a regular file"):
        LocalHost("/").read_bytes("/dev/zero")


@pytest.mark.real
def test_head_of_a_kernel_file(tmp_path: Path) -> None:
    assert LocalHost("/").read_head("/proc/self/comm", 3) == Path("/proc/self/comm").read_bytes()[:3]
    assert plant(tmp_path, {"/proc/1/comm": "systemd\n"}).read_head("/proc/1/comm", 3) == b"sys"
    os.mkfifo(tmp_path / "proc/1/pipe")
    with pytest.raises(OSError, match="not a regular file"):
        LocalHost(str(tmp_path)).read_head("/proc/1/pipe")


def test_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    host = plant(tmp_path, {"/log": "x" * 1000})
    assert len(host.read_bytes("/log", 1000)) == 1000
    with pytest.raises(OSError, match="larger than 999 bytes"):
        host.read_bytes("/log", 999)


def test_bytes_that_are_no_text_come_back_unharmed(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"a\xff\xfe")
    text = LocalHost(str(tmp_path)).read_text("/file")
    assert text.encode("utf-8", "surrogateescape") == b"a\xff\xfe"


def test_permission_denied_is_not_the_same_as_missing(tmp_path: Path, as_nobody: AsNobody) -> None:
    host = plant(tmp_path, {"/closed/file": "x", "/secret": "x"})
    (tmp_path / "closed").chmod(0)
    (tmp_path / "secret").chmod(0)

    def look() -> None:
        assert host.exists("/secret")
        for question in (host.exists, host.is_file, host.is_directory, host.stat, host.real_path):
            with pytest.raises(PermissionError):
                question("/closed/file")
        with pytest.raises(PermissionError):
            host.read_text("/secret")
        with pytest.raises(PermissionError):
            host.glob("/closed/*")

    try:
        as_nobody(look)
    finally:
        (tmp_path / "closed").chmod(0o755)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("/conf.d/*.toml", ["/conf.d/.hidden.toml", "/conf.d/10-a.toml", "/conf.d/9-b.toml"]),
        ("/conf.d/*", ["/conf.d/.hidden.toml", "/conf.d/10-a.toml", "/conf.d/9-b.toml", "/conf.d/x.conf"]),
        ("/*/10-?.toml", ["/conf.d/10-a.toml", "/link/10-a.toml"]),
        ("/conf.d/[^1.]*", ["/conf.d/9-b.toml", "/conf.d/x.conf"]),
        ("/conf.d/x.conf", ["/conf.d/x.conf"]),
        ("/conf.d/none", []),
        ("/none/*.toml", []),
        ("/conf.d/x.conf/*", []),
        ("/gone*", ["/gone"]),
    ],
)
def test_glob_follows_the_rules_of_go(tmp_path: Path, pattern: str, expected: list[str]) -> None:
    names = ("10-a.toml", "9-b.toml", ".hidden.toml", "x.conf")
    host = plant(tmp_path, {**{f"/conf.d/{name}": "" for name in names}, "/link": Link("/conf.d"), "/gone": Link("no")})
    assert list(host.glob(pattern)) == expected


def test_folder_is_listed_in_byte_order(tmp_path: Path) -> None:
    host = plant(tmp_path, {"/b": "", "/B": "", "/a": "", "/é": "", "/_": ""})
    assert host.list_directory("/") == ("B", "_", "a", "b", "é")


def test_no_program_of_another_root_is_run(tmp_path: Path) -> None:
    output = LocalHost(str(tmp_path)).run(["/bin/echo", "hi"])
    assert (output.returncode, output.stdout, output.reason) == (None, "", "not run: --root")


def test_other_roots_are_not_live(tmp_path: Path) -> None:
    assert not LocalHost(str(tmp_path)).is_live
    assert LocalHost("/").is_live


def test_relative_path_below_a_root_starts_at_the_root(tmp_path: Path) -> None:
    host = plant(tmp_path, {"/etc/file": "x"})
    assert host.read_text("etc/file") == "x"


def test_child_gets_the_system_folders_and_a_fixed_language() -> None:
    environment = child_environment({"PATH": "/opt/bin:/usr/bin", "LANGUAGE": "de", "LC_ALL": "de_DE", "HOME": "/h"})
    assert environment["PATH"] == "/opt/bin:/usr/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin:/bin"
    assert environment["LC_ALL"] == "C.UTF-8"
    assert environment["HOME"] == "/h"
    assert "LANGUAGE" not in environment


@pytest.mark.real
def test_program_answers_with_both_streams_and_its_code() -> None:
    output = LocalHost().run(["sh", "-c", "echo out; echo err >&2; cat; exit 3"])
    assert (output.returncode, output.stdout, output.stderr, output.reason) == (3, "out\n", "err\n", "")


@pytest.mark.real
@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (["/no/such/program"], "no such program"),
        (["/etc/passwd"], "permission denied"),
        (["/etc"], "permission denied"),
    ],
)
def test_program_that_cannot_start_is_a_reason(argv: list[str], reason: str) -> None:
    output = LocalHost().run(argv)
    assert (output.returncode, output.reason) == (None, reason)


@pytest.mark.real
@pytest.mark.parametrize("script", ["sleep 60", "sleep 60 & wait", "exec >&- 2>&-; sleep 60", "trap '' TERM; sleep 60"])
def test_sleeping_program_is_ended_at_the_deadline(script: str) -> None:
    begin = time.monotonic()
    output = LocalHost(timeout_seconds=0.3).run(["sh", "-c", script])
    assert (output.returncode, output.reason) == (None, "no answer within 0.3 s")
    assert time.monotonic() - begin < 3


@pytest.mark.long
@pytest.mark.real
def test_whole_group_is_gone_after_the_deadline(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    LocalHost().run(["sh", "-c", f"sleep 60 & echo $! > {mark}; wait"], 0.5)
    pid = int(mark.read_text())
    for _ in range(100):
        if not Path(f"/proc/{pid}/cmdline").exists() or not Path(f"/proc/{pid}/cmdline").read_bytes():
            break  # gone, or a zombie that its new parent has not yet reaped
        time.sleep(0.02)
    else:
        pytest.fail("the grandchild still runs")


@pytest.mark.long
@pytest.mark.real
def test_answer_counts_although_a_child_of_the_program_keeps_the_pipe() -> None:
    output = LocalHost().run(["sh", "-c", "sleep 60 & echo answer"], 0.5)
    assert (output.returncode, output.stdout, output.reason) == (0, "answer\n", "")


@pytest.mark.real
def test_endless_output_is_cut_off() -> None:
    begin = time.monotonic()
    output = LocalHost().run(["yes"], 30.0)
    assert time.monotonic() - begin < 10
    assert output.returncode is None
    assert output.reason == f"printed more than {OUTPUT_LIMIT_BYTES} bytes"
