"""The checks of user-space libraries: one row for each status they can give."""

import pytest

from ctk.doctor.checks.libraries import is_driver_version
from ctk.doctor.checks.library_rows import LIBRARY_CHECKS
from ctk.doctor.data.capability_libraries import CAPABILITY_LIBRARIES
from ctk.facts import Unknown
from ctk.facts.driver import DriverTrace
from ctk.facts.loader import CachedLibrary, CompatFolder, DaemonVariables, SearchFolder
from ctk.facts.nvml import NvmlAnswer
from ctk.facts.pci import Pci
from ctk.facts.snapshot import Snapshot
from tests.builders import make_snapshot, make_system
from tests.driver_builders import (
    FILES,
    LIBRARIES,
    VERSION,
    make_cache,
    make_cached,
    make_driver,
    make_driver_gpu,
    make_file,
    make_library,
    make_loader,
    make_modules,
)
from tests.nvml_builders import make_nvml, make_nvml_gpu
from tests.unit.doctor.tables import Row, assert_row, outcomes_of, params

DENIED = Unknown("permission denied")
NO_GPU = make_snapshot(pci=Pci())
CLOSED = make_snapshot(loader=DENIED)
CONTAINER = make_snapshot(driver=make_driver(root_libraries=(make_library(),)))
VENDOR = make_snapshot(driver=make_driver(traces=(DriverTrace("vendor", "/home/kubernetes/bin/nvidia"),)))
NVML = make_cached("libnvidia-ml.so.1")
CUDA = make_cached()
NARROW = make_cached(path="/usr/lib/i386-linux-gnu/libcuda.so.1", architecture="i386", bits=32)
STUB_FOLDER, COMPAT_FOLDER = "/usr/local/cuda/lib64/stubs", "/usr/local/cuda-12.4/compat"
STUB = make_cached(path=f"{STUB_FOLDER}/libcuda.so.1", real_path=f"{STUB_FOLDER}/libcuda.so")
OLD, NEW = "550.54.15", "590.44.01"


def compat(version: str) -> CachedLibrary:
    return make_cached(path=f"{COMPAT_FOLDER}/libcuda.so.1", real_path=f"{COMPAT_FOLDER}/libcuda.so.{version}")


def with_loader(**changes: object) -> Snapshot:
    return make_snapshot(loader=make_loader(**changes))


def cached(*entries: CachedLibrary, **changes: object) -> Snapshot:
    return with_loader(cache=make_cache(*entries), **changes)


def searched(path: str, origin: str = "/etc/ld.so.conf.d/cuda.conf") -> tuple[SearchFolder, ...]:
    return (SearchFolder(path, origin, None if origin == "LD_LIBRARY_PATH" else 1),)


CACHE_ROWS = [
    Row("lib.ldcache", "sound", make_snapshot(), "pass", "543 libraries"),
    Row("lib.ldcache", "damaged", with_loader(cache=make_cache(fault="it is cut short")), "fail", "it is cut short"),
    Row("lib.ldcache", "missing", with_loader(cache=None), "fail", "missing"),
    Row("lib.ldcache", "musl", with_loader(cache=None, glibc=None), "skip", "keeps no cache"),
    Row("lib.ldcache", "no-ldconfig", with_loader(cache=None, ldconfig=None), "skip"),
    Row("lib.ldcache", "loader-closed", with_loader(cache=None, glibc=DENIED), "unknown"),
    Row(
        "lib.ldcache",
        "gone",
        cached(NVML, CUDA, make_cached("libnvcuvid.so.1", real_path=None)),
        "warn",
        "1 driver libraries that are gone",
    ),
    Row("lib.ldcache", "file-closed", with_loader(cache=DENIED), "unknown"),
    Row("lib.ldcache", "closed", CLOSED, "unknown"),
    Row("lib.ldcache", "no-gpu", NO_GPU, "skip"),
    Row("lib.ldcache", "container", CONTAINER, "skip", "driver container"),
    Row("lib.ldcache", "vendor", VENDOR, "skip", "own folder"),
    Row("lib.ldcache", "wsl", make_snapshot(system=make_system(wsl=2)), "skip", "Windows"),
]

