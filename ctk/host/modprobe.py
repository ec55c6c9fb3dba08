"""The files that rule kernel modules, modprobe.d and modules-load.d; it loads no module and judges no rule."""

from collections.abc import Iterable, Iterator

from ctk.facts import Unknown
from ctk.facts.kernel import BootModule, ModprobeRule
from ctk.host import Host
from ctk.host.reading import ABSENT, try_read_text, unknown_from

MODPROBE_FOLDERS = (
    "/etc/modprobe.d",
    "/run/modprobe.d",
    "/usr/local/lib/modprobe.d",
    "/usr/lib/modprobe.d",
    "/lib/modprobe.d",
)
"""modprobe.d(5): of files with the same name the first folder's counts; only names that end in .conf are read."""
BOOT_FOLDERS = (
    "/etc/modules-load.d",
    "/run/modules-load.d",
    "/usr/local/lib/modules-load.d",
    "/usr/lib/modules-load.d",
)
"""modules-load.d(5), the same rule. Debian reads /etc/modules too."""
MODULE_LIST = "/etc/modules"
COMMANDS = frozenset({"alias", "blacklist", "install", "options", "remove", "softdep"})
NAMES_OF_INTEREST = ("nvidia", "nouveau", "nova_", "vfio", "rivafb", "rivatv", "mods")
"""The driver's modules and what can take a GPU from it; other lines are nobody's business here."""


def collect_modprobe_rules(host: Host) -> tuple[ModprobeRule, ...] | Unknown:
    """The lines about modules of interest, in the order modprobe reads the files."""
    rules: list[ModprobeRule] = []
    try:
        for path in _files(host, MODPROBE_FOLDERS):
            text = try_read_text(host, path)
            if isinstance(text, Unknown):
                return Unknown(f"{path}: {text.reason}")
            rules += [rule for rule in parse_modprobe_file(text or "", path) if _is_of_interest(rule.module)]
    except OSError as error:
        return unknown_from(error)
    return tuple(rules)


def collect_boot_modules(host: Host) -> tuple[BootModule, ...] | Unknown:
    """What is loaded at boot by name."""
    found: list[BootModule] = []
    try:
        for path in (*_files(host, BOOT_FOLDERS), MODULE_LIST):
            text = try_read_text(host, path)
            if isinstance(text, Unknown):
                return Unknown(f"{path}: {text.reason}")
            found += parse_boot_file(text or "", path)
    except OSError as error:
        return unknown_from(error)
    return tuple(found)


def parse_modprobe_file(text: str, path: str) -> Iterator[ModprobeRule]:
    """One rule for each line that is one; a backslash at a line's end joins the next."""
    for number, line in _logical_lines(text):
        words = line.split(None, 2)
        if len(words) >= 2 and words[0] in COMMANDS:
            arguments = " ".join(words[2].split()) if len(words) == 3 else ""
            yield ModprobeRule(words[0], words[1].replace("-", "_"), arguments, path, number)


def parse_boot_file(text: str, path: str) -> Iterator[BootModule]:
    """One module a line; comments start with # or ;."""
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if words and not words[0].startswith(("#", ";")):
            yield BootModule(words[0].replace("-", "_"), path, number)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    start, joined = 0, ""
    for number, line in enumerate(text.splitlines(), 1):
        start = start or number
        if line.endswith("\\"):
            joined += line[:-1] + " "
            continue
        yield start, (joined + line).strip()
        start, joined = 0, ""
    if joined:
        yield start, joined.strip()


def _is_of_interest(module: str) -> bool:
    return module.startswith(NAMES_OF_INTEREST)


def _files(host: Host, folders: Iterable[str]) -> list[str]:
    """All files, sorted by name whatever their folder, as both programs read them."""
    paths: dict[str, str] = {}
    for folder in folders:
        try:
            names = host.list_directory(folder)
        except ABSENT:
            continue
        for name in names:
            if name.endswith(".conf"):
                paths.setdefault(name, f"{folder}/{name}")
    return [paths[name] for name in sorted(paths)]
