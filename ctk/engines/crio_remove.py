"""CRI-O: taking the runtime out again and giving back what stood there before; text to text, opens no file."""

from collections.abc import Mapping

from ctk.edit import toml
from ctk.edit.compare import edited_only
from ctk.engines.base import EditOutcome, Layer
from ctk.engines.crio import DEFAULT, INHERITED_FROM, check_types, entry_path, merge
from ctk.engines.layers import Document, Path, Table, look_up, parse_layers
from ctk.errors import SelfCheckFault


def unconfigure(layers: tuple[Layer, ...], name: str, originals: Mapping[str, str | None]) -> EditOutcome:
    """Take the runtime out of the files that ctk changed (originals), or, with no past known, of every file.

    Other people's drop-ins that define the same name are kept and named; a default that points at nothing goes
    everywhere, because CRI-O would not start with it. Raises ParseFault, SelfCheckFault.
    """
    documents = tuple(document for document in parse_layers(layers) if document.exists)
    check_types(documents)
    texts = {document.path: document.text for document in documents}
    warnings: list[str] = []
    for document in documents:
        if not originals or document.path in originals:
            texts[document.path] = _give_back(document, name, originals, warnings)
        elif look_up(document.content, entry_path(name)) is not None:
            warnings.append(f"{document.path} also defines the runtime {name!r}: it is not ctk's and stays")
    _take_dangling_default(documents, texts, name, warnings)
    for document in documents:
        _prove(document, texts[document.path], name)
    changed = {document.path: texts[document.path] for document in documents if texts[document.path] != document.text}
    return EditOutcome(changed, warnings=tuple(warnings), owned=(entry_path(name), DEFAULT))


def holds(layers: tuple[Layer, ...], name: str) -> bool:
    """Whether any file has an entry of that name."""
    return any(look_up(document.content, entry_path(name)) is not None for document in parse_layers(layers))


def _give_back(document: Document, name: str, originals: Mapping[str, str | None], warnings: list[str]) -> str:
    known = document.path in originals
    original = originals.get(document.path) or ""
    past = toml.load(original, document.path)
    text = document.text
    if look_up(document.content, entry_path(name)) is not None:
        if look_up(past, entry_path(name)) is not None:
            text = toml.restore_table(text, entry_path(name), original)
        else:
            text = toml.remove(text, entry_path(name), empty_parents=_new_parents(entry_path(name), original, known))
    return _give_back_default(document, text, name, originals, warnings)


def _give_back_default(
    document: Document, text: str, name: str, originals: Mapping[str, str | None], warnings: list[str]
) -> str:
    if look_up(document.content, DEFAULT) != name:
        return text
    known = document.path in originals
    original = originals.get(document.path) or ""
    past = toml.load(original, document.path)
    earlier = look_up(past, DEFAULT)
    raw = toml.raw_value(original, DEFAULT)
    if raw is not None and not _went_since(earlier, past, text):
        return toml.set_raw_value(text, DEFAULT, raw)
    if not known:
        warnings.append(_gone(document, name, "nothing tells what it was before"))
    elif raw is not None:
        warnings.append(_gone(document, name, f"the earlier one, {earlier!r}, has no entry any more"))
    return toml.remove(text, DEFAULT, empty_parents=_new_parents(DEFAULT, original, known))


def _went_since(runtime: object, past: Table, text: str) -> bool:
    """Whether somebody took the runtime's entry out of this file since."""
    if not isinstance(runtime, str) or runtime in INHERITED_FROM:
        return False
    return look_up(past, entry_path(runtime)) is not None and look_up(toml.load(text), entry_path(runtime)) is None


def _gone(document: Document, name: str, why: str) -> str:
    return (
        f'{document.path}: default_runtime was "{name}" and {why}: the key is taken out, so CRI-O uses the default '
        "of its other files, or its own"
    )


def _take_dangling_default(
    documents: tuple[Document, ...], texts: dict[str, str], name: str, warnings: list[str]
) -> None:
    """Take out everybody's default that points at the runtime, if the last entry of it went."""
    after = merge(parse_layers(Layer(path, text) for path, text in texts.items()))
    if look_up(after, DEFAULT) != name or look_up(after, entry_path(name)) is not None:
        return
    for document in documents:
        if look_up(toml.load(texts[document.path], document.path), DEFAULT) == name:
            texts[document.path] = toml.remove(texts[document.path], DEFAULT)
            warnings.append(_gone(document, name, f"{name!r} has no entry any more"))


def _new_parents(key: Path, original: str, known: bool) -> tuple[Path, ...]:
    """The parents of `key` whose headers ctk made: those go when no key is left in them."""
    parents = (key[:length] for length in range(len(key) - 1, 0, -1))
    return tuple(parent for parent in parents if known and not toml.is_written(original, parent))


def _prove(document: Document, text: str, name: str) -> None:
    stray = edited_only(document.content, toml.load(text, document.path), (entry_path(name), DEFAULT))
    if stray:
        raise SelfCheckFault(
            f"cannot edit {document.path}: the edit would also change {'.'.join(stray[0])}",
            hint="This is a bug in ctk. Nothing was changed.",
            path=document.path,
        )
