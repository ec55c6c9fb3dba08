"""Whether NVIDIA's library answers, for which GPUs, and whether one is lost; judges no memory, MIG or links."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import driver_gpus, elsewhere
from ctk.doctor.checks.nvml_answers import (
    GROUP,
    describe,
    each_gpu,
    judge_value,
    reset_command,
    subject_of,
    told,
    why_silent,
)
from ctk.doctor.model import (
    CRITICAL,
    HIGH,
    INSTALL,
    LOW,
    MEDIUM,
    TRIAGE,
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
from ctk.facts.nvml import (
    DRIVER_NOT_LOADED,
    GPU_IS_LOST,
    NO_PERMISSION,
    RESET_REQUIRED,
    SUCCESS,
    VERSION_MISMATCH,
    Nvml,
    NvmlGpu,
)

if TYPE_CHECKING:
    from ctk.facts.snapshot import Snapshot

REBOOT = Command("systemctl reboot", stops_containers=True, reboots=True)


def check_init(snapshot: "Snapshot") -> Outcome:
    """The return code says which of several chains is broken; its root is looked for below."""
    nvml = snapshot.nvml
    if not isinstance(nvml, Nvml) or isinstance(nvml.init, Unknown):
        return why_silent(snapshot) or skipped("the driver was not asked")
    answer = told(f"nvmlInit: {describe(nvml.init)}", nvml.library)
    if nvml.init.code != SUCCESS:
        remedy = INIT_REMEDIES.get(nvml.init.code)
        return failed(f"NVML does not start: {describe(nvml.init)}", answer, remedy=remedy)
    if isinstance(nvml.count, Unknown):
        return unseen(nvml.count)
    if not nvml.count and any(gpu.driver == "nvidia" for gpu in driver_gpus(snapshot)):
        bound = [gpu.address for gpu in driver_gpus(snapshot) if gpu.driver == "nvidia"]
        return failed(
            "NVML finds no device, though GPUs are bound to the driver",
            answer,
            told("0 devices", "nvmlDeviceGetCount"),
            Evidence(", ".join(bound), "/sys/bus/pci/drivers/nvidia"),
        )
    if not nvml.count and isinstance(snapshot.pci, Unknown):
        return unseen(snapshot.pci)
    return passed(f"NVML answers for {nvml.count or 0} GPUs", answer)


def check_device_count(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """In a container or a guest the bus may show GPUs that are not ours to use."""
    silent = why_silent(snapshot)
    why = elsewhere(snapshot)
    if silent is not None or why:
        return silent or skipped(why)
    nvml = snapshot.nvml
    if isinstance(snapshot.pci, Unknown):
        return unseen(snapshot.pci)
    if not isinstance(nvml, Nvml) or isinstance(nvml.gpus, Unknown):
        return unseen(nvml.gpus) if isinstance(nvml, Nvml) and isinstance(nvml.gpus, Unknown) else skipped("no answer")
    listed = {gpu.address for gpu in nvml.gpus if isinstance(gpu.address, str)}
    nameless = [gpu for gpu in nvml.gpus if not isinstance(gpu.address, str)]
    bound = [gpu.address for gpu in driver_gpus(snapshot) if gpu.driver == "nvidia"]
    missing = [address for address in bound if address not in listed]
    if not missing or len(missing) <= len(nameless):  # those are listed, but lost: another check's business
        return passed(f"NVML lists all {len(bound)} GPUs that are bound to the driver")
    counts = (
        told(f"{len(nvml.gpus)} GPUs", "nvmlDeviceGetCount"),
        Evidence(f"{len(bound)} GPUs bound", "/sys/bus/pci/drivers/nvidia"),
    )
    return tuple(
        failed(f"GPU {address} is bound to the driver, but NVML does not list it", *counts, subject=address)
        for address in missing
    )


def check_gpu_lost(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """Any call may be the one that finds out."""
    addresses = _lost_addresses(snapshot)
    answer = each_gpu(snapshot, _judge_lost)
    if isinstance(answer, Outcome) or not addresses:
        return answer
    return tuple(one._replace(subject=addresses.get(one.subject, one.subject)) for one in answer)


def _lost_addresses(snapshot: "Snapshot") -> dict[str, str]:
    """Where one GPU of the bus has no answer and one answer has no address, they belong together."""
    nvml = snapshot.nvml
    gpus = nvml.gpus if isinstance(nvml, Nvml) and isinstance(nvml.gpus, tuple) else ()
    nameless = [gpu for gpu in gpus if not isinstance(gpu.address, str)]
    listed = {gpu.address for gpu in gpus}
    missing = [gpu.address for gpu in driver_gpus(snapshot) if gpu.driver == "nvidia" and gpu.address not in listed]
    return {subject_of(nameless[0]): missing[0]} if len(nameless) == len(missing) == 1 else {}


def _judge_lost(gpu: NvmlGpu) -> Outcome:
    for error in gpu.errors:
        evidence = told(f"{error.call}: {describe(error)}", "NVML")
        if error.code == GPU_IS_LOST:
            return failed(f"GPU {subject_of(gpu)} is lost: it no longer answers on the bus", evidence)
        if error.code == RESET_REQUIRED:
            remedy = Remedy(
                "Stop what uses the GPU, then reset it", (Command(reset_command(gpu), stops_containers=True),)
            )
            return failed(f"GPU {subject_of(gpu)} has to be reset before it works again", evidence, remedy=remedy)
        if error.call == "handle":
            return failed(f"GPU {subject_of(gpu)} cannot be opened: {describe(error)}", evidence)
    return passed("every call was answered")


def check_recovery_action(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """The driver's own advice; its numbers are nvmlDeviceGpuRecoveryAction_t."""
    return each_gpu(snapshot, lambda gpu: judge_value(gpu.recovery_action, lambda v: _action(gpu, v), "such advice"))


