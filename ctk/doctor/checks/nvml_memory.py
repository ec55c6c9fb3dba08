"""The GPUs' memory as NVML counts its faults: ECC errors, retired pages, remapped rows; it judges nothing else."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.nvml_answers import GROUP, each_gpu, judge_value, reset_command, subject_of, told
from ctk.doctor.model import (
    CRITICAL,
    HIGH,
    LOW,
    Check,
    Command,
    Outcome,
    Remedy,
    failed,
    noted,
    passed,
    skipped,
    unseen,
    warned,
)
from ctk.facts import Unknown
from ctk.facts.nvml import NvmlGpu

if TYPE_CHECKING:
    from ctk.facts.snapshot import Snapshot

RETIRED_WARN, RETIRED_FAIL = 15, 60
"""Pages: DCGM's soft limit; a few short of the 64 the board can hold (NVIDIA's page on dynamic page retirement)."""


def check_ecc_mode(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """Off may be somebody's choice; a mode that waits for a reset was chosen and is not in force."""
    return each_gpu(snapshot, lambda gpu: judge_value(gpu.ecc_current, lambda on: _ecc_mode(gpu, on), "ECC memory"))


def _ecc_mode(gpu: NvmlGpu, on: bool) -> Outcome:
    words = {True: "on", False: "off"}
    if isinstance(gpu.ecc_pending, bool) and gpu.ecc_pending != on:
        return warned(
            f"ECC of GPU {subject_of(gpu)} is {words[on]} and will be {words[gpu.ecc_pending]} after a reset",
            told(f"current {words[on]}, pending {words[gpu.ecc_pending]}", "nvmlDeviceGetEccMode"),
            remedy=reset_remedy(gpu),
        )
    if on:
        return passed("ECC is on")
    return noted(f"ECC of GPU {subject_of(gpu)} is off", told("off", "nvmlDeviceGetEccMode"))


