"""kill -9 before every system call from the lock to the end: files are old or new, and the next run repairs."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.unit.change import driver

from .kill_steps import CHANGING, Case, python, walk

pytestmark = pytest.mark.long
OLD = b"first\nsecond\n"


def lay_out(folder: Path) -> tuple[str, ...]:
    (folder / "etc").mkdir()
    (folder / "etc/config").write_bytes(OLD)
    return python(str(driver.__file__), str(folder / "state"), str(folder / "etc/config"), "nvidia", "new")


def lay_out_with_mount(folder: Path) -> tuple[str, ...]:
    command = lay_out(folder)
    (folder / "outside").write_bytes(OLD)
    subprocess.run(["mount", "--bind", str(folder / "outside"), str(folder / "etc/config")], check=True, timeout=30)
    return command[:-1]


def unmount(folder: Path) -> None:
    subprocess.run(["umount", str(folder / "etc/config")], check=True, timeout=30)


def lay_out_containerd(folder: Path) -> tuple[str, ...]:
    """A host with a file of containerd's and without its binary: a configure edits that file."""
    (folder / "etc/containerd").mkdir(parents=True)
    (folder / "etc/containerd/config.toml").write_bytes(b"version = 3\nroot = '/data' # ours\n")
    options = ("--runtime=containerd", "--force", "missing-binary")
    return python("-m", "ctk", "--root", str(folder), "runtime", "configure", *options)


def test_configure_killed_at_any_system_call_leaves_files_old_or_new(tmp_path: Path) -> None:
    walked = walk(Case(lay_out_containerd, ("etc/containerd/config.toml",)), tmp_path / "walk")
    assert walked.faults == ()
    assert walked.steps > 100
    assert walked.killed == walked.steps


def test_a_run_killed_at_any_changing_call_leaves_files_old_or_new(tmp_path: Path) -> None:
    walked = walk(Case(lay_out, ("etc/config", "etc/conf.d/nvidia")), tmp_path / "walk", only=CHANGING)
    assert walked.faults == ()
    assert walked.steps > 60
    assert walked.killed == walked.steps


def test_the_walk_sees_what_a_careless_writer_does(tmp_path: Path) -> None:
    def prepare(folder: Path) -> tuple[str, ...]:
        (folder / "config").write_bytes(OLD)
        return python("-IS", "-c", "open('config', 'wb').write(b'new text')")

    walked = walk(Case(prepare, ("config",), begin=r'"config"'), tmp_path / "walk")
    assert any("config is neither old nor new: b''" in fault for fault in walked.faults)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_mounted_file_is_repaired_after_a_kill_at_any_changing_call(tmp_path: Path) -> None:
    case = Case(lay_out_with_mount, ("etc/config",), may_tear=True, tidy=unmount)
    walked = walk(case, tmp_path / "walk", only=CHANGING)
    assert walked.faults == ()
    assert walked.killed == walked.steps
