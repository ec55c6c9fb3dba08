"""GPUs from NVML in a child process of its own, and what is asked when NVML may or can not answer."""

from pathlib import Path

import pytest

from ctk.facts import Unknown
from ctk.facts.driver_root import MigInstance
from ctk.host.driver_root import RootQuery, collect_driver_root
from ctk.host.local import LocalHost
from ctk.host.root_gpus import NvmlQuery, collect_gpus
from tests.driver_tree import X86_64
from tests.ld_caches import make_ld_cache
from tests.nvml_root import compile_stand_in, plant_library

ADDRESS = "0000:18:00.0"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_stand_in(tmp_path_factory.mktemp("nvml"))


@pytest.mark.real
def test_gpus_and_mig_devices_with_the_librarys_own_numbers(tmp_path: Path, library: Path) -> None:
    behaviour = "gpus=2 driver=550.54.15 cuda=12040 1.minor=3 1.mig=1 1.mig_devices=2 AddressingMode=3"
    files = {
        "proc/driver/nvidia-caps/mig-minors": "gpu3/gi7/access 66\ngpu3/gi7/ci0/access 67\n",
        f"sys/bus/pci/devices/{ADDRESS}/drm/card1/uevent": "",
    }
    found = collect_gpus(plant_library(tmp_path, library, behaviour, files), NvmlQuery("/", 30), "/")
    assert (found.source.kind, found.version, found.cuda_version) == ("nvml", "550.54.15", "12.4")
    assert not isinstance(found.gpus, Unknown)
    first, second = found.gpus
    assert (first.index, first.minor, first.address, first.drm, first.is_mig) == (0, 0, ADDRESS, ("card1",), False)
    assert first.coherent is None
    assert (second.minor, second.is_mig) == (3, True)
    assert second.mig_devices[0] == MigInstance(0, 7, 0, "MIG-5a1e0000-0000-4000-8000-000000000011", 66, 67)
    assert second.mig_devices[1].gpu_cap is None


@pytest.mark.long
@pytest.mark.real
@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ("Init=18", "Driver/library version mismatch (NVML 18)"),
        ("Init=crash", "the library ended its process with signal 6"),
        ("Count=hang", "no answer within 1 s (asked for count)"),
    ],
)
def test_library_that_does_not_answer_leaves_the_drivers_folders(
    tmp_path: Path, library: Path, behaviour: str, words: str
) -> None:
    files = {"proc/driver/nvidia/gpus/0000:3b:00.0/information": "Device Minor: 4\n"}
    found = collect_gpus(plant_library(tmp_path, library, behaviour, files), NvmlQuery("/", 1), "/")
    assert found.source.kind == "proc"
    assert words in found.source.nvml_reason
    assert not isinstance(found.gpus, Unknown)
    assert [(gpu.minor, gpu.address) for gpu in found.gpus] == [(4, "0000:3b:00.0")]


@pytest.mark.real
def test_lost_gpu_does_not_take_the_others_away(tmp_path: Path, library: Path) -> None:
    found = collect_gpus(plant_library(tmp_path, library, "gpus=2 0.HandleByIndex=15"), NvmlQuery("/", 30), "/")
    assert not isinstance(found.gpus, Unknown)
    assert found.gpus[0].minor == Unknown("GPU is lost (NVML 15)")
    assert found.gpus[1].minor == 1


@pytest.mark.real
def test_library_is_that_of_the_driver_root(tmp_path: Path, library: Path) -> None:
    """The host has none; the driver container's is asked, and only when its root is named."""
    host = plant_library(tmp_path, library, "gpus=1")
    (tmp_path / "run/nvidia/driver/usr").mkdir(parents=True)
    (tmp_path / "usr/lib64").rename(tmp_path / "run/nvidia/driver/usr/lib64")
    assert collect_gpus(host, NvmlQuery("/run/nvidia/driver", 30), "/").source.kind == "nvml"
    found = collect_gpus(host, NvmlQuery("/", 30), "/")
    assert found.source.nvml_reason == "there is no libnvidia-ml.so.1 below /"


@pytest.mark.real
def test_f67_library_that_only_the_cache_knows_is_asked(tmp_path: Path, library: Path) -> None:
    """In the driver root, by an absolute link that leads on inside it."""
    host = plant_library(tmp_path, library, "gpus=2")
    driver = tmp_path / "run/nvidia/driver"
    (driver / "opt/vendor").mkdir(parents=True)
    (driver / "etc").mkdir()
    (tmp_path / "usr/lib64/libnvidia-ml.so.1").rename(driver / "opt/vendor/libnvidia-ml.so.550.54.15")
    (driver / "opt/libnvidia-ml.so.1").symlink_to("/opt/vendor/libnvidia-ml.so.550.54.15")
    (driver / "etc/ld.so.cache").write_bytes(make_ld_cache(("libnvidia-ml.so.1", "/opt/libnvidia-ml.so.1", X86_64)))
    facts = collect_driver_root(host, RootQuery(mode="nvml", driver_root="/run/nvidia/driver"))
    assert facts.source.kind == "nvml"
    assert not isinstance(facts.gpus, Unknown)
    assert len(facts.gpus) == 2


def test_library_is_not_asked_when_it_must_not_be(tmp_path: Path) -> None:
    host = LocalHost(str(tmp_path))
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/modules").write_text("ext4 1 1 - Live 0x0\n")
    assert collect_gpus(host, NvmlQuery("/", None), "/").source.nvml_reason == "not asked: --no-nvml"
    found = collect_gpus(host, NvmlQuery("/", 30), "/")
    assert found.source.nvml_reason == "not asked: the kernel module nvidia is not loaded"
    assert not found.source.driver_loaded


def test_wider_pci_domain_of_a_virtual_machine(tmp_path: Path) -> None:
    for name in ("10de:1b:00.0", "0000:1b:00.0"):
        folder = tmp_path / f"proc/driver/nvidia/gpus/{name}"
        folder.mkdir(parents=True)
        (folder / "information").write_text("Device Minor: 0\n")
    (tmp_path / "sys/bus/pci/devices/510de:1b:00.0/drm/card0").mkdir(parents=True)
    found = collect_gpus(LocalHost(str(tmp_path)), NvmlQuery("/", None), "/")
    assert not isinstance(found.gpus, Unknown)
    assert {gpu.address: gpu.drm for gpu in found.gpus} == {"0000:1b:00.0": (), "10de:1b:00.0": ("card0",)}


def test_folder_that_may_not_be_read_is_no_absence(tmp_path: Path) -> None:
    from tests.fake_host import FakeHost

    (tmp_path / "dev").mkdir()
    host = FakeHost(str(tmp_path), {"denied": [{"path": "/proc/driver"}, {"path": "/dev"}]})
    facts = collect_driver_root(host, RootQuery(mode="nvml", nvml_seconds=None))
    assert facts.gpus == Unknown("permission denied")
    assert facts.unreadable_nodes == (("/dev", "permission denied"),)
