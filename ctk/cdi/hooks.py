"""The hooks of a generated spec: one call of ctk's own for all work, or one of NVIDIA's for each task; pure."""

from collections.abc import Iterable, Iterator

from ctk.cdi.request import (
    APPLY,
    CHMOD,
    CREATE_SYMLINKS,
    CUDA_COMPAT,
    DISABLE_NODES,
    PROFILE,
    UPDATE_LDCACHE,
    HookRequest,
)
from ctk.facts.cdi_spec import SpecHook
from ctk.record import Record

STAGE = "createContainer"
ENVIRONMENT = ("NVIDIA_CTK_DEBUG=false",)
ISOLATED = ("-I", "-S")
"""How ctk starts its hook's interpreter: without the caller's environment, without site-packages."""
FOLDER_MODE = "755"


class HookWork(Record):
    """What hooks have to do for one scope. link_groups: links "target::link"; the groups only part NVIDIA's hooks.

    compat: the options that tell enable-cuda-compat which driver there is, ("--host-driver-version", "580.95.05").
    folders: where libraries are mounted. chmod_folders: folders whose mode chmod would set.
    """

    link_groups: tuple[tuple[str, ...], ...] = ()
    compat: tuple[tuple[str, str], ...] = ()
    folders: tuple[str, ...] = ()
    disable_nodes: bool = False
    profile: bool = False
    chmod_folders: tuple[str, ...] = ()


def unite(works: Iterable[HookWork]) -> HookWork:
    """The links and folders of all of these devices, for one hook instead of one for each."""
    rows = tuple(works)
    groups = dict.fromkeys(group for work in rows for group in work.link_groups if group)
    folders = sorted({folder for work in rows for folder in work.chmod_folders})
    return HookWork(link_groups=tuple(groups), chmod_folders=tuple(folders))


def build_hooks(work: HookWork, request: HookRequest) -> tuple[SpecHook, ...]:
    """The hooks for that work, none where all of it is disabled."""
    steps = tuple(_steps(work, request))
    if not steps:
        return ()
    if request.form == APPLY:
        words = tuple(word for step in steps for word in _as_apply(step))
        head = (request.interpreter, *ISOLATED, request.script, "apply")
        return (SpecHook(STAGE, request.interpreter, (*head, *words), ENVIRONMENT),)
    return tuple(SpecHook(STAGE, request.program, (*_program(request), *step), ENVIRONMENT) for step in steps)


def _program(request: HookRequest) -> tuple[str, ...]:
    """argv[0], and the word that nvidia-ctk needs before a hook's name."""
    name = request.program.rpartition("/")[2]
    return (name, "hook") if name == "nvidia-ctk" else (name,)


def _steps(work: HookWork, request: HookRequest) -> Iterator[tuple[str, ...]]:
    """One after the other the hooks' names and arguments, as NVIDIA's program takes them."""
    if request.is_enabled(CREATE_SYMLINKS):
        yield from ((CREATE_SYMLINKS, *_repeated("--link", group)) for group in work.link_groups if group)
    if work.compat and request.is_enabled(CUDA_COMPAT):
        yield (CUDA_COMPAT, *(f"{name}={value}" for name, value in work.compat))
    if work.folders and request.is_enabled(UPDATE_LDCACHE):
        ldconfig = ("--ldconfig-path", request.ldconfig_path) if request.ldconfig_path else ()
        yield (UPDATE_LDCACHE, *ldconfig, *_repeated("--folder", work.folders))
    if work.disable_nodes and request.is_enabled(DISABLE_NODES):
        yield (DISABLE_NODES,)
    if work.profile and request.is_enabled(PROFILE):
        yield (PROFILE,)
    if work.chmod_folders and request.is_enabled(CHMOD):
        yield (CHMOD, "--mode", FOLDER_MODE, *_repeated("--path", work.chmod_folders))


def _repeated(option: str, values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for value in values for word in (option, value))


def _as_apply(step: tuple[str, ...]) -> Iterator[str]:
    """A step in the words of `apply`: those without arguments become a flag, option=value two words."""
    name, *words = step
    if name in (DISABLE_NODES, PROFILE):
        yield f"--{name}"
        return
    for word in words:
        option, equals, value = word.partition("=")
        yield from (option, value) if equals and option.startswith("--") else (word,)
