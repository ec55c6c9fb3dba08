"""Which driver capability needs which libraries, programs, nodes and sockets: the one table of it; pure.

The first rows of each group are those of libnvidia-container (src/nvc_info.c, 1.19); what stands behind OWN is ctk's,
because the older tool knows nothing of those files. Names are prefixes of file names.
"""

from collections.abc import Collection

COMPUTE, UTILITY, VIDEO, GRAPHICS = "compute", "utility", "video", "graphics"
DISPLAY, NGX, COMPAT32 = "display", "ngx", "compat32"
CAPABILITIES = (COMPAT32, COMPUTE, DISPLAY, GRAPHICS, NGX, UTILITY, VIDEO)
ALL_WORD = "all"

LIBRARY_GROUPS: dict[str, tuple[str, ...]] = {
    UTILITY: ("libnvidia-ml.so", "libnvidia-cfg.so", "libnvidia-nscq.so"),
    COMPUTE: (
        "libcuda.so",
        "libcudadebugger.so",
        "libnvidia-opencl.so",
        "libnvidia-gpucomp.so",
        "libnvidia-ptxjitcompiler.so",
        "libnvidia-fatbinaryloader.so",
        "libnvidia-allocator.so",
        "libnvidia-compiler.so",
        "libnvidia-pkcs11.so",
        "libnvidia-pkcs11-openssl3.so",
        "libnvidia-nvvm.so",
        "libnvidia-tileiras.so",
    ),
    VIDEO: ("libvdpau_nvidia.so", "libnvidia-encode.so", "libnvidia-opticalflow.so", "libnvcuvid.so"),
    GRAPHICS: (
        "libnvidia-eglcore.so",
        "libnvidia-glcore.so",
        "libnvidia-tls.so",
        "libnvidia-glsi.so",
        "libnvidia-fbc.so",
        "libnvidia-ifr.so",
        "libnvidia-rtcore.so",
        "libnvoptix.so",
        "libGLX_nvidia.so",
        "libEGL_nvidia.so",
        "libGLESv2_nvidia.so",
        "libGLESv1_CM_nvidia.so",
        "libnvidia-glvkspirv.so",
        "libnvidia-cbl.so",
    ),
    NGX: ("libnvidia-ngx.so",),
}
OWN_LIBRARY_GROUPS: dict[str, tuple[str, ...]] = {
    UTILITY: ("libnvidia-sandboxutils.so",),
    COMPUTE: ("libnvidia-nvvm70.so", "libOpenCL.so"),
    GRAPHICS: (
        "libnvidia-egl-",
        "libnvidia-vulkan-producer.so",
        "libnvidia-vksc-core.so",
        "libnvidia-wayland-client.so",
        "libnvidia-api.so",
        "libnvidia-present.so",
        "libglxserver_nvidia.so",
        "nvidia_drv.so",
        "libEGL.so",
        "libGL.so",
        "libGLESv1_CM.so",
        "libGLESv2.so",
        "libGLX.so",
        "libGLdispatch.so",
        "libOpenGL.so",
    ),
}
GROUPS_OF: dict[str, tuple[str, ...]] = {
    UTILITY: (UTILITY,),
    COMPUTE: (COMPUTE,),
    VIDEO: (VIDEO, COMPUTE),
    GRAPHICS: (GRAPHICS,),
    DISPLAY: (GRAPHICS,),
    NGX: (NGX,),
    COMPAT32: (),
}
"""The groups of libraries that a capability brings; compat32 means the 32-bit files of the others."""

BINARIES: dict[str, tuple[str, ...]] = {
    UTILITY: (
        "nvidia-smi",
        "nvidia-debugdump",
        "nvidia-persistenced",
        "nv-fabricmanager",
        "nvidia-imex",
        "nvidia-imex-ctl",
    ),
    COMPUTE: ("nvidia-cuda-mps-control", "nvidia-cuda-mps-server"),
    DISPLAY: ("nvidia-xconfig",),
}
NODES: dict[str, tuple[str, ...]] = {
    COMPUTE: ("/dev/nvidia-uvm",),
    VIDEO: ("/dev/nvidia-uvm",),
    DISPLAY: ("/dev/nvidia-modeset", "/dev/dri/"),
    GRAPHICS: ("/dev/dri/",),
}
"""By the beginning of the path. /dev/nvidiactl, a GPU's own node and capability nodes need no capability."""
ALWAYS_NODES = ("/dev/nvidiactl", "/dev/nvidia-caps/")
FILES: dict[str, tuple[str, ...]] = {
    UTILITY: ("nvidia-persistenced/socket", "nvidia-fabricmanager/socket"),
    COMPUTE: ("OpenCL/", "/nvidia-mps"),
    VIDEO: ("/nvidia-mps",),
    GRAPHICS: ("glvnd/", "egl/", "vulkan/", "nvidia/nvoptix.bin"),
    DISPLAY: ("glvnd/", "egl/", "vulkan/", "nvidia/nvoptix.bin", "X11/"),
}
"""Sockets and configuration files, by a part of their path."""
PROFILE_CAPABILITIES = (GRAPHICS, DISPLAY)
"""These need the application profile that hides other GPUs from EGL."""
COMPAT_CAPABILITIES = (COMPUTE, VIDEO)
"""These may use an image's own newer libcuda."""


def parse_capabilities(words: Collection[str]) -> tuple[frozenset[str] | None, tuple[str, ...]]:
    """The capabilities that the words name (None = all of them), and the words that name none."""
    unknown = tuple(word for word in words if word not in (*CAPABILITIES, ALL_WORD))
    if not words or ALL_WORD in words:
        return None, unknown
    return frozenset(words) & frozenset(CAPABILITIES), unknown


def wants_library(name: str, wanted: frozenset[str] | None) -> bool:
    """Whether a library, by its file name, belongs to one of the capabilities; None = all are wanted."""
    if wanted is None:
        return True
    groups = {group for capability in wanted for group in GROUPS_OF[capability]}
    return any(
        name.startswith(table.get(group, ())) for group in groups for table in (LIBRARY_GROUPS, OWN_LIBRARY_GROUPS)
    )


def wants_binary(name: str, wanted: frozenset[str] | None) -> bool:
    """Whether a program belongs to one of the capabilities."""
    return wanted is None or any(name in BINARIES.get(capability, ()) for capability in wanted)


def wants_node(path: str, wanted: frozenset[str] | None) -> bool:
    """Whether a node belongs to one of the capabilities; a GPU's own node always does."""
    if wanted is None or path.startswith(ALWAYS_NODES) or path.removeprefix("/dev/nvidia").isdigit():
        return True
    return any(path.startswith(NODES.get(capability, ())) for capability in wanted)


def wants_file(path: str, wanted: frozenset[str] | None) -> bool:
    """Whether a socket or configuration file belongs to one of the capabilities."""
    if wanted is None:
        return True
    return any(part in path for capability in wanted for part in FILES.get(capability, ()))


def wants_any(capabilities: Collection[str], wanted: frozenset[str] | None) -> bool:
    """Whether one of these capabilities is wanted."""
    return wanted is None or not wanted.isdisjoint(capabilities)
