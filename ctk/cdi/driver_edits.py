"""What every container gets of a driver: libraries, programs, sockets, configuration, links and hooks; pure."""

from collections.abc import Iterable, Iterator

from ctk.cdi.capabilities import (
    COMPAT_CAPABILITIES,
    PROFILE_CAPABILITIES,
    wants_any,
    wants_binary,
    wants_file,
    wants_library,
)
from ctk.cdi.driver_files import BINARIES, CONFIGS, FIRMWARE, RUN_FOLDERS, SOCKETS
from ctk.cdi.edits import SOCKET_OPTIONS, VOID, join_root, make_mount, mount_library
from ctk.cdi.hooks import HookWork, build_hooks
from ctk.cdi.request import NO_IPC, GenerateRequest, LeftOut
from ctk.errors import CtkError
from ctk.facts import Unknown
from ctk.facts.cdi_spec import SpecEdits, SpecMount
from ctk.facts.driver_root import DriverRoot, LibraryFile

PLACES_SHOWN = 12
CONTAINER_REMEDY = "A driver container has its own: add --driver-root=/run/nvidia/driver."


def check_libraries(facts: DriverRoot) -> str:
    """The driver's version. Raises CtkError where its libraries cannot be told, with the places that were looked in."""
    places = [place if place.startswith("/etc/ld.so.cache") else f"{place}/" for place in facts.searched]
    where = ", ".join(join_root(facts.driver_root, place.replace("//", "/")) for place in places[:PLACES_SHOWN])
    more = f" and {len(places) - PLACES_SHOWN} more folders" if len(places) > PLACES_SHOWN else ""
    remedy = CONTAINER_REMEDY if facts.has_container_root else "Name their folder with --library-search-path."
    hint = f"Looked in: {where}{more}. {remedy} Nothing was written."
    if facts.library_fault:
        raise CtkError(
            f"cannot find the driver's libraries below {facts.driver_root}: {facts.library_fault}",
            hint="Mend the link that leads to itself. Nothing was written.",
            code="libraries",
        )
    if not isinstance(facts.version, str):
        why = f" ({facts.version.reason})" if isinstance(facts.version, Unknown) else ""
        raise CtkError(
            f"cannot tell the version of the driver below {facts.driver_root}{why}: it has no libcuda.so.VERSION",
            hint=hint,
            code="libraries",
        )
    if not facts.libraries:
        others = ", ".join(facts.other_versions)
        there = f"; there are libraries of {others}: restart the node, or load the matching module" if others else ""
        raise CtkError(
            f"cannot find libcuda.so.{facts.version} below {facts.driver_root} ({facts.version_source} tells that "
            f"version){there}",
            hint=hint,
            code="libraries",
        )
    return facts.version


def driver_edits(facts: DriverRoot, request: GenerateRequest, *, graphics: bool) -> tuple[SpecEdits, list[LeftOut]]:
    """Everything but nodes. graphics False: without what X, EGL and Vulkan need (mode management)."""
    version = check_libraries(facts)
    wanted = request.wanted
    left_out: list[LeftOut] = []
    libraries = _chosen_libraries(facts.libraries, wanted, left_out)
    x_libraries = _chosen_libraries(facts.x_libraries, wanted, left_out)
    work = HookWork(
        link_groups=(
            tuple(_graphics_links((*libraries, *x_libraries), version)) if graphics else (),
            library_links(libraries),
        ),
        compat=(("--host-driver-version", version),) if wants_any(COMPAT_CAPABILITIES, wanted) else (),
        folders=tuple(sorted({library.folder for library in libraries if library.name.startswith("lib")})),
        disable_nodes=graphics,
        profile=graphics and wants_any(PROFILE_CAPABILITIES, wanted),
    )
    mounts = [mount_library(facts, library) for library in (*libraries, *x_libraries)]
    mounts += _file_mounts(facts, request, wanted, left_out)
    left_out += _not_found(facts, graphics=graphics)
    folders = ":".join(facts.library_folders)
    edits = SpecEdits(
        env=(f"NVIDIA_CTK_LIBCUDA_DIR={folders}", VOID),
        mounts=tuple(dict.fromkeys(mounts)),
        hooks=build_hooks(work, request.hooks),
    )
    return edits, left_out


