"""The checks of the driver's kernel side: one row for each status they can give."""

import pytest

from ctk.doctor.checks.driver import DRIVER_CHECKS
from ctk.doctor.checks.driver_version_rows import DRIVER_VERSION_CHECKS
from ctk.doctor.checks.driver_versions import count_holders
from ctk.facts import Unknown
from ctk.facts.driver import DriverTrace, FirmwareFolder
from ctk.facts.pci import Pci
from ctk.facts.snapshot import Snapshot
from tests.builders import make_snapshot, make_system
from tests.driver_builders import (
    FIRST,
    SECOND,
    VERSION,
    make_driver,
    make_driver_gpu,
    make_function,
    make_library,
    make_loaded,
    make_module_file,
    make_modules,
    make_pci,
)
from tests.unit.doctor.tables import Row, assert_row, outcomes_of, params

CHECKS = (*DRIVER_CHECKS, *DRIVER_VERSION_CHECKS)
DENIED = Unknown("permission denied")
OTHER = "570.144"
WSL = make_snapshot(system=make_system(wsl=2), pci=None)
NOTHING = make_driver(version=None, flavour=None, libraries=(), firmware=())
NO_BUS = Unknown("no /sys")
NO_MODULES = make_modules(loaded=(), files=(), vendor_folders=())
VFIO = make_snapshot(pci=make_pci(make_function(FIRST, driver="vfio-pci")))
CONTAINED = make_driver(
    libraries=(), root_libraries=(make_library(path=f"/run/nvidia/driver/usr/lib64/libnvidia-ml.so.{VERSION}"),)
)
LIBRARIES = (make_library(version=OTHER), make_library("libcuda.so", version=OTHER))


def with_driver(**changes: object) -> Snapshot:
    return make_snapshot(driver=make_driver(**changes))


def with_modules(*loaded: object, **changes: object) -> Snapshot:
    return make_snapshot(modules=make_modules(loaded=loaded, **changes))


