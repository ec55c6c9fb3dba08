"""The rules of the CDI specification over a spec as a value: each fault with its place and its weight; sees no host.

Source: container-device-interface, SPEC.md 1.1.0, and what its library refuses (pkg/cdi, pkg/parser, specs-go). What
only the OCI runtime refuses, at a container's start, is of the level "invalid"; what nobody refuses is a warning.
"""

import re
from collections.abc import Iterator, Sequence

from ctk.cdi.version import VERSIONS, features_used, minimum_version
from ctk.facts.cdi import INVALID, REFUSED, VERSION, WARNING, SpecFault
from ctk.facts.cdi_spec import (
    CdiSpec,
    SpecAnnotation,
    SpecDevice,
    SpecDeviceNode,
    SpecEdits,
    SpecHook,
    SpecIntelRdt,
    SpecMount,
    SpecNetDevice,
)

HOOK_NAMES = ("prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop")
NODE_TYPES = ("b", "c", "u", "p")
NO_PERMISSIONS = "none"
BIND_OPTIONS = frozenset(("bind", "rbind"))
BIND_TYPES = (None, "bind", "none")
USUAL_MODES = frozenset((600, 640, 644, 660, 664, 666, 700, 750, 755, 770, 775, 777, 400, 440, 444))
"""Modes that somebody wrote in octal digits without the 0 in front: as a decimal number they are other modes."""
QUALIFIED_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
ANNOTATION_NAME_LENGTH, SUBDOMAIN_LENGTH, ANNOTATIONS_BYTES = 63, 253, 256 * 1024
CLASS_LENGTH = 63
FAULT_LIMIT = 20
CLOS_LENGTH = 4096

Faults = Iterator[SpecFault]


def validate_spec(spec: CdiSpec) -> tuple[SpecFault, ...]:
    """Everything that is wrong with a spec that was read, in the order of the file."""
    return tuple(_spec_faults(spec))


def limit_faults(faults: Sequence[SpecFault]) -> tuple[SpecFault, ...]:
    """The first of very many, with at least one of the heaviest."""
    first = tuple(faults[:FAULT_LIMIT])
    for level in (REFUSED, INVALID):
        if not any(fault.level == level for fault in first):
            first += tuple([fault for fault in faults[FAULT_LIMIT:] if fault.level == level][:1])
    return first


def version_fault(spec: CdiSpec) -> SpecFault | None:
    """The stated version is unknown, or older than the fields that are used."""
    stated = spec.version.removeprefix("v")
    if stated in VERSIONS:
        needed = minimum_version(spec)
        if VERSIONS.index(needed) <= VERSIONS.index(stated):
            return None
        features = [name for version, name in features_used(spec) if VERSIONS.index(version) > VERSIONS.index(stated)]
        what = f"it uses {', '.join(features)}"
        return SpecFault(f"cdiVersion is {stated}, but the spec needs {needed}: {what}", "cdiVersion", part=VERSION)
    if stated in ("0.1.0", "0.2.0"):
        return SpecFault(
            f"cdiVersion {stated} is older than any engine reads: 0.3.0 is the first", "cdiVersion", part=VERSION
        )
    if not stated:
        return SpecFault("cdiVersion is missing", "cdiVersion", part=VERSION)
    return SpecFault(
        f"cdiVersion {spec.version!r} is none that is known: {', '.join(VERSIONS)}", "cdiVersion", part=VERSION
    )


def name_fault(name: str, what: str, extra: str = "_-.") -> str:
    """What is wrong with a name, "" if nothing. Where colons are allowed, for devices, it may begin with a digit."""
    letter = name[:1].isascii() and name[:1].isalpha()
    if not name:
        return f"the {what} is empty"
    if not letter and not (":" in extra and _is_alphanumeric(name[0])):
        return f"the {what} {name!r} must begin with a letter" + (" or a digit" if ":" in extra else "")
    strange = next((sign for sign in name[1:-1] if not _is_alphanumeric(sign) and sign not in extra), None)
    if strange is not None:
        return f"the {what} {name!r} holds {strange!r}: letters, digits and {' '.join(extra)} are allowed"
    return "" if _is_alphanumeric(name[-1]) else f"the {what} {name!r} must end with a letter or a digit"


def _is_alphanumeric(sign: str) -> bool:
    return sign.isascii() and sign.isalnum()


def split_kind(kind: str) -> tuple[str, str]:
    """Vendor and class; both empty if there is no slash between two words."""
    vendor, _, name = kind.partition("/")
    return (vendor, name) if vendor and name else ("", "")