def _action(gpu: NvmlGpu, action: int) -> Outcome:
    evidence = told(f"recovery action {action}", "NVML_FI_DEV_GET_GPU_RECOVERY_ACTION")
    if action == 0:
        return passed("the driver asks for nothing", evidence)
    words, commands = ACTIONS.get(action, ("an action that this ctk does not know", ()))
    texts = tuple(Command(text.format(reset=reset_command(gpu)), True, (), True, "reboot" in text) for text in commands)
    return failed(
        f"the driver asks for {words} on GPU {subject_of(gpu)}",
        evidence,
        remedy=Remedy(f"Stop what uses the GPU; then: {words}", texts),
    )


ACTIONS: dict[int, tuple[str, tuple[str, ...]]] = {
    1: ("a reset of the GPU", ("{reset}",)),
    2: ("a reboot of the node", ("systemctl reboot",)),
    3: ("an end of all peer-to-peer traffic", ()),
    4: ("a drain and a reset of the GPU", ("{reset}",)),
    5: ("a recovery of the IMEX domain", ("systemctl restart nvidia-imex",)),
    6: ("a reset of the bus", ()),
    7: ("a reboot of the whole system", ("systemctl reboot",)),
}


def check_inforom(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """The board's own memory of its configuration and faults."""
    return each_gpu(snapshot, lambda gpu: judge_value(gpu.inforom_valid, lambda v: _inforom(gpu, v), "InfoROM"))


def _inforom(gpu: NvmlGpu, valid: bool) -> Outcome:
    if valid:
        return passed("the InfoROM is valid")
    return failed(f"the InfoROM of GPU {subject_of(gpu)} is corrupted", told("corrupted", "nvmlDeviceValidateInforom"))


def check_persistence(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """Off is the driver's default and no fault of a healthy host: a fact worth knowing."""
    return each_gpu(
        snapshot, lambda gpu: judge_value(gpu.persistence_mode, lambda v: _persistence(gpu, v), "persistence mode")
    )


def _persistence(gpu: NvmlGpu, on: bool) -> Outcome:
    if on:
        return passed("persistence mode is on")
    evidence = told("off", "nvmlDeviceGetPersistenceMode")
    return noted(f"GPU {subject_of(gpu)} is started anew for each first user: persistence mode is off", evidence)


PERSISTENCE = Remedy(
    "Let the persistence daemon keep the GPUs initialised",
    (Command("systemctl enable --now nvidia-persistenced", restarts=("nvidia-persistenced",)),),
)
INIT_REMEDIES = {
    NO_PERMISSION: Remedy("Run as root, or give the device nodes the driver's default mode 0666"),
    DRIVER_NOT_LOADED: Remedy("Load the driver", (Command("modprobe -a nvidia nvidia-uvm"),)),
    VERSION_MISMATCH: Remedy(
        "Load the module that belongs to the installed libraries; a reboot does it for certain", (REBOOT,)
    ),
}

NVML_CHECKS: tuple[Check, ...] = (
    Check(
        id="nvml.init",
        title="NVML initialises and counts devices",
        group=GROUP,
        layer="L6",
        severity=CRITICAL,
        evaluate=check_init,
        reads="nvmlInit and nvmlDeviceGetCount of the library in the driver's root, when the kernel module is loaded",
        rule="fail for any return code but success, and for no device while GPUs are bound to the driver",
        source="NVML API reference, nvmlReturn_t",
        needs=(
            "lib.nvml-loadable",
            "device.control-node",
            "device.gpu-nodes",
            "device.major-current",
            "device.dev-mount",
            "driver.version-mismatch",
            "driver.module-loaded",
            "vgpu.guest-driver",
        ),
        explains=("Failed to initialize NVML", "No devices were found"),
        remedy=Remedy(
            "Run nvidia-smi on the host; what it says holds for every container too",
            (Command("nvidia-smi", needs_root=False),),
        ),
        profiles=(TRIAGE, INSTALL),
    ),
    Check(
        id="nvml.device-count",
        title="NVML count equals bound GPUs",
        group=GROUP,
        layer="L6",
        severity=HIGH,
        evaluate=check_device_count,
        reads="NVML's list of GPUs, and the GPUs that the bus shows bound to the driver",
        rule="fail for each GPU that is bound and not in the list",
        source="NVML API reference, nvmlDeviceGetCount; derived",
        needs=("nvml.init", "driver.proc-gpu-count", "pci.fell-off-bus", "driver.rm-init-failed", "device.gpu-nodes"),
        explains=("Unable to determine the device handle for GPU: Unknown Error", "unknown device"),
        remedy=Remedy(
            "Look for the GPU's address in the kernel log, then switch the machine off and on; if it stays away, the "
            "board or its seat is at fault",
            (Command("dmesg | grep -i nvrm"),),
        ),
        profiles=(TRIAGE, INSTALL),
    ),
    Check(
        id="nvml.gpu-lost",
        title="no GPU is lost or needs a reset",
        group=GROUP,
        layer="L6",
        severity=CRITICAL,
        evaluate=check_gpu_lost,
        reads="the return codes of all calls for each GPU",
        rule="fail for 15 (lost), 16 (reset required), and for a GPU that cannot be opened",
        source="NVML API reference, nvmlReturn_t",
        needs=("nvml.init", "pci.fell-off-bus"),
        explains=("GPU is lost. Reboot the system to recover this GPU", "GPU requires reset"),
        remedy=Remedy("Drain the node and reboot it; a GPU that fell off the bus may need its power cut", (REBOOT,)),
        fix="disruptive",
    ),
    Check(
        id="nvml.recovery-action",
        title="driver recommends no recovery action",
        group=GROUP,
        layer="L6",
        severity=HIGH,
        evaluate=check_recovery_action,
        reads="field 230 of each GPU",
        rule="fail for any action but none",
        source="NVML API reference, NVML_FI_DEV_GET_GPU_RECOVERY_ACTION and nvmlDeviceGpuRecoveryAction_t",
        needs=(
            "nvml.init",
            "nvml.ecc-uncorrected",
            "nvml.row-remap-failed",
            "xid.hardware",
            "xid.driver",
            "driver.gsp-state",
        ),
        explains=("jobs fail on one GPU of several",),
        remedy=Remedy("Do what the driver asks for"),
        fix="disruptive",
    ),
    Check(
        id="nvml.inforom",
        title="InfoROM is valid",
        group=GROUP,
        layer="L6",
        severity=MEDIUM,
        evaluate=check_inforom,
        reads="nvmlDeviceValidateInforom for each GPU",
        rule="fail for return code 14",
        source="NVML API reference; manual of nvidia-smi, return code 14",
        needs=("nvml.init",),
        explains=("WARNING: infoROM is corrupted at gpu",),
        remedy=Remedy("Ask the board's vendor for its tool, or have the board replaced"),
    ),
    Check(
        id="nvml.persistence-mode",
        title="persistence mode",
        group=GROUP,
        layer="L6",
        severity=LOW,
        evaluate=check_persistence,
        reads="nvmlDeviceGetPersistenceMode for each GPU",
        rule="info where it is off",
        source="NVIDIA driver persistence documentation",
        needs=("nvml.init",),
        explains=("the first use of a GPU takes seconds",),
        remedy=PERSISTENCE,
        fix="safe",
    ),
)
