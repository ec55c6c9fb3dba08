"""The rules on who may import, write, start and be how long, as functions from a module's syntax to its faults; no I/O.

tests/test_architecture.py holds them against ctk/. Loosening one is a decision: its own commit, with the reason.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Collection, Iterator
from typing import NamedTuple

MODULE_LINES = 400
FUNCTION_LINES = 60


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# cli ▶ doctor · runtime ▶ host · change · inject ▶ engines · toolkit · cdi · edit · formats ▶ facts
#     ▶ errors · result ▶ record
LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"__main__", "cli"}),
    frozenset({"doctor", "runtime", "config"}),
    frozenset({"host", "change", "inject", "templates"}),
    frozenset({"engines", "toolkit", "cdi", "edit", "formats"}),
    frozenset({"facts"}),
    frozenset({"errors", "result", "__init__"}),
    frozenset({"record"}),
)
# Neighbours of one layer do not know each other, except for these.
NEIGHBOURS = frozenset(
    {
        ("__main__", "cli"),
        ("engines", "edit"),
        ("engines", "formats"),
        ("toolkit", "edit"),
        ("cdi", "formats"),
        ("result", "errors"),
    }
)
PURE_PARTS = frozenset({"engines", "toolkit", "cdi", "edit", "formats", "facts", "errors", "result", "record"})
CHECKS = "ctk.doctor.checks"
CHECKS_MAY_IMPORT = (
    "ctk.doctor.model",
    "ctk.doctor.data",
    "ctk.engines",
    "ctk.toolkit",
    "ctk.cdi",
    "ctk.edit",
    "ctk.formats",
    "ctk.facts",
    "ctk.errors",
    "ctk.result",
    "ctk.record",
)
# What planning may know of ctk.change: its values, and the journal, which it only reads.
VALUES_OF_CHANGE = frozenset({"ctk.change", "ctk.change.plan", "ctk.change.entry", "ctk.change.cycle"})
READABLE_OF_CHANGE = VALUES_OF_CHANGE | {"ctk.change.journal"}
PURE_MODULES = VALUES_OF_CHANGE | {"ctk.change.diff", "ctk.change.mask"}
# What runs at every container start, isolated (python -I -S): the standard library and these parts, nothing else.
START_PATH = frozenset({"inject"})
START_PATH_MAY_IMPORT = ("ctk.inject", "ctk.formats")
SLOW_TO_START = words("typing dataclasses argparse logging subprocess pathlib importlib contextlib inspect")
"""Each costs the start path more than the work that it would be used for."""
INPUT_OUTPUT = words(
    "os pathlib io glob shutil tempfile subprocess socket fcntl mmap sqlite3 asyncio multiprocessing urllib http"
)
CONFINED: dict[str, tuple[str, ...]] = {
    "click": ("ctk.cli",),
    "rich": ("ctk.cli",),
    "tomlkit": ("ctk.edit",),
    "pynvml": ("ctk.host.nvml",),
    "psutil": ("ctk.host.system",),
    "distro": ("ctk.host.system",),
    "yaml": ("ctk.cdi",),
    "importlib": ("ctk.cli", "ctk.templates"),
    **dict.fromkeys(("subprocess", "multiprocessing", "pty"), ("ctk.host.local", "ctk.change")),
    **dict.fromkeys(("socket", "shutil", "tempfile"), ("ctk.host", "ctk.change")),
}
MAY_START = ("ctk.host.local", "ctk.change", "ctk.inject")  # inject: the host's ldconfig, below a container's root
STARTERS = words(
    "system popen fork forkpty posix_spawn posix_spawnp execv execve execvp execvpe execl execle execlp execlpe "
    "spawnv spawnve spawnvp spawnvpe spawnl spawnle spawnlp spawnlpe"
)
WRITERS = words(
    "replace rename renames remove unlink rmdir removedirs mkdir makedirs link symlink chmod chown lchown lchmod "
    "fchmod fchown truncate ftruncate utime mkfifo mknod setxattr removexattr O_WRONLY O_RDWR O_CREAT O_TRUNC "
    "O_APPEND"
)
PATH_WRITERS = words("write_text write_bytes touch symlink_to hardlink_to unlink rmdir mkdir")
SHUTIL_READERS = frozenset({"which", "get_terminal_size", "disk_usage"})
VAGUE_MODULES = words("util utils helper helpers common misc shared")
VAGUE_FUNCTIONS = VAGUE_MODULES | {"handle", "process", "do"}
SUPPRESSION = re.compile(
    r"#\s*(noqa|type:\s*ignore)(?P<codes>(\s*:\s*[A-Z]+[0-9]+(\s*,\s*[A-Z]+[0-9]+)*)|\[[\w, -]+\])?"
)

POSSESSIVE = re.compile(r"\(\?>|(?<!\\)[*+?}]\+")


class Module(NamedTuple):
    """One source file: name as imported ("ctk.host.local"), its text, its syntax tree and that tree walked once."""

    name: str
    text: str
    tree: ast.Module
    nodes: tuple[ast.AST, ...]

    @property
    def part(self) -> str:
        """The folder or file right below ctk/: "host", "errors", "__main__"; "__init__" for ctk itself."""
        return part_of(self.name)


class Import(NamedTuple):
    line: int
    name: str


def parse_module(name: str, text: str) -> Module:
    tree = ast.parse(text)
    return Module(name, text, tree, tuple(ast.walk(tree)))


def part_of(name: str) -> str:
    pieces = name.split(".")
    return pieces[1] if len(pieces) > 1 else "__init__"


def is_below(name: str, parents: Collection[str]) -> bool:
    return any(name == parent or name.startswith(parent + ".") for parent in parents)


def imports_of(module: Module, known: Collection[str]) -> Iterator[Import]:
    """Every import, also those in functions and under TYPE_CHECKING, with `from ctk.edit import toml` resolved."""
    for node in module.nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(node.lineno, alias.name)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                yield Import(node.lineno, "." * node.level)
                continue
            source = node.module or ""
            for alias in node.names:
                full = f"{source}.{alias.name}"
                yield Import(node.lineno, full if full in known else source)


def layer_of(part: str) -> int | None:
    return next((index for index, layer in enumerate(LAYERS) if part in layer), None)


def layer_faults(module: Module, known: Collection[str]) -> Iterator[str]:
    """Rule 1: imports point right only."""
    own = layer_of(module.part)
    if own is None:
        yield f"{module.name}: {module.part} is not in the import line; give it a place there first"
        return
    for line, name in imports_of(module, known):
        if name.startswith("."):
            yield f"{module.name}:{line}: relative import; write the full name"
        if not is_below(name, ("ctk",)):
            continue
        part = part_of(name)
        other = layer_of(part)
        if part == module.part or other is None or other > own:
            continue
        if other < own or (module.part, part) not in NEIGHBOURS:
            yield f"{module.name}:{line}: {module.part} must not import {name}: imports point right only"


def purity_faults(module: Module, known: Collection[str]) -> Iterator[str]:
    """Rules 2 and 3: checks, engines, edits, formats and facts see values and strings, never paths or files."""
    is_check = is_below(module.name, (CHECKS,))
    if not is_check and module.part not in PURE_PARTS and module.name not in PURE_MODULES:
        return
    for line, name in imports_of(module, known):
        if name.split(".")[0] in INPUT_OUTPUT:
            yield f"{module.name}:{line}: imports {name}, but this module sees values only"
        if is_check and is_below(name, ("ctk",)) and not is_below(name, (*CHECKS_MAY_IMPORT, CHECKS)):
            yield f"{module.name}:{line}: a check must not import {name}"
    for node in module.nodes:
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("open", "print", "input")
        ):
            yield f"{module.name}:{node.lineno}: calls {node.func.id}(), but this module does no I/O"


def confinement_faults(module: Module, known: Collection[str]) -> Iterator[str]:
    """Rule 5, and rule 4's last sentence: a library, a child process and apply are each known in one place only."""
    for line, name in imports_of(module, known):
        allowed = CONFINED.get(name.split(".")[0])
        if allowed is not None and not is_below(module.name, allowed):
            yield f"{module.name}:{line}: {name} may be imported only in {', '.join(allowed)}"
        from_outside = module.part not in ("cli", "change")
        if from_outside and is_below(name, ("ctk.change",)) and name not in READABLE_OF_CHANGE:
            yield f"{module.name}:{line}: only the command line calls {name}"
    for line, name in _attributes_of(module, "os"):
        if name in STARTERS and not is_below(module.name, MAY_START):
            yield f"{module.name}:{line}: os.{name} starts a process; only {', '.join(MAY_START)} do"


