"""How a containerd configuration is laid out: its version, its CRI section, which file is in force; changes nothing.

Sources: containerd's docs/PLUGINS.md (config versions and plugin ids), cmd/containerd/server/config (imports),
and measurements of 1.6.20, 1.7.24 and 2.1.9: before 2.0 an imported file replaces a plugin's whole section.
"""

from collections.abc import Iterable, Mapping

from ctk.edit import toml
from ctk.engines.base import Layer
from ctk.engines.layers import Document, Path, Table, deep_merge, last_with, look_up, parse_layers, table_at, wrong_type
from ctk.errors import ParseFault, Refused
from ctk.record import Record

PLUGIN_IDS = {
    1: "cri",
    2: "io.containerd.grpc.v1.cri",
    3: "io.containerd.cri.v1.runtime",
    4: "io.containerd.cri.v1.runtime",
}
NEWEST_VERSION = 4
NEW_FILE_VERSION = 2
READ_ONLY = "read-only"
"""Among what is forced: the file is only looked at, so that what ctk would not edit is taken as containerd takes it."""
CRI_NAMES = frozenset({"cri", "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime"})
DEEP_MERGE_SINCE = (2, 0)  # measured: 1.6 and 1.7 replace a plugin's section, 2.1 merges key by key


class Layout(Record):
    """The files of one containerd, those in force in load order, and the version of the main file.

    documents[0] is the main file; a document that is not in `active` is imported by none of them. engine is
    containerd's version as (major, minor), None if unknown. deep: somebody else merges the files, key by key (k0s).
    """

    documents: tuple[Document, ...]
    active: tuple[Document, ...]
    version: int
    engine: tuple[int, int] | None
    deep: bool = False

    @property
    def merges(self) -> bool | None:
        """Whether the files merge key by key; None if that cannot be told: only containerd 2 reads version 3."""
        if self.deep or self.version > 2:
            return True
        return None if self.engine is None else self.engine >= DEEP_MERGE_SINCE

    @property
    def main(self) -> Document:
        """The file named by --config."""
        return self.documents[0]

    @property
    def plugin(self) -> Path:
        """Where the CRI plugin's settings stand."""
        return ("plugins", PLUGIN_IDS[self.version])

    @property
    def containerd(self) -> Path:
        """Where the runtimes and the default runtime's name stand."""
        return (*self.plugin, "containerd")

    def runtime(self, name: str) -> Path:
        """Where the runtime `name` stands."""
        return (*self.containerd, "runtimes", name)

    def document(self, path: str) -> Document | None:
        """The file at `path`, None if it is not among them."""
        return next((document for document in self.documents if document.path == path), None)

    def is_active(self, path: str) -> bool:
        """Whether containerd reads that file."""
        return any(document.path == path for document in self.active)

    def section_home(self) -> Document:
        """The file whose CRI section counts however this containerd merges: the last one that has any."""
        return last_with(self.active, self.plugin) or self.main

    def home_of(self, path: Path) -> Document | None:
        """The file in which the key at `path` is in force today, however this containerd merges."""
        if self.merges:
            return last_with(self.active, path)
        home = self.section_home()
        return home if look_up(home.content, path) is not None else None

    def effective(self, merges: bool | None = None) -> Table:
        """The CRI section as containerd sees it, key by key if unknown; the engine's defaults are not in it."""
        if (self.merges if merges is None else merges) is False:
            return table_at(self.section_home(), self.plugin) or {}
        section: Table = {}
        for document in self.active:
            section = deep_merge(section, table_at(document, self.plugin) or {})
        return section

    def merged(self, merges: bool) -> Table:
        """All settings as containerd sees them: before 2.0 a later file replaces a plugin's whole section."""
        merged: dict[str, object] = {}
        for document in self.active:
            plugins = document.content.get("plugins")
            earlier = merged.get("plugins")
            if not merges and isinstance(plugins, Mapping) and isinstance(earlier, Mapping):
                merged["plugins"] = {name: value for name, value in earlier.items() if name not in plugins}
            merged = deep_merge(merged, document.content)
        return merged


