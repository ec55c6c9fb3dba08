"""How the toolkit is set up: its copies, configuration, hook files, refresh units; it judges none of them."""

import os
from collections.abc import Iterator

from ctk.facts import Unknown
from ctk.facts.pci import Pci
from ctk.facts.system import System
from ctk.facts.toolkit_setup import OPERATOR, SNAP, SYSTEM, ToolkitConfig, ToolkitCopy, ToolkitSetup
from ctk.host import Host
from ctk.host.cdi_refresh import collect_cdi_refresh
from ctk.host.local import SYSTEM_FOLDERS
from ctk.host.oci_hooks import collect_oci_hooks
from ctk.host.programs import collect_version
from ctk.host.reading import ABSENT, unknown_from
from ctk.host.toolkit import TOOL_FOLDERS
from ctk.host.toolkit_in_force import Installations, collect_toolkit_config

PROGRAMS = (
    "nvidia-container-runtime",
    "nvidia-container-runtime-hook",
    "nvidia-ctk",
    "nvidia-cdi-hook",
    "nvidia-container-cli",
)
SNAP_FOLDERS = ("/snap/docker/current/usr/bin", "/snap/microk8s/current/usr/bin")
BUNDLES = "/run/containerd/io.containerd.runtime.v2.task"
BUNDLE_HEAD_BYTES = 256
MOST_BUNDLES = 200


def collect_toolkit_setup(
    host: Host, system: System, pci: Pci | None | Unknown, engines: Installations | Unknown
) -> ToolkitSetup:
    """Everything but the programs' versions, which stand in a part of their own."""
    return ToolkitSetup(
        config=_config(host, system, pci, engines),
        copies=collect_copies(host),
        hooks=collect_oci_hooks(host),
        refresh=collect_cdi_refresh(host),
        newest_bundle=collect_newest_bundle(host),
    )


def _config(
    host: Host, system: System, pci: Pci | None | Unknown, engines: Installations | Unknown
) -> ToolkitConfig | Unknown:
    try:
        return collect_toolkit_config(host, system, pci, engines)
    except OSError as error:
        return unknown_from(error)


def collect_copies(host: Host) -> tuple[ToolkitCopy, ...] | Unknown:
    """Each folder that has some of the programs; one folder by two names is told once."""
    found: dict[str, ToolkitCopy] = {}
    places = ((SYSTEM, SYSTEM_FOLDERS), (OPERATOR, TOOL_FOLDERS), (SNAP, SNAP_FOLDERS))
    try:
        for kind, folders in places:
            for folder in folders:
                programs = tuple(name for name in PROGRAMS if host.exists(f"{folder}/{name}"))
                if programs:
                    copy = ToolkitCopy(kind, folder, programs, no_exec=_is_no_exec(host, folder))
                    found.setdefault(host.real_path(folder), copy)
    except OSError as error:
        return unknown_from(error)
    copies = tuple(found.values())
    return tuple(_with_version(host, copy) for copy in copies) if len(copies) > 1 else copies


def _is_no_exec(host: Host, folder: str) -> bool | None:
    """The mount's option, which a tree of files does not have."""
    return bool(os.statvfs(folder).f_flag & os.ST_NOEXEC) if host.is_live else None


def _with_version(host: Host, copy: ToolkitCopy) -> ToolkitCopy:
    """Asked only where there is another copy to compare it with."""
    program = next((name for name in ("nvidia-ctk", "nvidia-container-runtime") if name in copy.programs), None)
    return copy._replace(version=collect_version(host, f"{copy.folder}/{program}")) if program else copy


def collect_newest_bundle(host: Host) -> str | None | Unknown:
    """The ociVersion of the container that was started last; None: there is no bundle of containerd's."""
    try:
        paths = list(_bundles(host))
        if not paths:
            return None
        newest = max(paths, key=lambda path: host.stat(path).st_mtime)
        return parse_oci_version(host.read_part(f"{newest}/config.json", 0, BUNDLE_HEAD_BYTES))
    except ABSENT:
        return None
    except OSError as error:
        return unknown_from(error)


def _bundles(host: Host) -> Iterator[str]:
    """A folder for each namespace, in it one for each container."""
    try:
        namespaces = host.list_directory(BUNDLES)
    except ABSENT:
        return
    for namespace in namespaces:
        for name in host.list_directory(f"{BUNDLES}/{namespace}")[:MOST_BUNDLES]:
            yield f"{BUNDLES}/{namespace}/{name}"


def parse_oci_version(head: bytes) -> str | None:
    """ociVersion is the first key that containerd and Docker write; the rest of the file is not looked at."""
    _, found, rest = head.partition(b'"ociVersion"')
    words = rest.split(b'"')
    return words[1].decode("ascii", "replace") if found and len(words) > 2 else None
