"""What every command gets in ctx.obj: the host, the snapshot, the output mode; the options all commands share."""

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import click

from ctk.errors import UsageFault
from ctk.result import Result

if TYPE_CHECKING:
    from ctk.facts.snapshot import Snapshot
    from ctk.host import LocalHost

GROUP_CONFIG_FILE = "ctk.config_file"
"""Where a group leaves its own --config, the toolkit's file, for the subcommand (in click's Context.meta)."""

Function = TypeVar("Function", bound=Callable[..., object])


class App:
    """The choices of one run. Mutable only while click parses; commands read it and return through `finish`."""

    def __init__(self) -> None:
        self.root = os.environ.get("CTK_ROOT") or "/"
        self.json = False
        self.debug = False
        self.quiet = False
        self.verbose = False
        self.snapshot_file: str | None = None
        self.timeout_seconds = 5.0
        self.no_nvml = False
        self.probe = False
        self.command = ""
        self.arguments: tuple[str, ...] = ()
        self.result: Result | None = None

    def host(self) -> "LocalHost":
        """The machine below --root. Raises UsageFault if there is no such folder: a typing error makes no host."""
        from ctk.host.local import LocalHost

        if not os.path.isdir(self.root):
            cause = "is not a directory" if os.path.exists(self.root) else "does not exist"
            raise UsageFault(f"cannot use --root {self.root!r}: it {cause}", hint="Nothing was changed.")
        return LocalHost(self.root, self.timeout_seconds)

    def snapshot(self, parts: frozenset[str] | None = None) -> "Snapshot":
        """What is known of the host: from --snapshot FILE, else collected now. parts: the fields wanted, None = all."""
        if self.snapshot_file is not None:
            from ctk.cli.snapshot_file import read_snapshot

            return read_snapshot(self.snapshot_file)
        from ctk.cli.progress import Progress, progress_stream
        from ctk.host.collect import collect
        from ctk.host.nvml_watch import DEADLINE_SECONDS

        # A driver without a persistence daemon starts every GPU anew, so a short --timeout does not count for it.
        seconds = None if self.no_nvml else max(DEADLINE_SECONDS, self.timeout_seconds)
        with Progress(progress_stream(sys.stderr, quiet=self.quiet)) as progress:
            return collect(self.host(), seconds, probe=self.probe, parts=parts, tell=progress.tell)

    def refuse_snapshot(self) -> None:
        """A writing command cannot work on a snapshot (exit 2)."""
        if self.snapshot_file is not None:
            raise UsageFault(
                f"cannot run {self.command!r} on a snapshot: it changes a machine",
                hint="Leave out --snapshot. Nothing was changed.",
            )

    def finish(self, result: Result) -> None:
        """Hand the result to the one renderer."""
        self.result = result


def _set(name: str) -> Callable[[click.Context, click.Parameter, object], None]:
    def store(ctx: click.Context, parameter: click.Parameter, value: object) -> None:
        source = ctx.get_parameter_source(parameter.name or "")
        if source is not click.core.ParameterSource.DEFAULT and value is not None:
            setattr(ctx.ensure_object(App), name, value)

    return store


def shared_options(function: Function) -> Function:
    """The options that stand before or after the subcommand's name."""
    rows: tuple[tuple[tuple[str, ...], str, dict[str, object]], ...] = (
        (("--root",), "root", {"metavar": "DIR", "help": "Work on the host below DIR; no program of it is run."}),
        (("--json",), "json", {"is_flag": True, "help": "Print one JSON document on stdout."}),
        (("--snapshot",), "snapshot_file", {"metavar": "FILE", "help": "Read the host from a saved snapshot."}),
        (
            ("--timeout",),
            "timeout_seconds",
            {
                "type": click.FloatRange(0, 3600, min_open=True),
                "metavar": "SECONDS",
                "help": "Limit for one probe. [5]",
            },
        ),
        (("--no-nvml",), "no_nvml", {"is_flag": True, "help": "Do not ask NVIDIA's management library."}),
        (("--debug", "-d"), "debug", {"is_flag": True, "envvar": "NVIDIA_CTK_DEBUG", "help": "Show tracebacks."}),
        (("--quiet",), "quiet", {"is_flag": True, "envvar": "NVIDIA_CTK_QUIET", "help": "Warnings and errors only."}),
    )
    for names, attribute, settings in reversed(rows):
        parameter = "shared_" + attribute
        option = click.option(*names, parameter, callback=_set(attribute), expose_value=False, **settings)  # type: ignore[arg-type] # settings are click's own keywords, kept as rows
        function = option(function)
    return function
