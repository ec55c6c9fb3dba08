"""Releases of NVIDIA's container toolkit with a known fault, and what brings it out; a table, nothing else.

Source: NVIDIA's container toolkit, release notes and change log 1.16.2 to 1.20.0; its issues 1740 and 1828.
"""

from typing import NamedTuple

DATE = "2026-09-01"

JETSON, ARM, CONTAINERD_2, DOCKER_CDI, DEFAULT_RUNTIME, WSL, CRIO, MIG, IMAGE = (
    "a Jetson",
    "64-bit Arm",
    "containerd 2",
    "Docker and the mode cdi",
    "nvidia as an engine's default runtime",
    "WSL 2",
    "CRI-O",
    "MIG",
    "an image newer than the driver",
)
"""What must be so for the fault to show; the last one no fact of a host tells."""


class ToolkitProblem(NamedTuple):
    """One fault: in releases from `since` (included) up to `fixed` (not included)."""

    since: tuple[int, ...]
    fixed: tuple[int, ...]
    text: str
    precondition: str


TOOLKIT_PROBLEMS = (
    ToolkitProblem((0,), (1, 17, 1), "containers do not start on Jetson", JETSON),
    ToolkitProblem((0,), (1, 17, 4), "it does not understand containerd's version 3 configuration", CONTAINERD_2),
    ToolkitProblem((1, 17, 4), (1, 17, 5), "CUDA compatibility libraries are no longer mounted (error 222)", IMAGE),
    ToolkitProblem((0,), (1, 17, 5), "the mode cdi does not work with docker run --gpus", DOCKER_CDI),
    ToolkitProblem((0,), (1, 17, 7), "libraries are not found by the loader's cache on Arm", ARM),
    ToolkitProblem((1, 18, 0), (1, 18, 2), "NVIDIA_VISIBLE_DEVICES=none shows a container every GPU", DEFAULT_RUNTIME),
    ToolkitProblem((1, 18, 0), (1, 19, 1), "MIG's capability nodes are left out in the mode jit-cdi", MIG),
    ToolkitProblem((1, 18, 0), (1, 19, 1), "the unit that refreshes the CDI spec never runs under WSL 2", WSL),
    ToolkitProblem((0,), (1, 19, 1), "its drop-in file for CRI-O goes to a folder that CRI-O does not read", CRIO),
)
EXACT_SINCE = (1, 18)
"""From this release on the four packages need each other in the very same version."""
OCI_VERSIONS: dict[tuple[int, ...], tuple[int, int]] = {(1, 19): (1, 3), (1, 20): (1, 3)}
"""The OCI runtime specification that a release was built with (its go.mod); others are refused field by field."""
STRICT_SINCE = (1, 19)
"""From this release on a field of config.json that the toolkit does not know is an error."""
REFRESH_SINCE = (1, 18)
"""From this release on the packages bring the units that refresh the CDI spec."""
