"""Runtimes of NVIDIA's in files that an engine does not read, or only until it writes them anew; it judges nothing."""

from collections.abc import Callable, Iterator

from ctk.engines.installations import GENERATED, GO_TEMPLATE_BASE, TEMPLATE, get_installation
from ctk.engines.reading import is_nvidia_runtime, version_numbers
from ctk.errors import CtkError
from ctk.facts import Unknown
from ctk.facts.engines import (
    GENERATED_ONLY,
    MAYBE_IMPORTED,
    NOT_IMPORTED,
    OTHER_FILE,
    OTHER_FOLDER,
    EngineFiles,
    EngineInstallation,
    UnreadRuntime,
)
from ctk.host import Host
from ctk.host.reading import try_read_text

DOCKER_CONFIG = "/etc/docker/daemon.json"
FOLDERS_IMPORTED_SINCE = (2, 2)
FOLDER_IMPORTED = "/etc/containerd/conf.d/*.toml"
"""containerd's own default imports these from here on, where the main file has no imports (its release notes)."""
FILE_LIMIT = 100
NVIDIA = ("nvidia", "ctk-container-runtime")


def collect_unread(host: Host, item: EngineInstallation) -> tuple[UnreadRuntime, ...]:
    """What the doctor can say is written in vain, beside what the engine's own reading has found already."""
    if item.engine == "docker":
        return item.unread + tuple(_other_docker_file(host, item))
    if item.engine == "crio":
        return item.unread + tuple(_outside(host, item, _crio_names, OTHER_FOLDER, ".conf", ".toml"))
    if item.engine != "containerd" or item.installation == "docker":
        return item.unread
    if get_installation(item.engine, item.installation).treatment in (GENERATED, TEMPLATE):
        return item.unread + tuple(_only_generated(host, item))
    reason = NOT_IMPORTED if imports_folder(host, item) is not None else MAYBE_IMPORTED
    return item.unread + tuple(_outside(host, item, _containerd_names, reason, ".toml"))


def imports_folder(host: Host, item: EngineInstallation) -> bool | None:
    """Whether this containerd imports its folder although no file says so; None: its version is not known."""
    if item.engine != "containerd" or item.imports or _says_imports(host, item.config_path):
        return False
    version = version_numbers(item.version)
    return None if version is None else version >= FOLDERS_IMPORTED_SINCE


def _says_imports(host: Host, path: str) -> bool:
    """An empty list says it, too; a broken file says nothing that counts."""
    from ctk.engines import containerd_reading

    text = try_read_text(host, path)
    try:
        return isinstance(text, str) and containerd_reading.names_imports(text, path)
    except CtkError:
        return True


def collect_default_imports(host: Host, item: EngineInstallation) -> tuple[str, ...]:
    """The files that containerd imports unasked."""
    paths = _glob(host, FOLDER_IMPORTED) if imports_folder(host, item) else ()
    return tuple(path for path in paths if path not in (item.config_path, *item.drop_ins))


def _other_docker_file(host: Host, item: EngineInstallation) -> Iterator[UnreadRuntime]:
    if item.config_path != DOCKER_CONFIG:
        for name in _names(host, DOCKER_CONFIG, _docker_names):
            yield UnreadRuntime(name, DOCKER_CONFIG, OTHER_FILE, item.config_path)


def _docker_names(text: str, path: str) -> tuple[str, ...]:
    from ctk.engines import docker_reading
    from ctk.engines.base import Layer

    runtimes = docker_reading.read((Layer(path, text),)).files.runtimes
    return tuple(runtime.name for runtime in runtimes if is_nvidia_runtime(runtime.name, runtime.path))


def _containerd_names(text: str, path: str) -> tuple[str, ...]:
    from ctk.engines import containerd_reading

    return containerd_reading.nvidia_runtimes_of(text, path)


def _crio_names(text: str, path: str) -> tuple[str, ...]:
    from ctk.engines import crio_reading

    return crio_reading.nvidia_runtimes_of(text, path)


def _outside(
    host: Host,
    item: EngineInstallation,
    names_of: Callable[[str, str], tuple[str, ...]],
    reason: str,
    *endings: str,
) -> Iterator[UnreadRuntime]:
    """Files in the folders beside the main file that are not among those that are read."""
    folder = item.config_path.rpartition("/")[0]
    read = {item.config_path, *item.drop_ins}
    paths = [path for pattern in (f"{folder}/*/*", f"{folder}/*.toml") for path in _glob(host, pattern)]
    for path in paths[:FILE_LIMIT]:
        if path not in read and path.endswith(endings):
            for name in _names(host, path, names_of):
                yield UnreadRuntime(name, path, reason)


def _glob(host: Host, pattern: str) -> tuple[str, ...]:
    try:
        return host.glob(pattern)
    except OSError:
        return ()


def _names(host: Host, path: str, names_of: Callable[[str, str], tuple[str, ...]]) -> tuple[str, ...]:
    """None where there is no such file, it may not be read, or is broken: nothing reads it."""
    text = try_read_text(host, path)
    if not isinstance(text, str) or not any(word in text for word in NVIDIA):
        return ()
    try:
        return names_of(text, path)
    except CtkError:
        return ()


def _only_generated(host: Host, item: EngineInstallation) -> Iterator[UnreadRuntime]:
    """In the file that is written anew at every start, and not in the template it is made from.

    Without a template of somebody's own, k3s and RKE2 look for NVIDIA's runtime themselves, each time.
    """
    template = item.generated_from
    text = try_read_text(host, template) if template else None
    if not isinstance(text, str) or isinstance(item.files, Unknown):
        return
    if GO_TEMPLATE_BASE in text or any(word in text for word in NVIDIA):
        return
    for name in _nvidia_names(item.files):
        yield UnreadRuntime(name, item.config_path, GENERATED_ONLY, template or "")


def _nvidia_names(files: EngineFiles) -> tuple[str, ...]:
    return tuple(runtime.name for runtime in files.runtimes if is_nvidia_runtime(runtime.name, runtime.path))
