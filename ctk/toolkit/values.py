"""Values of settings: from words to typed values, and the rules they must pass; looks at no host."""

from collections.abc import Callable, Mapping

from ctk.errors import UsageFault
from ctk.toolkit.settings import BOOLEAN, CAPABILITIES, LIST, Setting, Value

TRUE_WORDS = frozenset({"1", "t", "T", "true", "TRUE", "True"})  # Go's strconv.ParseBool, as nvidia-ctk takes them
FALSE_WORDS = frozenset({"0", "f", "F", "false", "FALSE", "False"})
ALLOW_CONTAINER_LDCONFIG = "features.allow-ldconfig-from-container"
ENDING = "Nothing was changed."


def parse_value(setting: Setting, word: str | None, separator: str = ":") -> Value:
    """The typed value of a word; None (the key alone) is true, for booleans only. Raises UsageFault with what is taken.

    A list is split at the separator; an empty word is an empty list.
    """
    if setting.kind == BOOLEAN:
        return _parse_boolean(setting, word)
    if word is None:
        raise UsageFault(f"{setting.key} needs a value: {setting.key}=…", hint=f"It is a {setting.kind}. {ENDING}")
    if setting.kind == LIST:
        return word.split(separator) if word else []
    return word


def _parse_boolean(setting: Setting, word: str | None) -> bool:
    if word is None or word in TRUE_WORDS:
        return True
    if word in FALSE_WORDS:
        return False
    raise UsageFault(f"{setting.key} takes true or false, not {word!r}", hint=ENDING)


def type_fault(setting: Setting, value: object) -> str:
    """What is wrong with the type of a value in a file, "" if nothing."""
    kinds = {BOOLEAN: (bool, "true or false"), LIST: (list, "a list of strings")}
    kind, words = kinds.get(setting.kind, (str, "a string"))
    if not isinstance(value, kind):
        return f"it must be {words}"
    if isinstance(value, list) and not all(isinstance(item, str) for item in value):
        return f"it must be {words}"
    return ""


def value_fault(setting: Setting, value: object, others: Mapping[str, object]) -> str:
    """What is wrong with a value wherever the host may be, "" if nothing. others: the effective values by key."""
    wrong_type = type_fault(setting, value)
    if wrong_type:
        return wrong_type
    if setting.allowed and value not in setting.allowed:
        return f"it must be one of {', '.join(setting.allowed)}"
    rule = RULES.get(setting.check)
    return rule(value, others) if rule else ""


def security_note(setting: Setting, value: object) -> str:
    """What a value opens that is allowed but dangerous, "" if nothing; the defaults are not looked at."""
    if setting.check == "ldconfig":
        return "" if str(value).startswith("@") else setting.security
    return setting.security if value is True and setting.key.startswith("features.") else ""


Rule = Callable[[object, Mapping[str, object]], str]


def _capabilities(value: object, _: Mapping[str, object]) -> str:
    words = [word.strip() for word in str(value).split(",")]
    unknown = [word for word in words if word not in (*CAPABILITIES, "all")]
    return f"{unknown[0]!r} is no capability; they are {', '.join(CAPABILITIES)}, or all" if unknown else ""


def _absolute(value: object, _: Mapping[str, object]) -> str:
    return "" if str(value).startswith("/") else "it must be an absolute path"


def _absolute_or_empty(value: object, others: Mapping[str, object]) -> str:
    return "" if value == "" else _absolute(value, others)


def _environment(value: object, _: Mapping[str, object]) -> str:
    items = value if isinstance(value, list) else []
    wrong = [item for item in items if "=" not in item or item.startswith("=")]
    return f"{wrong[0]!r} is not NAME=VALUE" if wrong else ""


def _ldconfig(value: object, others: Mapping[str, object]) -> str:
    text = str(value)
    if text.startswith("@/"):
        return ""
    if text.startswith("@"):
        return "behind the @ there must be an absolute path of the host"
    if others.get(ALLOW_CONTAINER_LDCONFIG) is True and text.startswith("/"):
        return ""
    return f"it needs an @ in front, so that the host's own program is run: @{text if text else '/sbin/ldconfig'}"


def _program_or_empty(value: object, others: Mapping[str, object]) -> str:
    return _absolute(value, others) if "/" in str(value) else ""


def _user(value: object, _: Mapping[str, object]) -> str:
    text = str(value)
    parts = text.split(":")
    well_formed = len(parts) <= 2 and all(part and part.isprintable() and " " not in part for part in parts)
    return "" if text == "" or well_formed else "it must be USER or USER:GROUP, names or numbers"


def _runtimes(value: object, others: Mapping[str, object]) -> str:
    return "it names no runtime: containers could not start" if value == [] else _not_empty_items(value, others)


def _not_empty_items(value: object, _: Mapping[str, object]) -> str:
    return "one of its items is empty" if isinstance(value, list) and "" in value else ""


def _kind(value: object, _: Mapping[str, object]) -> str:
    vendor, slash, name = str(value).partition("/")
    plain = all(part and (part[0].isalnum() and part.isascii()) for part in (vendor, name))
    return "" if slash and plain and "/" not in name else "it must be vendor/class, such as nvidia.com/gpu"


def _folders(value: object, _: Mapping[str, object]) -> str:
    items = value if isinstance(value, list) else []
    wrong = [item for item in items if not item.startswith("/")]
    if not items:
        return "it names no folder: no CDI spec could be found"
    return f"{wrong[0]!r} must be an absolute path" if wrong else ""


RULES: Mapping[str, Rule] = {
    "capabilities": _capabilities,
    "absolute": _absolute,
    "absolute-or-empty": _absolute_or_empty,
    "driver-root": _absolute_or_empty,
    "environment": _environment,
    "ldcache": _absolute_or_empty,
    "ldconfig": _ldconfig,
    "program-or-empty": _program_or_empty,
    "user": _user,
    "runtimes": _runtimes,
    "not-empty-items": _not_empty_items,
    "kind": _kind,
    "folders": _folders,
}
