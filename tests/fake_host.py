"""A host of tests/hosts as the collectors see it: its tree, and in host.toml what no tree of files can hold.

host.toml:
    base = "healthy-one-gpu"       that host's tree and rows first; this one's files replace and add
    remove = ["/dev/char"]         what this one lacks of it; a folder with all below it
    user = 1000                    who looks, by number; without it root
    profile = "security"           what the doctor is asked for (--profile); without it triage
    [[device]]                     a device node: path, major, minor; type char or block, mode "0666", uid, gid
    ld_cache = [{name = "libcuda.so.1", path = "/usr/lib/x86_64-linux-gnu/libcuda.so.1"}]
                                   what /etc/ld.so.cache is made of, in place of the base's; bits = 32;
                                   a file of that name in the tree wins
    [[file]]                       what git keeps of no file: path, mode "4755", uid, gid; changed, RFC 3339, in place
                                   of a time long before anything runs
    [[docker]]                     what a running dockerd answers: socket, [docker.info] with the names of GET /info
    [[socket]]                     whether somebody answers at a socket: path, listens
    [[command]]                    what a program would say: argv, stdout; returncode 0, stderr, reason
    [[denied]]                     path: it and all below it may not be read
    [nvml]                         what NVIDIA's library would answer: the record of ctk.facts.nvml; absent = true:
                                   there is none; unasked = true: what the collector says without asking
"""

import dataclasses
import errno
import json
import os
import shutil
import stat
import tomllib
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from ctk.facts import Unknown
from ctk.facts.codec import record_from_document
from ctk.facts.command import CommandOutput
from ctk.facts.engines import EngineInstallation
from ctk.facts.nvml import Nvml
from ctk.facts.observer import Observer
from ctk.facts.snapshot import Snapshot
from ctk.host import LocalHost
from ctk.host.collect import collect
from ctk.host.docker_api import DockerInfo, parse_docker_info
from ctk.host.engine_daemons import make_daemon
from ctk.host.smi import collect_licence_status
from tests.ld_caches import make_ld_cache

HOSTS = Path(__file__).parent / "hosts"
KINDS = {"char": stat.S_IFCHR, "block": stat.S_IFBLK}
FOLDER = (stat.S_IFDIR | 0o755, 1, 1, 2, 0, 0, 0, 0, 0, 0)
LISTS = ("device", "file", "command", "denied", "docker", "socket")
LONG_AGO = 1704067200  # 2024-01-01: a checkout's own files have the time of the checkout

Rows = dict[str, Any]


