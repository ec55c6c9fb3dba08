"""NVIDIA's device nodes below a root by lstat(2) and readlink(2); it opens none, so that nothing wakes up."""

import os
import stat

from ctk.facts import Unknown
from ctk.facts.device_nodes import (
    BLOCK,
    CHANNEL_FOLDER,
    CHAR,
    DIRECTORY,
    FILE,
    FOLDERS,
    LINK,
    OTHER,
    CharLink,
    DeviceNode,
    DeviceNodes,
    DevMount,
    LinkRule,
)
from ctk.facts.pci import normalize_address
from ctk.host import Host
from ctk.host.device_probe import CONTROL, collect_attempts
from ctk.host.driver_files import CONTAINER_ROOT, collect_udev_rules
from ctk.host.reading import ABSENT, try_exists, try_read_text, unknown_from

DEV = "/dev"
NAME_STARTS = ("nvidia", "nvhost", "nvmap", "dxg")
"""The driver's own, a Jetson's, and WSL's; nvme disks are none of them."""
DRM_FOLDERS = ("/dev/dri", "/dev/dri/by-path")
DRM_CLASS = "/sys/class/drm"
LINK_FOLDER = "/dev/char"
LINK_MAKER = "create-dev-char-symlinks"
NVIDIA_MAJOR = 195
"""Fixed for GPUs, control and modeset (Documentation/admin-guide/devices.txt); the others are given at load time."""
CHANNEL_LIMIT = 64
KINDS = {stat.S_IFCHR: CHAR, stat.S_IFBLK: BLOCK, stat.S_IFREG: FILE, stat.S_IFDIR: DIRECTORY, stat.S_IFLNK: LINK}
MOUNT_FILES = ("/proc/self/mountinfo", "/proc/1/mountinfo")
"""The caller's own view on this machine; below another root that of its first process."""


def collect_device_nodes(host: Host, root: str | None = None, *, probe: bool = False) -> DeviceNodes:
    """root: where the dev folder lies on the host, None = where the driver is. probe: the control node is opened."""
    root = find_dev_root(host) if root is None else root
    nodes = collect_nodes(host, root)
    return DeviceNodes(
        root=root,
        nodes=nodes,
        links=_collect_links(host, root, nodes),
        mount=_collect_mount(host, root),
        rules=_collect_rules(host),
        attempts=collect_attempts(host) if probe else None,
    )


def find_dev_root(host: Host) -> str:
    """A driver container's root, where the control node is there alone; else the host itself."""
    is_inside = try_exists(host, f"{CONTAINER_ROOT}{CONTROL}") is True and try_exists(host, CONTROL) is False
    return CONTAINER_ROOT if is_inside else ""


def collect_nodes(host: Host, root: str = "") -> tuple[DeviceNode, ...] | Unknown:
    """Every name below dev that is NVIDIA's; Unknown when dev itself may not be listed."""
    try:
        names = host.list_directory(root + DEV)
    except ABSENT:
        return Unknown("no /dev")
    except OSError as error:
        return unknown_from(error)
    found = []
    for name in names:
        if name.startswith(NAME_STARTS):
            node = _look_at(host, root, f"{DEV}/{name}")
            is_folder = node.path in FOLDERS and node.kind == DIRECTORY
            found += _look_into(host, root, node) if is_folder else [node]
    if "dri" in names:
        for folder in DRM_FOLDERS:
            inside = _look_into(host, root, DeviceNode(folder, DIRECTORY))[1:]
            found += [node for node in inside if node.kind != DIRECTORY]
    return tuple(node._replace(address=_drm_address(host, node.path)) for node in found)


def _look_into(host: Host, root: str, folder: DeviceNode) -> list[DeviceNode]:
    """The folder and what is in it; a folder that may not be listed says so."""
    try:
        names = host.list_directory(root + folder.path)
    except ABSENT:
        return [folder]
    except OSError as error:
        return [folder._replace(unreadable=unknown_from(error).reason)]
    inside = (f"{folder.path}/{name}" for name in _in_order(folder.path, names))
    return [folder, *(_look_at(host, root, path) for path in inside)]


