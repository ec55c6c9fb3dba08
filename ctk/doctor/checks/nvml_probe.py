"""How the conversation with the driver went: whether it hung, and what asking has changed; judges no answer."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import driver_not_loaded
from ctk.doctor.checks.nvml import PERSISTENCE, REBOOT
from ctk.doctor.checks.nvml_answers import told
from ctk.doctor.model import (
    CRITICAL,
    NOTE,
    Check,
    Command,
    Evidence,
    Outcome,
    Remedy,
    failed,
    passed,
    skipped,
    unseen,
    warned,
)
from ctk.facts import Unknown
from ctk.facts.nvml import Nvml

if TYPE_CHECKING:
    from ctk.facts.snapshot import Snapshot

GROUP = "Collector self-checks"
SLOW_MILLISECONDS = 5000


def check_probe_hang(snapshot: "Snapshot") -> Outcome:
    """Only a thread in state D is stuck in the driver; anything else may be slow, stopped or swapped out."""
    nvml = snapshot.nvml
    if not isinstance(nvml, Nvml):
        why = driver_not_loaded(snapshot)
        return skipped(why) if why else unseen(nvml or Unknown("there was no library to ask"))
    hang = nvml.hang
    if hang is None:
        return _judge_time(nvml)
    seconds = hang.deadline_milliseconds / 1000
    where = f" in {hang.wait_channel}" if hang.wait_channel else ""
    about = hang.asking if hang.gpu is None else f"{hang.asking} of GPU {hang.gpu}"
    evidence = (
        told(f"{hang.program} in state {hang.state}{where} after {seconds:g} s", "/proc/PID/stat, wchan"),
        told(f"last question: {about}", nvml.library),
    )
    if hang.state == "D":
        return failed(f"a call of the driver did not return within {seconds:g} s ({about})", *evidence)
    return warned(f"NVML gave no answer within {seconds:g} s ({about}), but is not stuck in the driver", *evidence)


def _judge_time(nvml: Nvml) -> Outcome:
    took = told(f"{nvml.elapsed_milliseconds / 1000:.1f} s", nvml.library)
    if nvml.elapsed_milliseconds <= SLOW_MILLISECONDS:
        return passed("the driver answers", took)
    gpus = nvml.gpus if isinstance(nvml.gpus, tuple) else ()
    cold = any(gpu.persistence_mode is False for gpu in gpus)
    why = "; no persistence daemon keeps the GPUs initialised" if cold else ""
    return warned(f"NVML took {nvml.elapsed_milliseconds / 1000:.0f} s to answer{why}", took, remedy=PERSISTENCE)


def check_observer_effect(snapshot: "Snapshot") -> Outcome:
    """What was read before and after the driver was woken; never a verdict."""
    nvml = snapshot.nvml
    if not isinstance(nvml, Nvml):
        return skipped("the driver was not asked")
    changed = [state for state in nvml.power_states if state.before != state.after]
    evidence = tuple(
        Evidence(f"{state.before} before, {state.after} after", f"/sys/bus/pci/devices/{state.address}/power")
        for state in changed
    )
    if changed:
        return passed("power states were read first: asking NVML has woken a GPU", *evidence)
    return passed("power states were read before NVML was asked, and are the same after it")


NVML_PROBE_CHECKS: tuple[Check, ...] = (
    Check(
        id="collect.observer-effect",
        title="power state was read before the driver was touched",
        group=GROUP,
        layer="L0",
        severity=NOTE,
        evaluate=check_observer_effect,
        reads="each GPU's power/runtime_status in sysfs, before and after NVML was asked",
        rule="always pass; it records what asking has changed",
        source="nvidia-bug-report.sh, which reads the power files before it calls the driver",
        explains=("findings about link width or D3cold that vanish when the doctor runs again",),
    ),
    Check(
        id="collect.probe-hang",
        title="driver calls return within a deadline",
        group=GROUP,
        layer="L6",
        severity=CRITICAL,
        evaluate=check_probe_hang,
        reads="NVML in a child process with a deadline; at the deadline the state and wait channel of its threads",
        rule="fail if a thread is in state D then; warn for any other missing answer, and for one that took over 5 s",
        source="proc_pid_stat(5); a call that hangs gives no error code of its own",
        needs=("driver.module-loaded", "pci.fell-off-bus"),
        explains=("nvidia-smi hangs", "driver rpc error: timed out", "containers stay in ContainerCreating"),
        remedy=Remedy(
            "Find who holds the GPUs and look for Xid 79, 119, 120 or 154 in the kernel log, then drain the node and "
            "reboot it; a process in state D cannot be killed",
            (Command("fuser -v /dev/nvidia*"), REBOOT),
        ),
        fix="disruptive",
    ),
)