def check_ecc_uncorrected(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """The volatile counter: since the driver was loaded."""
    return each_gpu(
        snapshot, lambda gpu: judge_value(gpu.ecc_uncorrected, lambda n: _uncorrected(gpu, n), "ECC memory")
    )


def _uncorrected(gpu: NvmlGpu, count: int) -> Outcome:
    if count == 0:
        return passed("no uncorrected memory error since the driver was loaded")
    return failed(
        f"GPU {subject_of(gpu)} had {count} uncorrected memory errors since the driver was loaded",
        told(f"{count} uncorrected, volatile", "nvmlDeviceGetTotalEccErrors"),
        remedy=reset_remedy(gpu),
    )


def check_sram_threshold(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """The board counts unique errors for each bank and sets the flag by itself."""
    return each_gpu(
        snapshot,
        lambda gpu: judge_value(gpu.sram_threshold_exceeded, lambda over: _sram(gpu, over), "such a threshold"),
    )


def _sram(gpu: NvmlGpu, over: bool) -> Outcome:
    if not over:
        return passed("the SRAM error threshold is not reached")
    return failed(
        f"the SRAM of GPU {subject_of(gpu)} has had more uncorrectable errors than NVIDIA allows",
        told("threshold exceeded", "nvmlDeviceGetSramEccErrorStatus"),
    )


def check_retired_pages(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """Boards before Ampere; newer ones remap rows."""
    return each_gpu(snapshot, _judge_retired)


def _judge_retired(gpu: NvmlGpu) -> Outcome:
    single, double, pending = gpu.retired_pages_single_bit, gpu.retired_pages_double_bit, gpu.retired_pages_pending
    for value in (single, double, pending):
        if isinstance(value, Unknown):
            return unseen(value)
    if not isinstance(single, int) or not isinstance(double, int):
        return skipped("this GPU retires no pages")
    total = single + double
    evidence = told(f"{single} single-bit, {double} double-bit, pending: {pending}", "nvmlDeviceGetRetiredPages")
    if total >= RETIRED_FAIL:
        return failed(f"GPU {subject_of(gpu)} has retired {total} memory pages, as many as it can", evidence)
    if pending and double:
        message = f"GPU {subject_of(gpu)} has a memory page with a double-bit error that only a reset retires"
        return failed(message, evidence, remedy=reset_remedy(gpu))
    if pending or total >= RETIRED_WARN:
        words = "a page waits for a reset to be retired" if pending else f"{total} pages are retired"
        return warned(f"memory of GPU {subject_of(gpu)}: {words}", evidence, remedy=reset_remedy(gpu))
    return passed(f"{total} retired pages", evidence)


def check_remap_failed(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """Not to be read while a GPU is split into MIG instances."""
    return each_gpu(
        snapshot, lambda gpu: judge_value(gpu.remap_failed, lambda bad: _remap_failed(gpu, bad), "row remapping")
    )


def _rows(gpu: NvmlGpu) -> str:
    counts = (gpu.remapped_rows_corrected, "correctable"), (gpu.remapped_rows_uncorrected, "uncorrectable")
    known = ", ".join(f"{count} {kind}" for count, kind in counts if isinstance(count, int))
    return f"rows remapped: {known or 'how many is not told'}"


def _remap_failed(gpu: NvmlGpu, bad: bool) -> Outcome:
    evidence = told(_rows(gpu), "nvmlDeviceGetRemappedRows")
    if not bad:
        return passed("no row remapping has failed", evidence)
    return failed(f"GPU {subject_of(gpu)} could not remap a faulty memory row", evidence)


def check_remap_pending(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """The GPU goes on without the page until a reset puts a spare row in its place."""
    return each_gpu(
        snapshot, lambda gpu: judge_value(gpu.remap_pending, lambda waits: _remap_pending(gpu, waits), "row remapping")
    )


def _remap_pending(gpu: NvmlGpu, waits: bool) -> Outcome:
    evidence = told(_rows(gpu), "nvmlDeviceGetRemappedRows")
    if not waits:
        return passed("no row remapping is pending", evidence)
    message = f"GPU {subject_of(gpu)} has a faulty memory row that a reset would replace"
    return failed(message, evidence, remedy=reset_remedy(gpu))


def check_remap_reserve(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """Banks by how many spare rows they have left: all, many, some, few, none."""
    return each_gpu(
        snapshot, lambda gpu: judge_value(gpu.remap_banks, lambda banks: _reserve(gpu, banks), "row remapping")
    )


def _reserve(gpu: NvmlGpu, banks: tuple[int, ...]) -> Outcome:
    if len(banks) != 5:
        return unseen(Unknown(f"a histogram of {len(banks)} values"))
    low, none = banks[3], banks[4]
    evidence = told(f"banks: {low} with few spare rows, {none} with none", "nvmlDeviceGetRowRemapperHistogram")
    if none:
        return failed(f"{none} memory banks of GPU {subject_of(gpu)} have no spare row left", evidence)
    if low:
        return warned(f"{low} memory banks of GPU {subject_of(gpu)} are short of spare rows", evidence)
    return passed("spare rows remain", evidence)


def reset_remedy(gpu: NvmlGpu) -> Remedy:
    """A reset ends all that runs on the GPU; where NVLink joins several, all of them are reset together."""
    return Remedy(
        "Stop what uses the GPU, then reset it; a reboot does the same",
        (Command(reset_command(gpu), stops_containers=True),),
    )


REPLACE = Remedy(
    "Run NVIDIA's field diagnostic and have the board replaced; its vendor asks for this report",
    (Command("nvidia-smi -q -d ECC,ROW_REMAPPER,PAGE_RETIREMENT", needs_root=False), Command("nvidia-bug-report.sh")),
)
MEMORY_DOC = "NVIDIA GPU memory error management (docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt)"

NVML_MEMORY_CHECKS: tuple[Check, ...] = (
    Check(
        id="nvml.ecc-mode",
        title="ECC mode is as expected",
        group=GROUP,
        layer="L6",
        severity=LOW,
        evaluate=check_ecc_mode,
        reads="current and pending ECC mode of each GPU",
        rule="warn where they differ; info where ECC is off",
        source="NVML API reference, nvmlDeviceGetEccMode",
        needs=("nvml.init",),
        explains=("ECC Mode, Pending: Enabled",),
        remedy=Remedy("Set the mode that is wanted, then reset the GPU", (Command("nvidia-smi --ecc-config=1"),)),
        fix="disruptive",
    ),
    Check(
        id="nvml.ecc-uncorrected",
        title="no volatile uncorrected errors",
        group=GROUP,
        layer="L6",
        severity=CRITICAL,
        evaluate=check_ecc_uncorrected,
        reads="the total of uncorrected ECC errors of each GPU since the driver was loaded",
        rule="fail above 0",
        source=MEMORY_DOC,
        needs=("nvml.ecc-mode",),
        explains=("CUDA error: uncorrectable ECC error encountered", "Xid 48", "Xid 94", "Xid 95"),
        remedy=Remedy("Stop what uses the GPU, then reset it"),
        fix="disruptive",
    ),
    Check(
        id="nvml.sram-threshold",
        title="SRAM error threshold flag not set",
        group=GROUP,
        layer="L6",
        severity=HIGH,
        evaluate=check_sram_threshold,
        reads="bThresholdExceeded of nvmlDeviceGetSramEccErrorStatus",
        rule="fail when set",
        source=MEMORY_DOC,
        needs=("nvml.ecc-mode",),
        explains=("SRAM Threshold Exceeded : Yes",),
        remedy=REPLACE,
    ),
    Check(
        id="nvml.retired-pages",
        title="page retirement within limits (pre-Ampere)",
        group=GROUP,
        layer="L6",
        severity=HIGH,
        evaluate=check_retired_pages,
        reads="retired pages by cause, and whether one is pending",
        rule="fail from 60 pages, or with one pending after a double-bit error; warn from 15, or with any pending",
        source="NVIDIA dynamic page retirement (docs.nvidia.com/deploy/dynamic-page-retirement): 64 pages at most",
        needs=("nvml.init",),
        explains=("Xid 63", "Xid 64"),
        remedy=REPLACE,
        fix="disruptive",
    ),
    Check(
        id="nvml.row-remap-failed",
        title="no row remap failure (Ampere and later)",
        group=GROUP,
        layer="L6",
        severity=CRITICAL,
        evaluate=check_remap_failed,
        reads="failureOccurred of nvmlDeviceGetRemappedRows",
        rule="fail when set",
        source=MEMORY_DOC,
        needs=("nvml.init",),
        explains=("Xid 64", "Remapping Failure Occurred : Yes"),
        remedy=REPLACE,
        fix="manual",
    ),
    Check(
        id="nvml.row-remap-pending",
        title="no remap waits for a reset",
        group=GROUP,
        layer="L6",
        severity=HIGH,
        evaluate=check_remap_pending,
        reads="isPending of nvmlDeviceGetRemappedRows",
        rule="fail when set",
        source=MEMORY_DOC,
        needs=("nvml.init",),
        explains=("Xid 63", "Row Remapper: New row marked for remapping, reset gpu to activate"),
        remedy=Remedy("Stop what uses the GPU, then reset it"),
        fix="disruptive",
    ),
    Check(
        id="nvml.row-remap-reserve",
        title="spare rows remain",
        group=GROUP,
        layer="L6",
        severity=LOW,
        evaluate=check_remap_reserve,
        reads="nvmlDeviceGetRowRemapperHistogram: banks with all, many, some, few and no spare rows",
        rule="fail where a bank has none, warn where one has few",
        source="NVML API reference, nvmlRowRemapperHistogramValues_t",
        needs=("nvml.init",),
        remedy=Remedy("Plan the board's replacement"),
    ),
)
