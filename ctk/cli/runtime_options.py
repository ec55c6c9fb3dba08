"""The options that `ctk runtime configure` and `unconfigure` share, and the request they make; reads nothing."""

from collections.abc import Callable
from typing import TypeVar

import click

from ctk.runtime.request import DEFAULT_HOOK_PATH, DEFAULT_RUNTIME_NAME, DEFAULT_RUNTIME_PATH, FORCE_NAMES

Function = TypeVar("Function", bound=Callable[..., object])
ENGINE_SPECIFIC = "RUNTIME_SPECIFIC_DEFAULT"

_OPTIONS: tuple[Callable[[Function], Function], ...] = (
    click.option(
        "--runtime", "engine", metavar="ENGINE", help="docker, containerd, crio, or auto: every engine in use."
    ),
    click.option("--installation", metavar="NAME", help="Which installation: system, k3s, rke2, microk8s, k0s, snap …"),
    click.option("--config", metavar="FILE", help="The engine's main configuration file."),
    click.option(
        "--drop-in-config",
        "drop_in",
        metavar="FILE",
        help="The drop-in to write; empty: write the main file.",
    ),
    click.option(
        "--config-source",
        default="file",
        show_default=True,
        metavar="SOURCE",
        help="file, or command: ask the engine for its default runtime.",
    ),
    click.option("--executable-path", "executable", default="", metavar="FILE", help="The engine's program to ask."),
    click.option("--config-mode", default="", metavar="MODE", help="oci-hook writes a hook file instead (deprecated)."),
    click.option("--oci-hook-path", "hook_file", default="", metavar="FILE", help="The hook file; empty: stdout."),
    click.option(
        "--nvidia-runtime-name",
        "name",
        default=DEFAULT_RUNTIME_NAME,
        show_default=True,
        metavar="NAME",
        help="The name of the runtime entry.",
    ),
    click.option(
        "--nvidia-runtime-path",
        "--runtime-path",
        "path",
        default=DEFAULT_RUNTIME_PATH,
        show_default=True,
        metavar="FILE",
        help="The runtime's program.",
    ),
    click.option(
        "--nvidia-runtime-hook-path",
        "hook_path",
        default=DEFAULT_HOOK_PATH,
        show_default=True,
        metavar="FILE",
        help="The hook's program (hook mode).",
    ),
    click.option(
        "--nvidia-set-as-default",
        "--set-as-default",
        "set_as_default",
        is_flag=True,
        help="Make it the default runtime.",
    ),
    click.option(
        "--cdi.enabled", "--cdi.enable", "--enable-cdi", "enable_cdi", is_flag=True, help="Switch CDI on in the engine."
    ),
    click.option("--dry-run", is_flag=True, help="Show the diff; write nothing."),
    click.option("--print", "print_file", is_flag=True, help="Show the whole resulting files; write nothing."),
    click.option("--check", is_flag=True, help="Write nothing; exit 1 if a change is pending."),
    click.option("--restart/--no-restart", default=False, help="Restart or reload the engine, and wait for it. [no]"),
    click.option("--no-verify", is_flag=True, help="Do not ask the engine what it makes of the result."),
    click.option("--no-journal", is_flag=True, help="Keep no record; rollback and a full undo are then impossible."),
    click.option(
        "--force", multiple=True, metavar="NAME", help=f"Go on in spite of a refusal: {', '.join(FORCE_NAMES)}."
    ),
    click.option("--verbose", "-v", is_flag=True, help="Say more."),
)


def runtime_options(function: Function) -> Function:
    """All of them, in order."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function
