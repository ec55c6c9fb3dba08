"""Where a check of CDI specs has nothing to say, which specs count, and how one is made anew; no check is here."""

from typing import TYPE_CHECKING, NamedTuple

from ctk.cdi.host_faults import paths_by_name
from ctk.cdi.kinds import is_nvidia_kind
from ctk.cdi.readers import Reader, readers_of
from ctk.cdi.registry import Registry, build_registry
from ctk.doctor.checks.collector import SYSTEM_CONTAINERS
from ctk.doctor.model import Command, Evidence, Outcome, Remedy, skipped, unseen
from ctk.facts import Unknown
from ctk.facts.cdi import Cdi, CdiFile, CdiFolder, CdiHostPath, SpecFault
from ctk.facts.cdi_spec import CdiSpec

if TYPE_CHECKING:
    from ctk.facts.snapshot import Snapshot
    from ctk.facts.toolkit_setup import CdiRefresh

GROUP = "Container Device Interface specs"
MOST_EVIDENCE = 5
MODES = {"gds": "gds", "mofed": "mofed", "nvswitch": "nvswitch", "gdrcopy": "gdrcopy", "imex-channel": "imex"}
"""The mode of `ctk cdi generate` for each class that is no GPU."""


class SpecFile(NamedTuple):
    """A file that engines load, with its spec."""

    file: CdiFile
    spec: CdiSpec


def cdi_of(snapshot: "Snapshot") -> Cdi | Outcome:
    """The specs that were found; an outcome where nobody could look, or where they are the host's business."""
    container = snapshot.system.container
    if isinstance(container, str) and container not in SYSTEM_CONTAINERS:
        return skipped(f"inside a container ({container}) the specs are the host's business")
    cdi = snapshot.cdi
    if isinstance(cdi, Unknown):
        return unseen(cdi)
    for part in (cdi.folders, cdi.files):
        if isinstance(part, Unknown):
            return unseen(part)
    return cdi


def files_of(cdi: Cdi) -> tuple[CdiFile, ...]:
    """Every file, whether engines take it or not."""
    return cdi.files if isinstance(cdi.files, tuple) else ()


def folders_of(cdi: Cdi) -> tuple[CdiFolder, ...]:
    """Every folder that was looked at."""
    return cdi.folders if isinstance(cdi.folders, tuple) else ()


def hidden_folder(cdi: Cdi) -> Outcome | None:
    """What to say where a folder could not be looked into, so that a spec may be missed."""
    for folder in folders_of(cdi):
        if isinstance(folder.real_path, Unknown):
            return unseen(Unknown(f"{folder.path}: {folder.real_path.reason}"))
    return None


def readers(snapshot: "Snapshot") -> tuple[Reader, ...]:
    """Who reads specs here."""
    return readers_of(snapshot.engines, snapshot.toolkit_setup)


def registry_of(cdi: Cdi) -> Registry:
    """What a program that reads the usual folders sees."""
    return build_registry(cdi, [folder.path for folder in folders_of(cdi) if folder.named_by] or None)


def specs_in_force(cdi: Cdi, *, only_nvidia: bool = True) -> tuple[SpecFile, ...]:
    """The loaded files of which at least one device is not taken from a later folder."""
    winning = {
        file.path
        for device in registry_of(cdi).devices
        for file in (device.conflict or ((device.winner,) if device.winner else ()))
    }
    found = (SpecFile(file, file.spec) for file in files_of(cdi) if isinstance(file.spec, CdiSpec) and file.is_loaded)
    return tuple(
        item for item in found if item.file.path in winning and (not only_nvidia or is_nvidia_kind(item.spec.kind))
    )


def states_of(cdi: Cdi) -> dict[str, CdiHostPath]:
    """The state of each path of the host that some spec names."""
    return paths_by_name(cdi)


def without_specs(cdi: Cdi) -> Outcome:
    """What to say where no spec of NVIDIA's is in force."""
    return hidden_folder(cdi) or skipped("there is no CDI spec of NVIDIA's here")


def fault_evidence(file: CdiFile, faults: "list[SpecFault]") -> tuple[Evidence, ...]:
    """The first faults with their places in the file."""
    return tuple(Evidence(_fault_text(fault), _place(file, fault)) for fault in faults[:MOST_EVIDENCE])


def _fault_text(fault: SpecFault) -> str:
    said = not fault.where or fault.message.startswith(f"{fault.where} ")
    return fault.message if said else f"{fault.where}: {fault.message}"


def _place(file: CdiFile, fault: SpecFault) -> str:
    return file.path if fault.line is None else f"{file.path} line {fault.line}"


def refresh_of(snapshot: "Snapshot") -> "CdiRefresh | None":
    """The units that keep the spec in /var/run/cdi, if they are switched on."""
    setup = snapshot.toolkit_setup
    rows = () if isinstance(setup, Unknown) or isinstance(setup.refresh, Unknown) else setup.refresh
    return next((row for row in rows if row.service is not None and row.service_enabled is True), None)


def regenerate(snapshot: "Snapshot", path: str, why: str = "Make the spec anew") -> Remedy:
    """What writes this file again: its refresh unit, the plugin of Kubernetes, another vendor's program, or ctk."""
    unit = refresh_of(snapshot)
    if unit is not None and path.endswith("/run/cdi/nvidia.yaml"):
        name = f"{unit.owner}-cdi-refresh.service"
        return Remedy(why, (Command(f"systemctl restart {name}", restarts=(name,)),))
    kind = _kind_of(snapshot, path)
    if kind.startswith("k8s."):
        return Remedy("Restart the device plugin on this node: it writes the spec anew when it starts")
    if kind and not is_nvidia_kind(kind):
        return Remedy(f"Let the program of {kind.partition('/')[0]} write the spec anew, or install it again")
    return Remedy(why, (Command(f"ctk cdi generate{_mode(kind)} --output={path}"),))


def _kind_of(snapshot: "Snapshot", path: str) -> str:
    files = () if isinstance(snapshot.cdi, Unknown) else files_of(snapshot.cdi)
    return next((file.spec.kind for file in files if file.path == path and isinstance(file.spec, CdiSpec)), "")


def _mode(kind: str) -> str:
    """The mode that makes specs of this kind; "" for GPUs."""
    vendor, _, name = kind.partition("/")
    mode = "management" if vendor.startswith("management.") else MODES.get(name)
    return f" --mode={mode}" if mode else ""
