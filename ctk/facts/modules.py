"""Kernel modules: loaded, on disk for the running kernel, and what DKMS has built; no I/O."""

from dataclasses import dataclass
from typing import NamedTuple

from ctk.facts import Unknown

CORE_MODULES = ("nvidia", "nvidia_current")
"""The driver's main module, and Debian's name for it."""
DRIVER_MODULES = ("nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_drm", "nvidia_peermem")


def plain_module_name(name: str) -> str:
    """One spelling of a module: underscores, and NVIDIA's name where Debian puts "current" into it."""
    return name.replace("-", "_").replace("nvidia_current_", "nvidia_").replace("nvidia_current", "nvidia")


class ModuleParameter(NamedTuple):
    """One parameter of a loaded module, as sysfs shows it."""

    name: str
    value: str


class LoadedModule(NamedTuple):
    """One line of /proc/modules. version and what follows is known for NVIDIA's modules only; None: not stated."""

    name: str
    size_bytes: int
    use_count: int | None
    used_by: tuple[str, ...]
    state: str  # Live, Loading or Unloading
    taint: str = ""  # the letters in parentheses: P proprietary, O out of tree, E unsigned
    version: str | None | Unknown = None
    source_version: str | None | Unknown = None
    parameters: tuple[ModuleParameter, ...] = ()

    @property
    def plain_name(self) -> str:
        """The name without Debian's "current"."""
        return plain_module_name(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleFile:
    """One module file below /lib/modules. The values come from its .modinfo section; Unknown: it could not be read."""

    path: str
    name: str  # with underscores, as in the file's name
    release: str  # the folder below /lib/modules
    compression: str | None = None  # xz, zst or gz
    version: str | None | Unknown = None
    source_version: str | None | Unknown = None
    version_magic: str | None | Unknown = None
    license: str | None | Unknown = None
    signed: bool | Unknown = False
    signer: str | None | Unknown = None  # the common name of the key's issuer
    signature_key: str | None | Unknown = None  # the key's serial number, hex digits
    is_listed: bool = False  # modules.dep names it: the one that modprobe loads

    @property
    def plain_name(self) -> str:
        """The name without Debian's "current"."""
        return plain_module_name(self.name)


class DkmsBuild(NamedTuple):
    """What DKMS knows of one module: state added (no kernel yet), built, installed or failed; log None: there is none.

    error is the log's first line that says so.
    """

    module: str
    version: str
    state: str
    kernel: str | None = None
    architecture: str | None = None
    log: str | None = None
    error: str | None = None
    differs: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Modules:
    """All three views of the host's modules."""

    loaded: tuple[LoadedModule, ...] | Unknown = ()
    files: tuple[ModuleFile, ...] | None | Unknown = None  # NVIDIA's; None: no folder for the running kernel
    dkms: tuple[DkmsBuild, ...] | None | Unknown = None  # of NVIDIA's modules; None: no DKMS here
    nouveau_on_disk: bool | None | Unknown = None
    vendor_folders: tuple[str, ...] = ()  # below /sys/module: NVIDIA's modules, also where /proc/modules is hidden

    def find_loaded(self, name: str) -> LoadedModule | None:
        """The loaded module of this name, Debian's names too; None when it is not loaded, or not known."""
        if isinstance(self.loaded, Unknown):
            return None
        return next((module for module in self.loaded if module.plain_name == name), None)

    def find_file(self, name: str) -> ModuleFile | None:
        """The file that modprobe would load for this name, else the only one there is."""
        if not isinstance(self.files, tuple):
            return None
        files = [file for file in self.files if file.plain_name == name]
        return next((file for file in files if file.is_listed), files[0] if files else None)