class FakeHost(LocalHost):
    """A tree of files with device nodes, answers of programs, and folders that may not be read."""

    def __init__(self, root: str, rows: Mapping[str, Any] | None = None) -> None:
        super().__init__(root, environment={"HOME": "/root"})
        rows = rows or {}
        self._nodes: dict[str, Mapping[str, Any]] = {row["path"]: row for row in rows.get("device", ())}
        self._files: dict[str, Mapping[str, Any]] = {row["path"]: row for row in rows.get("file", ())}
        self._answers = {tuple(row["argv"]): row for row in rows.get("command", ())}
        self._denied: tuple[str, ...] = tuple(row["path"] for row in rows.get("denied", ()))
        self._user: int | None = rows.get("user")
        self._node_tops = {path.split("/")[1] for path in self._nodes}

    def stat(self, path: str) -> os.stat_result:
        node = self._node(path)
        if node is not None:
            return _stat_of(node)
        found = super().stat(path)
        row = self._files.get(self._below(path))
        return _with_times(_with_owner(found, row) if row is not None else found, row or {})

    def lstat(self, path: str) -> os.stat_result:
        self._place(path, follow_last=False)  # it may be closed
        node = self._nodes.get(path)
        if node is not None:
            return _stat_of(node)
        return super().lstat(path) if not self._holds_nodes(path) else os.stat_result(FOLDER)

    def may_use(self, path: str) -> bool | None:
        """What access(2) says to the user of the rows; None when they name none."""
        if self._user is None:
            return None
        status = self.stat(path)
        return (status.st_mode >> (6 if status.st_uid == self._user else 0)) & 0o6 == 0o6

    def _holds_nodes(self, path: str) -> bool:
        return any(place.startswith(f"{path}/") for place in self._nodes)

    def list_directory(self, path: str) -> tuple[str, ...]:
        folder = self._below(path) if path.split("/", 2)[1] in self._node_tops or self._denied else path
        inside = [place.removeprefix(f"{folder}/") for place in self._nodes if place.startswith(f"{folder}/")]
        names = {place.partition("/")[0] for place in inside}
        try:
            names |= set(super().list_directory(path))
        except FileNotFoundError:
            if not names:
                raise
        return tuple(sorted(names, key=os.fsencode))

    def run(self, argv: Sequence[str], timeout_seconds: float | None = None) -> CommandOutput:
        row = self._answers.get(tuple(argv))
        if row is None:
            return super().run(argv, timeout_seconds)
        code = None if "reason" in row else row.get("returncode", 0)
        return CommandOutput(tuple(argv), code, row.get("stdout", ""), row.get("stderr", ""), row.get("reason", ""))

    def _mode(self, path: str) -> int | None:
        node = self._node(path)
        if node is not None:
            return _stat_of(node).st_mode
        return FOLDER[0] if self._holds_nodes(path) else super()._mode(path)

    def _place(self, path: str, *, follow_last: bool = True) -> str:
        self._check_denied(path)
        return super()._place(path, follow_last=follow_last)

    def _check_denied(self, path: str) -> None:
        if any(path == denied or path.startswith(f"{denied}/") for denied in self._denied):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    def _below(self, path: str) -> str:
        """The path on the host with its links resolved."""
        return self._place(path)[len(self.root.rstrip("/")) :] or "/"

    def _node(self, path: str) -> Mapping[str, Any] | None:
        """No link leads into /dev from elsewhere: what lies in another folder need not be resolved for this."""
        if path.split("/", 2)[1] not in self._node_tops and not self._denied:
            return None
        try:
            return self._nodes.get(self._below(path))
        except (FileNotFoundError, NotADirectoryError):
            return None


def _stat_of(row: Mapping[str, Any]) -> os.stat_result:
    mode = KINDS[row.get("type", "char")] | int(row.get("mode", "0666"), 8)
    fields = (mode, 1, 1, 1, row.get("uid", 0), row.get("gid", 0), 0, 0, 0, 0)
    return os.stat_result(fields, {"st_rdev": os.makedev(row["major"], row["minor"])})


def _with_owner(found: os.stat_result, row: Mapping[str, Any]) -> os.stat_result:
    mode = stat.S_IFMT(found.st_mode) | int(row["mode"], 8) if "mode" in row else found.st_mode
    owner = (row.get("uid", 0), row.get("gid", 0))
    return os.stat_result((mode, *found[1:4], *owner, *found[6:10]))


def _with_times(found: os.stat_result, row: Mapping[str, Any]) -> os.stat_result:
    changed = int(datetime.fromisoformat(row["changed"]).timestamp()) if "changed" in row else LONG_AGO
    return os.stat_result((*found[:7], changed, changed, changed))


def names_of_hosts() -> list[str]:
    """All of tests/hosts that stand for a machine."""
    return sorted(folder.name for folder in HOSTS.iterdir() if (folder / "README.md").is_file() and _has_tree(folder))


def _has_tree(folder: Path) -> bool:
    return (folder / "rootfs").is_dir() or (folder / "host.toml").is_file()


def build_host(name: str, target: Path) -> tuple[FakeHost, Rows]:
    """The host below target, which is made: its base's tree, then its own. Also its rows."""
    rows = _lay_out(name, target)
    cache = cached_libraries(rows)
    if cache is not None and not (target / "etc/ld.so.cache").exists():
        (target / "etc/ld.so.cache").write_bytes(cache)
    return FakeHost(str(target), rows), rows


def cached_libraries(rows: Rows) -> bytes | None:
    """The loader's cache that the rows name; None: they name none, or take it away."""
    cached = rows.get("ld_cache")
    if cached is None or "/etc/ld.so.cache" in rows["removed"]:
        return None
    flags = {32: 0x0003, 64: 0x0303}
    return make_ld_cache(*((row["name"], row["path"], flags[row.get("bits", 64)]) for row in cached))


