"""What a host says that bears on the runtime's mode: platform, hook, driver, mount files, CDI specs; judges nothing."""

from collections.abc import Iterator, Mapping

from ctk.facts import Unknown
from ctk.facts.system import System
from ctk.facts.toolkit_mode import ModeFacts, SpecKind
from ctk.host import Host
from ctk.host.programs import find_program
from ctk.host.reading import try_read_text, unknown_from
from ctk.host.toolkit import own_folders
from ctk.host.toolkit_values import find_driver_library

RUNTIME = "nvidia-container-runtime"
OWN_HOOK = "ctk-container-runtime-hook"
ENGINE_FOLDERS = ("/etc/cdi", "/var/run/cdi", "/run/cdi")
"""Where Docker, containerd, CRI-O and podman look unless they are told otherwise (the CDI specification)."""

NVIDIA_VENDOR, DISPLAY_CLASS = "0x10de", "0x03"
"""PCI vendor and base class, as sysfs writes them (sysfs-bus-pci)."""


def collect_mode_facts(
    host: Host,
    values: Mapping[str, object],
    mode: str,
    system: System | None = None,
    has_pci_gpu: bool | Unknown | None = None,
) -> ModeFacts:
    """The facts for one mode. values: the configuration in force by key, of the right types.

    system, has_pci_gpu: what was collected already; None = look.
    """
    if system is None:
        from ctk.host.system import collect_system

        system = collect_system(host)
    folders = _strings(values[f"{RUNTIME}.modes.cdi.spec-dirs"])
    csv_folder = str(values[f"{RUNTIME}.modes.csv.mount-spec-path"])
    injector = str(values["nvidia-container-cli.path"] or "nvidia-container-cli")
    return ModeFacts(
        configured=mode,
        is_tegra=system.jetson,
        is_wsl=system.wsl if isinstance(system.wsl, Unknown) else system.wsl is not None,
        has_pci_gpu=collect_pci_gpu(host) if has_pci_gpu is None else has_pci_gpu,
        driver_library=find_driver_library(host, str(values["nvidia-container-cli.root"] or "/")),
        hook=find_program(host, (str(values[f"{RUNTIME}-hook.path"]), OWN_HOOK)),
        injector=find_program(host, (injector, OWN_HOOK)),
        mount_spec_folder=csv_folder,
        csv_files=_files(host, csv_folder, (".csv",)),
        spec_folders=folders,
        specs=collect_spec_kinds(host, folders),
        default_kind=str(values[f"{RUNTIME}.modes.cdi.default-kind"]),
        cdi_tool=_find_cdi_tool(host, str(values["nvidia-ctk.path"])),
        engine_folders=collect_engine_folders(host),
    )


def _find_cdi_tool(host: Host, configured: str) -> str | None | Unknown:
    """The program that the hooks of CDI specs call; ctk has hooks of its own."""
    named = (configured,) if configured else ()
    return find_program(host, ("nvidia-cdi-hook", *named, "nvidia-ctk", "ctk"), own_folders(host, "ctk"))


def _strings(value: object) -> tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, list) else ()


def collect_pci_gpu(host: Host) -> bool | Unknown:
    """Whether an NVIDIA GPU is on the PCI bus; a Jetson's own is not."""
    folder = "/sys/bus/pci/devices"
    try:
        devices = host.list_directory(folder)
    except FileNotFoundError:
        return False
    except OSError as error:
        return unknown_from(error)
    for device in devices:
        vendor = try_read_text(host, f"{folder}/{device}/vendor")
        kind = try_read_text(host, f"{folder}/{device}/class")
        if str(vendor).strip() == NVIDIA_VENDOR and str(kind).startswith(DISPLAY_CLASS):
            return True
    return False


def collect_spec_kinds(host: Host, folders: tuple[str, ...]) -> tuple[SpecKind, ...] | Unknown:
    """The kind that every CDI spec in the folders names, None where it names none."""
    found = []
    for folder in folders:
        files = _files(host, folder, (".yaml", ".yml", ".json"))
        if isinstance(files, Unknown):
            return files
        found += [SpecKind(path, _kind_of(host, path)) for path in files]
    return tuple(found)


def _files(host: Host, folder: str, endings: tuple[str, ...]) -> tuple[str, ...] | Unknown:
    try:
        names = host.list_directory(folder)
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        return Unknown(f"{folder}: {unknown_from(error).reason}")
    return tuple(f"{folder.rstrip('/')}/{name}" for name in names if name.endswith(endings))


def _kind_of(host: Host, path: str) -> str | None:
    from ctk.host.yaml_text import parse_yaml_scalar

    text = try_read_text(host, path)
    if not isinstance(text, str):
        return None
    if not path.endswith(".json"):
        return parse_yaml_scalar(text, "kind")
    kind = _json_object(text).get("kind")
    return kind if isinstance(kind, str) else None


def _json_object(text: str) -> dict[str, object]:
    import json

    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def collect_engine_folders(host: Host) -> tuple[str, ...]:
    """The folders in which engines look for CDI specs: the usual ones, and those in their main files.

    Docker's cdi-spec-dirs, containerd's and CRI-O's cdi_spec_dirs; what drop-ins say is not looked at.
    """
    docker = try_read_text(host, "/etc/docker/daemon.json")
    found = list(_strings(_json_object(docker).get("cdi-spec-dirs"))) if isinstance(docker, str) else []
    for path in ("/etc/containerd/config.toml", "/etc/crio/crio.conf"):
        text = try_read_text(host, path)
        if isinstance(text, str) and "cdi_spec_dirs" in text:
            found += [folder for folders in _find(_toml(text), "cdi_spec_dirs") for folder in _strings(folders)]
    return tuple(dict.fromkeys((*ENGINE_FOLDERS, *found)))


def _toml(text: str) -> dict[str, object]:
    from ctk.edit import toml
    from ctk.errors import ParseFault

    try:
        return toml.load(text)
    except ParseFault:
        return {}


def _find(table: Mapping[str, object], name: str) -> Iterator[object]:
    for key, value in table.items():
        if key == name:
            yield value
        elif isinstance(value, Mapping):
            yield from _find(value, name)
