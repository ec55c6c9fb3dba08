"""Docker: takes the runtime out of daemon.json and gives back what stood there before; text to text, opens no file."""

from collections.abc import Mapping

from ctk.edit import json
from ctk.edit.json_scan import WHITESPACE
from ctk.engines.base import EditOutcome, Layer, RuntimeSpec
from ctk.engines.docker import configure
from ctk.engines.docker_file import CDI, DEFAULT, RUNTIMES, STOCK_RUNTIME, DaemonFile, Path, entry_path, parse
from ctk.errors import CtkError, ParseFault

ALL_REFUSALS = frozenset({"reserved-name", "runtime-type", "flag-conflict"})


def unconfigure(layers: tuple[Layer, ...], name: str, originals: Mapping[str, str | None]) -> EditOutcome:
    """Take the runtime `name` out of daemon.json, and what points at it.

    originals holds the text from before the first configure, None for a file that was not there; a path that is not
    in it has no known past. Raises ParseFault. The result is never None: whether a file that ctk made goes is not
    decided here.
    """
    layer = layers[0]
    if not (layer.text or "").strip(WHITESPACE):
        return EditOutcome({}, needs_restart=False)
    file = parse(layers)
    past = _past(layer.path, originals)
    removal = _Removal(file, past)
    whole = _whole_original(layer, name, originals)
    text = removal.run(name) if whole is None else whole
    return EditOutcome(
        {file.path: text} if text != file.text else {},
        warnings=tuple(removal.warnings),
        notes=tuple(removal.notes),
        owned=(entry_path(name), DEFAULT, CDI),
        needs_restart=_needs_restart(file, text),
    )


def _past(path: str, originals: Mapping[str, str | None]) -> DaemonFile | None:
    """The file before the first configure, None where nothing tells or what tells is broken."""
    if path not in originals:
        return None
    try:
        return parse((Layer(path, originals[path]),))
    except ParseFault:
        return None


def _whole_original(layer: Layer, name: str, originals: Mapping[str, str | None]) -> str | None:
    """The earlier text, if configure makes today's text of it: then no byte of it needs to be worked out."""
    original = originals.get(layer.path)
    if original is None:
        return None
    file = parse((layer,))
    try:
        path = file.member((*entry_path(name), "path"))
        spec = RuntimeSpec(name, str(path), set_as_default=file.default == name, enable_cdi=file.cdi is True)
        again = configure((Layer(layer.path, original),), spec, forced=ALL_REFUSALS)
    except CtkError:
        return None
    return original if again.texts.get(layer.path) == layer.text else None


def _needs_restart(file: DaemonFile, text: str) -> bool:
    """Whether a reload would not do.

    Measured on dockerd 20.10: on SIGHUP it keeps a default runtime, and a list of runtimes, whose key is gone, and it
    crashes when the default it keeps is no longer in the list.
    """
    after = parse((Layer(file.path, text),))
    gone = any(key[0] in file.content and key[0] not in after.content for key in (DEFAULT, RUNTIMES))
    return gone or file.cdi is not after.cdi


class _Removal:
    """Today's text on its way back."""

    def __init__(self, file: DaemonFile, past: DaemonFile | None) -> None:
        self.file = file
        self.past = past
        self.text = file.text
        self.warnings: list[str] = []
        self.notes: list[str] = []

    def run(self, name: str) -> str:
        """The new text."""
        self._give_back_entry(name)
        self._give_back_default(name)
        self._give_back_cdi()
        past_is_empty = self.past is not None and not self.past.content and not self.past.is_blank
        if self.past is not None and past_is_empty and self.past.exists and not json.load(self.text, self.file.path):
            return self.past.text  # the blanks inside its braces
        return self.text

    def _give_back_entry(self, name: str) -> None:
        key = entry_path(name)
        if self.file.typed(key, dict, "an object") is None:
            return
        token = self._past_token(key)
        if token is not None:
            self._set(key, token)
        else:
            self._take(key)

    def _give_back_default(self, name: str) -> None:
        if self.file.default != name:
            return
        token = self._past_token(DEFAULT)
        earlier = self.past.default if self.past else None
        if token is not None and (earlier is None or self._is_there(earlier)):
            self._set(DEFAULT, token)
            return
        self.text = json.remove_member(self.text, DEFAULT, path=self.file.path)
        if self.past is None:
            why = "nothing tells what it was before"
        elif earlier is not None:
            why = f"the earlier one, {earlier!r}, has no entry any more"
        else:
            return
        self.warnings.append(
            f"{self.file.path}: default-runtime was {name!r} and {why}: the key is taken out, "
            f"so that Docker uses {STOCK_RUNTIME}"
        )

    def _is_there(self, runtime: str) -> bool:
        """Whether dockerd can have this default with the text as it is now; names with a dot are containerd's shims."""
        after = parse((Layer(self.file.path, self.text),))
        return runtime == STOCK_RUNTIME or "." in runtime or after.member(entry_path(runtime)) is not None

    def _give_back_cdi(self) -> None:
        if self.file.cdi is not True:
            return
        if self.past is None:
            self.notes.append("features.cdi stays true: nothing tells whether ctk switched it on")
            return
        token = self._past_token(CDI)
        if token is not None:
            self._set(CDI, token)
        else:
            self._take(CDI)

    def _take(self, key: Path) -> None:
        """Take a member out, and the object it was in as well, if it is empty now and the past had none."""
        self.text = json.remove_member(self.text, key, path=self.file.path)
        above = key[:-1]
        token = json.raw_value(self.text, above)
        if token is None or token[1:-1].strip(WHITESPACE) or self.past is None:
            return
        earlier = self._past_token(above)
        if earlier is None:
            self.text = json.remove_member(self.text, above, path=self.file.path)
        elif not earlier[1:-1].strip(WHITESPACE):
            self._set(above, earlier)

    def _past_token(self, key: Path) -> str | None:
        try:
            return json.raw_value(self.past.text, key) if self.past else None
        except ParseFault:  # something else than an object stood above it
            return None

    def _set(self, key: Path, token: str) -> None:
        self.text = json.set_raw_value(self.text, key, token, path=self.file.path)
