"""`ctk runtime configure`: its options and its help; planning and writing are elsewhere."""

import click

from ctk.cli.app import App, shared_options
from ctk.cli.arguments import CtkCommand
from ctk.cli.engine_run import options_from, run_engines
from ctk.cli.runtime_options import runtime_options
from ctk.runtime.configure import plan_configure
from ctk.runtime.request import CONFIG_MODES, HOOK_MODES


@click.command(cls=CtkCommand, name="configure", context_settings={"help_option_names": ["--help", "-h"]})
@runtime_options
@shared_options
@click.pass_obj
def configure(app: App, /, **values: object) -> None:
    """Register the NVIDIA runtime with an engine, touching nothing else in its configuration.

    Without --runtime: Docker; where Docker is absent and exactly one other engine is installed, that one.

    Examples:

    \b
      ctk runtime configure --runtime=containerd --dry-run
      ctk runtime configure --runtime=docker --set-as-default --restart
      ctk runtime configure --runtime=auto --json
    """
    mode = str(values["config_mode"])
    if mode in HOOK_MODES:
        from ctk.cli.hook_file import run_hook_mode

        run_hook_mode(app, values)
        return
    options = options_from(app, values)
    if mode not in CONFIG_MODES:
        words = f"--config-mode {mode!r} is not known, going on with config-file; it takes config-file or oci-hook"
        options = options._replace(warnings=(words,))
    run_engines(app, "runtime configure", options, plan_configure)
