"""Makes the hosts that scripts/bench measures `cdi generate` on: a whole driver, GPUs, MIG devices, real device nodes.

Nodes take the right to make them: without it the rows are left out.
"""

import os
import stat
import struct
from pathlib import Path

from bench_gpu_host import VERSION, link, write

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
FILES = (
    *(
        f"usr/bin/{name}"
        for name in ("nvidia-smi", "nvidia-debugdump", "nvidia-persistenced", "nvidia-cuda-mps-control")
    ),
    *("usr/share/glvnd/egl_vendor.d/10_nvidia.json", "etc/OpenCL/vendors/nvidia.icd"),
    *("usr/share/nvidia/nvoptix.bin", "etc/vulkan/icd.d/nvidia_icd.json", "run/nvidia-persistenced/socket"),
    *(f"lib/firmware/nvidia/{VERSION}/gsp_{name}.bin" for name in ("ga10x", "tu10x")),
)
CONTROL_NODES = (
    ("nvidiactl", 195, 255),
    ("nvidia-modeset", 195, 254),
    ("nvidia-uvm", 508, 0),
    ("nvidia-uvm-tools", 508, 1),
)
MIG_DEVICES = 7


def can_make_nodes() -> bool:
    """Whether mknod is allowed here."""
    return os.geteuid() == 0


def make_generate_host(folder: Path) -> None:
    """Eight whole GPUs with DRM nodes."""
    make_driver(folder)
    for number in range(8):
        make_gpu(folder, number, drm=True)


def make_mig_host(folder: Path) -> None:
    """Sixteen GPUs with seven MIG devices each."""
    make_driver(folder)
    minors = []
    for number in range(16):
        make_gpu(folder, number, drm=False)
        for instance in range(MIG_DEVICES):
            minor = 1000 * number + 10 * instance
            place = folder / f"proc/driver/nvidia/capabilities/gpu{number}/mig/gi{instance}"
            write(place / "access", f"DeviceFileMinor: {minor}\n")
            write(place / "ci0/access", f"DeviceFileMinor: {minor + 1}\n")
            minors += [
                f"gpu{number}/gi{instance}/access {minor}\n",
                f"gpu{number}/gi{instance}/ci0/access {minor + 1}\n",
            ]
            for cap in (minor, minor + 1):
                make_node(folder / f"dev/nvidia-caps/nvidia-cap{cap}", 235, cap)
    write(folder / "proc/driver/nvidia-caps/mig-minors", "".join(minors))


def make_driver(folder: Path) -> None:
    write(
        folder / "proc/driver/nvidia/version", f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {VERSION}  Release\n"
    )
    write(folder / "proc/sys/kernel/arch", "x86_64\n")
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
    for name in FILES:
        write(folder / name, "", 0o755)
    for name, major, minor in CONTROL_NODES:
        make_node(folder / "dev" / name, major, minor)


def make_gpu(folder: Path, number: int, *, drm: bool) -> None:
    address = f"0000:{0x1B + number:02x}:00.0"
    text = f"Model: \t\t NVIDIA H100\nGPU UUID: \t GPU-{number:08x}\nDevice Minor: \t {number}\n"
    write(folder / "proc/driver/nvidia/gpus" / address / "information", text)
    make_node(folder / f"dev/nvidia{number}", 195, number)
    for kind, minor in (("card", number), ("renderD", 128 + number)) if drm else ():
        write(folder / f"sys/bus/pci/devices/{address}/drm/{kind}{minor}/uevent", "")
        make_node(folder / f"dev/dri/{kind}{minor}", 226, minor)
        link(folder / f"dev/dri/by-path/pci-{address}-{kind.removesuffix('D')}", f"../{kind}{minor}")


def make_node(path: Path, major: int, minor: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(major, minor))


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
