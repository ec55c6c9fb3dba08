"""What holds a GPU back while it works: heat, clocks held down, a link that repeats itself; it judges no memory."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.nvml_answers import GROUP, each_gpu, judge_value, subject_of, told
from ctk.doctor.model import LOW, MEDIUM, Check, Command, Outcome, Remedy, failed, passed, skipped, unseen, warned
from ctk.facts import Unknown
from ctk.facts.nvml import NvmlGpu

if TYPE_CHECKING:
    from ctk.facts.snapshot import Snapshot

MARGIN_CELSIUS = 10
REPLAYS = 100
IDLE = 0x1
HARDWARE = ((0x40, "hardware thermal slowdown"), (0x80, "power brake"), (0x8, "hardware slowdown"))
SOFTWARE_THERMAL = 0x20
"""nvmlClocksEventReasons of nvml.h; application clocks, power cap, sync boost and display are no faults."""


def check_temperature(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """Newer boards tell the margin themselves; for older ones it follows from the threshold."""
    return each_gpu(snapshot, _judge_temperature)


def _judge_temperature(gpu: NvmlGpu) -> Outcome:
    now, limit, margin = gpu.temperature_celsius, gpu.temperature_slowdown_celsius, gpu.temperature_margin_celsius
    if isinstance(now, Unknown):
        return unseen(now)
    if not isinstance(now, int):
        return skipped("this GPU tells no temperature")
    left = margin if isinstance(margin, int) else limit - now if isinstance(limit, int) and limit > 0 else None
    evidence = told(f"{now} °C, {left} °C below the slowdown", "nvmlDeviceGetTemperature")
    if left is None:
        return skipped("this GPU tells no temperature at which it slows down")
    if left <= 0:
        return failed(f"GPU {subject_of(gpu)} is too hot and slows down: {now} °C", evidence)
    if left < MARGIN_CELSIUS:
        return warned(f"GPU {subject_of(gpu)} is {left} °C below the temperature at which it slows down", evidence)
    return passed(f"{now} °C", evidence)


def check_throttle(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """Only what two samples show: a single one may be a moment's peak."""
    return each_gpu(snapshot, _judge_throttle)


def _judge_throttle(gpu: NvmlGpu) -> Outcome:
    first, second = gpu.clocks_event_reasons, gpu.clocks_event_reasons_later
    for value in (first, second):
        if isinstance(value, Unknown):
            return unseen(value)
    if not isinstance(first, int) or not isinstance(second, int):
        return skipped("this GPU tells no reasons for its clocks")
    both = first & second
    evidence = told(f"reasons {first:#x}, then {second:#x}", "nvmlDeviceGetCurrentClocksEventReasons")
    words = [name for bit, name in HARDWARE if both & bit]
    if words:
        return failed(f"the clocks of GPU {subject_of(gpu)} are held down: {', '.join(words)}", evidence)
    if both & SOFTWARE_THERMAL:
        return warned(f"the driver holds the clocks of GPU {subject_of(gpu)} down because of heat", evidence)
    return passed("idle" if both & IDLE else "nothing holds the clocks down", evidence)


def check_replays(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """Packets that had to be sent again since the driver was loaded."""
    return each_gpu(snapshot, lambda gpu: judge_value(gpu.pcie_replays, lambda n: _replays(gpu, n), "replay counter"))


def _replays(gpu: NvmlGpu, count: int) -> Outcome:
    evidence = told(f"{count} replays", "nvmlDeviceGetPcieReplayCounter")
    if count <= REPLAYS:
        return passed(f"{count} PCIe replays", evidence)
    return warned(f"the PCIe link of GPU {subject_of(gpu)} had to repeat {count} packets", evidence)


COOLING = Remedy(
    "Look at fans, filters and airflow; until then a lower power limit helps",
    (Command("nvidia-smi -q -d TEMPERATURE,POWER", needs_root=False),),
)

NVML_LOAD_CHECKS: tuple[Check, ...] = (
    Check(
        id="nvml.temperature",
        title="GPU temperature and margin",
        group=GROUP,
        layer="L6",
        severity=MEDIUM,
        evaluate=check_temperature,
        reads="temperature, margin or slowdown threshold of each GPU",
        rule="fail at the slowdown threshold, warn less than 10 °C below it",
        source="NVML API reference, nvmlDeviceGetMarginTemperature, nvmlTemperatureThresholds_t; the margin is gpud's",
        needs=("nvml.init",),
        explains=("jobs get slower the longer they run",),
        remedy=COOLING,
        fix="manual",
    ),
    Check(
        id="nvml.throttle",
        title="clocks are not being held down",
        group=GROUP,
        layer="L6",
        severity=MEDIUM,
        evaluate=check_throttle,
        reads="the reasons for each GPU's clocks, in two samples",
        rule="fail for hardware slowdown, hardware thermal and power brake in both; warn for software thermal",
        source="NVML API reference, nvmlClocksEventReasons",
        needs=("nvml.init",),
        explains=("one GPU of several is slower",),
        remedy=COOLING,
        fix="manual",
    ),
    Check(
        id="nvml.pcie-replay",
        title="PCIe replay counter is low",
        group=GROUP,
        layer="L6",
        severity=LOW,
        evaluate=check_replays,
        reads="nvmlDeviceGetPcieReplayCounter for each GPU",
        rule="warn above 100",
        source="NVML API reference; the threshold is our own",
        needs=("nvml.init",),
        explains=("slow transfers between host and GPU",),
        remedy=Remedy("Seat the card anew and look at the riser; a link that goes on repeating is worn out"),
        fix="manual",
    ),
)
