"""Makes the links of a spec below a container's root, each in one step; it follows none that the image put there."""

from __future__ import annotations

import errno
import os
import stat

from ctk.inject.faults import InjectFault, fault_of
from ctk.inject.options import Options
from ctk.inject.rootfs import Rootfs, entry_status, split_path, temporary_name

TYPE_CHECKING = False  # as in ctk.inject.options
if TYPE_CHECKING:
    from ctk.inject.options import Warn


def create_links(rootfs: Rootfs, options: Options, warn: Warn) -> None:
    """Every link of --link; what cannot be made on a read-only root is told once and left out."""
    for target, link in options.links:
        try:
            make_link(rootfs, target, link, warn)
        except OSError as error:
            raise fault_of(f"make the link {link} -> {target}", error) from error


def make_link(rootfs: Rootfs, target: str, link: str, warn: Warn) -> None:
    """One link, its folders made as needed. A file or another link there is replaced, a folder is not."""
    parent, name = split_path(link)
    with rootfs.make_folder(parent) as folder:
        found = entry_status(folder, name)
        kind = stat.S_IFMT(found.st_mode) if found else 0
        if kind == stat.S_IFLNK and _points_to(folder, name, target):
            return
        if kind == stat.S_IFDIR:
            raise InjectFault(f"cannot make the link {link} -> {target}: a folder is in its place")
        rootfs.refuse_foreign_place(folder, parent, f"make the link {link}")
        if not _replace(folder, name, target):
            warn(f"the link {link} -> {target} is left out: a file is mounted in its place")
        elif found and kind == stat.S_IFREG and found.st_size:
            warn(
                f"the image carries a driver library of its own, {link} ({found.st_size} bytes); "
                f"it was replaced by a link to {target}. Build the image without it."
            )


def _points_to(folder: int, name: str, target: str) -> bool:
    try:
        return os.readlink(name, dir_fd=folder) == target
    except OSError:  # another process has just put something else there
        return False


def _replace(folder: int, name: str, target: str) -> bool:
    """False: something is mounted there, and what is mounted stays."""
    temporary = temporary_name()
    os.symlink(target, temporary, dir_fd=folder)
    try:
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError as error:
        os.unlink(temporary, dir_fd=folder)
        if error.errno == errno.EBUSY:
            return False
        raise
    return True
