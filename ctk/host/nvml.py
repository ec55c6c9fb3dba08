"""Asks NVIDIA's management library, in a child process of its own; the only import of pynvml. It judges no answer.

Every question and answer is one line of JSON on standard output, written at once: what was answered before the library
hung, or died, is kept, and so is what it was asked last.
"""

import json
import os
import time
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import NamedTuple

NO_SUCH_VALUE = frozenset({3, 13, 25, 26})
"""Not supported, function not found, argument version mismatch, deprecated: this GPU or driver has no such value."""

GPU_IS_LOST = 15
LIBRARY_NOT_FOUND = 12
FIELD_RECOVERY_ACTION = 230  # NVML_FI_DEV_GET_GPU_RECOVERY_ACTION; newer than the oldest pynvml we run with
HELD_DOWN = 0x8 | 0x20 | 0x40 | 0x80  # slowdowns that call for a second look: hardware, thermal, power brake
SECOND_LOOK_SECONDS = 0.2
MAX_NVLINKS = 36
VGPU_GUEST, EXPIRY_VALID = 2, 2
"""nvmlGpuVirtualizationMode_t and nvmlGridLicenseExpiry_t of nvml.h."""


class Fact(NamedTuple):
    """One value: the function of pynvml that tells it, what it is asked with, and how its answer is kept."""

    name: str
    function: str
    arguments: tuple[int, ...] = ()
    convert: Callable[[object], object] = lambda value: value


