"""The modes of `cdi generate`: what each describes, the nodes and files it is made of, its kind; pure."""

from typing import NamedTuple

AUTO, NVML, CSV, WSL, MANAGEMENT = "auto", "nvml", "csv", "wsl", "management"
GDS, MOFED, IMEX, NVSWITCH, GDRCOPY = "gds", "mofed", "imex", "nvswitch", "gdrcopy"
MODES = (AUTO, CSV, GDRCOPY, GDS, IMEX, MANAGEMENT, MOFED, NVML, NVSWITCH, WSL)
VENDOR = "nvidia.com"
MANAGEMENT_VENDOR = "management.nvidia.com"
CLASSES = {GDS: "gds", MOFED: "mofed", IMEX: "imex-channel", NVSWITCH: "nvswitch", GDRCOPY: "gdrcopy"}
"""The classes that NVIDIA's library has for them. Under the class gpu, two files would both define its device `all`."""

IMEX_FOLDER = "/dev/nvidia-caps-imex-channels"
MOST_CHANNELS = 1 << 20
"""An IMEX channel's number is a device's minor, of which there are 2^20 (MINORBITS in the kernel's kdev_t.h)."""

NODE_PATTERNS: dict[str, tuple[str, ...]] = {
    NVML: ("/dev/nvidia*",),
    MANAGEMENT: ("/dev/nvidia*", "/dev/nvidia-caps/nvidia-cap*", f"{IMEX_FOLDER}/channel*"),
    WSL: ("/dev/dxg",),
    GDS: ("/dev/nvidia-fs*",),
    MOFED: ("/dev/infiniband/uverbs*", "/dev/infiniband/rdma_cm"),
    IMEX: (f"{IMEX_FOLDER}/channel*",),
    NVSWITCH: ("/dev/nvidia-nvswitch*",),
    GDRCOPY: ("/dev/gdrdrv",),
}
"""Below the dev root; the nodes of a Jetson are named by its mount specification."""
FILE_PATTERNS: dict[str, tuple[str, ...]] = {GDS: ("/run/udev", "/etc/cufile.json")}
MANAGEMENT_EXCLUDES = ("/dev/nvidia-fs", "/dev/nvidia-nvswitch", "/dev/nvidia-nvlink")


class ModeMarks(NamedTuple):
    """What `auto` goes by. nvgpu: NVML names a GPU that is part of a Jetson's processor."""

    is_wsl: bool
    is_tegra: bool
    has_nvml: bool
    nvgpu: bool


def choose_mode(marks: ModeMarks) -> str:
    """What `auto` means on such a host, as NVIDIA's toolkit has it."""
    if marks.is_wsl:
        return WSL
    if marks.nvgpu or (marks.is_tegra and not marks.has_nvml):
        return CSV
    return NVML


def kind_of(mode: str, vendor: str | None, class_name: str | None) -> str:
    """The kind of a mode's spec; vendor and class as the user wants them, None = the mode's own."""
    own = MANAGEMENT_VENDOR if mode == MANAGEMENT else VENDOR
    return f"{vendor or own}/{class_name or CLASSES.get(mode, 'gpu')}"
