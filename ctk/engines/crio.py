"""CRI-O: the nvidia runtime in a drop-in of our own, or in the main file if asked; text to text, opens no file.

Measured on CRI-O 1.37: crio.conf first, then crio.conf.d in byte order; tables merge key by key, a later file wins.
"""

from collections.abc import Mapping
from typing import NamedTuple

from ctk.edit import toml
from ctk.edit.compare import edited_only
from ctk.engines.base import EditOutcome, Layer, RuntimeSpec, RuntimeView
from ctk.engines.layers import Document, Path, Table, deep_merge, last_with, look_up, parse_layers, table_at, wrong_type
from ctk.errors import Refused, SelfCheckFault

RUNTIME: Path = ("crio", "runtime")
DEFAULT: Path = (*RUNTIME, "default_runtime")
INHERITED_FROM = ("runc", "crun")
PROGRAMS = ("runtime_path", "monitor_path")
ENGINE_DEFAULTS: tuple[object, ...] = (
    None,
    "",
    False,
    0,
    [],
    {},
    "12MiB",  # container_min_memory
    "/run/runc",
    "/run/crun",
    ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
)
"""What `crio config` shows for the keys of a runtime that nobody set (crio.conf.5, crio.runtime.runtimes)."""


class Destination(NamedTuple):
    """target: the file for our keys. in_main: it is crio.conf itself, as the user asked."""

    target: str
    in_main: bool = False


def entry_path(name: str) -> Path:
    """Where the runtime `name` stands."""
    return (*RUNTIME, "runtimes", name)


def configure(
    layers: tuple[Layer, ...],
    spec: RuntimeSpec,
    destination: Destination,
    *,
    dump: Table | None = None,
) -> EditOutcome:
    """Register `spec`. layers: crio.conf, then the drop-ins in load order, the target among them (text None = new).

    Raises ParseFault for broken files, Refused when a file that is read later wins over ours.
    """
    documents = parse_layers(layers)
    check_types(documents)
    target = next(document for document in documents if document.path == destination.target)
    text, owned = target.text, [entry_path(spec.name)]
    entry = table_at(target, entry_path(spec.name))
    merged = merge(documents)
    wanted, base = _wanted(merged, spec, dump, documents, target)
    missing = {key: value for key, value in wanted.items() if entry is None or _must_set(key, value, entry)}
    if missing:
        text = toml.add_table(text, entry_path(spec.name), missing, entry_path(base) if base else None)
    if spec.set_as_default:
        text = toml.set_value(text, DEFAULT, spec.name)
        owned.append(DEFAULT)
    outcome = EditOutcome(
        {target.path: text} if text != target.text else {},
        warnings=_warnings(documents, target, spec),
        owned=tuple(owned),
    )
    _prove(documents, outcome, spec)
    return outcome


def _must_set(key: str, value: object, entry: Table) -> bool:
    """An entry that stands keeps what it has, but for the two keys that name programs."""
    return key not in entry or (key in PROGRAMS and entry[key] != value)


def check_types(documents: tuple[Document, ...]) -> None:
    """Raise ParseFault with the place of a table or name that is of another type."""
    for document in documents:
        for name in table_at(document, (*RUNTIME, "runtimes")) or {}:
            table_at(document, entry_path(name))
        default = look_up(document.content, DEFAULT)
        if default is not None and not isinstance(default, str):
            raise wrong_type(document, DEFAULT, "a string", default)


def merge(documents: tuple[Document, ...]) -> Table:
    """The files as CRI-O merges them; its built-in defaults are not in it."""
    merged: Table = {}
    for document in documents:
        merged = deep_merge(merged, document.content)
    return merged


def _wanted(
    merged: Table, spec: RuntimeSpec, dump: Table | None, documents: tuple[Document, ...], target: Document
) -> tuple[dict[str, object], str | None]:
    """All keys the entry should have: the base's, ours on top; the base's name only if it stands in the target file."""
    dumped_default = None if dump is None else look_up(dump, DEFAULT)
    default = _earlier_default(documents, target, spec) or dumped_default
    if default is None and _is_complete(target, merged, spec):
        return {"runtime_path": spec.path}, None
    base, entry = _base_runtime(merged, spec, default)
    if base is None and dump is not None:
        _, found = _base_runtime(dump, spec, dumped_default)
        entry = {key: value for key, value in found.items() if value not in ENGINE_DEFAULTS}
    values: dict[str, object] = {key: value for key, value in entry.items() if key != "runtime_path"}
    elsewhere = _entry_elsewhere(documents, target, spec.name)
    for key in elsewhere:  # another file's entry keeps what it says, but for its programs' paths
        if key not in PROGRAMS:
            values.pop(key, None)
    values["runtime_path"] = spec.path
    if "runtime_type" not in elsewhere:
        values["runtime_type"] = entry.get("runtime_type") or "oci"
    in_target = base if base and look_up(target.content, entry_path(base)) is not None else None
    return values, in_target


def _entry_elsewhere(documents: tuple[Document, ...], target: Document, name: str) -> Table:
    others = tuple(document for document in documents if document.path != target.path)
    entry = look_up(merge(others), entry_path(name))
    return entry if isinstance(entry, Mapping) else {}


