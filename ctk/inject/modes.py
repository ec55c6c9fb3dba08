"""Sets the mode of folders below a container's root; never of a link, nor of what belongs to the host's /dev."""

from __future__ import annotations

import os
import stat

from ctk.inject.faults import PERMISSION, cause_of, fault_of
from ctk.inject.options import Options, UsageFault
from ctk.inject.rootfs import Rootfs

TYPE_CHECKING = False  # as in ctk.inject.options
if TYPE_CHECKING:
    from ctk.inject.options import Warn


def set_modes(rootfs: Rootfs, options: Options, warn: Warn) -> None:
    """--mode for every --path. What is not there, and what must not be changed, is told and left alone."""
    if options.mode is None:
        raise UsageFault("--mode is missing")
    for path in options.paths:
        try:
            refusal = _set_mode(rootfs, path, options.mode)
        except OSError as error:
            if error.errno not in PERMISSION:
                raise fault_of(f"set the mode of {path}", error) from error
            refusal = cause_of(error)
        if refusal:
            warn(f"the mode of {path} is left as it is: {refusal}")


def _set_mode(rootfs: Rootfs, path: str, mode: int) -> str:
    """Why nothing was done, empty when it was."""
    try:
        found = rootfs.find(path, follow=False)
    except (FileNotFoundError, NotADirectoryError):
        return "it is not there"
    with found as descriptor:
        status = os.fstat(descriptor)
        if stat.S_ISLNK(status.st_mode):
            return "it is a link"
        if stat.S_IMODE(status.st_mode) == mode:
            return ""
        rootfs.refuse_foreign_place(descriptor, path, f"set the mode of {path}")
        if status.st_dev == os.stat("/dev").st_dev:
            return "it belongs to the host's /dev"
        os.chmod(f"/proc/self/fd/{descriptor}", mode)
    return ""
