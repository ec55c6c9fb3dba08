"""The checks of what NVML answers: one row for each status they can give."""

import dataclasses
from typing import Any

import pytest

from ctk.doctor.causes import find_causes
from ctk.doctor.checks.nvml import NVML_CHECKS
from ctk.doctor.checks.nvml_load import NVML_LOAD_CHECKS
from ctk.doctor.checks.nvml_memory import NVML_MEMORY_CHECKS
from ctk.doctor.checks.nvml_probe import NVML_PROBE_CHECKS
from ctk.doctor.checks.nvml_sharing import NVML_SHARING_CHECKS
from ctk.doctor.data.mig import find_floor
from ctk.doctor.model import FAIL, SKIP, UNKNOWN
from ctk.doctor.run import run_checks
from ctk.facts import Unknown
from ctk.facts.nvml import ConfidentialState, GpuProcess, MigDevice, NvmlAnswer, NvmlGpu, NvmlHang, PowerState
from ctk.facts.pci import Pci
from ctk.facts.services import MPS
from ctk.facts.snapshot import Snapshot
from tests.builders import make_snapshot, make_system
from tests.driver_builders import FIRST, SECOND, make_driver, make_function, make_modules, make_pci
from tests.nvml_builders import make_nvml, make_nvml_gpu, make_service, make_services
from tests.unit.doctor.tables import Row, assert_row, params

CHECKS = (*NVML_PROBE_CHECKS, *NVML_CHECKS, *NVML_MEMORY_CHECKS, *NVML_LOAD_CHECKS, *NVML_SHARING_CHECKS)
LOST = Unknown("GPU is lost (NVML 15)")
HANG = NvmlHang(
    deadline_milliseconds=30000,
    asking="init",
    gpu=None,
    program="python3",
    state="D",
    wait_channel="rm_init_adapter",
)
NOT_LOADED = make_snapshot(
    nvml=Unknown("not asked: the kernel module nvidia is not loaded"), modules=make_modules(loaded=())
)
SWITCHED_OFF = make_snapshot(nvml=Unknown("not asked: --no-nvml"))
JETSON = make_snapshot(
    system=make_system(jetson=True), pci=None, modules=make_modules(loaded=()), nvml=Unknown("not asked: no module")
)


def answers(**changes: object) -> Snapshot:
    return make_snapshot(nvml=make_nvml(**changes))


def one(**changes: object) -> Snapshot:
    """The second of two GPUs is like this."""
    second: Any = make_nvml_gpu(SECOND, 1)._replace(**changes)  # type: ignore[arg-type] # the record's own fields
    return make_snapshot(nvml=make_nvml(make_nvml_gpu(FIRST, 0), second))


def started(code: int, text: str) -> Snapshot:
    reason = Unknown(f"{text} (NVML {code})")
    init = NvmlAnswer(call="init", code=code, text=text)
    return answers(init=init, gpus=reason, count=reason, driver_version=reason, confidential=reason)


def unopened(code: int, text: str) -> dict[str, object]:
    """A GPU that could not be opened."""
    facts = {name: LOST for name in NvmlGpu._fields if name not in ("index", "errors")}
    return {**facts, "errors": (NvmlAnswer(call="handle", code=code, text=text),)}


def conf(*, ready: bool | None | Unknown, developer: bool = False, feature: bool = True) -> Snapshot:
    return answers(confidential=ConfidentialState(feature=feature, developer_tools=developer, ready=ready))


GONE = make_nvml_gpu(SECOND, 1)._replace(**unopened(15, "GPU is lost"))  # type: ignore[arg-type] # the record's own fields
MIG_ON = {"mig_current": True, "mig_pending": True}
DEVICE = MigDevice(
    uuid="MIG-5a1e0000-0000-4000-8000-000000000001", name="MIG 1g.10gb", gpu_instance=7, compute_instance=0
)
USER = (GpuProcess(pid=77, kind="compute", memory_bytes=None),)
WOKEN = (PowerState(address=FIRST, before="suspended", after="active"),)
NOBODY = Unknown("permission denied")

