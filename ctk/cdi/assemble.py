"""Puts devices and common edits together to a spec: names, `all`, nothing twice, everything in order; pure."""

from collections.abc import Iterable

from ctk.cdi.edits import in_order, merge, without
from ctk.cdi.gpu_devices import BuiltDevice
from ctk.cdi.hooks import HookWork, build_hooks, unite
from ctk.cdi.modes import kind_of
from ctk.cdi.older import fit_version, is_older
from ctk.cdi.request import ALL, COHERENT, Generated, GenerateRequest, LeftOut
from ctk.facts.cdi_spec import CdiSpec, SpecDevice, SpecEdits
from ctk.record import Record

DOTTED = "0.6.0"
"""The version of CDI that brought classes with a dot."""


class Parts(Record):
    """What a mode came to. with_all: whether a device `all` unites the others."""

    devices: tuple[BuiltDevice, ...]
    common: SpecEdits
    left_out: tuple[LeftOut, ...] = ()
    with_all: bool = True
    source: str = "none"


def assemble(mode: str, request: GenerateRequest, parts: Parts, version: str) -> Generated:
    """The spec, with the lowest version that it needs; version: of the driver."""
    kind = kind_of(mode, request.vendor, request.class_name)
    spec, notes = fit_version(_build(kind, parts.devices, parts, request), request.max_version)
    others: tuple[tuple[str, CdiSpec], ...] = ()
    if request.has_flag(COHERENT) and is_older(request.max_version, DOTTED):
        notes.append(LeftOut("field", "specs by coherence", f"their class has a dot, which needs CDI {DOTTED}"))
    elif request.has_flag(COHERENT):
        others = tuple(_by_coherence(kind, request, parts))
    left_out = tuple(dict.fromkeys((*parts.left_out, *notes)))
    return Generated(spec, mode, left_out, others, parts.source, version)


def _build(kind: str, devices: Iterable[BuiltDevice], parts: Parts, request: GenerateRequest) -> CdiSpec:
    common = in_order(merge((parts.common,)))
    rows = tuple(devices)
    edits_by_name: dict[str, SpecEdits] = {}
    for device in rows:
        edits = _finish(device.edits, device.work, common, request)
        for name in device.names:
            edits_by_name.setdefault(name, edits)
    if parts.with_all and not request.no_all_device and ALL not in edits_by_name:
        united = merge(device.edits for device in rows)
        edits_by_name[ALL] = _finish(united, unite(device.work for device in rows), common, request)
    named = tuple(SpecDevice(name, edits_by_name[name]) for name in sorted(edits_by_name))
    return CdiSpec("", kind, named, common)


def _finish(edits: SpecEdits, work: HookWork, common: SpecEdits, request: GenerateRequest) -> SpecEdits:
    """With the hook for its work, in order, without what every device gets anyway."""
    return without(in_order(edits._replace(hooks=build_hooks(work, request.hooks))), common)


def _by_coherence(kind: str, request: GenerateRequest, parts: Parts) -> Iterable[tuple[str, CdiSpec]]:
    """One more spec for the GPUs that share the processor's page tables, one for the others; MIG devices in neither."""
    for word, is_coherent in (("coherent", True), ("noncoherent", False)):
        devices = [device for device in parts.devices if device.coherent is is_coherent]
        if devices:
            yield word, fit_version(_build(f"{kind}.{word}", devices, parts, request), request.max_version)[0]
