"""containerd: where the nvidia runtime goes in its files; opens no file, runs no program."""

from collections.abc import Mapping

from ctk.edit import toml
from ctk.engines.base import EditOutcome, Layer, RuntimeSpec
from ctk.engines.containerd_inherit import (
    BUILT_IN_DEFAULT,
    RUNC_TYPE,
    binary_keys,
    inherit,
    is_ours,
    is_placeholder,
    old_default_table,
)
from ctk.engines.containerd_layout import (
    NEW_FILE_VERSION,
    Layout,
    absolute_import,
    check_cri_enabled,
    check_engine_reads,
    import_patterns,
    layout_warnings,
    read_layout,
)
from ctk.engines.containerd_workspace import Workspace
from ctk.engines.layers import Path, Table, look_up
from ctk.errors import CtkError, ParseFault, SelfCheckFault
from ctk.record import Record


class Destination(Record):
    """Where new keys may go.

    drop_in: the file beside the main file. explicit: named by the user, so used for every version. in_main: the main
    file and no other. foreign_main: another program writes the main file and merges the drop-in in (k0s, k3s), so the
    main file is never touched and needs no import of ours. folder_files: the *.toml files in the drop-in's folder.
    """

    drop_in: str | None = None
    explicit: bool = False
    in_main: bool = False
    foreign_main: bool = False
    folder_files: tuple[str, ...] = ()


def configure(
    layers: tuple[Layer, ...],
    spec: RuntimeSpec,
    destination: Destination,
    *,
    engine: tuple[int, int] | None = None,
    forced: frozenset[str] = frozenset(),
    dump: Table | None = None,
) -> EditOutcome:
    """Register `spec` in the files of one containerd. layers[0] is the main file; only imported files are in force.

    A drop-in that may be made is a layer, too; with text None if it is not there. engine: containerd's version as
    (major, minor), None if unknown. dump: the parsed `containerd config dump`, used only for the default runtime's
    name and for what the files do not hold. Raises ParseFault, Refused, CtkError(not-imported), SelfCheckFault.
    """
    from ctk.engines.containerd_proof import prove

    foreign = destination.drop_in if destination.foreign_main else None
    layout = read_layout(layers, engine, forced, merged_elsewhere=foreign)
    warnings = [*check_cri_enabled(layout, forced), *check_engine_reads(layout, forced), *layout_warnings(layout)]
    target, whole = _choose_file(layout, spec, destination)
    work = _open(layout, target)
    if not layout.main.content and layout.main.path != target and not destination.foreign_main:
        work.edit(layout.main.path, ("version",), NEW_FILE_VERSION)
    _start_file(work, target, whole)
    _write_base(work, target, spec)
    notes = _write_runtime(work, target, spec, destination, dump)
    warnings += _write_default(work, target, spec, destination, forced)
    warnings += _write_cdi(work, target, spec, destination)
    _write_import(work, target, destination)
    warnings += _warnings(work, spec, target)
    prove(work, spec, foreign)
    return EditOutcome(
        changed_texts(work),
        warnings=tuple(warnings),
        notes=notes,
        owned=tuple(key for keys in work.owned.values() for key in keys),
        home=target,
    )


def _open(layout: Layout, target: str) -> Workspace:
    texts = {document.path: document.text for document in layout.documents}
    texts.setdefault(target, "")
    contents = {document.path: document.content for document in layout.documents}
    return Workspace(layout, texts, contents, {path: [] for path in texts}, [])


def changed_texts(work: Workspace) -> dict[str, str | None]:
    """The new texts of the files that change."""
    before = {document.path: document.text for document in work.layout.documents}
    return {path: text for path, text in work.texts.items() if text != before.get(path, "")}


# --- where ---------------------------------------------------------------------------------------------------------


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
    if drop_in and destination.explicit and drop_in != layout.main.path:
        return drop_in, layout.version <= 2
    if drop_in and not destination.in_main and layout.version > 2 and layout.engine and not _is_stray(layout, drop_in):
        return drop_in, False
    return (layout.main if layout.merges else layout.section_home()).path, False


def _is_stray(layout: Layout, path: str) -> bool:
    """Whether a file holds something and nothing imports it: an import would bring all of it into force."""
    document = layout.document(path)
    return document is not None and bool(document.content) and not layout.is_active(path)


def _home(work: Workspace, key: Path, target: str, destination: Destination) -> str:
    """The file in which the key is in force, the target if it is in none, or in one that is never touched."""
    home = work.layout.home_of(key)
    if home is None or work.copied or (destination.foreign_main and home is work.layout.main):
        return target
    return home.path


