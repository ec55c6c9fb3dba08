"""Decides whether the CUDA compatibility libraries of an image are to be used in front of the host's driver.

Their folder only becomes a search path of the container's own loader: nothing of the image is mounted or run.
"""

from __future__ import annotations

import os
import stat

from ctk.inject.document import parse_document
from ctk.inject.elf_note import read_notes
from ctk.inject.faults import fault_of, printable
from ctk.inject.options import Options
from ctk.inject.rootfs import READ_FLAGS, Rootfs, reopen

TYPE_CHECKING = False  # typing itself, and collections.abc, take longer to load than these modules
if TYPE_CHECKING:
    from collections.abc import Callable

    from ctk.inject.options import Warn

COMPAT_FILE = "/etc/ld.so.conf.d/00-compat-ctk.conf"
LIBRARY = "libcuda.so."
NOTE_SECTION = b".note.cuda.fwd_compatibility"
NOTE_OWNER = b"NVIDIA Corporation"
Version = tuple[int, ...]


class CompatNote:
    """What libcuda.so says about the drivers that it runs on."""

    __slots__ = ("cuda_version", "drivers")

    def __init__(self, cuda_version: Version | None, drivers: frozenset[int]) -> None:
        self.cuda_version = cuda_version
        self.drivers = drivers


def enable_compat(rootfs: Rootfs, options: Options, warn: Warn) -> None:
    """Write the search path, or take away the one that an earlier start with another driver has left."""
    folder = find_wanted_folder(rootfs, options, warn)
    if folder is None:
        rootfs.remove(COMPAT_FILE)
    else:
        rootfs.write(COMPAT_FILE, f"{folder}\n".encode())


def find_wanted_folder(rootfs: Rootfs, options: Options, warn: Warn) -> str | None:
    """Where the libraries to be used lie, None when there are none or the driver does not want them."""
    if not options.host_driver_version and not options.host_cuda_version:
        return None
    try:
        with rootfs.find_folder(options.compat_root) as folder:
            name = _only_library(folder)
            if name is None:
                return None
            version = parse_version(name.removeprefix(LIBRARY))
            note = _read_note(folder, name, warn)
            if not is_wanted(version, note, options):
                return None
            return _search_path(rootfs.location(folder), warn)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise fault_of(f"look into {options.compat_root}", error) from error


def is_wanted(version: Version | None, note: CompatNote | None, options: Options) -> bool:
    """The rules of NVIDIA's toolkit, compared by number."""
    driver = parse_version(options.host_driver_version)
    if note is not None and driver and version:
        return driver[0] in note.drivers and version > driver
    cuda = parse_version(options.host_cuda_version)
    if note is not None:
        wants_cuda = not options.host_driver_version and cuda is not None and note.cuda_version is not None
        return wants_cuda and (note.cuda_version or ()) > (cuda or ())
    return not options.host_cuda_version and bool(driver and version) and (version or ())[0] > (driver or ())[0]


def parse_version(text: str) -> Version | None:
    """Numbers between dots."""
    parts = text.strip().split(".")
    if not all(part.isascii() and part.isdecimal() and len(part) < 10 for part in parts):
        return None
    return tuple(int(part) for part in parts)


def _only_library(folder: int) -> str | None:
    """The one regular file libcuda.so.<number>.<number>…; with none or several there is nothing to decide on."""
    with reopen(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) as readable:
        names = [name for name in os.listdir(readable) if name.startswith(LIBRARY) and "." in name[len(LIBRARY) :]]
    found = [name for name in names if stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)]
    return found[0] if len(found) == 1 else None


def _read_note(folder: int, name: str, warn: Warn) -> CompatNote | None:
    path_only = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        if not stat.S_ISREG(os.fstat(path_only).st_mode):
            return None
        with reopen(path_only, READ_FLAGS) as library:
            return parse_note(lambda offset, count: os.pread(library, count, offset))
    except ValueError as error:
        warn(f"{name} in the image is taken as one without a note on drivers: {printable(str(error))}")
        return None
    finally:
        os.close(path_only)


def parse_note(read: Callable[[int, int], bytes]) -> CompatNote | None:
    """The note in a libcuda.so, None when there is none. ValueError: the file or the note is damaged."""
    for owner, content in read_notes(read, NOTE_SECTION):
        if owner == NOTE_OWNER:
            return _parse_note_text(content)
    return None


def _parse_note_text(content: bytes) -> CompatNote:
    document = parse_document(content.rstrip(b"\0"))
    if not isinstance(document, dict):
        raise ValueError("its note is no JSON object")  # noqa: TRY004 - the caller knows one error for a damaged file
    values = {key.lower(): value for key, value in document.items()}
    drivers = values.get("driver")
    if not isinstance(drivers, list):
        raise ValueError("its note names no drivers")  # noqa: TRY004 - the caller knows one error, as above
    majors = [parse_version(str(major)) for major in drivers]
    return CompatNote(parse_version(str(values.get("cuda version", ""))), frozenset(m[0] for m in majors if m))


def _search_path(folder: str, warn: Warn) -> str | None:
    """A folder's name that is one word of ld.so.conf."""
    if any(not character.isprintable() or character in " ,:#\t" for character in folder):
        warn(f"the CUDA compatibility libraries are not used: {printable(folder)} cannot be a search path")
        return None
    return folder
