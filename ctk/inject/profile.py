"""Writes the application profile that tells NVIDIA's EGL which of the GPUs the container may see."""

from __future__ import annotations

import os
import stat

from ctk.inject.faults import fault_of
from ctk.inject.options import Options
from ctk.inject.rootfs import Rootfs

TYPE_CHECKING = False  # as in ctk.inject.options
if TYPE_CHECKING:
    from ctk.inject.options import Warn

PROFILE_FOLDER = "/etc/nvidia/nvidia-application-profiles-rc.d"
PROFILE_FILE = f"{PROFILE_FOLDER}/10-container.conf"
FOLDER_MODE, FILE_MODE = 0o555, 0o444
MASK_BITS = 64


def update_profile(rootfs: Rootfs, _options: Options, warn: Warn) -> None:
    """One bit for each /dev/nvidia<N> of the container; without such a device there is nothing to write."""
    mask = 0
    for minor in find_minors(rootfs):
        if minor < MASK_BITS:
            mask |= 1 << minor
        else:
            warn(f"the GPU with minor number {minor} is left out of the application profile: it has room for 64")
    if not mask:
        return
    try:
        with rootfs.make_folder(PROFILE_FOLDER, FOLDER_MODE):
            rootfs.write(PROFILE_FILE, render_profile(mask), FILE_MODE)
    except OSError as error:
        raise fault_of(f"make {PROFILE_FOLDER}", error) from error


def find_minors(rootfs: Rootfs) -> list[int]:
    """The minor numbers of the container's GPUs."""
    minors = []
    try:
        names = rootfs.list_folder("/dev")
        with rootfs.find_folder("/dev") as folder:
            for name in names:
                number = name.removeprefix("nvidia")
                if number != name and number.isdecimal():
                    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
                    minors += [os.minor(status.st_rdev)] if stat.S_ISCHR(status.st_mode) else []
    except (FileNotFoundError, NotADirectoryError):
        return minors
    except OSError as error:
        raise fault_of("look for GPUs in /dev", error) from error
    return minors


def render_profile(mask: int) -> bytes:
    """NVIDIA's application profiles: the driver's README, chapter on application profiles."""
    profile = f'{{"name":"_container_","settings":["EGLVisibleDGPUDevices",0x{mask:x}]}}'
    return f'{{"profiles":[{profile}],"rules":[{{"pattern":[],"profile":"_container_"}}]}}\n'.encode()
