"""Whether the loader finds the driver's libraries; which version and whose they are is judged beside it."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import (
    has_driver_container,
    has_trace,
    is_loaded,
    no_gpu_here,
)
from ctk.doctor.model import (
    DEBIAN,
    RED_HAT,
    UBUNTU,
    Command,
    Evidence,
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
from ctk.facts.loader import CORE_LIBRARIES, CachedLibrary, LibraryFile, Loader, LoaderCache
from ctk.facts.nvml import LIBRARY_NOT_FOUND, Nvml

if TYPE_CHECKING:
    from ctk.facts.snapshot import Snapshot

CACHE = "/etc/ld.so.cache"
CONTAINER_ROOT = "/run/nvidia/driver"
BUILT_IN_FOLDERS = ("/lib", "/usr/lib", "/lib64", "/usr/lib64")
"""ld.so(8): searched without being named; a multiarch folder is named by the distribution's own files."""
DRIVER_VERSION_DIGITS = 3
STUBS, COMPAT = "/stubs", "/compat"
LDCONFIG = Command("ldconfig")
FUNCTION_NOT_FOUND = 13


def why_no_libraries(snapshot: "Snapshot") -> str:
    """Why the host's own loader has nothing to do with the driver's libraries."""
    why = no_gpu_here(snapshot)
    if why:
        return why
    if has_driver_container(snapshot):
        return f"the driver's libraries are those of a driver container, below {CONTAINER_ROOT}"
    return "the driver's libraries lie in the system image's own folder" if has_trace(snapshot, "vendor") else ""


def loader_to_judge(snapshot: "Snapshot") -> Loader | Outcome:
    """The loader's view, or what to say where there is nothing to judge."""
    why = why_no_libraries(snapshot)
    if why:
        return skipped(why)
    if isinstance(snapshot.driver, Unknown):
        return unseen(snapshot.driver)  # it may be in a container of its own
    return unseen(snapshot.loader) if isinstance(snapshot.loader, Unknown) else snapshot.loader


def entries_of(loader: Loader) -> tuple[CachedLibrary, ...]:
    """What the cache holds of the driver; nothing where there is none, or it is damaged."""
    return loader.cache.entries if isinstance(loader.cache, LoaderCache) else ()


def native(snapshot: "Snapshot", entries: Iterable[CachedLibrary]) -> list[CachedLibrary]:
    """Those that the host's own programs can load."""
    machine = snapshot.system.architecture
    if isinstance(machine, str):
        return [entry for entry in entries if entry.architecture == machine]
    return [entry for entry in entries if entry.bits == 64]


def files_of(loader: Loader) -> tuple[LibraryFile, ...]:
    """The files in the folders; nothing where they could not be listed."""
    return () if isinstance(loader.files, Unknown) else loader.files


def is_aside(path: str) -> bool:
    """Stubs and forward compatibility libraries bear the driver's names, and are not its own."""
    return f"{STUBS}/" in path or f"{COMPAT}/" in path


def is_driver_version(text: str) -> bool:
    """580.95.05, and not 1 or 1.1.9: a library with a version of its own."""
    first, dot, rest = text.partition(".")
    return bool(dot) and len(first) >= DRIVER_VERSION_DIGITS and (first + rest.replace(".", "")).isdigit()


def check_ldcache(snapshot: "Snapshot") -> Outcome:
    """A system with another C library, or without ldconfig, finds its libraries by other means."""
    loader = loader_to_judge(snapshot)
    if isinstance(loader, Outcome):
        return loader
    cache = loader.cache
    if isinstance(cache, Unknown):
        return unseen(cache)
    if cache is None:
        return _judge_no_cache(loader)
    if cache.fault:
        return failed(f"the loader's cache cannot be read: {cache.fault}", Evidence(cache.fault, cache.path))
    core = {library.partition(".so")[0] for library in CORE_LIBRARIES}
    gone = [entry for entry in cache.entries if entry.real_path is None and entry.name.partition(".so")[0] not in core]
    evidence = Evidence(f"format {cache.format}, {cache.total} entries", cache.path)
    if gone:
        lost = (Evidence(f"gone: {entry.path}", cache.path) for entry in gone[:4])
        return warned(f"the loader's cache names {len(gone)} driver libraries that are gone", evidence, *lost)
    return passed(f"the loader's cache holds {cache.total} libraries", evidence)


