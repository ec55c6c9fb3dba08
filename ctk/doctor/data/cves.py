"""Known weaknesses of the toolkit, engines and driver, with the releases that mend them; a table, nothing else.

Sources: NVIDIA's security bulletins 5551, 5582, 5585, 5599, 5616, 5630, 5659, 5747, 5821 and 5850 (CSAF); runc's change
log; Flatcar's advisory 1943 and moby's pull request 53589 for containerd; ClusterMAX's table of minimum versions for
Docker. Figures that no source confirmed are left out.
"""

from typing import NamedTuple

DATE = "2026-09-01"

ALWAYS, NOT_CDI, LDCONFIG, COMPAT_HOOK = "", "not-cdi", "ldconfig-from-container", "compat-hook"
"""What must be so for a weakness to count: any set-up; every mode but cdi; the container's own ldconfig is run; the
hook for CUDA's compatibility libraries is in use."""
GRAVE = 7.0
"""From this CVSS score on a weakness is high or critical (CVSS, qualitative severity rating)."""


class Cve(NamedTuple):
    """One weakness. fixed: the first release of each branch without it; score None: the source gives none."""

    name: str
    fixed: tuple[str, ...]
    score: float | None = None
    precondition: str = ALWAYS
    source: str = ""


# The GPU Operator's own notes name 1.17.3 for the three of bulletin 5599; the bulletin's number is used.
TOOLKIT_CVES = (
    Cve("CVE-2024-0132", ("1.16.2",), 9.0, NOT_CDI, "NVIDIA security bulletin 5582"),
    Cve("CVE-2024-0133", ("1.16.2",), 4.1, NOT_CDI, "NVIDIA security bulletin 5582"),
    Cve("CVE-2024-0134", ("1.17.0",), 4.1, ALWAYS, "NVIDIA security bulletin 5585"),
    Cve("CVE-2024-0135", ("1.17.1",), 7.6, ALWAYS, "NVIDIA security bulletin 5599"),
    Cve("CVE-2024-0136", ("1.17.1",), 7.6, LDCONFIG, "NVIDIA security bulletin 5599"),
    Cve("CVE-2024-0137", ("1.17.1",), 5.5, LDCONFIG, "NVIDIA security bulletin 5599"),
    Cve("CVE-2025-23359", ("1.17.4",), 8.3, NOT_CDI, "NVIDIA security bulletin 5616"),
    Cve("CVE-2025-23266", ("1.17.8",), 9.0, COMPAT_HOOK, "NVIDIA security bulletin 5659"),
    Cve("CVE-2025-23267", ("1.17.8",), 8.5, ALWAYS, "NVIDIA security bulletin 5659"),
    Cve("CVE-2026-24260", ("1.19.1",), 8.5, ALWAYS, "NVIDIA security bulletin 5850"),
)
COMPAT_HOOK_SINCE = (1, 17, 5)
"""Before this release the hook was used in the mode cdi alone (bulletin 5659)."""
REFUSED_SINCE = (1, 17, 3)
"""From this release on an ldconfig without an @ is refused, unless a switch allows it (release notes)."""

RUNC_CVES = (
    Cve("CVE-2024-21626", ("1.1.12",), 8.6, ALWAYS, "runc's change log"),
    Cve("CVE-2024-45310", ("1.1.14", "1.2.0-rc.3"), None, ALWAYS, "runc's change log"),
    Cve("CVE-2025-31133", ("1.2.8", "1.3.3", "1.4.0-rc.3"), None, ALWAYS, "runc's change log"),
    Cve("CVE-2025-52565", ("1.2.8", "1.3.3", "1.4.0-rc.3"), None, ALWAYS, "runc's change log"),
    Cve("CVE-2025-52881", ("1.2.8", "1.3.3", "1.4.0-rc.3"), None, ALWAYS, "runc's change log"),
    Cve("CVE-2026-41579", ("1.3.6", "1.4.3", "1.5.0-rc.3"), None, ALWAYS, "runc's change log"),
)
DOCKER_CVES = (Cve("CVE-2026-17106", ("29.7.0",), None, ALWAYS, "ClusterMAX, minimum versions"),)
CONTAINERD_CVES = (
    Cve("CVE-2024-25621", ("1.7.29", "2.0.7", "2.1.5", "2.2.0"), 7.3, ALWAYS, "Flatcar advisory 1943"),
    Cve("CVE-2025-64329", ("1.7.29", "2.0.7", "2.1.5", "2.2.0"), 6.9, ALWAYS, "Flatcar advisory 1943"),
)
CONTAINERD_BRANCH_CVES = {(2, 3): Cve("CVE-2026-53495", ("2.3.5",), None, ALWAYS, "moby pull request 53589")}
"""Known for one branch only; of the others no source tells."""

MAKERS_PACKAGES = frozenset({"docker-ce", "containerd.io"})
"""Docker's own packages: their version is the program's, and nothing is mended behind it."""
PACKAGES = {
    "docker": ("docker-ce", "docker.io", "moby-engine", "docker"),
    "containerd": ("containerd.io", "containerd", "moby-containerd"),
    "runc": ("runc", "moby-runc"),
}

DRIVER_FLOORS = {
    450: "450.248.02",
    470: "470.256.02",
    515: "515.105.01",
    525: "525.147.05",
    535: "535.309.01",
    550: "550.163.01",
    570: "570.211.01",
    575: "575.51.02",
    580: "580.159.03",
    590: "590.48.01",
    595: "595.71.05",
}
"""The last release of each branch that a bulletin of the Linux display driver names as mended."""
MANAGER_FLOORS = {535: "535.309.01", 570: "570.211.01", 580: "580.159.01", 595: "595.71.03"}
"""The same for the virtual GPU manager of a host with vGPU (bulletins 5747 and 5821)."""
SERVED_BRANCHES = frozenset({535, 580, 595})
"""The branches that the newest bulletin (5821, 2026-05-21) mends; others stay as they are."""
DRIVER_SOURCE = "NVIDIA security bulletins 5551, 5630, 5747 and 5821"
