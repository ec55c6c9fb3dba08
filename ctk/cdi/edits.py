"""From found files and nodes to a spec's mounts and nodes; pure."""

from collections.abc import Iterable

from ctk.facts.cdi_spec import SpecDeviceNode, SpecEdits, SpecHook, SpecMount
from ctk.facts.driver_root import DeviceFile, DriverRoot, FoundFile, LibraryFile

FILE_OPTIONS = ("ro", "nosuid", "nodev", "rbind", "rprivate")
SOCKET_OPTIONS = ("nosuid", "nodev", "rbind", "rprivate", "noexec")
PERMISSIONS = "rwm"
EVERYBODY = 0o006
VOID = "NVIDIA_VISIBLE_DEVICES=void"
"""Keeps NVIDIA's runtime from adding GPUs of its own to a container that gets them by CDI."""


def join_root(root: str, path: str) -> str:
    """The path on the host of one below a root."""
    return root.rstrip("/") + path


def make_node(facts: DriverRoot, node: DeviceFile) -> SpecDeviceNode:
    """The node with the numbers and rights that it has on the host. The group is told if it is not root's."""
    source = join_root(facts.dev_root, node.path)
    return SpecDeviceNode(
        path=node.path,
        host_path=None if source == node.path else source,
        major=node.major,
        minor=node.minor,
        file_mode=node.mode,
        permissions=PERMISSIONS,
        gid=node.gid or None,
    )


def additional_gids(nodes: Iterable[DeviceFile]) -> tuple[int, ...]:
    """The groups without which a user could not open the nodes: of those that are not open to everybody."""
    return tuple(sorted({node.gid for node in nodes if node.gid and node.mode & EVERYBODY != EVERYBODY}))


def make_mount(facts: DriverRoot, found: FoundFile, options: tuple[str, ...] = FILE_OPTIONS) -> SpecMount:
    """A file of the driver root at its path."""
    source = found.source if found.of_host else join_root(facts.driver_root, found.source)
    return SpecMount(source, found.path, options)


def mount_library(facts: DriverRoot, library: LibraryFile) -> SpecMount:
    """A library's final file at its own path."""
    return SpecMount(join_root(facts.driver_root, library.path), library.path, FILE_OPTIONS)


def merge(parts: Iterable[SpecEdits]) -> SpecEdits:
    """All of these edits, each thing once, in order."""
    env: dict[str, None] = {}
    nodes: dict[SpecDeviceNode, None] = {}
    mounts: dict[SpecMount, None] = {}
    hooks: dict[SpecHook, None] = {}
    gids: set[int] = set()
    for part in parts:
        env.update(dict.fromkeys(part.env))
        nodes.update(dict.fromkeys(part.device_nodes))
        mounts.update(dict.fromkeys(part.mounts))
        hooks.update(dict.fromkeys(part.hooks))
        gids.update(part.additional_gids)
    return SpecEdits(
        env=tuple(env),
        device_nodes=tuple(nodes),
        mounts=tuple(mounts),
        hooks=tuple(hooks),
        additional_gids=tuple(sorted(gids)),
    )


def without(edits: SpecEdits, common: SpecEdits) -> SpecEdits:
    """The edits without what every device gets anyway."""
    nodes, mounts = set(common.device_nodes), set(common.mounts)
    return edits._replace(
        env=tuple(word for word in edits.env if word not in common.env),
        device_nodes=tuple(node for node in edits.device_nodes if node not in nodes),
        mounts=tuple(mount for mount in edits.mounts if mount not in mounts),
        hooks=tuple(hook for hook in edits.hooks if hook not in common.hooks),
        additional_gids=tuple(gid for gid in edits.additional_gids if gid not in common.additional_gids),
    )


def in_order(edits: SpecEdits) -> SpecEdits:
    """Nodes and mounts by depth and path: a folder is there before what lies in it."""
    return edits._replace(
        device_nodes=tuple(sorted(edits.device_nodes, key=lambda node: _depth(node.path))),
        mounts=tuple(sorted(edits.mounts, key=lambda mount: _depth(mount.container_path))),
    )


def _depth(path: str) -> tuple[int, str]:
    return path.count("/"), path
