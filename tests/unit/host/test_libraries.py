"""A driver's libraries are found wherever they lie, by their final file, and every place is named when they are not."""

import os
from pathlib import Path

import pytest

from ctk.cdi.generate import Generated
from ctk.errors import CtkError
from tests.driver_tree import FOLDER, VERSION, X86_64, DriverTree

PRIVATE = "/opt/vendor/lib"


@pytest.fixture
def tree(tmp_path: Path) -> DriverTree:
    host = DriverTree(tmp_path / "host")
    host.control_nodes()
    host.gpu(0, 0, "0000:1b:00.0")
    return host


def mounts(generated: Generated) -> dict[str, str]:
    return {mount.container_path: mount.host_path for mount in generated.spec.edits.mounts}


def test_f67_folder_that_only_the_cache_knows(tree: DriverTree) -> None:
    tree.library("libcuda", folder=PRIVATE)
    tree.library("libnvidia-ml", folder=PRIVATE)
    tree.cache = [("libcuda.so.1", f"{PRIVATE}/libcuda.so.1", X86_64)]
    assert sorted(mounts(tree.generate())) == [f"{PRIVATE}/lib{name}.so.{VERSION}" for name in ("cuda", "nvidia-ml")]


def test_f67_folder_that_only_the_user_knows(tree: DriverTree) -> None:
    tree.library("libcuda", folder=PRIVATE)
    found = tree.generate(query={"library_folders": (PRIVATE,)})
    assert list(mounts(found)) == [f"{PRIVATE}/libcuda.so.{VERSION}"]


def test_f67_what_the_user_names_comes_before_the_cache_and_that_before_the_usual_folders(tree: DriverTree) -> None:
    for folder in (PRIVATE, "/srv/cached", FOLDER):
        tree.library("libcuda", folder=folder)
    tree.cache = [("libcuda.so.1", "/srv/cached/libcuda.so.1", X86_64)]
    assert tree.facts(library_folders=(PRIVATE,)).library_folders == (PRIVATE,)
    assert tree.facts().library_folders == ("/srv/cached",)


def test_f67_nothing_found_names_every_place(tree: DriverTree) -> None:
    with pytest.raises(CtkError) as raised:
        tree.generate(query={"library_folders": (PRIVATE,)})
    assert raised.value.exit_code == 3
    assert f"cannot find libcuda.so.{VERSION}" in raised.value.message
    for place in (f"{PRIVATE}/", "/etc/ld.so.cache (not there)", "/usr/lib64/", f"{FOLDER}/"):
        assert place in raised.value.hint


def test_libraries_of_another_version_are_named(tree: DriverTree) -> None:
    tree.library("libcuda", version="535.54.03")
    with pytest.raises(CtkError, match=r"there are libraries of 535\.54\.03: restart the node"):
        tree.generate()


def test_32_bit_libraries_and_damaged_caches_do_not_count(tree: DriverTree) -> None:
    tree.library("libcuda")
    tree.library("libcuda", folder="/usr/lib32")
    tree.cache = [("libcuda.so.1", "/usr/lib32/libcuda.so.1", 0x0003)]
    assert tree.facts().library_folders == (FOLDER,)
    tree.cache = []
    tree.put("/etc/ld.so.cache", b"no cache")
    facts = tree.facts()
    assert facts.library_folders == (FOLDER,)
    assert facts.searched[0] == "/etc/ld.so.cache (it is no cache of the loader)"


def make_alternatives(tree: DriverTree) -> None:
    """As Debian has it: three links lead from the usual folder to the file."""
    current = f"{FOLDER}/nvidia/current"
    tree.library("libcuda", folder=current)
    tree.link(f"{FOLDER}/libcuda.so.1", "/etc/alternatives/glx--libcuda.so.1")
    tree.link("/etc/alternatives/glx--libcuda.so.1", "/etc/alternatives/nvidia")
    tree.link("/etc/alternatives/nvidia", f"{current}/libcuda.so.1")
    tree.cache = [("libcuda.so.1", f"{FOLDER}/libcuda.so.1", X86_64)]


@pytest.mark.parametrize("driver_root", ["/", "/run/nvidia/driver"])
def test_f68_chain_of_alternatives_ends_at_the_file(tmp_path: Path, driver_root: str) -> None:
    """Absolute links lead on inside the driver root, not on the host."""
    tree = DriverTree(tmp_path / "host", driver_root)
    tree.gpu(0, 0, "0000:1b:00.0")
    make_alternatives(tree)
    generated = tree.generate()
    path = f"{FOLDER}/nvidia/current/libcuda.so.{VERSION}"
    assert mounts(generated) == {path: os.path.normpath(f"{driver_root}/{path}")}
    (hook,) = generated.spec.edits.hooks
    assert f"libcuda.so.{VERSION}::{FOLDER}/nvidia/current/libcuda.so.1" in hook.args


def test_f68_loop_of_links_is_named(tree: DriverTree) -> None:
    tree.link(f"{FOLDER}/libcuda.so.1", "libcuda.so.2")
    tree.link(f"{FOLDER}/libcuda.so.2", "libcuda.so.1")
    with pytest.raises(CtkError, match=r"libcuda\.so\.1: too many levels of symbolic links"):
        tree.generate()


def test_one_file_by_two_folders_is_mounted_once(tree: DriverTree) -> None:
    tree.library("libcuda", folder="/usr/lib64")
    tree.link("/lib64", "usr/lib64")
    assert list(mounts(tree.generate())) == [f"/usr/lib64/libcuda.so.{VERSION}"]


def test_library_without_its_links_gets_none_but_the_fixed_ones(tree: DriverTree) -> None:
    tree.put(f"{FOLDER}/libcuda.so.{VERSION}", b"no ELF")
    (hook,) = tree.generate().spec.edits.hooks
    assert [word for word in hook.args if "::" in word] == [f"libcuda.so.1::{FOLDER}/libcuda.so"]


def test_libraries_with_a_version_of_their_own(tree: DriverTree) -> None:
    tree.library("libcuda")
    tree.library("libnvidia-egl-wayland", version="1.1.13", folder="/usr/lib64")
    tree.library("libnvidia-nvvm70", "libnvidia-nvvm70.so.4", version="4")
    tree.library("libEGL", version="1.1.0")
    tree.link(f"{FOLDER}/libEGL.so", "libEGL.so.1")
    paths = {"/usr/lib64/libnvidia-egl-wayland.so.1.1.13", f"{FOLDER}/libnvidia-nvvm70.so.4"}
    assert set(mounts(tree.generate())) == {f"{FOLDER}/libcuda.so.{VERSION}", *paths}
    tree.library("libGL", version="1.7.0", folder="/usr/lib64", plain=True)
    explicit = mounts(tree.generate(query={"explicit_libraries": True}))
    assert f"{FOLDER}/libEGL.so.1.1.0" in explicit
    assert "/usr/lib64/libGL.so.1.7.0" not in explicit  # only beside the driver's