PROBE_ROWS = [
    Row("collect.probe-hang", "quick", make_snapshot(), "pass", "answers"),
    Row("collect.probe-hang", "stuck", answers(hang=HANG), "fail", "did not return within 30 s"),
    Row("collect.probe-hang", "slow-child", answers(hang=HANG._replace(state="S")), "warn", "not stuck"),
    Row("collect.probe-hang", "slow", answers(elapsed_milliseconds=8000), "warn", "8 s"),
    Row("collect.probe-hang", "off", SWITCHED_OFF, "unknown", "--no-nvml"),
    Row("collect.probe-hang", "no-module", NOT_LOADED, "skip", "not loaded"),
    Row("collect.observer-effect", "same", make_snapshot(), "pass", "the same"),
    Row("collect.observer-effect", "woken", answers(power_states=WOKEN), "pass", "woken"),
    Row("collect.observer-effect", "off", SWITCHED_OFF, "skip"),
    Row("nvml.init", "good", make_snapshot(), "pass", "2 GPUs"),
    Row("nvml.init", "mismatch", started(18, "Driver/library version mismatch"), "fail", "mismatch (NVML 18)"),
    Row("nvml.init", "not-loaded", started(9, "Driver Not Loaded"), "fail", "(NVML 9)"),
    Row("nvml.init", "unknown-error", started(999, "Unknown Error"), "fail", "(NVML 999)"),
    Row("nvml.init", "no-device", answers(gpus=(), count=0), "fail", "no device"),
    Row("nvml.init", "no-device-and-none-bound", make_snapshot(nvml=make_nvml(gpus=(), count=0), pci=Pci()), "pass"),
    Row("nvml.init", "hung", answers(init=Unknown("no answer within 30 s"), hang=HANG), "unknown", "30 s"),
    Row("nvml.init", "off", SWITCHED_OFF, "unknown", "--no-nvml"),
    Row("nvml.init", "no-library", make_snapshot(nvml=None), "unknown", "libnvidia-ml.so.1"),
    Row("nvml.init", "no-module", NOT_LOADED, "skip"),
    Row("nvml.init", "jetson", JETSON, "skip", "Jetson"),
    Row("nvml.device-count", "all", make_snapshot(), "pass", "all 2"),
    Row(
        "nvml.device-count",
        "one-missing",
        answers(gpus=(make_nvml_gpu(FIRST),), count=1),
        "fail",
        "does not list it",
        SECOND,
    ),
    Row("nvml.device-count", "one-lost-but-listed", answers(gpus=(make_nvml_gpu(FIRST), GONE)), "pass"),
    Row("nvml.device-count", "bus-closed", make_snapshot(pci=NOBODY), "unknown"),
    Row("nvml.device-count", "container", make_snapshot(system=make_system(container="lxc")), "skip", "lxc"),
    Row("nvml.device-count", "not-started", started(18, "mismatch"), "unknown"),
    Row("nvml.gpu-lost", "none", make_snapshot(), "pass"),
    Row(
        "nvml.gpu-lost",
        "lost",
        one(errors=(NvmlAnswer(call="vbios", code=15, text="GPU is lost"),)),
        "fail",
        "lost",
        SECOND,
    ),
    Row("nvml.gpu-lost", "reset", one(errors=(NvmlAnswer(call="vbios", code=16, text="x"),)), "fail", "reset", SECOND),
    Row("nvml.gpu-lost", "not-opened", one(**unopened(999, "Unknown Error")), "fail", "cannot be opened"),
    Row("nvml.gpu-lost", "nameless", answers(gpus=(make_nvml_gpu(FIRST), GONE)), "fail", "lost", SECOND),
    Row("nvml.gpu-lost", "no-gpu", answers(gpus=(), count=0), "skip"),
    Row("nvml.recovery-action", "none", make_snapshot(), "pass"),
    Row("nvml.recovery-action", "reset", one(recovery_action=4), "fail", "drain and a reset", SECOND),
    Row("nvml.recovery-action", "new", one(recovery_action=99), "fail", "does not know"),
    Row("nvml.recovery-action", "old-driver", answers(gpus=(make_nvml_gpu(recovery_action=None),)), "skip"),
    Row("nvml.recovery-action", "lost", one(recovery_action=LOST), "unknown", "GPU is lost", SECOND),
    Row("nvml.inforom", "valid", make_snapshot(), "pass"),
    Row("nvml.inforom", "corrupted", one(inforom_valid=False), "fail", "corrupted", SECOND),
    Row("nvml.persistence-mode", "on", make_snapshot(), "pass"),
    Row("nvml.persistence-mode", "off", one(persistence_mode=False), "info", "persistence mode is off", SECOND),
]
MEMORY_ROWS = [
    Row("nvml.ecc-mode", "on", make_snapshot(), "pass"),
    Row("nvml.ecc-mode", "off", one(ecc_current=False, ecc_pending=False), "info", "off", SECOND),
    Row("nvml.ecc-mode", "pending", one(ecc_pending=False), "warn", "will be off", SECOND),
    Row("nvml.ecc-mode", "no-ecc", answers(gpus=(make_nvml_gpu(ecc_current=None),)), "skip"),
    Row("nvml.ecc-uncorrected", "none", make_snapshot(), "pass"),
    Row("nvml.ecc-uncorrected", "four", one(ecc_uncorrected=4), "fail", "4 uncorrected", SECOND),
    Row("nvml.ecc-uncorrected", "closed", one(ecc_uncorrected=NOBODY), "unknown", "permission denied"),
    Row("nvml.sram-threshold", "below", make_snapshot(), "pass"),
    Row("nvml.sram-threshold", "over", one(sram_threshold_exceeded=True), "fail", "SRAM", SECOND),
    Row("nvml.retired-pages", "new-board", make_snapshot(), "skip"),
    Row("nvml.retired-pages", "few", one(retired_pages_single_bit=1, retired_pages_double_bit=0), "pass", "1 retired"),
    Row("nvml.retired-pages", "many", one(retired_pages_single_bit=14, retired_pages_double_bit=1), "warn", "15"),
    Row("nvml.retired-pages", "full", one(retired_pages_single_bit=0, retired_pages_double_bit=60), "fail", "60"),
    Row(
        "nvml.retired-pages",
        "pending",
        one(retired_pages_single_bit=2, retired_pages_double_bit=0, retired_pages_pending=True),
        "warn",
        "waits for a reset",
    ),
    Row(
        "nvml.retired-pages",
        "pending-double",
        one(retired_pages_single_bit=0, retired_pages_double_bit=1, retired_pages_pending=True),
        "fail",
        "double-bit",
    ),
    Row("nvml.retired-pages", "closed", one(retired_pages_single_bit=NOBODY), "unknown"),
    Row("nvml.row-remap-failed", "good", make_snapshot(), "pass"),
    Row("nvml.row-remap-failed", "bad", one(remap_failed=True), "fail", "could not remap", SECOND),
    Row("nvml.row-remap-failed", "mig", answers(gpus=(make_nvml_gpu(remap_failed=None),)), "skip"),
    Row("nvml.row-remap-pending", "good", make_snapshot(), "pass"),
    Row("nvml.row-remap-pending", "waits", one(remap_pending=True), "fail", "reset would replace", SECOND),
    Row("nvml.row-remap-reserve", "good", make_snapshot(), "pass"),
    Row("nvml.row-remap-reserve", "few", one(remap_banks=(600, 0, 0, 1, 0)), "warn", "short of", SECOND),
    Row("nvml.row-remap-reserve", "none", one(remap_banks=(600, 0, 0, 0, 2)), "fail", "no spare row", SECOND),
    Row("nvml.row-remap-reserve", "strange", one(remap_banks=(1, 2)), "unknown"),
]
LOAD_ROWS = [
    Row("nvml.temperature", "cool", make_snapshot(), "pass", "34"),
    Row("nvml.temperature", "warm", one(temperature_celsius=80), "warn", "7 °C below", SECOND),
    Row("nvml.temperature", "hot", one(temperature_celsius=88), "fail", "too hot", SECOND),
    Row("nvml.temperature", "margin-counts-first", one(temperature_celsius=88, temperature_margin_celsius=30), "pass"),
    Row("nvml.temperature", "no-margin-left", one(temperature_margin_celsius=-1), "fail", "too hot", SECOND),
    Row("nvml.temperature", "no-threshold", answers(gpus=(make_nvml_gpu(temperature_slowdown_celsius=None),)), "skip"),
    Row("nvml.temperature", "closed", one(temperature_celsius=NOBODY), "unknown"),
    Row("nvml.throttle", "idle", make_snapshot(), "pass", "idle"),
    Row("nvml.throttle", "power-cap", one(clocks_event_reasons=4, clocks_event_reasons_later=4), "pass", "idle"),
    Row(
        "nvml.throttle", "brake", one(clocks_event_reasons=0x80, clocks_event_reasons_later=0x88), "fail", "power brake"
    ),
    Row("nvml.throttle", "one-sample-only", one(clocks_event_reasons=0x48, clocks_event_reasons_later=1), "pass"),
    Row(
        "nvml.throttle", "heat", one(clocks_event_reasons=0x20, clocks_event_reasons_later=0x20), "warn", "heat", SECOND
    ),
    Row("nvml.throttle", "not-told", answers(gpus=(make_nvml_gpu(clocks_event_reasons=None),)), "skip"),
    Row("nvml.throttle", "closed", one(clocks_event_reasons_later=NOBODY), "unknown"),
    Row("nvml.pcie-replay", "few", one(pcie_replays=100), "pass"),
    Row("nvml.pcie-replay", "many", one(pcie_replays=101), "warn", "101 packets", SECOND),
    Row("nvml.pcie-replay", "not-told", make_snapshot(), "skip"),
]
SHARING_ROWS = [
    Row("nvml.compute-mode", "default", make_snapshot(), "pass"),
    Row("nvml.compute-mode", "prohibited", one(compute_mode=2), "fail", "no compute work", SECOND),
    Row("nvml.compute-mode", "exclusive", one(compute_mode=3), "warn", "one process", SECOND),
    Row(
        "nvml.compute-mode",
        "exclusive-for-mps",
        dataclasses.replace(one(compute_mode=3), services=make_services(make_service(MPS))),
        "pass",
    ),
    Row("nvml.mig-pending", "off", make_snapshot(), "pass", "off"),
    Row("nvml.mig-pending", "waits", one(mig_pending=True, processes=USER), "fail", "will be on after", SECOND),
    Row("nvml.mig-pending", "no-mig", answers(gpus=(make_nvml_gpu(mig_current=None),)), "skip"),
    Row("nvml.mig-pending", "half-told", one(mig_pending=NOBODY), "unknown"),
    Row("nvml.mig-instances", "off", make_snapshot(), "skip"),
    Row("nvml.mig-instances", "some", one(**MIG_ON, mig_devices=(DEVICE,)), "pass"),
    Row("nvml.mig-instances", "none", one(**MIG_ON), "fail", "without an instance", SECOND),
    Row("nvml.mig-instances", "not-told", one(**MIG_ON, mig_devices=NOBODY), "unknown"),
    Row("nvml.mig-driver-floor", "off", make_snapshot(), "skip"),
    Row("nvml.mig-driver-floor", "new-enough", one(**MIG_ON), "pass"),
    Row("nvml.mig-driver-floor", "not-in-the-table", one(**MIG_ON, name="NVIDIA X900"), "unknown", "X900"),
    Row("nvml.conf-compute", "none", make_snapshot(), "skip"),
    Row("nvml.conf-compute", "off", conf(ready=None, feature=False), "skip"),
    Row("nvml.conf-compute", "ready", conf(ready=True), "pass"),
    Row("nvml.conf-compute", "not-ready", conf(ready=False), "fail", "not set ready"),
    Row("nvml.conf-compute", "developer", conf(ready=True, developer=True), "warn", "protects nothing"),
    Row("nvml.conf-compute", "closed", answers(confidential=NOBODY), "unknown"),
]