def _judge_no_cache(loader: Loader) -> Outcome:
    for value in (loader.glibc, loader.ldconfig):
        if isinstance(value, Unknown):
            return unseen(value)
    if loader.glibc is None or loader.ldconfig is None:
        return skipped("this system's loader keeps no cache")
    return failed(
        "the loader's cache is missing", Evidence("not there", CACHE), Evidence("program", str(loader.ldconfig))
    )


def check_core(snapshot: "Snapshot") -> Outcome:
    """By the loader's cache, and where there is none by the usual folders."""
    loader = loader_to_judge(snapshot)
    if isinstance(loader, Outcome):
        return loader
    for value in (loader.cache, loader.files):
        if isinstance(value, Unknown):
            return unseen(value)
    if isinstance(loader.cache, LoaderCache) and loader.cache.fault:
        return unseen(Unknown(f"{CACHE}: {loader.cache.fault}"))
    found = [_look_up(snapshot, loader, name) for name in CORE_LIBRARIES]
    for answer in found:
        if isinstance(answer, Outcome) and isinstance(snapshot.pci, Unknown) and not is_loaded(snapshot):
            return unseen(snapshot.pci)  # there may be no GPU at all
        if isinstance(answer, Outcome):
            return answer
    shown = [item for item in found if isinstance(item, Evidence)]
    return passed("libnvidia-ml.so.1 and libcuda.so.1 are found", *shown)


def _look_up(snapshot: "Snapshot", loader: Loader, name: str) -> Evidence | Outcome:
    """Where the loader finds it; what to say where it does not."""
    entries = [entry for entry in entries_of(loader) if entry.name == name]
    own = native(snapshot, entries)
    for entry in own:
        if isinstance(entry.real_path, Unknown):
            return unseen(Unknown(f"{entry.path}: {entry.real_path.reason}"))
        if entry.real_path is not None:
            return Evidence(f"{name}: {entry.real_path}", entry.path)
    narrow = {entry.real_path for entry in entries if entry not in own}
    files = [file for file in files_of(loader) if _could_be(file, name) and file.real_path not in narrow]
    if loader.cache is None and files:
        return Evidence(f"{name}: {files[0].real_path}", files[0].path)
    if own:
        return _dangling(name, own[0])
    if files:
        return _not_in_cache(loader, name, files[0])
    return _not_installed(snapshot, name, [entry for entry in entries if entry.bits == 32])


def _could_be(file: LibraryFile, name: str) -> bool:
    is_named = file.name == name or (file.stem == name.removesuffix(".1") and is_driver_version(file.version))
    return is_named and isinstance(file.real_path, str) and not is_aside(file.path)


def _dangling(name: str, entry: CachedLibrary) -> Outcome:
    return failed(
        f"{name} is in the loader's cache, but {entry.path} leads to no file",
        Evidence("leads nowhere", entry.path),
        Evidence(name, CACHE),
        remedy=Remedy("Install the driver's libraries anew, then have the cache written", reinstall()),
    )


def reinstall() -> tuple[Command, ...]:
    """How to get the files of the driver's libraries anew."""
    return (
        Command("apt-get install --reinstall libnvidia-compute-<BRANCH>-server", only_on=(UBUNTU,)),
        Command("apt-get install --reinstall libcuda1 libnvidia-ml1", only_on=(DEBIAN,)),
        Command("dnf reinstall nvidia-driver-cuda-libs", only_on=(RED_HAT,)),
        LDCONFIG,
    )


def _not_in_cache(loader: Loader, name: str, file: LibraryFile) -> Outcome:
    folders = () if isinstance(loader.search, Unknown) else loader.search
    is_searched = file.folder in BUILT_IN_FOLDERS or any(folder.path == file.folder for folder in folders)
    is_multiarch = file.folder.startswith(("/usr/lib/", "/lib/")) and file.folder.count("/") <= 3
    commands: tuple[Command, ...] = (LDCONFIG,)
    summary = "Have the loader's cache written anew"
    if not is_searched and not is_multiarch:
        commands = (Command(f"echo {file.folder} > /etc/ld.so.conf.d/nvidia-driver.conf"), LDCONFIG)
        summary = "Name the folder to the loader, and have its cache written anew"
    return failed(
        f"{name} is installed, but the loader's cache does not know it",
        Evidence("there", file.path),
        Evidence(f"no {name}", CACHE),
        remedy=Remedy(summary, commands),
    )


