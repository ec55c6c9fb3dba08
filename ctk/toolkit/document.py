"""config.toml as text: the default document, effective values, and edits that touch one key's line; reads no file."""

from collections.abc import Callable, Mapping

from ctk.edit import toml
from ctk.errors import ParseFault
from ctk.record import Record
from ctk.toolkit.settings import SETTINGS, Setting, Value

FILE, DEFAULT = "file", "default"


class HostDefaults(Record):
    """The defaults that depend on the distribution, as NVIDIA's toolkit chooses them.

    ldconfig: @/sbin/ldconfig.real where that exists (Debian, Ubuntu), else @/sbin/ldconfig. user: root:video where
    os-release says suse.
    """

    ldconfig: str = "@/sbin/ldconfig"
    user: str = ""

    def of(self, setting: Setting) -> Value | None:
        """The default of one setting on this host."""
        if setting.key == "nvidia-container-cli.ldconfig":
            return self.ldconfig
        if setting.key == "nvidia-container-cli.user":
            return self.user
        return setting.default


class Effective(Record):
    """The value in force of one setting: None = absent; source is file or default."""

    setting: Setting
    value: object | None
    source: str


def render_default(host: HostDefaults) -> str:
    """The whole default document: keys sorted, those that are not set by default behind a `#`."""
    from ctk.edit.toml_render import render_value

    tables: dict[tuple[str, ...], list[str]] = {}
    for setting in sorted(SETTINGS, key=lambda row: row.path):
        value = host.of(setting)
        commented = setting.shown is not None and not (setting.key.endswith(".user") and host.user)
        shown = setting.shown if commented else value
        if shown is not None:
            line = f"{'#' if commented else ''}{setting.path[-1]} = {render_value(shown)}"
            tables.setdefault(setting.path[:-1], []).append(line)
    parts = []
    for table in sorted(tables):
        header = [f"[{'.'.join(table)}]"] if table else []
        parts.append("\n".join([*header, *tables[table]]))
    return "\n\n".join(parts) + "\n"


def effective(content: Mapping[str, object], host: HostDefaults) -> tuple[Effective, ...]:
    """Every setting with the value in force and where it comes from."""
    return tuple(effective_of(content, setting, host) for setting in SETTINGS)


def effective_of(content: Mapping[str, object], setting: Setting, host: HostDefaults) -> Effective:
    """One setting's value in force."""
    value = value_at(content, setting.path)
    if value is not None:
        return Effective(setting, value, FILE)
    return Effective(setting, host.of(setting), DEFAULT)


def value_at(content: Mapping[str, object], path: tuple[str, ...]) -> object | None:
    """The value at a path, None where there is none."""
    value: object = content
    for key in path:
        if not isinstance(value, Mapping) or key not in value:
            return None
        value = value[key]
    return value


def set_key(text: str, path: tuple[str, ...], value: Value) -> str:
    """One key with a value, in the place of its commented line if the file has one; the same text if it is so.

    Raises ParseFault where something else than a table is in the way.
    """
    return toml.uncomment_key(text, path, value)


def unset_key(text: str, path: tuple[str, ...], original: Callable[[], str | None], host: HostDefaults) -> str:
    """The text without the key; the same text if it is not set.

    original: gives the text from before ctk first changed the file, None if nothing tells. What stood there for the
    key, a comment or nothing, comes back; else the default document decides.
    """
    if value_at(toml.load(text), path) is None:
        return text
    earlier = original()
    told = earlier is not None and _is_free(earlier, path)
    model = earlier if told and earlier is not None else render_default(host)
    # A dotted key of a table without a header would leave a comment that names another table's key.
    has_header = len(path) == 1 or toml.is_written(text, path[:-1])
    commented = toml.comment_key_as_in(text, path, model) if has_header else None
    if commented is not None:
        return commented
    parents = (path[:length] for length in range(len(path) - 1, 0, -1))
    made = tuple(parent for parent in parents if told and not toml.is_written(model, parent))
    return toml.remove(text, path, empty_parents=made)


def _is_free(text: str, path: tuple[str, ...]) -> bool:
    """Whether the text is TOML and does not have the key."""
    try:
        return value_at(toml.load(text), path) is None
    except ParseFault:
        return False  # it was repaired by hand since


def shown(value: object) -> str:
    """A value as TOML writes it, for people."""
    from ctk.edit.toml_render import render_value

    return render_value(value)