def _lay_out(name: str, target: Path) -> Rows:
    folder = HOSTS / name
    own = read_rows(folder / "host.toml")
    base = _lay_out(own["base"], target) if "base" in own else {}
    for path in own.get("remove", ()):
        _remove(target / path.lstrip("/"))
    if (folder / "rootfs").is_dir():
        _copy_tree(folder / "rootfs", target)
    target.mkdir(exist_ok=True, parents=True)
    return merge_rows(base, own)


def read_rows(path: Path) -> Rows:
    """A host.toml; nothing where there is none."""
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _copy_tree(source: Path, target: Path) -> None:
    """As it is, links as links; a file takes the place of a link. Without extended attributes, which cost most."""
    target.mkdir(parents=True, exist_ok=True)
    with os.scandir(source) as entries:
        for entry in entries:
            copy = target / entry.name
            if entry.is_dir(follow_symlinks=False):
                _copy_tree(source / entry.name, copy)
                continue
            copy.unlink(missing_ok=True)
            if entry.is_symlink():
                copy.symlink_to(os.readlink(entry.path))
            else:
                _copy_file(entry, copy)


def _copy_file(entry: "os.DirEntry[str]", copy: Path) -> None:
    status = entry.stat()
    shutil.copyfile(entry.path, copy)
    copy.chmod(stat.S_IMODE(status.st_mode))
    os.utime(copy, ns=(status.st_atime_ns, status.st_mtime_ns))


def merge_rows(base: Rows, own: Rows) -> Rows:
    """Rows of one list follow each other, without what was removed; a later row of the same path or argv wins."""
    removed = tuple(own.get("remove", ()))
    merged = {**base, **own, "removed": (*base.get("removed", ()), *removed)}
    for kind in LISTS:
        rows = [row for row in base.get(kind, ()) if not _is_removed(row.get("path", ""), removed)]
        merged[kind] = [*rows, *own.get(kind, ())]
    return merged


def _is_removed(path: str, removed: tuple[str, ...]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in removed)


def snapshot_of(name: str, target: Path) -> Snapshot:
    """Everything that is collected of the host, NVML's answers from its rows."""
    host, rows = build_host(name, target)
    return snapshot_of_host(host, rows)


def snapshot_of_host(host: FakeHost, rows: Rows) -> Snapshot:
    """The same, of a host that was made."""
    snapshot = collect(host, nvml_seconds=None)
    if isinstance(snapshot.observer, Observer):
        observer = dataclasses.replace(snapshot.observer, user_id=rows.get("user", 0))
        snapshot = dataclasses.replace(snapshot, observer=observer)
    snapshot = dataclasses.replace(snapshot, engines=_with_daemons(snapshot.engines, rows))
    is_asked = "nvml" in rows and not rows["nvml"].get("unasked", False)
    if not is_asked:
        return snapshot
    nvml = _nvml(rows)
    return dataclasses.replace(snapshot, nvml=nvml, licence_status=collect_licence_status(host, nvml))


def _with_daemons(
    engines: tuple[EngineInstallation, ...] | Unknown, rows: Rows
) -> tuple[EngineInstallation, ...] | Unknown:
    """The engines with what their running daemons answer."""
    if isinstance(engines, Unknown):
        return engines
    return tuple(_with_daemon(item, rows) if item.running is True else item for item in engines)


def _with_daemon(item: EngineInstallation, rows: Rows) -> EngineInstallation:
    for row in rows.get("docker", ()):
        if item.engine == "docker" and row["socket"] == item.socket:
            info = parse_docker_info(json.dumps(row["info"]).encode())
            assert isinstance(info, DockerInfo)
            item = item._replace(daemon=make_daemon(info), listens=True)
    for row in rows.get("socket", ()):
        item = item._replace(listens=row["listens"]) if row["path"] == item.socket else item
    return item


def _nvml(rows: Rows) -> Nvml | None:
    document = dict(rows["nvml"])
    if document.pop("absent", False):
        return None
    answer = record_from_document(Nvml, document)
    assert isinstance(answer, Nvml)
    return answer
