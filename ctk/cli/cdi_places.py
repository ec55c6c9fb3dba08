"""Where a CDI command looks and writes: driver root, dev root, the Jetson's folder, the output; reads config.toml."""

import os
from typing import TYPE_CHECKING

from ctk.cli.paths import absolute_path
from ctk.errors import UsageFault
from ctk.host.toolkit_config import find_config
from ctk.record import Record

if TYPE_CHECKING:
    from ctk.cli.app import App
    from ctk.host import Host

ROOT_KEY = ("nvidia-container-cli", "root")
CSV_KEY = ("nvidia-container-runtime", "modes", "csv", "mount-spec-path")
CSV_FOLDER = "/etc/nvidia-container-runtime/host-files-for-container.d"


class Roots(Record):
    """Paths of the host."""

    driver_root: str
    dev_root: str
    csv_folder: str


def find_roots(app: "App", host: "Host", driver_root: str, dev_root: str) -> Roots:
    """What the options say, else the toolkit's config.toml, else the host itself. Raises ParseFault for the file."""
    content = _config(app, host)
    driver = _root(driver_root or str(_value(content, ROOT_KEY) or ""), "--driver-root") or "/"
    _require_folder(host, driver, "--driver-root")
    return Roots(
        driver_root=driver,
        dev_root=_root(dev_root, "--dev-root") or driver,
        csv_folder=str(_value(content, CSV_KEY) or CSV_FOLDER),
    )


def _config(app: "App", host: "Host") -> object:
    from ctk.edit import toml
    from ctk.host.reading import try_read_text

    path = find_config(host.get_environment(), None).path
    text = try_read_text(host, absolute_path(app, path) or path)
    return toml.load(text, path) if isinstance(text, str) else {}


def _value(content: object, path: tuple[str, ...]) -> object:
    for key in path:
        content = content.get(key) if isinstance(content, dict) else None
    return content if isinstance(content, str) else None


def _root(path: str, option: str) -> str:
    if path and not path.startswith("/"):
        raise UsageFault(f"{option} must be an absolute path, not {path!r}", hint="Nothing was changed.")
    return "/" + os.path.normpath(path).strip("/") if path else ""


def _require_folder(host: "Host", path: str, option: str) -> None:
    if path == "/":
        return
    try:
        there = host.is_directory(path)
    except OSError as error:
        raise UsageFault(f"cannot use {path} ({option}): {(error.strerror or str(error)).lower()}") from error
    if not there:
        hint = "It is the folder that a driver container mounts; is it running? Nothing was changed."
        raise UsageFault(f"cannot use {path} as the driver root: there is no such folder", hint=hint)
