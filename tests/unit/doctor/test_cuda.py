"""The checks of CUDA: one row for each status they can give, and the table behind them."""

import pytest

from ctk.doctor.checks.cuda import CUDA_CHECKS
from ctk.doctor.data.cuda import RELEASES, find_cuda_of_driver, find_minor_floor, find_release_driver, numbers
from ctk.facts import Unknown
from ctk.facts.cuda import CudaProbe
from ctk.facts.pci import Pci
from ctk.facts.services import CudaToolkit
from ctk.facts.snapshot import Snapshot
from tests.builders import make_snapshot, make_system
from tests.driver_builders import make_driver, make_modules
from tests.nvml_builders import make_nvml, make_services
from tests.unit.doctor.tables import Row, assert_row, params

CLOSED = Unknown("permission denied")
SILENT = Unknown("not asked: --no-nvml")
PATH = "/usr/local/cuda-12.4"


def toolkit(version: str | None | Unknown) -> Snapshot:
    return make_snapshot(services=make_services(cuda_toolkits=(CudaToolkit(PATH, version),)))


def driver(version: str | None | Unknown) -> Snapshot:
    """NVML was not asked, and the module does not name its version."""
    return make_snapshot(nvml=SILENT, modules=make_modules(loaded=CLOSED), driver=make_driver(version=version))


def probe(code: int | Unknown, count: int | None = None) -> Snapshot:
    record = CudaProbe(
        library="/usr/lib64/libcuda.so.1", call="cuInit", code=code, name="", count=count, elapsed_milliseconds=90
    )
    return make_snapshot(cuda_probe=record)


ROWS = [
    Row("cuda.driver-version", "from-nvml", make_snapshot(), "info", "CUDA up to 13.0"),
    Row("cuda.driver-version", "with-minor", make_snapshot(nvml=make_nvml(cuda_version=12040)), "info", "12.4"),
    Row("cuda.driver-version", "from-the-table", driver("550.90.07"), "info", "CUDA 12.4 and older"),
    Row("cuda.driver-version", "older-than-the-table", driver("340.10"), "unknown", "older than the table"),
    Row("cuda.driver-version", "closed", driver(CLOSED), "unknown"),
    Row("cuda.driver-version", "no-gpu", make_snapshot(pci=Pci(), nvml=SILENT), "skip"),
    Row("cuda.driver-version", "jetson", make_snapshot(system=make_system(jetson=True), nvml=SILENT), "skip"),
    Row(
        "cuda.driver-floor", "no-image", make_snapshot(), "skip", "those of CUDA 13.0 and older, and of later 13.x with"
    ),
    Row("cuda.driver-floor", "older", driver("550.90.07"), "skip", "CUDA 12.4 and older, and of later 12.x"),
    Row("cuda.driver-floor", "no-minor-compatibility", driver("440.33"), "skip", "CUDA 10.2 and older"),
    Row("cuda.driver-floor", "closed", driver(CLOSED), "unknown"),
    Row("cuda.driver-floor", "no-gpu", make_snapshot(pci=Pci(), nvml=SILENT), "skip", "no NVIDIA GPU"),
    Row("cuda.require-eval", "no-image", make_snapshot(), "skip", "no image was named"),
    Row("cuda.require-eval", "no-gpu", make_snapshot(pci=Pci(), nvml=SILENT), "skip", "no NVIDIA GPU"),
    Row("cuda.host-toolkit", "none", make_snapshot(), "skip", "containers need none"),
    Row("cuda.host-toolkit", "fits", toolkit("12.4.1"), "info", "12.4.1 is on the host", PATH),
    Row("cuda.host-toolkit", "nameless", toolkit(None), "info", "does not name", PATH),
    Row("cuda.host-toolkit", "too-new-for-the-table", toolkit("21.0"), "info"),
    Row("cuda.host-toolkit", "closed", toolkit(CLOSED), "unknown", "permission denied", PATH),
    Row("cuda.host-toolkit", "folder-closed", make_snapshot(services=make_services(cuda_toolkits=CLOSED)), "unknown"),
    Row("cuda.host-toolkit", "services-closed", make_snapshot(services=CLOSED), "unknown"),
    Row("cuda.init", "not-asked-for", make_snapshot(), "skip", "--probe"),
    Row("cuda.init", "starts", probe(0, 2), "pass", "2 devices"),
    Row("cuda.init", "not-ready", probe(802), "fail", "not ready"),
    Row("cuda.init", "new-code", probe(4711), "fail", "4711"),
    Row("cuda.init", "no-device", probe(0, 0), "fail", "no device"),
    Row("cuda.init", "hung", probe(Unknown("no answer within 30 s")), "unknown", "30 s"),
    Row("cuda.init", "no-library", make_snapshot(cuda_probe=CLOSED), "unknown"),
    Row("cuda.init", "no-module", make_snapshot(cuda_probe=CLOSED, modules=make_modules(loaded=())), "skip"),
]


@pytest.mark.parametrize("row", params(ROWS))
def test_check_says(row: Row) -> None:
    assert_row(CUDA_CHECKS, row)


def test_toolkit_that_is_newer_than_the_driver_is_a_warning() -> None:
    snapshot = make_snapshot(
        services=make_services(cuda_toolkits=(CudaToolkit("/usr/local/cuda-13.0", "13.0.1"),)),
        modules=make_modules(loaded=CLOSED),
        driver=make_driver(version="550.90.07"),
    )
    assert_row(
        CUDA_CHECKS, Row("cuda.host-toolkit", "old", snapshot, "warn", "needs driver 580, this host has 550.90.07")
    )


@pytest.mark.parametrize(
    ("release", "needed"),
    [
        ("12.4", "550.54.14"),
        ("12.4.1", "550.54.15"),
        ("12.6.2", "560.35.03"),
        ("12.6.9", "560.35.05"),
        ("12.7", None),
        ("13", None),
        ("", None),
        ("x.y", None),
    ],
)
def test_driver_of_a_release(release: str, needed: str | None) -> None:
    assert find_release_driver(release) == needed


@pytest.mark.parametrize(("release", "floor"), [("13.1", "580"), ("12.0.1", "525.60.13"), ("10.2", None), ("", None)])
def test_floor_of_a_major_version(release: str, floor: str | None) -> None:
    assert find_minor_floor(release) == floor


@pytest.mark.parametrize(
    ("version", "release"),
    [("610.43.02", "13.3"), ("580.95.05", "13.0"), ("535.54.03", "12.2"), ("999", "13.3"), ("300", None), ("", None)],
)
def test_newest_release_of_a_driver(version: str, release: str | None) -> None:
    assert find_cuda_of_driver(version) == release


def test_table_goes_down_on_both_sides() -> None:
    releases = [numbers(release) for release, _ in RELEASES]
    drivers = [numbers(needed) for _, needed in RELEASES]
    assert releases == sorted(set(releases), reverse=True)
    assert drivers == sorted(drivers, reverse=True)
