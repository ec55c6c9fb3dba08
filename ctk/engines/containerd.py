"""containerd: where the nvidia runtime goes and what it inherits; text to text, opens no file, runs no program."""

from collections.abc import Mapping
from typing import NamedTuple

from ctk.edit import toml
from ctk.edit.compare import edited_only
from ctk.engines.base import EditOutcome, Layer, RuntimeSpec, RuntimeView
from ctk.engines.containerd_layout import (
    NEW_FILE_VERSION,
    Layout,
    check_cri_enabled,
    import_covers,
    mixed_versions,
    read_layout,
)
from ctk.engines.layers import Path, Table, look_up
from ctk.errors import ParseFault, Refused, SelfCheckFault

RUNC_TYPE = "io.containerd.runc.v2"
RUNC_TYPES = ("io.containerd.runc.", "io.containerd.runtime.v1.linux")
BUILT_IN_DEFAULT = "runc"  # containerd's own default_runtime_name
ENGINE_DEFAULTS: tuple[object, ...] = (
    None,
    "",
    False,
    0,
    [],
    {},
    "podsandbox",
)  # what a dump shows for keys nobody set


class Destination(NamedTuple):
    """Where new keys may go.

    drop_in: the file beside the main file. explicit: named by the user, so used for every version. in_main: the main
    file and no other. foreign_main: another program writes the main file (k0s, k3s), so it is never touched and needs
    no import of ours. folder_files: the *.toml files that stand in the drop-in's folder today.
    """

    drop_in: str | None = None
    explicit: bool = False
    in_main: bool = False
    foreign_main: bool = False
    folder_files: tuple[str, ...] = ()


class Workspace(NamedTuple):
    """An edit under way: the texts so far, by path, and the paths of keys that were touched, by file."""

    layout: Layout
    texts: dict[str, str]
    owned: dict[str, list[Path]]

    def edit(self, document_path: str, key: Path, value: object) -> None:
        """Set one key."""
        self.texts[document_path] = toml.set_value(self.texts[document_path], key, value)
        self.owned[document_path].append(key)

    def add(self, document_path: str, table: Path, values: Mapping[str, object], after: Path | None) -> None:
        """Add one table."""
        self.texts[document_path] = toml.add_table(self.texts[document_path], table, values, after)
        self.owned[document_path].append(table)


def configure(
    layers: tuple[Layer, ...],
    spec: RuntimeSpec,
    destination: Destination,
    *,
    engine: tuple[int, int] | None = None,
    forced: frozenset[str] = frozenset(),
    dump: Table | None = None,
) -> EditOutcome:
    """Register `spec` in the files of one containerd. layers[0] is the main file, the rest its imports in load order.

    A drop-in that is still to be made is a layer with text None at the place where it will be read.
    engine: containerd's version as (major, minor), None if unknown. dump: the parsed `containerd config dump`, used
    only for the default runtime's name and for what the files do not hold. Raises ParseFault, Refused, SelfCheckFault.
    """
    layout = read_layout(layers, engine, forced)
    warnings = [*check_cri_enabled(layout, forced), *mixed_versions(layout)]
    target, whole = _choose_file(layout, spec, destination)
    work = _open(layout, target)
    if not layout.main.content and layout.main.path not in (target, "") and not destination.foreign_main:
        work.texts[layout.main.path] = _with_version(layout.main.text, NEW_FILE_VERSION)
    _start_file(work, target, whole)
    notes = _write_runtime(work, target, spec, dump)
    _write_base(work, target, spec)
    warnings += _write_default(work, target, spec, forced)
    warnings += _write_cdi(work, target, spec)
    _write_import(work, target, destination)
    warnings += _warnings(layout, spec, whole, target)
    _prove(work, spec)
    return EditOutcome(
        _changed(work),
        warnings=tuple(warnings),
        notes=tuple(notes),
        owned=tuple(key for keys in work.owned.values() for key in keys),
    )


def _open(layout: Layout, target: str) -> Workspace:
    texts = {document.path: document.text for document in layout.documents}
    texts.setdefault(target, "")
    return Workspace(layout, texts, {path: [] for path in texts})


def _choose_file(layout: Layout, spec: RuntimeSpec, destination: Destination) -> tuple[str, bool]:
    """The file for the new keys, and whether it needs a copy of the whole CRI section first."""
    present = layout.home_of(layout.runtime(spec.name))
    drop_in = destination.drop_in
    if present is not None and not (destination.foreign_main and present is layout.main):
        return present.path, False
    if destination.foreign_main:
        if drop_in is None:
            raise SelfCheckFault("cannot choose a file: the main file is generated and no drop-in is known")
        return drop_in, False
    if drop_in and destination.explicit:
        return drop_in, not _short_drop_in_is_safe(layout)
    if drop_in and not destination.in_main and layout.version > 2 and layout.merges:
        return drop_in, False
    return layout.section_home().path, False


