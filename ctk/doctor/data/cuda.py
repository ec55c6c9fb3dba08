"""Which driver each CUDA release needs; dated tables, nothing else.

Sources: CUDA Toolkit release notes, table "CUDA Toolkit and Corresponding Driver Versions" (editions 13.1 to 13.3 for
the newest rows), and the CUDA Compatibility guide for the floors of minor-version compatibility.
"""

DATE = "2026-09-01"
SOURCE = "CUDA Toolkit release notes, driver versions for Linux"

RELEASES: tuple[tuple[str, str], ...] = (
    ("13.3", "610.43.02"),
    ("13.2.1", "595.58.03"),
    ("13.2", "595.45.04"),
    ("13.1.1", "590.48.01"),
    ("13.1", "590.44.01"),
    ("13.0.2", "580.95.05"),
    ("13.0.1", "580.82.07"),
    ("13.0", "580.65.06"),
    ("12.9.1", "575.57.08"),
    ("12.9", "575.51.03"),
    ("12.8.1", "570.124.06"),
    ("12.8", "570.26"),
    ("12.6.3", "560.35.05"),
    ("12.6.1", "560.35.03"),
    ("12.6", "560.28.03"),
    ("12.5.1", "555.42.06"),
    ("12.5", "555.42.02"),
    ("12.4.1", "550.54.15"),
    ("12.4", "550.54.14"),
    ("12.3.1", "545.23.08"),
    ("12.3", "545.23.06"),
    ("12.2.2", "535.104.05"),
    ("12.2.1", "535.86.09"),
    ("12.2", "535.54.03"),
    ("12.1", "530.30.02"),
    ("12.0.1", "525.85.12"),
    ("12.0", "525.60.13"),
    ("11.8", "520.61.05"),
    ("11.7.1", "515.48.07"),
    ("11.7", "515.43.04"),
    ("11.6.1", "510.47.03"),
    ("11.6", "510.39.01"),
    ("11.5", "495.29.05"),
    ("11.4.3", "470.82.01"),
    ("11.4.1", "470.57.02"),
    ("11.4", "470.42.01"),
    ("11.3", "465.19.01"),
    ("11.2.1", "460.32.03"),
    ("11.2", "460.27.03"),
    ("11.1.1", "455.32"),
    ("11.1", "455.23"),
    ("11.0.3", "450.51.06"),
    ("11.0", "450.51.05"),
    ("10.2", "440.33"),
    ("10.1", "418.39"),
    ("10.0", "410.48"),
    ("9.2", "396.26"),
    ("9.1", "390.46"),
    ("9.0", "384.81"),
    ("8.0", "367.48"),
)
"""CUDA release to the driver that came with it, newest first; an update without a row has that of the one below it."""

MINOR_FLOORS: tuple[tuple[int, str], ...] = ((13, "580"), (12, "525.60.13"), (11, "450.80.02"))
"""CUDA major to the first driver that runs any of its releases, with fewer features: minor-version compatibility."""


def numbers(version: str) -> tuple[int, ...]:
    """The numbers of a dotted version, as far as they go."""
    found = []
    for part in version.split("."):
        if not part.isdigit():
            break
        found.append(int(part))
    return tuple(found)


def find_release_driver(version: str) -> str | None:
    """The driver that came with a CUDA release; None for one that the table does not have."""
    wanted = numbers(version)
    if len(wanted) < 2:
        return None
    for release, driver in RELEASES:
        row = numbers(release)
        if row[:2] == wanted[:2] and row <= wanted:
            return driver
    return None


def find_minor_floor(version: str) -> str | None:
    """The first driver that runs this CUDA at all; None where only the release's own driver or a newer one does."""
    major = numbers(version)[:1]
    return next((driver for known, driver in MINOR_FLOORS if (known,) == major), None)


def find_cuda_of_driver(driver: str) -> str | None:
    """The newest CUDA release of the table whose driver is not newer than this one; without the update's number."""
    have = numbers(driver)
    for release, needed in RELEASES:
        if have and numbers(needed) <= have:
            return ".".join(release.split(".")[:2])
    return None
