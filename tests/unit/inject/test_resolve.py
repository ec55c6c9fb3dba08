"""Both ways to look a path up below a root find the same thing, and neither leaves the root."""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctk.inject.resolve import LINK_LIMIT, choose_resolver, open_by_walking, open_in_root

pytestmark = pytest.mark.real

Look = Callable[[str, bool], object]
NAMES = ("a", "b", "c", "d")


class Tree:
    """A root beside a folder that must never be found."""

    def __init__(self, folder: Path) -> None:
        self.top = folder
        self.root = folder / "root"
        self.root.mkdir()
        (folder / "outside").mkdir()
        (folder / "outside" / "secret").write_text("secret")
        self.descriptor = os.open(self.root, os.O_PATH | os.O_DIRECTORY)

    def look(self, resolve: Callable[[int, str, bool], int], path: str, follow: bool = True) -> object:
        """The inode that a path leads to, or the name of the error."""
        try:
            found = resolve(self.descriptor, path, follow)
        except OSError as error:
            return errno.errorcode[error.errno or 0]
        try:
            status = os.fstat(found)
            return status.st_ino, stat.S_IFMT(status.st_mode)
        finally:
            os.close(found)

    def both(self, path: str, follow: bool = True) -> tuple[object, object]:
        """What each way says."""
        before = len(os.listdir("/proc/self/fd"))
        answers = self.look(open_in_root, path, follow), self.look(open_by_walking, path, follow)
        assert len(os.listdir("/proc/self/fd")) == before, "a descriptor was left open"
        return answers


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Tree]:
    made = Tree(tmp_path)
    yield made
    os.close(made.descriptor)


def test_the_kernels_own_way_is_taken_where_there_is_one(tree: Tree) -> None:
    assert choose_resolver(tree.descriptor) is open_in_root


@pytest.mark.parametrize(
    "target",
    [
        "../outside",
        "../../../../../outside",
        "/outside",
        "{top}/outside",
        "x/../../outside",
        "/proc/self/root{top}/outside",
    ],
)
def test_a_link_leads_nowhere_outside(tree: Tree, target: str) -> None:
    (tree.root / "x").mkdir()
    (tree.root / "link").symlink_to(target.format(top=tree.top))
    for path in ("link", "/link/secret", "link/../link/secret", "x/../../link/./secret"):
        assert tree.both(path) == ("ENOENT", "ENOENT")


def test_what_a_link_names_is_found_inside(tree: Tree) -> None:
    inside = tree.root / "outside" / "secret"
    inside.parent.mkdir()
    inside.write_text("inside")
    for name, target in (
        ("one", "../outside"),
        ("two", "/outside"),
        ("three", "/../../outside/."),
        ("four", "one/../one"),
    ):
        (tree.root / name).symlink_to(target)
        assert tree.both(f"{name}/secret") == ((inside.stat().st_ino, stat.S_IFREG),) * 2


def test_a_link_at_the_end_is_found_itself_when_asked_for(tree: Tree) -> None:
    (tree.root / "link").symlink_to("nowhere")
    expected = (tree.root / "link").lstat().st_ino, stat.S_IFLNK
    assert tree.both("link", follow=False) == (expected, expected)
    assert tree.both("link") == ("ENOENT", "ENOENT")


@pytest.mark.parametrize("count", [LINK_LIMIT, LINK_LIMIT + 1, 200])
def test_chains_of_links_end_as_the_kernel_ends_them(tree: Tree, count: int) -> None:
    (tree.root / "end").write_text("")
    for index in range(count):
        (tree.root / f"link{index}").symlink_to(f"link{index - 1}" if index else "end")
    found = (tree.root / "end").stat().st_ino, stat.S_IFREG
    expected = found if count <= LINK_LIMIT else "ELOOP"
    assert tree.both(f"link{count - 1}") == (expected, expected)


@pytest.mark.parametrize("target", ["loop", "/loop", "../loop/.", "loop/loop"])
def test_a_loop_is_told(tree: Tree, target: str) -> None:
    (tree.root / "loop").symlink_to(target)
    assert tree.both("loop") == ("ELOOP", "ELOOP")


def test_a_file_is_no_folder(tree: Tree) -> None:
    (tree.root / "file").write_text("")
    for path in ("file/x", "file/..", "file/../file"):
        assert tree.both(path) == ("ENOTDIR", "ENOTDIR")


def test_nothing_is_opened_on_the_way(tree: Tree) -> None:
    os.mkfifo(tree.root / "fifo")
    expected = (tree.root / "fifo").stat().st_ino, stat.S_IFIFO
    assert tree.both("fifo") == (expected, expected)


PATHS = st.lists(st.sampled_from((*NAMES, "..", ".", "", "outside", "secret")), max_size=6).map("/".join)


@given(
    folders=st.lists(PATHS, max_size=4),
    links=st.dictionaries(st.sampled_from(NAMES), st.tuples(PATHS, PATHS), max_size=4),
    asked=st.lists(st.tuples(PATHS, st.booleans()), min_size=1, max_size=8),
)
def test_both_ways_agree_on_any_tree(
    tmp_path_factory: pytest.TempPathFactory,
    folders: list[str],
    links: dict[str, tuple[str, str]],
    asked: list[tuple[str, bool]],
) -> None:
    tree = Tree(tmp_path_factory.mktemp("tree"))
    outside = (tree.top / "outside").stat().st_ino, stat.S_IFDIR
    try:
        for path in folders:
            plain = [part for part in path.split("/") if part not in ("", ".", "..")]
            (tree.root / "/".join(plain)).mkdir(parents=True, exist_ok=True)
        for name, (place, target) in links.items():
            plain = [part for part in place.split("/") if part not in ("", ".", "..")]
            (tree.root / "/".join(plain)).mkdir(parents=True, exist_ok=True)
            where = tree.root / "/".join(plain) / f"{name}link"
            if target and not os.path.lexists(where):
                where.symlink_to(target)
        for path, follow in asked:
            for asked_path in (path, path.replace("a", "alink").replace("b", "blink")):
                one, other = tree.both(asked_path, follow)
                assert one == other
                assert one != outside
    finally:
        os.close(tree.descriptor)
