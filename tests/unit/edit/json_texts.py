"""Random JSON documents in random layouts, for property tests; asserts nothing."""

from itertools import cycle

from hypothesis import strategies as st

NAMES = ("a", "b", "path", "runtimes", "nvidia", "features", "cdi", "é", 'q"t', "")
NUMBERS = ("0", "-0", "1", "1.0", "1e21", "1E+2", "-0.1e-7", "12345678901234567890", "1.10")
STRINGS = (
    '""',
    '"x"',
    '"\\u00e9é"',
    '"a<b>&\\u003c"',
    '"\\/ \\" \\\\"',
    '"// no comment"',
    '"{\\"a\\": 1}, ["',
    '"😀"',
)
LITERALS = ("true", "false", "null")
GAPS = ("", " ", "\n", "\t", "\r\n", "\n  ", "  \n\n\t")

Members = dict[str, object]  # a leaf is its token, an object a dict, an array a list

leaves = st.sampled_from((*NUMBERS, *STRINGS, *LITERALS))


def members(names: tuple[str, ...] = NAMES, max_leaves: int = 12) -> st.SearchStrategy[Members]:
    """The members of one object."""
    keys = st.sampled_from(names)
    values = st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
        max_leaves=max_leaves,
    )
    return st.dictionaries(keys, values, max_size=4)


class Layout:
    """How a document is written. chaos puts other blanks into each gap; else members stand on lines, or all on one."""

    def __init__(self, draw: st.DrawFn, *, chaos: bool) -> None:
        self.chaos = chaos
        self._gaps = cycle(draw(st.lists(st.sampled_from(GAPS), min_size=1, max_size=7)))
        self.spread = draw(st.booleans())
        self.unit = draw(st.sampled_from(("  ", "    ", "\t", "   ", "")))
        self.newline = draw(st.sampled_from(("\n", "\r\n")))
        self.colon = draw(st.sampled_from((": ", ":", " : ")))
        self.comma = draw(st.sampled_from((", ", ",")))
        self.end = draw(st.sampled_from(("", "\n", "\r\n", " \n\n")))

    def text(self, root: Members) -> str:
        """The document, with or without a final newline."""
        return (self._gap() if self.chaos else "") + self._value(root, "") + self.end

    def _gap(self) -> str:
        return next(self._gaps)

    def _value(self, value: object, indentation: str) -> str:
        if isinstance(value, dict):
            items = [(self._key(key), item) for key, item in value.items()]
            return self._braced("{}", [(key, item) for key, item in items], indentation)
        if isinstance(value, list):
            return self._braced("[]", [("", item) for item in value], indentation)
        return str(value)

    def _key(self, key: str) -> str:
        escaped = key.replace('"', '\\"')
        return f'"{escaped}"' + (f"{self._gap()}:{self._gap()}" if self.chaos else self.colon)

    def _braced(self, braces: str, items: list[tuple[str, object]], indentation: str) -> str:
        inner = indentation + self.unit
        written = [key + self._value(item, inner) for key, item in items]
        if self.chaos:
            gaps = [self._gap() for _ in range(2 * len(written) + 1)]
            body = "".join(
                gaps[2 * index] + item + gaps[2 * index + 1] + ("," if index < len(written) - 1 else "")
                for index, item in enumerate(written)
            )
            return braces[0] + body + gaps[-1] + braces[1]
        if not written:
            return braces
        if not self.spread:
            return braces[0] + self.comma.join(written) + braces[1]
        begin = self.newline + inner
        return braces[0] + begin + ("," + begin).join(written) + self.newline + indentation + braces[1]


any_members = members()


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A valid document with an object on top."""
    return Layout(draw, chaos=draw(st.booleans())).text(draw(any_members))
