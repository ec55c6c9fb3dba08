"""create-symlinks: where links come to lie, what they replace, and what an image cannot make of them."""

import json
import os
import stat
import subprocess
import sys

import pytest

from tests.unit.inject.container import CHECKOUT, LIBRARIES, MS_BIND, Container

pytestmark = pytest.mark.real

LINK = f"{LIBRARIES}/libcuda.so"
CREATE = "create-symlinks"


def show(container: Container, name: str = LINK) -> str:
    return os.readlink(container.root / name.lstrip("/"))


@pytest.mark.parametrize("no_openat2", [False, True], ids=["openat2", "walk"])
def test_a_link_is_made_with_its_folders(container: Container, no_openat2: bool) -> None:
    assert container.done(CREATE, "--link", f"libcuda.so.1::{LINK}", no_openat2=no_openat2) == ""
    assert show(container) == "libcuda.so.1"
    assert stat.S_IMODE(container.path(LINK).parent.stat().st_mode) == 0o755


def test_several_links_and_both_spellings_of_a_list(container: Container) -> None:
    container.done(CREATE, "--link=a::/x/one", "-link", "b::/x/two,c::/x/three", "--link", "d,e::/x/fo,ur")
    links = {name: show(container, f"/x/{name}") for name in os.listdir(container.root / "x")}
    assert links == {"one": "a", "two": "b", "three": "c", "fo,ur": "d,e"}


def test_a_second_run_touches_nothing(container: Container) -> None:
    arguments = (CREATE, "--link", f"libcuda.so.1::{LINK}")
    container.done(*arguments)
    before = container.tree()
    container.done(*arguments)
    assert container.tree() == before


@pytest.mark.parametrize("old", ["libcuda.so.470.1", "/nowhere/libcuda.so.1", "libcuda.so.1/"])
def test_another_link_is_replaced(container: Container, old: str) -> None:
    container.link(LINK, old)
    assert container.done(CREATE, "--link", f"libcuda.so.1::{LINK}") == ""
    assert show(container) == "libcuda.so.1"


def test_f91_a_placeholder_without_content_is_replaced_in_silence(container: Container) -> None:
    container.write(LINK)
    assert container.done(CREATE, "--link", f"libcuda.so.1::{LINK}") == ""
    assert show(container) == "libcuda.so.1"


def test_f91_a_driver_library_of_the_image_is_replaced_and_named(container: Container) -> None:
    container.write(LINK, "an old driver")
    said = container.done(CREATE, "--link", f"libcuda.so.1::{LINK}")
    assert show(container) == "libcuda.so.1"
    assert "the image carries a driver library of its own" in said
    assert LINK in said


def test_a_folder_in_its_place_is_an_error_and_stays(container: Container) -> None:
    container.write(f"{LINK}/file")
    ran = container.run(CREATE, "--link", f"libcuda.so.1::{LINK}")
    assert ran.code == 1
    assert "a folder is in its place" in ran.output
    assert container.read(f"{LINK}/file") == ""


def test_a_file_that_is_mounted_in_its_place_stays(container: Container) -> None:
    container.write(LINK)
    library = container.folder / "library"
    library.write_text("the host's")
    mounted = (str(library), str(container.root / LINK.lstrip("/")), "", MS_BIND)
    ran = container.run(CREATE, "--link", f"libcuda.so.1::{LINK}", mounts=[mounted])
    assert ran.code == 0
    assert "a file is mounted in its place" in ran.output
    assert library.read_text() == "the host's"
    assert os.listdir(container.path(LINK).parent) == ["libcuda.so"], "nothing temporary is left"


@pytest.mark.parametrize("no_openat2", [False, True], ids=["openat2", "walk"])
def test_links_of_the_image_are_followed_as_the_container_would(container: Container, no_openat2: bool) -> None:
    container.folder_at("/real/lib")
    container.link("/usr/lib", "/real/lib")
    container.link("/opt", "usr/../../../../real")
    container.done(CREATE, "--link=a::/usr/lib/x", "--link=b::/opt/lib/y", no_openat2=no_openat2)
    assert sorted(os.listdir(container.root / "real/lib")) == ["x", "y"]


def test_dots_in_the_links_own_path_stay_in_the_root(container: Container) -> None:
    container.done(CREATE, "--link=a::/usr/../../../x", "--link=b::../y/./z")
    assert (show(container, "/x"), show(container, "/y/z")) == ("a", "b")
    assert sorted(os.listdir(container.folder)) == ["bundle"]


@pytest.mark.parametrize("no_openat2", [False, True], ids=["openat2", "walk"])
def test_a_folder_that_is_a_link_to_nowhere_is_an_error(container: Container, no_openat2: bool) -> None:
    container.link("/usr/lib", "/nowhere")
    ran = container.run(CREATE, "--link=a::/usr/lib/x", no_openat2=no_openat2)
    assert ran.code == 1
    assert "cannot make the link /usr/lib/x -> a" in ran.output
    assert not os.path.lexists(container.root / "nowhere")


def test_a_read_only_root_is_a_warning(container: Container) -> None:
    ran = container.run(CREATE, "--link", f"libcuda.so.1::{LINK}", read_only=True)
    assert ran.code == 0
    assert "warning" in ran.output
    assert "Read-only file system" in ran.output


@pytest.mark.parametrize("value", ["a", "a::b::c", "::b", "a::"])
def test_a_link_without_its_two_parts_is_refused(container: Container, value: str) -> None:
    ran = container.run(CREATE, "--link", value)
    assert ran.code == 1
    assert "takes target::link" in ran.output
    assert list(container.tree()) == ["."]


@pytest.mark.parametrize("target", ["../../../../../../etc/shadow", "/", "..", "/proc/self/root"])
def test_f94_what_a_link_says_is_only_text(container: Container, target: str) -> None:
    """A link that names what lies outside leads the container to its own root; nothing follows it here."""
    container.done(CREATE, "--link", f"{target}::{LINK}")
    assert show(container) == target
    container.done(CREATE, "--link", f"libcuda.so.1::{LINK}")
    assert show(container) == "libcuda.so.1"


def test_containers_that_start_on_one_root_do_not_disturb_each_other(container: Container) -> None:
    """As an engine starts several containers on one root (podman --rootfs)."""
    links = [f"--link=libx.so.1::{LIBRARIES}/{index}/a/b/libx.so" for index in range(40)]
    state = json.dumps({"root": str(container.root)})
    command = [sys.executable, "-I", "-S", str(CHECKOUT / "ctk/inject/hook_main.py"), CREATE, *links]
    processes = [subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(state)
        process.stdin.flush()
    said = [process.communicate()[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, said
    names = sorted(path.name for path in container.root.rglob("*") if path.is_symlink() or path.is_file())
    assert names == ["libx.so"] * 40
