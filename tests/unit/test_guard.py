"""The suite's own safety: what an unmarked test tries beyond its folder is refused and cannot be swallowed."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import AsNobody
from tests.guard import GUARD, ForbiddenInTests

OUTSIDE = "/var/tmp/ctk-guard-must-not-exist"


def attempt(action: Callable[[], object]) -> str:
    """What the guard said; forgotten at once, so that this test may pass."""
    with pytest.raises(ForbiddenInTests) as caught:
        action()
    GUARD.violations.clear()
    return str(caught.value)


@pytest.mark.parametrize(
    "action",
    [
        pytest.param(lambda: subprocess.run(["/bin/true"], check=True), id="subprocess"),
        pytest.param(lambda: os.system("true"), id="system"),
        pytest.param(os.fork, id="fork"),
        pytest.param(lambda: os.posix_spawn("/bin/true", ["true"], {}), id="posix_spawn"),
        pytest.param(lambda: os.execv("/bin/true", ["true"]), id="exec"),
    ],
)
def test_starting_a_process_is_refused(action: Callable[[], object]) -> None:
    assert "started a process" in attempt(action)


@pytest.mark.parametrize(
    "action",
    [
        pytest.param(lambda: socket.socket(socket.AF_UNIX), id="unix"),
        pytest.param(lambda: socket.create_connection(("127.0.0.1", 9)), id="tcp"),
        pytest.param(lambda: socket.getaddrinfo("localhost", 80), id="name"),
    ],
)
def test_opening_a_socket_is_refused(action: Callable[[], object]) -> None:
    assert "opened a socket" in attempt(action)


def _open_by_folder_descriptor() -> None:
    folder = os.open("/var/tmp", os.O_RDONLY)
    try:
        os.open("ctk-guard-must-not-exist", os.O_WRONLY | os.O_CREAT, dir_fd=folder)
    finally:
        os.close(folder)


@pytest.mark.parametrize(
    "action",
    [
        pytest.param(lambda: Path(OUTSIDE).write_text("x"), id="write"),
        pytest.param(lambda: os.open(OUTSIDE, os.O_RDWR | os.O_CREAT), id="os.open"),
        pytest.param(_open_by_folder_descriptor, id="dir_fd"),
        pytest.param(lambda: os.mkdir(OUTSIDE), id="mkdir"),
        pytest.param(lambda: os.symlink("/x", OUTSIDE), id="symlink"),
        pytest.param(lambda: os.remove(OUTSIDE), id="remove"),
        pytest.param(lambda: os.rmdir(OUTSIDE), id="rmdir"),
        pytest.param(lambda: os.chmod(OUTSIDE, 0o600), id="chmod"),
        pytest.param(lambda: os.chown(OUTSIDE, 0, 0), id="chown"),
        pytest.param(lambda: os.utime(OUTSIDE), id="utime"),
        pytest.param(lambda: os.truncate(OUTSIDE, 0), id="truncate"),
        pytest.param(lambda: os.setxattr(OUTSIDE, "user.x", b"x"), id="setxattr"),
        pytest.param(lambda: shutil.copyfile(__file__, OUTSIDE), id="shutil"),
    ],
)
def test_writing_outside_tmp_path_is_refused(action: Callable[[], object]) -> None:
    assert "wrote outside tmp_path" in attempt(action)
    assert not os.path.lexists(OUTSIDE)


def test_moving_a_file_out_of_tmp_path_is_refused(tmp_path: Path) -> None:
    inside = tmp_path / "file"
    inside.write_text("x")
    assert "wrote outside tmp_path" in attempt(lambda: inside.rename(OUTSIDE))
    assert inside.read_text() == "x"


def test_a_link_out_of_tmp_path_is_no_way_around(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/var/tmp")
    assert "wrote outside tmp_path" in attempt(lambda: (tmp_path / "link" / "ctk-guard-must-not-exist").write_text("x"))


def test_writing_below_tmp_path_is_allowed_by_every_way(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    os.close(os.open("by-folder", os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=folder))
    os.rename("by-folder", "renamed", src_dir_fd=folder, dst_dir_fd=folder)
    os.close(folder)
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "file").write_text("x")
    shutil.rmtree(tmp_path / "new")
    assert [path.name for path in tmp_path.iterdir()] == ["renamed"]


SWALLOWING = """
import subprocess
import pytest

def test_swallowed():
    try:
        subprocess.run(["true"])
    except BaseException:
        pass

@pytest.mark.real
def test_marked_may():
    assert subprocess.run(["true"]).returncode == 0
"""


@pytest.mark.real
def test_a_swallowed_violation_still_fails_its_test(tmp_path: Path) -> None:
    checkout = Path(__file__).parents[2]
    (tmp_path / "tests").mkdir()
    for name in ("conftest.py", "guard.py"):
        shutil.copy(checkout / "tests" / name, tmp_path / "tests")
    shutil.copy(checkout / "pyproject.toml", tmp_path)
    (tmp_path / "tests" / "test_sample.py").write_text(SWALLOWING)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={tmp_path}/base"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 1, run.stdout + run.stderr
    assert "1 failed, 1 passed" in run.stdout
    assert "a test started a process" in run.stdout


def test_as_nobody_cannot_read_what_only_the_owner_may(tmp_path: Path, as_nobody: AsNobody) -> None:
    secret = tmp_path / "secret"
    secret.write_text("x")
    secret.chmod(0o000)
    with pytest.raises(PermissionError):
        as_nobody(secret.read_text)


def test_as_nobody_reads_what_all_may_and_gives_back_the_caller(tmp_path: Path, as_nobody: AsNobody) -> None:
    readable = tmp_path / "readable"
    readable.write_text("x")
    readable.chmod(0o644)
    caller = (os.geteuid(), os.getegid(), os.getgroups())
    assert as_nobody(readable.read_text) == "x"
    assert (os.geteuid(), os.getegid(), os.getgroups()) == caller
