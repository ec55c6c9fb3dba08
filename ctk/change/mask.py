"""Hides secrets in JSON, TOML or broken text before it is shown; keeps every line, judges no syntax, changes no file.

It is a scanner and not a parser on purpose: a refusal shows text that no parser reads, with secrets in it all the same.
"""

from typing import NamedTuple

MASK = "********"

# https://docs.docker.com/reference/cli/docker/login/ (auth, identitytoken), containerd's docs/cri/registry.md (auth,
# password, identitytoken), Docker's log driver options (splunk-token), and what people write as environment.
_EXACT = frozenset({"auth", "auths", "authorization", "pass", "credential", "credentials", "pwd", "bearer"})
_ENDINGS = (
    *("password", "passwd", "passphrase", "secret", "secrets", "token", "tokens", "apikey", "secretkey", "accesskey"),
    *("accesskeyid", "privatekey", "clientsecret", "basicauth", "proxyauthorization", "credentials"),
)
# Every name above holds one of these, once its dashes and underscores are gone.
_TRACES = ("auth", "pass", "credential", "pwd", "bearer", "secret", "token", "apikey", "accesskey", "privatekey")
_BARE_KEY = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
_SPACE = frozenset(" \t\r\n")
_BARE_END = frozenset(",\n\r]}#")


def is_secret_key(key: str) -> bool:
    """Whether the value of this key must not be shown: `auth`, `identity_token`, `HTTP_PASSWORD`, …"""
    plain = key.lower().replace("-", "").replace("_", "")
    return plain in _EXACT or plain.endswith(_ENDINGS)


class _Open(NamedTuple):
    """An open bracket: its character, and whether everything inside is secret."""

    bracket: str
    secret: bool


def mask_secrets(text: str) -> str:
    """The text with the values of secret keys replaced; the number of lines stays the same."""
    if not _may_hold_secrets(text):
        return text
    scanner = _Scanner(text)
    scanner.scan()
    return "".join(scanner.out)


def _may_hold_secrets(text: str) -> bool:
    """Whether the scan can find anything: most files hold no secret, and the scan goes character by character."""
    plain = text.lower().replace("-", "").replace("_", "")
    return any(trace in plain for trace in _TRACES) or ("://" in text and "@" in text)


