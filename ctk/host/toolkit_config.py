"""The toolkit's config.toml on a host: which file is in force, its look-alikes, and what its values find here."""

from collections.abc import Mapping
from typing import NamedTuple

from ctk.facts import Unknown
from ctk.host import Host
from ctk.host.programs import find_program
from ctk.host.reading import try_read_text

DEFAULT_CONFIG = "/etc/nvidia-container-runtime/config.toml"
PATH_VARIABLES = ("NVIDIA_CTK_CONFIG_FILE_PATH", "NVIDIA_CTK_CONFIG")
LIBRARY_FOLDERS = (
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/usr/lib/aarch64-linux-gnu/nvidia/current",
    "/lib64",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib",
    "/usr/lib/wsl/lib",
    "/usr/lib/aarch64-linux-gnu/tegra",
)
LOOK_ALIKES = (
    "/etc/nvidia-container-toolkit/config.toml",
    "/etc/nvidia-container-runtime.toml",
    "/etc/nvidia/config.toml",
    "/etc/nvidia-container/config.toml",
    "/etc/nvidia-docker/config.toml",
    "/etc/nvidia-ctk/config.toml",
    "/etc/nvidia-container-runtime/config.conf",
    "/usr/local/nvidia/toolkit/.config/nvidia-container-runtime/config.toml",
)
"""Places people write to by mistake; the last is the GPU Operator's, which only its own wrappers read."""


class ConfigLocation(NamedTuple):
    """The file in force; origin says who chose it: an option, an environment variable, or the default."""

    path: str
    origin: str


def find_config(environment: Mapping[str, str], explicit: str | None) -> ConfigLocation:
    """The file in force, as NVIDIA's toolkit finds it: option, NVIDIA_CTK_CONFIG…, XDG_CONFIG_HOME, /etc."""
    if explicit is not None:
        return ConfigLocation(explicit, "--config-file")
    for name in PATH_VARIABLES:
        value = environment.get(name)
        if value:
            return ConfigLocation(value, f"environment: {name}")
    home = environment.get("XDG_CONFIG_HOME")
    if home:
        return ConfigLocation(
            f"{home.rstrip('/')}/nvidia-container-runtime/config.toml", "environment: XDG_CONFIG_HOME"
        )
    return ConfigLocation(DEFAULT_CONFIG, "default")


def collect_look_alikes(host: Host, location: ConfigLocation, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Files that look like the configuration but are not read."""
    home = environment.get("HOME", "")
    own = (f"{home}/.config/nvidia-container-runtime/config.toml",) if home else ()
    places = dict.fromkeys((DEFAULT_CONFIG, *LOOK_ALIKES, *own))
    return tuple(path for path in places if path != location.path and _is_file(host, path))


def _is_file(host: Host, path: str) -> bool:
    try:
        return host.is_file(path)
    except OSError:
        return False


def collect_ldconfig(host: Host) -> str:
    """The default of nvidia-container-cli.ldconfig here: ldconfig.real only where it exists (Debian, Ubuntu)."""
    return "@/sbin/ldconfig.real" if _is_file(host, "/sbin/ldconfig.real") else "@/sbin/ldconfig"


def collect_default_user(host: Host) -> str:
    """root:video on SUSE, as NVIDIA's toolkit decides from os-release's ID_LIKE; "" elsewhere."""
    text = try_read_text(host, "/etc/os-release")
    lines = text.splitlines() if isinstance(text, str) else []
    likes = next((line.partition("=")[2] for line in lines if line.startswith("ID_LIKE=")), "")
    return "root:video" if {"suse", "opensuse"} & set(likes.strip("\"'").split()) else ""


def host_fault(host: Host, check: str, value: object) -> str:
    """What a value names that is not on this host, "" if nothing; check is the row's rule."""
    if check == "ldconfig":
        path = str(value).removeprefix("@")
        return "" if _is_file(host, path) else _ldconfig_fault(host, path)
    if check == "user" and value:
        return _user_fault(host, str(value))
    if check == "runtimes" and isinstance(value, list):
        found = any(isinstance(find_program(host, (str(name),)), str) for name in value)
        return "" if found else f"none of {', '.join(map(str, value))} was found on this host"
    if check == "driver-root" and value and find_driver_library(host, str(value)) is None:
        elsewhere = " (but the host's own root has it)" if find_driver_library(host, "/") else ""
        return f"there is no libnvidia-ml.so.1 below {value}{elsewhere}"
    if check == "program-or-empty" and value and find_program(host, (str(value),)) is None:
        return f"{value} was not found on this host"
    return ""


def _ldconfig_fault(host: Host, path: str) -> str:
    there = next((other for other in ("/sbin/ldconfig.real", "/sbin/ldconfig") if _is_file(host, other)), None)
    return f"{path} does not exist here" + (f", but {there} does: @{there}" if there else "")


def _user_fault(host: Host, value: str) -> str:
    user, _, group = value.partition(":")
    for kind, name, path in (("user", user, "/etc/passwd"), ("group", group, "/etc/group")):
        if name and not name.isdigit() and not _has_account(host, path, name):
            return f"there is no {kind} {name!r} on this host"
    return ""


def _has_account(host: Host, path: str, name: str) -> bool:
    text = try_read_text(host, path)
    if isinstance(text, str) and any(line.startswith(f"{name}:") for line in text.splitlines()):
        return True
    return host.is_live and _is_known_to_system(path, name)


def _is_known_to_system(path: str, name: str) -> bool:
    """Names from a directory service are in no file (nsswitch.conf(5))."""
    import grp
    import pwd

    try:
        (pwd.getpwnam if path.endswith("passwd") else grp.getgrnam)(name)
    except KeyError:
        return False
    return True


def find_driver_library(host: Host, root: str) -> str | None | Unknown:
    """libnvidia-ml.so.1 below a driver root, in the folders libraries are in; None = looked and not there."""
    hidden = None
    for folder in LIBRARY_FOLDERS:
        path = f"{root.rstrip('/')}{folder}/libnvidia-ml.so.1"
        try:
            if host.exists(path):
                return path
        except OSError as error:
            hidden = Unknown(f"{path}: {error.strerror}")
    return hidden


def collect_csv_files(host: Host, folder: str) -> tuple[str, ...] | Unknown:
    """The csv files of a mount-spec folder."""
    return _files(host, folder, (".csv",))


def collect_spec_kinds(host: Host, folders: tuple[str, ...]) -> tuple[tuple[str, str | None], ...] | Unknown:
    """The kind that every CDI spec in the folders names, None where it names none."""
    found = []
    for folder in folders:
        files = _files(host, folder, (".yaml", ".yml", ".json"))
        if isinstance(files, Unknown):
            return files
        found += [(path, _kind_of(host, path)) for path in files]
    return tuple(found)


def _files(host: Host, folder: str, endings: tuple[str, ...]) -> tuple[str, ...] | Unknown:
    try:
        names = host.list_directory(folder)
    except FileNotFoundError:
        return ()
    except OSError as error:
        return Unknown(f"{folder}: {error.strerror}")
    return tuple(f"{folder}/{name}" for name in sorted(names) if name.endswith(endings))


def _kind_of(host: Host, path: str) -> str | None:
    from ctk.host.yaml_text import parse_yaml_scalar

    text = try_read_text(host, path)
    if not isinstance(text, str):
        return None
    if not path.endswith(".json"):
        return parse_yaml_scalar(text, "kind")
    import json

    try:
        document = json.loads(text)
    except ValueError:
        return None
    kind = document.get("kind") if isinstance(document, dict) else None
    return kind if isinstance(kind, str) else None
