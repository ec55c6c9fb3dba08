"""Which version of the CDI specification a spec needs, by the fields that it uses; it looks at values only.

Source: CNCF container-device-interface, SPEC.md, "Released versions" and specs-go/version.go.
"""

from collections.abc import Callable, Iterator

from ctk.facts.cdi_spec import CdiSpec, SpecDeviceNode, SpecMount

VERSIONS = ("0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0", "1.0.0", "1.1.0")
"""All released versions that readers know, oldest first. 0.1.0 and 0.2.0 were never read by any engine's library."""


def minimum_version(spec: CdiSpec) -> str:
    """The oldest version that has every field the spec uses."""
    needed = [version for version, _ in features_used(spec)]
    return max(needed, key=VERSIONS.index, default=VERSIONS[0])


def features_used(spec: CdiSpec) -> Iterator[tuple[str, str]]:
    """For each newer feature that is used: the version that brought it, and its name for people."""
    for version, feature, is_used in FEATURES:
        if is_used(spec):
            yield version, feature


def has_net_devices(spec: CdiSpec) -> bool:
    """containerEdits.netDevices."""
    return any(edits.net_devices for edits in spec.all_edits)


def has_rdt_schemata(spec: CdiSpec) -> bool:
    """intelRdt.schemata or enableMonitoring."""
    settings = [edits.intel_rdt for edits in spec.all_edits if edits.intel_rdt is not None]
    return any(rdt.schemata or rdt.enable_monitoring for rdt in settings)


def has_rdt(spec: CdiSpec) -> bool:
    """containerEdits.intelRdt."""
    return any(edits.intel_rdt is not None for edits in spec.all_edits)


def has_additional_gids(spec: CdiSpec) -> bool:
    """containerEdits.additionalGids."""
    return any(edits.additional_gids for edits in spec.all_edits)


def has_annotations(spec: CdiSpec) -> bool:
    """Annotations of the spec or of a device."""
    return bool(spec.annotations) or any(device.annotations for device in spec.devices)


def has_dotted_class(spec: CdiSpec) -> bool:
    """A dot in the class, behind the slash of the kind."""
    return "." in spec.kind.partition("/")[2]


def has_host_path(spec: CdiSpec) -> bool:
    """A node with hostPath."""
    return any(node.host_path is not None for node in _nodes(spec))


def has_digit_name(spec: CdiSpec) -> bool:
    """A device whose name begins with a digit."""
    return any(device.name[:1].isdigit() for device in spec.devices)


def has_mount_type(spec: CdiSpec) -> bool:
    """A mount with type."""
    return any(mount.type is not None for mount in _mounts(spec))


def _nodes(spec: CdiSpec) -> Iterator[SpecDeviceNode]:
    for edits in spec.all_edits:
        yield from edits.device_nodes


def _mounts(spec: CdiSpec) -> Iterator[SpecMount]:
    for edits in spec.all_edits:
        yield from edits.mounts


FEATURES: tuple[tuple[str, str, Callable[[CdiSpec], bool]], ...] = (
    ("1.1.0", "netDevices", has_net_devices),
    ("1.1.0", "intelRdt.schemata or enableMonitoring", has_rdt_schemata),
    ("0.7.0", "intelRdt", has_rdt),
    ("0.7.0", "additionalGids", has_additional_gids),
    ("0.6.0", "annotations", has_annotations),
    ("0.6.0", "a dot in the class", has_dotted_class),
    ("0.5.0", "hostPath of a device node", has_host_path),
    ("0.5.0", "a device name that begins with a digit", has_digit_name),
    ("0.4.0", "type of a mount", has_mount_type),
)
"""Newest first: the version, the feature, and whether a spec uses it."""
