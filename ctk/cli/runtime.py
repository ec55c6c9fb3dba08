"""`ctk runtime`: the group and its members; decides nothing."""

import click

from ctk.cli import finish_with_help
from ctk.cli.app import shared_options
from ctk.cli.arguments import CtkGroup


class RuntimeGroup(CtkGroup):
    """The members, in the order people need them."""

    rows = (
        ("configure", "ctk.cli.configure", "configure", "Register the NVIDIA runtime with an engine."),
        ("unconfigure", "ctk.cli.unconfigure", "unconfigure", "Take it out again and give back what was there."),
        ("status", "ctk.cli.status", "status", "Show what the files say and whether the daemon agrees."),
        ("history", "ctk.cli.history", "history", "List the runs that changed files."),
        ("rollback", "ctk.cli.history", "rollback", "Put the files of one run back."),
    )


@click.group(cls=RuntimeGroup, invoke_without_command=True, context_settings={"help_option_names": ["--help", "-h"]})
@shared_options
@click.pass_context
def runtime(ctx: click.Context) -> None:
    """Make Docker, containerd and CRI-O run GPU containers, and undo it."""
    if ctx.invoked_subcommand is None:
        finish_with_help(ctx)
