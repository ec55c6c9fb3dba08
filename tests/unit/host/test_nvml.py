"""Asks a library that behaves as told, through pynvml, in the real child process."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ctk.doctor.checks import ALL_CHECKS
from ctk.doctor.run import run_checks
from ctk.facts import Unknown
from ctk.facts.nvml import MigDevice, Nvml, NvmlAnswer, NvmlGpu, VgpuLicence
from ctk.facts.snapshot import Snapshot
from ctk.host.collect import collect
from ctk.host.nvml_watch import collect_nvml
from tests.nvml_root import compile_stand_in, plant_library

pytestmark = pytest.mark.real

DEADLINE_SECONDS = 60.0
SHORT_SECONDS = 3.0

Ask = Callable[..., Nvml]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_stand_in(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def ask(tmp_path: Path, library: Path) -> Ask:
    def run(behaviour: str, seconds: float = DEADLINE_SECONDS) -> Nvml:
        answer = collect_nvml(plant_library(tmp_path, library, behaviour), seconds)
        assert isinstance(answer, Nvml)
        return answer

    return run


def by_files(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Each finding that NVML has no part in, and its status."""
    for finding in run_checks(ALL_CHECKS, snapshot):
        if not finding.check.id.startswith(("nvml.", "nvlink.", "fabric.gpu-", "collect.", "cuda.")):
            yield finding.key, finding.status


def gpus_of(nvml: Nvml) -> tuple[NvmlGpu, ...]:
    assert isinstance(nvml.gpus, tuple)
    return nvml.gpus


def test_eight_healthy_gpus_answer_everything(ask: Ask) -> None:
    nvml = ask("gpus=8 cuda=13000 driver=580.95.05")
    assert nvml.init == NvmlAnswer(call="init", code=0, text="Success")
    assert (nvml.driver_version, nvml.cuda_version, nvml.count, nvml.hang) == ("580.95.05", 13000, 8, None)
    assert [gpu.address for gpu in gpus_of(nvml)] == [f"0000:{0x18 + index:02x}:00.0" for index in range(8)]
    assert [gpu.minor for gpu in gpus_of(nvml)] == list(range(8))
    first = gpus_of(nvml)[0]
    values = [getattr(first, name) for name in NvmlGpu._fields if name != "licence"]  # only a vGPU has one
    assert not [value for value in values if isinstance(value, Unknown) or value is None]
    assert (first.remap_banks, first.nvlinks) == ((640, 0, 0, 0, 0), (True,) * 18)
    assert first.fabric is not None
    assert not isinstance(first.fabric, Unknown)
    assert (first.fabric.state, first.fabric.cluster_uuid) == (3, "abababab-abab-abab-abab-abababababab")


def test_mig_devices_are_listed(ask: Ask) -> None:
    (gpu,) = gpus_of(ask("mig=1 mig_pending=1 mig_devices=2"))
    assert (gpu.mig_current, gpu.mig_pending) == (True, True)
    assert isinstance(gpu.mig_devices, tuple)
    assert gpu.mig_devices[1] == MigDevice(
        uuid="MIG-5a1e0000-0000-4000-8000-000000000002",
        name="NVIDIA H100 80GB HBM3 MIG 1g.10gb",
        gpu_instance=8,
        compute_instance=0,
    )


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (18, "Driver/library version mismatch"),
        (9, "Driver Not Loaded"),
        (15, "GPU is lost"),
        (999, "Unknown Error"),
    ],
)
def test_failed_start_is_kept_with_its_code_and_words(ask: Ask, code: int, text: str) -> None:
    nvml = ask(f"Init={code}")
    assert nvml.init == NvmlAnswer(call="init", code=code, text=text)
    assert nvml.gpus == nvml.count == nvml.driver_version == Unknown(f"{text} (NVML {code})")


def test_one_bad_gpu_of_eight_leaves_the_others_whole(ask: Ask) -> None:
    nvml = ask("gpus=8 3.TotalEccErrors=999 5.HandleByIndex=15 6.MigMode=15")
    gpus = gpus_of(nvml)
    assert [bool(gpu.errors) for gpu in gpus] == [index in (3, 5, 6) for index in range(8)]
    assert gpus[3].ecc_uncorrected == Unknown("Unknown Error (NVML 999)")
    assert gpus[3].temperature_celsius == 34
    assert gpus[5].errors == (NvmlAnswer(call="handle", code=15, text="GPU is lost"),)
    assert gpus[5].address == gpus[5].fabric == Unknown("GPU is lost (NVML 15)")
    assert gpus[6].address == "0000:1e:00.0"
    assert gpus[6].temperature_celsius == Unknown("GPU is lost (NVML 15)"), "a lost GPU is not asked again and again"