ROWS = [
    Row("driver.installed", "both", make_snapshot(), "pass"),
    Row("driver.installed", "neither", make_snapshot(driver=NOTHING, modules=NO_MODULES), "fail", "no NVIDIA driver"),
    *(
        Row(
            name,
            "nobody-knows-of-a-gpu",
            make_snapshot(driver=NOTHING, modules=NO_MODULES, pci=NO_BUS),
            "unknown",
            "no /sys",
        )
        for name in ("driver.installed", "driver.module-available", "driver.module-loaded")
    ),
    Row("driver.installed", "modules-only", make_snapshot(driver=NOTHING), "warn", "none of its libraries"),
    Row("driver.installed", "libraries-only", make_snapshot(modules=NO_MODULES), "warn", "none of its modules"),
    Row(
        "driver.installed", "container", make_snapshot(driver=CONTAINED, modules=NO_MODULES), "pass", "driver container"
    ),
    Row(
        "driver.installed",
        "vendor-image",
        make_snapshot(driver=make_driver(traces=(DriverTrace("vendor", "/home/kubernetes/bin/nvidia"),), libraries=())),
        "pass",
        "image",
    ),
    Row("driver.installed", "kernel-removed", with_modules(files=None), "unknown", "no module folder"),
    Row("driver.installed", "no-gpu", make_snapshot(pci=Pci()), "skip"),
    Row("driver.installed", "vfio", VFIO, "skip", "virtual machines"),
    Row("driver.installed", "closed", make_snapshot(driver=DENIED), "unknown"),
    Row("driver.installed", "modules-closed", make_snapshot(modules=DENIED), "unknown"),
    Row("driver.installed", "wsl", WSL, "skip"),
    Row("driver.module-available", "there", make_snapshot(), "pass"),
    Row("driver.module-available", "none", make_snapshot(modules=NO_MODULES), "fail", "no nvidia module for"),
    Row("driver.module-available", "no-folder", with_modules(files=None), "fail"),
    Row(
        "driver.module-available",
        "not-listed",
        with_modules(files=(make_module_file(is_listed=False),)),
        "fail",
        "does not know it",
    ),
    Row("driver.module-available", "loaded-but-gone", with_modules(make_loaded(), files=()), "info"),
    Row("driver.module-available", "container", make_snapshot(driver=CONTAINED, modules=NO_MODULES), "skip"),
    Row("driver.module-available", "closed", with_modules(files=DENIED), "unknown"),
    Row("driver.module-available", "vfio", VFIO, "skip"),
    Row("driver.module-loaded", "live", make_snapshot(), "pass"),
    Row("driver.module-loaded", "debian", with_modules(make_loaded("nvidia_current")), "pass"),
    Row("driver.module-loaded", "absent", make_snapshot(modules=NO_MODULES, driver=NOTHING), "fail", "not loaded"),
    Row("driver.module-loaded", "stuck", with_modules(make_loaded(state="Unloading")), "fail", "Unloading"),
    Row("driver.module-loaded", "list-hidden", make_snapshot(modules=NO_MODULES), "pass", "driver runs"),
    Row("driver.module-loaded", "closed", make_snapshot(modules=DENIED), "unknown"),
    Row("driver.module-loaded", "jetson", make_snapshot(system=make_system(jetson=True), pci=None), "skip"),
    Row("driver.module-loaded", "lxc", make_snapshot(system=make_system(container="lxc")), "skip"),
    Row("driver.uvm-loaded", "loaded", make_snapshot(), "pass"),
    Row("driver.uvm-loaded", "absent", with_modules(make_loaded()), "fail", "CUDA cannot start"),
    Row(
        "driver.uvm-loaded",
        "absent-without-containers",
        make_snapshot(modules=make_modules(loaded=(make_loaded(),)), toolkit=(), engines=()),
        "info",
    ),
    Row("driver.uvm-loaded", "no-driver", make_snapshot(modules=NO_MODULES), "skip"),
    Row("driver.uvm-loaded", "closed", make_snapshot(modules=DENIED), "unknown"),
    Row("driver.version-mismatch", "same", make_snapshot(), "pass", VERSION),
    Row(
        "driver.version-mismatch", "libraries-newer", with_driver(libraries=LIBRARIES), "fail", f"libraries are {OTHER}"
    ),
    Row(
        "driver.version-mismatch",
        "a-prefix-is-not-the-same",
        with_driver(libraries=(make_library(version="580.95"), make_library("libcuda.so", version="580.95"))),
        "fail",
    ),
    Row(
        "driver.version-mismatch",
        "left-over-without-link",
        with_driver(libraries=(make_library(), make_library(version=OTHER, linked=False))),
        "pass",
    ),
    Row(
        "driver.version-mismatch",
        "only-libcuda-differs",
        with_driver(libraries=(make_library(), make_library("libcuda.so", version=OTHER))),
        "fail",
    ),
    Row(
        "driver.version-mismatch",
        "a-second-folder-fits",
        with_driver(libraries=(make_library(version=OTHER, path="/usr/lib/x"), make_library())),
        "pass",
    ),
    Row("driver.version-mismatch", "no-libraries", with_driver(libraries=()), "skip"),
    Row("driver.version-mismatch", "container", make_snapshot(driver=CONTAINED), "skip"),
    Row("driver.version-mismatch", "not-loaded", make_snapshot(modules=NO_MODULES), "skip"),
    Row("driver.version-mismatch", "closed", with_driver(libraries=DENIED), "unknown"),
    Row("driver.version-mismatch", "driver-closed", make_snapshot(driver=DENIED), "unknown"),
    Row(
        "driver.version-mismatch",
        "lxc",
        make_snapshot(system=make_system(container="lxc"), driver=make_driver(libraries=LIBRARIES)),
        "fail",
    ),
    Row("driver.modules-consistent", "same", make_snapshot(), "pass"),
    Row(
        "driver.modules-consistent",
        "uvm-differs",
        with_modules(make_loaded(), make_loaded("nvidia_uvm", version=OTHER)),
        "fail",
        f"nvidia_uvm {OTHER}",
    ),
    Row(
        "driver.modules-consistent",
        "no-version-file",
        with_modules(make_loaded(), make_loaded("nvidia_drm", version=None)),
        "pass",
    ),
    Row("driver.modules-consistent", "closed", with_modules(make_loaded(version=DENIED)), "unknown"),
    Row("driver.modules-consistent", "not-loaded", make_snapshot(modules=NO_MODULES), "skip"),
    Row("driver.gsp-firmware-files", "there", make_snapshot(), "pass"),
    Row("driver.gsp-firmware-files", "gone", with_driver(firmware=()), "fail", "missing"),
    Row(
        "driver.gsp-firmware-files",
        "only-another",
        with_driver(firmware=(FirmwareFolder(OTHER, f"/lib/firmware/nvidia/{OTHER}", ("gsp_ga10x.bin.xz",)),)),
        "fail",
        f"{OTHER} is there",
    ),
    Row(
        "driver.gsp-firmware-files", "empty-folder", with_driver(firmware=(FirmwareFolder(VERSION, "/x", ()),)), "fail"
    ),
    Row("driver.gsp-firmware-files", "proprietary", with_driver(flavour="proprietary", firmware=()), "info"),
    Row(
        "driver.gsp-firmware-files",
        "proprietary-another",
        with_driver(flavour="proprietary", firmware=(FirmwareFolder(OTHER, "/x", ("gsp.bin",)),)),
        "warn",
    ),
    Row("driver.gsp-firmware-files", "no-driver", make_snapshot(driver=NOTHING, modules=NO_MODULES), "skip"),
    Row("driver.gsp-firmware-files", "closed", with_driver(firmware=DENIED), "unknown"),
    Row("driver.root", "host", make_snapshot(), "pass", "no driver container"),
    Row("driver.root", "container", make_snapshot(driver=CONTAINED), "pass", "alone"),
    Row("driver.root", "both", with_driver(root_libraries=(make_library(version=OTHER),)), "fail", "different drivers"),
    Row("driver.root", "twice-the-same", with_driver(root_libraries=(make_library(),)), "warn", "twice"),
    Row("driver.root", "empty-root", with_driver(libraries=(), root_libraries=()), "fail", "holds no driver"),
    Row("driver.root", "empty-root-beside-the-host's", with_driver(root_libraries=()), "pass"),
    Row("driver.root", "closed", with_driver(root_libraries=DENIED), "unknown"),
    Row("driver.proc-gpu-count", "all", make_snapshot(), "pass", "all 2"),
    Row(
        "driver.proc-gpu-count",
        "one-missing",
        with_driver(gpus=(make_driver_gpu(),)),
        "fail",
        "does not list it",
        SECOND,
    ),
    Row("driver.proc-gpu-count", "closed", with_driver(gpus=DENIED), "unknown"),
    Row("driver.proc-gpu-count", "bus-closed", make_snapshot(pci=DENIED), "unknown"),
    Row("driver.proc-gpu-count", "not-loaded", make_snapshot(modules=NO_MODULES), "skip"),
    Row("driver.excluded-gpus", "none", make_snapshot(), "pass"),
    Row("driver.excluded-gpus", "one", with_driver(gpus=(make_driver_gpu(excluded=True),)), "warn", "excluded", FIRST),
    Row("driver.excluded-gpus", "closed", with_driver(gpus=DENIED), "unknown"),
    Row("driver.excluded-gpus", "not-loaded", make_snapshot(modules=NO_MODULES), "skip"),
]


