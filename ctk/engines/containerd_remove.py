"""containerd: taking the runtime out again and giving back what stood there before; text to text, opens no file."""

from collections.abc import Mapping

from ctk.edit import toml
from ctk.edit.compare import edited_only
from ctk.engines.base import EditOutcome, Layer
from ctk.engines.containerd_inherit import BUILT_IN_DEFAULT, RUNC_TYPE
from ctk.engines.containerd_layout import Layout, import_covers, import_patterns, read_layout
from ctk.engines.layers import Document, Path, Table, look_up
from ctk.errors import SelfCheckFault

FORCED = frozenset({"config-version", "cri-disabled"})  # taking out is always allowed
OUR_BASES: tuple[Table, ...] = (
    {"runtime_type": RUNC_TYPE},
    {"runtime_type": RUNC_TYPE, "options": {"SystemdCgroup": True}},
)


class Original:
    """What a file held before ctk first configured it; unknown where no journal tells."""

    def __init__(self, document: Document, originals: Mapping[str, str | None]) -> None:
        self.known = document.path in originals
        self.is_new = self.known and originals[document.path] is None
        self.text = originals.get(document.path) or ""
        self.content: Table = toml.load(self.text, document.path)

    def has(self, key: Path) -> bool:
        """Whether the key stood there."""
        return look_up(self.content, key) is not None

    def lacked(self, key: Path) -> bool:
        """Whether it is known that the key did not stand there."""
        return self.known and not self.has(key)

    def new_parents(self, key: Path) -> tuple[Path, ...]:
        """The parents of `key` whose headers ctk made: those go when no key is left in them."""
        if not self.known:
            return ()
        parents = (key[:length] for length in range(len(key) - 1, 0, -1))
        return tuple(parent for parent in parents if not toml.is_written(self.text, parent))


def unconfigure(
    layers: tuple[Layer, ...],
    name: str,
    originals: Mapping[str, str | None],
    *,
    engine: tuple[int, int] | None = None,
) -> EditOutcome:
    """Take the runtime `name` out of every file. originals: the text before our first configure, by path.

    A file that is not in originals has no known past: the runtime goes, a default that points at it goes, the rest
    stays. Raises ParseFault, SelfCheckFault.
    """
    return _Removal(read_layout(layers, engine, FORCED), name, originals).run()


def holds(layers: tuple[Layer, ...], name: str) -> bool:
    """Whether any file, imported or not, has an entry of that name."""
    layout = read_layout(layers, None, FORCED)
    return any(look_up(document.content, layout.runtime(name)) is not None for document in layout.documents)


def _names(content: Table, runtimes: Path) -> frozenset[str]:
    table = look_up(content, runtimes)
    return frozenset(table) if isinstance(table, Mapping) else frozenset()


def _filled(table: Table) -> dict[str, object]:
    """The table without the tables below it that hold nothing."""
    kept = {key: _filled(value) if isinstance(value, Mapping) else value for key, value in table.items()}
    return {key: value for key, value in kept.items() if value != {}}


