"""Which files of a driver belong into a container, by name, as tables; it looks for none of them.

Names and folders are those of NVIDIA Container Toolkit 1.20 (internal/discover/graphics.go, pkg/nvcdi/driver-*.go,
pkg/lookup/library.go) unless a row says otherwise.
"""

from ctk.record import Record

MACHINES = {"x86_64": "x86_64-linux-gnu", "aarch64": "aarch64-linux-gnu", "ppc64le": "powerpc64le-linux-gnu"}
"""The words of uname -m that NVIDIA builds drivers for, and Debian's name for their folders."""

LIBRARY_FOLDERS = (
    "/",
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/usr/lib/aarch64-linux-gnu/nvidia/current",
    "/lib64",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/lib/x86_64-linux-gnu/nvidia/current",
    "/lib/aarch64-linux-gnu/nvidia/current",
    "/usr/lib64/nvidia",
    "/usr/lib",
    "/usr/lib/aarch64-linux-gnu/nvidia",
    "/usr/lib/aarch64-linux-gnu/tegra",
    "/run/opengl-driver/lib",
    "/usr/local/nvidia/lib64",
    "/home/kubernetes/bin/nvidia/lib64",
    "/usr/local/glibc/usr/lib",
)
"""NVIDIA's list as far as /lib/aarch64-linux-gnu/nvidia/current; then Fedora, SUSE, Jetson, NixOS, COS and Talos."""

DRIVER_LIBRARIES = ("libcuda.so", "libnvidia-ml.so")
"""The two that every driver has; with their version they tell where its libraries lie."""
CACHE_PREFIXES = ("libcuda", "libnvidia", "libnvcuvid", "libGL", "libEGL", "libOpen", "libdxcore")
"""Of which names of the loader's cache the paths are wanted."""
OTHER_LIBRARIES = (
    "libnvidia-egl-gbm.so.*.*",
    "libnvidia-egl-wayland.so.*.*",
    "libnvidia-egl-wayland2.so.*.*",
    "libnvidia-egl-xcb.so.*.*",
    "libnvidia-egl-xlib.so.*.*",
)
"""They come with the driver or by themselves, and have a version of their own: looked for everywhere."""
NEAR_LIBRARIES = ("libnvidia-nvvm70.so.*",)
"""Looked for beside the driver's libraries only."""
EXPLICIT_LIBRARIES = (
    "libEGL.so",
    "libGL.so",
    "libGLESv1_CM.so",
    "libGLESv2.so",
    "libGLX.so",
    "libGLdispatch.so",
    "libOpenCL.so",
    "libOpenGL.so",
    "libnvidia-api.so",
    "libnvidia-egl-xcb.so",
    "libnvidia-egl-xlib.so",
)
"""With the feature enable-explicit-driver-libraries: dispatchers that an image usually brings, beside the driver's."""

X_LIBRARIES = ("nvidia_drv.so", "libglxserver_nvidia.so.{version}")
X_FOLDERS = (
    "{folder}/nvidia/xorg",
    "{folder}/xorg/modules/drivers",
    "{folder}/xorg/modules/extensions",
    "{folder}/xorg/modules/updates/drivers",
    "{folder}/xorg/modules/updates/extensions",
    "/usr/lib/xorg/modules/drivers",
    "/usr/lib/xorg/modules/extensions",
    "/usr/lib/xorg/modules/updates/drivers",
    "/usr/lib/xorg/modules/updates/extensions",
    "/usr/lib64/xorg/modules/drivers",
    "/usr/lib64/xorg/modules/extensions",
    "/usr/lib64/xorg/modules/updates/drivers",
    "/usr/lib64/xorg/modules/updates/extensions",
    "/usr/X11R6/lib/modules/drivers",
    "/usr/X11R6/lib/modules/extensions",
    "/usr/X11R6/lib/modules/updates/drivers",
    "/usr/X11R6/lib/modules/updates/extensions",
    "/usr/X11R6/lib64/modules/drivers",
    "/usr/X11R6/lib64/modules/extensions",
    "/usr/X11R6/lib64/modules/updates/drivers",
    "/usr/X11R6/lib64/modules/updates/extensions",
)
"""folder: of the driver's libraries. The first that has the file."""

BINARIES = (
    "nvidia-smi",
    "nvidia-debugdump",
    "nvidia-persistenced",
    "nvidia-cuda-mps-control",
    "nvidia-cuda-mps-server",
    "nvidia-imex",
    "nvidia-imex-ctl",
)
X_BINARY = "nvidia-xconfig"
FIRMWARE = "gsp*.bin"


class ConfigFile(Record):
    """A file below a configuration folder, and the folder that it has in the container."""

    name: str
    target: str
    from_root: bool = False  # the driver root itself is searched too

    @property
    def container_path(self) -> str:
        """Where it is looked for in the container."""
        return f"{self.target}/{self.name}"


SHARE, ETC = "/usr/share", "/etc"
CONFIGS = (
    ConfigFile("glvnd/egl_vendor.d/10_nvidia.json", SHARE),
    ConfigFile("egl/egl_external_platform.d/15_nvidia_gbm.json", SHARE),
    ConfigFile("egl/egl_external_platform.d/10_nvidia_wayland.json", SHARE),
    ConfigFile("egl/egl_external_platform.d/09_nvidia_wayland2.json", SHARE),
    ConfigFile("egl/egl_external_platform.d/20_nvidia_xcb.json", SHARE),
    ConfigFile("egl/egl_external_platform.d/20_nvidia_xlib.json", SHARE),
    ConfigFile("nvidia/nvoptix.bin", SHARE),
    ConfigFile("X11/xorg.conf.d/10-nvidia.conf", SHARE),
    ConfigFile("X11/xorg.conf.d/nvidia-drm-outputclass.conf", SHARE),
    ConfigFile("OpenCL/vendors/nvidia.icd", ETC),
    ConfigFile("vulkan/icd.d/nvidia_icd.json", ETC, from_root=True),
    ConfigFile("vulkan/icd.d/nvidia_layers.json", ETC, from_root=True),
    ConfigFile("vulkan/implicit_layer.d/nvidia_layers.json", ETC, from_root=True),
    ConfigFile("vulkan/icd.d/nvidia_icd.{architecture}.json", ETC, from_root=True),
)

RUN_FOLDERS = ("/run", "/var/run")
SOCKETS = ("nvidia-persistenced/socket", "nvidia-fabricmanager/socket")
"""In the first of RUN_FOLDERS that has it."""
MPS_FOLDER = "/tmp/nvidia-mps"  # noqa: S108 - where NVIDIA's MPS daemon has its pipes unless it is told otherwise
MPS_VARIABLE = "CUDA_MPS_PIPE_DIRECTORY"

CONTROL_NODES = ("/dev/nvidia-modeset", "/dev/nvidia-uvm-tools", "/dev/nvidia-uvm", "/dev/nvidiactl")

WSL_FOLDER = "/usr/lib/wsl"
WSL_LIBRARY = "libdxcore.so"
WSL_MARK = "libcuda.so.1.1"
"""The store that has it is NVIDIA's; others belong to another maker's GPU."""
WSL_FILES = (
    "libcuda.so.1.1",
    "libcuda_loader.so",
    "libnvidia-ptxjitcompiler.so.1",
    "libnvidia-ml.so.1",
    "libnvidia-ml_loader.so",
    "libnvdxgdmal.so.1",
    "nvcubins.bin",
    "nvidia-smi",
)
"""NVIDIA Container Toolkit, pkg/nvcdi/driver-wsl.go."""
