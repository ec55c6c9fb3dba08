"""The loader's cache, folders and library files are told as they are, also where links lead nowhere or in a circle."""

from pathlib import Path

from ctk.facts import Unknown
from ctk.facts.loader import CachedLibrary, CompatFolder, DaemonVariables, LibraryFile, LoaderCache, SearchFolder
from ctk.host import LocalHost
from ctk.host.loader import collect_loader
from tests.builders import make_engine
from tests.fake_host import FakeHost
from tests.ld_caches import make_ld_cache
from tests.unit.host.trees import Link, plant

FOLDER = "/usr/lib/x86_64-linux-gnu"
FILE = f"{FOLDER}/libcuda.so.580.95.05"
ENCODE = f"{FOLDER}/libnvidia-encode.so"
LINKED = {
    FILE: "",
    f"{FOLDER}/libcuda.so.1": Link("libcuda.so.580.95.05"),
    f"{FOLDER}/libcuda.so": Link("libcuda.so.1"),
}


def cached(tmp_path: Path, files: dict[str, str], *rows: tuple[str, str, int]) -> LocalHost:
    host = plant(tmp_path, files)
    (tmp_path / "etc").mkdir(exist_ok=True)
    (tmp_path / "etc/ld.so.cache").write_bytes(make_ld_cache(*rows))
    return host


def test_entries_of_the_driver_with_the_files_behind_them(tmp_path: Path) -> None:
    rows = (
        ("libcuda.so.1", f"{FOLDER}/libcuda.so.1", 0x0303),
        ("libcuda.so.1", "/usr/lib/i386-linux-gnu/libcuda.so.1", 0x0003),
        ("libnvidia-container.so.1", f"{FOLDER}/libnvidia-container.so.1", 0x0303),
        ("libc.so.6", f"{FOLDER}/libc.so.6", 0x0303),
    )
    loader = collect_loader(cached(tmp_path, LINKED, *rows))
    assert loader.cache == LoaderCache(
        "/etc/ld.so.cache",
        "1.1",
        4,
        (
            CachedLibrary("libcuda.so.1", f"{FOLDER}/libcuda.so.1", "x86_64", 64, FILE),
            CachedLibrary("libcuda.so.1", "/usr/lib/i386-linux-gnu/libcuda.so.1", "i386", 32, None),
        ),
    )


def test_cache_that_is_damaged_or_not_there(tmp_path: Path) -> None:
    host = plant(tmp_path, {"/etc/ld.so.cache": "glibc-ld.so.cache1.1"})
    assert collect_loader(host).cache == LoaderCache("/etc/ld.so.cache", fault="it is cut short")
    (tmp_path / "etc/ld.so.cache").unlink()
    assert collect_loader(host).cache is None


def test_files_of_the_folders(tmp_path: Path) -> None:
    files = {
        **LINKED,
        f"{FOLDER}/libnvidia-container.so.1": "",
        f"{FOLDER}/libnvidia-egl-wayland.so.1.1.9": "",
        f"{ENCODE}.580.95.05": "",
        f"{ENCODE}.1": Link("libnvidia-encode.so.580.95.05"),
        f"{FOLDER}/libcuda.txt": "",
        "/lib": Link("usr/lib"),
    }
    assert collect_loader(plant(tmp_path, files)).files == (
        LibraryFile(f"{FOLDER}/libcuda.so", "libcuda.so", "", "libcuda.so.1", FILE),
        LibraryFile(f"{FOLDER}/libcuda.so.1", "libcuda.so", "1", "libcuda.so.580.95.05", FILE),
        LibraryFile(FILE, "libcuda.so", "580.95.05", None, FILE),
        LibraryFile(f"{ENCODE}.580.95.05", "libnvidia-encode.so", "580.95.05", None, f"{ENCODE}.580.95.05"),
    )


def test_folder_that_only_the_cache_names(tmp_path: Path) -> None:
    host = cached(tmp_path, {"/opt/driver/libcuda.so.1": ""}, ("libcuda.so.1", "/opt/driver/libcuda.so.1", 0x0303))
    files = collect_loader(host).files
    assert isinstance(files, tuple)
    assert [file.path for file in files] == ["/opt/driver/libcuda.so.1"]


def test_debians_alternatives_are_followed_to_the_end(tmp_path: Path) -> None:
    current = f"{FOLDER}/nvidia/current/libcuda.so"
    files = {
        f"{FOLDER}/libcuda.so.1": Link("/etc/alternatives/glx--libcuda.so.1"),
        "/etc/alternatives/glx--libcuda.so.1": Link(f"{current}.1"),
        f"{current}.1": Link("libcuda.so.535.100.02"),
        f"{current}.535.100.02": "",
    }
    found = collect_loader(plant(tmp_path, files)).files
    assert isinstance(found, tuple)
    assert {file.real_path for file in found} == {f"{current}.535.100.02"}


