#!/usr/bin/env python3
"""Turns a machine into tests/hosts/NAME: what discovery looks at, nothing else; secrets are masked, nothing is run."""

import argparse
import errno
import json
import os
import re
import stat
import sys
from collections.abc import Sequence
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
if str(CHECKOUT) not in sys.path:
    sys.path.insert(0, str(CHECKOUT))

from ctk.facts.command import CommandOutput  # noqa: E402 - the checkout must be found first
from ctk.facts.device_nodes import DeviceNodes, DevMount  # noqa: E402 - the checkout must be found first
from ctk.facts.loader import Loader, LoaderCache  # noqa: E402 - the checkout must be found first
from ctk.facts.snapshot import Snapshot  # noqa: E402 - the checkout must be found first
from ctk.host.collect import collect  # noqa: E402 - the checkout must be found first
from ctk.host.local import LocalHost  # noqa: E402 - the checkout must be found first

ASKED_OF_THE_KERNEL = ("/proc/sys/kernel/osrelease", "/proc/sys/kernel/arch", "/etc/hostname")
"""On the live host these are system calls; below a root discovery reads the files."""

MOUNTS = "/proc/1/mountinfo"
IN_ROWS = ("/etc/ld.so.cache", MOUNTS)
"""What is written anew instead: a cache whose texts are masked is damaged, and most mounts are nobody's business."""

STAND_IN = b"#!/bin/sh\n# Stands for the real program; nothing below another root is ever run.\n"
ELF_HEAD_BYTES = 20  # as far as the field that names the machine
LINK_LIMIT = 40
SECRET_KEY = rb"[\w.-]*(?:token|secret|passw|auth|credential|api[-_]?key)[\w.-]*[\"']?"
SECRET = re.compile(rb"(?im)(" + SECRET_KEY + rb"[ \t]*[:=][ \t]*)(\"[^\"\n]*\"|'[^'\n]*'|[^\s,}]+)")
CREDENTIALS_IN_URL = re.compile(rb"(?<=://)[^/@\s\"']+@")


class RecordingHost(LocalHost):
    """A host that remembers every path it was asked for. It runs no program: a recorded host cannot either."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.touched: set[str] = set()

    def _place(self, path: str, *, follow_last: bool = True) -> str:
        self.touched.add(self._absolute(path))
        return super()._place(path, follow_last=follow_last)

    def real_path(self, path: str) -> str:
        self.touched.add(self._absolute(path))
        return super().real_path(path)

    def read_head(self, path: str, count: int = 4096) -> bytes:
        self.touched.add(path)
        return super().read_head(path, count)

    def glob(self, pattern: str) -> tuple[str, ...]:
        found = super().glob(pattern)
        self.touched.update(found)
        return found

    def run(self, argv: Sequence[str], timeout_seconds: float | None = None) -> CommandOutput:
        del timeout_seconds
        return CommandOutput(tuple(argv), None, "", "", "not run: recording")


def record(source: str, target: Path) -> Snapshot:
    """Writes the rootfs of the host below source into target, which must not exist; returns what was discovered."""
    host = RecordingHost(source)
    snapshot = collect(host)
    name = _host_name(host)
    target.mkdir(parents=True)
    for path in sorted((host.touched | set(ASKED_OF_THE_KERNEL)) - set(IN_ROWS)):
        if _is_worth_keeping(path, host.touched):
            _copy(host, path, target, name)
    _write_mount(snapshot, target)
    return snapshot


def _write_mount(snapshot: Snapshot, target: Path) -> None:
    """Only the mount that /dev is in: the others say where a company keeps its files."""
    mount = snapshot.device_nodes.mount if isinstance(snapshot.device_nodes, DeviceNodes) else None
    if isinstance(mount, DevMount):
        file = target / MOUNTS.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        point = mount.point.replace(" ", "\\040")
        line = f"1 0 0:5 / {point} {','.join(mount.options)} - {mount.type} none rw"
        file.write_text(line + "\n", encoding="utf-8")


def write_rows(snapshot: Snapshot) -> str:
    """What no tree of files can hold, as host.toml has it: nodes, and the loader's cache; "" when there is none."""
    loader = snapshot.loader
    cache = loader.cache if isinstance(loader, Loader) and isinstance(loader.cache, LoaderCache) else None
    nodes = snapshot.device_nodes.nodes if isinstance(snapshot.device_nodes, DeviceNodes) else ()
    lines = []
    if cache is not None and not cache.fault:
        rows = [
            f"    {{ name = {_toml(row.name)}, path = {_toml(row.path)}, bits = {row.bits} }}," for row in cache.entries
        ]
        lines += ["ld_cache = [", *rows, "]", ""]
    for node in nodes if isinstance(nodes, tuple) else ():
        if node.major is not None and node.target is None:
            lines += ["[[device]]", f"path = {_toml(node.path)}", f"type = {_toml(node.kind)}"]
            lines += [f"major = {node.major}", f"minor = {node.minor}", f'mode = "{node.mode or 0:04o}"']
            lines += [f"uid = {node.uid or 0}", f"gid = {node.gid or 0}", ""]
    return "\n".join(lines)