UNLOADED = {"modules": make_modules(loaded=())}
CORE_ROWS = [
    Row("lib.core", "found", make_snapshot(), "pass", "are found"),
    Row("lib.core", "machine-unknown", make_snapshot(system=make_system(architecture=DENIED)), "pass"),
    Row("lib.core", "no-cache", with_loader(cache=None), "pass"),
    Row("lib.core", "dangling", cached(NVML, make_cached(real_path=None)), "fail", "leads to no file"),
    Row("lib.core", "not-in-cache", cached(NVML), "fail", "libcuda.so.1 is installed, but the loader's cache"),
    Row("lib.core", "not-installed", cached(NVML, files=()), "fail", "libcuda.so.1 is not installed"),
    Row("lib.core", "narrow-alone", cached(NVML, NARROW, files=()), "fail", "only a 32-bit one is there"),
    Row(
        "lib.core",
        "narrow-file",
        cached(
            NVML,
            make_cached(path="/usr/lib/libcuda.so.1", architecture="i386", bits=32),
            files=(make_file("libcuda.so.1", "x", f"libcuda.so.{VERSION}"),),
        ),
        "fail",
        "only a 32-bit one is there",
    ),
    Row(
        "lib.core",
        "stub-alone",
        cached(NVML, files=(make_file("libcuda.so.1", path=f"{STUB_FOLDER}/libcuda.so.1"),)),
        "fail",
        "not installed",
    ),
    Row(
        "lib.core",
        "nothing",
        make_snapshot(loader=make_loader(cache=make_cache(NVML), files=()), **UNLOADED),
        "fail",
        "no libcuda.so.1 is here",
    ),
    Row(
        "lib.core",
        "nobody-knows-of-a-gpu",
        make_snapshot(
            loader=make_loader(cache=make_cache(NVML), files=()),
            pci=Unknown("no /sys"),
            modules=make_modules(loaded=()),
        ),
        "unknown",
        "no /sys",
    ),
    Row("lib.core", "hidden-file", cached(NVML, make_cached(real_path=DENIED)), "unknown"),
    Row("lib.core", "cache-damaged", with_loader(cache=make_cache(fault="it is cut short")), "unknown"),
    Row("lib.core", "cache-closed", with_loader(cache=DENIED), "unknown"),
    Row("lib.core", "folders-closed", with_loader(files=DENIED), "unknown"),
    Row("lib.core", "closed", CLOSED, "unknown"),
    Row("lib.core", "container", CONTAINER, "skip"),
    Row("lib.core", "no-gpu", NO_GPU, "skip"),
]

CHAIN_ROWS = [
    Row("lib.symlink-chain", "intact", make_snapshot(), "pass"),
    Row(
        "lib.symlink-chain", "no-development-link", with_loader(files=(*FILES[:2], *FILES[3:])), "info", "no libcuda.so"
    ),
    Row(
        "lib.symlink-chain",
        "dangling",
        with_loader(files=(*FILES, make_file("libcuda.so.1", "libcuda.so.570.1", None))),
        "fail",
        "leads nowhere",
    ),
    Row("lib.symlink-chain", "copy", with_loader(files=(*FILES[:2], make_file("libcuda.so.1"))), "warn", "is a copy"),
    Row(
        "lib.symlink-chain",
        "no-version",
        with_loader(files=(make_file("libcuda.so.1", "libcuda.so.old", "libcuda.so.old"),)),
        "warn",
        "without the driver's version",
    ),
    Row(
        "lib.symlink-chain",
        "stub",
        with_loader(files=(*FILES, make_file("libcuda.so.1", path=f"{STUB_FOLDER}/libcuda.so.1"))),
        "pass",
    ),
    Row("lib.symlink-chain", "none", with_loader(files=()), "skip"),
    Row("lib.symlink-chain", "folders-closed", with_loader(files=DENIED), "unknown"),
    Row("lib.symlink-chain", "closed", CLOSED, "unknown"),
    Row("lib.symlink-chain", "container", CONTAINER, "skip"),
]

