"""The GPUs and MIG instances that a spec must describe, from what NVML or /proc told; values only."""

from typing import TYPE_CHECKING

from ctk.cdi.stale import CONTROL_CAPABILITIES, MigInstance, PresentGpu, mig_instances
from ctk.facts import Unknown

if TYPE_CHECKING:
    from ctk.facts.driver import Driver
    from ctk.facts.nvml import Nvml, NvmlGpu


def present_gpus(driver: "Driver | Unknown", nvml: "Nvml | None | Unknown" = None) -> tuple[PresentGpu, ...] | Unknown:
    """What NVML counts, else what the driver lists in /proc, which tells neither indexes nor an idle MIG mode."""
    answered = _answered(nvml)
    if answered:
        return tuple(_of_nvml(gpu) for gpu in answered)
    if isinstance(driver, Unknown):
        return driver
    if driver.gpus is None or isinstance(driver.gpus, Unknown):
        return driver.gpus or Unknown("the driver lists no GPUs")
    if any(isinstance(gpu.minor, Unknown) for gpu in driver.gpus):
        return Unknown("the driver's list of GPUs could not be read")
    divided = {instance.path.partition("/")[0] for instance in _instances(driver)}
    return tuple(
        PresentGpu(_number(gpu.minor), _text(gpu.uuid), None, f"gpu{gpu.minor}" in divided)
        for gpu in driver.gpus
        if gpu.excluded is not True
    )


def present_instances(driver: "Driver | Unknown") -> tuple[MigInstance, ...] | Unknown:
    """The MIG instances in the driver's tree of capabilities."""
    if isinstance(driver, Unknown):
        return driver
    return driver.capabilities if isinstance(driver.capabilities, Unknown) else _instances(driver)


def control_minors(driver: "Driver | Unknown") -> tuple[int, ...]:
    """The capability nodes that belong to no instance."""
    if isinstance(driver, Unknown) or not isinstance(driver.capabilities, tuple):
        return ()
    rows = [row.minor for row in driver.capabilities if row.path in CONTROL_CAPABILITIES]
    return tuple(minor for minor in rows if minor is not None)


def present_mig_uuids(nvml: "Nvml | None | Unknown") -> tuple[str, ...] | None:
    """The names of the MIG devices; None where NVML did not tell of every GPU."""
    answered = _answered(nvml)
    if not answered:
        return None
    lists = [gpu.mig_devices for gpu in answered]
    if any(isinstance(devices, Unknown) for devices in lists):
        return None
    return tuple(device.uuid for devices in lists if isinstance(devices, tuple) for device in devices)


def _answered(nvml: "Nvml | None | Unknown") -> "tuple[NvmlGpu, ...]":
    if nvml is None or isinstance(nvml, Unknown) or isinstance(nvml.gpus, Unknown):
        return ()
    return nvml.gpus


def _instances(driver: "Driver") -> tuple[MigInstance, ...]:
    rows = driver.capabilities if isinstance(driver.capabilities, tuple) else ()
    return mig_instances([(row.path, row.minor) for row in rows])


def _of_nvml(gpu: "NvmlGpu") -> PresentGpu:
    return PresentGpu(_number(gpu.minor), _text(gpu.uuid), gpu.index, gpu.mig_current is True)


def _number(value: int | None | Unknown) -> int | None:
    return value if isinstance(value, int) else None


def _text(value: str | None | Unknown) -> str | None:
    return value if isinstance(value, str) else None
