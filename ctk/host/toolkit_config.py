"""The toolkit's config.toml on a host: which file is in force, its look-alikes, the defaults here; reads no value."""

from collections.abc import Mapping

from ctk.host import Host
from ctk.host.reading import try_read_text
from ctk.record import Record

DEFAULT_CONFIG = "/etc/nvidia-container-runtime/config.toml"
PATH_VARIABLES = ("NVIDIA_CTK_CONFIG_FILE_PATH", "NVIDIA_CTK_CONFIG")
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


class ConfigLocation(Record):
    """The file in force. origin: option, environment or default; variable: the environment variable that chose it."""

    path: str
    origin: str
    variable: str | None = None


def find_config(environment: Mapping[str, str], explicit: str | None) -> ConfigLocation:
    """The file in force, as NVIDIA's toolkit finds it: option, NVIDIA_CTK_CONFIG…, XDG_CONFIG_HOME, /etc.

    XDG_CONFIG_HOME counts for every caller, root too; none of the variables sets a value of the file.
    """
    if explicit is not None:
        return ConfigLocation(explicit, "option")
    for name in PATH_VARIABLES:
        value = environment.get(name)
        if value:
            return ConfigLocation(value, "environment", name)
    home = environment.get("XDG_CONFIG_HOME")
    if home:
        path = f"{home.rstrip('/')}/nvidia-container-runtime/config.toml"
        return ConfigLocation(path, "environment", "XDG_CONFIG_HOME")
    return ConfigLocation(DEFAULT_CONFIG, "default")


def collect_look_alikes(host: Host, location: ConfigLocation) -> tuple[str, ...]:
    """Files that look like the configuration but are not read."""
    home = host.get_environment().get("HOME", "")
    own = (f"{home.rstrip('/')}/.config/nvidia-container-runtime/config.toml",) if home.startswith("/") else ()
    in_force = _real_path(host, location.path)
    places = dict.fromkeys((DEFAULT_CONFIG, *LOOK_ALIKES, *own))
    return tuple(path for path in places if _is_file(host, path) and _real_path(host, path) != in_force)


def _real_path(host: Host, path: str) -> str:
    try:
        return host.real_path(path)
    except OSError:
        return path


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
