"""Where a CDI command looks and writes: driver root, dev root, the Jetson's folder, the output; reads config.toml."""

import os
from typing import TYPE_CHECKING

from ctk.cli.paths import absolute_path
from ctk.errors import CtkError, NotApplicable, ReadFault, UsageFault
from ctk.host.toolkit_config import find_config
from ctk.record import Record

if TYPE_CHECKING:
    from ctk.cli.app import App
    from ctk.host import Host

ROOT_KEY = ("nvidia-container-cli", "root")
CSV_KEY = ("nvidia-container-runtime", "modes", "csv", "mount-spec-path")
LOADED = "/proc/driver/nvidia/version"
CSV_FOLDER = "/etc/nvidia-container-runtime/host-files-for-container.d"


class Roots(Record):
    """Paths of the host."""

    driver_root: str
    dev_root: str
    csv_folder: str


def find_roots(app: "App", host: "Host", driver_root: str, dev_root: str) -> Roots:
    """What the options say, else the toolkit's config.toml, else the host itself.

    Raises ParseFault for the file, NotApplicable where neither a driver nor its root is there, CtkError for the root.
    """
    content = _config(app, host)
    driver = _root(driver_root or str(_value(content, ROOT_KEY) or ""), "--driver-root") or "/"
    _require_folder(host, driver)
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


def _require_folder(host: "Host", path: str) -> None:
    """Before the driver container runs its root is not there, which is no failure unless a driver is loaded."""
    if path == "/":
        return
    try:
        there = host.is_directory(path)
        loaded = host.exists(LOADED)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ReadFault(f"cannot use {path} as the driver root: {reason}", hint="Nothing was changed.") from error
    if there:
        return
    if not loaded:
        raise NotApplicable(
            f"there is nothing to describe: no driver is loaded, and the driver root {path} does not exist; "
            "nothing was written"
        )
    raise CtkError(
        f"cannot use {path} as the driver root: it does not exist, though a driver is loaded",
        hint="Is the driver container running? For a driver of the host itself: --driver-root=/. Nothing was changed.",
        code="driver-root",
    )