def _short_drop_in_is_safe(layout: Layout) -> bool:
    return layout.version > 2 and layout.merges is not False


def _with_version(text: str, version: int) -> str:
    return toml.set_value(text, ("version",), version)


def _start_file(work: Workspace, target: str, whole: bool) -> None:
    """Give a new file its version line, and a drop-in that will replace the CRI section a copy of that section."""
    layout = work.layout
    known = next((document for document in layout.documents if document.path == target), None)
    content: Table = known.content if known else {}
    if "version" not in content and layout.version > 1:
        if content:
            raise _version_mismatch(target, content.get("version", 1), layout)
        work.edit(target, ("version",), layout.version)
    elif content and content.get("version", 1) != layout.version:
        raise _version_mismatch(target, content.get("version", 1), layout)
    if whole and look_up(content, layout.plugin) is None:
        section = layout.effective()
        if section:
            work.add(target, layout.plugin, section, None)
        work.owned[target].append(layout.plugin)


def _version_mismatch(target: str, version: object, layout: Layout) -> ParseFault:
    return ParseFault(
        f"cannot use {target}: it is config version {version}, but {layout.main.path} is version {layout.version}",
        hint="Give both files the same version, or name another file with --drop-in-config. Nothing was changed.",
        path=target,
    )


def _write_runtime(work: Workspace, target: str, spec: RuntimeSpec, dump: Table | None) -> list[str]:
    """Add the entry, or bring the path of an entry that stands there up to date."""
    layout = work.layout
    path = layout.runtime(spec.name)
    content = toml.load(work.texts[target], target)
    entry = look_up(content, path)
    if isinstance(entry, Mapping):
        _update_entry(work, target, spec, entry)
        return []
    base, values, notes = _inherit(layout, spec, dump)
    after = layout.runtime(base) if base and look_up(content, layout.runtime(base)) is not None else None
    work.add(target, path, values, after)
    return notes


def _update_entry(work: Workspace, target: str, spec: RuntimeSpec, entry: Table) -> None:
    path = work.layout.runtime(spec.name)
    if "runtime_type" not in entry:
        work.edit(target, (*path, "runtime_type"), RUNC_TYPE)
    options = entry.get("options")
    for key in _binary_keys(work.layout, options if isinstance(options, Mapping) else {}):
        work.edit(target, (*path, "options", key), spec.path)


def _binary_keys(layout: Layout, options: Table) -> tuple[str, ...]:
    """BinaryName for the runc shim; version 1 files may still use the old linux shim, which reads Runtime."""
    return ("BinaryName", "Runtime") if layout.version == 1 or "Runtime" in options else ("BinaryName",)


def _inherit(layout: Layout, spec: RuntimeSpec, dump: Table | None) -> tuple[str | None, dict[str, object], list[str]]:
    """The new entry: all of the default runtime's options, with our binary. Never from an nvidia entry."""
    section = layout.effective()
    base, entry, notes = _base_runtime(section.get("containerd"), spec, layout.version)
    if not entry and dump is not None:
        base, entry = _base_from_dump(dump, spec)
    values = dict(entry)
    values.setdefault("runtime_type", RUNC_TYPE)
    present = values.get("options")
    options: dict[str, object] = dict(present) if isinstance(present, Mapping) else {}
    if spec.systemd_cgroup and not layout.main.content and not entry:
        options["SystemdCgroup"] = True
    for key in _binary_keys(layout, options):
        options[key] = spec.path
    values["options"] = options
    return base, values, notes


def _base_runtime(containerd: object, spec: RuntimeSpec, version: int) -> tuple[str | None, Table, list[str]]:
    table: Table = containerd if isinstance(containerd, Mapping) else {}
    runtimes = table.get("runtimes")
    entries: Table = runtimes if isinstance(runtimes, Mapping) else {}
    default = table.get("default_runtime_name")
    old_default = table.get("default_runtime")
    if version == 1 and not default and isinstance(old_default, Mapping):
        return None, old_default, []
    notes: list[str] = []
    for name in (default, "runc", "crun"):
        entry = entries.get(name) if isinstance(name, str) and not is_ours(name, spec) else None
        if not isinstance(entry, Mapping):
            continue
        if _is_runc_shim(entry):
            return str(name), entry, notes
        notes.append(f"The default runtime {name!r} uses {entry.get('runtime_type')}, not runc's shim: nothing copied.")
    return None, {}, notes