def _chosen_libraries(
    libraries: Iterable[LibraryFile], wanted: frozenset[str] | None, left_out: list[LeftOut]
) -> tuple[LibraryFile, ...]:
    chosen = []
    for library in libraries:
        if wants_library(library.name, wanted):
            chosen.append(library)
        else:
            left_out.append(LeftOut("library", library.path, "no wanted capability needs it"))
    return tuple(chosen)


def _file_mounts(
    facts: DriverRoot, request: GenerateRequest, wanted: frozenset[str] | None, left_out: list[LeftOut]
) -> Iterator[SpecMount]:
    sockets = () if request.has_flag(NO_IPC) else facts.sockets
    rows = (
        *((found, wants_binary(found.path.rpartition("/")[2], wanted), False) for found in facts.binaries),
        *((found, wants_file(found.path, wanted), False) for found in facts.configs),
        *((found, wants_file(found.path, wanted), True) for found in sockets),
        *((found, True, False) for found in facts.firmware),
    )
    for found, is_wanted, is_socket in rows:
        if not is_wanted:
            left_out.append(LeftOut("file", found.path, "no wanted capability needs it"))
        elif is_socket:
            yield make_mount(facts, found, SOCKET_OPTIONS)
        else:
            yield make_mount(facts, found)


def _not_found(facts: DriverRoot, *, graphics: bool) -> Iterator[LeftOut]:
    """What drivers often have and this one has not; most hosts lack some of it, and need none of that."""
    reason = f"not found below {facts.driver_root}"
    programs = {found.path.rpartition("/")[2] for found in facts.binaries}
    yield from (LeftOut("file", name, reason) for name in BINARIES if name not in programs)
    if not facts.firmware:
        yield LeftOut("file", f"nvidia/{facts.version}/{FIRMWARE}", "not found in the kernel's firmware folders")
    there = {found.path for found in (*facts.sockets, *facts.configs)}
    for name in SOCKETS:
        if not there & {f"{folder}/{name}" for folder in RUN_FOLDERS}:
            yield LeftOut("file", f"{RUN_FOLDERS[0]}/{name}", reason)
    if not graphics:
        return
    for config in CONFIGS:
        path = config.container_path.format(architecture=facts.architecture)
        if path not in there:
            yield LeftOut("file", path, reason)


def _graphics_links(libraries: Iterable[LibraryFile], version: str) -> Iterator[str]:
    """Names under which X, GBM and Vulkan look for libraries that have another one."""
    for library in libraries:
        if library.name == f"libnvidia-allocator.so.{version}":
            yield f"../libnvidia-allocator.so.1::{library.folder}/gbm/nvidia-drm_gbm.so"
        for name in ("libnvidia-vulkan-producer.so", "libglxserver_nvidia.so"):
            if library.name == f"{name}.{version}":
                yield f"{library.name}::{library.folder}/{name}"


FIXED_LINKS = (
    ("libcuda.so.", "libcuda.so.1", "libcuda.so"),
    ("libGLX_nvidia.so.", "", "libGLX_indirect.so.0"),
    ("libnvidia-opticalflow.so.", "libnvidia-opticalflow.so.1", "libnvidia-opticalflow.so"),
)
"""Links that programs need whether the host has them or not: a library's beginning, the target ("" = it), the link."""


def library_links(libraries: Iterable[LibraryFile]) -> tuple[str, ...]:
    """The fixed links, then SONAME and lib*.so of every library as far as the host has them."""
    links = [
        f"{target or library.name}::{library.folder}/{link}"
        for beginning, target, link in FIXED_LINKS
        for library in libraries
        if library.name.startswith(beginning)
    ]
    for library in libraries:
        by_name = {link.path.rpartition("/")[2]: link for link in library.links}
        if library.soname in by_name:
            links.append(f"{library.name}::{library.folder}/{library.soname}")
        plain = library.name.partition(".so")[0] + ".so"
        if plain in by_name and plain != library.soname:
            links.append(f"{library.soname or library.name}::{library.folder}/{plain}")
    return first_for_each_place(links)


def first_for_each_place(links: Iterable[str]) -> tuple[str, ...]:
    """Links target::link without those whose place another one has already."""
    by_place: dict[str, str] = {}
    for link in links:
        by_place.setdefault(link.partition("::")[2], link)
    return tuple(by_place.values())
