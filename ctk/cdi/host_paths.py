"""Which paths of the host a spec names, where in it, and as what; it looks at none of them."""

from collections.abc import Iterator
from typing import NamedTuple

from ctk.facts.cdi_spec import CdiSpec, SpecEdits, SpecHook, SpecMount

NODE, MOUNT, HOOK, SCRIPT = "node", "mount", "hook", "script"
BIND_TYPES = (None, "bind", "none")
ISOLATED = ("-I", "-S")
"""How ctk's own hook starts its interpreter: the script follows."""


class NamedPath(NamedTuple):
    """A path of the host in a spec: where it stands there, and what as: node, mount, hook or script."""

    where: str
    path: str
    role: str


def places_of_edits(spec: CdiSpec) -> Iterator[tuple[str, SpecEdits]]:
    """Each containerEdits with its place in the file."""
    yield "containerEdits", spec.edits
    for index, device in enumerate(spec.devices):
        yield f"devices[{index}].containerEdits", device.edits


def host_paths_of(spec: CdiSpec) -> Iterator[NamedPath]:
    """Every path that must be on the host, in the order of the file."""
    for place, edits in places_of_edits(spec):
        yield from host_paths_of_edits(edits, place)


def host_paths_of_edits(edits: SpecEdits, place: str) -> Iterator[NamedPath]:
    """The same for one containerEdits."""
    for index, node in enumerate(edits.device_nodes):
        yield NamedPath(f"{place}.deviceNodes[{index}]", node.source, NODE)
    for index, mount in enumerate(edits.mounts):
        if _is_bind(mount):
            yield NamedPath(f"{place}.mounts[{index}]", mount.host_path, MOUNT)
    for index, hook in enumerate(edits.hooks):
        yield from _hook_paths(hook, f"{place}.hooks[{index}]")


def _is_bind(mount: SpecMount) -> bool:
    return mount.type in BIND_TYPES or "bind" in mount.options or "rbind" in mount.options


def _hook_paths(hook: SpecHook, where: str) -> Iterator[NamedPath]:
    """A startContainer hook runs inside the container, and its program is there."""
    if hook.name == "startContainer":
        return
    yield NamedPath(where, hook.path, HOOK)
    if hook.args[1:3] == ISOLATED and len(hook.args) > 3:
        yield NamedPath(where, hook.args[3], SCRIPT)