class _Scanner:
    """One pass over a text: what it may show goes to out; key is the key whose value comes next."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.out: list[str] = []
        self.offset = 0
        self.open: list[_Open] = []
        self.table_secret = False
        self.value_secret: bool | None = None  # None = a key or nothing stands here, not a value

    def scan(self) -> None:
        while self.offset < len(self.text):
            self._step(self.text[self.offset])

    def _step(self, character: str) -> None:
        if character in "\"'":
            self._string()
        elif character == "#":
            self._comment()
        elif character in "[{":
            self._open_bracket(character)
        elif character in "]}":
            self._close_bracket()
        elif character in ",\n":
            self._end_of_value(character)
        elif character in _SPACE or character in ":=":
            self._emit(character)
        else:
            self._bare_word()

    def _emit(self, shown: str, length: int | None = None) -> None:
        self.out.append(shown)
        self.offset += len(shown) if length is None else length

    def _end_of_value(self, character: str) -> None:
        # A key and its value may stand on two lines in JSON, never in TOML; a line end after "=" ends the TOML value.
        if character == "," or not self._after_colon():
            self.value_secret = None
        self._emit(character)

    def _after_colon(self) -> bool:
        return "".join(self.out[-40:]).rstrip().endswith(":")

    def _is_secret_here(self) -> bool:
        inside = any(item.secret for item in self.open)
        return bool(self.value_secret) or inside or (self.table_secret and self.value_secret is not None)

    def _open_bracket(self, character: str) -> None:
        if character == "[" and not self.open and self.value_secret is None and self._at_line_start():
            self._header()
            return
        self.open.append(_Open(character, self._is_secret_here()))
        self.value_secret = None
        self._emit(character)

    def _close_bracket(self) -> None:
        if self.open:
            self.open.pop()
        self.value_secret = None
        self._emit(self.text[self.offset])

    def _at_line_start(self) -> bool:
        start = self.text.rfind("\n", 0, self.offset) + 1
        return not self.text[start : self.offset].strip("\ufeff \t")

    def _header(self) -> None:
        """A TOML table header; the values of `[….configs."host".auth]` are all secret."""
        end = self.text.find("\n", self.offset)
        line = self.text[self.offset : len(self.text) if end < 0 else end]
        closing = _outside_quotes(line, "]")
        if closing < 0 or not line.strip("[ \t\r"):
            self.open.append(_Open("[", False))
            self._emit("[")
            return
        inner = line[:closing].strip("[] \t")
        last = inner[_outside_quotes(inner, ".", last=True) + 1 :].strip(" \t\"'")
        self.table_secret = is_secret_key(last)
        closing += 1 if line[closing + 1 : closing + 2] == "]" else 0
        self._emit(line[: closing + 1])

    def _comment(self) -> None:
        end = self.text.find("\n", self.offset)
        end = len(self.text) if end < 0 else end
        body = self.text[self.offset + 1 : end]
        inner = _Scanner(body)
        inner.table_secret = self.table_secret
        inner.scan()
        self._emit("#" + "".join(inner.out), end - self.offset)

    def _string(self) -> None:
        end = _string_end(self.text, self.offset)
        token = self.text[self.offset : end]
        if self.value_secret is None and self._is_key(end):
            self._set_key(token.strip("\"'"), end)
            self._emit(token)
        elif self._is_secret_here():
            self._emit(_mask_string(token), len(token))
        else:
            self._emit(_mask_inside(token), len(token))

    def _bare_word(self) -> None:
        end = self.offset
        while end < len(self.text) and self.text[end] in _BARE_KEY:
            end += 1
        word = self.text[self.offset : end]
        if word and self.value_secret is None and self._is_key(end):
            self._set_key(word, end)
            self._emit(word)
        elif self._is_secret_here() and self.value_secret is not None:
            self._bare_value()
        else:
            self._emit(word or self.text[self.offset])

    def _bare_value(self) -> None:
        end = self.offset
        while end < len(self.text) and self.text[end] not in _BARE_END:
            end += 1
        value = self.text[self.offset : end]
        kept = value[len(value.rstrip()) :]
        self._emit(MASK + kept, len(value))

    def _is_key(self, end: int) -> bool:
        """Whether a key ends here: `:` or `=` follows on the line, or a `.` that continues a dotted key."""
        rest = self.text[end : end + 80].lstrip(" \t")
        if rest[:1] == "." and self.text[end : end + 1] == ".":
            return True
        return rest[:1] in (":", "=")

    def _set_key(self, key: str, end: int) -> None:
        if self.text[end : end + 80].lstrip(" \t")[:1] in (":", "="):
            self.value_secret = is_secret_key(key)


def _string_end(text: str, start: int) -> int:
    """Where the string that starts here ends; a one-line string ends at the end of its line at the latest."""
    quote = text[start]
    triple = quote * 3
    if text.startswith(triple, start):
        end = text.find(triple, start + 3)
        return len(text) if end < 0 else end + 3
    position = start + 1
    while position < len(text) and text[position] not in (quote, "\n"):
        position += 2 if text[position] == "\\" and quote == '"' and text[position + 1 : position + 2] != "\n" else 1
    return min(len(text), position + 1 if text[position : position + 1] == quote else position)


def _outside_quotes(text: str, wanted: str, *, last: bool = False) -> int:
    """The offset of the first (or last) wanted character that is not inside quotes, or -1."""
    found, position = -1, 0
    while position < len(text):
        if text[position] in "\"'":
            position = _string_end(text, position)
            continue
        if text[position] == wanted:
            found = position
            if not last:
                return found
        position += 1
    return found


def _mask_string(token: str) -> str:
    """The token with its content hidden, its quotes and lines kept."""
    width = 3 if token[:3] in ('"""', "'''") and len(token) >= 6 else 1
    closed = len(token) >= 2 * width and token.endswith(token[0] * width)
    body = token[width : len(token) - width] if closed else token[width:]
    lines = "\n".join(_mask_line(line) for line in body.split("\n"))
    return token[:width] + lines + (token[len(token) - width :] if closed else "")


def _mask_line(line: str) -> str:
    return (MASK if line.strip() else "") + ("\r" if line.endswith("\r") else "")


def _mask_inside(token: str) -> str:
    """Secrets inside a harmless value: `NAME_TOKEN=value` in a list of environment, `scheme://user:password@host`."""
    name, equals, _ = token[1:].partition("=")
    if equals and set(name) <= _BARE_KEY and is_secret_key(name):
        return token[: len(name) + 2] + MASK + token[-1]
    scheme, separator, rest = token.partition("://")
    userinfo, at, tail = rest.partition("@")
    user, colon, _ = userinfo.partition(":")
    if separator and at and colon and "/" not in userinfo:
        return f"{scheme}://{user}:{MASK}@{tail}"
    return token
