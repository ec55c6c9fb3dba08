"""The bytes of a spec file as a CdiSpec, or what is wrong with them and where; it opens no file and knows no rule.

As the engines' library reads (container-device-interface pkg/cdi, sigs.k8s.io/yaml UnmarshalStrict over go-yaml v2):
YAML 1.1 whatever the file's name, the first document only, unknown fields and keys that stand twice refused, numbers
and yes/no without quotes taken for text, keys in any case. What only surprises is a warning.
"""

from collections.abc import Callable
from typing import Any

from ctk.cdi.nodes import NODE_LIMIT, Node, parse_document
from ctk.cdi.scalars import BOOLEAN, NULL, NUMBER, PLAIN, PLAIN_TEXT_BEGINNINGS, STRING, TEXT, resolve_plain
from ctk.facts.cdi import REFUSED, SCHEMA, WARNING, SpecFault
from ctk.facts.cdi import TEXT as TEXT_PART
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
from ctk.record import Record

FAULT_LIMIT = 20
"""Further faults of one file are not told."""
INT64 = (-(2**63), 2**63 - 1)
UINT32 = (0, 2**32 - 1)

Place = tuple[Any, ...]
"""Where a value stands: (place of the one around it, key or index); () at the top."""
Read = Callable[["_Reading", Node, Place], Any]


class Loaded(Record):
    """spec is None if a fault is of the level "refused"."""

    spec: CdiSpec | None
    faults: tuple[SpecFault, ...] = ()


def load_spec(data: bytes) -> Loaded:
    """The spec in the bytes of a file. Raises nothing, whatever they are."""
    document = parse_document(data)
    if document.root is None:
        return Loaded(None, document.faults)
    reading = _Reading()
    spec = _read_root(reading, document.root)
    faults = (*reading.faults, *document.faults)
    refused = any(fault.level == REFUSED for fault in faults)
    return Loaded(None if refused else spec, faults)


class _Reading:
    """One file being read: its faults, and how many values were seen."""

    def __init__(self) -> None:
        self.faults: list[SpecFault] = []
        self.values = 0
        self.is_too_large = False
        self.is_refused = False

    def count(self, values: int) -> bool:
        """Whether to go on. Aliases of aliases grow without end."""
        self.values += values
        if self.values > NODE_LIMIT and not self.is_too_large:
            self.is_too_large = True
            self.faults.append(SpecFault(f"it comes to more than {NODE_LIMIT} values: aliases must not pile up"))
        return not self.is_too_large

    def fault(self, node: Node, place: Place, message: str, level: str = REFUSED, part: str = SCHEMA) -> None:
        if len(self.faults) >= FAULT_LIMIT and (level != REFUSED or self.is_refused):
            return
        self.is_refused = self.is_refused or level == REFUSED
        mark = node.start_mark
        self.faults.append(SpecFault(message, format_place(place), mark.line + 1, mark.column + 1, level, part))


def format_place(place: Place) -> str:
    """devices[3].containerEdits.deviceNodes[0]"""
    words: list[str] = []
    while place:
        place, key = place
        words.append(f"[{key}]" if isinstance(key, int) else f".{key}")
    return "".join(reversed(words)).removeprefix(".")


def _read_root(reading: _Reading, root: Node) -> CdiSpec | None:
    if root.id == "scalar" and _is_null(root):
        reading.faults.append(SpecFault("the file is empty: it holds no spec", part=TEXT_PART))
        return None
    found: CdiSpec | None = _read_spec(reading, root, ())
    return found


def _is_null(node: Node) -> bool:
    return node.tag == PLAIN and resolve_plain(node.value)[0] == NULL


def _name_of(node: Node) -> str:
    return {"mapping": "a mapping", "sequence": "a list"}.get(node.id, "a single value")


def _scalar(reading: _Reading, node: Node, place: Place, wanted: str) -> tuple[str, Any] | None:
    """The kind and value of a scalar; a fault for anything else."""
    if node.id != "scalar":
        reading.fault(node, place, f"here must be {wanted}, and not {_name_of(node)}")
        return None
    tag = node.tag
    if tag == PLAIN or (tag.startswith("tag:yaml.org,2002:") and tag != STRING):
        return resolve_plain(node.value)
    return TEXT, node.value


