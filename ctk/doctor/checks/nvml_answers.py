"""NVML's answers as values a check can judge: why there is none, and one outcome for each GPU; no check is here."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from ctk.doctor.checks.applies import driver_not_loaded, no_gpu_here
from ctk.doctor.model import Evidence, Outcome, skipped, unseen
from ctk.facts import Unknown
from ctk.facts.nvml import SUCCESS, Nvml, NvmlAnswer, NvmlGpu

if TYPE_CHECKING:
    from ctk.facts.snapshot import Snapshot

T = TypeVar("T")

GROUP = "GPU health through NVML"


def why_silent(snapshot: "Snapshot") -> Outcome | None:
    """What to say where NVML answered nothing; None where its answers can be judged."""
    nvml = snapshot.nvml
    if isinstance(nvml, Nvml):
        if isinstance(nvml.init, Unknown):
            return unseen(nvml.init)
        return None if nvml.init.code == SUCCESS else unseen(Unknown(f"NVML did not start: {describe(nvml.init)}"))
    why = driver_not_loaded(snapshot) or no_gpu_here(snapshot)
    if why:
        return skipped(why)
    return unseen(nvml or Unknown("no libnvidia-ml.so.1 was found where drivers put it"))


def describe(answer: NvmlAnswer) -> str:
    """The text with its number, as people search for it."""
    return f"{answer.text} (NVML {answer.code})"


def each_gpu(snapshot: "Snapshot", judge: Callable[[NvmlGpu], Outcome]) -> Outcome | tuple[Outcome, ...]:
    """One outcome for each GPU that NVML lists."""
    silent = why_silent(snapshot)
    if silent is not None:
        return silent
    nvml = snapshot.nvml
    if not isinstance(nvml, Nvml) or isinstance(nvml.gpus, Unknown):
        return unseen(nvml.gpus) if isinstance(nvml, Nvml) and isinstance(nvml.gpus, Unknown) else skipped("no answer")
    if not nvml.gpus:
        return skipped("NVML lists no GPU")
    return tuple(judge(gpu)._replace(subject=subject_of(gpu)) for gpu in nvml.gpus)


def subject_of(gpu: NvmlGpu) -> str:
    """The GPU's address; its index where NVML did not tell."""
    return gpu.address if isinstance(gpu.address, str) else f"index {gpu.index}"


def judge_value(value: T | None | Unknown, judge: Callable[[T], Outcome], what: str) -> Outcome:
    """The judge's answer for a value that is there. what: the thing a GPU without it does not have."""
    if isinstance(value, Unknown):
        return unseen(value)
    return skipped(f"this GPU or this driver has no {what}") if value is None else judge(value)


def told(value: str, call: str) -> Evidence:
    """Evidence by the name of the function that gave it."""
    return Evidence(value, call)


def reset_command(gpu: NvmlGpu) -> str:
    """How to reset this GPU alone."""
    return f"nvidia-smi --gpu-reset -i {gpu.address if isinstance(gpu.address, str) else gpu.index}"
