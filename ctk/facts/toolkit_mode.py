"""What bears on the mode of the toolkit's runtime, as found on a host; no I/O."""

from typing import NamedTuple

from ctk.facts import Unknown


class SpecKind(NamedTuple):
    """A CDI spec's file, and the kind it names; None = it names none."""

    path: str
    kind: str | None


class ModeFacts(NamedTuple):
    """What was found on the host. specs: the CDI specs there; engine_folders: where engines look for them.

    driver_library: libnvidia-ml.so.1, None = looked and not there. Paths are the host's.
    """

    configured: str
    is_tegra: bool | Unknown
    is_wsl: bool | Unknown
    has_pci_gpu: bool | Unknown
    driver_library: str | None | Unknown
    hook: str | None | Unknown
    injector: str | None | Unknown
    mount_spec_folder: str
    csv_files: tuple[str, ...] | Unknown
    spec_folders: tuple[str, ...]
    specs: tuple[SpecKind, ...] | Unknown
    default_kind: str
    cdi_tool: str | None | Unknown
    engine_folders: tuple[str, ...]