def text_of(value: object) -> str:
    """A string of the library's; older pynvml gives bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _part(index: int, convert: Callable[[object], object] = lambda value: value) -> Callable[[object], object]:
    """One element of an answer that is a list."""
    return lambda value: convert(list(value)[index])  # type: ignore[call-overload] # pynvml's lists have no types


def _field(name: str, convert: Callable[[object], object] = lambda value: value) -> Callable[[object], object]:
    """One field of an answer that is a structure."""
    return lambda value: convert(getattr(value, name))


IDENTITY = (
    Fact("pci_bus_id", "nvmlDeviceGetPciInfo", (), _field("busId", text_of)),
    Fact("uuid", "nvmlDeviceGetUUID", (), text_of),
    Fact("minor", "nvmlDeviceGetMinorNumber"),
    Fact("name", "nvmlDeviceGetName", (), text_of),
)
HEALTH = (
    Fact("brand", "nvmlDeviceGetBrand"),
    Fact("compute_capability", "nvmlDeviceGetCudaComputeCapability", (), lambda value: list(value)),  # type: ignore[call-overload] # a pair without a type
    Fact("vbios", "nvmlDeviceGetVbiosVersion", (), text_of),
    Fact("virtualization", "nvmlDeviceGetVirtualizationMode"),
    Fact("persistence_mode", "nvmlDeviceGetPersistenceMode", (), bool),
    Fact("compute_mode", "nvmlDeviceGetComputeMode"),
    Fact("mig_current", "nvmlDeviceGetMigMode", (), _part(0, bool)),
    Fact("mig_pending", "nvmlDeviceGetMigMode", (), _part(1, bool)),
    Fact("ecc_current", "nvmlDeviceGetEccMode", (), _part(0, bool)),
    Fact("ecc_pending", "nvmlDeviceGetEccMode", (), _part(1, bool)),
    Fact("ecc_uncorrected", "nvmlDeviceGetTotalEccErrors", (1, 0)),  # uncorrected, volatile
    Fact("ecc_corrected", "nvmlDeviceGetTotalEccErrors", (0, 0)),
    Fact("retired_pages_single_bit", "nvmlDeviceGetRetiredPages", (0,), lambda pages: len(list(pages))),  # type: ignore[call-overload] # a list without a type
    Fact("retired_pages_double_bit", "nvmlDeviceGetRetiredPages", (1,), lambda pages: len(list(pages))),  # type: ignore[call-overload] # a list without a type
    Fact("retired_pages_pending", "nvmlDeviceGetRetiredPagesPendingStatus", (), bool),
    Fact("remapped_rows_corrected", "nvmlDeviceGetRemappedRows", (), _part(0)),
    Fact("remapped_rows_uncorrected", "nvmlDeviceGetRemappedRows", (), _part(1)),
    Fact("remap_pending", "nvmlDeviceGetRemappedRows", (), _part(2, bool)),
    Fact("remap_failed", "nvmlDeviceGetRemappedRows", (), _part(3, bool)),
    Fact("temperature_celsius", "nvmlDeviceGetTemperature", (0,)),
    Fact("temperature_slowdown_celsius", "nvmlDeviceGetTemperatureThreshold", (1,)),
    Fact("temperature_margin_celsius", "nvmlDeviceGetMarginTemperature"),
    Fact("clocks_event_reasons", "nvmlDeviceGetCurrentClocksThrottleReasons"),  # the name that older drivers know too
    Fact("power_usage_milliwatts", "nvmlDeviceGetPowerUsage"),
    Fact("power_limit_milliwatts", "nvmlDeviceGetEnforcedPowerLimit"),
    Fact("power_default_milliwatts", "nvmlDeviceGetPowerManagementDefaultLimit"),
    Fact("pcie_replays", "nvmlDeviceGetPcieReplayCounter"),
    Fact("pcie_generation", "nvmlDeviceGetCurrPcieLinkGeneration"),
    Fact("pcie_generation_max", "nvmlDeviceGetMaxPcieLinkGeneration"),
    Fact("pcie_width", "nvmlDeviceGetCurrPcieLinkWidth"),
    Fact("pcie_width_max", "nvmlDeviceGetMaxPcieLinkWidth"),
    Fact("memory_total_bytes", "nvmlDeviceGetMemoryInfo", (), _field("total")),
    Fact("memory_used_bytes", "nvmlDeviceGetMemoryInfo", (), _field("used")),
    Fact("addressing_mode", "nvmlDeviceGetAddressingMode"),
)


class GpuLost(Exception):
    """The GPU is gone: every further question would only wait for it again."""


class Teller:
    """Asks one question after the other and tells each answer at once. gpu None: the whole host."""

    def __init__(self, library: ModuleType, descriptor: int) -> None:
        self.library = library
        self.descriptor = descriptor

    def tell(self, **line: object) -> None:
        os.write(self.descriptor, json.dumps(line).encode() + b"\n")

    def ask(self, gpu: int | None, name: str, question: Callable[[], object]) -> object:
        """The answer, None for a failure that has been told. Raises GpuLost when the GPU is lost."""
        self.tell(gpu=gpu, ask=name)
        try:
            value = question()
        except self.library.NVMLError as error:
            self._tell_failure(gpu, name, error)
            if gpu is not None and error.value == GPU_IS_LOST:
                raise GpuLost from error
            return None
        except AttributeError:
            self.tell(gpu=gpu, fact=name, value=None)  # an older pynvml, which does not know the question
            return None
        self.tell(gpu=gpu, fact=name, value=value)
        return value

    def call(self, fact: Fact, gpu: int | None = None, *arguments: object) -> object:
        """One row of the tables above."""

        def question() -> object:
            answer: object = getattr(self.library, fact.function)(*arguments, *fact.arguments)
            return fact.convert(answer)

        return self.ask(gpu, fact.name, question)

    def _tell_failure(self, gpu: int | None, name: str, error: Exception) -> None:
        code = int(getattr(error, "value", 999))
        if code in NO_SUCH_VALUE and name != "init":
            self.tell(gpu=gpu, fact=name, value=None)
        else:
            self.tell(gpu=gpu, fact=name, code=code, text=self.describe(error))

    def describe(self, error: Exception) -> str:
        """The library's own words, which are those that users see in nvidia-smi; pynvml has some of its own."""
        try:
            return text_of(self.library.nvmlErrorString(error.value))  # type: ignore[attr-defined] # an NVMLError has one
        except (self.library.NVMLError, AttributeError):
            return str(error)


def main(path: str, descriptor: int = 1) -> None:
    """Loads the library at path, never another one, asks it everything, and tells on the descriptor."""
    teller = start_library(path, descriptor)
    if teller is None:
        return
    _ask_host(teller)
    for index, handle in ask_handles(teller):
        _ask_health(teller, index, handle)


def start_library(path: str, descriptor: int) -> Teller | None:
    """The library at path, loaded and started; None when that failed, which has been told."""
    import ctypes

    import pynvml

    teller = Teller(pynvml, descriptor)
    teller.tell(gpu=None, ask="init")
    try:
        pynvml.nvmlLib = ctypes.CDLL(path)
    except OSError as error:
        teller.tell(gpu=None, fact="init", code=LIBRARY_NOT_FOUND, text=str(error))
        return None
    return None if teller.call(Fact("init", "nvmlInitWithFlags", (0,), lambda _: 0)) is None else teller


