"""One run at a time, and a name for those who wait in vain."""

import fcntl
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ctk.change.lock import lock
from ctk.errors import BusyFault, WriteFault
from tests.unit.change import driver
from tests.unit.change.scene import OLD, Scene

CHECKOUT = Path(__file__).parents[3]


def start(scene: Scene, word: str, *options: str, **environment: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, str(driver.__file__), str(scene.state), str(scene.file), word, *options],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_inside(child: "subprocess.Popen[str]") -> None:
    assert child.stdout is not None
    assert child.stdout.readline() == "inside\n"


def test_the_lock_is_held_and_given_back(tmp_path: Path) -> None:
    with lock(str(tmp_path / "state"), "a"), pytest.raises(BusyFault), lock(str(tmp_path / "state"), "a", 0.1):
        pass
    with lock(str(tmp_path / "state"), "a", 0):
        pass


def test_two_keys_do_not_wait_for_each_other(tmp_path: Path) -> None:
    with lock(str(tmp_path), "a", 0), lock(str(tmp_path), "b", 0):
        pass


def test_the_holder_is_named_with_process_command_and_time(tmp_path: Path) -> None:
    command = ["ctk", "runtime", "configure", "--config=a b"]
    with (
        lock(str(tmp_path), "docker-system", command=command),
        pytest.raises(BusyFault) as caught,
        lock(str(tmp_path), "docker-system", 0.1),
    ):
        pass
    assert f"process {os.getpid()} (ctk runtime configure '--config=a b', since 20" in caught.value.message
    assert "(waited 0.1 s)" in caught.value.message
    assert "Nothing was changed." in caught.value.hint


def test_the_lock_file_is_private_under_any_umask(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        with lock(str(tmp_path / "state"), "a"):
            pass
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "state/locks/a.lock").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "state/locks").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700


def test_a_lock_file_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "locks").mkdir()
    (tmp_path / "victim").write_text("keep")
    (tmp_path / "locks/a.lock").symlink_to(tmp_path / "victim")
    with pytest.raises(WriteFault), lock(str(tmp_path), "a"):
        pass
    assert (tmp_path / "victim").read_text() == "keep"


def test_without_a_state_folder_the_fallback_folder_is_locked(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    with lock(str(tmp_path / "state"), "a", fallback_folder=str(tmp_path)):
        other = os.open(tmp_path, os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(other)
        with pytest.raises(BusyFault, match="another run holds its lock"):
            lock(str(tmp_path / "state"), "a", 0, fallback_folder=str(tmp_path)).__enter__()
    with pytest.raises(WriteFault, match="cannot write the journal"):
        lock(str(tmp_path / "state"), "a").__enter__()


@pytest.mark.real
def test_a_second_process_gives_up_naming_the_first(scene: Scene) -> None:
    first = start(scene, "first", "slow", DRIVER_SECONDS="5")
    wait_inside(first)
    second = start(scene, "second", DRIVER_WAIT="0.2")
    _, said = second.communicate(timeout=30)
    assert second.returncode == 3
    assert f"process {first.pid} (driver first, since" in said
    first.kill()
    first.communicate()


@pytest.mark.real
def test_a_killed_holder_frees_the_lock_and_its_run_is_undone(scene: Scene) -> None:
    first = start(scene, "first", "slow", "new", DRIVER_SECONDS="60")
    wait_inside(first)
    assert scene.file.read_bytes() == OLD + b"first\n"
    first.kill()
    first.communicate()
    second = start(scene, "second")
    _, said = second.communicate(timeout=30)
    assert second.returncode == 0, said
    assert "was cut short; it has been undone" in said
    assert scene.file.read_bytes() == OLD + b"second\n"
    assert not (scene.etc / "conf.d").exists()
    assert scene.states() == ["undone", "finished"]
    assert scene.leftovers() == []


@pytest.mark.long
@pytest.mark.real
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, -15), (signal.SIGHUP, -1)])
def test_a_signal_in_the_delicate_part_waits_until_files_are_whole(
    scene: Scene, number: signal.Signals, status: int
) -> None:
    child = start(scene, "word", "slow", DRIVER_SECONDS="0.5")
    wait_inside(child)
    child.send_signal(number)
    child.communicate(timeout=30)
    assert child.returncode == status
    assert scene.file.read_bytes() == OLD + b"word\n"
    assert scene.states() == ["finished"]
    assert scene.leftovers() == []


@pytest.mark.long
@pytest.mark.real
def test_a_signal_while_waiting_for_the_lock_ends_the_wait(scene: Scene) -> None:
    first = start(scene, "first", "slow", DRIVER_SECONDS="5")
    wait_inside(first)
    second = start(scene, "second")
    time.sleep(0.5)
    second.send_signal(signal.SIGINT)
    second.communicate(timeout=3)
    assert second.returncode == 130
    first.kill()
    first.communicate()


@pytest.mark.long
@pytest.mark.real
def test_twenty_runs_at_once_all_leave_their_line(scene: Scene) -> None:
    words = [f"word{number}" for number in range(20)]
    children = [start(scene, word, *(["new"] if index % 3 == 0 else [])) for index, word in enumerate(words)]
    for child in children:
        _, said = child.communicate(timeout=120)
        assert child.returncode == 0, said
    text = scene.file.read_bytes()
    assert text.startswith(OLD)
    assert sorted(text.removeprefix(OLD).decode().split()) == sorted(words)
    assert sorted(os.listdir(scene.etc / "conf.d")) == sorted(words[::3])
    assert scene.states() == ["finished"] * 20
    assert scene.leftovers() == []
    baseline = scene.journal.baseline(str(scene.file))
    assert baseline is not None
    assert baseline.before == OLD
    assert baseline.holds_only_ours(text)