ENCODE, OLD_ENCODE = make_file(f"libnvidia-encode.so.{VERSION}"), make_file(f"libnvidia-encode.so.{OLD}")
VERSION_ROWS = [
    Row(
        "lib.version-suffix", "one", with_loader(files=(*FILES, ENCODE)), "pass", f"3 libraries have version {VERSION}"
    ),
    Row("lib.version-suffix", "left-over", with_loader(files=(*FILES, ENCODE, OLD_ENCODE)), "warn", OLD),
    Row("lib.version-suffix", "other-alone", with_loader(files=(*FILES, OLD_ENCODE)), "fail", "libnvidia-encode.so"),
    Row(
        "lib.version-suffix",
        "given-up",
        with_loader(files=(*FILES, make_file("libnvidia-ifr.so.470.256.02"))),
        "warn",
        "470.256.02 beside",
    ),
    Row("lib.version-suffix", "all-other", with_loader(files=(make_file(f"libcuda.so.{OLD}"),)), "skip"),
    Row(
        "lib.version-suffix",
        "own-version",
        with_loader(files=(*FILES, make_file("libnvidia-egl-wayland.so.1.1.9"))),
        "pass",
    ),
    Row(
        "lib.version-suffix",
        "compat",
        with_loader(files=(*FILES, make_file(f"libcuda.so.{NEW}", path=f"{COMPAT_FOLDER}/libcuda.so.{NEW}"))),
        "pass",
    ),
    Row("lib.version-suffix", "no-libraries", with_loader(files=()), "skip"),
    Row(
        "lib.version-suffix",
        "not-loaded",
        make_snapshot(driver=make_driver(version=None), **UNLOADED),
        "skip",
        "no driver is loaded",
    ),
    Row("lib.version-suffix", "version-closed", make_snapshot(driver=DENIED, modules=DENIED), "unknown"),
    Row("lib.version-suffix", "folders-closed", with_loader(files=DENIED), "unknown"),
    Row("lib.version-suffix", "closed", CLOSED, "unknown"),
]

ALL_OF_THEM = tuple(make_file(f"{name}.{VERSION}") for _, names in CAPABILITY_LIBRARIES for name in names)
CAPABILITY_ROWS = [
    Row(
        "lib.capability-complete",
        "all",
        with_loader(files=ALL_OF_THEM),
        "pass",
        "utility, compute, video, graphics, ngx",
    ),
    Row("lib.capability-complete", "some", make_snapshot(), "info", "video, graphics"),
    Row("lib.capability-complete", "not-loaded", make_snapshot(driver=make_driver(version=None), **UNLOADED), "skip"),
    Row("lib.capability-complete", "version-closed", make_snapshot(driver=DENIED, modules=DENIED), "unknown"),
    Row("lib.capability-complete", "folders-closed", with_loader(files=DENIED), "unknown"),
    Row("lib.capability-complete", "closed", CLOSED, "unknown"),
    Row("lib.capability-complete", "container", CONTAINER, "skip"),
]

SECOND_CUDA = make_cached(path="/opt/lib/libcuda.so.1", real_path=f"/opt/lib/libcuda.so.{OLD}")
FOLDER_ROWS = [
    Row("lib.multiple-dirs", "one", make_snapshot(), "pass"),
    Row("lib.multiple-dirs", "two", cached(NVML, CUDA, SECOND_CUDA), "warn", "2 copies"),
    Row("lib.multiple-dirs", "wrong-one-first", cached(NVML, SECOND_CUDA, CUDA), "fail", f"version {OLD} first"),
    Row("lib.multiple-dirs", "same-file", cached(NVML, CUDA, make_cached(path="/lib64/libcuda.so.1")), "pass"),
    Row("lib.multiple-dirs", "stub", cached(NVML, STUB, CUDA), "pass"),
    Row("lib.multiple-dirs", "cache-closed", with_loader(cache=DENIED), "unknown"),
    Row("lib.multiple-dirs", "closed", CLOSED, "unknown"),
    Row("lib.multiple-dirs", "container", CONTAINER, "skip"),
]

