"""Paths of a host below --root as this machine names them: in what is shown, and the state folder; reads nothing."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ctk.change.state import state_directory
from ctk.errors import CtkError, Refused, UsageFault
from ctk.host.paths import display_path
from ctk.result import ErrorInfo, error_info

if TYPE_CHECKING:
    from ctk.change.journal import Journal
    from ctk.cli.app import App
    from ctk.host import Host


def shown_path(host: "Host", path: str) -> str:
    """The path with --root in front, unless it is there already (paths of the journal are)."""
    return path if _is_shown(host, path) else display_path(host, path)


def shown_error(host: "Host", error: CtkError) -> ErrorInfo:
    """The error as data, its file as this machine names it; `--option=PATH` in a hint keeps that host's name."""
    info = error_info(error)
    if isinstance(error, Refused) and f"--force {error.force}" not in info.hint:
        info = info._replace(hint=_with_force(info.hint, error.force))
    if info.path is None or _is_shown(host, info.path):
        return info
    shown = display_path(host, info.path)
    message = info.message if shown in info.message else info.message.replace(info.path, shown)
    return info._replace(path=shown, message=message, hint=info.hint.replace(f" {info.path}", f" {shown}"))


@contextmanager
def naming_files(host: "Host") -> Iterator[None]:
    """Errors that leave here name their file as this machine does."""
    try:
        yield
    except CtkError as error:
        info = shown_error(host, error)
        error.message, error.hint, error.path = info.message, info.hint, info.path
        raise


def absolute_path(app: "App", path: str) -> str | None:
    """A file of the command line: relative to the working folder, with --root to that root; None for an empty one.

    Raises UsageFault for the name of a folder: a file would be made in its place.
    """
    if path.endswith("/"):
        raise UsageFault(f"{path!r} names a folder, not a file", hint="Nothing was changed.")
    base = os.getcwd() if app.root == "/" else "/"
    return os.path.normpath(os.path.join(base, path)) if path else None


def _with_force(hint: str, name: str) -> str:
    """Every refusal names the word that overrules it."""
    ending = "Nothing was changed."
    words = [hint.removesuffix(ending).strip(), f"--force {name} goes on all the same.", ending]
    return " ".join(word for word in words if word)


def _is_shown(host: "Host", path: str) -> bool:
    return host.is_live or not path.startswith("/") or path.startswith(host.root.rstrip("/") + "/")


def state_of(host: "Host") -> str:
    """The folder of ctk's journal and locks for this host and this caller."""
    return state_directory(host.root, os.environ, os.geteuid(), None if host.is_live else host.real_path)


def journal_of(host: "Host") -> "Journal":
    """The journal of this host and this caller."""
    from ctk.change.journal import Journal

    return Journal(state_of(host))
