"""Modules are seen three ways: loaded, on disk, packed or not, and as DKMS built them."""

import gzip
import lzma
from pathlib import Path

import pytest

from ctk.facts import Unknown
from ctk.facts.modules import DkmsBuild, LoadedModule, ModuleFile, ModuleParameter
from ctk.host.dkms import collect_dkms, find_build_error
from ctk.host.local import LocalHost
from ctk.host.module_files import collect_module_files, parse_modinfo
from ctk.host.module_reading import PART_BYTES, Unpacked, find_decompressor, unpack
from ctk.host.modules import collect_modules, parse_loaded
from tests.module_files import make_module, make_signature
from tests.unit.host.trees import Link, plant

RELEASE = "6.1.0-21-amd64"
FOLDER = f"/lib/modules/{RELEASE}"
LOADED = (
    "nvidia_uvm 4698112 0 - Live 0x0000000000000000 (OE)\n"
    "nvidia 14966784 3 nvidia_uvm, Live 0x0000000000000000 (POE)\n"
    "overlay 151552 - - Live 0x0000000000000000\n"
    "broken line\n"
)


def put(root: Path, path: str, content: bytes) -> None:
    place = root / path.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)


def files_of(host: LocalHost) -> dict[str, ModuleFile]:
    found = collect_module_files(host, RELEASE)
    assert isinstance(found, tuple)
    return {file.path.removeprefix(FOLDER + "/"): file for file in found}


def test_line_of_proc_modules() -> None:
    uvm, core, overlay = parse_loaded(LOADED)
    assert core == LoadedModule("nvidia", 14966784, 3, ("nvidia_uvm",), "Live", "POE")
    assert uvm.used_by == ()
    assert (overlay.use_count, overlay.taint) == (None, "")


def test_details_of_nvidia_modules_alone(tmp_path: Path) -> None:
    host = plant(
        tmp_path,
        {
            "/proc/modules": LOADED,
            "/sys/module/nvidia/version": "580.95.05\n",
            "/sys/module/nvidia_uvm/parameters/uvm_disable_hmm": "N\n",
            "/sys/module/overlay/version": "1\n",
        },
    )
    modules = collect_modules(host, RELEASE)
    core, uvm = modules.find_loaded("nvidia"), modules.find_loaded("nvidia_uvm")
    assert core is not None
    assert uvm is not None
    assert (core.version, uvm.version) == ("580.95.05", None)
    assert uvm.parameters == (ModuleParameter("uvm_disable_hmm", "N"),)
    assert modules.vendor_folders == ("nvidia", "nvidia_uvm")
    assert (modules.files, modules.dkms) == (None, None)
    overlay = modules.find_loaded("overlay")
    assert overlay is not None
    assert overlay.version is None


def test_names_of_debian_are_known(tmp_path: Path) -> None:
    lines = "nvidia_current_uvm 1 0 - Live 0x0\nnvidia_current 1 1 nvidia_current_uvm, Live 0x0\n"
    modules = collect_modules(plant(tmp_path, {"/proc/modules": lines}), RELEASE)
    core = modules.find_loaded("nvidia")
    assert core is not None
    assert core.name == "nvidia_current"
    assert modules.find_loaded("nvidia_uvm") is not None


def test_kernel_without_modules_and_no_proc(tmp_path: Path) -> None:
    assert collect_modules(plant(tmp_path / "a", {"/proc/sys/x": ""}), RELEASE).loaded == ()
    assert collect_modules(plant(tmp_path / "b", {"/x": ""}), RELEASE).loaded == Unknown("no /proc/modules")


def test_files_are_found_listed_and_read(tmp_path: Path) -> None:
    listed = "updates/dkms/nvidia.ko: kernel/x.ko\nkernel/odd/place/nvidia-uvm.ko:\n"
    host = plant(tmp_path, {f"{FOLDER}/modules.dep": listed})
    put(tmp_path, f"{FOLDER}/updates/dkms/nvidia.ko", make_module(signature=make_signature("DKMS key")))
    put(tmp_path, f"{FOLDER}/kernel/odd/place/nvidia-uvm.ko", make_module())
    put(tmp_path, f"{FOLDER}/extra/nvidia.ko", make_module({"version": "570.144"}))
    put(tmp_path, f"{FOLDER}/extra/nvidiafb.ko", make_module())
    put(tmp_path, f"{FOLDER}/extra/nvidia-modeset.ko", b"rubbish")
    files = files_of(host)
    core = files["updates/dkms/nvidia.ko"]
    assert (core.version, core.license, core.signed, core.signer) == ("580.95.05", "Dual MIT/GPL", True, "DKMS key")
    assert core.is_listed
    assert files["kernel/odd/place/nvidia-uvm.ko"].name == "nvidia_uvm"
    assert not files["extra/nvidia.ko"].is_listed
    assert files["extra/nvidia.ko"].version_magic is None
    assert isinstance(files["extra/nvidia-modeset.ko"].version, Unknown)
    assert "extra/nvidiafb.ko" not in files