STUB_ROWS = [
    Row("lib.stubs-on-path", "none", make_snapshot(), "pass"),
    Row("lib.stubs-on-path", "first", cached(NVML, STUB, CUDA), "fail", "takes a stub for libcuda.so.1"),
    Row("lib.stubs-on-path", "second", cached(NVML, CUDA, STUB), "warn", "stub libraries"),
    Row("lib.stubs-on-path", "linked", cached(NVML, make_cached(real_path=f"{STUB_FOLDER}/libcuda.so")), "fail"),
    Row("lib.stubs-on-path", "named", with_loader(search=searched(STUB_FOLDER)), "warn"),
    Row("lib.stubs-on-path", "variable", with_loader(search=searched(STUB_FOLDER, "LD_LIBRARY_PATH")), "warn"),
    Row("lib.stubs-on-path", "cache-closed", with_loader(cache=DENIED), "unknown"),
    Row("lib.stubs-on-path", "search-closed", with_loader(search=DENIED), "unknown"),
    Row("lib.stubs-on-path", "closed", CLOSED, "unknown"),
    Row("lib.stubs-on-path", "no-gpu", NO_GPU, "skip"),
]


def at_home(**changes: object) -> Snapshot:
    gpu = make_nvml_gpu(name="NVIDIA GeForce RTX 4090")
    return make_snapshot(nvml=make_nvml(gpu), loader=make_loader(cache=make_cache(NVML, compat(NEW), CUDA)), **changes)


VARIABLE = {
    "search": searched(COMPAT_FOLDER, "LD_LIBRARY_PATH"),
    "compat": (CompatFolder(COMPAT_FOLDER, OLD),),
}
COMPAT_ROWS = [
    Row("lib.compat-on-host-path", "none", make_snapshot(), "pass"),
    Row("lib.compat-on-host-path", "installed-alone", with_loader(compat=VARIABLE["compat"]), "pass"),
    Row("lib.compat-on-host-path", "second", cached(NVML, CUDA, compat(OLD)), "pass"),
    Row("lib.compat-on-host-path", "older", cached(NVML, compat(OLD), CUDA), "fail", f"of {OLD} are in force"),
    Row("lib.compat-on-host-path", "newer", cached(NVML, compat(NEW), CUDA), "info", "every program"),
    Row("lib.compat-on-host-path", "at-home", at_home(), "fail", "GeForce RTX 4090 does not support"),
    Row(
        "lib.compat-on-host-path",
        "at-home-without-nvml",
        make_snapshot(
            nvml=DENIED,
            driver=make_driver(gpus=(make_driver_gpu(model="NVIDIA TITAN V"),)),
            loader=make_loader(cache=make_cache(NVML, compat(NEW), CUDA)),
        ),
        "fail",
        "TITAN V",
    ),
    Row("lib.compat-on-host-path", "variable", with_loader(**VARIABLE), "fail", OLD),
    Row(
        "lib.compat-on-host-path",
        "version-closed",
        make_snapshot(driver=DENIED, modules=DENIED, loader=make_loader(**VARIABLE)),
        "unknown",
    ),
    Row("lib.compat-on-host-path", "cache-closed", with_loader(cache=DENIED), "unknown"),
    Row("lib.compat-on-host-path", "folders-closed", with_loader(compat=DENIED), "unknown"),
    Row("lib.compat-on-host-path", "search-closed", with_loader(search=DENIED), "unknown"),
    Row("lib.compat-on-host-path", "closed", CLOSED, "unknown"),
    Row("lib.compat-on-host-path", "container", CONTAINER, "skip"),
]


def init(code: int, text: str = "x") -> Snapshot:
    return make_snapshot(nvml=make_nvml(init=NvmlAnswer("init", code, text)))


LOADABLE_ROWS = [
    Row("lib.nvml-loadable", "started", make_snapshot(), "pass"),
    Row("lib.nvml-loadable", "mismatch", init(18), "pass", "can be loaded"),
    Row("lib.nvml-loadable", "not-loadable", init(12, "file too short"), "fail", "file too short"),
    Row("lib.nvml-loadable", "no-function", init(13), "fail"),
    Row("lib.nvml-loadable", "hung", make_snapshot(nvml=make_nvml(init=Unknown("no answer within 30 s"))), "unknown"),
    Row("lib.nvml-loadable", "not-asked", make_snapshot(nvml=DENIED), "unknown"),
    Row("lib.nvml-loadable", "no-library", make_snapshot(nvml=None), "skip"),
    Row("lib.nvml-loadable", "no-gpu", NO_GPU, "skip"),
]


