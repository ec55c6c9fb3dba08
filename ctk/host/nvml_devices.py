"""Asks NVML, in a child process of its own, only which GPUs and MIG devices there are; it asks for no state of health.

`cdi generate` runs at every start of a node: what the doctor wants to know wakes parts of a GPU and takes seconds.
"""

from collections.abc import Callable
from types import ModuleType

from ctk.host.nvml import Fact, GpuLost, Teller, ask_handles, start_library, text_of

VERSIONS = (
    Fact("driver_version", "nvmlSystemGetDriverVersion", (), text_of),
    Fact("cuda_version", "nvmlSystemGetCudaDriverVersion_v2"),
)
DEVICE = (
    Fact("mig_current", "nvmlDeviceGetMigMode", (), lambda mode: bool(next(iter(mode)))),  # type: ignore[call-overload] # a pair without a type
    Fact("addressing_mode", "nvmlDeviceGetAddressingMode"),
)


def main(path: str, descriptor: int = 1) -> None:
    """Loads the library at path, never another one, and tells on the descriptor."""
    teller = start_library(path, descriptor)
    if teller is None:
        return
    for fact in VERSIONS:
        teller.call(fact)
    for index, handle in ask_handles(teller):
        _ask_device(teller, index, handle)


def _ask_device(teller: Teller, index: int, handle: object) -> None:
    try:
        for fact in DEVICE:
            teller.call(fact, index, handle)
        teller.ask(index, "mig_slots", _mig_slots(teller.library, handle))
    except GpuLost:
        return


def _mig_slots(library: ModuleType, handle: object) -> Callable[[], object]:
    """Every MIG device with NVML's own number, which is part of its name: there may be holes."""

    def question() -> object:
        if not library.nvmlDeviceGetMigMode(handle)[0]:
            return []
        slots = range(library.nvmlDeviceGetMaxMigDeviceCount(handle))
        return [found for slot in slots if (found := _mig_slot(library, handle, slot))]

    return question


def _mig_slot(library: ModuleType, handle: object, slot: int) -> dict[str, object] | None:
    try:
        device = library.nvmlDeviceGetMigDeviceHandleByIndex(handle, slot)
    except library.NVMLError as error:
        if error.value in (library.NVML_ERROR_NOT_FOUND, library.NVML_ERROR_INVALID_ARGUMENT):
            return None
        raise
    return {
        "index": slot,
        "uuid": text_of(library.nvmlDeviceGetUUID(device)),
        "name": text_of(library.nvmlDeviceGetName(device)),
        "gpu_instance": library.nvmlDeviceGetGpuInstanceId(device),
        "compute_instance": library.nvmlDeviceGetComputeInstanceId(device),
    }