def _in_order(folder: str, names: tuple[str, ...]) -> list[str]:
    """Thousands of channels are alike: the first ones by number stand for all."""
    if folder != CHANNEL_FOLDER:
        return list(names)
    return sorted(names, key=lambda name: (len(name), name))[:CHANNEL_LIMIT]


def _look_at(host: Host, root: str, path: str) -> DeviceNode:
    target = None
    try:
        status = host.lstat(root + path)
        if stat.S_ISLNK(status.st_mode):
            target = host.readlink(root + path)
            status = host.stat(root + path)
    except ABSENT:  # gone since it was listed, or a link that leads nowhere
        return DeviceNode(path, LINK, target=target)
    except OSError as error:
        return DeviceNode(path, OTHER, target=target, unreadable=unknown_from(error).reason)
    kind = KINDS.get(stat.S_IFMT(status.st_mode), OTHER)
    is_device = kind in (CHAR, BLOCK)
    return DeviceNode(
        path=path,
        kind=kind,
        major=os.major(status.st_rdev) if is_device else None,
        minor=os.minor(status.st_rdev) if is_device else None,
        mode=stat.S_IMODE(status.st_mode),
        uid=status.st_uid,
        gid=status.st_gid,
        target=target,
        accessible=host.may_use(root + path) if is_device else None,
    )


def _drm_address(host: Host, path: str) -> str | None:
    """The names below by-path hold the address; for the others sysfs has a link to the function."""
    folder, _, name = path.rpartition("/")
    if folder not in DRM_FOLDERS:
        return None
    if folder == DRM_FOLDERS[1]:
        return normalize_address(name.split("-")[1]) if name.startswith("pci-") else None
    try:
        return normalize_address(os.path.basename(host.readlink(f"{DRM_CLASS}/{name}/device")))
    except OSError:
        return None


def _collect_links(
    host: Host, root: str, nodes: tuple[DeviceNode, ...] | Unknown
) -> tuple[CharLink, ...] | None | Unknown:
    """Only those whose major one of the nodes has, which leaves stale ones in."""
    try:
        names = host.list_directory(root + LINK_FOLDER)
    except ABSENT:
        return None
    except OSError as error:
        return unknown_from(error)
    known = () if isinstance(nodes, Unknown) else nodes
    majors = {NVIDIA_MAJOR, *(node.major for node in known if node.path.startswith(f"{DEV}/nvidia"))}
    wanted = tuple(f"{major}:" for major in majors if major is not None)
    found = []
    for name in names:
        if name.startswith(wanted):
            path = f"{LINK_FOLDER}/{name}"
            try:
                found.append(CharLink(path, host.readlink(root + path)))
            except OSError:  # a node of that name, or gone
                continue
    return tuple(found)


def _collect_mount(host: Host, root: str) -> DevMount | None | Unknown:
    source = MOUNT_FILES[0 if host.is_live else 1]
    text = try_read_text(host, source)
    if text is None:
        return Unknown(f"no {source}")
    return parse_dev_mount(text, root + DEV, source) if isinstance(text, str) else text


def parse_dev_mount(text: str, path: str, source: str) -> DevMount | None:
    """The mount a path is in, the last of those at the same place: proc_pid_mountinfo(5)."""
    found = None
    for line in text.splitlines():
        fields = line.split()
        if len(fields) < 10 or "-" not in fields[6:-3]:
            continue
        point = fields[4].replace("\\040", " ")
        if not _is_below(path, point) or (found is not None and len(point) < len(found.point)):
            continue
        kind, _, super_options = fields[fields.index("-", 6) + 1 :][:3]
        options = dict.fromkeys((*fields[5].split(","), *super_options.split(",")))
        found = DevMount(point, kind, tuple(options), source)
    return found


def _is_below(path: str, folder: str) -> bool:
    return folder == "/" or path == folder or path.startswith(f"{folder}/")


def _collect_rules(host: Host) -> tuple[LinkRule, ...] | Unknown:
    paths = collect_udev_rules(host)
    if isinstance(paths, Unknown):
        return paths
    texts = ((path, try_read_text(host, path)) for path in paths)
    return tuple(LinkRule(path, isinstance(text, str) and LINK_MAKER in text) for path, text in texts)
