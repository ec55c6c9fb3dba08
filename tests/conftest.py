"""What all tests share: guard, golden files, an unprivileged caller, hypothesis profiles; knows no feature."""

import builtins
import gc
import itertools
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import ParamSpec, Protocol, TypeVar

import pytest
from hypothesis import HealthCheck, settings

from tests.guard import GUARD, ForbiddenInTests

NOBODY = 65534
_REAL_IMPORT = builtins.__import__
FOLDER_PREFIX = "ctk-tests-"
KEPT_FOLDERS = 3
OPT_OUT_MARKS = ("e2e", "real")
GOLDEN_FOLDERS = ("tests/cases", "tests/hosts")
CALLER_VARIABLES = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "DOCKER_CONFIG", "DOCKER_HOST", "DOCKER_CONTEXT")

KEPT_VARIABLES = ("CTK_SOURCE",)  # which checkout the engine suite tests

NUMBERS = itertools.count()

P = ParamSpec("P")
T = TypeVar("T")

settings.register_profile(
    "fast", max_examples=15, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "long",
    max_examples=2000,
    derandomize=bool(os.environ.get("CI")),  # a change must not fail for an old bug that luck has just found
    print_blob=True,
    database=None,  # it lies outside the test's folder, and the guard would hide the example that failed
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("fast")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the expected files of tests/cases and tests/hosts anew"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Give the run a folder of its own: others may enter it, and no second run of the suite resets its mode."""
    if config.option.basetemp is None and not hasattr(config, "workerinput"):
        _remove_old_folders()
        config.option.basetemp = tempfile.mkdtemp(prefix=f"{FOLDER_PREFIX}{os.getpid()}-")
        config.add_cleanup(lambda: _remove_if_passed(config))
    _forget_callers_environment()
    GUARD.install()


def _forget_callers_environment() -> None:
    """Take away the variables that would let the developer's shell decide what a test sees, once for all tests."""
    for name in tuple(os.environ):
        if (name.startswith(("CTK_", "XDG_")) and name not in KEPT_VARIABLES) or name in CALLER_VARIABLES:
            del os.environ[name]


def pytest_collection_finish() -> None:
    """What was collected stays to the end: the garbage collector need not look at it again and again."""
    gc.collect()
    gc.freeze()


def _remove_old_folders() -> None:
    """What failed runs left to look at, except for the newest ones and for runs that still go on."""
    folders = Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}*-*")
    ended = [folder for folder in folders if not Path("/proc", folder.name.split("-")[2]).exists()]
    with suppress(FileNotFoundError):  # another run is clearing up too
        for folder in sorted(ended, key=lambda path: path.lstat().st_mtime)[:-KEPT_FOLDERS]:
            shutil.rmtree(folder, ignore_errors=True)


def _remove_if_passed(config: pytest.Config) -> None:
    session = getattr(config, "ctk_session", None)
    if session is None or session.testsfailed == 0:
        shutil.rmtree(config.option.basetemp, ignore_errors=True)


def pytest_sessionstart(session: pytest.Session) -> None:
    session.config.ctk_session = session  # type: ignore[attr-defined] # the clean-up needs to know whether all passed
    base = _base_folder(session.config)
    for folder in (base, base.parent):  # a worker's folder lies in that of the whole run
        if folder.stat().st_uid == os.geteuid() and folder.is_relative_to(tempfile.gettempdir()):
            folder.chmod(folder.stat().st_mode & 0o7777 | 0o011)


def _base_folder(config: pytest.Config) -> Path:
    factory: pytest.TempPathFactory = config._tmp_path_factory  # type: ignore[attr-defined] # pytest has no public way
    return factory.getbasetemp()


@cache
def _roots(config: pytest.Config) -> tuple[str, ...]:
    roots = [os.path.realpath(_base_folder(config))]
    if config.getoption("--update-golden"):
        roots += [os.path.join(os.path.realpath(config.rootpath), folder) for folder in GOLDEN_FOLDERS]
    return tuple(roots)


@contextmanager
def _guarded(item: pytest.Item) -> Iterator[None]:
    if any(item.get_closest_marker(mark) for mark in OPT_OUT_MARKS):
        yield
        return
    GUARD.roots = _roots(item.config)
    GUARD.violations.clear()
    GUARD.active = True
    try:
        yield
    finally:
        GUARD.active = False
    if GUARD.violations:  # the code under test swallowed it
        raise ForbiddenInTests("; ".join(GUARD.violations))


# Set-up and call are guarded; teardown is not, because fixtures of marked tests may end in any test's teardown.
@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    with _guarded(item):
        return (yield)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    with _guarded(item):
        return (yield)


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As pytest's own, but for how a free name is found: pytest reads the whole folder of all tests' folders for it."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    folder = tmp_path_factory.getbasetemp() / f"{name}-{next(NUMBERS)}"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether expected files are to be written instead of compared."""
    return bool(request.config.getoption("--update-golden"))


class GoldenCheck(Protocol):
    def __call__(self, path: Path, text: str) -> None:
        """Compare text with the file, or write the file under --update-golden."""


@pytest.fixture
def assert_golden(update_golden: bool) -> GoldenCheck:
    def check(path: Path, text: str) -> None:
        if update_golden:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.is_file(), f"{path} is missing; write it with --update-golden and read it"
        assert path.read_text(encoding="utf-8") == text

    return check


class AsNobody(Protocol):
    def __call__(self, function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        """Call the function as an unprivileged user and return what it returns."""


@pytest.fixture
def as_nobody(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> AsNobody:
    """Calls a function without root's rights, because root passes every mode; tmp_path itself can be entered."""
    base = tmp_path_factory.getbasetemp()

    def call(function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        if os.geteuid() != 0:
            return function(*arguments, **options)
        for folder in (tmp_path, *tmp_path.parents):
            if folder.is_relative_to(base):
                folder.chmod(folder.stat().st_mode & 0o7777 | 0o011)
        with _unprivileged():
            return function(*arguments, **options)

    return call


@contextmanager
def _unprivileged() -> Iterator[None]:
    groups = os.getgroups()
    group = os.getegid()
    os.setgroups([])
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    builtins.__import__ = _import_as_root  # type: ignore[assignment] # same arguments, other names
    try:
        yield
    finally:
        builtins.__import__ = _REAL_IMPORT
        os.seteuid(0)
        os.setegid(group)
        os.setgroups(groups)


def _import_as_root(
    name: str,
    module_globals: Mapping[str, object] | None = None,
    module_locals: Mapping[str, object] | None = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> ModuleType:
    """Imports are late here, and the interpreter may lie where only root can read (a home folder)."""
    caller = os.geteuid()
    os.seteuid(0)
    try:
        return _REAL_IMPORT(name, module_globals, module_locals, fromlist, level)
    finally:
        os.seteuid(caller)
