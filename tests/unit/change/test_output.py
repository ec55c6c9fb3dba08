"""A file the user asked for is written whole or not at all."""

import os
import resource
import signal
from pathlib import Path

import pytest

from ctk.change.output import write_output
from ctk.errors import WriteFault
from tests.conftest import AsNobody


def test_new_file_has_the_content_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    write_output(str(tmp_path / "out.json"), b"content")
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]
    assert (tmp_path / "out.json").read_bytes() == b"content"


def test_existing_file_is_replaced_and_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_output(str(tmp_path / "link"), b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


@pytest.mark.skipif(os.geteuid() != 0, reason="a link of another user's takes root to make")
@pytest.mark.parametrize(("mode", "owner", "follows"), [(0o1777, 4711, False), (0o1777, 0, True), (0o755, 4711, True)])
def test_another_users_link_in_tmp_is_not_followed(tmp_path: Path, mode: int, owner: int, follows: bool) -> None:
    folder = tmp_path / "tmp"
    folder.mkdir()
    folder.chmod(mode)
    (tmp_path / "precious").write_text("old")
    (folder / "out").symlink_to(tmp_path / "precious")
    os.lchown(folder / "out", owner, owner)
    if follows:
        write_output(str(folder / "out"), b"new")
    else:
        with pytest.raises(WriteFault, match="another user's link"):
            write_output(str(folder / "out"), b"new")
    assert (tmp_path / "precious").read_text() == ("new" if follows else "old")


def test_what_a_killed_run_left_is_not_in_the_way(tmp_path: Path) -> None:
    """In a container every run has the same process id."""
    (tmp_path / f"out.{os.getpid()}.tmp").write_text("half")
    write_output(str(tmp_path / "out"), b"content")
    assert (tmp_path / "out").read_bytes() == b"content"


def test_device_is_written_into() -> None:
    write_output("/dev/null", b"content")
    assert not Path("/dev/null").is_file()


def test_folder_without_permission_is_a_clear_error(tmp_path: Path, as_nobody: AsNobody) -> None:
    (tmp_path / "closed").mkdir(mode=0o755)
    with pytest.raises(WriteFault, match="permission denied") as caught:
        as_nobody(write_output, str(tmp_path / "closed/out"), b"content")
    assert caught.value.path == str(tmp_path / "closed/out")


@pytest.mark.real
def test_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_bytes(b"old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    try:
        with pytest.raises(WriteFault, match="cannot write"):
            write_output(str(target), b"x" * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["out"]
