"""Where `ctk cdi list` and `validate` find their specs: --spec-dir, its variable, a snapshot; it judges none."""

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from ctk.cli.paths import shown_path
from ctk.errors import ReadFault
from ctk.facts import Unknown
from ctk.facts.cdi import DEFAULT_FOLDERS, Cdi, CdiFile, SpecFault

if TYPE_CHECKING:
    from ctk.cli.app import App

VARIABLE = "NVIDIA_CTK_CDI_SPEC_DIRS"
SPEC_DIR = click.option(
    "--spec-dir",
    "spec_dirs",
    multiple=True,
    metavar="DIR",
    help=f"Look in DIR; repeatable, or joined by commas; the later ones win. [{','.join(DEFAULT_FOLDERS)}]",
)


class Specs(NamedTuple):
    """The folders that count, in order, as they were named, and what was found in them."""

    folders: tuple[str, ...]
    cdi: Cdi


def find_specs(app: "App", spec_dirs: Sequence[str], *, with_paths: bool = True) -> Specs:
    """Collected now, or taken from --snapshot. with_paths: also the state of what the specs name.

    Raises ReadFault for a folder that is there and may not be read: an empty list would be a wrong answer.
    """
    folders = _folders(app, spec_dirs)
    if app.snapshot_file is not None:
        cdi = _recorded(app, folders)
    else:
        from ctk.host.cdi import collect_host_paths, collect_specs

        host = app.host()
        cdi = collect_specs(host, dict.fromkeys(folders, ()))
        if with_paths:
            cdi = cdi._replace(host_paths=collect_host_paths(host, cdi.files))
    for folder in cdi.folders if isinstance(cdi.folders, tuple) else ():
        if isinstance(folder.real_path, Unknown) and folder.path in folders:
            reason = folder.real_path.reason
            shown = folder.path if app.snapshot_file is not None else shown_path(app.host(), folder.path)
            hint = "Run it as root." if reason == "permission denied" else "Name another folder with --spec-dir."
            raise ReadFault(f"cannot read {shown}: {reason}", hint=f"{hint} Nothing was changed.", path=shown)
    return Specs(folders, cdi)


def _folders(app: "App", spec_dirs: Sequence[str]) -> tuple[str, ...]:
    """An empty word is the working folder, as for nvidia-ctk."""
    given = spec_dirs or ([os.environ[VARIABLE]] if os.environ.get(VARIABLE) else DEFAULT_FOLDERS)
    base = os.getcwd() if app.root == "/" else "/"
    words = [word.strip() for text in given for word in text.split(",")]
    return tuple(dict.fromkeys(os.path.normpath(os.path.join(base, word)) for word in words))


def _recorded(app: "App", folders: Sequence[str]) -> Cdi:
    cdi = app.snapshot().cdi
    if isinstance(cdi, Unknown) or isinstance(cdi.folders, Unknown):
        unknown = cdi if isinstance(cdi, Unknown) else cdi.folders
        assert isinstance(unknown, Unknown)  # noqa: S101 - one of the two is; this tells mypy so
        raise ReadFault(f"cannot tell the specs of this snapshot: {unknown.reason}", path=app.snapshot_file)
    strange = [folder for folder in folders if folder not in {known.path for known in cdi.folders}]
    if strange:
        raise ReadFault(f"cannot look into {strange[0]}: the snapshot does not hold it", path=app.snapshot_file)
    return cdi


def file_namer(app: "App") -> Callable[[CdiFile], str]:
    """How this machine names a file of the host."""
    if app.snapshot_file is not None:
        return lambda file: file.path
    host = app.host()
    return lambda file: shown_path(host, file.path)


def fault_to_document(fault: SpecFault) -> dict[str, object]:
    """A fault as data."""
    return {
        "message": fault.message,
        "where": fault.where,
        "line": fault.line,
        "column": fault.column,
        "level": fault.level,
    }


def fault_line(shown: str, fault: SpecFault) -> str:
    """FILE:LINE:COLUMN: place: what is wrong."""
    place = shown if fault.line is None else f"{shown}:{fault.line}:{fault.column}"
    said = not fault.where or fault.message.startswith(f"{fault.where} ")
    return f"{place}: " + ("" if said else f"{fault.where}: ") + fault.message
