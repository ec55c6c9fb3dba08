"""Holds the rules of tests/architecture.py against the tree, and each rule against a sample that breaks it."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import architecture as rules
from tests.architecture import Module

CHECKOUT = Path(__file__).resolve().parents[1]
DATA_FOLDERS = ("tests/cases", "tests/hosts")
SKIPPED_FOLDERS = frozenset({"build", "dist", "node_modules", "__pycache__"})


def python_files(folder: str) -> list[Path]:
    return [path for path in text_files(folder) if path.suffix == ".py" and not is_data(path)]


def is_data(path: Path) -> bool:
    return any(path.is_relative_to(CHECKOUT / folder) for folder in DATA_FOLDERS)


def text_files(folder: str = ".") -> Iterator[Path]:
    for top, folders, names in os.walk(CHECKOUT / folder):
        hidden = {name for name in folders if name.startswith(".") and name != ".ci"}
        folders[:] = sorted(set(folders) - hidden - SKIPPED_FOLDERS)
        yield from (Path(top, name) for name in sorted(names) if not os.path.islink(os.path.join(top, name)))


def load(path: Path) -> Module:
    name = ".".join(path.relative_to(CHECKOUT).with_suffix("").parts).removesuffix(".__init__")
    return rules.parse_module(name, path.read_text(encoding="utf-8"))


CTK = [load(path) for path in python_files("ctk")]
TESTS = [load(path) for path in python_files("tests")]
KNOWN = frozenset(module.name for module in CTK)
Rule = Callable[[Module], Iterator[str]]
RULES_OF_CTK: dict[str, Rule] = {
    "layers": lambda module: rules.layer_faults(module, KNOWN),
    "purity": lambda module: rules.purity_faults(module, KNOWN),
    "confinement": lambda module: rules.confinement_faults(module, KNOWN),
    "start-path": lambda module: rules.start_path_faults(module, KNOWN),
    "writing": rules.writing_faults,
    "pattern": rules.pattern_faults,
}
RULES_OF_ALL: dict[str, Rule] = {
    "size": rules.size_faults,
    "naming": rules.naming_faults,
    "opening": rules.opening_faults,
    "suppression": lambda module: rules.suppression_faults(module.name, module.text),
}


@pytest.mark.parametrize("rule", [pytest.param(rule, id=name) for name, rule in RULES_OF_CTK.items()])
def test_ctk_keeps_the_rule(rule: Rule) -> None:
    assert CTK
    assert [fault for module in CTK for fault in rule(module)] == []


@pytest.mark.parametrize("rule", [pytest.param(rule, id=name) for name, rule in RULES_OF_ALL.items()])
def test_ctk_and_tests_keep_the_rule(rule: Rule) -> None:
    assert [fault for module in (*CTK, *TESTS) for fault in rule(module)] == []


BROKEN = [
    ("layers", "ctk.facts.gpu", "from ctk.host import Host"),
    ("layers", "ctk.host.local", "def f():\n    import ctk.cli"),
    ("layers", "ctk.host.collect", "from ctk.change import plan"),
    ("layers", "ctk.engines.docker", "from ctk.change.plan import Plan"),
    ("layers", "ctk.edit.toml", "from ctk.engines.base import Layer"),
    ("layers", "ctk.errors", "import ctk.result"),
    ("layers", "ctk.engines.docker", "from . import base"),
    ("layers", "ctk.novelty", ""),
    ("purity", "ctk.engines.docker", "import os"),
    ("purity", "ctk.engines.docker", "from pathlib import Path"),
    ("purity", "ctk.formats.elf", "def f(path):\n    return open(path)"),
    ("purity", "ctk.change.plan", "import os"),
    ("purity", "ctk.doctor.checks.driver", "import subprocess"),
    ("purity", "ctk.doctor.checks.driver", "from ctk.host import Host"),
    ("confinement", "ctk.runtime", "import click"),
    ("confinement", "ctk.cli.info", "import psutil"),
    ("confinement", "ctk.host.gpus", "import pynvml"),
    ("confinement", "ctk.runtime", "import tomlkit.items"),
    ("confinement", "ctk.host.engines", "import subprocess"),
    ("confinement", "ctk.host.engines", "import os\nos.popen('true')"),
    ("confinement", "ctk.cli.info", "from os import execv"),
    ("confinement", "ctk.runtime", "from ctk.change.apply import apply_plan"),
    ("start-path", "ctk.inject.links", "import click"),
    ("start-path", "ctk.inject.links", "from ctk.errors import CtkError"),
    ("start-path", "ctk.inject.links", "def f():\n    from typing import NamedTuple"),
    ("layers", "ctk.inject.links", "from ctk.change import plan"),
    ("writing", "ctk.cli.info", "open('f', 'w')"),
    ("writing", "ctk.cli.info", "open('f', mode='ab')"),
    ("writing", "ctk.cli.info", "open('f', mode)"),
    ("writing", "ctk.host.local", "import os\nos.replace('a', 'b')"),
    ("writing", "ctk.host.local", "import os as system\nsystem.open('f', system.O_RDWR)"),
    ("writing", "ctk.host.local", "from os import unlink"),
    ("writing", "ctk.host.local", "import shutil\nshutil.rmtree('f')"),
    ("writing", "ctk.runtime", "Path('f').write_text('x')"),
    ("writing", "ctk.runtime", "Path('f').open('w')"),
    ("pattern", "ctk.edit.toml", "import re\nre.compile(r'(?:a|b)*+')"),
    ("pattern", "ctk.edit.toml", "import re\nre.match('x' r'(?>a|b)', text)"),
    ("size", "ctk.runtime", "x = 1\n" * 401),
    ("size", "ctk.runtime", "def f():\n" + "    x = 1\n" * 60),
    ("naming", "ctk.host.utils", ""),
    ("naming", "ctk.host.local", "def _process(): ..."),
    ("opening", "ctk.runtime", "x = 1"),
    ("suppression", "ctk.runtime", "import os  # no" + "qa: F401"),
    ("suppression", "ctk.runtime", "import os  # no" + "qa"),
    ("suppression", "ctk.runtime", "x = 1  # type: " + "ignore[misc]"),
    ("suppression", "ctk.runtime", "x = 1  # type: " + "ignore # the stubs are wrong here"),
]
ALL_RULES = RULES_OF_CTK | RULES_OF_ALL


@pytest.mark.parametrize(("rule", "name", "text"), BROKEN, ids=[f"{row[0]}-{i}" for i, row in enumerate(BROKEN)])
def test_the_rule_sees_what_breaks_it(rule: str, name: str, text: str) -> None:
    assert list(ALL_RULES[rule](rules.parse_module(name, text)))


ALLOWED = [
    ("ctk.cli.info", "import click\nfrom ctk.change.apply import apply_plan\nimport importlib"),
    ("ctk.runtime", "from ctk.change.journal import Journal\nfrom ctk.host import Host\nfrom ctk.engines import base"),
    ("ctk.engines.docker", "import json\nimport posixpath\nfrom ctk.edit import text\nfrom ctk.facts import Unknown"),
    ("ctk.change.apply", "import os\nimport subprocess\nos.replace('a', 'b')\nopen('f', 'w')"),
    ("ctk.inject.ldcache", "import os\nfrom ctk.formats.elf import read_notes\nos.rename('a', 'b')\nos.fork()"),
    ("ctk.host.local", "import subprocess\nimport os\nopen('f')\nopen('f', 'rb')\nos.stat('f')\n'a'.replace('a', 'b')"),
    ("ctk.doctor.checks.cdi", "from ctk.doctor.model import Check\nfrom ctk.engines.base import Layer\nimport re"),
    ("ctk.edit.text", "import re\nre.compile(r'a*\\+b+?[+]')\nx = '+++ '"),
    ("ctk.runtime", "import os  # no" + "qa: F401 - loaded for its side effect"),
]


@pytest.mark.parametrize(("name", "text"), ALLOWED, ids=[f"{row[0]}-{i}" for i, row in enumerate(ALLOWED)])
def test_what_is_allowed_passes_every_rule(name: str, text: str) -> None:
    module = rules.parse_module(name, f'"""Opens as a module should."""\n{text}')
    assert [fault for rule in ALL_RULES.values() for fault in rule(module)] == []


# Written in pieces, or this file would break its own rule. A machine's paths and a registry's address belong to the
# machine's settings: with them in the tree, the project works in one place only.
FORBIDDEN = [
    r"(?<![\w.])/work" + r"/(main|shared|\.)",
    r"/tmp/v" + r"0\b",
    r"bash_" + r"jobs",
    r"/root/\.py" + r"env",
    r"(\bpy" + r"pi|python" + r"hosted)\.org",
    r"(deb|security|ftp|snapshot)\.deb" + r"ian\.org",
    r"(archive|security)\.ubun" + r"tu\.com",
    r"registry\.np" + r"mjs\.org",
    r"house-" + r"style|peer-" + r"behaviour|field-" + r"cases|real-" + r"engines\.md",
]


def test_no_file_names_a_machine_or_a_registry() -> None:
    pattern = re.compile("|".join(FORBIDDEN))
    found = []
    for path in text_files():
        for number, line in enumerate(path.read_bytes().decode("utf-8", "replace").splitlines(), start=1):
            if pattern.search(line):
                found.append(f"{path.relative_to(CHECKOUT)}:{number}: {line.strip()[:100]}")
    assert found == []


IMPORT_EVERYTHING = """
import importlib, json, sys
modules, seen, active = json.loads(sys.argv[1]), [], False
SOURCES = (".py", ".pyc", ".so")

def watch(event, arguments):
    if not active:
        return
    if event == "open":
        path, flags = str(arguments[0]), arguments[2]
        if not path.endswith(SOURCES) or flags & 3:
            seen.append(f"open {path}")
    elif event.startswith(("subprocess.", "socket.", "os.fork", "os.exec", "os.posix_spawn", "os.system")):
        seen.append(event)

sys.addaudithook(watch)
report = {}
for name in modules:
    active = True
    importlib.import_module(name)
    active = False
    if seen:
        report[name] = list(seen)
        seen.clear()
json.dump(report, sys.stdout)
"""


@pytest.mark.real
def test_importing_ctk_opens_no_file_and_starts_nothing() -> None:
    command = [sys.executable, "-B", "-c", IMPORT_EVERYTHING, json.dumps(sorted(KNOWN))]
    child = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, timeout=60, check=False)
    assert child.returncode == 0, child.stderr
    assert json.loads(child.stdout) == {}
