"""NVIDIA's module files below /lib/modules: where they lie and what they say of themselves; it loads none."""

import os
import re
from collections.abc import Iterable

from ctk.facts import Unknown
from ctk.facts.modules import CORE_MODULES, ModuleFile
from ctk.formats.kernel_module import ModuleInfo
from ctk.host import Host
from ctk.host.module_reading import read_module_info
from ctk.host.reading import ABSENT, try_read_text, unknown_from

MODULE_ROOT = "/lib/modules"
PLACES = (
    "updates",
    "updates/*",
    "extra",
    "extra/*",
    "extramodules",
    "kernel/drivers/video",
    "kernel/drivers/video/*",
    "kernel/drivers/char/drm",
    "kernel/nvidia-*",
    "weak-updates",
    "weak-updates/*",
    "misc",
)
"""Where packages, DKMS and NVIDIA's installer put their modules. depmod.d(5) says which copy of two is loaded."""
NAME = re.compile(r"(nvidia(?:-current)?(?:[-_](?:uvm|modeset|drm|peermem))?)\.ko(?:\.(xz|zst|gz))?")


def collect_module_files(host: Host, release: str | None | Unknown) -> tuple[ModuleFile, ...] | None | Unknown:
    """None: there is no folder for the running kernel at all, so nothing can be loaded any more."""
    if not isinstance(release, str):
        return release
    folder = f"{MODULE_ROOT}/{release}"
    try:
        if not host.is_directory(folder):
            return None
        listed = parse_dependency_names(_text(host, f"{folder}/modules.dep"))
        found = {path for place in PLACES for path in host.glob(f"{folder}/{place}/nvidia*.ko*")}
        found |= {path for name in listed if host.is_file(path := f"{folder}/{name}")}
        files = [path for path in sorted(found) if NAME.fullmatch(os.path.basename(path))]
        return tuple(_collect_file(host, path, release, listed) for path in files)
    except OSError as error:
        return unknown_from(error)


def has_module(host: Host, release: str | None | Unknown, name: str) -> bool | None | Unknown:
    """Whether depmod knows a module of this name; None when it was never run for this kernel."""
    if not isinstance(release, str):
        return release
    text = try_read_text(host, f"{MODULE_ROOT}/{release}/modules.dep")
    return text if not isinstance(text, str) else f"/{name}.ko" in text


def parse_dependency_names(text: str) -> tuple[str, ...]:
    """The paths of NVIDIA's modules in modules.dep, relative to its folder."""
    names = (line.partition(":")[0] for line in text.splitlines() if "/nvidia" in line.partition(":")[0])
    return tuple(name for name in names if NAME.fullmatch(os.path.basename(name)))


def parse_modinfo(text: str) -> dict[str, str]:
    """The output of modinfo(8), name: value; of several values of one name the first."""
    values: dict[str, str] = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon and name and not name[0].isspace():
            values.setdefault(name, value.strip())
    return values


def _collect_file(host: Host, path: str, release: str, listed: Iterable[str]) -> ModuleFile:
    found = NAME.fullmatch(os.path.basename(path))
    stem, compression = found.groups() if found else ("", None)
    base = ModuleFile(
        path=path,
        name=stem.replace("-", "_"),
        release=release,
        compression=compression,
        is_listed=path.removeprefix(f"{MODULE_ROOT}/{release}/") in listed,
    )
    if compression and base.name not in CORE_MODULES:  # unpacking takes a second; one file speaks for its siblings
        return _with_reason(base, Unknown("compressed, only the main module was unpacked"))
    try:
        return _with_info(base, read_module_info(host, path, compression))
    except OSError as error:
        return _with_reason(base, unknown_from(error))
    except ValueError as error:
        return _ask_modinfo(host, base, Unknown(str(error)))


def _with_info(file: ModuleFile, info: ModuleInfo) -> ModuleFile:
    from dataclasses import replace

    signature = info.signature
    return replace(
        file,
        version=info.values.get("version"),
        source_version=info.values.get("srcversion"),
        version_magic=info.values.get("vermagic"),
        license=info.values.get("license"),
        signed=signature is not None,
        signer=signature.signer if signature else None,
        signature_key=signature.key if signature else None,
    )


def _with_reason(file: ModuleFile, reason: Unknown) -> ModuleFile:
    from dataclasses import replace

    return replace(
        file,
        version=reason,
        source_version=reason,
        version_magic=reason,
        license=reason,
        signed=reason,
        signer=reason,
        signature_key=reason,
    )


def _ask_modinfo(host: Host, file: ModuleFile, reason: Unknown) -> ModuleFile:
    """The system's own program reads what this Python cannot (zstd); below another root nothing is run."""
    from dataclasses import replace

    output = host.run(("modinfo", file.path))
    if output.returncode != 0:
        return _with_reason(file, reason)
    values = parse_modinfo(output.stdout)
    signer = values.get("signer") or None
    return replace(
        file,
        version=values.get("version"),
        source_version=values.get("srcversion"),
        version_magic=values.get("vermagic"),
        license=values.get("license"),
        signed=bool(signer or values.get("sig_id")),
        signer=signer,
        signature_key=values.get("sig_key", "").replace(":", "").lower() or None,
    )


def _text(host: Host, path: str) -> str:
    try:
        return host.read_text(path)
    except ABSENT:
        return ""
