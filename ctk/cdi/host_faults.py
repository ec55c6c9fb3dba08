"""What a sound spec says that is not true of this host: each a fault with its place; over collected facts, no I/O."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ctk.cdi.host_paths import HOOK, NODE, SCRIPT, NamedPath, host_paths_of_edits, places_of_edits
from ctk.cdi.kinds import GPU_KIND
from ctk.facts import Unknown
from ctk.facts.cdi import INVALID, WARNING, Cdi, CdiHostPath, SpecFault
from ctk.facts.cdi_spec import CdiSpec, SpecDeviceNode, SpecEdits

if TYPE_CHECKING:
    from ctk.cdi.stale import Difference, MigInstance, PresentGpu

Faults = Iterator[SpecFault]


def paths_by_name(cdi: Cdi) -> dict[str, CdiHostPath]:
    """The state of the host's paths; none where they were not looked at."""
    return {item.path: item for item in cdi.host_paths} if isinstance(cdi.host_paths, tuple) else {}


def path_faults(spec: CdiSpec, states: Mapping[str, CdiHostPath]) -> Faults:
    """Paths that are not there, or are something else. What could not be looked at is a warning."""
    for place, edits in places_of_edits(spec):
        yield from edits_faults(edits, place, states)


def edits_faults(edits: SpecEdits, place: str, states: Mapping[str, CdiHostPath]) -> Faults:
    """The same for one containerEdits."""
    for named in host_paths_of_edits(edits, place):
        state = states.get(named.path)
        if state is None:
            continue
        if isinstance(state.kind, Unknown):
            message = f"{named.path} could not be looked at: {state.kind.reason}"
            yield SpecFault(message, named.where, level=WARNING)
            continue
        message = fault_of_path(named, state)
        if message:
            yield SpecFault(message, named.where, level=INVALID)


def fault_of_path(named: NamedPath, state: CdiHostPath) -> str:
    """What is wrong with a path that could be looked at, "" if nothing."""
    if state.kind is None:
        return f"{named.path} is not there"
    if named.role == NODE and state.kind not in ("char", "block", "pipe"):
        return f"{named.path} is no device node but a {state.kind}"
    if named.role == HOOK and not state.is_executable:
        return f"{named.path} is not executable"
    if named.role == SCRIPT and state.kind != "file":
        return f"{named.path} is no file but a {state.kind}"
    return ""


def number_faults(spec: CdiSpec, states: Mapping[str, CdiHostPath]) -> Faults:
    """Nodes whose numbers are not those that the spec holds: the container's node would be another device's."""
    for place, edits in places_of_edits(spec):
        for index, node in enumerate(edits.device_nodes):
            state = states.get(node.source)
            if state is not None and state.major is not None and differs(node, state):
                message = (
                    f"{node.source} is {state.major}:{state.minor} now, the spec says {node.major}:{node.minor or 0}"
                )
                yield SpecFault(message, f"{place}.deviceNodes[{index}]", level=INVALID)


def differs(node: SpecDeviceNode, state: CdiHostPath) -> bool:
    """Engines take the host's numbers where the spec has no major number, or 0."""
    return bool(node.major) and (node.major, node.minor or 0) != (state.major, state.minor)


def driver_faults(spec: CdiSpec, loaded: str | None | Unknown) -> Faults:
    """The driver's version that is loaded is not the one whose files the spec names."""
    from ctk.cdi.stale import driver_version_of

    made_for = driver_version_of(spec)
    if made_for is not None and isinstance(loaded, str) and made_for[0] != loaded:
        message = f"it was made for driver {made_for[0]} ({made_for[1]}), and {loaded} is loaded"
        yield SpecFault(message, "containerEdits", level=INVALID)


def gpu_faults(spec: CdiSpec, present: "Sequence[PresentGpu] | Unknown") -> Faults:
    """The GPUs are not those of the spec."""
    from ctk.cdi.stale import compare_gpus

    if spec.kind == GPU_KIND and not isinstance(present, Unknown):
        yield from _difference(compare_gpus(spec, present), "GPUs")


def mig_faults(spec: CdiSpec, instances: "Sequence[MigInstance] | Unknown", control: Sequence[int]) -> Faults:
    """The MIG instances are not those of the spec."""
    from ctk.cdi.stale import compare_mig

    if spec.kind == GPU_KIND and not isinstance(instances, Unknown):
        yield from _difference(compare_mig(spec, instances, control, None), "MIG devices")


def _difference(found: "Difference", what: str) -> Faults:
    if found.missing:
        yield SpecFault(f"{what} of this host that it lacks: {', '.join(found.missing)}", "devices", level=INVALID)
    if found.stale:
        yield SpecFault(f"{what} that this host does not have: {', '.join(found.stale)}", "devices", level=INVALID)