def _spec_faults(spec: CdiSpec) -> Faults:
    fault = version_fault(spec)
    if fault is not None:
        yield fault
    yield from _kind_faults(spec.kind)
    yield from _annotation_faults(spec.annotations, "annotations")
    if not spec.devices:
        yield SpecFault("there is no device: a spec needs at least one", "devices")
    names: dict[str, int] = {}
    for index, device in enumerate(spec.devices):
        where = f"devices[{index}]"
        if device.name and device.name in names:
            yield SpecFault(f"{device.name!r} is the name of devices[{names[device.name]}] too", f"{where}.name")
        names.setdefault(device.name, index)
        yield from _device_faults(device, where)
    yield from _edits_faults(spec.edits, "containerEdits")
    yield from _dropped_field_faults(spec)


def _kind_faults(kind: str) -> Faults:
    if not kind:
        yield SpecFault("kind is missing: it is the vendor and the class, as nvidia.com/gpu", "kind")
        return
    vendor, name = split_kind(kind)
    if not vendor:
        yield SpecFault(f"kind {kind!r} must be a vendor, a slash and a class, as nvidia.com/gpu", "kind")
        return
    for text in (name_fault(vendor, "vendor"), name_fault(name, "class")):
        if text:
            yield SpecFault(text, "kind")
            return
    if len(name) > CLASS_LENGTH or len(vendor) > SUBDOMAIN_LENGTH:
        message = f"the specification allows {SUBDOMAIN_LENGTH} letters for the vendor and {CLASS_LENGTH} for the class"
        yield SpecFault(message, "kind", level=WARNING)
    elif not SUBDOMAIN.fullmatch(vendor.lower()):
        yield SpecFault(f"the vendor {vendor!r} should be a DNS name, as nvidia.com", "kind", level=WARNING)


def _device_faults(device: SpecDevice, where: str) -> Faults:
    fault = name_fault(device.name, "device name", "_-.:")
    if fault:
        yield SpecFault(fault, f"{where}.name")
    yield from _annotation_faults(device.annotations, f"{where}.annotations")
    if device.edits.is_empty:
        message = f"device {device.name!r} has no edits: it would do nothing, which the specification forbids"
        yield SpecFault(message, f"{where}.containerEdits")
    yield from _edits_faults(device.edits, f"{where}.containerEdits")


def _annotation_faults(rows: Sequence[SpecAnnotation], where: str) -> Faults:
    """The library means to refuse these, and does not: its check never runs (internal/validation, 1.1.0)."""
    for row in rows:
        prefix, slash, name = row.key.rpartition("/")
        is_name = len(name) <= ANNOTATION_NAME_LENGTH and QUALIFIED_NAME.fullmatch(name)
        is_prefix = len(prefix) <= SUBDOMAIN_LENGTH and SUBDOMAIN.fullmatch(prefix.lower())
        if not is_name or (slash and not is_prefix):
            message = f"{row.key!r} is no name for an annotation: they are as those of Kubernetes, example.com/name"
            yield SpecFault(message, f"{where}.{row.key}", level=WARNING)
    size = sum(len(row.key.encode(errors="replace")) + len(row.value.encode(errors="replace")) for row in rows)
    if size > ANNOTATIONS_BYTES:
        yield SpecFault(f"annotations of {size} bytes: {ANNOTATIONS_BYTES} are the most", where, level=WARNING)


def _edits_faults(edits: SpecEdits, where: str) -> Faults:
    yield from _environment_faults(edits.env, f"{where}.env")
    for index, node in enumerate(edits.device_nodes):
        yield from _node_faults(node, f"{where}.deviceNodes[{index}]")
    yield from _network_faults(edits.net_devices, f"{where}.netDevices")
    for index, hook in enumerate(edits.hooks):
        yield from _hook_faults(hook, f"{where}.hooks[{index}]")
    for index, mount in enumerate(edits.mounts):
        yield from _mount_faults(mount, f"{where}.mounts[{index}]")
    if edits.intel_rdt is not None:
        yield from _rdt_faults(edits.intel_rdt, f"{where}.intelRdt")


def _environment_faults(entries: Sequence[str], where: str) -> Faults:
    for index, entry in enumerate(entries):
        if entry.find("=") <= 0:
            yield SpecFault(f"{entry!r} is no NAME=VALUE", f"{where}[{index}]")


