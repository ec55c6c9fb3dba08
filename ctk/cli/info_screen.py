"""A snapshot as a screen of text; it decides nothing and prints nothing."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ctk.cli.info_parts import container_sections, gpu_sections
from ctk.facts import Unknown
from ctk.facts.engines import EngineFlag, EngineInstallation
from ctk.facts.kubelet import Kubelet
from ctk.facts.snapshot import Snapshot
from ctk.facts.system import System
from ctk.facts.toolkit import ToolBinary

if TYPE_CHECKING:
    from rich.console import Console

Row = tuple[str, str]

ENGINE_TITLES = {"docker": "Docker", "containerd": "containerd", "crio": "CRI-O", "podman": "Podman"}
NARROWEST = 30


def render_snapshot(snapshot: Snapshot, *, verbose: bool, colour: bool, width: int) -> str:
    """All parts in the order people ask for them. width in columns; below 30 lines are wrapped as if it were 30."""
    from io import StringIO

    from rich.console import Console

    buffer = StringIO()
    console = Console(
        file=buffer,
        width=max(width, NARROWEST),
        force_terminal=colour,
        color_system="standard" if colour else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    for title, rows in _sections(snapshot, verbose):
        _print_section(console, title, list(rows))
    lines = [line.rstrip() for line in buffer.getvalue().splitlines()]
    return "\n".join(lines).strip("\n") + "\n"


def _print_section(console: "Console", title: str, rows: Sequence[Row]) -> None:
    from rich.table import Table
    from rich.text import Text

    console.print(Text(title, style="bold"))
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="cyan", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, value in rows:
        grid.add_row(Text(f"  {label}"), Text(value, style="yellow" if value.startswith("could not look") else ""))
    console.print(grid)
    console.print()


def _sections(snapshot: Snapshot, verbose: bool) -> Iterator[tuple[str, Iterator[Row]]]:
    yield "Host", _host_rows(snapshot)
    yield from gpu_sections(snapshot)
    if isinstance(snapshot.engines, Unknown):
        yield "Engines", iter([("", say(snapshot.engines))])
    elif not snapshot.engines:
        yield "Engines", iter([("", "none found: no docker, containerd, crio or podman")])
    else:
        for engine in snapshot.engines:
            yield _engine_title(engine), _engine_rows(engine, verbose)
    yield "Kubelet", _kubelet_rows(snapshot.kubelet)
    yield "Toolkit", _toolkit_rows(snapshot.toolkit, verbose)
    yield from container_sections(snapshot)


def say(value: str | int | bool | None | Unknown, absent: str = "none") -> str:
    """Any of the three states in words."""
    if isinstance(value, Unknown):
        return f"could not look: {value.reason}"
    if value is None:
        return absent
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _host_rows(snapshot: Snapshot) -> Iterator[Row]:
    system = snapshot.system
    yield "name", say(snapshot.host_name)
    yield "system", _distribution(system)
    yield "kernel", _join([say(system.kernel), say(system.architecture)])
    yield "init", say(system.init)
    yield from _special_rows(system)
    if snapshot.docker_context is not None:
        yield "context", f"{say(snapshot.docker_context)} (docker)"
    yield "taken at", f"{snapshot.taken_at} by ctk {snapshot.ctk_version}"


def _special_rows(system: System) -> Iterator[Row]:
    """Most hosts are none of these, and then there is nothing to say."""
    if system.container is not None:
        yield "container", say(system.container)
    if system.wsl is not None:
        yield "WSL", say(system.wsl)
    if system.jetson is not False:
        yield "Jetson", say(system.jetson)


def _distribution(system: System) -> str:
    if system.distribution_name is not None:
        return say(system.distribution_name)
    names = (system.distribution, system.distribution_version)
    return " ".join(say(name) for name in names if name is not None) or "unknown distribution: no os-release"


def _join(parts: Sequence[str]) -> str:
    """Each reason once: a host that cannot be looked at says so once a line."""
    return ", ".join(dict.fromkeys(parts))


def _engine_title(engine: EngineInstallation) -> str:
    owner = f" of {engine.user}" if engine.user else ""
    return f"{ENGINE_TITLES.get(engine.engine, engine.engine)} ({engine.installation}{owner})"


def _engine_rows(engine: EngineInstallation, verbose: bool) -> Iterator[Row]:
    yield "state", _state(engine)
    yield "version", say(engine.version, absent="it names none")
    yield "binary", say(engine.binary, absent="not found")
    yield "config", f"{engine.config_path} ({_presence(engine.config_exists)})"
    yield "because", engine.config_origin
    if engine.generated_from:
        yield "made from", engine.generated_from
    if engine.drop_in_directory:
        yield "drop-ins", _drop_ins(engine, engine.drop_in_directory)
    for path in engine.drop_ins:
        yield "  reads" if engine.drop_in_directory else "reads", path
    yield "socket", say(engine.socket)
    yield "unit", say(engine.unit)
    if engine.used_by:
        yield "used by", ", ".join(engine.used_by)
    if verbose:
        yield from _verbose_rows(engine)


def _drop_ins(engine: EngineInstallation, directory: str) -> str:
    """containerd reads a drop-in folder only if its main file says so; k0s says it for its own."""
    from ctk.engines.installations import DROP_IN, get_installation
    from ctk.host.config_files import import_directories

    if engine.engine != "containerd" or directory in import_directories(engine.config_path, engine.imports):
        return directory
    merged = get_installation(engine.engine, engine.installation).treatment == DROP_IN
    return directory if merged else f"{directory} (not imported)"


def _verbose_rows(engine: EngineInstallation) -> Iterator[Row]:
    for pattern in engine.imports:
        yield "imports", pattern
    for path in engine.unit_files:
        yield "unit file", path
    for flag in engine.flags:
        yield "flag", _flag(flag)


def _flag(flag: EngineFlag) -> str:
    value = f"={flag.value}" if flag.value else ""
    line = f" line {flag.line}" if flag.line is not None else ""
    return f"--{flag.name}{value} ({flag.origin}{line})"


def _state(engine: EngineInstallation) -> str:
    if engine.running is True:
        since = f" since {engine.running_since}" if isinstance(engine.running_since, str) else ""
        return f"running{since}, pid {engine.pid}"
    return "not running" if engine.running is False else say(engine.running)


def _presence(exists: bool | Unknown) -> str:
    if isinstance(exists, Unknown):
        return say(exists)
    return "exists" if exists else "does not exist"


def _kubelet_rows(kubelet: Kubelet | None | Unknown) -> Iterator[Row]:
    if not isinstance(kubelet, Kubelet):
        yield "", say(kubelet, absent="none found")
        return
    yield "running", say(kubelet.running)
    origin = f" ({kubelet.endpoint_origin})" if kubelet.endpoint_origin else ""
    yield "endpoint", say(kubelet.runtime_endpoint, absent="not named") + origin
    yield "cgroups", say(kubelet.cgroup_driver, absent="driver not named")


def _toolkit_rows(tools: tuple[ToolBinary, ...] | Unknown, verbose: bool) -> Iterator[Row]:
    if isinstance(tools, Unknown):
        yield "", say(tools)
        return
    shown = [tool for tool in tools if verbose or tool.path is not None]
    if not shown:
        yield "", "none found: neither NVIDIA's toolkit nor ctk's runtime"
    for tool in shown:
        yield tool.name, _tool(tool)


def _tool(tool: ToolBinary) -> str:
    if not isinstance(tool.path, str):
        return say(tool.path, absent="not found")
    if tool.executable is False:
        return f"{tool.path}, not executable"
    return f"{tool.path}, version {say(tool.version, absent='not named')}"
