"""What DKMS has built of NVIDIA's modules, from its folder alone; it runs no dkms, which takes seconds and builds."""

from collections.abc import Iterator

from ctk.facts import Unknown
from ctk.facts.modules import DkmsBuild
from ctk.host import Host
from ctk.host.reading import ABSENT, try_read_text, unknown_from

DKMS = "/var/lib/dkms"
"""dkms(8): <module>/<version>/<kernel>/<architecture>/module holds what was built, and the link
<module>/kernel-<kernel>-<architecture> leads to the build that was installed."""
ERROR_WORDS = ("error:", "Error!", "ERROR:", "error 1", "Error 1", "Error 2")


def collect_dkms(host: Host) -> tuple[DkmsBuild, ...] | None | Unknown:
    """None: no DKMS here."""
    try:
        modules = [name for name in host.list_directory(DKMS) if name.startswith("nvidia")]
        return tuple(build for module in modules for build in _collect_module(host, module))
    except ABSENT:
        return None
    except OSError as error:
        return unknown_from(error)


def find_build_error(log: str) -> str | None:
    """The first line of a make.log that names an error; what follows is its consequence."""
    for line in log.splitlines():
        if any(word in line for word in ERROR_WORDS):
            return line.strip()[:300]
    return None


def _collect_module(host: Host, module: str) -> Iterator[DkmsBuild]:
    names = host.list_directory(f"{DKMS}/{module}")
    installed = {_link(host, f"{DKMS}/{module}/{name}") for name in names if name.startswith("kernel-")}
    for version in names:
        folder = f"{DKMS}/{module}/{version}"
        if version.startswith(("kernel-", "original_module")) or not host.is_directory(folder):
            continue
        builds = list(_collect_version(host, module, version, installed))
        failure = _failed_build(host, module, version)
        if failure is not None:
            builds = [build for build in builds if build.kernel != failure.kernel] + [failure]
        yield from builds or [DkmsBuild(module, version, "added")]


def _collect_version(host: Host, module: str, version: str, installed: set[str]) -> Iterator[DkmsBuild]:
    folder = f"{DKMS}/{module}/{version}"
    for kernel in host.list_directory(folder):
        if kernel in ("build", "source") or not host.is_directory(f"{folder}/{kernel}"):
            continue
        for architecture in host.list_directory(f"{folder}/{kernel}"):
            place = f"{folder}/{kernel}/{architecture}"
            log = f"{place}/log/make.log"
            if host.glob(f"{place}/module/*.ko*"):
                state = "installed" if f"{version}/{kernel}/{architecture}" in installed else "built"
                yield DkmsBuild(module, version, state, kernel, architecture, log if host.is_file(log) else None)
            elif host.is_file(log):
                yield DkmsBuild(module, version, "failed", kernel, architecture, log, _error_in(host, log))


def _failed_build(host: Host, module: str, version: str) -> DkmsBuild | None:
    """A build that went well takes its log along; what is left in the build folder is a failure's."""
    log = f"{DKMS}/{module}/{version}/build/make.log"
    text = try_read_text(host, log)
    if not isinstance(text, str):
        return None
    return DkmsBuild(module, version, "failed", _kernel_of(text), None, log, find_build_error(text))


def _kernel_of(log: str) -> str | None:
    """The log opens with "DKMS make.log for nvidia-580.95.05 for kernel 6.8.0-45-generic (x86_64)"."""
    words = log.partition("\n")[0].split()
    return words[words.index("kernel") + 1] if "kernel" in words[:-1] else None


def _error_in(host: Host, log: str) -> str | None:
    text = try_read_text(host, log)
    return find_build_error(text) if isinstance(text, str) else None


def _link(host: Host, path: str) -> str:
    try:
        return host.readlink(path)
    except OSError:
        return ""
