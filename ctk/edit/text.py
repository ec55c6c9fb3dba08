"""Bytes to text and back without losing a byte: BOM, line ends and the final newline stay; opens no file."""

from ctk.errors import ParseFault
from ctk.record import Record

UTF8_BOM = b"\xef\xbb\xbf"
UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


class ConfigText(Record):
    """A decoded file: text without the BOM, line ends as they are; bom is b"" or the UTF-8 BOM."""

    text: str
    bom: bytes

    def encode(self, text: str) -> bytes:
        """The bytes of `text`, with this file's BOM."""
        return self.bom + text.encode("utf-8")


def decode_config(data: bytes, path: str) -> ConfigText:
    """Decode a configuration file. Raises ParseFault for UTF-16, NUL bytes and invalid UTF-8, with line and column."""
    if data.startswith(UTF16_BOMS):
        raise _fault(path, 1, 1, "the file is UTF-16, engines read UTF-8")
    bom = UTF8_BOM if data.startswith(UTF8_BOM) else b""
    body = data[len(bom) :]
    nul = body.find(b"\0")
    if nul >= 0:
        line, column = position(body[:nul].decode("utf-8", "replace"), nul)
        raise _fault(path, line, column, "the file holds a NUL byte: it is binary or UTF-16, engines read UTF-8")
    try:
        return ConfigText(body.decode("utf-8"), bom)
    except UnicodeDecodeError as error:
        before = body[: error.start].decode("utf-8")
        line, column = position(before, len(before))
        byte = body[error.start]
        raise _fault(path, line, column, f"byte 0x{byte:02x} is not valid UTF-8") from error


def _fault(path: str, line: int, column: int, cause: str) -> ParseFault:
    return ParseFault(
        f"cannot read {path}: line {line}, column {column}: {cause}",
        hint=f"Save {path} as UTF-8 and run the command again. Nothing was changed.",
        path=path,
        line=line,
        column=column,
    )


def position(text: str, offset: int) -> tuple[int, int]:
    """Line and column, both 1-based, of a character offset."""
    before = text[:offset]
    line = before.count("\n") + 1
    return line, len(before) - (before.rfind("\n") + 1) + 1


def newline_of(text: str) -> str:
    """The line end to use for new lines: that of the first line, "\\n" in a file of one line."""
    end = text.find("\n")
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"
