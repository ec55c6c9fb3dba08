"""Programs are found as a shell would, and run only when nobody else can have put them there."""

import os
from pathlib import Path

import pytest

from ctk.facts import Unknown
from ctk.host import LocalHost
from ctk.host.programs import (
    collect_version,
    find_program,
    is_executable,
    look_at_program,
    parse_version,
    program_fault,
    why_not_trusted,
)
from tests.conftest import NOBODY, AsNobody
from tests.unit.host.trees import PROGRAM, Link, Program, plant


def test_first_executable_counts_and_a_folder_does_not(tmp_path: Path) -> None:
    host = plant(
        tmp_path,
        {
            "/usr/local/bin/tool/x": "",
            "/usr/sbin/tool": "no execute bit",
            "/usr/bin/tool": Link("/opt/tool"),
            "/opt/tool": Program(PROGRAM),
            "/bin/tool": Program(PROGRAM),
        },
    )
    assert find_program(host, ("tool",)) == "/usr/bin/tool"
    assert find_program(host, ("other", "/opt/tool")) == "/opt/tool"
    assert find_program(host, ("other",), ("/opt",)) is None


def test_program_without_execute_bit_is_found_last(tmp_path: Path) -> None:
    host = plant(tmp_path, {"/usr/sbin/tool": "x"})
    assert find_program(host, ("tool",)) == "/usr/sbin/tool"
    assert is_executable(host, "/usr/sbin/tool") is False


def test_extra_folders_are_searched_too(tmp_path: Path) -> None:
    host = plant(tmp_path, {"/opt/nvidia/tool": Program(PROGRAM)})
    assert find_program(host, ("tool",), ("/opt/nvidia",)) == "/opt/nvidia/tool"


def test_callers_path_is_searched_on_the_live_host_only(tmp_path: Path) -> None:
    plant(tmp_path, {"/mine/ctk-no-such-tool": Program(PROGRAM)})
    environment = {"PATH": f"relative:{tmp_path}/mine"}
    assert find_program(LocalHost("/", environment=environment), ("ctk-no-such-tool",)) == (
        f"{tmp_path}/mine/ctk-no-such-tool"
    )
    assert find_program(LocalHost(str(tmp_path), environment={"PATH": "/mine"}), ("ctk-no-such-tool",)) is None


def test_folder_that_may_not_be_searched_is_unknown(tmp_path: Path, as_nobody: AsNobody) -> None:
    host = plant(tmp_path, {"/usr/bin/tool": Program(PROGRAM)})
    (tmp_path / "usr").chmod(0)
    try:
        assert as_nobody(find_program, host, ("tool",)) == Unknown("permission denied")
        assert as_nobody(is_executable, host, "/usr/bin/tool") == Unknown("permission denied")
    finally:
        (tmp_path / "usr").chmod(0o755)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("containerd github.com/containerd/containerd v1.6.20~ds1 1.6.20~ds1-1+deb12u1\n", "1.6.20~ds1"),
        ("containerd containerd.io 1.7.24 88bf19b2105c8b17560993bee28a01ddc2f97182\n", "1.7.24"),
        ("containerd github.com/k3s-io/containerd v2.0.4-k3s2 \n", "2.0.4-k3s2"),
        ("Docker version 20.10.24+dfsg1, build 5d6db84\n", "20.10.24+dfsg1"),
        ("Docker version 28.5.2, build ecc6942\n", "28.5.2"),
        ("crio version 1.30.0\nVersion:        1.30.0\nGoVersion:      go1.22.0\n", "1.30.0"),
        ("podman version 4.3.1\n", "4.3.1"),
        ("NVIDIA Container Toolkit CLI version 1.17.0-rc.1\ncommit: 1d\n", "1.17.0-rc.1"),
        ("cli-version: 1.17.0\nlib-version: 1.17.0\n", "1.17.0"),
        ("no number here, go1.22 neither\n", None),
        ("", None),
    ],
)
def test_version_is_read_from_what_engines_print(text: str, version: str | None) -> None:
    assert parse_version(text) == version


def test_version_below_another_root_is_unknown(tmp_path: Path) -> None:
    host = plant(tmp_path, {"/bin/x": Program("#!/bin/sh\necho 1.2\n")})
    assert collect_version(host, "/bin/x") == Unknown("not run: --root")


def make_program(folder: Path, script: str) -> str:
    path = folder / "tool"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.real
@pytest.mark.parametrize(
    ("script", "version"),
    [
        ("echo version v1.2.3", "1.2.3"),
        ("echo version 1.2.3 >&2; exit 1", "1.2.3"),
        ("exit 4", Unknown("tool --version ended with 4")),
        ("echo nothing", None),
        ("sleep 60", Unknown("no answer within 0.5 s")),
    ],
)
def test_version_of_a_live_program(tmp_path: Path, script: str, version: object) -> None:
    assert collect_version(LocalHost(timeout_seconds=0.5), make_program(tmp_path, script)) == version


@pytest.mark.real
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_program_of_another_user_is_not_run(tmp_path: Path) -> None:
    path = make_program(tmp_path, "echo 1.0")
    os.chown(path, NOBODY, NOBODY)
    assert collect_version(LocalHost(), path) == Unknown(f"not run: {path} belongs to user {NOBODY}")


@pytest.mark.real
def test_program_in_a_folder_of_everybody_is_not_run(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    path = make_program(tmp_path / "open", "echo 1.0")
    (tmp_path / "open").chmod(0o777)
    assert collect_version(LocalHost(), path) == Unknown(f"not run: {tmp_path}/open can be changed by others")
    (tmp_path / "open").chmod(0o1777)
    assert why_not_trusted(LocalHost(), path) == ""


@pytest.mark.real
def test_link_in_a_folder_of_everybody_is_not_followed_to_a_program(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o777)
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "open/link").symlink_to(make_program(tmp_path, "echo 1.0"))
    assert why_not_trusted(LocalHost(), f"{tmp_path}/open/link") == f"{tmp_path}/open can be changed by others"


@pytest.mark.parametrize("path", ["/opt/bin/runtime", "runtime"])
def test_a_program_that_may_not_be_looked_at_is_neither_good_nor_bad(
    tmp_path: Path, as_nobody: AsNobody, path: str
) -> None:
    host = plant(tmp_path / "host", {"/opt/bin/runtime": Program("#!/bin/sh\n"), "/usr/bin/x": ""})
    for folder in ("opt", "usr"):
        (tmp_path / "host" / folder).chmod(0)
    found = as_nobody(look_at_program, host, path)
    for folder in ("opt", "usr"):
        (tmp_path / "host" / folder).chmod(0o755)
    assert found == Unknown("permission denied")
    assert look_at_program(host, "/opt/bin/runtime") == program_fault(host, "/opt/bin/runtime") == ""
    assert look_at_program(host, "nowhere") == program_fault(host, "nowhere")
