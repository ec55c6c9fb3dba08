"""Driver, GPUs, CDI specs and control groups as rows of the info screen; it decides nothing and prints nothing."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ctk.facts import Unknown
from ctk.facts.snapshot import NOT_COLLECTED

if TYPE_CHECKING:
    from ctk.facts.cdi import Cdi, CdiFile
    from ctk.facts.driver import DriverLibrary
    from ctk.facts.nvml import Nvml, NvmlGpu
    from ctk.facts.pci import PciFunction
    from ctk.facts.snapshot import Snapshot

Row = tuple[str, str]


def gpu_sections(snapshot: "Snapshot") -> Iterator[tuple[str, Iterator[Row]]]:
    """What an older ctk did not collect has no section."""
    if snapshot.driver != NOT_COLLECTED:
        yield "Driver", _driver_rows(snapshot)
    if snapshot.pci != NOT_COLLECTED:
        yield "GPUs", _gpu_rows(snapshot)


def container_sections(snapshot: "Snapshot") -> Iterator[tuple[str, Iterator[Row]]]:
    """How GPUs get into containers beside the engines' own files."""
    if snapshot.cdi != NOT_COLLECTED:
        yield "CDI", _cdi_rows(snapshot.cdi)
    if snapshot.cgroups != NOT_COLLECTED:
        yield "Control groups", _cgroup_rows(snapshot)


def _say(value: str | int | None | Unknown, absent: str) -> str:
    if isinstance(value, Unknown):
        return f"could not look: {value.reason}"
    return absent if value is None else str(value)


def _driver_rows(snapshot: "Snapshot") -> Iterator[Row]:
    driver, modules = snapshot.driver, snapshot.modules
    if isinstance(driver, Unknown):
        yield "", _say(driver, "")
        return
    flavour = f", {driver.flavour}" if isinstance(driver.flavour, str) else ""
    yield "loaded", _say(driver.version, "no") + (flavour if isinstance(driver.version, str) else "")
    if not isinstance(modules, Unknown) and isinstance(modules.files, tuple):
        file = modules.find_file("nvidia")
        yield "on disk", "none" if file is None else f"{file.path}, version {_say(file.version, 'not stated')}"
    yield "libraries", _libraries(driver.libraries)
    if isinstance(driver.root_libraries, tuple) and driver.root_libraries:
        yield "container", _libraries(driver.root_libraries)
    nvml = snapshot.nvml
    if isinstance(nvml, Unknown):
        yield "NVML", _say(nvml, "")
    elif nvml is not None and isinstance(nvml.cuda_version, int):
        yield "CUDA", f"up to {nvml.cuda_version // 1000}.{nvml.cuda_version % 1000 // 10}"


def _libraries(libraries: "tuple[DriverLibrary, ...] | Unknown") -> str:
    if isinstance(libraries, Unknown):
        return _say(libraries, "")
    places = (f"{library.version} ({library.path.rpartition('/')[0]})" for library in libraries)
    return ", ".join(dict.fromkeys(places)) or "none"


def _gpu_rows(snapshot: "Snapshot") -> Iterator[Row]:
    pci = snapshot.pci
    if pci is None or isinstance(pci, Unknown):
        yield "", _say(pci, "there is no PCI bus")
        return
    if not pci.gpus:
        yield "", "none on the PCI bus"
    nvml = snapshot.nvml
    for function in pci.gpus:
        yield function.address, ", ".join(_gpu_words(function, nvml if nvml else None))
    if pci.switches:
        yield "NVSwitches", str(len(pci.switches))


def _gpu_words(function: "PciFunction", nvml: "Nvml | Unknown | None") -> Iterator[str]:
    known = None if nvml is None or isinstance(nvml, Unknown) or isinstance(nvml.gpus, Unknown) else nvml.gpus
    gpu = next((gpu for gpu in known or () if gpu.address == function.address), None)
    yield gpu.name if gpu is not None and isinstance(gpu.name, str) else f"device {function.device_id:#06x}"
    if gpu is not None and isinstance(gpu.uuid, str):
        yield gpu.uuid
    yield "no driver bound" if function.driver is None else f"driver {_say(function.driver, '')}"
    yield from _link_words(function)
    if gpu is not None:
        yield from _mig_words(gpu)


def _link_words(function: "PciFunction") -> Iterator[str]:
    speed, width = function.current_link_speed, function.current_link_width
    if isinstance(speed, int) and isinstance(width, int):
        yield f"link {speed / 1000:g} GT/s x{width}"


def _mig_words(gpu: "NvmlGpu") -> Iterator[str]:
    if gpu.mig_current is True:
        devices = gpu.mig_devices
        yield f"MIG on, {len(devices) if isinstance(devices, tuple) else 'unknown'} devices"


def _cdi_rows(cdi: "Cdi | Unknown") -> Iterator[Row]:
    folders = cdi if isinstance(cdi, Unknown) else cdi.folders
    if isinstance(cdi, Unknown) or isinstance(folders, Unknown):
        yield "", _say(folders if isinstance(folders, Unknown) else None, "")
        return
    there = {folder.real_path: folder.path for folder in reversed(folders) if isinstance(folder.real_path, str)}
    yield "folders", ", ".join(reversed(there.values())) or "none of those that engines read"
    for folder in folders:
        if isinstance(folder.real_path, Unknown):
            yield "folder", f"{folder.path}: {_say(folder.real_path, '')}"
    for file in () if isinstance(cdi.files, Unknown) else cdi.files:
        yield "spec", f"{file.path}: {_spec(file)}"


def _spec(file: "CdiFile") -> str:
    if isinstance(file.spec, Unknown):
        return _say(file.spec, "")
    if file.spec is None or not file.is_loaded:
        return f"refused, {file.faults[0].message}" if file.faults else "refused"
    return f"{file.spec.kind}, {len(file.spec.devices)} devices"


def _cgroup_rows(snapshot: "Snapshot") -> Iterator[Row]:
    cgroups = snapshot.cgroups
    if isinstance(cgroups, Unknown):
        yield "", _say(cgroups, "")
        return
    yield "version", _say(cgroups.mode, "none is mounted").removeprefix("v")
    if cgroups.systemd_version is not None:
        yield "systemd", _say(cgroups.systemd_version, "")
