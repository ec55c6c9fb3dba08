"""The driver's libraries that each capability of a container stands for; a dated table, nothing else."""

DATE = "2026-09-01"
SOURCE = "NVIDIA/libnvidia-container 1.20, src/nvc_info.c"

CAPABILITY_LIBRARIES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("utility", ("libnvidia-ml.so", "libnvidia-cfg.so")),
    (
        "compute",
        (
            "libcuda.so",
            "libnvidia-opencl.so",
            "libnvidia-ptxjitcompiler.so",
            "libnvidia-allocator.so",
        ),
    ),
    ("video", ("libnvidia-encode.so", "libnvidia-opticalflow.so", "libnvcuvid.so")),
    (
        "graphics",
        (
            "libnvidia-eglcore.so",
            "libnvidia-glcore.so",
            "libnvidia-tls.so",
            "libnvidia-glsi.so",
            "libnvidia-rtcore.so",
            "libnvoptix.so",
            "libGLX_nvidia.so",
            "libEGL_nvidia.so",
            "libGLESv2_nvidia.so",
            "libnvidia-glvkspirv.so",
        ),
    ),
    ("ngx", ("libnvidia-ngx.so",)),
)
"""Only those that every branch in use has: the others came or went with a branch."""

NEEDED = frozenset(name for _, names in CAPABILITY_LIBRARIES for name in names) | {
    "libnvidia-fbc.so",
    "libGLESv1_CM_nvidia.so",
}
"""One of these in another version alone is missing; what a branch has given up is left over."""
