"""`ctk runtime unconfigure`: its options and its help; planning and writing are elsewhere."""

from typing import TYPE_CHECKING

import click

from ctk.cli.app import App, shared_options
from ctk.cli.arguments import CtkCommand
from ctk.cli.engine_run import options_from, run_engines
from ctk.cli.paths import journal_of
from ctk.cli.runtime_options import runtime_options
from ctk.runtime.planned import Planned
from ctk.runtime.request import HOOK_MODES, Request
from ctk.runtime.targets import Target
from ctk.runtime.unconfigure import plan_unconfigure

if TYPE_CHECKING:
    from ctk.host import Host


@click.command(cls=CtkCommand, name="unconfigure", context_settings={"help_option_names": ["--help", "-h"]})
@runtime_options
@shared_options
@click.pass_obj
def unconfigure(app: App, /, **values: object) -> None:
    """Take the runtime out again and give back what stood there before ctk first configured it.

    What the journal shows comes back, the earlier default runtime above all. Everything that was changed by
    others since then stays.

    Examples:

    \b
      ctk runtime unconfigure --runtime=containerd --dry-run
      ctk runtime unconfigure --runtime=auto --restart
    """
    if str(values["config_mode"]) in HOOK_MODES:
        from ctk.cli.hook_file import run_hook_removal

        run_hook_removal(app, values)
        return
    run_engines(app, "runtime unconfigure", options_from(app, values), _plan)


def _plan(host: "Host", request: Request, target: Target) -> Planned:
    return plan_unconfigure(host, request, target, journal_of(host))
