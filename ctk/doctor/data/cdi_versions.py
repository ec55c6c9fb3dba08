"""The first release of each engine that reads a version of the CDI specification; literal values only.

Source: NVIDIA's Container Toolkit documentation, support for the Container Device Interface (0.7.0 needs containerd
1.7.16, Docker 26.1.0, Podman 5.1.0, CRI-O 1.30.0). Later versions need at least that; their own floors are not told.
"""

DATE = "2026-09-01"
FLOOR_OF_0_7_0 = {
    "containerd": (1, 7, 16),
    "docker": (26, 1, 0),
    "podman": (5, 1, 0),
    "crio": (1, 30, 0),
}