def ask_handles(teller: Teller) -> list[tuple[int, object]]:
    """Who the GPUs are; index and handle of each that is not lost."""
    handles = [(index, handle) for index in range(_count(teller)) for handle in _find(teller, index)]
    return [(index, handle) for index, handle in handles if _is_answered(teller, index, handle)]


def _ask_host(teller: Teller) -> None:
    teller.call(Fact("driver_version", "nvmlSystemGetDriverVersion", (), text_of))
    teller.call(Fact("cuda_version", "nvmlSystemGetCudaDriverVersion_v2"))
    teller.call(Fact("confidential", "nvmlSystemGetConfComputeState", (), _confidential))
    teller.call(Fact("confidential_ready", "nvmlSystemGetConfComputeGpusReadyState", (), bool))


def _confidential(state: object) -> dict[str, object]:
    """nvmlConfComputeSystemState_t: ccFeature and devToolsMode are 0 or 1."""
    return {
        "feature": bool(getattr(state, "ccFeature", 0)),
        "developer_tools": bool(getattr(state, "devToolsMode", 0)),
    }


def _count(teller: Teller) -> int:
    count = teller.call(Fact("count", "nvmlDeviceGetCount"))
    return count if isinstance(count, int) else 0


def _find(teller: Teller, index: int) -> Iterator[object]:
    """The GPU's handle, if it has one; a handle is no value to tell."""
    teller.tell(gpu=index, ask="handle")
    try:
        yield teller.library.nvmlDeviceGetHandleByIndex(index)
    except teller.library.NVMLError as error:
        teller.tell(gpu=index, fact="handle", code=int(error.value), text=teller.describe(error))


def _is_answered(teller: Teller, index: int, handle: object) -> bool:
    """Who the GPU is, for all GPUs before any is asked more; False when it is lost."""
    try:
        for fact in IDENTITY:
            teller.call(fact, index, handle)
    except GpuLost:
        return False
    return True


def _ask_health(teller: Teller, index: int, handle: object) -> None:
    try:
        for fact in HEALTH:
            teller.call(fact, index, handle)
        for name, question in QUESTIONS:
            teller.ask(index, name, lambda question=question: question(teller.library, handle))  # type: ignore[misc] # a default binds the loop's value
        _look_again(teller, index, handle)
    except GpuLost:
        return


def _look_again(teller: Teller, index: int, handle: object) -> None:
    """A single sample of a slowdown proves little: a second one is taken a moment later."""
    function = teller.library.nvmlDeviceGetCurrentClocksThrottleReasons

    def sample() -> object:
        first = function(handle)
        if first & HELD_DOWN:
            time.sleep(SECOND_LOOK_SECONDS)
            return function(handle)
        return first

    teller.ask(index, "clocks_event_reasons_later", sample)


def _recovery_action(library: ModuleType, handle: object) -> object:
    value = library.nvmlDeviceGetFieldValues(handle, [FIELD_RECOVERY_ACTION])[0]
    if value.nvmlReturn == 2:  # invalid argument: a driver that does not know the field
        return None
    if value.nvmlReturn:
        raise library.NVMLError(value.nvmlReturn)
    return int(value.value.uiVal)


def _inforom_valid(library: ModuleType, handle: object) -> object:
    try:
        library.nvmlDeviceValidateInforom(handle)
    except library.NVMLError as error:
        if error.value == library.NVML_ERROR_CORRUPTED_INFOROM:
            return False
        raise
    return True


def _sram_threshold(library: ModuleType, handle: object) -> object:
    import ctypes

    status = library.c_nvmlEccSramErrorStatus_v1_t()
    library.nvmlDeviceGetSramEccErrorStatus(handle, ctypes.byref(status))
    return bool(status.bThresholdExceeded)


def _remap_banks(library: ModuleType, handle: object) -> object:
    histogram = library.nvmlDeviceGetRowRemapperHistogram(handle)
    return [int(getattr(histogram, name)) for name, _ in histogram._fields_]