def _is_ours(name: str, spec: RuntimeSpec) -> bool:
    return name == spec.name or name.startswith("nvidia")


def _earlier_default(documents: tuple[Document, ...], target: Document, spec: RuntimeSpec) -> str | None:
    """The default that counts but for NVIDIA's: where ours stands in a drop-in, an earlier file still has the other.

    A default that is about to be replaced counts last, so that a second run finds the same.
    """
    ordered = list(reversed(documents))
    if spec.set_as_default:
        ordered.sort(key=lambda document: document is target)
    for document in ordered:
        default = look_up(document.content, DEFAULT)
        if isinstance(default, str) and default and not _is_ours(default, spec):
            return default
    return None


def _is_complete(target: Document, merged: Table, spec: RuntimeSpec) -> bool:
    """Whether our entry stands and is the default: nothing tells any more from which runtime it was copied."""
    entry = look_up(target.content, entry_path(spec.name))
    has_all = isinstance(entry, Mapping) and "runtime_path" in entry and "runtime_type" in entry
    return has_all and look_up(merged, DEFAULT) == spec.name


def _base_runtime(merged: Table, spec: RuntimeSpec, default: object) -> tuple[str | None, Table]:
    """The default runtime, else runc, else crun (as nvidia-ctk chooses)."""
    for name in (default, *INHERITED_FROM):
        if not isinstance(name, str) or _is_ours(name, spec):
            continue
        entry = look_up(merged, entry_path(name))
        if isinstance(entry, Mapping) and entry.get("runtime_type", "oci") in ("oci", ""):
            return name, entry
    return None, {}


def _warnings(documents: tuple[Document, ...], target: Document, spec: RuntimeSpec) -> tuple[str, ...]:
    warnings = [
        f"{document.path} also defines the runtime {spec.name!r}: it is kept, and {target.path} adds what it lacks"
        for document in documents
        if document.path != target.path and look_up(document.content, entry_path(spec.name)) is not None
    ]
    main = documents[0]
    if main.exists and not any(document.text.strip() for document in documents):
        warnings.append(f"{main.path} is empty: it is taken as an empty configuration")
    if spec.enable_cdi:
        warnings.append("CRI-O has CDI always on: --enable-cdi changes nothing")
    default = look_up(merge(documents), DEFAULT)
    built_in = (spec.name, *INHERITED_FROM)
    dangling = isinstance(default, str) and default not in built_in
    if dangling and not spec.set_as_default and look_up(merge(documents), entry_path(str(default))) is None:
        warnings.append(f"default_runtime is {default!r}, but no file defines that runtime: CRI-O will not start")
    return tuple(warnings)


def _prove(documents: tuple[Document, ...], outcome: EditOutcome, spec: RuntimeSpec) -> None:
    """Foreign keys equal, and ours in force after every file has been read."""
    layers = [Layer(document.path, outcome.texts.get(document.path, document.text)) for document in documents]
    result = parse_layers(layers)
    for before, after in zip(documents, result, strict=True):
        stray = edited_only(before.content, after.content, outcome.owned)
        if stray:
            raise SelfCheckFault(
                f"cannot edit {before.path}: the edit would also change {'.'.join(stray[0])}",
                hint="This is a bug in ctk. Nothing was changed.",
                path=before.path,
            )
    wanted: list[tuple[Path, object]] = [((*entry_path(spec.name), "runtime_path"), spec.path)]
    if spec.set_as_default:
        wanted.append((DEFAULT, spec.name))
    for key, value in wanted:
        found = look_up(merge(result), key)
        if found != value:
            winner = last_with(result, key)
            path = winner.path if winner else ""
            raise Refused(
                f"cannot make {'.'.join(key)} effective: {path} is read later and sets it to {found!r}",
                force="not-in-force",
                hint=f"Take the key out of {path}, or name a later drop-in with --drop-in-config. Nothing was changed.",
                path=path,
            )


def runtime_names(layers: tuple[Layer, ...]) -> tuple[str, ...]:
    """The runtimes that the files have. Raises ParseFault."""
    documents = parse_layers(layers)
    check_types(documents)
    runtimes = look_up(merge(documents), (*RUNTIME, "runtimes"))
    return tuple(runtimes) if isinstance(runtimes, Mapping) else ()


def view(layers: tuple[Layer, ...], name: str) -> RuntimeView:
    """What the files say about the runtime `name` today. Raises ParseFault."""
    documents = parse_layers(layers)
    check_types(documents)
    merged = merge(documents)
    entry = look_up(merged, entry_path(name))
    home = last_with(documents, entry_path(name))
    default = look_up(merged, DEFAULT)
    path = entry.get("runtime_path") if isinstance(entry, Mapping) else None
    return RuntimeView(
        registered=isinstance(entry, Mapping),
        path=path if isinstance(path, str) else None,
        file=home.path if home else None,
        is_default=default == name,
        default_runtime=default if isinstance(default, str) else None,
        cdi_enabled=True,
        options=entry if isinstance(entry, Mapping) else {},
    )
