"""How GPUs are shared out: MIG, compute mode, confidential computing; it judges no health."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import loaded_version, version_tuple
from ctk.doctor.checks.nvml_answers import GROUP, each_gpu, judge_value, reset_command, subject_of, told, why_silent
from ctk.doctor.model import (
    HIGH,
    MEDIUM,
    Check,
    Command,
    Outcome,
    Remedy,
    failed,
    passed,
    skipped,
    unseen,
    warned,
)
from ctk.facts import Unknown
from ctk.facts.nvml import ConfidentialState, Nvml, NvmlGpu

if TYPE_CHECKING:
    from ctk.facts.snapshot import Snapshot

PROHIBITED, EXCLUSIVE_THREAD, EXCLUSIVE_PROCESS = 2, 1, 3
WORDS = {True: "on", False: "off"}


def check_mig_pending(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """A mode that was set is in force only after a reset, which a busy GPU cannot have."""
    return each_gpu(snapshot, lambda gpu: judge_value(gpu.mig_current, lambda now: _pending(gpu, now), "MIG"))


def _pending(gpu: NvmlGpu, now: bool) -> Outcome:
    if isinstance(gpu.mig_pending, Unknown):
        return unseen(gpu.mig_pending)
    if gpu.mig_pending is None or gpu.mig_pending == now:
        return passed(f"MIG is {WORDS[now]}")
    users = gpu.processes if isinstance(gpu.processes, tuple) else ()
    return failed(
        f"MIG of GPU {subject_of(gpu)} is {WORDS[now]} and will be {WORDS[gpu.mig_pending]} after a reset",
        told(f"current {WORDS[now]}, pending {WORDS[gpu.mig_pending]}", "nvmlDeviceGetMigMode"),
        told(f"{len(users)} processes hold it", "nvmlDeviceGetComputeRunningProcesses"),
        remedy=Remedy(
            "Stop all that holds the GPU (containers, DCGM, nvidia-persistenced), then reset it; in a virtual machine "
            "reboot instead",
            (Command(reset_command(gpu), stops_containers=True),),
        ),
    )


def check_mig_instances(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """CUDA cannot use a GPU in MIG mode as a whole."""
    return each_gpu(snapshot, _judge_instances)


def _judge_instances(gpu: NvmlGpu) -> Outcome:
    if isinstance(gpu.mig_current, Unknown):
        return unseen(gpu.mig_current)
    if not gpu.mig_current:
        return skipped("MIG is off")
    devices = gpu.mig_devices
    if devices is None or isinstance(devices, Unknown):
        return unseen(devices or Unknown("its MIG devices were not told"))
    if devices:
        return passed(f"{len(devices)} MIG devices")
    return failed(
        f"GPU {subject_of(gpu)} is in MIG mode without an instance: no program can use it",
        told("0 MIG devices", "nvmlDeviceGetMigDeviceHandleByIndex"),
        remedy=Remedy(
            "Create instances, or switch MIG off",
            (
                Command(f"nvidia-smi mig -lgip -i {gpu.index}"),
                Command(f"nvidia-smi mig -i {gpu.index} -cgi PROFILE -C"),
            ),
        ),
    )


def check_mig_floor(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """By the product's name, because no device id is in NVIDIA's table."""
    version = loaded_version(snapshot)
    return each_gpu(snapshot, lambda gpu: _judge_floor(gpu, version))


def _judge_floor(gpu: NvmlGpu, version: str | None | Unknown) -> Outcome:
    from ctk.doctor.data.mig import DATE, SOURCE, find_floor

    if isinstance(gpu.mig_current, Unknown):
        return unseen(gpu.mig_current)
    if not (gpu.mig_current or gpu.mig_pending is True):
        return skipped("MIG is off")
    if not isinstance(gpu.name, str) or not isinstance(version, str):
        return unseen(next((v for v in (gpu.name, version) if isinstance(v, Unknown)), Unknown("no driver version")))
    floor = find_floor(gpu.name)
    if floor is None:
        return unseen(Unknown(f"the table of {DATE} does not have {gpu.name}"))
    if version_tuple(version) >= version_tuple(floor):
        return passed(f"driver {version} knows MIG on {gpu.name}")
    return failed(
        f"driver {version} is older than {floor}, the first with MIG for {gpu.name}",
        told(version, "/sys/module/nvidia/version"),
        told(f"{floor} ({DATE})", SOURCE),
    )


def check_compute_mode(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """One process for each GPU is what MPS wants, and what breaks sharing without it."""
    return each_gpu(
        snapshot, lambda gpu: judge_value(gpu.compute_mode, lambda m: _mode(snapshot, gpu, m), "such a mode")
    )


def _mode(snapshot: "Snapshot", gpu: NvmlGpu, mode: int) -> Outcome:
    evidence = told(f"compute mode {mode}", "nvmlDeviceGetComputeMode")
    remedy = Remedy("Let every process use the GPU", (Command(f"nvidia-smi --compute-mode=0 -i {gpu.index}"),))
    if mode == PROHIBITED:
        return failed(f"GPU {subject_of(gpu)} is set to run no compute work", evidence, remedy=remedy)
    if mode == EXCLUSIVE_PROCESS and _has_mps(snapshot):
        return passed("one process at a time: MPS shares it", evidence)
    if mode in (EXCLUSIVE_PROCESS, EXCLUSIVE_THREAD):
        return warned(f"only one process at a time may use GPU {subject_of(gpu)}", evidence, remedy=remedy)
    return passed("every process may use it", evidence)


def _has_mps(snapshot: "Snapshot") -> bool:
    services = snapshot.services
    if services is None or isinstance(services, Unknown):
        return False
    mps = services.find("mps")
    return mps is not None and mps.running is True


def check_confidential(snapshot: "Snapshot") -> Outcome:
    """CUDA refuses every call until the owner of the guest has attested the GPUs and set them ready."""
    silent = why_silent(snapshot)
    if silent is not None:
        return silent
    state = snapshot.nvml.confidential if isinstance(snapshot.nvml, Nvml) else None
    if isinstance(state, Unknown):
        return unseen(state)
    if not isinstance(state, ConfidentialState) or not state.feature:
        return skipped("confidential computing is off, or not known to this driver")
    if isinstance(state.ready, Unknown):
        return unseen(state.ready)
    if state.ready is False:
        evidence = told("on, and not ready", "nvmlSystemGetConfComputeGpusReadyState")
        return failed("confidential computing is on, but the GPUs are not set ready: CUDA refuses to start", evidence)
    if state.developer_tools:
        evidence = told("developer tools mode", "nvmlSystemGetConfComputeState")
        return warned("confidential computing runs in developer tools mode, which protects nothing", evidence)
    return passed("confidential computing is on and the GPUs are ready")


NVML_SHARING_CHECKS: tuple[Check, ...] = (
    Check(
        id="nvml.compute-mode",
        title="compute mode allows the intended sharing",
        group=GROUP,
        layer="L6",
        severity=MEDIUM,
        evaluate=check_compute_mode,
        reads="the compute mode of each GPU, and whether the MPS control daemon runs",
        rule="fail for prohibited; warn for exclusive without MPS",
        source="NVML API reference, nvmlComputeMode_t",
        needs=("nvml.init",),
        explains=("all CUDA-capable devices are busy or unavailable",),
        remedy=Remedy("Let every process use the GPU", (Command("nvidia-smi --compute-mode=0"),)),
        fix="safe",
    ),
    Check(
        id="nvml.mig-pending",
        title="MIG mode current equals pending",
        group=GROUP,
        layer="L6",
        severity=HIGH,
        evaluate=check_mig_pending,
        reads="current and pending MIG mode of each GPU, and the processes that hold it",
        rule="fail where they differ",
        source="MIG user guide, Enable MIG Mode",
        needs=("nvml.init",),
        explains=("Warning: MIG mode is in pending enable state for GPU", "In use by another client"),
        remedy=Remedy("Stop all that holds the GPU, then reset it"),
        fix="disruptive",
    ),
    Check(
        id="nvml.mig-instances",
        title="MIG-enabled GPUs have instances",
        group=GROUP,
        layer="L6",
        severity=MEDIUM,
        evaluate=check_mig_instances,
        reads="the MIG devices of each GPU in MIG mode",
        rule="fail without one",
        source="MIG user guide, Creating GPU Instances",
        needs=("nvml.mig-pending",),
        explains=("no CUDA-capable device is detected", "the device plugin advertises 0 devices"),
        remedy=Remedy("Create instances, or switch MIG off"),
        fix="guarded",
    ),
    Check(
        id="nvml.mig-driver-floor",
        title="driver is new enough for MIG on this GPU",
        group=GROUP,
        layer="L6",
        severity=HIGH,
        evaluate=check_mig_floor,
        reads="the product's name, the running driver's version, the table of first drivers",
        rule="fail below the table's version where MIG is on or asked for",
        source="MIG user guide, edition 620: Supported GPUs",
        needs=("nvml.init",),
        explains=("Unable to enable MIG Mode for GPU: Not Supported",),
        remedy=Remedy("Install a driver that knows MIG on this product"),
        fix="manual",
    ),
    Check(
        id="nvml.conf-compute",
        title="confidential computing state",
        group=GROUP,
        layer="L6",
        severity=HIGH,
        evaluate=check_confidential,
        reads="nvmlSystemGetConfComputeState and nvmlSystemGetConfComputeGpusReadyState",
        rule="fail when on and not ready; warn in developer tools mode",
        source="NVML API reference, nvmlConfComputeSystemState_t; NVIDIA confidential computing deployment guide",
        needs=("nvml.init",),
        explains=("CUDA error 802: system not yet initialized",),
        remedy=Remedy(
            "Attest the GPUs, then set them ready",
            (Command("nvidia-smi conf-compute -srs 1"),),
        ),
        fix="guarded",
    ),
)