def _mig_devices(library: ModuleType, handle: object) -> object:
    if not library.nvmlDeviceGetMigMode(handle)[0]:
        return []
    found = []
    for index in range(library.nvmlDeviceGetMaxMigDeviceCount(handle)):
        try:
            device = library.nvmlDeviceGetMigDeviceHandleByIndex(handle, index)
        except library.NVMLError as error:
            if error.value in (library.NVML_ERROR_NOT_FOUND, library.NVML_ERROR_INVALID_ARGUMENT):
                continue
            raise
        found.append(
            {
                "uuid": text_of(library.nvmlDeviceGetUUID(device)),
                "name": text_of(library.nvmlDeviceGetName(device)),
                "gpu_instance": library.nvmlDeviceGetGpuInstanceId(device),
                "compute_instance": library.nvmlDeviceGetComputeInstanceId(device),
            }
        )
    return found


def _processes(library: ModuleType, handle: object) -> object:
    found = []
    for kind, function in (
        ("compute", library.nvmlDeviceGetComputeRunningProcesses_v3),
        ("graphics", library.nvmlDeviceGetGraphicsRunningProcesses_v3),
    ):
        for one in function(handle):
            memory = None if one.usedGpuMemory is None else int(one.usedGpuMemory)
            found.append({"pid": int(one.pid), "kind": kind, "memory_bytes": memory})
    return found


def _nvlinks(library: ModuleType, handle: object) -> object:
    states: list[bool] = []
    for link in range(MAX_NVLINKS):
        try:
            states.append(bool(library.nvmlDeviceGetNvLinkState(handle, link)))
        except library.NVMLError as error:
            if states and error.value in (library.NVML_ERROR_NOT_SUPPORTED, library.NVML_ERROR_INVALID_ARGUMENT):
                break  # there are no more
            if error.value == library.NVML_ERROR_INVALID_ARGUMENT:
                return None
            raise
    return states


def _fabric(library: ModuleType, handle: object) -> object:
    import ctypes

    for kind in (library.c_nvmlGpuFabricInfo_v3_t, library.c_nvmlGpuFabricInfo_v2_t):
        info = kind()
        try:
            library.nvmlDeviceGetGpuFabricInfoV(handle, ctypes.byref(info))
        except library.NVMLError as error:
            if error.value in (2, *NO_SUCH_VALUE) and kind is not library.c_nvmlGpuFabricInfo_v2_t:
                continue
            raise
        return {
            "state": int(info.state),
            "status": int(info.status),
            "cluster_uuid": _uuid(bytes(info.clusterUuid)),
            "clique": int(info.cliqueId),
            "health_mask": int(info.healthMask),
            "health_summary": int(info.healthSummary) if hasattr(info, "healthSummary") else None,
        }
    return None


def _licence(library: ModuleType, handle: object) -> object:
    """Of a vGPU in its guest; a whole GPU may have licensable features too, which nothing needs."""
    if library.nvmlDeviceGetVirtualizationMode(handle) != VGPU_GUEST:
        return None
    told = library.nvmlDeviceGetGridLicensableFeatures(handle)
    features = list(told.gridLicensableFeatures)[: told.licensableFeaturesCount]
    enabled = [feature for feature in features if feature.featureEnabled] or features
    if not told.isGridLicenseSupported or not enabled:
        return None
    expiry = enabled[0].licenseExpiry
    date = f"{expiry.year:04}-{expiry.month:02}-{expiry.day:02}T{expiry.hour:02}:{expiry.min:02}:{expiry.sec:02}Z"
    return {
        "product": text_of(enabled[0].productName),
        "licensed": bool(enabled[0].featureState),
        "expires": date if expiry.status == EXPIRY_VALID else None,
    }


def _uuid(value: bytes) -> str:
    """Sixteen bytes in the form that a snapshot's redaction knows."""
    digits = value.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


QUESTIONS: tuple[tuple[str, Callable[[ModuleType, object], object]], ...] = (
    ("mig_devices", _mig_devices),
    ("recovery_action", _recovery_action),
    ("inforom_valid", _inforom_valid),
    ("sram_threshold_exceeded", _sram_threshold),
    ("remap_banks", _remap_banks),
    ("processes", _processes),
    ("nvlinks", _nvlinks),
    ("fabric", _fabric),
    ("licence", _licence),
)
"""Facts that take more than one call, or a structure to be filled."""
