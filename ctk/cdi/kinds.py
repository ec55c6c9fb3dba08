"""Whose a kind is, by its vendor; it looks at no file."""

GPU_KIND = "nvidia.com/gpu"


def is_nvidia_kind(kind: str) -> bool:
    """A kind of NVIDIA's, its operator's or its device plugin's."""
    vendor = kind.partition("/")[0]
    return vendor == "nvidia.com" or vendor.endswith(".nvidia.com")
