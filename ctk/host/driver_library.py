"""Finds the driver's libraries and asks one of them in a watched child process; it loads none into this process.

The library is that of the driver root, by its full path, and is not asked at all unless the kernel module is loaded:
asking may load modules and make device nodes.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ctk.facts import Unknown
from ctk.facts.modules import CORE_MODULES
from ctk.facts.nvml import NvmlHang
from ctk.host import Host
from ctk.host.reading import ABSENT, try_exists, try_read_text, unknown_from

DRIVER_ROOTS = ("/", "/run/nvidia/driver")
"""Where the driver's files may start: the host itself, and the mount of a driver container (GPU Operator)."""

LIBRARY_FOLDERS = (
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/usr/lib/aarch64-linux-gnu/nvidia/current",
    "/usr/lib/aarch64-linux-gnu/nvidia",
    "/usr/lib/aarch64-linux-gnu/tegra",
    "/usr/lib/wsl/lib",
    "/usr/lib64/nvidia",
    "/usr/lib",
    "/lib64",
    "/run/opengl-driver/lib",
    "/usr/local/nvidia/lib64",
    "/home/kubernetes/bin/nvidia/lib64",
    "/usr/local/glibc/usr/lib",
)
"""Distributions' folders, then WSL, NixOS, images that bring the driver below /usr/local, COS and Talos."""

ELF_MACHINE = {"x86_64": 62, "aarch64": 183}
START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from {module} import main; main(sys.argv[2])"
UNINTERRUPTIBLE = "D"


class Talk(NamedTuple):
    """What a child printed until it ended; reason, signal: why it did not end by itself. hang: at the deadline."""

    printed: str
    failure: str
    elapsed_milliseconds: int
    hang: NvmlHang | None


def find_askable(
    host: Host, name: str, roots: Sequence[str] = DRIVER_ROOTS, places: Sequence[str] = ()
) -> str | None | Unknown:
    """The library to ask, None = there is none; Unknown = it is not to be asked, and why. places: tried first."""
    obstacle = find_obstacle(host)
    if obstacle:
        return Unknown(f"not asked: {obstacle}")
    library = find_library(host, name, roots, places)
    if not isinstance(library, str):
        return library
    distrust = _why_not_trusted(host, library)
    return Unknown(f"not asked: {distrust}") if distrust else library


def find_obstacle(host: Host) -> str:
    """Why the library must not be asked, "" if it may. On WSL 2 the driver is in Windows, behind /dev/dxg."""
    modules = try_read_text(host, "/proc/modules")
    if isinstance(modules, Unknown):
        return f"/proc/modules: {modules.reason}"
    state = parse_module_state(modules or "")
    if state is None:
        return "" if try_exists(host, "/dev/dxg") is True else "the kernel module nvidia is not loaded"
    return "" if state == "Live" else f"the kernel module nvidia is in the state {state}"


def parse_module_state(modules: str) -> str | None:
    """The state of the module nvidia in /proc/modules: Live, Loading or Unloading."""
    for line in modules.splitlines():
        fields = line.split()
        if fields and fields[0] in CORE_MODULES:
            return fields[4] if len(fields) > 4 else "Live"
    return None


def find_library(
    host: Host, name: str, roots: Sequence[str] = DRIVER_ROOTS, places: Sequence[str] = ()
) -> str | None | Unknown:
    """A library of this machine's architecture, by its path on the host; None = looked and not there."""
    hidden: Unknown | None = None
    usual = (f"{root.rstrip('/')}{folder}/{name}" for root in roots for folder in LIBRARY_FOLDERS)
    for path in (*places, *usual):
        try:
            if host.is_file(path) and is_loadable(host.read_head(path, 20), os.uname().machine):
                return path
        except ABSENT:
            continue
        except OSError as error:
            hidden = hidden or Unknown(f"{path}: {unknown_from(error).reason}")
    return hidden


def is_loadable(header: bytes, machine: str) -> bool:
    """A 64-bit ELF file for the machine; one of an unknown machine is left to the loader to judge."""
    if len(header) < 20 or header[:5] != b"\x7fELF\x02":
        return False
    wanted = ELF_MACHINE.get(machine)
    return wanted is None or int.from_bytes(header[18:20], "little") == wanted


def _why_not_trusted(host: Host, path: str) -> str:
    from ctk.host.programs import why_not_trusted

    try:
        return why_not_trusted(host, path)
    except OSError as error:
        return f"{path}: {unknown_from(error).reason}"


def ask(
    host: Host, module: str, library: str, timeout_seconds: float, environment: Mapping[str, str]
) -> Talk | Unknown:
    """Runs the module's main() with the library's path on this machine, in a fresh isolated interpreter."""
    import json
    import time

    from ctk.host.local import run_watched

    if not sys.executable:
        return Unknown("not asked: the path of the Python interpreter is not known")
    folders = json.dumps([folder for folder in sys.path if os.path.isabs(folder)])
    command = (sys.executable, "-I", "-c", START.format(module=module), folders, host.real_path(library))
    start = time.monotonic()
    output, sleepers = run_watched(command, timeout_seconds, environment)
    elapsed = round((time.monotonic() - start) * 1000)
    hang = None
    if output.returncode is None and sleepers:
        stuck = next((one for one in sleepers if one.state == UNINTERRUPTIBLE), sleepers[0])
        hang = NvmlHang(
            deadline_milliseconds=round(timeout_seconds * 1000),
            asking="",
            gpu=None,
            program=stuck.name,
            state=stuck.state,
            wait_channel=stuck.wait_channel or None,
        )
    return Talk(output.stdout, _describe_end(output.returncode, output.reason, output.stderr), elapsed, hang)


def _describe_end(returncode: int | None, reason: str, stderr: str) -> str:
    """Why there are no more answers; "" when the child said all it had to."""
    if returncode is None:
        return reason
    if returncode < 0:
        return f"the library ended its process with signal {-returncode}"
    last = stderr.strip().splitlines()[-1:] if returncode else []
    return last[0] if last else ""