def read_layout(
    layers: Iterable[Layer],
    engine: tuple[int, int] | None,
    forced: frozenset[str] = frozenset(),
    *,
    merged_elsewhere: str | None = None,
) -> Layout:
    """Parse the files and find the version. Raises ParseFault for broken files, unknown versions and wrong types.

    merged_elsewhere: a file that is in force without an import, because another program merges it in (k0s).
    """
    documents = parse_layers(layers)
    version = version_of(documents[0], forced)
    for document in documents:
        _check_imports(document)
    deep = merged_elsewhere is not None
    layout = Layout(documents, load_order(documents, merged_elsewhere), version, engine, deep)
    for document in documents:
        _check_types(document, layout)
    return layout


def load_order(documents: tuple[Document, ...], also: str | None = None) -> tuple[Document, ...]:
    """The files in force, as containerd goes: breadth first, each once, a glob's matches in byte order."""
    known = {document.path: document for document in documents}
    loaded: dict[str, Document] = {}
    pending = [documents[0].path]
    while pending:
        path = pending.pop(0)
        if path in loaded:
            continue
        loaded[path] = known[path]
        for pattern in import_patterns(known[path]):
            pending += sorted(other for other in known if import_covers(pattern, path, other))
    if also is not None and also in known:
        loaded.setdefault(also, known[also])
    return tuple(loaded.values())


def import_patterns(document: Document) -> tuple[str, ...]:
    """The file's `imports` as written."""
    imports = document.content.get("imports")
    return tuple(item for item in imports if isinstance(item, str)) if isinstance(imports, list) else ()


def version_of(document: Document, forced: frozenset[str]) -> int:
    """The config version: 2 for a file without content, 1 for a file without the key (docs/PLUGINS.md)."""
    if not document.content:
        return NEW_FILE_VERSION
    version = document.content.get("version")
    is_zero = type(version) is int and version == 0  # as dockerd writes; containerd 1.6 takes it for no version at all
    if version is None or (is_zero and READ_ONLY in forced):
        return _version_of_unversioned(document, forced)
    if isinstance(version, bool) or not isinstance(version, int):
        raise _version_fault(document, f"version must be an integer such as version = 2, not {version!r}")
    if version not in PLUGIN_IDS:
        raise _version_fault(
            document, f"unsupported config version {version}: ctk knows versions 1 to {NEWEST_VERSION}"
        )
    return version


def _version_of_unversioned(document: Document, forced: frozenset[str]) -> int:
    plugins = document.content.get("plugins")
    new_style = [key for key in plugins if key in CRI_NAMES and "." in key] if isinstance(plugins, Mapping) else []
    if new_style and "config-version" not in forced:
        line, column = toml.position_of(document.text, ("plugins", new_style[0])) or (1, 1)
        raise Refused(
            f"cannot tell the config version of {document.path}: it has no version line, so containerd 1.x reads it as "
            f"version 1 and ignores the table of {new_style[0]} on line {line}",
            force="config-version",
            hint="Add the line version = 2 at the top if these tables are meant to be in force, or use --force "
            "config-version to write a version 1 entry. Nothing was changed.",
            path=document.path,
            line=line,
            column=column,
        )
    return 1


def _version_fault(document: Document, cause: str) -> ParseFault:
    line, column = toml.position_of(document.text, ("version",)) or (1, 1)
    return ParseFault(
        f"cannot use {document.path}: line {line}, column {column}: {cause}",
        hint=f"Write the version as containerd takes it, for example version = 2, in {document.path}. "
        "Nothing was changed.",
        path=document.path,
        line=line,
        column=column,
    )


def _check_types(document: Document, layout: Layout) -> None:
    runtimes = table_at(document, (*layout.containerd, "runtimes")) or {}
    for name in runtimes:
        table_at(document, (*layout.runtime(name), "options"))
    for path in ((*layout.containerd, "default_runtime_name"),):
        value = look_up(document.content, path)
        if value is not None and not isinstance(value, str):
            raise wrong_type(document, path, "a string", value)


