"""A host without a copy of its tree is the same host, to everything that is collected."""

import dataclasses
import os
from pathlib import Path

import pytest

from ctk.facts.snapshot import Snapshot
from tests.fake_host import build_host, names_of_hosts, snapshot_of
from tests.memory_host import Entry, MemoryHost, lay_over, snapshot_in_memory

SOME = ("healthy-one-gpu", "nothing-readable", "k3s-node", "wsl2-linux-driver")


def without_times(snapshot: Snapshot) -> Snapshot:
    return dataclasses.replace(snapshot, taken_at="")


def assert_equal(name: str, folder: Path) -> None:
    copied = without_times(snapshot_of(name, folder / "tree"))
    layered = without_times(snapshot_in_memory(name, folder / "memory"))
    for field in dataclasses.fields(Snapshot):
        assert getattr(layered, field.name) == getattr(copied, field.name), field.name


@pytest.mark.long
@pytest.mark.parametrize("name", SOME)
def test_a_host_is_the_same_either_way(tmp_path: Path, name: str) -> None:
    assert_equal(name, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("name", names_of_hosts())
def test_every_host_is_the_same_either_way(tmp_path: Path, name: str) -> None:
    assert_equal(name, tmp_path)


def test_every_path_leads_to_the_same_file(tmp_path: Path) -> None:
    tree, rows = lay_over("el9-server")
    layered, (copied, _) = MemoryHost(tree, rows), build_host("el9-server", tmp_path / "host")
    paths = [path for path in tree if path]
    assert paths
    for path in paths:
        assert layered.real_path(path)[len(layered.root) :] == copied.real_path(path)[len(copied.root) :]
        assert layered.is_link(path) == copied.is_link(path)
        assert layered.is_directory(path) == copied.is_directory(path)
        if copied.is_file(path):
            assert layered.read_bytes(path) == copied.read_bytes(path)
        if copied.is_directory(path):
            made = {"ld.so.cache"} if path == "/etc" else set()  # of the rows, for the disk
            assert set(layered.list_directory(path)) == set(copied.list_directory(path)) - made


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("/loop/x", OSError),
        ("/file/x", NotADirectoryError),
        ("/gone/../x", FileNotFoundError),
        ("/gone", FileNotFoundError),
        ("/a\0b", OSError),
    ],
)
def test_paths_that_lead_nowhere_fail_as_they_do_on_a_disk(tmp_path: Path, path: str, error: type[OSError]) -> None:
    (tmp_path / "file").touch()
    tree = {
        "": Entry(str(tmp_path), True),
        "/file": Entry(str(tmp_path / "file"), False),
        "/loop": Entry(str(tmp_path / "loop"), False, "/loop"),
    }
    os.symlink("/loop", tmp_path / "loop")
    with pytest.raises(error):
        MemoryHost(tree, {}).read_bytes(path)
