"""The words shared by the engines: what is asked for, the files as text, and what came of it; no I/O."""

from collections.abc import Mapping

from ctk.record import Record


class RuntimeSpec(Record):
    """The runtime entry that is asked for.

    set_as_default, enable_cdi: only ever switched on here; unconfigure takes back. systemd_cgroup: what a file made
    from nothing gets as SystemdCgroup.
    """

    name: str
    path: str
    set_as_default: bool = False
    enable_cdi: bool = False
    systemd_cgroup: bool = False


class Layer(Record):
    """One configuration file in load order; text None = the file does not exist."""

    path: str
    text: str | None


class EditOutcome(Record):
    """New texts by path (None = remove the file; only paths that change are there), and what people must know.

    warnings are sentences; notes are plain information; owned lists the paths, as tuples of keys, that this edit may
    change in the engine's effective configuration; needs_restart False = a reload is enough; kept lists the files in
    which something of ours stays on purpose, so that they are not as they were before. home is the file in which the
    runtime stands, where the engine has more than one.
    """

    texts: Mapping[str, str | None]
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    owned: tuple[tuple[str, ...], ...] = ()
    needs_restart: bool = True
    kept: tuple[str, ...] = ()
    home: str | None = None


class RuntimeView(Record):
    """What the files say about one runtime: where it is registered, its binary, and whether it is the default."""

    registered: bool
    path: str | None
    file: str | None
    is_default: bool
    default_runtime: str | None
    cdi_enabled: bool | None
    options: Mapping[str, object] = {}
