"""The hooks by name, and `apply`, which does all of a spec's work in one process; it knows no command line of ctk's."""

from __future__ import annotations

import os

from ctk.inject import options as words
from ctk.inject.compat import enable_compat
from ctk.inject.faults import InjectFault, Skipped, cause_of, printable
from ctk.inject.ldcache import update_ldcache
from ctk.inject.links import create_links
from ctk.inject.modes import set_modes
from ctk.inject.options import Options, parse_options
from ctk.inject.params import hide_device_modification
from ctk.inject.profile import update_profile
from ctk.inject.rootfs import Rootfs, open_rootfs
from ctk.inject.state import find_root, read_state

TYPE_CHECKING = False  # as in ctk.inject.options
if TYPE_CHECKING:
    from collections.abc import Callable

    from ctk.inject.options import Warn

    Run = Callable[[Rootfs, Options, Warn], None]

DONE, FAILED = 0, 1
"""NVIDIA's hooks know no other exit codes."""
STDERR = 2
BEFORE_HOOK = ("--debug", "-d", "--quiet")
APPLY = "apply"
NOTHING = "noop"


class Hook:
    """One hook: its name, its options, when `apply` runs it, and what it does."""

    __slots__ = ("is_wanted", "name", "options", "run")

    def __init__(self, name: str, options: tuple[str, ...], is_wanted: Callable[[Options], bool], run: Run) -> None:
        self.name = name
        self.options = options
        self.is_wanted = is_wanted
        self.run = run


HOOKS: tuple[Hook, ...] = (
    Hook("create-symlinks", (words.LINK,), lambda options: bool(options.links), create_links),
    Hook(
        "enable-cuda-compat",
        (words.DRIVER_VERSION, words.CUDA_VERSION, words.COMPAT_ROOT),
        lambda options: bool(options.host_driver_version or options.host_cuda_version),
        enable_compat,
    ),
    Hook("update-ldcache", (words.FOLDER, words.LDCONFIG), lambda options: bool(options.folders), update_ldcache),
    Hook(
        "disable-device-node-modification",
        (),
        lambda options: options.hide_device_modification,
        hide_device_modification,
    ),
    Hook("update-application-profile", (), lambda options: options.update_profile, update_profile),
    Hook("chmod", (words.MODE, words.PATH), lambda options: bool(options.paths), set_modes),
)
"""In the order in which `apply` runs them: the library cache is made after everything that it is made of."""
APPLY_OPTIONS = (*dict.fromkeys(name for hook in HOOKS for name in hook.options), words.NO_NODES, words.PROFILE)
HOOK_NAMES = (APPLY, *(hook.name for hook in HOOKS))


def run_hook(arguments: list[str]) -> int:
    """Run one hook for the container whose state is on stdin; returns the exit code and prints to stderr only."""
    name, rest, problem = split_arguments(arguments)
    if problem:  # a newer spec's hook on an older host must not keep containers from starting
        tell(f"warning: {problem}; nothing was done")
        return DONE
    if name == NOTHING:
        return DONE
    try:
        return _run_named(name, rest)
    except InjectFault as fault:
        tell(f"{name}: error: {fault}")
    except Exception as error:
        tell(f"{name}: error: a bug in ctk ({type(error).__name__}: {error})")
    return FAILED


def split_arguments(arguments: list[str]) -> tuple[str, list[str], str]:
    """(hook, its words, why there is none)."""
    rest = list(arguments)
    while rest and rest[0].partition("=")[0] in BEFORE_HOOK:
        rest.pop(0)
    if not rest:
        return "", [], "no hook was named"
    name = rest.pop(0)
    if name in (*HOOK_NAMES, NOTHING):
        return name, rest, ""
    kind = "option" if name.startswith("-") else "hook"
    return "", [], f"there is no {kind} {name!r} in this version of ctk"


def _run_named(name: str, rest: list[str]) -> int:
    def warn(text: str) -> None:
        tell(f"{name}: warning: {text}")

    hooks = HOOKS if name == APPLY else tuple(hook for hook in HOOKS if hook.name == name)
    known = APPLY_OPTIONS if name == APPLY else hooks[0].options
    options = parse_options(rest, known, warn)
    if options.wants_help:
        tell(f"{name}: options: {' '.join((*known, words.CONTAINER_SPEC))}; the container's state is read from stdin")
        return DONE
    if name == APPLY:
        hooks = tuple(hook for hook in hooks if hook.is_wanted(options))
    if not hooks:
        return DONE
    root = find_root(read_state(options.container_spec))
    os.chdir("/")  # until now a relative path was the caller's; from now on there is none
    with open_rootfs(root) as rootfs:
        return _run_all(hooks, rootfs, options, warn)


def _run_all(hooks: tuple[Hook, ...], rootfs: Rootfs, options: Options, warn: Warn) -> int:
    """One hook's failure hides no other's."""
    code = DONE
    for hook in hooks:
        try:
            hook.run(rootfs, options, warn)
        except Skipped as reason:
            warn(f"{hook.name}: {reason}. The container starts without it.")
        except InjectFault as fault:
            tell(f"{hook.name}: error: {fault}")
            code = FAILED
        except OSError as error:
            tell(f"{hook.name}: error: {cause_of(error)}")
            code = FAILED
    return code


def tell(text: str) -> None:
    """One line on stderr, which engines keep; a log that is gone stops no container."""
    try:
        os.write(STDERR, f"ctk hook: {printable(text, 2000)}\n".encode("utf-8", "backslashreplace"))
    except OSError:
        return
