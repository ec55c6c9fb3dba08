"""chmod: modes are set below the root only, and what must not be changed stops no container."""

import os
import stat
from pathlib import Path

import pytest

from tests.unit.inject.container import MS_BIND, Container

pytestmark = pytest.mark.real


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("no_openat2", [False, True], ids=["openat2", "walk"])
def test_every_path_gets_the_mode(container: Container, no_openat2: bool) -> None:
    paths = [container.folder_at(name) for name in ("/dev/dri", "/dev/nvidia-caps", "/dev/a")]
    for path in paths:
        path.chmod(0o700)
    container.done("chmod", "--mode=755", "--path=/dev/dri,/dev/nvidia-caps", "--path", "/dev/a", no_openat2=no_openat2)
    assert [mode_of(path) for path in paths] == [0o755] * 3


@pytest.mark.parametrize("target", ["{host}", "../../../secret", "/../../secret", "/proc/self/root/{host}"])
@pytest.mark.parametrize("no_openat2", [False, True], ids=["openat2", "walk"])
def test_a_link_out_of_the_root_changes_no_host_folder(container: Container, target: str, no_openat2: bool) -> None:
    secret = container.folder / "secret"
    secret.mkdir(mode=0o700)
    container.link("/dev/dri", target.format(host=secret))
    container.link("/out", target.format(host=container.folder))
    arguments = ("chmod", "--mode=777", "--path=/dev/dri", "--path=/out/secret", "--path=/../../secret")
    ran = container.run(*arguments, no_openat2=no_openat2)
    assert ran.code == 0
    assert "it is a link" in ran.output
    assert "it is not there" in ran.output
    assert mode_of(secret) == 0o700


def test_f82_what_is_not_there_is_a_note(container: Container) -> None:
    ran = container.run("chmod", "--mode=755", "--path=/dev/dri")
    assert ran.code == 0
    assert "the mode of /dev/dri is left as it is: it is not there" in ran.output


def test_f82_a_folder_that_may_not_be_changed_is_a_note(container: Container) -> None:
    container.folder_at("/dev/dri").chmod(0o700)
    ran = container.run("chmod", "--mode=755", "--path=/dev/dri", forbid=["chmod"])
    assert ran.code == 0
    assert "the mode of /dev/dri is left as it is: Operation not permitted" in ran.output


def test_a_link_into_the_kernels_files_changes_no_mode(container: Container) -> None:
    place = container.folder_at("/kernel")
    container.link("/dev", "/kernel/self")
    ran = container.run("chmod", "--mode=700", "--path=/dev/task", mounts=[("proc", str(place), "proc", 0)])
    assert ran.code == 1
    assert "a file system of the kernel (proc)" in ran.output


def test_f82_the_hosts_dev_in_a_toolbox_is_left_alone(container: Container) -> None:
    container.folder_at("/dev")
    before = os.stat("/dev/null")
    ran = container.run(
        "chmod", "--mode=600", "--path=/dev/null", mounts=[("/dev", str(container.root / "dev"), "", MS_BIND)]
    )
    assert ran.code == 0
    assert "it belongs to the host's /dev" in ran.output
    assert os.stat("/dev/null").st_mode == before.st_mode


def test_a_read_only_root_is_a_warning(container: Container) -> None:
    container.folder_at("/dev/dri").chmod(0o700)
    ran = container.run("chmod", "--mode=755", "--path=/dev/dri", read_only=True)
    assert ran.code == 0
    assert "Read-only file system" in ran.output


@pytest.mark.parametrize("arguments", [("--path=/dev/dri",), ("--mode=rwx",), ("--mode=888",), ("--mode=",)])
def test_a_mode_that_makes_no_sense_is_an_error(container: Container, arguments: tuple[str, ...]) -> None:
    ran = container.run("chmod", *arguments)
    assert ran.code == 1
    assert "--mode" in ran.output


def test_a_mode_without_a_path_does_nothing(container: Container) -> None:
    assert container.done("chmod", "--mode=755") == ""
