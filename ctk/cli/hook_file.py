"""`ctk runtime configure --config-mode=oci-hook`, NVIDIA's older way; the file is planned and written elsewhere."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ctk.cli.app import App
from ctk.cli.engine_run import options_from, run_targets
from ctk.result import Result
from ctk.runtime.hook_file import hook_document, plan_hook
from ctk.runtime.planned import Planned
from ctk.runtime.request import Request
from ctk.runtime.targets import Target

if TYPE_CHECKING:
    from ctk.host import Host


def run_hook_mode(app: App, values: Mapping[str, object]) -> None:
    """Print the hook, or write it to --oci-hook-path like any other file: diff, journal, atomic."""
    app.command = "runtime configure"
    app.refuse_snapshot()
    hook_path, file = str(values["hook_path"]), str(values["hook_file"])
    if not file:
        text = hook_document(hook_path)
        app.finish(Result(app.command, {"dry_run": bool(values["dry_run"]), "engines": [], "hook": text}, text=text))
        return
    target = Target("oci-hook", "system", os.path.abspath(file), None)

    def plan(host: "Host", _request: Request, chosen: Target) -> Planned:
        return plan_hook(host, chosen.config, hook_path)

    run_targets(app, app.command, options_from(dict(values)), plan, (target,))