@pytest.mark.parametrize("row", params((*PROBE_ROWS, *MEMORY_ROWS, *LOAD_ROWS, *SHARING_ROWS)))
def test_check_says(row: Row) -> None:
    assert_row(CHECKS, row)


def test_old_driver_does_not_know_mig_on_a_new_product() -> None:
    snapshot = one(**MIG_ON)
    old = dataclasses.replace(snapshot, modules=make_modules(loaded=()), driver=make_driver(version="520.61.05"))
    assert_row(CHECKS, Row("nvml.mig-driver-floor", "too-old", old, "fail", "older than 525.85.12", SECOND))


@pytest.mark.parametrize(
    ("product", "floor"),
    [
        ("NVIDIA A100-SXM4-80GB", "450.80.02"),
        ("NVIDIA H100 80GB HBM3", "525.85.12"),
        ("NVIDIA H20", "535.161.07"),
        ("NVIDIA H200 NVL", "550.90.07"),
        ("NVIDIA GB200", "570.133.20"),
        ("NVIDIA GH200 480GB", None),
        ("NVIDIA GB300", None),
        ("", None),
    ],
)
def test_floor_is_found_by_whole_words(product: str, floor: str | None) -> None:
    assert find_floor(product) == floor


def test_hang_leaves_the_rest_unknown_and_is_the_only_root() -> None:
    silent = Unknown("no answer within 30 s (asked for init)")
    snapshot = answers(init=silent, hang=HANG, gpus=silent, count=silent, confidential=silent)
    findings = find_causes(run_checks(CHECKS, snapshot))
    assert [finding.check.id for finding in findings if finding.is_root] == ["collect.probe-hang"]
    rest = {finding.status for finding in findings if not finding.check.id.startswith("collect.")}
    assert rest == {UNKNOWN}


def test_healthy_gpu_is_not_blamed_for_its_neighbour() -> None:
    snapshot = one(remap_pending=True, ecc_uncorrected=2, mig_pending=True)
    failing = [finding for finding in run_checks(CHECKS, snapshot) if finding.status == FAIL]
    assert {finding.outcome.subject for finding in failing} == {SECOND}
    assert len(failing) == 3


def test_vgpu_guest_that_tells_little_has_nothing_wrong() -> None:
    empty = {name: None for name in NvmlGpu._fields if name not in ("index", "errors")}
    gpu = make_nvml_gpu()._replace(**{**empty, "address": FIRST, "virtualization": 2})  # type: ignore[arg-type] # the record's own fields
    snapshot = make_snapshot(nvml=make_nvml(gpu), pci=make_pci(make_function(FIRST)))
    bad = [finding.key for finding in run_checks(CHECKS, snapshot) if finding.status not in ("pass", SKIP)]
    assert bad == []
