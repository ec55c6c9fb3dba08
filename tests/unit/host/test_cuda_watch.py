"""Starts a CUDA that behaves as told, in the real child process, and reads what a child may have said."""

from pathlib import Path

import pytest

from ctk.facts import Unknown
from ctk.facts.cuda import CudaProbe
from ctk.host.collect import collect
from ctk.host.cuda_watch import build_probe, collect_cuda_probe
from ctk.host.driver_library import Talk
from tests.nvml_root import CUDA, compile_stand_in, plant_library
from tests.unit.host.trees import plant

SHORT_SECONDS = 2.0
LONG_SECONDS = 60.0


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_stand_in(tmp_path_factory.mktemp("cuda"), CUDA)


@pytest.mark.real
@pytest.mark.parametrize(
    ("behaviour", "call", "code", "name", "count"),
    [
        ("0 8", "cuDeviceGetCount", 0, "CUDA_SUCCESS", 8),
        ("802", "cuInit", 802, "CUDA_ERROR_SYSTEM_NOT_READY", None),
        ("999", "cuInit", 999, "", None),
    ],
)
def test_start_of_cuda_is_told(
    tmp_path: Path, library: Path, behaviour: str, call: str, code: int, name: str, count: int | None
) -> None:
    probe = collect_cuda_probe(plant_library(tmp_path, library, behaviour), LONG_SECONDS)
    assert isinstance(probe, CudaProbe)
    assert (probe.call, probe.code, probe.name, probe.count, probe.hang) == (call, code, name, count, None)


@pytest.mark.long
@pytest.mark.real
def test_start_that_hangs_is_given_up(tmp_path: Path, library: Path) -> None:
    probe = collect_cuda_probe(plant_library(tmp_path, library, "hang"), SHORT_SECONDS)
    assert isinstance(probe, CudaProbe)
    assert probe.code == probe.count == Unknown("no answer within 2 s")
    assert probe.hang is not None
    assert (probe.hang.asking, probe.hang.state) == ("cuInit", "S")


def test_cuda_is_not_started_unasked(tmp_path: Path) -> None:
    assert collect(plant(tmp_path, {}), None).cuda_probe is None


def test_cuda_is_not_started_without_the_module(tmp_path: Path) -> None:
    reason = Unknown("not asked: the kernel module nvidia is not loaded")
    assert collect(plant(tmp_path, {}), None, probe=True).cuda_probe == reason


def test_host_without_the_library_says_so(tmp_path: Path) -> None:
    host = plant(tmp_path, {"/proc/modules": "nvidia 1 0 - Live 0x0\n"})
    assert collect_cuda_probe(host) == Unknown("no libcuda.so.1 was found where drivers put it")


def test_library_that_cannot_be_loaded_is_an_answer() -> None:
    text = '{"ask": "cuInit"}\n{"fact": "cuInit", "code": -1, "text": "file too short"}\n'
    probe = build_probe("/usr/lib64/libcuda.so.1", Talk(text, "", 9, None))
    assert (probe.code, probe.name, probe.count) == (-1, "file too short", None)


def test_silence_is_unknown() -> None:
    probe = build_probe("/usr/lib64/libcuda.so.1", Talk("", "", 9, None))
    assert (probe.call, probe.code, probe.count) == ("cuInit", Unknown("not told"), Unknown("not told"))
