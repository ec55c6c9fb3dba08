"""Which program the hooks of a spec call: ctk's own script under this interpreter, or NVIDIA's program of the host."""

import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ctk.cdi.request import APPLY, SEPARATE, HookRequest

if TYPE_CHECKING:
    from ctk.host import Host

PROGRAMS = ("nvidia-cdi-hook", "nvidia-ctk")
FALLBACK_FOLDER = "/usr/bin"


def make_hooks(values: Mapping[str, object], host: "Host") -> tuple[HookRequest, tuple[str, ...]]:
    """The hooks' part of a request, and warnings. A program that is named means the separate form."""
    from ctk.cli.cdi_options import split_words

    program = str(values.get("hook_program") or "")
    form = str(values.get("hook_form") or (SEPARATE if program else APPLY))
    request = HookRequest(
        form=form,
        interpreter=os.path.realpath(sys.executable),
        script=own_script(),
        ldconfig_path=str(values.get("ldconfig_path") or "").removeprefix("@"),
        disabled=split_words(values, "disabled_hooks"),
        enabled=split_words(values, "enabled_hooks"),
    )
    if form == APPLY:
        paths = (request.interpreter, request.script)
        return request, (*_not_there(host, paths), *why_untrusted(host, paths))
    path, warnings = find_hook_program(host, (program,) if program else PROGRAMS)
    return request._replace(program=path), warnings


def _not_there(host: "Host", paths: tuple[str, ...]) -> tuple[str, ...]:
    """Below another root ctk may be installed elsewhere, or not at all."""
    missing = [path for path in paths if not host.is_live and not host.is_file(path)]
    if not missing:
        return ()
    words = " and ".join(missing)
    return (f"the spec's hook is this machine's {words}, which is not below --root: containers need it there",)


def why_untrusted(host: "Host", paths: tuple[str, ...], runner: str = "engines run the spec's hook") -> tuple[str, ...]:
    """Whoever may change these files becomes root at the next container's start, or when the refresh runs next."""
    from ctk.host.programs import why_not_trusted

    if not host.is_live:
        return ()
    reasons = {reason for path in paths if (reason := _why(why_not_trusted, host, path))}
    return tuple(f"{runner} as root, but {reason}: install ctk where only root can write" for reason in sorted(reasons))


def _why(judge: Callable[["Host", str], str], host: "Host", path: str) -> str:
    try:
        return judge(host, path)
    except OSError as error:
        return f"{path} cannot be looked at ({(error.strerror or str(error)).lower()})"


def own_script() -> str:
    """The script that ctk's hooks run, by its real path."""
    import ctk

    return os.path.join(os.path.dirname(os.path.realpath(ctk.__file__)), "inject", "hook_main.py")


def find_hook_program(host: "Host", programs: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """An absolute path as it is, the first of the names that is installed; without one the first is named all the same.

    An installation has one of the two, by its age; a spec that names the other one breaks every container.
    """
    from ctk.host.programs import find_program

    if programs[0].startswith("/"):
        return programs[0], ()
    for program in programs:
        found = find_program(host, (program,))
        if isinstance(found, str):
            return found, ()
    name = programs[0] if programs[0] in PROGRAMS else PROGRAMS[0]
    path = f"{FALLBACK_FOLDER}/{name}"
    return path, (f"{programs[0]} was not found on this host: the spec names {path}, and containers need it there",)
