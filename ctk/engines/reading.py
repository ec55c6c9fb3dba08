"""What the doctor reads in an engine's files beyond one runtime: the words shared by the engines; opens no file."""

from ctk.errors import CtkError
from ctk.facts import Unknown
from ctk.facts.engines import EngineFiles, FileFault, UnreadRuntime
from ctk.record import Record

PROGRAMS = ("nvidia-container-runtime", "ctk-container-runtime")
"""How NVIDIA's runtime and ctk's own are called, whatever follows (.cdi, .legacy, .real)."""


class FilesReading(Record):
    """What the files say together, and what is wrong in them although they can be read."""

    files: EngineFiles
    unread: tuple[UnreadRuntime, ...] = ()
    faults: tuple[FileFault, ...] = ()


def is_nvidia_runtime(name: str, path: str | None) -> bool:
    """A runtime of NVIDIA's, by its own name or its program's."""
    program = (path or "").rpartition("/")[2]
    return name.startswith("nvidia") or program.startswith(PROGRAMS)


def fault_of(error: CtkError, path: str) -> FileFault:
    """The fault that an exception tells of, without the words for somebody who was about to change the file."""
    cause = error.message.partition(": ")[2] or error.message
    place = f"line {error.line}, column {error.column}: "
    return FileFault(error.path or path, cause.removeprefix(place), error.line, error.column)


def version_numbers(version: str | None | Unknown) -> tuple[int, int] | None:
    """Major and minor number of an engine's version."""
    numbers = version.split(".") if isinstance(version, str) else []
    is_number = len(numbers) > 1 and all(part.isascii() and part.isdigit() for part in numbers[:2])
    return (int(numbers[0]), int(numbers[1])) if is_number else None
