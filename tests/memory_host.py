"""A host of tests/hosts without a copy of its tree: its layers are looked up where they lie, which costs a quarter.

It answers as tests.fake_host does, for what only looks; a test that changes files needs the real tree.
"""

import errno
import functools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ctk.facts.snapshot import Snapshot
from ctk.host.paths import LINK_LIMIT, split
from tests.fake_host import HOSTS, FakeHost, Rows, cached_libraries, merge_rows, read_rows, snapshot_of_host

ROOT = "/no-such-tree"


class Entry(NamedTuple):
    """One name of a tree. target: a link's text, None for a file or a folder."""

    source: str
    is_folder: bool
    target: str | None = None


Tree = dict[str, Entry]


@functools.cache
def _read_layer(folder: Path) -> Tree:
    """Read once a run: the trees of the tests do not change."""
    found: Tree = {"": Entry(str(folder), True)}
    for place, folders, files in os.walk(folder):
        below = place[len(str(folder)) :]
        for name in (*folders, *files):
            source = f"{place}/{name}"
            target = os.readlink(source) if os.path.islink(source) else None
            found[f"{below}/{name}"] = Entry(source, name in folders and target is None, target)
    return found


def lay_over(name: str) -> tuple[Tree, Rows]:
    """The host's tree and rows: its base's, without what it lacks, then its own."""
    folder = HOSTS / name
    own = read_rows(folder / "host.toml")
    tree, base = lay_over(own["base"]) if "base" in own else ({"": Entry(str(HOSTS), True)}, {})
    for path in own.get("remove", ()):
        tree = {place: entry for place, entry in tree.items() if place != path and not place.startswith(f"{path}/")}
    if (folder / "rootfs").is_dir():
        tree = {**tree, **_read_layer(folder / "rootfs")}
    return tree, merge_rows(base, own)


class MemoryHost(FakeHost):
    """Paths lead to the files of the layers; what a folder holds is known from all of them."""

    def __init__(self, tree: Tree, rows: Mapping[str, Any]) -> None:
        super().__init__(ROOT, rows)
        self._tree = tree
        self._children: dict[str, set[str]] = {}
        for path in tree:
            folder, _, name = path.rpartition("/")
            if name:
                self._children.setdefault(folder, set()).add(name)

    def real_path(self, path: str) -> str:
        return self.root + self._resolve(path, follow_last=True)

    def list_directory(self, path: str) -> tuple[str, ...]:
        self._place(path)
        folder = self._resolve(path, follow_last=True).rstrip("/")
        names = {place[len(folder) + 1 :].partition("/")[0] for place in self._nodes if place.startswith(f"{folder}/")}
        entry = self._tree.get(folder)
        if entry is None and not names:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        if entry is not None and not entry.is_folder:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        return tuple(sorted(names | self._children.get(folder, set()), key=os.fsencode))

    def _below(self, path: str) -> str:
        self._check_denied(path)
        return self._resolve(path, follow_last=True)

    def _place(self, path: str, *, follow_last: bool = True) -> str:
        self._check_denied(path)
        resolved = self._resolve(path, follow_last=follow_last)
        entry = self._tree.get(resolved.rstrip("/"))
        return entry.source if entry is not None else f"{ROOT}{resolved}"

    def _resolve(self, path: str, *, follow_last: bool) -> str:
        """As ctk.host.paths.resolve_below does it, without asking the disk."""
        pending, done, links, missing = split(path)[::-1], list[str](), 0, False
        while pending:
            name = pending.pop()
            if name == "..":
                if missing:
                    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
                del done[-1:]
                continue
            done.append(name)
            entry = None if missing else self._tree.get("/" + "/".join(done))
            missing = entry is None
            if entry is None:
                continue
            if entry.target is not None and (pending or follow_last):
                links += 1
                if links > LINK_LIMIT:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
                done = [] if entry.target.startswith("/") else done[:-1]
                pending += split(entry.target)[::-1]
            elif pending and not entry.is_folder:
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        return "/" + "/".join(done)


def host_in_memory(name: str, folder: Path) -> tuple[MemoryHost, Rows]:
    """The host and its rows, as tests.fake_host.build_host. folder: for a file that no layer holds, made if needed."""
    tree, rows = lay_over(name)
    cache = cached_libraries(rows)
    if cache is not None and "/etc/ld.so.cache" not in tree:
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "ld.so.cache"
        file.write_bytes(cache)
        tree = {**tree, "/etc/ld.so.cache": Entry(str(file), False), "/etc": tree.get("/etc", Entry(str(folder), True))}
    return MemoryHost(tree, rows), rows


def snapshot_in_memory(name: str, folder: Path) -> Snapshot:
    """What tests.fake_host.snapshot_of says of the host."""
    return snapshot_of_host(*host_in_memory(name, folder))