@pytest.mark.parametrize("row", params(ROWS))
def test_check_says(row: Row) -> None:
    assert_row(CHECKS, row)


def remedy_for(*loaded: object, **changes: object) -> str:
    snapshot = make_snapshot(
        modules=make_modules(loaded=loaded, files=(make_module_file(version=OTHER),)),
        driver=make_driver(libraries=LIBRARIES),
        **changes,
    )
    remedy = outcomes_of(CHECKS, "driver.version-mismatch", snapshot)[0].remedy
    assert remedy is not None
    return "\n".join([remedy.summary, *(command.text for command in remedy.commands)])


def test_driver_that_nobody_holds_can_be_reloaded() -> None:
    core = make_loaded(use_count=1, used_by=("nvidia_uvm",))
    text = remedy_for(core, make_loaded("nvidia_uvm", use_count=0))
    assert "modprobe -r nvidia_uvm nvidia" in text
    assert "reboot" not in text.replace("without a reboot", "")
    assert "apt-mark hold" in text


def test_driver_in_use_needs_a_reboot() -> None:
    core = make_loaded(use_count=9, used_by=("nvidia_uvm",))
    text = remedy_for(core, make_loaded("nvidia_uvm", use_count=2))
    assert "use count 10" in text
    assert "systemctl reboot" in text


def test_libraries_of_a_third_version_are_reinstalled_first() -> None:
    snapshot = make_snapshot(driver=make_driver(libraries=LIBRARIES))
    outcome = outcomes_of(CHECKS, "driver.version-mismatch", snapshot)[0]
    assert outcome.remedy is not None
    assert "Reinstall" in outcome.remedy.summary


def test_inside_lxc_no_reboot_is_asked_for() -> None:
    text = remedy_for(make_loaded(), system=make_system(container="lxc"))
    assert "reboot" not in text


def test_holders_of_modules_that_cannot_be_counted_are_not_known() -> None:
    assert count_holders(make_modules(loaded=(make_loaded(use_count=None),))) is None
    assert count_holders(make_modules(loaded=DENIED)) is None


def test_module_of_another_product_holds_the_driver() -> None:
    core = make_loaded(use_count=2, used_by=("nvidia_uvm", "gdrdrv"))
    loaded = (core, make_loaded("nvidia_uvm", use_count=0), make_loaded("gdrdrv", use_count=0))
    assert count_holders(make_modules(loaded=loaded)) == 1
