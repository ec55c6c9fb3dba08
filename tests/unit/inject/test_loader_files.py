"""The loader's configuration in an image: which folders it knows, what is added, and that nothing ever grows."""

import os
from pathlib import Path

import pytest

from ctk.inject.faults import InjectFault
from ctk.inject.loader_files import (
    DRIVER_FILE,
    MAIN_FILE,
    OTHER_SYSTEM_FOLDERS,
    SYSTEM_FILE,
    read_configuration,
    write_loader_files,
)
from ctk.inject.rootfs import Rootfs, open_rootfs
from tests.unit.inject.container import LIBRARIES, Container

pytestmark = pytest.mark.real


@pytest.fixture
def rootfs(container: Container) -> Rootfs:
    return open_rootfs(str(container.root))


def test_an_image_without_configuration_gets_one(container: Container, rootfs: Rootfs) -> None:
    assert write_loader_files(rootfs, [LIBRARIES, "/opt/nvidia", LIBRARIES]) == []
    assert container.read(MAIN_FILE) == "include /etc/ld.so.conf.d/*.conf\n"
    assert container.read(DRIVER_FILE) == f"{LIBRARIES}\n/opt/nvidia\n"
    assert tuple(container.read(SYSTEM_FILE).split()) == OTHER_SYSTEM_FOLDERS


def test_debians_folders_are_those_of_its_machine(container: Container, rootfs: Rootfs) -> None:
    container.write("/etc/debian_version", "12.5\n")
    write_loader_files(rootfs, [LIBRARIES])
    assert container.read(SYSTEM_FILE).split()[0].endswith("-linux-gnu")
    assert container.read(SYSTEM_FILE).split()[2:] == ["/lib", "/usr/lib"]


def test_a_folder_that_the_image_knows_keeps_its_place_in_the_order(container: Container, rootfs: Rootfs) -> None:
    container.write(MAIN_FILE, "# made by the distribution\ninclude ld.so.conf.d/*.conf\n")
    container.write("/etc/ld.so.conf.d/x86_64-linux-gnu.conf", f"/usr/local/lib\n\t{LIBRARIES}/  # multiarch\n")
    write_loader_files(rootfs, [LIBRARIES, "/opt/nvidia"])
    assert container.read(DRIVER_FILE) == "/opt/nvidia\n"


def test_a_second_start_finds_everything_done(container: Container, rootfs: Rootfs) -> None:
    write_loader_files(rootfs, [LIBRARIES])
    before = container.tree()
    write_loader_files(rootfs, [LIBRARIES])
    assert container.tree() == before


def test_a_folder_that_is_needed_no_more_goes_away(container: Container, rootfs: Rootfs) -> None:
    write_loader_files(rootfs, ["/opt/old"])
    write_loader_files(rootfs, ["/opt/new"])
    assert container.read(DRIVER_FILE) == "/opt/new\n"
    container.write("/etc/ld.so.conf.d/image.conf", "/opt/new\n")
    write_loader_files(rootfs, ["/opt/new"])
    assert not (container.root / DRIVER_FILE.lstrip("/")).exists()


@pytest.mark.parametrize(
    ("main", "expected"),
    [
        ("/usr/local/lib\n", ["/opt/nvidia"]),
        ("include /etc/ld.so.conf.d/a*.conf\n", ["/opt/nvidia"]),
        ("include /x/*.conf ld.so.conf.d/*.conf\n", []),
    ],
    ids=["no include", "an include that passes ours over", "one of two includes"],
)
def test_a_folder_that_the_configuration_would_not_reach_is_an_argument(
    container: Container, rootfs: Rootfs, main: str, expected: list[str]
) -> None:
    container.write(MAIN_FILE, main)
    assert write_loader_files(rootfs, ["/opt/nvidia"]) == expected
    assert container.read(MAIN_FILE) == main, "the image's own file stays as it is"


def test_includes_that_go_in_circles_end(container: Container, rootfs: Rootfs) -> None:
    container.write(MAIN_FILE, "include /etc/a.conf\n/x\nhwcap 0 nosegneg\n/y=libc6\n")
    container.write("/etc/a.conf", "include ld.so.conf a.conf\n/z\n")
    assert read_configuration(rootfs).folders == {"/x", "/y", "/z"}


@pytest.mark.parametrize("name", ["ld.so.conf", "ld.so.conf.d/hostile.conf"])
def test_what_ldconfig_would_wait_for_is_an_error(container: Container, rootfs: Rootfs, name: str) -> None:
    container.write("/etc/ld.so.conf.d/a.conf", "/a\n")
    os.mkfifo(container.path(f"/etc/{name}"))
    with pytest.raises(InjectFault, match="it is no regular file"):
        write_loader_files(rootfs, [LIBRARIES])


def test_musls_path_file_keeps_the_default_and_does_not_grow(container: Container, rootfs: Rootfs) -> None:
    container.write("/etc/alpine-release", "3.20.0\n")
    for _ in range(3):
        write_loader_files(rootfs, [LIBRARIES])
    (path,) = Path(container.root / "etc").glob("ld-musl-*.path")
    assert path.read_text() == f"/lib\n/usr/local/lib\n/usr/lib\n{LIBRARIES}\n"


def test_musls_path_file_is_called_as_the_images_loader_is(container: Container, rootfs: Rootfs) -> None:
    container.write("/etc/alpine-release", "3.20.0\n")
    container.write("/lib/ld-musl-armhf.so.1")
    write_loader_files(rootfs, [LIBRARIES])
    assert container.read("/etc/ld-musl-armhf.path").endswith(f"\n{LIBRARIES}\n")


def test_musls_path_file_of_the_image_is_only_added_to(container: Container, rootfs: Rootfs) -> None:
    container.write("/etc/alpine-release", "3.20.0\n")
    path = container.write(f"/etc/ld-musl-{os.uname().machine}.path", "/site/lib:/lib\n/usr/lib")
    write_loader_files(rootfs, [LIBRARIES, "/lib"])
    assert path.read_text() == f"/site/lib\n/lib\n/usr/lib\n{LIBRARIES}\n"


@pytest.mark.parametrize("folder", ["usr/lib", "-r", "/a b", "/a\n/b", "/a:b", "/a#b", ""])
def test_a_folder_that_is_not_one_word_is_refused(container: Container, rootfs: Rootfs, folder: str) -> None:
    with pytest.raises(InjectFault, match="no absolute path without spaces"):
        write_loader_files(rootfs, [folder])
    assert list(container.tree()) == ["."]
