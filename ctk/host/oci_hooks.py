"""Hook files of Podman and CRI-O that start a program of NVIDIA's or ctk's; it starts none (oci-hooks(5))."""

import json
from collections.abc import Iterable, Iterator

from ctk.facts import Unknown
from ctk.facts.toolkit_setup import OciHook
from ctk.host import Host
from ctk.host.programs import program_fault
from ctk.host.reading import ABSENT, unknown_from

HOOK_FOLDERS = (
    "/usr/share/containers/oci/hooks.d",
    "/etc/containers/oci/hooks.d",
    "/run/containers/oci/hooks.d",
)
"""A file of a later folder takes the place of one of the same name before it."""
NAMES = ("nvidia", "ctk-")


def collect_oci_hooks(host: Host) -> tuple[OciHook, ...] | Unknown:
    """Those that are in force: by the file's name or by the program's."""
    found: dict[str, str] = {}
    try:
        for folder in HOOK_FOLDERS:
            found |= {name: f"{folder}/{name}" for name in _names(host, folder)}
        return tuple(_relevant(host, found.values()))
    except OSError as error:
        return unknown_from(error)


def _names(host: Host, folder: str) -> tuple[str, ...]:
    try:
        return tuple(name for name in host.list_directory(folder) if name.endswith(".json"))
    except ABSENT:
        return ()


def _relevant(host: Host, paths: Iterable[str]) -> Iterator[OciHook]:
    for path in paths:
        hook = read_hook(host, path, host.read_bytes(path))
        program = (hook.program or "").rpartition("/")[2]
        if any(name in path.rpartition("/")[2] or name in program for name in NAMES):
            yield hook


def read_hook(host: Host, path: str, content: bytes) -> OciHook:
    """The parts of one file that matter; its environment is not kept."""
    try:
        document = json.loads(content)
        program = document["hook"]["path"]
        when = document.get("when", {})
        stages = document.get("stages", [])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return OciHook(path, None, fault="it is not valid JSON with a hook's path in it")
    if not isinstance(program, str) or not isinstance(when, dict) or not isinstance(stages, list):
        return OciHook(path, None, fault="hook, when or stages have another form than oci-hooks(5) asks for")
    return OciHook(
        file=path,
        program=program,
        program_fault=program_fault(host, program),
        conditions=tuple(sorted(str(name) for name, value in when.items() if value not in (None, False))),
        stages=tuple(str(stage) for stage in stages),
    )
