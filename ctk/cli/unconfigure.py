"""`ctk runtime unconfigure`: its options and its help; planning and writing are elsewhere."""

import os

import click

from ctk.change.journal import Journal
from ctk.change.state import state_directory
from ctk.cli.app import App, shared_options
from ctk.cli.arguments import CtkCommand
from ctk.cli.engine_run import options_from, run_engines
from ctk.cli.runtime_options import runtime_options
from ctk.runtime.unconfigure import unconfigure_with


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
    host = app.host()
    state = state_directory("" if host.is_live else host.root, os.environ, os.geteuid())
    run_engines(app, "runtime unconfigure", options_from(values), unconfigure_with(Journal(state)))
