"""What a hook was asked to do: its options, read as NVIDIA's tools read them; it knows no container."""

from __future__ import annotations

from ctk.inject.faults import InjectFault

TYPE_CHECKING = False  # typing and collections.abc take longer to load than this module
if TYPE_CHECKING:
    from collections.abc import Callable

    Warn = Callable[[str], None]
    """Tells the engine's log what was left out, and why."""

DEFAULT_LDCONFIG = "/sbin/ldconfig"
DEFAULT_COMPAT_ROOT = "/usr/local/cuda/compat"
TRUE_WORDS = ("1", "t", "T", "true", "TRUE", "True")  # Go's strconv.ParseBool
FALSE_WORDS = ("0", "f", "F", "false", "FALSE", "False")
LINK, FOLDER, PATH, MODE = "--link", "--folder", "--path", "--mode"
LDCONFIG, COMPAT_ROOT, CONTAINER_SPEC = "--ldconfig-path", "--cuda-compat-container-root", "--container-spec"
DRIVER_VERSION, CUDA_VERSION = "--host-driver-version", "--host-cuda-version"
NO_NODES, PROFILE, HELP = "--disable-device-node-modification", "--update-application-profile", "--help"
SWITCHES = frozenset({NO_NODES, PROFILE, HELP})
EVERYWHERE = (CONTAINER_SPEC, HELP)
ALIASES = {"-h": HELP}


class UsageFault(InjectFault):
    """The hook's options make no sense."""


class Options:
    """The union of the options of all hooks."""

    __slots__ = (
        "compat_root",
        "container_spec",
        "folders",
        "hide_device_modification",
        "host_cuda_version",
        "host_driver_version",
        "ldconfig_path",
        "links",
        "mode",
        "paths",
        "update_profile",
        "wants_help",
    )

    def __init__(self, values: dict[str, list[str]]) -> None:
        def last(name: str, default: str = "") -> str:
            return values[name][-1] if values.get(name) else default

        self.links = [pair for value in values.get(LINK, ()) for pair in parse_links(value)]
        self.folders = [folder for value in values.get(FOLDER, ()) for folder in value.split(",") if folder]
        self.paths = [path for value in values.get(PATH, ()) for path in value.split(",") if path]
        self.mode = parse_mode(last(MODE)) if values.get(MODE) else None
        self.ldconfig_path = last(LDCONFIG, DEFAULT_LDCONFIG).removeprefix("@")  # config.toml marks the host's so
        self.compat_root = last(COMPAT_ROOT, DEFAULT_COMPAT_ROOT)
        self.host_driver_version = last(DRIVER_VERSION)
        self.host_cuda_version = last(CUDA_VERSION)
        self.hide_device_modification = parse_switch(NO_NODES, last(NO_NODES, "false"))
        self.update_profile = parse_switch(PROFILE, last(PROFILE, "false"))
        self.wants_help = parse_switch(HELP, last(HELP, "false"))
        self.container_spec = last(CONTAINER_SPEC)


def parse_options(words: list[str], known: tuple[str, ...], warn: Warn) -> Options:
    """The words after the hook's name. One or two dashes, `--name value` or `--name=value`."""
    values: dict[str, list[str]] = {}
    names = (*known, *EVERYWHERE)
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("-") or word in ("-", "--"):
            warn(f"the argument {word!r} is ignored: a hook takes options only")
            continue
        name, equals, value = word.partition("=")
        name = ALIASES.get(name, name if name.startswith("--") else f"-{name}")
        if name not in names:
            raise UsageFault(f"there is no option {name}")
        if not equals and name in SWITCHES:
            value = "true"
        elif not equals:
            if not rest:
                raise UsageFault(f"{name} needs a value")
            value = rest.pop(0)
        values.setdefault(name, []).append(value)
    return Options(values)


def parse_links(value: str) -> list[tuple[str, str]]:
    """target::link, or several with commas between them; a comma may also be part of a name."""
    pieces = [value] if value.count("::") == 1 else value.split(",")
    pairs = [piece.split("::") for piece in pieces]
    for piece, pair in zip(pieces, pairs, strict=True):
        if len(pair) != 2 or not pair[0] or not pair[1]:
            raise UsageFault(f"{LINK} takes target::link, not {piece!r}")
    return [(target, link) for target, link in pairs]


def parse_mode(value: str) -> int:
    """An octal number of permission bits."""
    digits = value.strip().removeprefix("0o")
    if not digits or not set(digits) <= set("01234567") or int(digits, 8) > 0o7777:
        raise UsageFault(f"{MODE} takes an octal mode such as 755, not {value!r}")
    return int(digits, 8)


def parse_switch(name: str, value: str) -> bool:
    """A switch's value, as Go reads it."""
    if value not in (*TRUE_WORDS, *FALSE_WORDS):
        raise UsageFault(f"{name} takes true or false, not {value!r}")
    return value in TRUE_WORDS
