"""NVML's answers and NVIDIA's daemons on a healthy host, one word each; override what a test is about."""

from ctk.facts.nvml import FabricState, Nvml, NvmlAnswer, NvmlGpu
from ctk.facts.services import FABRIC_MANAGER, Service, Services
from tests.driver_builders import FIRST, SECOND

MIB = 1 << 20
OK = NvmlAnswer(call="init", code=0, text="Success")


def make_nvml_gpu(address: str = FIRST, index: int = 0, **changes: object) -> NvmlGpu:
    """A healthy data-center GPU that does nothing, without NVSwitch."""
    values: dict[str, object] = {
        "index": index,
        "address": address,
        "uuid": f"GPU-5a1e0000-0000-4000-8000-0000000000{index:02d}",
        "minor": index,
        "name": "NVIDIA H100 PCIe",
        "brand": 14,
        "compute_capability": (9, 0),
        "vbios": "96.00.89.00.01",
        "virtualization": 0,
        "recovery_action": 0,
        "inforom_valid": True,
        "persistence_mode": True,
        "compute_mode": 0,
        "mig_current": False,
        "mig_pending": False,
        "mig_devices": (),
        "ecc_current": True,
        "ecc_pending": True,
        "ecc_uncorrected": 0,
        "ecc_corrected": 0,
        "sram_threshold_exceeded": False,
        "remapped_rows_corrected": 0,
        "remapped_rows_uncorrected": 0,
        "remap_pending": False,
        "remap_failed": False,
        "remap_banks": (640, 0, 0, 0, 0),
        "temperature_celsius": 34,
        "temperature_slowdown_celsius": 87,
        "clocks_event_reasons": 1,
        "clocks_event_reasons_later": 1,
        "memory_total_bytes": 81559 * MIB,
        "memory_used_bytes": 0,
        "processes": (),
    }
    return NvmlGpu(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name


def make_nvml(*gpus: NvmlGpu, **changes: object) -> Nvml:
    """Two GPUs, or these."""
    listed = gpus or (make_nvml_gpu(FIRST, 0), make_nvml_gpu(SECOND, 1))
    values: dict[str, object] = {
        "library": "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
        "init": OK,
        "elapsed_milliseconds": 180,
        "driver_version": "580.95.05",
        "cuda_version": 13000,
        "count": len(listed),
        "gpus": listed,
    }
    return Nvml(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name


def make_service(name: str = FABRIC_MANAGER, **changes: object) -> Service:
    """A daemon of the driver's version that runs."""
    values: dict[str, object] = {
        "name": name,
        "unit": "nvidia-fabricmanager.service",
        "enabled": True,
        "masked": False,
        "binary": "/usr/bin/nv-fabricmanager",
        "version": "580.95.05",
        "running": True,
        "pid": 1200,
        "user": 0,
        "running_since": "2024-05-01T08:00:40Z",
        "restarts": 0,
        "result": "success",
    }
    return Service(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name


def make_services(*services: Service, **changes: object) -> Services:
    """These; none by default: a host needs no daemon of NVIDIA's."""
    return Services(services=services, **changes)  # type: ignore[arg-type] # the record's own fields by name


def make_fabric(**changes: object) -> FabricState:
    """Registered with its switches."""
    values: dict[str, object] = {
        "state": 3,
        "status": 0,
        "cluster_uuid": "00000000-0000-0000-0000-000000000000",
        "clique": 0,
        "health_mask": 0,
        "health_summary": 1,
    }
    return FabricState(**{**values, **changes})  # type: ignore[arg-type] # the record's own fields by name
