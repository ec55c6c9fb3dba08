"""What every `ctk config` command begins with: the host, the file in force and its text; changes nothing."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING

import click

from ctk.cli.app import GROUP_CONFIG_FILE, App
from ctk.cli.paths import absolute_path, naming_files
from ctk.errors import ReadFault, UsageFault
from ctk.host.paths import display_path
from ctk.host.toolkit_config import (
    ConfigLocation,
    collect_default_user,
    collect_ldconfig,
    collect_look_alikes,
    find_config,
)
from ctk.record import Record
from ctk.result import Message
from ctk.runtime.sources import Source, read_source
from ctk.toolkit.document import HostDefaults, render_default

if TYPE_CHECKING:
    from ctk.host import Host

HELP = {"help_option_names": ["--help", "-h"]}
CONFIG_FILE = click.option(
    "--config-file", "--config", "-c", "config_file", metavar="FILE", help="Use FILE, not the file in force."
)


class ConfigPlace(Record):
    """The host, the file in force, the defaults that hold here, and what is odd about the place."""

    host: "Host"
    location: ConfigLocation
    defaults: HostDefaults
    messages: tuple[Message, ...]

    @property
    def shown(self) -> str:
        """The file as this machine names it."""
        return display_path(self.host, self.location.path)

    def at(self, path: str) -> "ConfigPlace":
        """The same host with another file in force."""
        return self._replace(location=ConfigLocation(path, "option"), messages=())


Body = Callable[[App, ConfigPlace, Mapping[str, object]], None]


def config_command(name: str, *, look: bool = True) -> Callable[[Body], Callable[..., None]]:
    """A command's body, given the place; errors name files as this machine does. look: say where look-alikes are."""

    def decorate(body: Body) -> Callable[..., None]:
        @click.pass_context
        @wraps(body)
        def run(ctx: click.Context, /, **values: object) -> None:
            app = ctx.ensure_object(App)
            app.command = name
            _refuse_snapshot(app)
            with naming_files(app.host()):
                body(
                    app, _config_place(app, values.get("config_file") or ctx.meta.get(GROUP_CONFIG_FILE), look), values
                )

        return run

    return decorate


def _refuse_snapshot(app: App) -> None:
    if app.snapshot_file is not None:
        raise UsageFault(
            f"cannot run {app.command!r} on a snapshot: it holds no file of the toolkit's",
            hint="Leave out --snapshot. Nothing was changed.",
        )


def _config_place(app: App, config_file: object, look: bool) -> ConfigPlace:
    host = app.host()
    explicit = absolute_path(app, config_file) if isinstance(config_file, str) else None
    location = find_config(host.get_environment(), explicit)
    location = location._replace(path=absolute_path(app, location.path) or location.path)
    defaults = HostDefaults(collect_ldconfig(host), collect_default_user(host))
    if not look or explicit is not None:
        return ConfigPlace(host, location, defaults, ())
    return ConfigPlace(host, location, defaults, _odd_places(host, location))


def _odd_places(host: "Host", location: ConfigLocation) -> tuple[Message, ...]:
    read = display_path(host, location.path)
    why = f" ({location.variable} says so)" if location.variable else ""
    return tuple(
        Message("warning", f"{display_path(host, path)} is not read: the configuration in force is {read}{why}")
        for path in collect_look_alikes(host, location)
    )


def read_config(place: ConfigPlace, *, must_exist: bool = False) -> tuple[Source, str]:
    """The file in force and its text; the default document where there is no file. Raises ReadFault, ParseFault."""
    path = place.location.path
    source = read_source(place.host, path)
    if source.data is None and must_exist:
        raise ReadFault(f"cannot read {path}: it does not exist", hint="Name a file that is there.", path=path)
    return source, render_default(place.defaults) if source.data is None else source.text.text


def load_config(place: ConfigPlace, *, must_exist: bool = False) -> tuple[str, dict[str, object], bool]:
    """The text, what it holds, and whether there is a file; the defaults' text holds nothing that is set."""
    from ctk.edit import toml

    source, text = read_config(place, must_exist=must_exist)
    exists = source.data is not None
    return text, toml.load(text, place.location.path) if exists else {}, exists