def start_path_faults(module: Module, known: Collection[str]) -> Iterator[str]:
    """What runs at every container start: formats and the standard library only, and of that what is quick to load."""
    if module.part not in START_PATH:
        return
    for line, name in imports_of(module, known):
        top = name.split(".")[0]
        if is_below(name, ("ctk",)):
            if not is_below(name, START_PATH_MAY_IMPORT):
                yield f"{module.name}:{line}: {name} is not for the container start path"
        elif top not in sys.stdlib_module_names:
            yield f"{module.name}:{line}: {name} is no part of the standard library"
        elif top in SLOW_TO_START:
            yield f"{module.name}:{line}: {name} is slow to load, and this runs at every container start"


def writing_faults(module: Module) -> Iterator[str]:
    """Rule 4: only ctk/change (and ctk/inject below a container's root) opens for writing, replaces or removes."""
    if module.part in ("change", "inject"):
        return
    for line, name in _attributes_of(module, "os"):
        if name in WRITERS:
            yield f"{module.name}:{line}: os.{name} changes the machine; only ctk.change does"
    for line, name in _attributes_of(module, "shutil"):
        if name not in SHUTIL_READERS:
            yield f"{module.name}:{line}: shutil.{name} changes the machine; only ctk.change does"
    for node in module.nodes:
        if isinstance(node, ast.Call):
            fault = _writing_call(node)
            if fault:
                yield f"{module.name}:{node.lineno}: {fault}; only ctk.change writes"


