"""`ctk cdi`: the group and its members; decides nothing."""

import click

from ctk.cli import finish_with_help
from ctk.cli.app import shared_options
from ctk.cli.arguments import CtkGroup


class CdiGroup(CtkGroup):
    """The members, in the order people need them."""

    rows: tuple[tuple[str, str, str, str], ...] = (
        ("generate", "ctk.cli.cdi_generate", "generate", "Describe this host's GPUs: write a CDI spec."),
        ("list", "ctk.cli.cdi_list", "list_devices", "List the devices that engines see."),
        ("validate", "ctk.cli.cdi_validate", "validate", "Look for errors in specs, and whether they are still true."),
        ("diff", "ctk.cli.cdi_refresh", "diff", "Compare a spec with what would be written now."),
        ("refresh", "ctk.cli.cdi_refresh", "refresh", "Write the spec anew if it is not true any more."),
        ("transform", "ctk.cli.cdi_transform", "transform", "Change the root that a spec's paths begin with."),
    )


@click.group(
    cls=CdiGroup,
    name="cdi",
    invoke_without_command=True,
    context_settings={"help_option_names": ["--help", "-h"]},
)
@shared_options
@click.pass_context
def cdi(ctx: click.Context) -> None:
    """Describe the GPUs to Docker, Podman, containerd and CRI-O: the specs of the Container Device Interface."""
    if ctx.invoked_subcommand is None:
        finish_with_help(ctx)