def daemon(names: object) -> Snapshot:
    return with_loader(daemons=(DaemonVariables("docker", 812, names),))  # type: ignore[arg-type] # names or Unknown


DAEMON_ROWS = [
    Row("lib.daemon-environment", "none", daemon(()), "pass", "", "docker"),
    Row(
        "lib.daemon-environment",
        "some",
        daemon(("LD_LIBRARY_PATH",)),
        "warn",
        "docker runs with LD_LIBRARY_PATH",
        "docker",
    ),
    Row("lib.daemon-environment", "hidden", daemon(DENIED), "unknown", "", "docker"),
    Row("lib.daemon-environment", "no-daemon", make_snapshot(), "skip"),
    Row("lib.daemon-environment", "engines-closed", with_loader(daemons=DENIED), "unknown"),
    Row("lib.daemon-environment", "closed", CLOSED, "unknown"),
    Row("lib.daemon-environment", "wsl", make_snapshot(system=make_system(wsl=2)), "skip"),
]

ROWS = (
    *DAEMON_ROWS,
    *CACHE_ROWS,
    *CORE_ROWS,
    *CHAIN_ROWS,
    *VERSION_ROWS,
    *CAPABILITY_ROWS,
    *FOLDER_ROWS,
    *STUB_ROWS,
    *COMPAT_ROWS,
    *LOADABLE_ROWS,
)


@pytest.mark.parametrize("row", params(ROWS))
def test_check_says(row: Row) -> None:
    assert_row(LIBRARY_CHECKS, row)


def test_every_check_has_rows() -> None:
    assert {row.check for row in ROWS} == {check.id for check in LIBRARY_CHECKS}


def commands_of(identity: str, snapshot: Snapshot) -> list[str]:
    outcome = outcomes_of(LIBRARY_CHECKS, identity, snapshot)[0]
    assert outcome.remedy is not None
    return [command.text for command in outcome.remedy.commands]


def test_ldconfig_is_enough_for_a_folder_that_is_searched() -> None:
    assert commands_of("lib.core", cached(NVML)) == ["ldconfig"]


def test_folder_that_is_not_searched_has_to_be_named() -> None:
    lone = make_file("libcuda.so.1", path="/opt/driver/lib/libcuda.so.1", real_path="/opt/driver/lib/libcuda.so.1")
    commands = commands_of("lib.core", cached(NVML, files=(lone,)))
    assert commands == ["echo /opt/driver/lib > /etc/ld.so.conf.d/nvidia-driver.conf", "ldconfig"]


def test_line_of_the_configuration_is_taken_out() -> None:
    found = commands_of("lib.stubs-on-path", cached(NVML, STUB, CUDA, search=searched(STUB_FOLDER)))
    assert found == [f"sed -i '\\|^{STUB_FOLDER}/*$|d' /etc/ld.so.conf.d/cuda.conf", "ldconfig"]


def test_variable_is_unset() -> None:
    assert commands_of("lib.compat-on-host-path", with_loader(**VARIABLE)) == ["unset LD_LIBRARY_PATH"]


@pytest.mark.parametrize(
    ("text", "is_version"),
    [
        ("580.95.05", True),
        ("550.54", True),
        ("1", False),
        ("1.1.9", False),
        ("", False),
        ("580", False),
        ("580.x", False),
    ],
)
def test_versions_of_the_driver(text: str, is_version: bool) -> None:
    assert is_driver_version(text) is is_version


def test_folders_of_the_builders_are_one() -> None:
    assert {file.folder for file in FILES} == {LIBRARIES}


def test_daemon_is_started_anew_by_its_unit() -> None:
    commands = commands_of("lib.daemon-environment", daemon(("LD_PRELOAD",)))
    assert commands[-1] == "systemctl restart docker.service"
