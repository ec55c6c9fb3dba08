"""Whether other libraries stand in the driver's way: left-over versions, stubs, compatibility, several folders."""

import shlex
from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import loaded_version, version_tuple
from ctk.doctor.checks.libraries import (
    CACHE,
    COMPAT,
    LDCONFIG,
    STUBS,
    entries_of,
    files_of,
    is_aside,
    is_driver_version,
    loader_to_judge,
    native,
    nvml_names,
)
from ctk.doctor.model import (
    APT,
    RED_HAT,
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
from ctk.facts.loader import CORE_LIBRARIES, CachedLibrary, LibraryFile, Loader, SearchFolder

if TYPE_CHECKING:
    from ctk.facts.snapshot import Snapshot

CUDA = "libcuda.so.1"
VARIABLE = "LD_LIBRARY_PATH"
HOME_USE = ("GeForce", "TITAN")
"""Boards that forward compatibility does not support (CUDA compatibility guide, error 804)."""


def check_version_suffix(snapshot: "Snapshot") -> Outcome:
    """Containers get only files whose names end in the loaded module's version; other folders are another matter."""
    loader = loader_to_judge(snapshot)
    if isinstance(loader, Outcome):
        return loader
    if isinstance(loader.files, Unknown):
        return unseen(loader.files)
    loaded = loaded_version(snapshot)
    if isinstance(loaded, Unknown):
        return unseen(loaded)
    versioned = [file for file in files_of(loader) if file.target is None and is_driver_version(file.version)]
    versioned = [file for file in versioned if not is_aside(file.path)]
    if loaded is None or not versioned:
        return skipped("no driver is loaded" if loaded is None else "no library carries the driver's version")
    fitting = {file.stem for file in versioned if file.version == loaded}
    folders = {file.folder for file in versioned if file.version == loaded}
    strangers = [file for file in versioned if file.version != loaded and file.folder in folders]
    from ctk.doctor.data.capability_libraries import NEEDED

    missing = sorted(({file.stem for file in strangers} - fitting) & NEEDED)
    if not fitting:
        return skipped("no library has the loaded module's version, which driver.version-mismatch judges")
    if missing:
        return _judge_missing(loaded, missing, strangers)
    if strangers:
        return _judge_left_over(loaded, strangers)
    return passed(f"{len(fitting)} libraries have version {loaded}")


def _judge_missing(loaded: str, missing: list[str], strangers: list[LibraryFile]) -> Outcome:
    of_them = [next(file for file in strangers if file.stem == stem) for stem in missing]
    return failed(
        f"{len(missing)} driver libraries are there in another version only, and containers do without them: "
        f"{', '.join(missing[:3])}",
        *(Evidence(f"{file.version}, the module is {loaded}", file.path) for file in of_them[:4]),
        remedy=Remedy(
            "Install the missing packages in the module's version, and remove those of the other one",
            (
                Command("dpkg -S " + shlex.join(file.path for file in of_them[:2]), False, only_on=APT),
                Command("rpm -qf " + shlex.join(file.path for file in of_them[:2]), False, only_on=(RED_HAT,)),
            ),
        ),
    )


def _judge_left_over(loaded: str, strangers: list[LibraryFile]) -> Outcome:
    versions = sorted({file.version for file in strangers})
    paths = shlex.join(file.path for file in strangers[:4])
    return warned(
        f"libraries of another driver are left: {', '.join(versions)} beside {loaded}",
        *(Evidence(file.version, file.path) for file in strangers[:4]),
        remedy=Remedy(
            "Find out which package they are of and remove it; files of no package are left from NVIDIA's installer",
            (
                Command(f"dpkg -S {paths}", False, only_on=APT),
                Command(f"rpm -qf {paths}", False, only_on=(RED_HAT,)),
            ),
        ),
    )


def check_capabilities(snapshot: "Snapshot") -> Outcome:
    """What a container may ask of this host's driver; a server that computes has no need of the rest."""
    loader = loader_to_judge(snapshot)
    if isinstance(loader, Outcome):
        return loader
    if isinstance(loader.files, Unknown):
        return unseen(loader.files)
    loaded = loaded_version(snapshot)
    if not isinstance(loaded, str):
        return unseen(loaded) if isinstance(loaded, Unknown) else skipped("no driver is loaded")
    from ctk.doctor.data.capability_libraries import CAPABILITY_LIBRARIES

    there = {file.stem for file in loader.files if file.version == loaded and not is_aside(file.path)}
    lacking = {name: [one for one in names if one not in there] for name, names in CAPABILITY_LIBRARIES}
    whole = [name for name, missing in lacking.items() if not missing]
    evidence = tuple(
        Evidence(f"{name}: no {', '.join(missing[:4])}", "the library folders")
        for name, missing in lacking.items()
        if missing
    )
    if not evidence:
        return passed(f"this host's driver can give containers {', '.join(whole)}")
    parts = ", ".join(name for name, missing in lacking.items() if missing)
    return noted(f"libraries for some capabilities are not installed, wholly or in part: {parts}", *evidence)


def check_multiple_folders(snapshot: "Snapshot") -> Outcome:
    """The first in the cache is the one that programs get."""
    loader = loader_to_judge(snapshot)
    if isinstance(loader, Outcome):
        return loader
    if isinstance(loader.cache, Unknown):
        return unseen(loader.cache)
    for name in CORE_LIBRARIES:
        own = [entry for entry in native(snapshot, entries_of(loader)) if entry.name == name]
        places = list(dict.fromkeys(entry.real_path for entry in own if isinstance(entry.real_path, str)))
        if len(places) > 1 and not any(is_aside(entry.path) for entry in own):
            return _judge_several(snapshot, loader, own, places)
    return passed("one folder provides the driver's libraries")


def _judge_several(snapshot: "Snapshot", loader: Loader, own: list[CachedLibrary], places: list[str]) -> Outcome:
    loaded, name = loaded_version(snapshot), own[0].name
    shown = tuple(Evidence(f"{name}: {entry.real_path}", entry.path) for entry in own[:4])
    first = places[0].rpartition(".so.")[2]
    if isinstance(loaded, str) and is_driver_version(first) and first != loaded:
        message = f"the loader takes {name} of version {first} first, and the module is {loaded}"
        return failed(message, *shown, remedy=_remove_folder(loader, own[0].path.rpartition("/")[0]))
    return warned(f"the loader knows {len(places)} copies of {name}", *shown)


def check_stubs(snapshot: "Snapshot") -> Outcome:
    """A stub is for linking alone: each of its functions fails."""
    loader = loader_to_judge(snapshot)
    if isinstance(loader, Outcome):
        return loader
    if isinstance(loader.cache, Unknown):
        return unseen(loader.cache)
    entries = native(snapshot, entries_of(loader))
    for name in CORE_LIBRARIES:
        own = [entry for entry in entries if entry.name == name]
        if own and _is_below(own[0], STUBS):
            return failed(
                f"the loader takes a stub for {name}: no program that uses it can work",
                Evidence(name, own[0].path),
                remedy=_remove_folder(loader, own[0].path.rpartition("/")[0]),
            )
    named = [entry.path for entry in entries if _is_below(entry, STUBS)]
    told = _told(loader, STUBS)
    if isinstance(told, Unknown):
        return unseen(told)
    if named or told:
        shown = (*(Evidence("in the cache", path) for path in named[:2]), *(_folder(place) for place in told[:2]))
        place = named[0].rpartition("/")[0] if named else told[0].path
        return warned(
            "a folder with stub libraries is among those that the loader searches",
            *shown,
            remedy=_remove_folder(loader, place),
        )
    return passed("the loader knows no stub libraries")


def _is_below(entry: CachedLibrary, part: str) -> bool:
    return f"{part}/" in entry.path or (isinstance(entry.real_path, str) and f"{part}/" in entry.real_path)


def _told(loader: Loader, part: str) -> list[SearchFolder] | Unknown:
    """The folders of that kind that files or the caller's variable name."""
    if isinstance(loader.search, Unknown):
        return loader.search
    return [folder for folder in loader.search if folder.path.endswith(part) or f"{part}/" in folder.path]


def _folder(folder: SearchFolder) -> Evidence:
    line = "" if folder.line is None else f":{folder.line}"
    return Evidence(folder.path, f"{folder.origin}{line}")


def _remove_folder(loader: Loader, place: str) -> Remedy:
    known = () if isinstance(loader.search, Unknown) else loader.search
    origin = next((folder.origin for folder in known if folder.path == place), "")
    if origin == VARIABLE:
        return Remedy(f"Take {place} out of {VARIABLE}", (Command(f"unset {VARIABLE}", False),))
    if not origin:
        return Remedy(
            f"Find the file that names {place}, take the line out, and have the cache written anew",
            (Command(f"grep -rn {shlex.quote(place)} /etc/ld.so.conf /etc/ld.so.conf.d", False), LDCONFIG),
        )
    expression = f"\\|^{place}/*$|d"
    return Remedy(
        f"Take {place} out of {origin}, and have the cache written anew",
        (Command(f"sed -i {shlex.quote(expression)} {shlex.quote(origin)}"), LDCONFIG),
    )


def check_compat(snapshot: "Snapshot") -> Outcome:
    """Meant for programs in containers; on a host it takes the driver's own library away from every program."""
    loader = loader_to_judge(snapshot)
    if isinstance(loader, Outcome):
        return loader
    for value in (loader.cache, loader.compat, loader.search):
        if isinstance(value, Unknown):
            return unseen(value)
    active = _active_compat(snapshot, loader)
    if active is None:
        return passed("no forward compatibility libraries are in force on the host")
    path, version, evidence = active
    loaded = loaded_version(snapshot)
    if isinstance(loaded, Unknown):
        return unseen(loaded)
    home = next((name for name in nvml_names(snapshot) if any(word in name for word in HOME_USE)), None)
    remedy = _remove_folder(loader, path)
    if home is not None:
        message = f"forward compatibility libraries are in force, and {home} does not support them"
        return failed(message, *evidence, Evidence(home, "the driver"), remedy=remedy)
    if loaded is not None and version is not None and version_tuple(version) <= version_tuple(loaded):
        message = f"forward compatibility libraries of {version} are in force, and the driver is {loaded}"
        return failed(message, *evidence, remedy=remedy)
    return noted("forward compatibility libraries are in force for every program of this host", *evidence)


def _active_compat(snapshot: "Snapshot", loader: Loader) -> tuple[str, str | None, tuple[Evidence, ...]] | None:
    """The folder whose libcuda.so.1 comes first, its version, and what says so: the caller's variable, or the cache."""
    told = _told(loader, COMPAT)
    places = told if isinstance(told, list) else []
    for folder in places:
        if folder.origin == VARIABLE:
            return folder.path, _compat_version(loader, folder.path), (_folder(folder),)
    own = [entry for entry in native(snapshot, entries_of(loader)) if entry.name == CUDA]
    if not own or not _is_below(own[0], COMPAT):
        return None
    path = own[0].path.rpartition("/")[0]
    real = own[0].real_path if isinstance(own[0].real_path, str) else own[0].path
    version = real.rpartition(".so.")[2]
    shown = (
        Evidence(f"{CUDA}: {own[0].path}", CACHE),
        *(_folder(place) for place in places[:1]),
    )
    return path, version if is_driver_version(version) else _compat_version(loader, path), shown


def _compat_version(loader: Loader, path: str) -> str | None:
    folders = () if isinstance(loader.compat, Unknown) else loader.compat
    return next((folder.version for folder in folders if folder.path == path), None)
