"""The device nodes below a dev root that a CDI spec may name, and what stands in a node's place; it opens none."""

import os
import stat
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from ctk.facts.driver_root import DeviceFile
from ctk.host import Host
from ctk.host.reading import ABSENT, unknown_from
from ctk.record import Record


class FoundNodes(Record):
    """Nodes in the order of their paths; unreadable: path and reason; others: paths that are no device nodes."""

    nodes: tuple[DeviceFile, ...] = ()
    unreadable: tuple[tuple[str, str], ...] = ()
    others: tuple[str, ...] = ()


def collect_nodes(host: Host, dev_root: str, patterns: Iterable[str]) -> FoundNodes:
    """Every node whose path below the dev root matches; a pattern has stars in its last name only."""
    nodes: dict[str, DeviceFile] = {}
    unreadable: list[tuple[str, str]] = []
    others: list[str] = []
    for path in sorted(set(_matching(host, dev_root, patterns, unreadable))):
        try:
            found = host.stat(dev_root.rstrip("/") + path)
        except ABSENT:
            continue
        except OSError as error:
            unreadable.append((path, unknown_from(error).reason))
            continue
        if stat.S_ISCHR(found.st_mode):
            nodes[path] = _node(path, found)
        elif not stat.S_ISDIR(found.st_mode):
            others.append(path)
    return FoundNodes(tuple(nodes.values()), tuple(unreadable), tuple(others))


def _node(path: str, found: os.stat_result) -> DeviceFile:
    return DeviceFile(
        path=path,
        major=os.major(found.st_rdev),
        minor=os.minor(found.st_rdev),
        mode=stat.S_IMODE(found.st_mode),
        uid=found.st_uid,
        gid=found.st_gid,
    )


def _matching(host: Host, dev_root: str, patterns: Iterable[str], unreadable: list[tuple[str, str]]) -> Iterator[str]:
    """The paths that match, each folder read once."""
    by_folder: dict[str, list[str]] = {}
    for pattern in patterns:
        folder, _, name = pattern.rpartition("/")
        by_folder.setdefault(folder, []).append(name)
    for folder, names in by_folder.items():
        if not any("*" in name for name in names):
            yield from (f"{folder}/{name}" for name in names)
            continue
        try:
            there = host.list_directory(dev_root.rstrip("/") + folder)
        except ABSENT:
            continue
        except OSError as error:
            unreadable.append((folder, unknown_from(error).reason))
            continue
        yield from (f"{folder}/{name}" for name in there if any(fnmatchcase(name, one) for one in names))
