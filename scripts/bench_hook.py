"""The container that scripts/bench starts hooks on: by ctk's one process, and by NVIDIA's six if they are here.

ldconfig's own time is not ctk's: where it is to be left out, a program that ends at once stands in for it.
"""

import json
import os
import platform
import shlex
import shutil
import stat
import struct
from pathlib import Path

LIBRARIES = "/usr/lib/x86_64-linux-gnu"
SCRIPT = "ctk/inject/hook_main.py"
VERSION = "550.54.15"
NAMES = [
    "cuda",
    "nvidia-ml",
    "nvidia-ptxjitcompiler",
    "nvidia-encode",
    "nvcuvid",
    "nvidia-opticalflow",
    "nvidia-cfg",
    "nvidia-allocator",
    "nvidia-glcore",
    "nvidia-tls",
    "EGL_nvidia",
    "GLX_nvidia",
    "GLESv1_CM_nvidia",
    "GLESv2_nvidia",
    "nvidia-nvvm",
]
LINKS = tuple(
    word
    for name in NAMES
    for word in (
        f"--link=lib{name}.so.{VERSION}::{LIBRARIES}/lib{name}.so.1",
        f"--link=lib{name}.so.1::{LIBRARIES}/lib{name}.so",
    )
)
DRIVER = f"--host-driver-version={VERSION}"
FOLDER = f"--folder={LIBRARIES}"
STATE = "--container-spec={folder}/state.json"
NO_LDCONFIG = "--ldconfig-path={folder}/run/ends-at-once"
APPLY = ("apply", *LINKS, DRIVER, FOLDER, "--disable-device-node-modification", "--update-application-profile", STATE)
NVIDIA_HOOKS: tuple[tuple[str, ...], ...] = (
    ("create-symlinks", *LINKS[:4]),
    ("create-symlinks", *LINKS[4:]),
    ("enable-cuda-compat", DRIVER),
    ("update-ldcache", FOLDER),
    ("disable-device-node-modification",),
    ("update-application-profile",),
)
EXIT_PROGRAMS = {
    "x86_64": (62, bytes.fromhex("31ff b83c000000 0f05")),  # edi = 0, eax = exit, syscall
    "aarch64": (183, bytes.fromhex("000080d2 a80b80d2 010000d4")),  # x0 = 0, x8 = exit, svc
}
LOAD_ADDRESS = 0x400000


def can_start_containers() -> bool:
    """Hooks are root's work, and the stand-in is written for these machines."""
    return os.geteuid() == 0 and platform.machine() in EXIT_PROGRAMS


def find_nvidia_hook() -> str | None:
    """NVIDIA's program, and what it takes to give it a root that is a mount."""
    return shutil.which("nvidia-cdi-hook") if shutil.which("unshare") else None


def make_exit_program(path: Path) -> None:
    """A static program that ends at once: one header, one segment, two instructions."""
    machine, code = EXIT_PROGRAMS[platform.machine()]
    size = 64 + 56 + len(code)
    head = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    head += struct.pack("<HHIQQQIHHHHHH", 2, machine, 1, LOAD_ADDRESS + 120, 64, 0, 0, 64, 56, 1, 64, 0, 0)
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0, LOAD_ADDRESS, LOAD_ADDRESS, size, size, 0x1000)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(head + segment + code)
    path.chmod(0o755)


def make_container(folder: Path) -> None:
    """A root with a driver's libraries, a GPU and CUDA's compatibility library, and the state that names it."""
    for name in NAMES:
        write(folder / LIBRARIES.lstrip("/") / f"lib{name}.so.{VERSION}", "")
    write(folder / "usr/local/cuda/compat/libcuda.so.575.57.08", "\x7fELF\x02\x01\x01".ljust(64, "\0"))
    write(folder / "etc/debian_version", "12.5\n")
    write(folder / "etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n")
    write(folder / "etc/ld.so.conf.d/x86_64-linux-gnu.conf", f"/usr/local/lib\n{LIBRARIES}\n")
    for name in ("dev", "proc", "sys", "run"):
        (folder / name).mkdir(exist_ok=True)
    os.mknod(folder / "dev/nvidia0", stat.S_IFCHR | 0o666, os.makedev(195, 0))
    make_exit_program(folder / "run/ends-at-once")
    write(folder / "state.json", json.dumps({"ociVersion": "1.0.2", "bundle": str(folder), "root": str(folder)}))


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def in_a_container(*commands: tuple[str, ...]) -> tuple[str, ...]:
    """The commands, one after the other, where the root is a mount, as engines and NVIDIA's hooks have it."""
    lines = ["mount --bind {folder} {folder}", *(shlex.join(command) for command in commands)]
    return (
        shutil.which("unshare") or "unshare",
        "-m",
        "/bin/sh",
        "-c",
        "PATH=/usr/sbin:/usr/bin; " + " && ".join(lines),
    )


def nvidia_commands(program: str) -> tuple[str, ...]:
    """All six."""
    return in_a_container(*((program, *words, STATE) for words in NVIDIA_HOOKS))