def is_ours(name: str, spec: RuntimeSpec) -> bool:
    """Whether a runtime is one of NVIDIA's, from which nothing is inherited."""
    return name == spec.name or name.startswith("nvidia")


def _is_runc_shim(entry: Table) -> bool:
    kind = entry.get("runtime_type", RUNC_TYPE)
    return isinstance(kind, str) and (kind == "" or kind.startswith(RUNC_TYPES))


def _base_from_dump(dump: Table, spec: RuntimeSpec) -> tuple[str | None, dict[str, object]]:
    """The default runtime of a config dump, without the values that are the engine's own defaults."""
    section = cri_section(dump)
    base, entry, _ = _base_runtime(section.get("containerd"), spec, 2)
    values = {key: value for key, value in entry.items() if key != "options" and value not in ENGINE_DEFAULTS}
    options = entry.get("options")
    if isinstance(options, Mapping):
        kept = {key: value for key, value in options.items() if key != "BinaryName" and value not in ENGINE_DEFAULTS}
        values["options"] = kept
    return base, values


def cri_section(content: Table) -> Table:
    """The CRI runtime section of a dump, by whichever id this containerd uses."""
    for plugin in ("io.containerd.cri.v1.runtime", "io.containerd.grpc.v1.cri", "cri"):
        section = look_up(content, ("plugins", plugin))
        if isinstance(section, Mapping) and "containerd" in section:
            return section
    return {}


def _write_base(work: Workspace, target: str, spec: RuntimeSpec) -> None:
    """Keep containerd's built-in runc: a file that names any runtime replaces the built-in list (measured on 1.6)."""
    layout = work.layout
    runtimes = look_up(layout.effective(), ("containerd", "runtimes"))
    others = [name for name in runtimes if not is_ours(name, spec)] if isinstance(runtimes, Mapping) else []
    if others or (layout.merges and layout.version > 2):
        return
    values: dict[str, object] = {"runtime_type": RUNC_TYPE}
    if spec.systemd_cgroup and not layout.main.content:
        values["options"] = {"SystemdCgroup": True}
    if look_up(toml.load(work.texts[target], target), layout.runtime(BUILT_IN_DEFAULT)) is None:
        work.add(target, layout.runtime(BUILT_IN_DEFAULT), values, None)


def _write_default(work: Workspace, target: str, spec: RuntimeSpec, forced: frozenset[str]) -> list[str]:
    layout = work.layout
    key = (*layout.containerd, "default_runtime_name")
    if not spec.set_as_default:
        return _dangling(layout, spec)
    home = layout.home_of(key)
    place = target if home is None else home.path
    work.edit(place, key, spec.name)
    return _old_default_table(work, forced)


def _dangling(layout: Layout, spec: RuntimeSpec) -> list[str]:
    section = layout.effective()
    default = look_up(section, ("containerd", "default_runtime_name"))
    runtimes = look_up(section, ("containerd", "runtimes"))
    known = runtimes if isinstance(runtimes, Mapping) else {}
    if isinstance(default, str) and default not in (*known, spec.name, BUILT_IN_DEFAULT if not known else spec.name):
        return [f"default_runtime_name is {default!r}, but there is no such runtime: containerd's CRI plugin will fail"]
    return []


def _old_default_table(work: Workspace, forced: frozenset[str]) -> list[str]:
    """Version 1 has an older way to name the default; containerd prefers it, so it must be said, or go if asked."""
    table = (*work.layout.containerd, "default_runtime")
    warnings = []
    for document in work.layout.documents:
        if look_up(document.content, table) is None:
            continue
        if "default-conflict" in forced:
            work.texts[document.path] = toml.remove(work.texts[document.path], table)
            work.owned[document.path].append(table)
            continue
        line, _ = toml.position_of(document.text, table) or (1, 1)
        warnings.append(
            f"{document.path} line {line}: the table default_runtime conflicts with default_runtime_name = "
            f'"{look_up(toml.load(work.texts[document.path], document.path), (*table[:-1], "default_runtime_name"))}"; '
            "take it out, or run again with --force default-conflict"
        )
    return warnings


def _write_cdi(work: Workspace, target: str, spec: RuntimeSpec) -> list[str]:
    if not spec.enable_cdi:
        return []
    key = (*work.layout.plugin, "enable_cdi")
    home = work.layout.home_of(key)
    earlier = None if home is None else look_up(home.content, key)
    work.edit(target if home is None else home.path, key, True)
    return ["enable_cdi was false and is now true, as asked"] if earlier is False else []


