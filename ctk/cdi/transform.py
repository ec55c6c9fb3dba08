"""Moves a spec from one root to another: the host's side of its paths, or the container's; it reads and checks nothing.

What belongs to which side is nvidia-ctk's rule for `cdi transform root`, but for arguments that name a host's program:
the interpreter and script of ctk's own hook, and the value of --ldconfig-path, are of the host at every stage.
"""

from collections.abc import Callable
from typing import NamedTuple

from ctk.facts.cdi_spec import CdiSpec, SpecDeviceNode, SpecEdits, SpecHook, SpecMount

HOST, CONTAINER = "host", "container"
SIDES = (HOST, CONTAINER)
IN_CONTAINER_STAGES = ("createContainer", "startContainer")
"""The stages whose arguments name paths of the container; a startContainer hook's program lies in it too."""
HOST_OPTIONS = ("--ldconfig-path",)
ISOLATED = ("-I", "-S")
"""How ctk's own hook starts its interpreter; before them stands the interpreter, behind them the script."""

Move = Callable[[str], str]


class RootChange(NamedTuple):
    """From one root to another, on one of SIDES."""

    source: str
    target: str
    relative_to: str = HOST

    @property
    def is_empty(self) -> bool:
        """Both roots are the same place."""
        return _plain(self.source) == _plain(self.target)


def transform_root(spec: CdiSpec, change: RootChange) -> CdiSpec:
    """The spec as it would have been made for the other root. A path that does not lie below the old one stays."""
    if change.is_empty:
        return spec
    devices = tuple(device._replace(edits=_edits(device.edits, change)) for device in spec.devices)
    return spec._replace(devices=devices, edits=_edits(spec.edits, change))


def move_path(path: str, source: str, target: str) -> str:
    """The path below target instead of source; one that only begins with the same letters is another folder."""
    old, new = _plain(source), _plain(target)
    if path.rstrip("/") == old and path.startswith("/"):
        return new or "/"
    return new + path[len(old) :] if path.startswith(old + "/") else path


def _plain(root: str) -> str:
    return root.rstrip("/")


def _edits(edits: SpecEdits, change: RootChange) -> SpecEdits:
    def move(path: str) -> str:
        return move_path(path, change.source, change.target)

    of_host = change.relative_to == HOST
    return edits._replace(
        device_nodes=tuple(_node(node, move, of_host) for node in edits.device_nodes),
        mounts=tuple(_mount(mount, move, of_host) for mount in edits.mounts),
        hooks=tuple(_hook(hook, move, of_host) for hook in edits.hooks),
    )


def _node(node: SpecDeviceNode, move: Move, of_host: bool) -> SpecDeviceNode:
    """The host's path is spelled out as soon as it differs from the container's."""
    host = move(node.source) if of_host else node.source
    path = node.path if of_host else move(node.path)
    return node._replace(path=path, host_path=None if host == path else host)


def _mount(mount: SpecMount, move: Move, of_host: bool) -> SpecMount:
    if of_host:
        return mount._replace(host_path=move(mount.host_path))
    return mount._replace(container_path=move(mount.container_path))


def _hook(hook: SpecHook, move: Move, of_host: bool) -> SpecHook:
    program_of_host = hook.name != "startContainer"
    path = move(hook.path) if program_of_host == of_host else hook.path
    sides = _sides_of_arguments(hook)
    args = tuple(
        _argument(word, move) if side == of_host else word for word, side in zip(hook.args, sides, strict=True)
    )
    return hook._replace(path=path, args=args)


def _sides_of_arguments(hook: SpecHook) -> list[bool]:
    """For each argument whether a path in it is one of the host's."""
    sides = [hook.name not in IN_CONTAINER_STAGES] * len(hook.args)
    if hook.name == "startContainer":
        return sides
    if hook.args[1:3] == ISOLATED:
        sides[:4] = [True] * len(sides[:4])
    for index, word in enumerate(hook.args[:-1]):
        if word in HOST_OPTIONS:
            sides[index + 1] = True
    return sides


def _argument(word: str, move: Move) -> str:
    """A path, or a link written target::link, of which both sides are moved."""
    return "::".join(move(part) for part in word.split("::"))
