"""Replacing single files on file systems that refuse: full, read-only, bind-mounted, immutable, limited."""

import contextlib
import errno
import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ctk.change.files import is_torn, write_in_place
from ctk.errors import VerifyFault, WriteFault
from tests.unit.change.scene import NEW, OLD, Scene, answer_none, look

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="mounts and attributes need root")


@contextmanager
def mounted(path: Path, *options: str) -> Iterator[None]:
    subprocess.run(["mount", *options, str(path)], check=True, timeout=30)
    try:
        yield
    finally:
        subprocess.run(["umount", str(path)], check=True, timeout=30)


def fill(folder: Path) -> None:
    """Take every block that is left."""
    descriptor = os.open(folder / "filler", os.O_WRONLY | os.O_CREAT)
    with contextlib.suppress(OSError):
        while True:
            os.write(descriptor, b"x" * 4096)
    os.close(descriptor)


@pytest.mark.real
@ROOT_ONLY
def test_a_full_disk_leaves_the_old_file(scene: Scene) -> None:
    with mounted(scene.etc, "-t", "tmpfs", "-o", "size=64k", "none"):
        scene.file.write_bytes(OLD)
        (scene.etc / "other").write_bytes(OLD)
        fill(scene.etc)
        before = look(scene.file)
        large = OLD + b" " * 8192
        with pytest.raises(WriteFault) as caught:
            scene.apply(scene.plan(scene.change(OLD, large), scene.change(OLD, large, scene.etc / "other")))
        assert "no space left" in caught.value.message
        assert caught.value.hint.endswith("Nothing was changed.")
        assert look(scene.file) == before
        assert (scene.etc / "other").read_bytes() == OLD
        assert scene.leftovers() == []
        assert scene.states() == []


@pytest.mark.real
@ROOT_ONLY
def test_room_for_one_of_two_files_changes_none(scene: Scene) -> None:
    with mounted(scene.etc, "-t", "tmpfs", "-o", "size=64k", "none"):
        other = scene.etc / "other"
        scene.file.write_bytes(OLD)
        other.write_bytes(OLD)
        before = look(scene.file)
        large = b"x" * 36_000
        with pytest.raises(WriteFault, match="no space left"):
            scene.apply(scene.plan(scene.change(OLD, large), scene.change(OLD, large, other)))
        assert look(scene.file) == before
        assert other.read_bytes() == OLD
        assert scene.leftovers() == []


@pytest.mark.real
@ROOT_ONLY
def test_a_disk_that_fills_up_during_the_check_still_gets_the_old_file_back(scene: Scene) -> None:
    with mounted(scene.etc, "-t", "tmpfs", "-o", "size=64k", "none"):
        scene.file.write_bytes(OLD)

        def fill_it(argv: tuple[str, ...], timeout: float) -> object:
            if scene.file.read_bytes() != OLD:
                fill(scene.etc)
            return answer_none(argv, timeout)

        scene.runner = fill_it  # type: ignore[assignment] # the same arguments and result
        with pytest.raises(VerifyFault) as caught:
            scene.apply(scene.plan(query=scene.wrong()))
        assert "way back" not in caught.value.message
        assert scene.file.read_bytes() == OLD
        assert scene.leftovers() == []


@pytest.mark.real
@ROOT_ONLY
def test_a_full_disk_below_the_state_folder_stops_before_any_change(scene: Scene) -> None:
    scene.state.mkdir()
    with mounted(scene.state, "-t", "tmpfs", "-o", "size=64k", "none"):
        fill(scene.state)
        before = look(scene.file)
        with pytest.raises(WriteFault) as caught:
            scene.apply()
        assert "cannot write the journal" in caught.value.message
        assert "no space left" in caught.value.message
        assert look(scene.file) == before
        assert scene.leftovers() == []


@pytest.mark.real
@ROOT_ONLY
@pytest.mark.parametrize("journal", [True, False])
def test_a_read_only_file_system_is_named(scene: Scene, journal: bool) -> None:
    with mounted(scene.etc, "--bind", str(scene.etc)):
        subprocess.run(["mount", "-o", "remount,ro,bind", str(scene.etc)], check=True, timeout=30)
        before = look(scene.file)
        with pytest.raises(WriteFault) as caught:
            scene.apply(journal=journal)
        assert f"cannot write {scene.file}: the file system is read-only" in caught.value.message
        with pytest.raises(WriteFault, match="cannot make the folder"):
            scene.apply(scene.plan(scene.change(None, NEW, scene.etc / "conf.d/x")))
        assert look(scene.file) == before
    assert scene.leftovers() == []
    assert scene.states() == []


@pytest.mark.real
@ROOT_ONLY
@pytest.mark.parametrize("journal", [True, False])
@pytest.mark.parametrize("after", [NEW, b"{}"])
def test_a_bind_mounted_file_is_written_in_place(scene: Scene, after: bytes, journal: bool) -> None:
    source = scene.folder / "source.json"
    source.write_bytes(OLD)
    with mounted(scene.file, "--bind", str(source)):
        before = look(scene.file)
        scene.apply(scene.plan(scene.change(OLD, after)), journal=journal)
        assert scene.file.read_bytes() == after
        assert look(scene.file)[1:4] == before[1:4]
    assert source.read_bytes() == after
    assert scene.file.read_bytes() == OLD
    assert scene.leftovers() == []