def _node_faults(node: SpecDeviceNode, where: str) -> Faults:
    if not node.path:
        yield SpecFault("path is missing", f"{where}.path")
    elif not node.path.startswith("/"):
        yield _relative(node.path, f"{where}.path")
    if node.host_path is not None and not node.host_path.startswith("/"):
        yield _relative(node.host_path, f"{where}.hostPath")
    if node.type is not None and node.type not in NODE_TYPES:
        yield SpecFault(f"type {node.type!r} must be one of {', '.join(NODE_TYPES)}", f"{where}.type")
    if node.permissions == NO_PERMISSIONS:
        message = "permissions none is refused by engines with a library before 1.1.0"
        yield SpecFault(message, f"{where}.permissions", level=WARNING)
    elif node.permissions is not None and node.permissions.strip("rwm"):
        yield SpecFault(f"permissions {node.permissions!r} may hold r, w and m only", f"{where}.permissions")
    if node.file_mode in USUAL_MODES:
        octal = int(str(node.file_mode), 8)
        message = f"fileMode {node.file_mode} is a decimal number and means 0{node.file_mode:o}; 0{octal:o} is {octal}"
        yield SpecFault(message, f"{where}.fileMode", level=WARNING)


def _relative(path: str, where: str) -> SpecFault:
    return SpecFault(f"{path!r} is no absolute path", where, level=INVALID)


def _network_faults(devices: Sequence[SpecNetDevice], where: str) -> Faults:
    seen: set[tuple[str, str]] = set()
    for index, device in enumerate(devices):
        for key, value in (("hostInterfaceName", device.host_interface_name), ("name", device.name)):
            if not value:
                yield SpecFault(f"{key} is missing", f"{where}[{index}].{key}")
            elif (key, value) in seen:
                yield SpecFault(f"{value!r} stands here twice", f"{where}[{index}].{key}")
            seen.add((key, value))


def _hook_faults(hook: SpecHook, where: str) -> Faults:
    if hook.name not in HOOK_NAMES:
        named = f"hookName {hook.name!r}" if hook.name else "hookName is missing: it"
        yield SpecFault(f"{named} must be one of {', '.join(HOOK_NAMES)}", f"{where}.hookName")
    if not hook.path:
        yield SpecFault("path is missing", f"{where}.path")
    elif not hook.path.startswith("/"):
        yield _relative(hook.path, f"{where}.path")
    yield from _environment_faults(hook.env, f"{where}.env")
    if hook.timeout_seconds is not None and hook.timeout_seconds <= 0:
        yield SpecFault("timeout must be greater than zero", f"{where}.timeout", level=INVALID)


def _mount_faults(mount: SpecMount, where: str) -> Faults:
    is_bind = mount.type in BIND_TYPES or bool(BIND_OPTIONS & set(mount.options))
    if not mount.host_path:
        yield SpecFault("hostPath is missing", f"{where}.hostPath")
    elif is_bind and not mount.host_path.startswith("/"):
        yield _relative(mount.host_path, f"{where}.hostPath")
    if not mount.container_path:
        yield SpecFault("containerPath is missing", f"{where}.containerPath")
    elif not mount.container_path.startswith("/"):
        yield _relative(mount.container_path, f"{where}.containerPath")
    if is_bind and mount.type != "bind" and not BIND_OPTIONS & set(mount.options):
        message = "the options hold neither bind nor rbind, and there is no type: the mount will fail"
        yield SpecFault(message, where, level=INVALID)


def _rdt_faults(settings: SpecIntelRdt, where: str) -> Faults:
    name = settings.clos_id
    if name is None or name == "/":
        return
    if len(name) >= CLOS_LENGTH or name in (".", "..") or "/" in name or "\n" in name:
        yield SpecFault(f"closID {name[:80]!r} is no file name", f"{where}.closID")


def _dropped_field_faults(spec: CdiSpec) -> Faults:
    """enableCMT and enableMBM were fields from 0.7.0 until 1.1.0 took them away."""
    places = ["containerEdits", *(f"devices[{index}].containerEdits" for index in range(len(spec.devices)))]
    level = REFUSED if spec.version.removeprefix("v") == VERSIONS[-1] else WARNING
    for edits, where in zip(spec.all_edits, places, strict=True):
        rdt = edits.intel_rdt
        if rdt is not None and (rdt.enable_cmt is not None or rdt.enable_mbm is not None):
            message = (
                "enableCMT and enableMBM are no fields since 1.1.0: engines with a library of 1.1.0 refuse the file"
            )
            yield SpecFault(message, f"{where}.intelRdt", level=level)
