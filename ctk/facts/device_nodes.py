"""What lies below /dev of NVIDIA's: nodes, the links that container managers follow, how /dev is mounted; no I/O."""

from dataclasses import dataclass
from typing import NamedTuple

from ctk.facts import Unknown

CHAR, BLOCK, FILE, DIRECTORY, LINK, OTHER = "char", "block", "file", "directory", "link", "other"
"""What a name below /dev stands for. LINK: a link that leads nowhere; OTHER: a pipe or a socket."""
CAPABILITY_FOLDER = "/dev/nvidia-caps"
CHANNEL_FOLDER = "/dev/nvidia-caps-imex-channels"
FOLDERS = (CAPABILITY_FOLDER, CHANNEL_FOLDER)
"""The names that are folders by right."""


class DeviceNode(NamedTuple):
    """One name below /dev. Numbers are None for what is no device; target: the text of a link at that name.

    accessible: whether the caller may read and write it by mode, access list and device group, asked without opening
    it; None: not asked, the host is not this machine.
    """

    path: str
    kind: str
    major: int | None = None
    minor: int | None = None
    mode: int | None = None  # permission bits
    uid: int | None = None
    gid: int | None = None
    target: str | None = None
    accessible: bool | None = None
    address: str | None = None  # the PCI function behind a DRM node
    unreadable: str = ""  # why it could not be looked at

    @property
    def is_device(self) -> bool:
        """A character device, which all of NVIDIA's are."""
        return self.kind == CHAR


class CharLink(NamedTuple):
    """One link /dev/char/MAJOR:MINOR and its text."""

    path: str
    target: str


class DevMount(NamedTuple):
    """The mount that /dev is in: its file system, and its options (of the mount and of the file system)."""

    point: str
    type: str
    options: tuple[str, ...]
    source: str  # the file that says so


class LinkRule(NamedTuple):
    """A udev rule of NVIDIA's, and whether it makes the links below /dev/char."""

    path: str
    makes_links: bool


class OpenAttempt(NamedTuple):
    """A node that was opened and closed again (--probe). code: an errno, 0 = it could be opened."""

    path: str
    code: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceNodes:
    """All of it, below a root ("" is the host itself); paths are without that root.

    attempts None: not asked for. links None: there is no folder /dev/char.
    """

    root: str = ""
    nodes: tuple[DeviceNode, ...] | Unknown = ()
    links: tuple[CharLink, ...] | None | Unknown = None
    mount: DevMount | None | Unknown = None
    rules: tuple[LinkRule, ...] | Unknown = ()
    attempts: tuple[OpenAttempt, ...] | None | Unknown = None

    def find(self, path: str) -> DeviceNode | None:
        """What lies at a path."""
        if isinstance(self.nodes, Unknown):
            return None
        return next((node for node in self.nodes if node.path == path), None)

    def below(self, folder: str) -> tuple[DeviceNode, ...]:
        """What lies in a folder of /dev."""
        if isinstance(self.nodes, Unknown):
            return ()
        return tuple(node for node in self.nodes if node.path.startswith(f"{folder}/"))
