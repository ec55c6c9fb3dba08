"""`ctk runtime status`: options and screen; looks through ctk.runtime.status."""

import click

from ctk.cli.app import App, shared_options
from ctk.cli.arguments import CtkCommand
from ctk.errors import EXIT_FAILED, EXIT_OK, NotApplicable, UsageFault
from ctk.result import Message, Result, error_info
from ctk.runtime.request import DEFAULT_RUNTIME_NAME, ENGINE_NAMES, Request
from ctk.runtime.status import RuntimeStatus, collect_status
from ctk.runtime.targets import Target, choose_targets, found_targets

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
    if app.snapshot_file is not None:
        raise UsageFault(
            "runtime status reads configuration files, which a snapshot does not hold",
            hint="Leave out --snapshot, or use: ctk info --snapshot FILE",
        )
    host = app.host()
    targets = _targets(app, engine, installation, config)
    rows = [collect_status(host, target, name) for target in targets]
    errors = tuple(error_info(row.error) for row in rows if row.error is not None)
    data = {"runtime": name, "engines": [_data(row) for row in rows]}
    text = "\n".join(_screen(row, name) for row in rows)
    app.finish(Result(app.command, data, EXIT_FAILED if errors else EXIT_OK, text, _messages(rows), errors))


def _targets(app: App, engine: str | None, installation: str | None, config: str | None) -> tuple[Target, ...]:
    if engine is not None and engine not in (*ENGINE_NAMES, "auto"):
        raise UsageFault(f"unrecognized runtime {engine!r}", hint=f"--runtime takes one of {', '.join(ENGINE_NAMES)}.")
    if config is not None or installation is not None or engine not in (None, "auto"):
        return choose_targets(app.host(), Request(engine=engine, installation=installation, config=config))
    found = found_targets(app.host())
    if not found:
        raise NotApplicable("cannot show a status: neither Docker nor containerd nor CRI-O was found here")
    return found


def _messages(rows: list[RuntimeStatus]) -> tuple[Message, ...]:
    return tuple(
        Message("warning", f"{row.target.engine} ({row.target.installation}): {row.binary_fault}")
        for row in rows
        if row.binary_fault
    )


def _data(row: RuntimeStatus) -> dict[str, object]:
    view = row.view
    return {
        "engine": row.target.engine,
        "installation": row.target.installation,
        "config": row.target.config,
        "registered": view.registered if view else None,
        "file": view.file if view else None,
        "path": view.path if view else None,
        "binary_exists": not row.binary_fault if view and view.path else None,
        "default_runtime": view.default_runtime if view else None,
        "is_default": view.is_default if view else None,
        "cdi_enabled": view.cdi_enabled if view else None,
        "unit": row.target.unit,
        "daemon": {"state": row.daemon, "detail": row.daemon_detail},
    }


def _screen(row: RuntimeStatus, name: str) -> str:
    lines = [f"{row.target.engine} ({row.target.installation})", f"  configuration  {row.target.config}"]
    view = row.view
    if view is None:
        return "\n".join([*lines, "  could not be read (see below)", ""])
    registered = f"registered in {view.file}" if view.registered else "not registered"
    lines.append(f"  {name:<13}  {registered}")
    if view.path:
        lines.append(f"  program        {view.path}" + (f" ({row.binary_fault})" if row.binary_fault else ""))
    default = view.default_runtime or "the engine's own"
    lines.append(f"  default        {default}")
    lines.append(f"  CDI            {YES_NO[view.cdi_enabled]}")
    lines.append(f"  daemon         {row.daemon_detail}")
    return "\n".join([*lines, ""])
