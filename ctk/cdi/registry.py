"""Which file each device comes from, by the rules of the engines' library: the later folder wins; it reads no file.

Source: container-device-interface pkg/cdi/cache.go. A name that two files of one folder define is taken from nobody,
even where a later folder has it too.
"""

from collections.abc import Iterable, Sequence

from ctk.facts import Unknown
from ctk.facts.cdi import Cdi, CdiFile, CdiFolder
from ctk.facts.cdi_spec import CdiSpec, SpecDevice, SpecEdits
from ctk.record import Record


class RegistryDevice(Record):
    """One qualified name. winner None: files of one folder contradict each other (conflict), so engines drop it.

    shadowed: files of earlier folders that define it too.
    """

    name: str
    winner: CdiFile | None
    shadowed: tuple[CdiFile, ...] = ()
    conflict: tuple[CdiFile, ...] = ()

    @property
    def edits(self) -> tuple[SpecEdits, ...]:
        """What is done to a container that asks for it: the spec's edits, then the device's; none for a conflict."""
        return edits_in(self.winner, self.name)


class Registry(Record):
    """devices by name, in byte order; broken: the files that engines refuse, with their faults."""

    devices: tuple[RegistryDevice, ...]
    broken: tuple[CdiFile, ...] = ()

    def find(self, name: str) -> RegistryDevice | None:
        """The device of a qualified name."""
        return next((device for device in self.devices if device.name == name), None)


def qualified_names(spec: CdiSpec) -> tuple[str, ...]:
    """kind=name for each device."""
    return tuple(f"{spec.kind}={device.name}" for device in spec.devices)


def edits_in(file: CdiFile | None, name: str) -> tuple[SpecEdits, ...]:
    """The edits that a file has for a qualified name."""
    if file is None or not isinstance(file.spec, CdiSpec):
        return ()
    device = _device(file.spec, name)
    return () if device is None else (file.spec.edits, device.edits)


def _device(spec: CdiSpec, name: str) -> SpecDevice | None:
    kind, _, own = name.partition("=")
    return next((device for device in spec.devices if kind == spec.kind and device.name == own), None)


def build_registry(cdi: Cdi, folders: Sequence[str] | None = None) -> Registry:
    """The devices that a program with these folders sees, in order; None: all folders there are.

    Two names of one place are one folder, at the later one's rank.
    """
    files = cdi.files if isinstance(cdi.files, tuple) else ()
    order = real_folders(cdi, folders)
    mine = [file for folder in order for file in files if file.folder == folder]
    holders: dict[str, list[CdiFile]] = {}
    for file in mine:
        if file.is_loaded and isinstance(file.spec, CdiSpec):
            for name in qualified_names(file.spec):
                holders.setdefault(name, []).append(file)
    devices = (
        _resolve(name, holders[name]) for name in sorted(holders, key=lambda name: name.encode(errors="replace"))
    )
    return Registry(tuple(devices), tuple(file for file in mine if not file.is_loaded))


def _resolve(name: str, files: list[CdiFile]) -> RegistryDevice:
    clashing = [file for file in files if sum(other.folder == file.folder for other in files) > 1]
    if clashing:
        return RegistryDevice(name, None, (), tuple(clashing))
    return RegistryDevice(name, files[-1], tuple(files[:-1]))


def real_folders(cdi: Cdi, folders: Sequence[str] | None = None) -> tuple[str, ...]:
    """The real paths of folders that are there, each once, in the order of rank."""
    known = cdi.folders if isinstance(cdi.folders, tuple) else ()
    chosen = known if folders is None else _chosen(known, folders)
    places = [folder.real_path for folder in chosen if folder.real_path and not isinstance(folder.real_path, Unknown)]
    return tuple(reversed(dict.fromkeys(reversed(places))))


def _chosen(known: Iterable[CdiFolder], folders: Sequence[str]) -> tuple[CdiFolder, ...]:
    by_path = {folder.path: folder for folder in known}
    return tuple(by_path[path] for path in folders if path in by_path)