def test_links_that_lead_nowhere_or_in_a_circle(tmp_path: Path) -> None:
    files = {
        f"{FOLDER}/libcuda.so.1": Link("libcuda.so.570.1"),
        f"{FOLDER}/libnvidia-ml.so": Link("libnvidia-ml.so.1"),
        f"{FOLDER}/libnvidia-ml.so.1": Link("libnvidia-ml.so"),
    }
    found = collect_loader(plant(tmp_path, files)).files
    assert isinstance(found, tuple)
    assert [(file.name, file.real_path) for file in found] == [
        ("libcuda.so.1", None),
        ("libnvidia-ml.so", None),
        ("libnvidia-ml.so.1", None),
    ]


def test_folders_that_the_configuration_names(tmp_path: Path) -> None:
    files = {
        "/etc/ld.so.conf": "# comment\ninclude ld.so.conf.d/*.conf\n/usr/local/lib=libc6\nrelative\n",
        "/etc/ld.so.conf.d/a.conf": "/usr/local/cuda/lib64/stubs/ # not good\n",
        "/etc/ld.so.conf.d/b.conf": "include /etc/ld.so.conf.d/b.conf\n",
        "/usr/local/lib/x": "",
    }
    assert collect_loader(plant(tmp_path, files)).search == (
        SearchFolder("/usr/local/cuda/lib64/stubs", "/etc/ld.so.conf.d/a.conf", 1, False),
        SearchFolder("/usr/local/lib", "/etc/ld.so.conf", 3, True),
    )


def test_compatibility_folders_once_by_their_first_name(tmp_path: Path) -> None:
    files = {
        "/usr/local/cuda-12.4/compat/libcuda.so.550.54.15": "",
        "/usr/local/cuda-13.0/compat/libcuda.so.580.65.06": "",
        "/usr/local/cuda-13.0/compat/libcuda.so": Link("libcuda.so.1"),
        "/usr/local/cuda-9/compat/readme": "",
        "/usr/local/cuda": Link("cuda-13.0"),
    }
    assert collect_loader(plant(tmp_path, files)).compat == (
        CompatFolder("/usr/local/cuda-12.4/compat", "550.54.15"),
        CompatFolder("/usr/local/cuda-13.0/compat", "580.65.06"),
        CompatFolder("/usr/local/cuda-9/compat", None),
    )


def test_what_makes_a_cache(tmp_path: Path) -> None:
    host = plant(tmp_path, {"/lib64/ld-linux-x86-64.so.2": "", "/sbin/ldconfig": ""})
    assert (collect_loader(host).glibc, collect_loader(host).ldconfig) == (
        "/lib64/ld-linux-x86-64.so.2",
        "/sbin/ldconfig",
    )
    assert collect_loader(plant(tmp_path / "musl", {"/lib/ld-musl-x86_64.so.1": ""})).glibc is None


def test_what_may_not_be_read_is_unknown(tmp_path: Path) -> None:
    plant(tmp_path, {"/etc/ld.so.cache": "", **LINKED})
    host = FakeHost(str(tmp_path), {"denied": [{"path": "/etc"}, {"path": "/usr/lib"}, {"path": "/usr/local"}]})
    loader = collect_loader(host)
    assert loader.search == Unknown("permission denied")
    assert loader.cache == Unknown("permission denied")
    assert loader.files == Unknown("permission denied")
    assert loader.compat == Unknown("permission denied")


def test_variables_of_the_systems_daemons_by_name(tmp_path: Path) -> None:
    environ = b"PATH=/usr/bin\0LD_PRELOAD=secret\0NVIDIA_VISIBLE_DEVICES=all\0LD_PRELOAD=x\0\xff=1\0"
    host = plant(tmp_path, {"/proc/812/x": "", "/proc/813/x": ""})
    (tmp_path / "proc/812/environ").write_bytes(environ)
    engines = (
        make_engine(),
        make_engine(engine="containerd", pid=813),
        make_engine(pid=814, user="alice"),
        make_engine(pid=815, installation="snap"),
        make_engine(pid=None),
    )
    assert collect_loader(host, engines).daemons == (
        DaemonVariables("docker", 812, ("LD_PRELOAD", "NVIDIA_VISIBLE_DEVICES")),
        DaemonVariables("containerd", 813, Unknown("no /proc/813/environ")),
    )
    assert collect_loader(host, Unknown("no /proc")).daemons == Unknown("no /proc")
