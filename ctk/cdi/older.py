"""Brings a spec down to an older version of the CDI specification, for older engines; says what that costs; pure."""

from ctk.cdi.request import LeftOut
from ctk.cdi.version import VERSIONS, has_digit_name, minimum_version
from ctk.errors import CtkError
from ctk.facts.cdi_spec import CdiSpec, SpecDevice, SpecEdits

CHARACTER_DEVICE = "c"


def fit_version(spec: CdiSpec, most: str) -> tuple[CdiSpec, list[LeftOut]]:
    """The spec with the lowest version that its content needs; most "": whatever that is.

    Groups, annotations and host paths are dropped, names that begin with a digit get the word gpu or mig in front.
    Raises CtkError where a dotted class forbids it.
    """
    notes: list[LeftOut] = []
    if is_older(most, "0.7.0"):
        spec = _drop_gids(spec, notes)
    if is_older(most, "0.6.0"):
        spec = _drop_annotations(spec, notes)
    if is_older(most, "0.5.0"):
        spec = _rename(_drop_host_paths(spec, notes), notes)
    needed = minimum_version(spec)
    if is_older(most, needed):
        dotted = spec.kind.partition("/")[2]
        raise CtkError(
            f"cannot write this spec in CDI {most}: the class {dotted!r} with a dot needs {needed}",
            hint="Choose another --class. Nothing was written.",
            code="cdi-version",
        )
    return spec._replace(version=needed), notes


def is_older(most: str, version: str) -> bool:
    """Whether the engine reads less than that version; "" is no limit."""
    return bool(most) and VERSIONS.index(most) < VERSIONS.index(version)


def _map(spec: CdiSpec, change: "_Change") -> CdiSpec:
    devices = tuple(device._replace(edits=change(device.edits)) for device in spec.devices)
    return spec._replace(devices=devices, edits=change(spec.edits))


class _Change:
    """An edit of every containerEdits."""

    def __init__(self, field: str) -> None:
        self.field = field

    def __call__(self, edits: SpecEdits) -> SpecEdits:
        if self.field == "gids":
            return edits._replace(additional_gids=()) if edits.additional_gids else edits
        nodes = tuple(
            node._replace(host_path=None, type=CHARACTER_DEVICE) if node.host_path is not None else node
            for node in edits.device_nodes
        )
        return edits._replace(device_nodes=nodes)


def _drop_gids(spec: CdiSpec, notes: list[LeftOut]) -> CdiSpec:
    gids = sorted({gid for edits in spec.all_edits for gid in edits.additional_gids})
    if gids:
        words = ", ".join(map(str, gids))
        notes.append(
            LeftOut("group", words, "additionalGids needs CDI 0.7.0: add these groups to the container's user")
        )
    return _map(spec, _Change("gids")) if gids else spec


def _drop_annotations(spec: CdiSpec, notes: list[LeftOut]) -> CdiSpec:
    if not spec.annotations and not any(device.annotations for device in spec.devices):
        return spec
    notes.append(LeftOut("annotation", "all", "annotations need CDI 0.6.0"))
    return spec._replace(annotations=(), devices=tuple(device._replace(annotations=()) for device in spec.devices))


def _drop_host_paths(spec: CdiSpec, notes: list[LeftOut]) -> CdiSpec:
    """Type and numbers make an engine find the node all the same: it is made anew in the container."""
    if not any(node.host_path is not None for edits in spec.all_edits for node in edits.device_nodes):
        return spec
    notes.append(LeftOut("field", "hostPath", "it needs CDI 0.5.0: the nodes are told by type and number instead"))
    return _map(spec, _Change("host paths"))


def _rename(spec: CdiSpec, notes: list[LeftOut]) -> CdiSpec:
    if not has_digit_name(spec):
        return spec
    notes.append(
        LeftOut("name", "0, 1 …", "a name that begins with a digit needs CDI 0.5.0: it is gpu0, mig1:0 instead")
    )
    taken: dict[str, SpecDevice] = {}
    for device in spec.devices:
        name = device.name
        if name[:1].isdigit():
            name = f"{'mig' if ':' in name else 'gpu'}{name}"
        taken.setdefault(name, device._replace(name=name))
    return spec._replace(devices=tuple(taken[name] for name in sorted(taken)))
