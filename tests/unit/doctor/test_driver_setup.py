"""The checks of how the driver is set up: one row for each status they can give."""

import pytest

from ctk.doctor.checks.driver_setup import DRIVER_SETUP_CHECKS
from ctk.facts import Unknown
from ctk.facts.driver import DriverCapability
from ctk.facts.pci import Pci
from ctk.facts.services import PERSISTENCE, Service, Services
from ctk.facts.snapshot import Snapshot
from tests.builders import make_snapshot
from tests.driver_builders import make_driver, make_library, make_loaded, make_modules
from tests.unit.doctor.tables import Row, assert_row, params

DENIED = Unknown("permission denied")
NO_GPU = make_snapshot(pci=Pci())
NOT_LOADED = make_snapshot(modules=make_modules(loaded=()))
BAD = (make_loaded(version="570.133.20"),)


def persistence(**changes: object) -> Services:
    values = {"unit": "nvidia-persistenced.service", "enabled": False, "masked": False, "binary": "/usr/bin/x"}
    values |= {"version": None, "running": False, **changes}
    return Services(services=(Service(PERSISTENCE, **values),))  # type: ignore[arg-type] # the record's own fields by name


def modprobe(path: object, setuid: object, services: object = None, **changes: object) -> Snapshot:
    driver = make_driver(modprobe_path=path, modprobe_setuid=setuid, **changes)
    return make_snapshot(driver=driver, services=services if services is not None else persistence())


def known(version: tuple[object, ...], *divided: int, **changes: object) -> Snapshot:
    files = tuple(DriverCapability(f"gpu{number}/mig/gi1/access", 12, 292) for number in divided)
    return make_snapshot(modules=make_modules(loaded=version), driver=make_driver(**{"capabilities": files, **changes}))


ROWS = [
    Row("driver.nvidia-modprobe", "set-user-id", make_snapshot(), "pass", "every user"),
    Row("driver.nvidia-modprobe", "missing", modprobe(None, False), "warn", "is missing"),
    Row("driver.nvidia-modprobe", "for-root", modprobe("/usr/bin/nvidia-modprobe", False), "warn", "for root alone"),
    Row(
        "driver.nvidia-modprobe",
        "udev",
        modprobe(None, False, udev_rules=("/lib/udev/rules.d/71-nvidia.rules",)),
        "pass",
    ),
    Row("driver.nvidia-modprobe", "daemon", modprobe(None, False, persistence(enabled=True)), "pass"),
    Row("driver.nvidia-modprobe", "services-closed", modprobe(None, False, DENIED), "unknown"),
    Row("driver.nvidia-modprobe", "rules-closed", modprobe(None, False, udev_rules=DENIED), "unknown"),
    Row("driver.nvidia-modprobe", "mode-closed", modprobe("/x", DENIED), "unknown"),
    Row("driver.nvidia-modprobe", "closed", make_snapshot(driver=DENIED), "unknown"),
    Row("driver.nvidia-modprobe", "no-libraries", make_snapshot(driver=make_driver(libraries=())), "skip"),
    Row(
        "driver.nvidia-modprobe",
        "container",
        make_snapshot(driver=make_driver(root_libraries=(make_library(),))),
        "skip",
    ),
    Row("driver.nvidia-modprobe", "no-gpu", NO_GPU, "skip"),
    Row("driver.persistence-daemon", "runs", make_snapshot(services=persistence(running=True)), "pass"),
    Row("driver.persistence-daemon", "died", make_snapshot(services=persistence(enabled=True)), "warn", "does not run"),
    Row("driver.persistence-daemon", "not-wanted", make_snapshot(services=persistence()), "info"),
    Row(
        "driver.persistence-daemon", "processes-hidden", make_snapshot(services=persistence(running=DENIED)), "unknown"
    ),
    Row("driver.persistence-daemon", "not-looked-for", make_snapshot(services=Services()), "unknown"),
    Row("driver.persistence-daemon", "closed", make_snapshot(services=DENIED), "unknown"),
    Row("driver.persistence-daemon", "not-loaded", NOT_LOADED, "skip"),
    Row("driver.modeset-drm", "both", make_snapshot(), "pass"),
    Row(
        "driver.modeset-drm",
        "neither",
        make_snapshot(modules=make_modules(loaded=(make_loaded(),))),
        "info",
        "graphics",
    ),
    Row("driver.modeset-drm", "closed", make_snapshot(modules=DENIED), "unknown"),
    Row("driver.modeset-drm", "list-closed", make_snapshot(modules=make_modules(loaded=DENIED)), "unknown"),
    Row("driver.modeset-drm", "not-loaded", NOT_LOADED, "skip"),
    Row("driver.known-bad", "good", make_snapshot(), "pass", "not among"),
    Row("driver.known-bad", "bad-and-mixed", known(BAD, 0), "fail", "1 of 2 GPUs are divided"),
    Row("driver.known-bad", "bad-and-all-divided", known(BAD, 0, 1), "info"),
    Row("driver.known-bad", "bad-without-mig", known(BAD), "info"),
    Row("driver.known-bad", "instances-closed", known(BAD, capabilities=DENIED), "unknown"),
    Row("driver.known-bad", "closed", make_snapshot(driver=DENIED, modules=DENIED), "unknown"),
    Row(
        "driver.known-bad",
        "not-loaded",
        make_snapshot(driver=make_driver(version=None), modules=make_modules(loaded=())),
        "skip",
    ),
]


@pytest.mark.parametrize("row", params(ROWS))
def test_check_says(row: Row) -> None:
    assert_row(DRIVER_SETUP_CHECKS, row)