def _read_text(reading: _Reading, node: Node, place: Place) -> str:
    """Text. Numbers and yes/no without quotes are turned into text, as the library does."""
    if node.id == "scalar" and (node.tag == STRING or node.value[:1] in PLAIN_TEXT_BEGINNINGS):
        return str(node.value)
    found = _scalar(reading, node, place, "text")
    if found is None or found[0] == NULL:
        return ""
    kind, value = found
    if kind == TEXT:
        return str(value)
    text = ("true" if value else "false") if kind == BOOLEAN else _number_text(value)
    if text != node.value:
        message = f"{node.value} without quotes is read as {text!r}: write it in quotes"
        reading.fault(node, place, message, WARNING)
    return text


def _number_text(value: float) -> str:
    """As Go prints it, but for very large and very small ones."""
    return str(int(value)) if value == int(value) and abs(value) < 1e21 else repr(value)


def _read_optional_text(reading: _Reading, node: Node, place: Place) -> str | None:
    return _read_text(reading, node, place) or None


def _integer(limits: tuple[int, int]) -> Read:
    def read(reading: _Reading, node: Node, place: Place) -> int | None:
        found = _scalar(reading, node, place, "a whole number")
        if found is None or found[0] == NULL:
            return None
        kind, value = found
        if kind != NUMBER or value != int(value):
            quoted = f"{node.value!r} in quotes" if node.tag == STRING else node.value
            reading.fault(node, place, f"here must be a whole number, and not {quoted}")
            return None
        if not limits[0] <= value <= limits[1]:
            reading.fault(node, place, f"{node.value} is out of range: {limits[0]} to {limits[1]}")
            return None
        return int(value)

    return read


def _read_boolean(reading: _Reading, node: Node, place: Place) -> bool | None:
    found = _scalar(reading, node, place, "true or false")
    if found is None or found[0] == NULL:
        return None
    if found[0] != BOOLEAN:
        reading.fault(node, place, f"here must be true or false, and not {node.value!r}")
        return None
    return bool(found[1])


def _list_of(read: Read, nothing: str = "") -> Read:
    """A list. nothing: what is wrong with an item that is null; "" where readers take it for an empty one."""

    def read_list(reading: _Reading, node: Node, place: Place) -> tuple[Any, ...]:
        if node.id != "sequence":
            if node.id != "scalar" or not _is_null(node):
                reading.fault(node, place, f"here must be a list, and not {_name_of(node)}")
            return ()
        items = []
        for index, item in enumerate(node.value if reading.count(len(node.value)) else ()):
            if nothing and item.id == "scalar" and _is_null(item):
                reading.fault(item, (place, index), nothing)
            else:
                items.append(read(reading, item, (place, index)))
        return tuple(items)

    return read_list


def _read_annotations(reading: _Reading, node: Node, place: Place) -> tuple[SpecAnnotation, ...]:
    pairs = _pairs(reading, node, place)
    return tuple(SpecAnnotation(key, _read_text(reading, value, (place, key))) for key, _, value in pairs)


def _pairs(reading: _Reading, node: Node, place: Place) -> list[tuple[str, Node, Node]]:
    """The keys of a mapping with their values, merged ones (<<) too; each key once."""
    found: dict[str, tuple[str, Node, Node]] = {}
    pending = [node]
    while pending:
        mapping = pending.pop()
        if mapping.id != "mapping":
            if mapping.id != "scalar" or not _is_null(mapping):
                part = SCHEMA if place else TEXT_PART
                reading.fault(mapping, place, f"here must be a mapping, and not {_name_of(mapping)}", part=part)
            continue
        for key, value in mapping.value if reading.count(len(mapping.value) + 1) else ():
            if key.id != "scalar":
                reading.fault(key, place, f"a key must be text, and not {_name_of(key)}")
                continue
            name = _read_text(reading, key, place)
            if name == "<<" and key.tag == PLAIN:
                pending += value.value if value.id == "sequence" else (value,)
            elif name in found:
                reading.fault(key, (place, name), f"{name} stands here twice", part=TEXT_PART)
            else:
                found[name] = (name, key, value)
    return list(found.values())


