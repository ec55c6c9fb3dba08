"""What about a spec file's name and its folder keeps engines from using it, as warnings; it writes nothing."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ctk.host.paths import display_path
from ctk.result import Message

if TYPE_CHECKING:
    from ctk.facts.cdi_spec import CdiSpec
    from ctk.host import Host

ENDINGS = (".yaml", ".json")
"""What readers take: container-device-interface, pkg/cdi/spec-dirs.go."""


def warn_of_neighbours(host: "Host", output: str, spec: "CdiSpec") -> tuple[Message, ...]:
    """An ending that nobody reads; another file of the folder that defines the same devices, so that both are lost."""
    folder, name = os.path.split(output)
    if not name.endswith(ENDINGS):
        text = f"engines read files that end with .yaml or .json only, not {display_path(host, output)}"
        return (Message("warning", text),)
    return tuple(_conflicts(host, folder, name, spec))


def _conflicts(host: "Host", folder: str, name: str, spec: "CdiSpec") -> Iterator[Message]:
    own = {device.name for device in spec.devices}
    for other in _others(host, folder, name):
        path = f"{folder}/{other}"
        both = sorted(own & _devices(host, path, spec.kind))
        if both:
            words = f"{spec.kind}={both[0]}" + (f" and {len(both) - 1} more" if len(both) > 1 else "")
            text = f"{display_path(host, path)} defines {words} too, so engines take them from neither: remove one"
            yield Message("warning", text)


def _others(host: "Host", folder: str, name: str) -> list[str]:
    try:
        return [other for other in host.list_directory(folder) if other != name and other.endswith(ENDINGS)]
    except OSError:
        return []


def _devices(host: "Host", path: str, kind: str) -> set[str]:
    """The names in another file of this kind; none in one that engines would not load either."""
    from ctk.cdi.load import load_spec

    try:
        data = host.read_bytes(path)
    except OSError:
        return set()
    if kind.encode() not in data:  # saves parsing what is about something else
        return set()
    found = load_spec(data).spec
    return {device.name for device in found.devices} if found is not None and found.kind == kind else set()
