"""What NVIDIA's management library answered, GPU by GPU; no I/O.

For each value: None = this GPU or this driver has no such value (NVML says "not supported"); Unknown = the call failed,
in NVML's words, or the library did not answer in time. Codes are those of nvmlReturn_t in nvml.h.
"""

from dataclasses import dataclass
from typing import NamedTuple

from ctk.facts import Unknown

SUCCESS, NO_PERMISSION, DRIVER_NOT_LOADED, LIBRARY_NOT_FOUND = 0, 4, 9, 12
CORRUPTED_INFOROM, GPU_IS_LOST, RESET_REQUIRED, VERSION_MISMATCH, UNKNOWN_ERROR = 14, 15, 16, 18, 999


class NvmlAnswer(NamedTuple):
    """A return code and NVML's own text for it. call: what was asked, by the name of the fact."""

    call: str
    code: int
    text: str


class NvmlHang(NamedTuple):
    """The library did not answer within the deadline; asking: the fact asked for, gpu its index.

    state: D (uninterruptible, in the driver) if any thread of the child was in it, else the state of the first, as
    proc_pid_stat(5) names it. wait_channel: the kernel function it slept in, None = not told.
    """

    deadline_milliseconds: int
    asking: str
    program: str  # the name of the thread that was looked at: python3, or nvidia-modprobe, which the library starts
    state: str
    gpu: int | None = None
    wait_channel: str | None = None


class MigDevice(NamedTuple):
    """One MIG device: a compute instance inside a GPU instance."""

    uuid: str
    name: str
    gpu_instance: int
    compute_instance: int


class GpuProcess(NamedTuple):
    """A process that holds a context on the GPU. memory_bytes None = not told."""

    pid: int
    kind: str  # "compute" or "graphics"
    memory_bytes: int | None


class FabricState(NamedTuple):
    """Registration with the NVLink fabric. state: 0 not supported, 1 not started, 2 in progress, 3 completed.

    status: a return code, valid in state 3. health_mask, health_summary: nvmlGpuFabricInfo_v3_t; None = older call.
    """

    state: int
    status: int
    cluster_uuid: str
    clique: int
    health_mask: int | None
    health_summary: int | None


class ConfidentialState(NamedTuple):
    """Confidential computing on this host: feature on, developer tools mode, GPUs ready for work."""

    feature: bool
    developer_tools: bool
    ready: bool | None | Unknown


class VgpuLicence(NamedTuple):
    """What NVML says of a vGPU inside its guest. expires: RFC 3339, None = never, or that is not told."""

    product: str
    licensed: bool
    expires: str | None = None


class NvmlGpu(NamedTuple):
    """One GPU. address as in sysfs ("0000:3b:00.0"); counts since the driver was loaded unless they say aggregate."""

    index: int  # type: ignore[assignment] # a record has no use for the method that tuples call so
    address: str | None | Unknown
    uuid: str | None | Unknown
    minor: int | None | Unknown
    name: str | None | Unknown
    errors: tuple[NvmlAnswer, ...] = ()  # calls that failed for another reason than "not supported"
    brand: int | None | Unknown = None  # nvmlBrandType_t
    compute_capability: tuple[int, ...] | None | Unknown = None  # major, minor
    vbios: str | None | Unknown = None
    virtualization: int | None | Unknown = None  # nvmlGpuVirtualizationMode_t: 0 none, 1 passthrough, 2 vGPU …
    recovery_action: int | None | Unknown = None  # nvmlDeviceGpuRecoveryAction_t, field 230
    inforom_valid: bool | None | Unknown = None
    persistence_mode: bool | None | Unknown = None
    compute_mode: int | None | Unknown = None  # 0 default, 2 prohibited, 3 exclusive process
    mig_current: bool | None | Unknown = None
    mig_pending: bool | None | Unknown = None
    mig_devices: tuple[MigDevice, ...] | None | Unknown = None
    ecc_current: bool | None | Unknown = None
    ecc_pending: bool | None | Unknown = None
    ecc_uncorrected: int | None | Unknown = None
    ecc_corrected: int | None | Unknown = None
    sram_threshold_exceeded: bool | None | Unknown = None
    retired_pages_single_bit: int | None | Unknown = None
    retired_pages_double_bit: int | None | Unknown = None
    retired_pages_pending: bool | None | Unknown = None
    remapped_rows_corrected: int | None | Unknown = None
    remapped_rows_uncorrected: int | None | Unknown = None
    remap_pending: bool | None | Unknown = None
    remap_failed: bool | None | Unknown = None
    remap_banks: tuple[int, ...] | None | Unknown = None  # banks with max, high, partial, low, no spare rows
    temperature_celsius: int | None | Unknown = None
    temperature_slowdown_celsius: int | None | Unknown = None
    temperature_margin_celsius: int | None | Unknown = None
    clocks_event_reasons: int | None | Unknown = None  # nvmlClocksEventReason bit mask
    clocks_event_reasons_later: int | None | Unknown = None  # a second sample, some time after the first
    power_usage_milliwatts: int | None | Unknown = None
    power_limit_milliwatts: int | None | Unknown = None
    power_default_milliwatts: int | None | Unknown = None
    pcie_replays: int | None | Unknown = None
    pcie_generation: int | None | Unknown = None
    pcie_generation_max: int | None | Unknown = None
    pcie_width: int | None | Unknown = None
    pcie_width_max: int | None | Unknown = None
    memory_total_bytes: int | None | Unknown = None
    memory_used_bytes: int | None | Unknown = None
    processes: tuple[GpuProcess, ...] | None | Unknown = None
    nvlinks: tuple[bool, ...] | None | Unknown = None  # for each link whether it is active
    fabric: FabricState | None | Unknown = None
    addressing_mode: int | None | Unknown = None  # 0 none, 1 HMM, 2 ATS
    licence: VgpuLicence | None | Unknown = None


class PowerState(NamedTuple):
    """A GPU's power/runtime_status in sysfs before and after NVML was asked: active, suspended, error …"""

    address: str
    before: str | None | Unknown
    after: str | None | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Nvml:
    """One conversation with the library. init code 12: it could not be loaded, the text is the loader's."""

    library: str
    init: NvmlAnswer | Unknown
    elapsed_milliseconds: int
    hang: NvmlHang | None = None
    driver_version: str | None | Unknown = None
    cuda_version: int | None | Unknown = None  # 13000 = 13.0
    count: int | None | Unknown = None
    confidential: ConfidentialState | None | Unknown = None
    gpus: tuple[NvmlGpu, ...] | Unknown = ()
    power_states: tuple[PowerState, ...] = ()