class _Removal:
    """Today's texts on their way back."""

    def __init__(self, layout: Layout, name: str, originals: Mapping[str, str | None]) -> None:
        self.layout = layout
        self.name = name
        self.originals = originals
        self.entry = layout.runtime(name)
        self.default = (*layout.containerd, "default_runtime_name")
        self.switch = (*layout.plugin, "enable_cdi")
        self.base = layout.runtime(BUILT_IN_DEFAULT)
        self.past = {document.path: Original(document, originals) for document in layout.documents}
        self.there = tuple(document for document in layout.documents if document.exists)
        self.texts = {document.path: document.text for document in self.there}
        self.owned: list[Path] = [self.entry, self.default, self.switch, self.base, ("imports",)]
        self.warnings: list[str] = []
        self.notes: list[str] = []
        self.kept: list[str] = []

    def run(self) -> EditOutcome:
        """The whole removal: entries, then what depended on them, then the imports of files that are empty now."""
        for document in self.there:
            self._give_back_entry(document)
        others_stay = any(self._our_other_runtimes(document) for document in self.there)
        for document in self.there:
            self._give_back_default(document)
            if not others_stay:
                self._take_base(document)
                self._give_back_switch(document)
                self._take_copy(document)
        for document in self.there:
            self._take_imports(document)
            self._empty_again(document)
        for document in self.there:
            self._prove(document)
        changed = {
            document.path: self.texts[document.path]
            for document in self.there
            if self.texts[document.path] != document.text
        }
        return EditOutcome(
            changed,
            warnings=tuple(self.warnings),
            notes=tuple(self.notes),
            owned=tuple(self.owned),
            kept=tuple(self.kept),
        )

    def _content(self, path: str) -> Table:
        return toml.load(self.texts[path], path)

    def _take(self, path: str, key: Path) -> None:
        parents = self.past[path].new_parents(key)
        self.texts[path] = toml.remove(self.texts[path], key, empty_parents=parents)

    def _give_back_entry(self, document: Document) -> None:
        if look_up(document.content, self.entry) is None:
            return
        original = self.past[document.path]
        if original.has(self.entry):
            self.texts[document.path] = toml.restore_table(self.texts[document.path], self.entry, original.text)
        else:
            self._take(document.path, self.entry)

    def _our_other_runtimes(self, document: Document) -> bool:
        """Whether the file still holds a runtime that it lacked before our first configure."""
        original = self.past[document.path]
        known = {BUILT_IN_DEFAULT, *_names(original.content, self.entry[:-1]), *self._copied_names(document)}
        return original.known and bool(_names(self._content(document.path), self.entry[:-1]) - known)

    def _copied_names(self, document: Document) -> frozenset[str]:
        """The runtimes that a drop-in of ours took over from the other files."""
        others = (other.content for other in self.layout.active if other is not document)
        return frozenset(name for content in others for name in _names(content, self.entry[:-1]))

    def _give_back_default(self, document: Document) -> None:
        path, original = document.path, self.past[document.path]
        if look_up(document.content, self.default) != self.name:
            return
        earlier = look_up(original.content, self.default)
        if earlier is not None and self._can_be_default(earlier, original):
            raw = toml.raw_value(original.text, self.default)
            text = self.texts[path]
            self.texts[path] = (
                toml.set_value(text, self.default, earlier)
                if raw is None
                else toml.set_raw_value(text, self.default, raw)
            )
            return
        self._take(path, self.default)
        if original.known and earlier is None:
            self._give_back_old_default(document)
            return
        why = (
            f"the earlier one, {earlier!r}, has no entry any more"
            if original.known
            else "nothing tells what it was before"
        )
        self.warnings.append(
            f'{path}: default_runtime_name was "{self.name}" and {why}: the key is taken out, so containerd uses runc'
        )

    def _give_back_old_default(self, document: Document) -> None:
        """The table default_runtime of containerd 1.x, which configure takes out on request."""
        table = (*self.layout.containerd, "default_runtime")
        original = self.past[document.path]
        if original.has(table) and look_up(document.content, table) is None:
            self.texts[document.path] = toml.restore_table(self.texts[document.path], table, original.text)
            self.owned.append(table)

    def _can_be_default(self, earlier: object, original: Original) -> bool:
        """Whether the earlier default still has an entry, or had none then either."""
        if earlier == BUILT_IN_DEFAULT or not isinstance(earlier, str):
            return True
        entry = self.layout.runtime(earlier)
        if not original.has(entry):
            return True
        return any(look_up(self._content(each.path), entry) is not None for each in self.there)

    def _take_base(self, document: Document) -> None:
        """Take back the runc entry that configure adds where the file named none but NVIDIA's runtimes."""
        original = self.past[document.path]
        earlier = _names(original.content, self.base[:-1])
        if not original.known or self.name == BUILT_IN_DEFAULT or not all(map(self._is_nvidia, earlier)):
            return
        is_main = document.path == self.layout.main.path
        if not is_main and original.lacked(self.layout.plugin) and BUILT_IN_DEFAULT in self._copied_names(document):
            return  # a copy of somebody else's
        content = self._content(document.path)
        alone = _names(content, self.base[:-1]) - earlier == {BUILT_IN_DEFAULT}
        if alone and look_up(content, self.base) in OUR_BASES:
            self._take(document.path, self.base)

    def _is_nvidia(self, name: str) -> bool:
        return name == self.name or name.startswith("nvidia")

    def _give_back_switch(self, document: Document) -> None:
        """configure only ever switches CDI on, so what is not true today is not ours."""
        original = self.past[document.path]
        if look_up(document.content, self.switch) is not True:
            return
        if not original.known:
            if self.texts[document.path] != document.text:
                self.notes.append(f"{document.path}: enable_cdi stays true: nothing tells whether ctk switched it on")
            return
        raw = toml.raw_value(original.text, self.switch)
        if raw is not None:
            self.texts[document.path] = toml.set_raw_value(self.texts[document.path], self.switch, raw)
        elif not original.has(self.switch):
            self._take(document.path, self.switch)

    def _take_copy(self, document: Document) -> None:
        """Take out the CRI section that a drop-in of ours copied from the other files, if it is still the same."""
        plugin = self.layout.plugin
        original = self.past[document.path]
        if document.path == self.layout.main.path or not original.lacked(plugin):
            return
        copy = look_up(self._content(document.path), plugin)
        others = tuple(other for other in self.layout.active if other.path != document.path)
        rest = self.layout._replace(active=others).effective(merges=False)
        depth = len(plugin)
        owned = tuple(key[depth:] for key in (self.entry, self.default, self.switch, self.base))
        if isinstance(copy, Mapping) and copy and not edited_only(_filled(rest), _filled(copy), owned):
            self._take(document.path, plugin)
            self.owned.append(plugin)

    def _take_imports(self, document: Document) -> None:
        """Take out the imports that configure added: the file lacked them, and they name a drop-in that ctk made."""
        path, original = document.path, self.past[document.path]
        if not original.known:
            return
        made = [each for each, before in self.originals.items() if before is None]
        earlier = import_patterns(document._replace(content=original.content))
        for pattern in import_patterns(document):
            if pattern in earlier or not any(import_covers(pattern, path, each) for each in made):
                continue
            needed = [each for each in self._covered(pattern, path) if set(self._content(each)) - {"version"}]
            if needed:
                self.kept.append(path)
                self.notes.append(f"{path} goes on importing {pattern}: {', '.join(needed)} holds other settings")
                continue
            self.texts[path] = toml.remove_from_array(self.texts[path], ("imports",), pattern)
        if original.lacked(("imports",)) and self._content(path).get("imports") == []:
            self.texts[path] = toml.remove(self.texts[path], ("imports",))

    def _empty_again(self, document: Document) -> None:
        """A file that held no key at all before, and holds none but the version now."""
        path, original = document.path, self.past[document.path]
        if not original.known or original.is_new or original.content or self.texts[path] == document.text:
            return
        if set(self._content(path)) == {"version"}:
            self._take(path, ("version",))
            self.owned.append(("version",))
            if not self.texts[path].strip():
                self.texts[path] = original.text

    def _covered(self, pattern: str, parent: str) -> list[str]:
        return [other.path for other in self.there if import_covers(pattern, parent, other.path)]

    def _prove(self, document: Document) -> None:
        stray = edited_only(document.content, self._content(document.path), tuple(self.owned))
        if stray:
            raise SelfCheckFault(
                f"cannot edit {document.path}: the edit would also change {'.'.join(stray[0])}",
                hint="This is a bug in ctk. Nothing was changed.",
                path=document.path,
            )
