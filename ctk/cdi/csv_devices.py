"""Mode csv: a Jetson's own GPU as its mount specification describes it; pure."""

from collections.abc import Iterable

from ctk.cdi.assemble import Parts
from ctk.cdi.driver_edits import first_for_each_place, library_links
from ctk.cdi.edits import VOID, additional_gids, make_mount, make_node
from ctk.cdi.gpu_devices import BuiltDevice
from ctk.cdi.hooks import HookWork, build_hooks
from ctk.cdi.request import ALL, INDEX, NO_ADDITIONAL_GIDS, TYPE_INDEX, UUID, GenerateRequest, LeftOut
from ctk.errors import CtkError, NotApplicable
from ctk.facts import Unknown
from ctk.facts.cdi_spec import SpecEdits, SpecMount
from ctk.facts.driver_root import CsvLine, DriverRoot, FoundFile, Tegra

ORIN_COMPAT_ROOT = "/usr/local/cuda/compat_orin"
FIRST = "0"


def csv_parts(facts: DriverRoot, request: GenerateRequest) -> Parts:
    """One device, 0, with the nodes of the specification; all else is for every container."""
    tegra = facts.tegra or Tegra(False)
    _require_lines(tegra)
    unknown = [word for word in request.device_ids if word not in (FIRST, ALL)]
    if unknown:
        raise CtkError(
            f"cannot describe device {unknown[0]!r}: a Jetson has the device {FIRST} only",
            hint="Leave out --device-id. Nothing was written.",
            code="unknown-device",
        )
    nodes = [line.node for line in tegra.lines if line.node is not None]
    left_out = [LeftOut("file", path, reason) for path, reason in tegra.missing]
    if not nodes:
        raise CtkError(
            f"cannot describe the GPU: none of the nodes in {', '.join(tegra.files)} exists",
            hint="Is the driver loaded? Nothing was written.",
            code="missing-node",
        )
    gids = () if request.has_flag(NO_ADDITIONAL_GIDS) else additional_gids(nodes)
    edits = SpecEdits(device_nodes=tuple(make_node(facts, node) for node in nodes), additional_gids=gids)
    left_out += _others(facts)
    device = BuiltDevice(_names(facts, request), edits)
    return Parts((device,), _common_edits(facts, request, tegra), tuple(left_out), source="csv")


def _require_lines(tegra: Tegra) -> None:
    if tegra.files:
        return
    why = f": {tegra.missing[0][0]}: {tegra.missing[0][1]}" if tegra.missing else ""
    if tegra.is_tegra or tegra.missing:
        raise CtkError(
            f"cannot describe the GPU: there is no mount specification{why}",
            hint="Install nvidia-l4t-init, or name one with --csv.file. Nothing was written.",
            code="no-specification",
        )
    raise NotApplicable(
        "there is nothing to describe: this is no Jetson, and it has no mount specification",
        hint="Nothing was written.",
    )


def _names(facts: DriverRoot, request: GenerateRequest) -> tuple[str, ...]:
    uuid = facts.gpus[0].uuid if not isinstance(facts.gpus, Unknown) and facts.gpus else None
    known = {INDEX: FIRST, TYPE_INDEX: f"gpu{FIRST}", UUID: uuid if isinstance(uuid, str) else None}
    names = tuple(name for strategy in request.name_strategies if (name := known.get(strategy)))
    if not names:
        raise CtkError(
            "cannot name the device: a Jetson's GPU has no UUID that NVML would tell",
            hint="Choose --device-name-strategy index. Nothing was written.",
            code="no-name",
        )
    return names


def _others(facts: DriverRoot) -> list[LeftOut]:
    """A second GPU, in a slot, is not what the specification is about."""
    gpus = () if isinstance(facts.gpus, Unknown) else facts.gpus
    reason = "it is not part of the processor: describe it in a second file, with --mode nvml and a --class of its own"
    return [LeftOut("device", str(gpu.index), reason) for gpu in gpus[1:]]


def _common_edits(facts: DriverRoot, request: GenerateRequest, tegra: Tegra) -> SpecEdits:
    mounts = [_mount(facts, line) for line in tegra.lines if line.kind != "dev"]
    if tegra.release is not None:
        mounts.append(make_mount(facts, FoundFile(tegra.release, tegra.release)))
    libraries = [line.target for line in tegra.lines if line.kind in ("lib", "sym") and _is_library(line.target)]
    work = HookWork(
        link_groups=(_links(tegra.lines),),
        compat=_compat(facts, request, tegra),
        folders=tuple(sorted({path.rpartition("/")[0] for path in libraries})),
    )
    return SpecEdits(env=(VOID,), mounts=tuple(dict.fromkeys(mounts)), hooks=build_hooks(work, request.hooks))


def _mount(facts: DriverRoot, line: CsvLine) -> SpecMount:
    return make_mount(facts, FoundFile(line.target, line.target))


def _is_library(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.startswith("lib") and ".so" in name


def _links(lines: Iterable[CsvLine]) -> tuple[str, ...]:
    """Every link on the way to a mounted file, as it is written on the host, then those of the libraries."""
    rows = tuple(lines)
    written = (f"{link.text}::{link.path}" for line in rows for link in line.links)
    libraries = (line.library for line in rows if line.library is not None)
    return first_for_each_place((*written, *library_links(tuple(libraries))))


def _compat(facts: DriverRoot, request: GenerateRequest, tegra: Tegra) -> tuple[tuple[str, str], ...]:
    """Only where NVML tells which CUDA the driver brings; images for an Orin keep its libraries in their own folder."""
    if facts.cuda_version is None:
        return ()
    folder = request.csv_compat_root or (ORIN_COMPAT_ROOT if tegra.is_orin else "")
    row = (("--cuda-compat-container-root", folder),) if folder else ()
    return (("--host-cuda-version", facts.cuda_version), *row)