# --- what ----------------------------------------------------------------------------------------------------------


def _start_file(work: Workspace, target: str, whole: bool) -> None:
    """Give a new file its version line, and a drop-in that will replace the CRI section a copy of that section."""
    layout = work.layout
    content = work.content(target)
    if not content and layout.version > 1:
        work.edit(target, ("version",), layout.version)
    elif content.get("version", layout.version) != layout.version:
        raise ParseFault(
            f"cannot use {target}: it is config version {content['version']}, but {layout.main.path} is version "
            f"{layout.version}",
            hint="Give both files the same version, or name another file with --drop-in-config. Nothing was changed.",
            path=target,
        )
    if whole and look_up(content, layout.plugin) is None:
        section = layout.effective(merges=False)
        if section:
            work.add(target, layout.plugin, section, None)
            work.copied.append(layout.plugin)


def _write_runtime(
    work: Workspace, target: str, spec: RuntimeSpec, destination: Destination, dump: Table | None
) -> tuple[str, ...]:
    """Add the entry, or bring an entry that is in force up to date where it stands."""
    layout = work.layout
    path = layout.runtime(spec.name)
    content = work.content(target)
    if isinstance(look_up(content, path), Mapping):
        _update_entry(work, target, spec, destination)
        return ()
    found = inherit(layout, spec, dump)
    base = layout.runtime(found.base or BUILT_IN_DEFAULT)
    work.add(target, path, found.values, base if look_up(content, base) is not None else None)
    return found.notes


def _update_entry(work: Workspace, target: str, spec: RuntimeSpec, destination: Destination) -> None:
    path = work.layout.runtime(spec.name)
    entry = look_up(work.layout.effective(merges=bool(work.layout.merges)), path[2:])
    known: Table = entry if isinstance(entry, Mapping) else {}
    options = known.get("options")
    if not known.get("runtime_type"):
        work.edit(target, (*path, "runtime_type"), RUNC_TYPE)
    for name in binary_keys(work.layout, options if isinstance(options, Mapping) else {}):
        key = (*path, "options", name)
        work.edit(_home(work, key, target, destination), key, spec.path)


def _write_base(work: Workspace, target: str, spec: RuntimeSpec) -> None:
    """Keep containerd's built-in runc: a file that names any runtime replaces the built-in list (measured on 1.x).

    Asked of the files as an engine would see them that replaces sections, so that the answer is the same whether the
    engine is known or not; where files merge key by key, containerd 2 keeps its runc (measured on 2.1).
    """
    layout = work.layout
    if layout.merges and (layout.version > 2 or layout.deep):
        return
    runtimes = look_up(layout.effective(merges=bool(layout.merges)), ("containerd", "runtimes"))
    others = [name for name in runtimes if not is_ours(name, spec)] if isinstance(runtimes, Mapping) else []
    base = layout.runtime(BUILT_IN_DEFAULT)
    if others or look_up(work.content(target), base) is not None:
        return
    elsewhere = look_up(layout.effective(), base[2:])
    kind = elsewhere.get("runtime_type") if isinstance(elsewhere, Mapping) else None
    values: dict[str, object] = {"runtime_type": kind or RUNC_TYPE}
    if (spec.systemd_cgroup and not layout.main.content) or _leaves_groups_to_systemd(runtimes):
        values["options"] = {"SystemdCgroup": True}
    work.add(target, base, values, None)


def _leaves_groups_to_systemd(runtimes: object) -> bool:
    """Ours stands there already and does: two managers of one hierarchy make a node unstable."""
    entries = runtimes.values() if isinstance(runtimes, Mapping) else ()
    options = [entry.get("options") for entry in entries if isinstance(entry, Mapping)]
    return any(isinstance(given, Mapping) and given.get("SystemdCgroup") is True for given in options)


def _write_default(
    work: Workspace, target: str, spec: RuntimeSpec, destination: Destination, forced: frozenset[str]
) -> list[str]:
    if not spec.set_as_default:
        return _dangling(work.layout, spec)
    key = (*work.layout.containerd, "default_runtime_name")
    work.edit(_home(work, key, target, destination), key, spec.name)
    return _old_default_tables(work, forced)


