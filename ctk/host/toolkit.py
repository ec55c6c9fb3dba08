"""The programs of NVIDIA's toolkit and ctk's own: path and version; it reads none of their configuration."""

import os
import sys

from ctk.facts import Unknown
from ctk.facts.toolkit import ToolBinary
from ctk.host import Host
from ctk.host.programs import collect_version, find_program, is_executable
from ctk.host.reading import unknown_from
from ctk.host.system import parse_elf_machine

ELF_HEADER_BYTES = 20

TOOL_NAMES = (
    "nvidia-container-runtime",
    "nvidia-container-runtime-hook",
    "nvidia-ctk",
    "nvidia-cdi-hook",
    "nvidia-container-cli",
    "ctk",
    "ctk-container-runtime",
    "ctk-container-runtime-hook",
)

TOOL_FOLDERS = ("/usr/local/nvidia/toolkit", "/run/nvidia/toolkit", "/opt/nvidia/toolkit", "/usr/local/nvidia/bin")
"""Where the GPU Operator's toolkit container installs to (TOOLKIT_INSTALL_DIR and its older defaults)."""


def collect_toolkit(host: Host) -> tuple[ToolBinary, ...]:
    """One record for each program; the deadline of a version query is the host's."""
    return tuple(_collect_tool(host, name) for name in TOOL_NAMES)


def _collect_tool(host: Host, name: str) -> ToolBinary:
    path = find_program(host, (name,), (*TOOL_FOLDERS, *own_folders(host, name)))
    if not isinstance(path, str):
        return ToolBinary(name=name, path=path, version=path, executable=False if path is None else path)
    executable = is_executable(host, path)
    version = collect_version(host, path) if executable is True else Unknown("not executable")
    return ToolBinary(name=name, path=path, version=version, executable=executable, machine=_machine(host, path))


def _machine(host: Host, path: str) -> str | None | Unknown:
    """A script has none."""
    try:
        return parse_elf_machine(host.read_part(path, 0, ELF_HEADER_BYTES))
    except OSError as error:
        return unknown_from(error)


def own_folders(host: Host, name: str) -> tuple[str, ...]:
    """ctk's own programs lie beside the interpreter that runs it, and that folder is often in nobody's PATH."""
    return (os.path.dirname(sys.executable),) if host.is_live and name.startswith("ctk") else ()