def _check_imports(document: Document) -> None:
    imports = document.content.get("imports")
    if imports is not None and not (isinstance(imports, list) and all(isinstance(item, str) for item in imports)):
        raise wrong_type(document, ("imports",), "an array of strings", imports)


def check_cri_enabled(layout: Layout, forced: frozenset[str]) -> tuple[str, ...]:
    """Refuse a file that switches CRI off: nothing written there would ever be in force. Forced: a warning."""
    for document in layout.active:
        disabled = document.content.get("disabled_plugins")
        named = [name for name in disabled if name in CRI_NAMES] if isinstance(disabled, list) else []
        if not named:
            continue
        line, column = toml.position_of(document.text, ("disabled_plugins",)) or (1, 1)
        cause = f'{document.path} line {line} switches the CRI plugin off: disabled_plugins names "{named[0]}"'
        if "cri-disabled" in forced:
            return (f"{cause}; the runtime has no effect until that name is taken out",)
        raise Refused(
            f"cannot make the runtime effective: {cause}",
            force="cri-disabled",
            hint=f'Take "{named[0]}" out of disabled_plugins (Docker\'s containerd.io package puts it there) if this '
            "containerd serves Kubernetes; Docker needs no entry here: use --runtime=docker. Nothing was changed.",
            path=document.path,
            line=line,
            column=column,
        )
    return ()


def check_engine_reads(layout: Layout, forced: frozenset[str]) -> tuple[str, ...]:
    """Refuse a file of a version that this containerd does not read.

    Measured: version 3 keeps 1.7 from starting, 1.6 ignores its tables; 2.1 ignores the CRI tables of version 1.
    """
    if layout.engine is None or layout.version == 2 or (layout.engine >= DEEP_MERGE_SINCE) == (layout.version > 2):
        return ()
    number = ".".join(map(str, layout.engine))
    cause = f"containerd {number} does not read the CRI settings of {layout.main.path}: it is version {layout.version}"
    if "config-version" in forced:
        return (f"{cause}, so the runtime has no effect",)
    raise Refused(
        f"cannot make the runtime effective: {cause}",
        force="config-version",
        hint="Let `containerd config migrate` write it anew for this containerd. Nothing was changed."
        if layout.version == 1
        else "Write the file for version 2, or update containerd to 2.0 or later. Nothing was changed.",
        path=layout.main.path,
    )


def layout_warnings(layout: Layout) -> tuple[str, ...]:
    """What is wrong with the imports: files of another version, and files that are not there."""
    warnings = []
    for document in layout.active[1:]:
        other = document.content.get("version", layout.version)  # measured: without one, the main file's counts
        if document.content.get("plugins") and other != layout.version:
            warnings.append(
                f"{document.path} is version {other}, {layout.main.path} is version {layout.version}: containerd 1.x "
                "refuses to start on such a pair or loses settings; give both the same version"
            )
    return tuple(warnings)


def absolute_import(pattern: str, parent: str) -> str:
    """The pattern as an absolute path, cleaned as Go does: a leading double slash is one."""
    import posixpath

    absolute = posixpath.normpath(posixpath.join(posixpath.dirname(parent), pattern))
    return absolute[1:] if absolute.startswith("//") else absolute


def import_covers(pattern: str, parent: str, path: str) -> bool:
    """Whether an `imports` pattern of the file `parent` names `path` (containerd: Clean, relative to parent, Glob)."""
    absolute = absolute_import(pattern, parent)
    if "*" not in absolute:  # containerd globs only patterns that hold a star
        return absolute == path
    wanted, given = absolute.split("/"), path.split("/")
    if len(wanted) != len(given):
        return False
    from fnmatch import fnmatchcase

    return all(fnmatchcase(part, glob) for part, glob in zip(given, wanted, strict=True))
