"""Kernel modules: loaded, on disk for the running kernel, and DKMS's builds; it loads none and runs no dkms."""

from ctk.facts import Unknown
from ctk.facts.modules import CORE_MODULES, LoadedModule, ModuleParameter, Modules
from ctk.host import Host
from ctk.host.dkms import collect_dkms
from ctk.host.module_files import collect_module_files, has_module
from ctk.host.reading import try_read_text

SYS_MODULE = "/sys/module"
VENDOR_PREFIXES = ("nvidia", "nouveau", "nova_", "gdrdrv")


def collect_modules(host: Host, release: str | None | Unknown) -> Modules:
    """release: of the running kernel, without which nothing on disk can be looked up."""
    return Modules(
        loaded=_collect_loaded(host),
        files=collect_module_files(host, release),
        dkms=collect_dkms(host),
        nouveau_on_disk=has_module(host, release, "nouveau"),
        vendor_folders=_vendor_folders(host),
    )


def parse_loaded(text: str) -> tuple[LoadedModule, ...]:
    """/proc/modules: name, size, use count ("-" on a kernel that cannot unload), users, state, address, taint."""
    found = []
    for line in text.splitlines():
        fields = line.split()
        if len(fields) >= 5 and fields[1].isdigit():
            users = () if fields[3] == "-" else tuple(user for user in fields[3].split(",") if user)
            taint = fields[-1].strip("()") if fields[-1].startswith("(") else ""
            count = int(fields[2]) if fields[2].isdigit() else None
            found.append(LoadedModule(fields[0], int(fields[1]), count, users, fields[4], taint))
    return tuple(found)


def _collect_loaded(host: Host) -> tuple[LoadedModule, ...] | Unknown:
    text = try_read_text(host, "/proc/modules")
    if text is None:
        return Unknown("no /proc/modules") if not host.exists("/proc/sys") else ()  # a kernel built without modules
    if isinstance(text, Unknown):
        return text
    return tuple(_with_details(host, module) for module in parse_loaded(text))


def _with_details(host: Host, module: LoadedModule) -> LoadedModule:
    if not module.name.startswith(VENDOR_PREFIXES):
        return module
    folder = f"{SYS_MODULE}/{module.name}"
    return module._replace(
        version=_line(host, f"{folder}/version"),
        source_version=_line(host, f"{folder}/srcversion"),
        parameters=_parameters(host, f"{folder}/parameters") if module.name not in CORE_MODULES else (),
    )


def _parameters(host: Host, folder: str) -> tuple[ModuleParameter, ...]:
    """The core module's are in /proc/driver/nvidia/params; here only those that may be read."""
    try:
        names = host.list_directory(folder)
    except OSError:
        return ()
    values = ((name, _line(host, f"{folder}/{name}")) for name in names)
    return tuple(ModuleParameter(name, value) for name, value in values if isinstance(value, str))


def _line(host: Host, path: str) -> str | None | Unknown:
    text = try_read_text(host, path)
    return text.strip() or None if isinstance(text, str) else text


def _vendor_folders(host: Host) -> tuple[str, ...]:
    try:
        return tuple(name for name in host.list_directory(SYS_MODULE) if name.startswith(VENDOR_PREFIXES))
    except OSError:
        return ()