@pytest.mark.parametrize(("suffix", "pack"), [("xz", lzma.compress), ("gz", gzip.compress)])
def test_packed_module_is_read(tmp_path: Path, suffix: str, pack: object) -> None:
    host = plant(tmp_path, {f"{FOLDER}/modules.dep": ""})
    content = make_module(signature=make_signature("Vendor key"), padding=3_000_000)
    put(tmp_path, f"{FOLDER}/extra/nvidia.ko.{suffix}", pack(content))  # type: ignore[operator] # a function of bytes
    put(tmp_path, f"{FOLDER}/extra/nvidia-uvm.ko.{suffix}", pack(make_module()))  # type: ignore[operator] # a function of bytes
    files = files_of(host)
    core = files[f"extra/nvidia.ko.{suffix}"]
    assert (core.version, core.signer, core.compression) == ("580.95.05", "Vendor key", suffix)
    assert files[f"extra/nvidia-uvm.ko.{suffix}"].version == Unknown("compressed, only the main module was unpacked")


def test_module_that_cannot_be_unpacked_says_why(tmp_path: Path) -> None:
    host = plant(tmp_path, {f"{FOLDER}/modules.dep": ""})
    put(tmp_path, f"{FOLDER}/extra/nvidia.ko.xz", b"no xz at all")
    put(tmp_path, f"{FOLDER}/updates/nvidia.ko.zst", b"(\xb5/\xfd")
    files = files_of(host)
    packed = files["extra/nvidia.ko.xz"].version
    assert isinstance(packed, Unknown)
    assert packed.reason.startswith("not unpacked")
    assert isinstance(files["updates/nvidia.ko.zst"].signed, Unknown)


def test_no_folder_for_the_running_kernel(tmp_path: Path) -> None:
    assert collect_module_files(plant(tmp_path, {"/lib/modules/other/x": ""}), RELEASE) is None
    assert collect_module_files(plant(tmp_path, {}), Unknown("why")) == Unknown("why")


def test_unpacking_keeps_little_of_a_large_module() -> None:
    content = make_module(padding=9_000_000)
    packed = lzma.compress(content, preset=0)
    unpacked = unpack(lambda offset: packed[offset : offset + PART_BYTES], find_decompressor("xz"))
    assert unpacked.size_bytes == len(content)
    assert unpacked.read(0, 64) == content[:64]
    assert unpacked.read(len(content) - 100, 100) == content[-100:]
    with pytest.raises(ValueError, match="laid out"):
        unpacked.read(4_000_000, 64)


def test_section_in_the_middle_is_kept() -> None:
    unpacked = Unpacked()
    unpacked.add(b"\0" * 500_000)
    unpacked.add(b"license=x\0vermagic=y\0")
    for _ in range(5):
        unpacked.add(b"\1" * 1_000_000)
    assert unpacked.read(500_000, 21) == b"license=x\0vermagic=y\0"


def test_output_of_modinfo() -> None:
    text = "filename:       /x/nvidia.ko.zst\nversion:        580.95.05\nsig_key:        4A:01\n\t\tB7:22\nversion: 2\n"
    assert parse_modinfo(text)["version"] == "580.95.05"
    assert parse_modinfo(text)["sig_key"] == "4A:01"


DKMS = "/var/lib/dkms/nvidia"


def builds_of(root: Path, files: dict[str, str]) -> tuple[DkmsBuild, ...]:
    found = collect_dkms(plant(root, files))
    assert isinstance(found, tuple)
    return found


def test_states_of_dkms(tmp_path: Path) -> None:
    built = f"{DKMS}/580.95.05/{RELEASE}/x86_64"
    other = f"{DKMS}/580.95.05/6.1.0-22-amd64/x86_64"
    files = {
        f"{built}/module/nvidia.ko": "",
        f"{built}/log/make.log": "fine\n",
        f"{other}/module/nvidia.ko.xz": "",
        f"{DKMS}/580.95.05/source/dkms.conf": "",
        f"{DKMS}/kernel-{RELEASE}-x86_64": Link(f"580.95.05/{RELEASE}/x86_64"),
        "/var/lib/dkms/zfs/2.1/x": "",
    }
    states = [(build.kernel, build.state) for build in builds_of(tmp_path, files)]
    assert states == [(RELEASE, "installed"), ("6.1.0-22-amd64", "built")]


def test_module_without_a_build_is_added(tmp_path: Path) -> None:
    (build,) = builds_of(tmp_path, {f"{DKMS}/580.95.05/source/dkms.conf": ""})
    assert build == DkmsBuild("nvidia", "580.95.05", "added")


def test_failed_build_names_kernel_log_and_error(tmp_path: Path) -> None:
    log = (
        f"DKMS (dkms-3.0.10) make.log for nvidia-580.95.05 for kernel {RELEASE} (x86_64)\n"
        "nv-drm.c:88:5: error: 'struct drm_driver' has no member named 'x'\nmake: *** Error 2\n"
    )
    (build,) = builds_of(tmp_path, {f"{DKMS}/580.95.05/build/make.log": log})
    assert (build.state, build.kernel, build.log) == ("failed", RELEASE, f"{DKMS}/580.95.05/build/make.log")
    assert build.error is not None
    assert build.error.startswith("nv-drm.c:88:5: error")


def test_no_dkms(tmp_path: Path) -> None:
    assert collect_dkms(plant(tmp_path, {"/x": ""})) is None
    assert find_build_error("all well\n") is None
