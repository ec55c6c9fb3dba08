"""containerd: taking the runtime out again and giving back what stood there before; text to text, opens no file."""

from collections.abc import Mapping

from ctk.edit import toml
from ctk.engines.base import EditOutcome, Layer
from ctk.engines.containerd_layout import Layout, import_covers, read_layout
from ctk.engines.layers import Document, Path, Table, look_up

BUILT_IN_DEFAULT = "runc"
FORCED = frozenset({"config-version", "cri-disabled"})  # taking out is always allowed


class Original:
    """What a file held before ctk first configured it; unknown where no journal tells."""

    def __init__(self, known: bool, text: str | None, path: str) -> None:
        self.known = known
        self.text = text or ""
        self.content: Table = toml.load(self.text, path) if known else {}

    def has(self, key: Path) -> bool:
        """Whether the key stood there."""
        return look_up(self.content, key) is not None

    def lacked(self, key: Path) -> bool:
        """Whether it is known that the key did not stand there."""
        return self.known and not self.has(key)


def unconfigure(
    layers: tuple[Layer, ...],
    name: str,
    originals: Mapping[str, str | None],
    *,
    engine: tuple[int, int] | None = None,
) -> EditOutcome:
    """Take the runtime `name` out of every file. originals: the text before our first configure, by path.

    A file that is not in originals has no known past: the runtime goes, a default that points at it goes, the rest
    stays. Raises ParseFault.
    """
    layout = read_layout(layers, engine, FORCED)
    texts: dict[str, str | None] = {}
    warnings: list[str] = []
    owned: list[Path] = []
    for document in layout.documents:
        if not document.exists:
            continue
        original = Original(document.path in originals, originals.get(document.path), document.path)
        text, said, keys = _clean(document, layout, name, original, originals)
        warnings += said
        owned += keys
        if text != document.text:
            texts[document.path] = text
    return EditOutcome(texts, warnings=tuple(warnings), owned=tuple(owned))


def _clean(
    document: Document, layout: Layout, name: str, original: Original, originals: Mapping[str, str | None]
) -> tuple[str, list[str], list[Path]]:
    text = document.text
    entry = layout.runtime(name)
    default = (*layout.containerd, "default_runtime_name")
    text, warnings = _give_back_default(text, default, name, original, document)
    text = _give_back_table(text, entry, original)
    text = _take_base(text, layout, name, original)
    text = _give_back_switch(text, (*layout.plugin, "enable_cdi"), original)
    text = _take_import(text, document, original, originals)
    return (
        text,
        warnings,
        [default, entry, layout.runtime(BUILT_IN_DEFAULT), (*layout.plugin, "enable_cdi"), ("imports",)],
    )


def _give_back_default(
    text: str, key: Path, name: str, original: Original, document: Document
) -> tuple[str, list[str]]:
    if look_up(document.content, key) != name:
        return text, []
    if original.has(key):
        return toml.set_raw_value(text, key, toml.raw_value(original.text, key) or '""'), []
    cleaned = toml.remove(text, key, empty_parents=_new_parents(key, original))
    if original.known:
        return cleaned, []
    return cleaned, [
        f'{document.path}: default_runtime_name was "{name}" and nothing tells what it was before: the key is taken '
        "out, so containerd uses runc"
    ]


def _give_back_table(text: str, entry: Path, original: Original) -> str:
    if original.has(entry):
        return toml.restore_table(text, entry, original.text)
    return toml.remove(text, entry, empty_parents=_new_parents(entry, original))


def _new_parents(key: Path, original: Original) -> tuple[Path, ...]:
    """The parents of `key` whose headers ctk made: those go when no key is left in them."""
    if not original.known:
        return ()
    parents = (key[:length] for length in range(len(key) - 1, 0, -1))
    return tuple(parent for parent in parents if not toml.is_written(original.text, parent))


def _take_base(text: str, layout: Layout, name: str, original: Original) -> str:
    """Take back the runc entry that configure adds where the file named no runtime at all."""
    base = layout.runtime(BUILT_IN_DEFAULT)
    if not original.lacked(base) or name == BUILT_IN_DEFAULT:
        return text
    content = toml.load(text, layout.main.path)
    present = look_up(content, base)
    others = look_up(content, base[:-1])
    alone = isinstance(others, Mapping) and set(others) == {BUILT_IN_DEFAULT}
    ours = ({"runtime_type": "io.containerd.runc.v2"},)
    with_cgroup = {"runtime_type": "io.containerd.runc.v2", "options": {"SystemdCgroup": True}}
    if alone and present in (*ours, with_cgroup):
        return toml.remove(text, base, empty_parents=_new_parents(base, original))
    return text


def _give_back_switch(text: str, key: Path, original: Original) -> str:
    if not original.known:
        return text
    if original.has(key):
        return toml.set_raw_value(text, key, toml.raw_value(original.text, key) or "false")
    return toml.remove(text, key, empty_parents=_new_parents(key, original))


def _take_import(text: str, document: Document, original: Original, originals: Mapping[str, str | None]) -> str:
    """Take out the import that configure added: one the file lacked, and that names a drop-in which ctk made."""
    if not original.known:
        return text
    earlier = look_up(original.content, ("imports",))
    kept = earlier if isinstance(earlier, list) else []
    made = [path for path, before in originals.items() if before is None]
    patterns = look_up(document.content, ("imports",))
    for pattern in patterns if isinstance(patterns, list) else []:
        if pattern not in kept and any(import_covers(str(pattern), document.path, path) for path in made):
            text = toml.remove_from_array(text, ("imports",), pattern)
    if original.lacked(("imports",)) and toml.load(text, document.path).get("imports") == []:
        text = toml.remove(text, ("imports",))
    return text
