"""A host with the toolkit's config.toml, and the `ctk config` command line on it."""

from pathlib import Path

from tests.unit.cli.scene import Answer, HostFolder
from tests.unit.toolkit.keys import corpus

CONFIG = "/etc/nvidia-container-runtime/config.toml"


def with_config(host: HostFolder, name: str = "default.toml") -> Path:
    """A file of the corpus as the configuration in force."""
    return host.put(CONFIG, corpus(name))


def complete(host: HostFolder) -> None:
    """All that the default configuration names is on the host."""
    host.put("/etc/ld.so.cache", "")
    for program in (
        "/sbin/ldconfig.real",
        "/usr/bin/runc",
        "/usr/bin/nvidia-ctk",
        "/usr/bin/nvidia-container-runtime-hook",
    ):
        host.program(program)


def assert_untouched(host: HostFolder, answer: Answer, before: dict[str, tuple[object, ...]]) -> None:
    """No byte of the host, no temporary file, no entry of the journal."""
    assert host.everything() == before, answer
    assert host.entries() == []
