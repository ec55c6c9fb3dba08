"""Who reads CDI specs on a host, from which folders, and whether now; from the facts of engines and toolkit, no I/O.

Sources: the release notes of Docker (from 25.0, on by default from 28.2), containerd (from 1.7, on by default from
2.0), CRI-O (1.23) and Podman (4.1); container-device-interface, pkg/cdi/spec-dirs.go for the folders.
"""

from collections.abc import Iterator
from typing import NamedTuple

from ctk.facts import Unknown
from ctk.facts.cdi import DEFAULT_FOLDERS
from ctk.facts.engines import EngineDaemon, EngineFiles, EngineInstallation
from ctk.facts.toolkit_setup import ToolkitConfig, ToolkitSetup

FIRST = {"docker": (25, 0), "containerd": (1, 7), "crio": (1, 23), "podman": (4, 1)}
"""The first release that reads specs at all."""
ON_BY_DEFAULT = {"docker": (28, 2), "containerd": (2, 0), "crio": (1, 23), "podman": (4, 1)}
FLAG = {"docker": "cdi-spec-dir", "crio": "cdi-spec-dirs"}
TOOLKIT = "the toolkit's runtime"
SPEC_FOLDERS = "nvidia-container-runtime.modes.cdi.spec-dirs"


class Reader(NamedTuple):
    """A program that reads specs. folders in order: the later ones win. origin: the file that names them, or "default".

    reads: whether it reads them now, None = not known. version: the engine's.
    """

    name: str
    folders: tuple[str, ...]
    origin: str
    reads: bool | None
    version: str | None = None
    engine: str = ""


def readers_of(engines: tuple[EngineInstallation, ...] | Unknown, setup: ToolkitSetup | Unknown) -> tuple[Reader, ...]:
    """The engines in the order they were found, then the toolkit."""
    found = [_engine_reader(item) for item in engines] if isinstance(engines, tuple) else []
    return (*found, *_toolkit_reader(setup))


def version_numbers(text: str | None | Unknown) -> tuple[int, ...]:
    """The leading numbers of a version; () for none."""
    numbers: list[int] = []
    for part in text.split(".") if isinstance(text, str) else ():
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
    return tuple(numbers)


def _engine_reader(item: EngineInstallation) -> Reader:
    folders, origin = _folders(item)
    version = item.version if isinstance(item.version, str) else None
    return Reader(f"{item.engine} ({item.installation})", folders, origin, _reads(item), version, item.engine)


def _folders(item: EngineInstallation) -> tuple[tuple[str, ...], str]:
    """What the daemon says, else the flags, else the files, else the default."""
    if isinstance(item.daemon, EngineDaemon) and item.daemon.cdi_directories:
        return item.daemon.cdi_directories, item.socket or item.engine
    flags = [flag for flag in item.flags if flag.name == FLAG.get(item.engine)]
    if flags:
        return tuple(word for flag in flags for word in flag.value.split(",") if word), flags[0].origin
    if isinstance(item.files, EngineFiles) and item.files.cdi_directories is not None:
        return item.files.cdi_directories, item.config_path
    return DEFAULT_FOLDERS, "default"


def _reads(item: EngineInstallation) -> bool | None:
    """By its version, its switch, and whether it is used at all."""
    if item.engine == "containerd" and item.used_by == ("docker",):
        return False  # dockerd reads the specs itself; containerd's switch is one of its CRI plugin
    if item.engine != "podman" and item.running is False and item.enabled is False:
        return False  # it lies on the disk only
    if isinstance(item.daemon, EngineDaemon) and item.daemon.cdi_directories is not None:
        return bool(item.daemon.cdi_directories)
    version = version_numbers(item.version)[:2]
    if version and version < FIRST[item.engine]:
        return False
    if isinstance(item.files, Unknown):
        return None
    if item.files.cdi_enabled is not None:
        return item.files.cdi_enabled
    return version >= ON_BY_DEFAULT[item.engine] if version else None


def _toolkit_reader(setup: ToolkitSetup | Unknown) -> Iterator[Reader]:
    """The runtime reads them in mode cdi; in the others only for containers that ask for CDI names."""
    if isinstance(setup, Unknown) or not isinstance(setup.config, ToolkitConfig):
        return
    config = setup.config
    row = config.find(SPEC_FOLDERS)
    if row is None or not isinstance(row.value, tuple):
        return
    mode = config.text("nvidia-container-runtime.mode")
    yield Reader(TOOLKIT, row.value, config.path if row.is_set else "default", mode == "cdi")