def _not_installed(snapshot: "Snapshot", name: str, narrow: list[CachedLibrary]) -> Outcome:
    evidence = [
        Evidence(f"no {name} for this machine", CACHE),
        *(Evidence("32-bit only", one.path) for one in narrow[:1]),
    ]
    only = "; only a 32-bit one is there" if narrow else ""
    message = (
        f"the nvidia module is loaded, but {name} is not installed" if is_loaded(snapshot) else f"no {name} is here"
    )
    install = (
        Command("apt-get install libnvidia-compute-<BRANCH>-server", only_on=(UBUNTU,)),
        Command("apt-get install libcuda1 libnvidia-ml1", only_on=(DEBIAN,)),
    )
    other = (Command("dnf install nvidia-driver-cuda", only_on=(RED_HAT,)),)
    remedy = Remedy(
        "Install the package with the libraries of the module's version",
        (*install, *other),
    )
    return failed(message + only, *evidence, remedy=remedy)


def check_symlink_chain(snapshot: "Snapshot") -> Outcome:
    """libcuda.so leads to libcuda.so.1, and that to the file with the version in its name."""
    loader = loader_to_judge(snapshot)
    if isinstance(loader, Outcome):
        return loader
    if isinstance(loader.files, Unknown):
        return unseen(loader.files)
    core = [file for file in loader.files if f"{file.stem}.1" in CORE_LIBRARIES and not is_aside(file.path)]
    if not core:
        return skipped("no library of the driver is in the usual folders")
    broken = [file for file in core if file.target is not None and file.real_path is None]
    if broken:
        shown = (Evidence(f"-> {file.target}", file.path) for file in broken[:4])
        names = ", ".join(file.path for file in broken[:2])
        return failed(f"{names} {'leads' if len(broken) == 1 else 'lead'} nowhere, or in a circle", *shown)
    return _judge_chain(core)


def _judge_chain(core: list[LibraryFile]) -> Outcome:
    sonames = [file for file in core if file.name in CORE_LIBRARIES]
    copied = [file for file in sonames if file.target is None]
    if copied:
        shown = (Evidence("a file, not a link", file.path) for file in copied[:2])
        return warned(f"{copied[0].path} is a copy: it keeps its version when the driver is updated", *shown)
    odd = [file for file in sonames if not is_driver_version(_version_behind(file))]
    if odd:
        shown = (Evidence(f"-> {file.real_path}", file.path) for file in odd[:2])
        return warned(f"{odd[0].path} leads to a file without the driver's version in its name", *shown)
    chain = tuple(Evidence(f"-> {file.real_path}", file.path) for file in sonames[:2])
    if not any(file.name == "libcuda.so" for file in core):
        return noted("there is no libcuda.so: only programs that are built here need it", *chain)
    return passed("the links lead to the files with the version in their names", *chain)


def _version_behind(file: LibraryFile) -> str:
    real = file.real_path if isinstance(file.real_path, str) else ""
    return real.rpartition("/")[2].partition(".so.")[2]


def check_nvml_loadable(snapshot: "Snapshot") -> Outcome:
    """Only whether it could be loaded; what it answers is for nvml.init."""
    why = no_gpu_here(snapshot)
    if why:
        return skipped(why)
    nvml = snapshot.nvml
    if nvml is None:
        return skipped("no libnvidia-ml.so.1 was found where drivers put it: lib.core says why")
    if isinstance(nvml, Unknown) or isinstance(nvml.init, Unknown):
        return unseen(nvml if isinstance(nvml, Unknown) else nvml.init if isinstance(nvml.init, Unknown) else NOT_ASKED)
    evidence = Evidence(f"{nvml.init.text} (NVML {nvml.init.code})", nvml.library)
    if nvml.init.code in (LIBRARY_NOT_FOUND, FUNCTION_NOT_FOUND):
        return failed(f"libnvidia-ml.so.1 cannot be loaded: {nvml.init.text}", evidence)
    return passed("libnvidia-ml.so.1 can be loaded", evidence)


NOT_ASKED = Unknown("the library was not asked")


def nvml_names(snapshot: "Snapshot") -> tuple[str, ...]:
    """What the GPUs are called, by NVML, else by the driver."""
    nvml, driver = snapshot.nvml, snapshot.driver
    if isinstance(nvml, Nvml) and isinstance(nvml.gpus, tuple):
        return tuple(gpu.name for gpu in nvml.gpus if isinstance(gpu.name, str))
    listed = () if isinstance(driver, Unknown) or not isinstance(driver.gpus, tuple) else driver.gpus
    return tuple(gpu.model for gpu in listed if isinstance(gpu.model, str))
