"""JSON text to values, without the package json: what that loads takes longer than all else that a hook does."""

try:
    from _json import make_scanner
except ImportError:  # another Python than CPython
    make_scanner = None  # type: ignore[assignment,misc] # then json itself is used

SPACE = " \t\n\r"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class _Rules:
    """What CPython's own scanner wants to be told (Lib/json/decoder.py has the same)."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float
    memo: dict[str, str] = {}  # noqa: RUF012 - the scanner clears its own


def parse_document(content: bytes) -> object:
    """The value of a JSON document. ValueError: it is none; also where it is nested without end."""
    text = content.removeprefix(BYTE_ORDER_MARK).decode("utf-8").strip(SPACE)
    try:
        if make_scanner is None:
            return _parse_slowly(text)
        value, end = make_scanner(_Rules())(text, 0)  # type: ignore[arg-type] # typeshed wants a scanner to make one
    except StopIteration as error:
        raise ValueError(f"no value at character {error.value}") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if end != len(text):
        raise ValueError(f"text behind its end, at character {end}")
    return value


def _parse_slowly(text: str) -> object:
    import json

    return json.loads(text)
