"""Facts and a request become a CDI spec: `generate` is the only door; it reads nothing, writes nothing, prints nothing.

To use it: facts = ctk.host.driver_root.collect_driver_root(host, RootQuery(...)), then generate(facts, request). The
answer holds the spec and what was left out and why; ctk.cdi.document renders it. Nothing useful to write is an error.
"""

from ctk.cdi.assemble import Parts, assemble
from ctk.cdi.capabilities import wants_node
from ctk.cdi.csv_devices import csv_parts
from ctk.cdi.driver_edits import check_libraries, driver_edits
from ctk.cdi.driver_files import CONTROL_NODES
from ctk.cdi.edits import additional_gids, make_node
from ctk.cdi.gpu_devices import EMPTY_DEVICE, BuiltDevice, build_devices, choose_devices, tell_unused
from ctk.cdi.modes import CSV, MANAGEMENT, NVML, WSL
from ctk.cdi.node_devices import imex_parts, management_parts, node_parts, wsl_parts
from ctk.cdi.request import (
    NO_ADDITIONAL_GIDS,
    NONE,
    Generated,
    GenerateRequest,
    LeftOut,
    check_request,
)
from ctk.errors import CtkError, NotApplicable
from ctk.facts import Unknown
from ctk.facts.cdi_spec import SpecEdits
from ctk.facts.driver_root import DriverRoot

__all__ = ["GenerateRequest", "Generated", "LeftOut", "generate"]

NOTHING_WRITTEN = "Nothing was written."
NEEDED_BY_CUDA = {
    "/dev/nvidiactl": "not there, and nothing of the driver works without it: nvidia-modprobe -c=255",
    "/dev/nvidia-uvm": "not there, and CUDA does not start without it: nvidia-modprobe -u -c=0",
}
"""Nodes whose lack is worth a warning: it shows in the container only, as an error that names neither."""


def generate(facts: DriverRoot, request: GenerateRequest) -> Generated:
    """The spec of the mode that facts.mode names. The same facts and request give the same spec, byte for byte.

    Raises UsageFault for a request that makes no sense (exit 2), NotApplicable where there is nothing to describe: no
    driver, no GPU, no such hardware (exit 4), CtkError where something is there and cannot be described (exit 3).
    """
    check_request(request)
    parts = _parts(facts, request)
    version = facts.version if isinstance(facts.version, str) else ""
    return assemble(facts.mode, request, parts, version)


def _parts(facts: DriverRoot, request: GenerateRequest) -> Parts:
    if facts.mode == NVML:
        return _nvml_parts(facts, request)
    if facts.mode == MANAGEMENT:
        return management_parts(facts, request)
    if facts.mode == CSV:
        return csv_parts(facts, request)
    if facts.mode == WSL:
        return wsl_parts(facts, request)
    return imex_parts(facts, request) if facts.mode == "imex" else node_parts(facts, request)


def _nvml_parts(facts: DriverRoot, request: GenerateRequest) -> Parts:
    _require_gpus(facts, request)
    check_libraries(facts)
    left_out = list(_source_notes(facts))
    none = NONE in request.device_ids
    if none:
        devices: tuple[BuiltDevice, ...] = (BuiltDevice((NONE,), SpecEdits(env=(EMPTY_DEVICE,))),)
        if not request.no_all_device:
            left_out.append(LeftOut("device", "all", "with the device id none there is no other device"))
    else:
        gpus = () if isinstance(facts.gpus, Unknown) else facts.gpus
        chosen = choose_devices(gpus, request.device_ids)
        devices, missing = build_devices(facts, request, chosen)
        left_out += [*missing, *tell_unused(gpus, chosen)]
    common, unwanted = driver_edits(facts, request, graphics=True)
    nodes = _control_edits(facts, request, left_out)
    left_out += unwanted
    common = common._replace(device_nodes=nodes.device_nodes, additional_gids=nodes.additional_gids)
    return Parts(devices, common, tuple(left_out), with_all=not none, source=facts.source.kind)


def _require_gpus(facts: DriverRoot, request: GenerateRequest) -> None:
    """Raises where no driver or no GPU is here, or where NVML is insisted on and was not asked."""
    source = facts.source
    if isinstance(facts.gpus, Unknown):
        raise CtkError(
            f"cannot tell which GPUs there are: {facts.gpus.reason}", hint=f"Run it as root. {NOTHING_WRITTEN}"
        )
    if not source.driver_loaded and not facts.gpus:
        raise NotApplicable(
            "there is nothing to describe: the NVIDIA driver is not loaded on this host; nothing was written"
        )  # one line: services log it at every start before the driver's
    if request.mode == NVML and source.kind != "nvml":
        raise CtkError(
            f"cannot generate from NVML, as --mode nvml asks: {source.nvml_reason}",
            hint=f"Without --mode nvml the driver's folders below /proc are used. {NOTHING_WRITTEN}",
            code="nvml",
        )
    if not facts.gpus:
        raise NotApplicable("there is nothing to describe: the NVIDIA driver finds no GPU; nothing was written")


def _source_notes(facts: DriverRoot) -> list[LeftOut]:
    """That NVML did not answer matters where it would know more: the order of MIG devices, UUIDs."""
    if facts.source.kind == "nvml" or isinstance(facts.gpus, Unknown):
        return []
    if any(gpu.mig_devices for gpu in facts.gpus):
        return [LeftOut("order", "MIG devices", f"numbered by their instances: {facts.source.nvml_reason}")]
    return []


def _control_edits(facts: DriverRoot, request: GenerateRequest, left_out: list[LeftOut]) -> SpecEdits:
    nodes = []
    for path in CONTROL_NODES:
        node = facts.find_node(path)
        if not wants_node(path, request.wanted):
            left_out.append(LeftOut("node", path, "no wanted capability needs it"))
        elif node is None:
            what = "control node" if path in NEEDED_BY_CUDA else "node"
            left_out.append(LeftOut(what, path, NEEDED_BY_CUDA.get(path, "not there")))
        else:
            nodes.append(node)
    gids = () if request.has_flag(NO_ADDITIONAL_GIDS) else additional_gids(nodes)
    return SpecEdits(device_nodes=tuple(make_node(facts, node) for node in nodes), additional_gids=gids)
