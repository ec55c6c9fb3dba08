"""The text of a spec file as nodes of YAML, each with its line and column; it knows nothing of what they mean."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ctk.cdi.scalars import PLAIN, STRING
from ctk.facts.cdi import TEXT, WARNING, SpecFault

SIZE_LIMIT_BYTES = 2 * 1024 * 1024
DEPTH_LIMIT = 64
"""A spec has seven levels; libyaml's time grows with the square of the depth."""
NODE_LIMIT = 200_000
"""Keys and values: what 100 GPUs with seven MIG devices each come to stays far below."""

Node = Any
"""A node of PyYAML: id (scalar, sequence, mapping), tag, value, start_mark; its stubs do not know the ids."""


class Document(NamedTuple):
    """The first document of a file: its root, None if there is none; faults of the text, and of what follows it."""

    root: Node | None
    faults: tuple[SpecFault, ...] = ()


def parse_document(data: bytes) -> Document:
    """The nodes. Raises nothing, whatever the bytes are; scalars keep their text."""
    if len(data) > SIZE_LIMIT_BYTES:
        message = f"the file has {len(data)} bytes: more than {SIZE_LIMIT_BYTES} are not read"
        return Document(None, (SpecFault(message, part=TEXT),))
    import yaml

    loader = _make_loader(data)
    try:
        root = loader.get_node() if loader.check_node() else None
    except yaml.YAMLError as error:
        return Document(None, (_syntax_fault(error),))
    except (RecursionError, ValueError) as error:
        return Document(None, (SpecFault(f"it is no YAML that can be read: {error}", part=TEXT),))
    if root is None:
        return Document(None, (SpecFault("the file is empty: it holds no spec", part=TEXT),))
    return Document(root, _rest_faults(loader))


def add_places(data: bytes, faults: Sequence[SpecFault]) -> tuple[SpecFault, ...]:
    """The faults, those without a line with the line of their place in the text."""
    if all(fault.line is not None or not fault.where for fault in faults):
        return tuple(faults)
    root = parse_document(data).root
    return tuple(_with_place(root, fault) for fault in faults)


def _with_place(root: Node | None, fault: SpecFault) -> SpecFault:
    if root is None or fault.line is not None or not fault.where:
        return fault
    line, column = locate(root, fault.where)
    return fault._replace(line=line, column=column)


def locate(node: Node, where: str) -> tuple[int, int]:
    """Line and column (from 1) of a place such as "devices[3].name"; of what is around it if it is not there."""
    for word in where.replace("[", ".[").split(".") if where else ():
        found = _member(node, word)
        if found is None:
            break
        node = found
    return node.start_mark.line + 1, node.start_mark.column + 1


def _member(node: Node, word: str) -> Node | None:
    if word.startswith("["):
        items = node.value if node.id == "sequence" else ()
        index = int(word[1:-1])
        return items[index] if index < len(items) else None
    pairs = node.value if node.id == "mapping" else ()
    return next((value for key, value in pairs if key.id == "scalar" and key.value.lower() == word.lower()), None)


def _make_loader(data: bytes) -> Any:
    """The C parser where PyYAML has it; a scalar's tag says only whether it was quoted, and depth has a limit."""
    import yaml

    depth = count = 0

    def descend(*_: object) -> None:
        nonlocal depth, count
        depth += 1
        count += 1
        if depth > DEPTH_LIMIT:
            raise yaml.YAMLError(f"it is nested deeper than {DEPTH_LIMIT} levels")
        if count > NODE_LIMIT:
            raise yaml.YAMLError(f"it has more than {NODE_LIMIT} values")

    def ascend(*_: object) -> None:
        nonlocal depth
        depth -= 1

    base = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    steps = {"descend_resolver": descend, "ascend_resolver": ascend}
    return type("SpecLoader", (base,), {"resolve": staticmethod(_resolve), **steps})(data)


def _resolve(*scalar: Any) -> str:
    """PyYAML asks with the node's class, its text, and whether it is plain; of a list or mapping only the class."""
    implicit = scalar[2]
    return PLAIN if isinstance(implicit, tuple) and implicit[0] else STRING


def _syntax_fault(error: Any) -> SpecFault:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    words = [getattr(error, "context", None), getattr(error, "problem", None) or getattr(error, "reason", None)]
    message = ": ".join(word for word in words if word) or str(error).partition("\n")[0]
    if mark is None:
        return SpecFault(f"it is no YAML: {message}", part=TEXT)
    return SpecFault(f"it is no YAML: {message}", line=mark.line + 1, column=mark.column + 1, part=TEXT)


def _rest_faults(loader: Any) -> tuple[SpecFault, ...]:
    """Readers stop behind the first document; what follows is lost without a word."""
    import yaml

    try:
        if not loader.check_node():
            return ()
        mark = loader.get_node().start_mark
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
    except (RecursionError, ValueError):
        mark = None
    line, column = (None, None) if mark is None else (mark.line + 1, mark.column + 1)
    message = "engines read only the first document of a file: what follows it is ignored"
    return (SpecFault(message, line=line, column=column, level=WARNING, part=TEXT),)
