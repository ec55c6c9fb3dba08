"""What containerd's files say of runtimes, as containerd reads them; text to values, opens no file."""

from collections.abc import Mapping

from ctk.engines.base import Layer, RuntimeView
from ctk.engines.containerd_layout import read_layout
from ctk.engines.layers import look_up

ALWAYS_READ = frozenset({"config-version"})  # looking at files is always allowed


def runtime_names(layers: tuple[Layer, ...], engine: tuple[int, int] | None = None) -> tuple[str, ...]:
    """The runtimes that the files in force have. Raises ParseFault."""
    runtimes = look_up(read_layout(layers, engine, ALWAYS_READ).effective(), ("containerd", "runtimes"))
    return tuple(runtimes) if isinstance(runtimes, Mapping) else ()


def view(
    layers: tuple[Layer, ...],
    name: str,
    engine: tuple[int, int] | None = None,
    *,
    merged_elsewhere: str | None = None,
) -> RuntimeView:
    """What the files that are in force say about the runtime `name` today; key by key if the engine is unknown.

    merged_elsewhere: a file that another program merges in without an import (k0s). Raises ParseFault.
    """
    layout = read_layout(layers, engine, ALWAYS_READ, merged_elsewhere=merged_elsewhere)
    section = layout.effective()
    entry = look_up(section, ("containerd", "runtimes", name))
    default = look_up(section, ("containerd", "default_runtime_name"))
    cdi = look_up(section, ("enable_cdi",))
    options = entry.get("options") if isinstance(entry, Mapping) else None
    binary = options.get("BinaryName", options.get("Runtime")) if isinstance(options, Mapping) else None
    homes = (document for document in reversed(layout.active) if look_up(document.content, layout.runtime(name)))
    home = next(homes, None) if isinstance(entry, Mapping) else None
    return RuntimeView(
        registered=isinstance(entry, Mapping),
        path=binary if isinstance(binary, str) else None,
        file=home.path if home else None,
        is_default=default == name,
        default_runtime=default if isinstance(default, str) else None,
        cdi_enabled=cdi if isinstance(cdi, bool) else None,
        options=options if isinstance(options, Mapping) else {},
    )
