"""`ctk runtime status`: options and screen; looks through ctk.runtime.status."""

from typing import TYPE_CHECKING

import click

from ctk.cli.app import App, shared_options
from ctk.cli.arguments import CtkCommand
from ctk.cli.output import show_traceback
from ctk.cli.paths import absolute_path, shown_error, shown_path
from ctk.errors import EXIT_FAILED, EXIT_OK, CtkError, NotApplicable, ReadFault, UsageFault
from ctk.facts import Unknown
from ctk.result import Message, Result, error_info
from ctk.runtime.request import DEFAULT_RUNTIME_NAME, ENGINE_NAMES, Request, check_request
from ctk.runtime.status import RuntimeStatus, collect_status, recorded_status
from ctk.runtime.targets import OWNED_BY_DOCKER, Target, choose_targets, found_targets

if TYPE_CHECKING:
    from ctk.host import Host

YES_NO = {True: "yes", False: "no", None: "not set"}


@click.command(cls=CtkCommand, name="status", context_settings={"help_option_names": ["--help", "-h"]})
@click.option(
    "--runtime", "engine", metavar="ENGINE", help="docker, containerd or crio; without it, all that are here."
)
@click.option("--installation", metavar="NAME", help="Which installation: system, k3s, rke2, microk8s, k0s, snap …")
@click.option("--config", metavar="FILE", help="The engine's main configuration file.")
@click.option("--nvidia-runtime-name", "name", default=DEFAULT_RUNTIME_NAME, show_default=True, metavar="NAME")
@shared_options
@click.pass_obj
def status(app: App, /, engine: str | None, installation: str | None, config: str | None, name: str) -> None:
    """Show, for each engine: is the runtime registered, by which file, is it the default, does the daemon agree.

    Exit 0 whatever it finds, 3 if a file cannot be read, 4 if there is no engine.
    """
    app.command = "runtime status"
    try:
        rows = _rows(
            app, Request(engine=engine, installation=installation, config=absolute_path(app, config or "")), name
        )
    except CtkError as error:
        show_traceback(app)
        app.finish(Result(app.command, _document(name, []), error.exit_code, errors=(error_info(error),)))
        return
    host = app.host()
    errors = tuple(shown_error(host, row.error) for row in rows if row.error is not None)
    text = "\n".join(_screen(host, row, name) for row in rows)
    data = _document(name, [_data(host, row) for row in rows])
    app.finish(Result(app.command, data, EXIT_FAILED if errors else EXIT_OK, text, _messages(rows), errors))


def _document(name: str, engines: list[dict[str, object]]) -> dict[str, object]:
    return {"runtime": name, "engines": engines}


def _rows(app: App, request: Request, name: str) -> list[RuntimeStatus]:
    check_request(request._replace(name=name))
    if app.snapshot_file is not None:
        return _recorded_rows(app, request, name)
    host = app.host()
    return [collect_status(host, target, name) for target in _targets(host, request)]


def _recorded_rows(app: App, request: Request, name: str) -> list[RuntimeStatus]:
    if request.config is not None:
        raise UsageFault("a snapshot holds no files: --config cannot be used with --snapshot")
    engines = app.snapshot().engines
    if isinstance(engines, Unknown):
        raise ReadFault(f"cannot tell the engines of this snapshot: {engines.reason}", path=app.snapshot_file)
    wanted = (request.engine,) if request.engine not in (None, "auto") else ENGINE_NAMES
    found = [
        record
        for record in engines
        if record.engine in wanted and request.installation in (None, record.installation)
        if record.installation not in OWNED_BY_DOCKER
    ]
    if not found:
        raise NotApplicable(
            "cannot show a status: the snapshot has no such engine", hint="See: ctk info --snapshot FILE"
        )
    return [recorded_status(record, name) for record in found]


def _targets(host: "Host", request: Request) -> tuple[Target, ...]:
    if request.config is not None or request.installation is not None or request.engine not in (None, "auto"):
        return choose_targets(host, request)
    found = found_targets(host)
    if not found:
        raise NotApplicable(
            "cannot show a status: neither Docker nor containerd nor CRI-O was found here",
            hint="Name one with --runtime to look at its files all the same.",
        )
    return found


def _messages(rows: list[RuntimeStatus]) -> tuple[Message, ...]:
    return tuple(
        Message("warning", f"{row.target.engine} ({row.target.installation}): {row.binary_fault}")
        for row in rows
        if row.binary_fault
    )


def _data(host: "Host", row: RuntimeStatus) -> dict[str, object]:
    view = row.view
    return {
        "engine": row.target.engine,
        "installation": row.target.installation,
        "config": shown_path(host, row.target.config),
        "registered": view.registered if view else None,
        "file": shown_path(host, view.file) if view and view.file else None,
        "path": view.path if view else None,
        "binary_exists": not row.binary_fault if view and view.path else None,
        "default_runtime": view.default_runtime if view else None,
        "is_default": view.is_default if view else None,
        "cdi_enabled": view.cdi_enabled if view else None,
        "unit": row.target.unit,
        "daemon": {"state": row.daemon, "detail": row.daemon_detail},
    }


def _screen(host: "Host", row: RuntimeStatus, name: str) -> str:
    config = shown_path(host, row.target.config)
    lines = [
        f"{row.target.engine} ({row.target.installation})",
        f"  configuration  {config}{' (not there)' if row.config_exists is False else ''}",
    ]
    view = row.view
    if view is None:
        return "\n".join([*lines, "  could not be read (see below)", ""])
    file = shown_path(host, view.file) if view.file else config
    lines.append(f"  {name:<13}  " + (f"registered in {file}" if view.registered else "not registered"))
    if view.path:
        lines.append(f"  program        {view.path}" + (" (see the warning)" if row.binary_fault else ""))
    lines.append(f"  default        {view.default_runtime or 'not set: the engine has its own'}")
    lines.append(f"  CDI            {YES_NO[view.cdi_enabled]}")
    lines.append(f"  in force       {row.daemon_detail}")
    return "\n".join([*lines, ""])