def _toml(text: str) -> str:
    """A basic string: JSON's escapes are TOML's, too."""
    return json.dumps(text.encode("utf-8", "replace").decode())


def _is_worth_keeping(path: str, touched: set[str]) -> bool:
    """Of most processes only the name was looked at, and that says nothing; the first one's tells the init."""
    if path.startswith("/proc/self/"):
        return False
    folder, _, name = path.rpartition("/")
    return name != "comm" or folder == "/proc/1" or f"{folder}/cmdline" in touched


def _copy(host: LocalHost, path: str, target: Path, name: bytes, depth: int = 0) -> None:
    """The path with every link on the way; a folder as an empty one, a program as a stand-in."""
    parts = [part for part in path.split("/") if part]
    for index in range(1, len(parts) + 1):
        place = "/" + "/".join(parts[:index])
        try:
            if host.is_link(place):
                rest = _copy_link(host, place, target)
                if rest and depth < LINK_LIMIT:
                    _copy(host, os.path.normpath("/".join([rest, *parts[index:]])), target, name, depth + 1)
                return
            _copy_one(host, place, target, name)
        except OSError:
            return


def _copy_link(host: LocalHost, path: str, target: Path) -> str:
    """The link itself; returns where it leads, "" for those of processes: what they name is looked at by name."""
    text = host.readlink(path)
    copy = target / path.lstrip("/")
    if not copy.is_symlink():
        copy.symlink_to(text)
    return "" if path.startswith("/proc/") else os.path.join(os.path.dirname(path), text)


def _copy_one(host: LocalHost, path: str, target: Path, name: bytes) -> None:
    mode = host.stat(path).st_mode
    copy = target / path.lstrip("/")
    if stat.S_ISDIR(mode):
        copy.mkdir(exist_ok=True)
    elif stat.S_ISREG(mode) and not copy.exists():
        copy.write_bytes(_content(host, path, name))
        copy.chmod(0o755 if mode & 0o111 else 0o644)


def _content(host: LocalHost, path: str, name: bytes) -> bytes:
    try:
        content = host.read_bytes(path)
    except OSError as error:
        return STAND_IN if error.errno == errno.EFBIG else b""
    if content.startswith(b"\x7fELF"):
        return content[:ELF_HEAD_BYTES]
    if content.startswith(b"#!"):
        return STAND_IN
    if path.endswith("/environ"):
        content = b"".join(item + b"\0" for item in content.split(b"\0") if item.startswith(b"container="))
    return mask(content, name)


def mask(content: bytes, name: bytes) -> bytes:
    """Without passwords, tokens, logins in addresses, and the machine's name."""
    content = SECRET.sub(_mask_value, content)
    content = CREDENTIALS_IN_URL.sub(b"***@", content)
    return re.sub(rb"(?<![\w.-])" + re.escape(name) + rb"(?![\w-])", b"recorded-host", content) if name else content


def _mask_value(found: re.Match[bytes]) -> bytes:
    """The quotes stay, so that the file keeps its form."""
    quote = found.group(2)[:1] if found.group(2)[:1] in (b"'", b'"') else b""
    return found.group(1) + quote + b"***" + quote


def _host_name(host: LocalHost) -> bytes:
    if host.is_live:
        return os.uname().nodename.encode()
    try:
        return host.read_bytes("/etc/hostname").strip()
    except OSError:
        return b""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", help="the folder to make below tests/hosts/")
    parser.add_argument("sentence", help="which machine it stands for, in one sentence")
    parser.add_argument("--root", default="/", help="the machine's root folder")
    options = parser.parse_args(arguments)
    folder = CHECKOUT / "tests" / "hosts" / options.name
    if folder.exists():
        print(f"cannot record {options.name}: {folder} exists; choose another name", file=sys.stderr)
        return 3
    rows = write_rows(record(options.root, folder / "rootfs"))
    if rows:
        (folder / "host.toml").write_text(rows, encoding="utf-8")
    (folder / "README.md").write_text(options.sentence.rstrip() + "\n", encoding="utf-8")
    print(f"Recorded {folder}. Read every file in it before you commit it: masking is no proof.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
