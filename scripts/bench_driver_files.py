"""What the hosts of scripts/bench have in common: files, links, nodes, a driver's libraries, a loader's cache."""

import os
import stat
import struct
from pathlib import Path

VERSION = "580.95.05"
FOLDER = "usr/lib/x86_64-linux-gnu"
LIBRARIES = (
    *("libcuda", "libcudadebugger", "libnvidia-ml", "libnvidia-cfg", "libnvidia-opencl", "libnvidia-gpucomp"),
    *("libnvidia-ptxjitcompiler", "libnvidia-allocator", "libnvidia-pkcs11", "libnvidia-nvvm", "libnvidia-encode"),
    *(
        "libnvidia-opticalflow",
        "libnvcuvid",
        "libnvidia-eglcore",
        "libnvidia-glcore",
        "libnvidia-tls",
        "libnvidia-glsi",
    ),
    *("libnvidia-fbc", "libnvidia-rtcore", "libnvoptix", "libGLX_nvidia", "libEGL_nvidia", "libGLESv2_nvidia"),
    *("libGLESv1_CM_nvidia", "libnvidia-glvkspirv", "libnvidia-ngx", "libnvidia-sandboxutils", "libnvidia-api"),
)
OTHER_NAMES = 1500
"""Libraries of everybody else in the loader's cache and in the folder."""
CONTROL_NODES = (
    ("nvidiactl", 195, 255),
    ("nvidia-modeset", 195, 254),
    ("nvidia-uvm", 508, 0),
    ("nvidia-uvm-tools", 508, 1),
)


def write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)


def link(path: Path, target: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


def can_make_nodes() -> bool:
    """Whether mknod is allowed here."""
    return os.geteuid() == 0


def make_libraries(folder: Path) -> None:
    """Every library of a driver, among those of everybody else, in the folder and in the loader's cache."""
    for stem in LIBRARIES:
        path = folder / FOLDER / f"{stem}.so.{VERSION}"
        write(path, "")
        path.write_bytes(library(f"{stem}.so.1"))
        link(folder / FOLDER / f"{stem}.so.1", path.name)
    others = [f"libother{number:04}.so.1" for number in range(OTHER_NAMES)]
    for name in others:
        link(folder / FOLDER / name, "libc.so.6")
    names = sorted([*(f"{stem}.so.1" for stem in LIBRARIES), *others], reverse=True)
    (folder / "etc").mkdir(exist_ok=True)
    (folder / "etc/ld.so.cache").write_bytes(loader_cache(names))


def make_control_nodes(folder: Path) -> None:
    """The nodes that belong to no GPU."""
    for name, major, minor in CONTROL_NODES:
        make_node(folder / "dev" / name, major, minor)


def make_node(path: Path, major: int, minor: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(major, minor))
    path.chmod(0o666)  # whatever the umask is


def library(soname: str) -> bytes:
    """The smallest 64-bit library with a SONAME (elf(5))."""
    texts = b"\0" + soname.encode() + b"\0"
    dynamic = struct.pack("<6Q", 14, 1, 5, 0x1000 + 224, 0, 0)
    head = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    total = 224 + len(texts)
    load = struct.pack("<IIQQQQQQ", 1, 4, 0, 0x1000, 0x1000, total, total, 8)
    return head + load + struct.pack("<IIQQQQQQ", 2, 4, 176, 0x10B0, 0x10B0, 48, 48, 8) + dynamic + texts


def loader_cache(names: list[str]) -> bytes:
    """A cache in glibc's layout 1.1 (dl-cache.h): each library of the folder, for x86-64."""
    start = 48 + 24 * len(names)
    texts, entries = b"", b""
    for name in names:
        key = start + len(texts)
        texts += f"{name}\0/{FOLDER}/{name}\0".encode()
        entries += struct.pack("<4IQ", 0x0303, key, key + len(name) + 1, 0, 0)
    return b"glibc-ld.so.cache1.1" + struct.pack("<IIB3xI12x", len(names), len(texts), 2, 0) + entries + texts