class _Shape:
    """How a mapping becomes a record: its keys with the record's fields and readers, and values for what must be."""

    def __init__(
        self, kind: type, fields: dict[str, tuple[str, Read]], required: tuple[tuple[str, object], ...] = ()
    ) -> None:
        self.kind = kind
        self.fields = fields
        self.required = dict(required)

    def read(self, reading: _Reading, node: Node, place: Place) -> Any:
        required = self.required
        values = required.copy()
        for key, key_node, value_node in _pairs(reading, node, place):
            row = self.fields.get(key) or self._other_case(reading, key, key_node, place)
            if row is None:
                continue
            value = row[1](reading, value_node, (place, key))
            if value is not None or row[0] not in required:
                values[row[0]] = value
        return self.kind(**values)

    def _other_case(self, reading: _Reading, key: str, node: Node, place: Place) -> tuple[str, Read] | None:
        for name, row in self.fields.items():
            if name.lower() == key.lower():
                reading.fault(node, (place, key), f"{key} is read as {name}: write it so", WARNING)
                return row
        reading.fault(node, (place, key), f"{key!r} is no field of the specification here")
        return None


_TEXTS = _list_of(_read_text)
_INT64, _UINT32 = _integer(INT64), _integer(UINT32)
_EMPTY = "an empty item: engines crash on it"

_NODE = _Shape(
    SpecDeviceNode,
    {
        "path": ("path", _read_text),
        "hostPath": ("host_path", _read_optional_text),
        "type": ("type", _read_optional_text),
        "major": ("major", _INT64),
        "minor": ("minor", _INT64),
        "fileMode": ("file_mode", _UINT32),
        "permissions": ("permissions", _read_optional_text),
        "uid": ("uid", _UINT32),
        "gid": ("gid", _UINT32),
    },
    (("path", ""),),
)
_MOUNT = _Shape(
    SpecMount,
    {
        "hostPath": ("host_path", _read_text),
        "containerPath": ("container_path", _read_text),
        "options": ("options", _TEXTS),
        "type": ("type", _read_optional_text),
    },
    (("host_path", ""), ("container_path", "")),
)
_HOOK = _Shape(
    SpecHook,
    {
        "hookName": ("name", _read_text),
        "path": ("path", _read_text),
        "args": ("args", _TEXTS),
        "env": ("env", _TEXTS),
        "timeout": ("timeout_seconds", _INT64),
    },
    (("name", ""), ("path", "")),
)
_NETWORK = _Shape(
    SpecNetDevice,
    {"hostInterfaceName": ("host_interface_name", _read_text), "name": ("name", _read_text)},
    (("host_interface_name", ""), ("name", "")),
)
_RDT = _Shape(
    SpecIntelRdt,
    {
        "closID": ("clos_id", _read_optional_text),
        "l3CacheSchema": ("l3_cache_schema", _read_optional_text),
        "memBwSchema": ("mem_bw_schema", _read_optional_text),
        "enableCMT": ("enable_cmt", _read_boolean),
        "enableMBM": ("enable_mbm", _read_boolean),
        "schemata": ("schemata", _TEXTS),
        "enableMonitoring": ("enable_monitoring", _read_boolean),
    },
)


def _read_rdt(reading: _Reading, node: Node, place: Place) -> SpecIntelRdt | None:
    if node.id == "scalar" and _is_null(node):
        return None
    found: SpecIntelRdt = _RDT.read(reading, node, place)
    return found


_EDITS = _Shape(
    SpecEdits,
    {
        "env": ("env", _TEXTS),
        "deviceNodes": ("device_nodes", _list_of(_NODE.read, _EMPTY)),
        "netDevices": ("net_devices", _list_of(_NETWORK.read, _EMPTY)),
        "hooks": ("hooks", _list_of(_HOOK.read, _EMPTY)),
        "mounts": ("mounts", _list_of(_MOUNT.read, _EMPTY)),
        "intelRdt": ("intel_rdt", _read_rdt),
        "additionalGids": ("additional_gids", _list_of(_UINT32)),
    },
)
_DEVICE = _Shape(
    SpecDevice,
    {
        "name": ("name", _read_text),
        "annotations": ("annotations", _read_annotations),
        "containerEdits": ("edits", _EDITS.read),
    },
    (("name", ""), ("edits", SpecEdits())),
)
_read_spec = _Shape(
    CdiSpec,
    {
        "cdiVersion": ("version", _read_text),
        "kind": ("kind", _read_text),
        "annotations": ("annotations", _read_annotations),
        "devices": ("devices", _list_of(_DEVICE.read)),
        "containerEdits": ("edits", _EDITS.read),
    },
    (("version", ""), ("kind", ""), ("devices", ())),
).read