def _writing_call(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute) and call.func.attr in PATH_WRITERS:
        return f".{call.func.attr}() changes the machine"
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name not in ("open", "fdopen"):
        return ""
    modes = [keyword.value for keyword in call.keywords if keyword.arg == "mode"]
    modes += call.args[1:2] if isinstance(call.func, ast.Name) or name == "fdopen" else call.args[:2]
    for mode in modes:
        text = mode.value if isinstance(mode, ast.Constant) else None
        if isinstance(text, str) and re.fullmatch(r"[rwaxbt+]+", text) and re.search(r"[wax+]", text):
            return f"{name}() with mode {text!r}"
        if text is None and isinstance(call.func, ast.Name):
            return f"{name}() with a mode that cannot be read here"
    return ""


def _attributes_of(module: Module, library: str) -> Iterator[Import]:
    """Every use of library.NAME, whatever the library is called in the module."""
    aliases = set()
    for node in module.nodes:
        if isinstance(node, ast.Import):
            aliases |= {alias.asname or alias.name for alias in node.names if alias.name == library}
        elif isinstance(node, ast.ImportFrom) and node.module == library:
            yield from (Import(node.lineno, alias.name) for alias in node.names)
    for node in module.nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in aliases:
            yield Import(node.lineno, node.attr)


def size_faults(module: Module) -> Iterator[str]:
    """A module that passes 400 lines is split; a function over 60 lines does more than one thing."""
    lines = module.text.count("\n")
    if lines > MODULE_LINES:
        yield f"{module.name}: {lines} lines, at most {MODULE_LINES}"
    for node in module.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES:
                yield f"{module.name}:{node.lineno}: {node.name} has {length} lines, at most {FUNCTION_LINES}"


def naming_faults(module: Module) -> Iterator[str]:
    """A name says what the thing does."""
    if module.name.rsplit(".", 1)[-1] in VAGUE_MODULES:
        yield f"{module.name}: a module's name says its job"
    for node in module.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.strip("_") in VAGUE_FUNCTIONS:
            yield f"{module.name}:{node.lineno}: {node.name} does not say what the function does"


def pattern_faults(module: Module) -> Iterator[str]:
    """No possessive quantifier, no atomic group: Python 3.11.0 to 3.11.4, Debian 12's among them, match them wrongly.

    Fixed in 3.11.5 (python/cpython issues 101955 and 106052): a group in such a repeat may end in the wrong place.
    """
    for call in module.nodes:
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
            continue
        if not (isinstance(call.func.value, ast.Name) and call.func.value.id == "re"):
            continue
        for node in ast.walk(call):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and POSSESSIVE.search(node.value):
                yield f"{module.name}:{node.lineno}: possessive or atomic; Debian 12's Python matches it wrongly"


def opening_faults(module: Module) -> Iterator[str]:
    """Each module opens with one sentence: its job, and what it must not do."""
    if not ast.get_docstring(module.tree):
        yield f"{module.name}: no docstring that says its job"


def suppression_faults(name: str, text: str) -> Iterator[str]:
    """Every noqa and type: ignore names its rule and ends with why."""
    if not SUPPRESSION.search(text):
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        found = SUPPRESSION.search(token.string) if token.type == tokenize.COMMENT else None
        if not found:
            continue
        if not found["codes"]:
            yield f"{name}:{token.start[0]}: {found[0].strip()} names no rule"
        if len(re.sub(r"\W", "", token.string[found.end() :])) < 8:
            yield f"{name}:{token.start[0]}: {found[0].strip()} gives no reason"
