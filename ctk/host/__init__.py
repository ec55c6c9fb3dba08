"""Everything that reads the machine; it changes nothing and knows no command."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from ctk.facts.command import CommandOutput

if TYPE_CHECKING:
    from ctk.host.local import LocalHost

__all__ = ["Host", "LocalHost"]


class Host(Protocol):
    """A machine to be read. Paths are the host's own, absolute; methods raise OSError as the system does."""

    root: str
    timeout_seconds: float

    @property
    def is_live(self) -> bool:
        """The host is this machine: its programs may be run."""
        ...

    def real_path(self, path: str) -> str:
        """The path on this machine, root in front, every symbolic link resolved inside the root."""
        ...

    def read_bytes(self, path: str, limit_bytes: int = ...) -> bytes: ...

    def read_text(self, path: str, limit_bytes: int = ...) -> str: ...

    def read_head(self, path: str, count: int = ...) -> bytes: ...

    def read_part(self, path: str, offset: int, count: int) -> bytes: ...

    def read_kernel_ring(self) -> Iterator[bytes]: ...

    def exists(self, path: str) -> bool: ...

    def is_file(self, path: str) -> bool: ...

    def is_directory(self, path: str) -> bool: ...

    def is_link(self, path: str) -> bool: ...

    def stat(self, path: str) -> os.stat_result: ...

    def lstat(self, path: str) -> os.stat_result: ...

    def may_use(self, path: str) -> bool | None: ...

    def readlink(self, path: str) -> str: ...

    def list_directory(self, path: str) -> tuple[str, ...]: ...

    def glob(self, pattern: str) -> tuple[str, ...]: ...

    def run(self, argv: Sequence[str], timeout_seconds: float | None = None) -> CommandOutput: ...

    def get_environment(self) -> Mapping[str, str]: ...


def __getattr__(name: str) -> object:
    """LocalHost is loaded when first asked for: importing this package stays cheap.

    `collect` is not here on purpose: the name of its module would shadow the function. Use ctk.host.collect.collect.
    """
    if name == "LocalHost":
        from ctk.host.local import LocalHost

        return LocalHost
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
