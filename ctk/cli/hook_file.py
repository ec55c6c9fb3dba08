"""--config-mode=oci-hook of `ctk runtime configure` and `unconfigure`; the file is planned and written elsewhere."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ctk.cli.app import App
from ctk.cli.engine_run import check_options, options_from, run_targets
from ctk.cli.paths import absolute_path, journal_of
from ctk.errors import UsageFault
from ctk.result import Message, Result
from ctk.runtime.hook_file import DEPRECATED, hook_document, plan_hook, plan_hook_removal
from ctk.runtime.planned import Planned
from ctk.runtime.request import Request
from ctk.runtime.targets import Target

if TYPE_CHECKING:
    from ctk.host import Host


def run_hook_mode(app: App, values: Mapping[str, object]) -> None:
    """Print the hook, or write it to --oci-hook-path like any other file: diff, journal, atomic."""
    app.command = "runtime configure"
    options = options_from(app, values)
    check_options(app, options)
    hook_path = str(values["hook_path"])
    file = absolute_path(app, str(values["hook_file"]))
    if file is None:
        text = hook_document(hook_path)
        data = {"dry_run": not options.writes, "engines": [], "hook": text}
        app.finish(Result(app.command, data, text=text, messages=(Message("warning", DEPRECATED),)))
        return

    def plan(host: "Host", _request: Request, chosen: Target) -> Planned:
        return plan_hook(host, chosen.config, hook_path)

    run_targets(app, app.command, options, plan, (_target(file),))


def run_hook_removal(app: App, values: Mapping[str, object]) -> None:
    """Take the hook file away again, or put back what stood there."""
    app.command = "runtime unconfigure"
    options = options_from(app, values)
    check_options(app, options)
    hook_path = str(values["hook_path"])
    file = absolute_path(app, str(values["hook_file"]))
    if file is None:
        raise UsageFault("--config-mode=oci-hook has nothing to remove without --oci-hook-path")

    def plan(host: "Host", _request: Request, chosen: Target) -> Planned:
        return plan_hook_removal(host, chosen.config, hook_path, journal_of(host))

    run_targets(app, app.command, options, plan, (_target(file),))


def _target(file: str) -> Target:
    return Target("oci-hook", "system", file, None)
