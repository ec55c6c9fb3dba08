"""Valid values of the toolkit's part of the data model; override what a test is about."""

from ctk.facts.packages import Package, Packages
from ctk.facts.rights import Place, Rights
from ctk.facts.toolkit import ToolBinary
from ctk.facts.toolkit_mode import ModeFacts
from ctk.facts.toolkit_setup import (
    SYSTEM,
    CdiRefresh,
    LowLevelRuntime,
    OciHook,
    ToolkitConfig,
    ToolkitCopy,
    ToolkitSetup,
)
from ctk.facts.toolkit_setup import ToolkitValue as Value
from ctk.toolkit.settings import SETTINGS

VERSION = "1.20.0"
CONFIG = "/etc/nvidia-container-runtime/config.toml"
PROGRAMS = (
    "nvidia-container-runtime",
    "nvidia-container-runtime-hook",
    "nvidia-ctk",
    "nvidia-cdi-hook",
    "nvidia-container-cli",
)
FOUR = (
    "libnvidia-container-tools",
    "libnvidia-container1",
    "nvidia-container-toolkit",
    "nvidia-container-toolkit-base",
)


def make_tools(version: object = VERSION, **changes: object) -> tuple[ToolBinary, ...]:
    """All of NVIDIA's programs."""
    values: dict[str, object] = {"version": version, "machine": "x86_64", **changes}
    return tuple(ToolBinary(name=name, **{"path": f"/usr/bin/{name}", **values}) for name in PROGRAMS)  # type: ignore[arg-type] # the record's own fields by name


def no_tools() -> tuple[ToolBinary, ...]:
    """Looked for, and not there."""
    return make_tools(None, path=None, executable=False, machine=None)


def make_mode(**changes: object) -> ModeFacts:
    """A server with the driver and the whole toolkit."""
    values: dict[str, object] = {
        "configured": "auto",
        "is_tegra": False,
        "is_wsl": False,
        "has_pci_gpu": True,
        "driver_library": "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
        "hook": "/usr/bin/nvidia-container-runtime-hook",
        "injector": "/usr/bin/nvidia-container-cli",
        "mount_spec_folder": "/etc/nvidia-container-runtime/host-files-for-container.d",
        "csv_files": (),
        "spec_folders": ("/etc/cdi", "/var/run/cdi"),
        "specs": (),
        "default_kind": "nvidia.com/gpu",
        "cdi_tool": "/usr/bin/nvidia-cdi-hook",
        "engine_folders": ("/etc/cdi", "/var/run/cdi", "/run/cdi"),
    }
    return ModeFacts(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name


def make_value(key: str, value: object, *, fault: str = "", is_set: bool = True) -> Value:
    """A key as a file sets it."""
    return Value(key, value, is_set, fault)  # type: ignore[arg-type] # tests hand in any of its types


def make_config(*values: Value, **changes: object) -> ToolkitConfig:
    """The defaults in a file, but for these values."""
    given = {row.key: row for row in values}
    defaults = (
        Value(row.key, tuple(row.default) if isinstance(row.default, list) else row.default) for row in SETTINGS
    )
    mode = given.get("nvidia-container-runtime.mode")
    fields: dict[str, object] = {
        "path": CONFIG,
        "exists": True,
        "values": tuple(given.get(row.key, row) for row in defaults),
        "runtimes": (LowLevelRuntime("runc", "/usr/bin/runc", "/usr/bin/runc"), LowLevelRuntime("crun", None)),
        "mode": make_mode(configured=mode.value) if mode is not None else make_mode(),
    }
    return ToolkitConfig(**{**fields, **changes})  # type: ignore[arg-type] # the record's own fields by name


def make_copy(**changes: object) -> ToolkitCopy:
    """The host's."""
    return ToolkitCopy(**{"kind": SYSTEM, "folder": "/usr/bin", "programs": PROGRAMS, **changes})  # type: ignore[arg-type] # the record's own fields by name


def make_hook(**changes: object) -> OciHook:
    """As the packages up to 1.13 brought it."""
    values: dict[str, object] = {
        "file": "/usr/share/containers/oci/hooks.d/oci-nvidia-hook.json",
        "program": "/usr/bin/nvidia-container-toolkit",
        "conditions": ("always", "commands"),
        "stages": ("prestart",),
    }
    return OciHook(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name


def make_refresh(**changes: object) -> CdiRefresh:
    """NVIDIA's units, enabled, after a good run."""
    values: dict[str, object] = {
        "owner": "nvidia",
        "service": "/usr/lib/systemd/system/nvidia-cdi-refresh.service",
        "path_unit": "/usr/lib/systemd/system/nvidia-cdi-refresh.path",
        "service_enabled": True,
        "path_enabled": True,
        "udev_rule": "/usr/lib/udev/rules.d/99-nvidia-cdi-refresh.rules",
        "result": "success",
        "exit_status": 0,
        "condition": True,
        "ended_seconds": 30.5,
    }
    return CdiRefresh(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name


def make_toolkit_setup(config: object = None, **changes: object) -> ToolkitSetup:
    """One copy with its defaults."""
    values: dict[str, object] = {"config": config or make_config(), "copies": (make_copy(),)}
    return ToolkitSetup(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name


def make_packages(*packages: Package, **changes: object) -> Packages:
    """Debian's, with the four of the toolkit, or these."""
    listed = packages or tuple(Package(name, f"{VERSION}-1") for name in FOUR)
    values: dict[str, object] = {"manager": "dpkg", "source": "/var/lib/dpkg/status", "packages": listed}
    return Packages(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name


def make_place(path: str = CONFIG, mode: int = 0o644, **changes: object) -> Place:
    """A file of root's."""
    values: dict[str, object] = {"path": path, "mode": mode, "uid": 0, "gid": 0, "used_for": path}
    return Place(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name


def make_rights(*places: Place, **changes: object) -> Rights:
    """Everything is root's."""
    return Rights(places or (make_place(),), **changes)  # type: ignore[arg-type] # the record's own fields by name
