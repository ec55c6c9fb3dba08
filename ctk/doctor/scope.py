"""Whether there is anything here to be judged: a GPU, a driver, or configuration for one; it looks at no host."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctk.facts.snapshot import Snapshot

OWN_PROGRAMS = "ctk"


def has_gpus_or_traces(snapshot: "Snapshot") -> bool:
    """False only where everything was looked at and nothing found; what could not be looked at is no proof."""
    if snapshot.system.wsl is not None or snapshot.system.jetson is not False:
        return True
    tools = snapshot.toolkit
    if not isinstance(tools, tuple):
        return True
    return any(tool.path is not None and not tool.name.startswith(OWN_PROGRAMS) for tool in tools)
