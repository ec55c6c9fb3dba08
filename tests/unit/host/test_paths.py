"""Paths stay inside the root, whatever the links of a hostile tree say."""

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctk.host.paths import glob_pattern, resolve_below


@pytest.fixture
def root(tmp_path: Path) -> Path:
    top = tmp_path / "root"
    (top / "etc/docker").mkdir(parents=True)
    (top / "etc/docker/daemon.json").write_text("{}")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("secret")
    return top


@pytest.mark.parametrize(
    ("links", "path", "expected"),
    [
        ({}, "/etc/docker/daemon.json", "/etc/docker/daemon.json"),
        ({}, "//etc/./docker//daemon.json", "/etc/docker/daemon.json"),
        ({}, "/", "/"),
        ({}, "/../../../etc/docker", "/etc/docker"),
        ({}, "/etc/docker/../../../../outside/secret", "/outside/secret"),
        ({"config": "/etc/docker"}, "/config/daemon.json", "/etc/docker/daemon.json"),
        ({"etc/alias": "docker/daemon.json"}, "/etc/alias", "/etc/docker/daemon.json"),
        ({"up": "../../outside"}, "/up/secret", "/outside/secret"),
        ({"top": "/"}, "/top/top/etc", "/etc"),
        ({"a": "b", "b": "c", "c": "/etc"}, "/a/docker", "/etc/docker"),
        ({"etc/gone": "/not/there/file"}, "/etc/gone", "/not/there/file"),
        ({}, "/etc/new/folder/file", "/etc/new/folder/file"),
    ],
)
def test_path_is_resolved_inside_the_root(root: Path, links: dict[str, str], path: str, expected: str) -> None:
    for name, target in links.items():
        (root / name).symlink_to(target)
    assert resolve_below(str(root), path) == str(root) + (expected if expected != "/" else "/")


def test_last_link_is_kept_when_asked(root: Path) -> None:
    (root / "link").symlink_to("/etc/docker")
    assert resolve_below(str(root), "/link", follow_last=False) == f"{root}/link"
    assert resolve_below(str(root), "/link/daemon.json", follow_last=False) == f"{root}/etc/docker/daemon.json"


@pytest.mark.parametrize(
    ("links", "path"), [({"a": "a"}, "/a"), ({"a": "b/x", "b": "/a"}, "/b/y"), ({"l": "l/l"}, "/l")]
)
def test_loop_of_links_ends_in_an_error(root: Path, links: dict[str, str], path: str) -> None:
    for name, target in links.items():
        (root / name).symlink_to(target)
    with pytest.raises(OSError, match="link") as caught:
        resolve_below(str(root), path)
    assert caught.value.errno == errno.ELOOP


def test_long_chain_of_links_is_followed_as_far_as_linux_does(root: Path) -> None:
    for index in range(40):
        (root / f"l{index}").symlink_to(f"l{index + 1}")
    (root / "l40").write_text("end")
    assert resolve_below(str(root), "/l0") == f"{root}/l40"
    (root / "l41").symlink_to("l0")
    with pytest.raises(OSError, match="link"):
        resolve_below(str(root), "/l41")


def test_file_as_a_folder_is_an_error(root: Path) -> None:
    with pytest.raises(NotADirectoryError):
        resolve_below(str(root), "/etc/docker/daemon.json/x")
    with pytest.raises(NotADirectoryError):
        resolve_below(str(root), "/etc/docker/daemon.json/../x")


def test_going_up_from_a_missing_folder_is_an_error(root: Path) -> None:
    with pytest.raises(FileNotFoundError):
        resolve_below(str(root), "/missing/../etc")


def test_nul_byte_is_an_error(root: Path) -> None:
    with pytest.raises(OSError, match="NUL"):
        resolve_below(str(root), "/etc/\0")


def test_live_root_resolves_as_the_kernel_does(root: Path) -> None:
    (root / "link").symlink_to(root / "etc")
    assert resolve_below("/", f"{root}/link/docker") == os.path.realpath(f"{root}/etc/docker")


NAMES = st.sampled_from(["a", "b", "..", ".", "/a", "/", "../b", "a/b", "/../x", "b/.."])


@given(
    links=st.dictionaries(st.sampled_from(["a", "b", "d/a", "d/x"]), NAMES, max_size=4),
    parts=st.lists(NAMES, max_size=6),
)
def test_no_path_leaves_the_root(
    tmp_path_factory: pytest.TempPathFactory, links: dict[str, str], parts: list[str]
) -> None:
    top = tmp_path_factory.mktemp("tree")
    (top / "d").mkdir()
    for name, target in links.items():
        (top / name).symlink_to(target)
    try:
        place = resolve_below(str(top), "/".join(["", *parts]))
    except OSError:
        return
    assert place == str(top) or place.startswith(f"{top}/")
    assert ".." not in place.split("/")
    assert os.path.realpath(place) == os.path.realpath(top) + place[len(str(top)) :].rstrip("/")


@pytest.mark.parametrize(
    ("go", "python"), [("*.toml", "*.toml"), ("[^a]*", "[!a]*"), (r"\*x", "[*]x"), ("a?b", "a?b"), ("x\\", "x\\")]
)
def test_glob_pattern_is_translated(go: str, python: str) -> None:
    assert glob_pattern(go) == python
