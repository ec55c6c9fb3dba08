"""Whether the module's parameters are such that containers work; the nodes that come of them are judged elsewhere."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import driver_not_loaded, no_gpu_here
from ctk.doctor.checks.log_lines import find_log, quote
from ctk.doctor.model import (
    APT,
    MEDIUM,
    PASS,
    RED_HAT,
    Check,
    Command,
    Evidence,
    Outcome,
    Remedy,
    failed,
    noted,
    passed,
    skipped,
    unseen,
)
from ctk.facts import Unknown

if TYPE_CHECKING:
    from ctk.facts.driver import Driver
    from ctk.facts.snapshot import Snapshot

PARAMETERS = "/proc/driver/nvidia/params"
DEFAULTS = {"ModifyDeviceFiles": "1", "DeviceFileUID": "0", "DeviceFileGID": "0", "DeviceFileMode": "438"}
"""kernel-open/nvidia/nv-reg.h; the mode is decimal, 438 is 0666."""
IGNORED = ("unknown parameter", "nvidia")


def check_params(snapshot: "Snapshot") -> Outcome:
    """Other values are somebody's choice; a name that the module does not know is a mistake."""
    why = no_gpu_here(snapshot) or driver_not_loaded(snapshot)
    if why:
        return skipped(why)
    log = find_log(snapshot)
    refused = () if isinstance(log, Unknown) else log.matching(*IGNORED)
    if refused and not isinstance(log, Unknown):
        evidence = tuple(quote(line, log) for line in refused[:3])
        return failed("the module was given a parameter that it does not know, and goes on without", *evidence)
    driver = snapshot.driver
    if isinstance(driver, Unknown):
        return unseen(driver)
    if driver.parameters is None or isinstance(driver.parameters, Unknown):
        return unseen(driver.parameters or Unknown(f"no {PARAMETERS}"))
    judged = _judge_values(driver)
    return unseen(log) if isinstance(log, Unknown) and judged.status == PASS else judged


def _judge_values(driver: "Driver") -> Outcome:
    values = {name: driver.find_parameter(name) for name in DEFAULTS}
    changed = [(name, value) for name, value in values.items() if value not in (DEFAULTS[name], None)]
    if not changed:
        return passed("the device files' parameters have their defaults")
    evidence = tuple(Evidence(f"{name}: {value}", PARAMETERS) for name, value in changed)
    if values["ModifyDeviceFiles"] == "0":
        return noted("the driver was told to leave the device nodes alone: something else has to make them", *evidence)
    return noted("the driver was told to make the device nodes with other rights than its own", *evidence)


DRIVER_PARAMETER_CHECKS: tuple[Check, ...] = (
    Check(
        id="driver.params",
        title="module parameters do not sabotage containers",
        group="Driver, kernel side",
        layer="L3",
        severity=MEDIUM,
        evaluate=check_params,
        reads=f"ModifyDeviceFiles, DeviceFileUID, DeviceFileGID and DeviceFileMode in {PARAMETERS}, the kernel's log",
        rule="fail when the log says that a parameter is unknown; tell values that are not the defaults",
        source="NVIDIA/open-gpu-kernel-modules, kernel-open/nvidia/nv-reg.h; kernel, kernel/params.c",
        needs=("driver.module-loaded",),
        explains=("an option in /etc/modprobe.d has no effect",),
        remedy=Remedy(
            "Correct the name, write the initial RAM disk anew, and load the module again",
            (
                Command("grep -rn NVreg_ /etc/modprobe.d /usr/lib/modprobe.d", needs_root=False),
                Command("update-initramfs -u", only_on=APT),
                Command("dracut -f", only_on=(RED_HAT,)),
            ),
        ),
        fix="guarded",
    ),
)
