"""Installed packages of engines and NVIDIA's toolkit, and whether the toolkit's files are whole; it installs none."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ctk.facts import Unknown
from ctk.facts.packages import CHANGED, DPKG, MISSING, RPM, Package, PackageFile, Packages
from ctk.host import Host
from ctk.host.driver_packages import DPKG_STATUS, RPM_FOLDERS
from ctk.host.reading import ABSENT, try_exists, try_read_text, unknown_from

TOOLKIT_PACKAGES = (
    "nvidia-container-toolkit",
    "nvidia-container-toolkit-base",
    "libnvidia-container-tools",
    "libnvidia-container1",
)
"""The four that belong together (packaging/ of NVIDIA's container toolkit)."""
OTHER_PACKAGES = (
    "nvidia-docker2",
    "nvidia-docker",
    "nvidia-container-runtime",
    "docker-ce",
    "docker.io",
    "docker",
    "moby-engine",
    "containerd.io",
    "containerd",
    "moby-containerd",
    "runc",
    "moby-runc",
    "crun",
    "podman",
    "cri-o",
)
WANTED = frozenset((*TOOLKIT_PACKAGES, *OTHER_PACKAGES))
DPKG_INFO = "/var/lib/dpkg/info"
DIVERSIONS = "/var/lib/dpkg/diversions"
CHUNK_BYTES = 1 << 20
JUDGED_FOLDERS = ("/usr/bin/", "/usr/sbin/", "/usr/lib/", "/usr/lib64/", "/usr/libexec/", "/lib/", "/usr/local/bin/")
"""Programs and libraries: documentation is left out on purpose on small images (dpkg's path-exclude)."""
HASH_LIMIT_BYTES = 64 << 20
SLACK_SECONDS = 120
RPM_FORMAT = r"@%{NAME} %{VERSION}-%{RELEASE} %{INSTALLTIME}\n[%{FILEDIGESTS} %{FILENAMES}\n]"


class _File(NamedTuple):
    """A file as its package has it. digest "" = a link, or the package has none."""

    package: str
    path: str
    digest: str
    installed_at: float


def collect_packages(host: Host) -> Packages | None | Unknown:
    """None: the host has neither dpkg nor rpm. Below another root rpm's database stays closed."""
    try:
        if host.is_file(DPKG_STATUS):
            return _collect_dpkg(host)
    except OSError as error:
        return unknown_from(error)
    if not any(try_exists(host, folder) is True for folder in RPM_FOLDERS):
        return None
    output = host.run(("rpm", "-q", "--queryformat", RPM_FORMAT, *TOOLKIT_PACKAGES, *OTHER_PACKAGES))
    if output.returncode is None:
        return Unknown(output.reason)
    packages, files = parse_rpm_query(output.stdout)
    return Packages(manager=RPM, source="rpm", packages=packages, faults=_collect_faults(host, files, "sha256"))


def _collect_dpkg(host: Host) -> Packages:
    found = tuple(sorted(parse_dpkg_stanzas(_dpkg_stanzas(host))))
    files = [file for package in found if package.name in TOOLKIT_PACKAGES for file in _dpkg_files(host, package.name)]
    return Packages(manager=DPKG, source=DPKG_STATUS, packages=found, faults=_collect_faults(host, files, "md5"))


def _dpkg_stanzas(host: Host) -> Iterator[str]:
    """The stanzas of the wanted packages; the file is megabytes long, and is not held as a whole."""
    rest, offset = b"\n", 0
    while part := host.read_part(DPKG_STATUS, offset, CHUNK_BYTES):
        offset += len(part)
        stanzas, rest = _split(rest + part)
        yield from _wanted(stanzas)
    yield from _wanted(rest)


def _split(data: bytes) -> tuple[bytes, bytes]:
    """What is whole, and the beginning of the next stanza with the line end before it."""
    end = data.rfind(b"\n\n")
    return (data[: end + 1], data[end + 1 :]) if end >= 0 else (b"", data)


def _wanted(data: bytes) -> Iterator[str]:
    place = data.find(b"\nPackage: ")
    while place >= 0:
        start, end = place + 1, data.find(b"\n", place + 1)
        following = data.find(b"\nPackage: ", start)
        name = data[start + 9 : end if end >= 0 else len(data)].strip().decode("ascii", "replace")
        if name in WANTED:
            yield data[start : following if following >= 0 else len(data)].decode("utf-8", "replace")
        place = following


def parse_dpkg_stanzas(stanzas: Iterable[str]) -> Iterator[Package]:
    """Only what is installed counts, not left configuration; an architecture's second copy is told once."""
    for stanza in dict.fromkeys(stanzas):
        fields = {name: value.strip() for name, _, value in (line.partition(":") for line in stanza.splitlines())}
        if fields.get("Status", "").endswith(" installed") and fields.get("Version"):
            yield Package(fields["Package"], fields["Version"])


def _dpkg_files(host: Host, package: str) -> Iterator[_File]:
    """From the package's list of checksums (deb-md5sums(5)); links and configuration are not in it."""
    for path in (f"{DPKG_INFO}/{package}.md5sums", *_of_architecture(host, package)):
        text = try_read_text(host, path)
        if isinstance(text, str):
            for digest, _, name in (line.partition("  ") for line in text.splitlines()):
                yield _File(package, f"/{name.lstrip('/')}", digest, _changed_at(host, path))
            return


def _of_architecture(host: Host, package: str) -> tuple[str, ...]:
    try:
        return host.glob(f"{DPKG_INFO}/{package}:*.md5sums")
    except OSError:
        return ()


def parse_rpm_query(text: str) -> tuple[tuple[Package, ...], tuple[_File, ...]]:
    """Lines of "@name version-release time", each with the package's files behind it; others say what is missing."""
    packages: list[Package] = []
    files: list[_File] = []
    name, installed_at = "", 0.0
    for line in text.splitlines():
        words = line[1:].split() if line.startswith("@") else []
        if len(words) == 3:
            name, installed_at = words[0], float(words[2]) if words[2].isdigit() else 0.0
            packages.append(Package(name, words[1]))
            continue
        digest, _, path = line.partition(" ")
        if name in TOOLKIT_PACKAGES and path.startswith("/"):
            files.append(_File(name, path, digest, installed_at))
    return tuple(sorted(packages)), tuple(files)


def _collect_faults(host: Host, files: Iterable[_File], algorithm: str) -> tuple[PackageFile, ...] | Unknown:
    diverted = try_read_text(host, DIVERSIONS)
    moved = frozenset(diverted.splitlines()) if isinstance(diverted, str) else frozenset()
    found = []
    try:
        for file in files:
            if file.path.startswith(JUDGED_FOLDERS) and file.path not in moved:
                state = _state(host, file, algorithm)
                found += [PackageFile(file.package, file.path, state)] if state else []
    except OSError as error:
        return unknown_from(error)
    return tuple(found)


def _state(host: Host, file: _File, algorithm: str) -> str:
    """Only what was changed after the installation is read: these programs are large."""
    import hashlib

    try:
        status = host.stat(file.path)
    except ABSENT:
        return "" if host.is_link(file.path) else MISSING
    changed = max(status.st_mtime, status.st_ctime) if host.is_live else file.installed_at + 2 * SLACK_SECONDS
    is_old = changed <= file.installed_at + SLACK_SECONDS
    if is_old or not file.digest.strip("0") or status.st_size > HASH_LIMIT_BYTES or not host.is_file(file.path):
        return ""
    content = host.read_bytes(file.path, HASH_LIMIT_BYTES)
    kind = "md5" if len(file.digest) == 32 else algorithm
    return "" if hashlib.new(kind, content, usedforsecurity=False).hexdigest() == file.digest else CHANGED


def _changed_at(host: Host, path: str) -> float:
    try:
        return host.stat(path).st_ctime if host.is_live else host.stat(path).st_mtime
    except OSError:
        return 0.0