def _write_import(work: Workspace, target: str, destination: Destination) -> None:
    """Make sure the main file imports the target: a path that nothing imports would have no effect."""
    layout = work.layout
    if target == layout.main.path or destination.foreign_main:
        return
    if any(document.path == target and document.exists for document in layout.documents[1:]):
        return
    imports = look_up(layout.main.content, ("imports",))
    patterns = [item for item in imports if isinstance(item, str)] if isinstance(imports, list) else []
    if any(import_covers(pattern, layout.main.path, target) for pattern in patterns):
        return
    pattern = _pattern_for(target, destination.folder_files)
    main = layout.main.path
    work.texts[main] = toml.append_to_array(work.texts[main], ("imports",), pattern)
    work.owned[main].append(("imports",))


def _pattern_for(target: str, folder_files: tuple[str, ...]) -> str:
    """The folder's *.toml as NVIDIA's tool writes it, but the one file where the folder holds others not in force."""
    folder, _, name = target.rpartition("/")
    others = [path for path in folder_files if path != target]
    return target if others or not name.endswith(".toml") else f"{folder}/*.toml"


def _warnings(layout: Layout, spec: RuntimeSpec, whole: bool, target: str) -> list[str]:
    warnings = []
    if not layout.main.exists:
        cgroup = "SystemdCgroup = true" if spec.systemd_cgroup else "no SystemdCgroup"
        warnings.append(
            f"{layout.main.path} did not exist: the new file is minimal (runc and {spec.name}, {cgroup}); "
            "everything else keeps containerd's defaults"
        )
    elif not layout.main.content:
        warnings.append(f"{layout.main.path} is empty: it is taken as an empty configuration")
    if whole:
        warnings.append(
            f"{target} holds a copy of the whole CRI section, because containerd before 2.0 replaces the section: "
            f"later changes to it in {layout.main.path} have no effect"
        )
    return warnings


def _changed(work: Workspace) -> dict[str, str | None]:
    before = {document.path: document.text for document in work.layout.documents}
    return {path: text for path, text in work.texts.items() if text != before.get(path, "")}


def _prove(work: Workspace, spec: RuntimeSpec) -> None:
    """Distrust the result: foreign keys equal in every file, and ours in force however this containerd merges."""
    layout = work.layout
    for document in layout.documents:
        after = toml.load(work.texts[document.path], document.path)
        stray = edited_only(document.content, after, tuple(work.owned[document.path]))
        if stray:
            raise SelfCheckFault(
                f"cannot edit {document.path}: the edit would also change {'.'.join(stray[0])}",
                hint="This is a bug in ctk. Nothing was changed.",
                path=document.path,
            )
    layers = [Layer(path, text) for path, text in work.texts.items()]
    result = read_layout(layers, None, frozenset({"config-version"}))._replace(merges=layout.merges)
    for merges in (True, False) if layout.merges is None else (layout.merges,):
        _prove_in_force(result, spec, merges)


def _prove_in_force(result: Layout, spec: RuntimeSpec, merges: bool) -> None:
    section = result.effective(merges)
    wanted: list[tuple[Path, object]] = [(("containerd", "runtimes", spec.name, "options", "BinaryName"), spec.path)]
    if spec.set_as_default:
        wanted.append((("containerd", "default_runtime_name"), spec.name))
    if spec.enable_cdi:
        wanted.append((("enable_cdi",), True))
    for key, value in wanted:
        found = look_up(section, key)
        if found != value:
            raise Refused(
                f"cannot make {'.'.join(key)} effective: a file that is read later sets it to {found!r}",
                force="not-in-force",
                hint="Look at the files that the main file imports; the last one with a CRI section wins. "
                "Nothing was changed.",
                path=result.section_home().path,
            )


def view(layers: tuple[Layer, ...], name: str, engine: tuple[int, int] | None = None) -> RuntimeView:
    """What the files say about the runtime `name` today."""
    layout = read_layout(layers, engine, frozenset({"config-version"}))
    section = layout.effective()
    entry = look_up(section, ("containerd", "runtimes", name))
    default = look_up(section, ("containerd", "default_runtime_name"))
    cdi = look_up(section, ("enable_cdi",))
    home = layout.home_of(layout.runtime(name))
    options = look_up(section, ("containerd", "runtimes", name, "options"))
    binary = options.get("BinaryName", options.get("Runtime")) if isinstance(options, Mapping) else None
    return RuntimeView(
        registered=isinstance(entry, Mapping),
        path=binary if isinstance(binary, str) else None,
        file=home.path if home else None,
        is_default=default == name,
        default_runtime=default if isinstance(default, str) else None,
        cdi_enabled=cdi if isinstance(cdi, bool) else None,
        options=options if isinstance(options, Mapping) else {},
    )