def test_what_a_gpu_does_not_have_is_absent_and_no_error(ask: Ask) -> None:
    words = "EccMode=3 TotalEccErrors=3 RemappedRows=3 links=0 fabric=0 action_code=3 MarginTemperature=13 mig=0"
    (gpu,) = gpus_of(ask(words + " MigMode=3"))
    assert gpu.errors == ()
    assert gpu.ecc_current is gpu.ecc_uncorrected is gpu.remap_failed is gpu.nvlinks is gpu.recovery_action is None
    assert gpu.temperature_margin_celsius is gpu.mig_current is gpu.mig_devices is None


def test_faults_of_memory_and_links_come_through(ask: Ask) -> None:
    (gpu,) = gpus_of(
        ask("ecc=4 remap_pending=1 remap_failed=1 sram_exceeded=1 retired_double=61 Inforom=14 action=4 links_down=2")
    )
    assert (gpu.ecc_uncorrected, gpu.remap_pending, gpu.remap_failed) == (4, True, True)
    assert (gpu.sram_threshold_exceeded, gpu.retired_pages_double_bit, gpu.inforom_valid) == (True, 61, False)
    assert (gpu.recovery_action, gpu.nvlinks) == (4, (False, False, *(True,) * 16))


@pytest.mark.parametrize(
    ("words", "licence"),
    [
        ("virtualization=2", VgpuLicence("NVIDIA RTX Virtual Workstation", True, "2026-10-09T06:51:17Z")),
        ("virtualization=2 licence_status=4", VgpuLicence("NVIDIA RTX Virtual Workstation", True, None)),
        ("virtualization=2 licence=0 licence_status=0", VgpuLicence("NVIDIA RTX Virtual Workstation", False, None)),
        ("virtualization=2 GridLicensableFeatures=3", None),
        ("virtualization=2 GridLicensableFeatures=999", Unknown("Unknown Error (NVML 999)")),
        ("virtualization=1", None),
        ("virtualization=1 GridLicensableFeatures=999", None),
    ],
)
def test_licence_of_a_vgpu_and_of_nothing_else(ask: Ask, words: str, licence: object) -> None:
    (gpu,) = gpus_of(ask(words))
    assert gpu.licence == licence


@pytest.mark.long
def test_library_that_hangs_at_once_is_given_up_at_the_deadline(tmp_path: Path, library: Path) -> None:
    files = {"etc/hostname": "node-7\n", "etc/os-release": "ID=debian\n", "usr/bin/dockerd": "#!/bin/sh\n"}
    host = plant_library(tmp_path, library, "Init=hang", files)
    start = time.monotonic()
    snapshot = collect(host, 2.0)
    assert time.monotonic() - start < 12
    assert isinstance(snapshot.nvml, Nvml)
    assert snapshot.nvml.hang is not None
    assert (snapshot.nvml.hang.asking, snapshot.nvml.hang.state) == ("init", "S")
    assert (snapshot.host_name, snapshot.system.distribution) == ("node-7", "debian")
    assert isinstance(snapshot.engines, tuple)
    unasked = collect(host, None)
    assert dict(by_files(snapshot)) == dict(by_files(unasked)), "every check of files is answered as if NVML were well"


@pytest.mark.long
def test_answers_before_a_hang_in_the_driver_are_kept(ask: Ask) -> None:
    nvml = ask("gpus=4 2.Temperature=stuck", SHORT_SECONDS)
    assert nvml.hang is not None
    assert (nvml.hang.state, nvml.hang.asking, nvml.hang.gpu) == ("D", "temperature_celsius", 2)
    assert nvml.hang.deadline_milliseconds == SHORT_SECONDS * 1000
    gpus = gpus_of(nvml)
    assert [gpu.minor for gpu in gpus] == [0, 1, 2, 3], "all GPUs say who they are before one is asked more"
    assert gpus[1].fabric is not None
    assert gpus[2].ecc_uncorrected == 0
    assert gpus[2].fabric == Unknown("no answer within 3 s (asked for temperature_celsius)")
    assert nvml.init == NvmlAnswer(call="init", code=0, text="Success")


def test_library_that_ends_its_process_is_no_hang(ask: Ask) -> None:
    nvml = ask("gpus=2 1.TotalEccErrors=crash")
    assert nvml.hang is None
    reason = Unknown("the library ended its process with signal 6 (asked for ecc_uncorrected)")
    assert gpus_of(nvml)[1].temperature_celsius == reason
    assert gpus_of(nvml)[0].temperature_celsius == 34


def test_file_that_is_no_library_is_the_loaders_error(tmp_path: Path, library: Path) -> None:
    host = plant_library(tmp_path, library, "")
    path = tmp_path / "usr" / "lib64" / "libnvidia-ml.so.1"
    path.write_bytes(path.read_bytes()[:100])
    nvml = collect_nvml(host, DEADLINE_SECONDS)
    assert isinstance(nvml, Nvml)
    assert isinstance(nvml.init, NvmlAnswer)
    assert nvml.init.code == 12
    assert str(path) in nvml.init.text
