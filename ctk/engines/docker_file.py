"""daemon.json as a value: parsed, its keys by path, values of the right type; text to values, opens no file."""

from collections.abc import Mapping

from ctk.edit import json
from ctk.edit.json_scan import WHITESPACE
from ctk.engines.base import Layer
from ctk.record import Record

Path = tuple[str, ...]

RUNTIMES: Path = ("runtimes",)
DEFAULT: Path = ("default-runtime",)
CDI: Path = ("features", "cdi")
STOCK_RUNTIME = "runc"  # dockerd 20.10 to 29: "runtime name 'runc' is reserved"
EMPTY = "{}\n"


def entry_path(name: str) -> Path:
    """Where the runtime `name` stands."""
    return (*RUNTIMES, name)


class DaemonFile(Record):
    """daemon.json, parsed. text is `{}` for a file that is absent or blank (there, but empty)."""

    path: str
    text: str
    content: Mapping[str, object]
    exists: bool = True
    is_blank: bool = False

    def member(self, key: Path) -> object | None:
        """The value at `key`, None where there is none. Raises ParseFault if something else than an object is above."""
        value: object = self.content
        for depth, name in enumerate(key):
            if not isinstance(value, Mapping):
                raise json.wrong_type(self.text, key[:depth], "an object", value, self.path)
            if name not in value:
                return None
            value = value[name]
        return value

    def typed(self, key: Path, kind: type, wanted: str) -> object | None:
        """As member. Raises ParseFault for a value of another type; null counts as absent, as in dockerd."""
        value = self.member(key)
        if value is not None and not isinstance(value, kind):
            raise json.wrong_type(self.text, key, wanted, value, self.path)
        return value

    @property
    def default(self) -> str | None:
        """The default runtime, if the file names one."""
        value = self.content.get(DEFAULT[0])
        return value if isinstance(value, str) and value else None

    @property
    def cdi(self) -> bool | None:
        """The CDI switch, if the file has one."""
        features = self.content.get(CDI[0])
        value = features.get(CDI[1]) if isinstance(features, Mapping) else None
        return value if isinstance(value, bool) else None


def parse(layers: tuple[Layer, ...]) -> DaemonFile:
    """The one layer Docker has. Raises ParseFault with line and column."""
    layer = layers[0]
    text = layer.text or ""
    if not text.strip(WHITESPACE):
        return DaemonFile(layer.path, EMPTY, {}, exists=layer.text is not None, is_blank=layer.text is not None)
    content = json.load(text, layer.path)
    if not isinstance(content, dict):
        raise json.wrong_type(text, (), "an object", content, layer.path)
    return DaemonFile(layer.path, text, content)