def _dangling(layout: Layout, spec: RuntimeSpec) -> list[str]:
    section = layout.effective()
    default = look_up(section, ("containerd", "default_runtime_name"))
    runtimes = look_up(section, ("containerd", "runtimes"))
    known: tuple[str, ...] = tuple(runtimes) if isinstance(runtimes, Mapping) else ()
    if not known or layout.merges:
        known = (*known, BUILT_IN_DEFAULT)
    if not isinstance(default, str) or not default or is_placeholder(default) or default in (*known, spec.name):
        return []
    return [f"default_runtime_name is {default!r}, but there is no such runtime: containerd's CRI plugin will fail"]


def _old_default_tables(work: Workspace, forced: frozenset[str]) -> list[str]:
    """containerd 1.x has an older way to name the default, and prefers it: it must be said, or go if asked."""
    table = (*work.layout.containerd, "default_runtime")
    warnings: list[str] = []
    for document in work.layout.active:
        containerd = look_up(document.content, work.layout.containerd)
        if not isinstance(containerd, Mapping) or old_default_table(containerd) is None or work.layout.version > 2:
            continue
        if "default-conflict" in forced:
            work.put(document.path, toml.remove(work.texts[document.path], table))
            work.owned[document.path].append(table)
            continue
        line, _ = toml.position_of(document.text, table) or (1, 1)
        warnings.append(
            f"{document.path} line {line}: the table default_runtime conflicts with the new default_runtime_name, and "
            "containerd 1.x prefers it; take it out, or run again with --force default-conflict"
        )
    return warnings


def _write_cdi(work: Workspace, target: str, spec: RuntimeSpec, destination: Destination) -> list[str]:
    if not spec.enable_cdi:
        return []
    key = (*work.layout.plugin, "enable_cdi")
    earlier = look_up(work.layout.effective(), ("enable_cdi",))
    work.edit(_home(work, key, target, destination), key, True)
    return ["enable_cdi was false and is now true, as asked"] if earlier is False else []


# --- imports -------------------------------------------------------------------------------------------------------


def _write_import(work: Workspace, target: str, destination: Destination) -> None:
    """Make sure that the target is imported: a path that nothing imports would have no effect."""
    layout = work.layout
    main = layout.main.path
    if target == main or destination.foreign_main or layout.is_active(target):
        return
    if _is_stray(layout, target):
        _check_stray(layout, target)
    pattern = _pattern_for(target, destination.folder_files)
    work.put(main, toml.append_to_array(work.texts[main], ("imports",), pattern))
    work.owned[main].append(("imports",))


def _check_stray(layout: Layout, target: str) -> None:
    """Refuse to bring a file's other settings into force by importing it."""
    document = layout.document(target)
    others = [key for key in (document.content if document else {}) if key != "version"]
    if not others:
        return
    raise CtkError(
        f"cannot use {target}: nothing imports it today, and its other settings ({', '.join(others)}) would come into "
        "force with the import",
        hint="Name a file that does not exist yet, or leave out --drop-in-config. Nothing was changed.",
        code="not-imported",
        path=target,
    )


def _pattern_for(target: str, folder_files: tuple[str, ...]) -> str:
    """The folder's *.toml as NVIDIA's tool writes it, but the one file where the folder holds others not in force."""
    folder, _, name = target.rpartition("/")
    others = [path for path in folder_files if path != target]
    return target if others or not name.endswith(".toml") else f"{folder}/*.toml"


def _warnings(work: Workspace, spec: RuntimeSpec, target: str) -> list[str]:
    layout = work.layout
    main = layout.main
    warnings = []
    if not main.exists and target == main.path:
        cgroup = "SystemdCgroup = true" if spec.systemd_cgroup else "no SystemdCgroup"
        warnings.append(
            f"{main.path} did not exist: the new file is minimal (runc and {spec.name}, {cgroup}); "
            "everything else keeps containerd's defaults"
        )
    elif main.exists and not main.content:
        warnings.append(f"{main.path} is empty: it is taken as an empty configuration")
    if work.copied:
        warnings.append(
            f"{target} holds a copy of the whole CRI section, because containerd before 2.0 replaces the section: "
            f"later changes to it in {main.path} have no effect"
        )
    return warnings + _missing_imports(layout, target)


def _missing_imports(layout: Layout, target: str) -> list[str]:
    """containerd 1.x does not start where an import without a star names no file (measured); 2.1 does."""
    there = {document.path for document in layout.documents if document.exists} | {target}
    return [
        f"{document.path} imports {pattern}, which does not exist: containerd 1.x does not start"
        for document in layout.active
        for pattern in import_patterns(document)
        if "*" not in pattern and absolute_import(pattern, document.path) not in there and not layout.merges
    ]