@pytest.mark.real
@ROOT_ONLY
def test_a_bind_mounted_file_is_restored_in_place(scene: Scene) -> None:
    source = scene.folder / "source.json"
    source.write_bytes(OLD)
    scene.runner = answer_none
    with mounted(scene.file, "--bind", str(source)):
        with pytest.raises(VerifyFault):
            scene.apply(scene.plan(query=scene.wrong()))
        assert source.read_bytes() == OLD
        with pytest.raises(WriteFault, match="mount point"):
            scene.apply(scene.plan(scene.change(OLD, None)))
        assert source.read_bytes() == OLD
    assert scene.leftovers() == []


@pytest.mark.real
@ROOT_ONLY
def test_an_immutable_file_is_named_with_the_way_out(scene: Scene) -> None:
    made = subprocess.run(["chattr", "+i", str(scene.file)], capture_output=True, timeout=30, check=False)
    if made.returncode != 0:
        pytest.skip("this file system has no immutable files")
    try:
        before = look(scene.file)
        with pytest.raises(WriteFault) as caught:
            scene.apply()
        assert "immutable" in caught.value.message
        assert "chattr -i" in caught.value.hint
        assert look(scene.file) == before
    finally:
        subprocess.run(["chattr", "-i", str(scene.file)], check=True, timeout=30)
    assert scene.leftovers() == []
    assert scene.states() == []


@pytest.mark.real
@ROOT_ONLY
def test_an_immutable_folder_is_named(scene: Scene) -> None:
    made = subprocess.run(["chattr", "+i", str(scene.etc)], capture_output=True, timeout=30, check=False)
    if made.returncode != 0:
        pytest.skip("this file system has no immutable files")
    try:
        with pytest.raises(WriteFault, match="immutable"):
            scene.apply()
    finally:
        subprocess.run(["chattr", "-i", str(scene.etc)], check=True, timeout=30)
    assert scene.file.read_bytes() == OLD
    assert scene.leftovers() == []


@pytest.mark.real
@pytest.mark.parametrize("journal", [True, False])
def test_a_file_size_limit_of_nothing_changes_nothing(scene: Scene, journal: bool) -> None:
    before = look(scene.file)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(WriteFault) as caught:
            scene.apply(journal=journal)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "larger than a file may be" in caught.value.message
    assert look(scene.file) == before
    assert scene.leftovers() == []


@pytest.mark.real
@ROOT_ONLY
def test_access_control_lists_and_other_attributes_stay(scene: Scene) -> None:
    # version 2; user::rw-, user:1000:rw-, group::r--, mask::rw-, other::--- (linux/posix_acl_xattr.h)
    entries = ((1, 6, 0xFFFFFFFF), (2, 6, 1000), (4, 4, 0xFFFFFFFF), (16, 6, 0xFFFFFFFF), (32, 0, 0xFFFFFFFF))
    acl = (2).to_bytes(4, "little") + b"".join(
        tag.to_bytes(2, "little") + rights.to_bytes(2, "little") + who.to_bytes(4, "little")
        for tag, rights, who in entries
    )
    os.setxattr(scene.file, "system.posix_acl_access", acl)
    os.setxattr(scene.file, "trusted.note", b"1")
    before = look(scene.file)
    scene.apply()
    assert look(scene.file)[1:4] == before[1:4]
    assert look(scene.file)[6] == before[6]


@pytest.mark.real
@ROOT_ONLY
def test_a_folder_s_default_acl_does_not_leak_onto_an_old_file(scene: Scene) -> None:
    entries = ((1, 7, 0xFFFFFFFF), (2, 7, 1000), (4, 5, 0xFFFFFFFF), (16, 7, 0xFFFFFFFF), (32, 0, 0xFFFFFFFF))
    acl = (2).to_bytes(4, "little") + b"".join(
        tag.to_bytes(2, "little") + rights.to_bytes(2, "little") + who.to_bytes(4, "little")
        for tag, rights, who in entries
    )
    os.setxattr(scene.etc, "system.posix_acl_default", acl)
    scene.apply()
    assert "system.posix_acl_access" not in os.listxattr(scene.file)
    assert scene.file.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("now", "torn"),
    [
        (b"new-long-text", True),
        (b"old", True),
        (b"newd-text", False),
        (b"new", True),
        (b"nld", True),
        (b"new-lo\0\0\0", True),
        (b"", False),
        (b"something else", False),
        (None, False),
    ],
)
def test_a_torn_write_is_told_from_somebody_else_s_text(now: bytes | None, torn: bool) -> None:
    assert is_torn(now, b"old", b"new-long-text") is torn


def test_writing_in_place_does_not_follow_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"real")
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(OSError, match="symbolic") as caught:
        write_in_place(str(tmp_path / "link"), b"x")
    assert caught.value.errno == errno.ELOOP
    assert (tmp_path / "real").read_bytes() == b"real"
