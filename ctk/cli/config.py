"""`ctk config`: the group, and NVIDIA's form `ctk config --set key=value --in-place`; edits are made elsewhere."""

import click

from ctk.cli.app import GROUP_CONFIG_FILE, shared_options
from ctk.cli.arguments import CtkGroup


class ConfigGroup(CtkGroup):
    """The members, in the order people need them; the last two are nvidia-ctk's other names of `default`."""

    rows = (
        ("get", "ctk.cli.config_views", "get", "Print one value in force."),
        ("set", "ctk.cli.config_edits", "set_command", "Set keys in the file in force."),
        ("unset", "ctk.cli.config_edits", "unset", "Take keys out of the file in force."),
        ("mode", "ctk.cli.config_mode", "mode", "Show or set the runtime's mode, and whether it can work here."),
        ("explain", "ctk.cli.config_views", "explain", "Say what a key means."),
        ("validate", "ctk.cli.config_views", "validate", "Look for errors in a file."),
        ("diff", "ctk.cli.config_views", "diff", "Show what differs from the defaults."),
        ("default", "ctk.cli.config_edits", "default", "Print or write the default file."),
        ("generate-default", "ctk.cli.config_edits", "default", "The same as default."),
        ("create-default", "ctk.cli.config_edits", "default", "The same as default."),
    )


@click.group(cls=ConfigGroup, invoke_without_command=True, context_settings={"help_option_names": ["--help", "-h"]})
@click.option("--config-file", "--config", "-c", "config_file", metavar="FILE", help="Use FILE, not the file in force.")
@click.option("--set", "assignments", multiple=True, metavar="KEY[=VALUE]", help="Set a key; KEY alone is true.")
@click.option("--set-list-separator", "separator", default=":", hidden=True)
@click.option("--in-place", "-i", is_flag=True, help="Write the result to the file in force.")
@click.option("--output", "-o", metavar="FILE", help="Write the result to FILE.")
@click.option("--allow-unknown", is_flag=True, help="Take keys that are no settings of the toolkit.")
@click.option("--no-host-checks", is_flag=True, help="Do not look whether values fit this host (image builds).")
@click.option("--dry-run", is_flag=True, help="Show the diff; write nothing.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if a change is pending.")
@click.option("--no-journal", is_flag=True, help="Keep no record of the change.")
@shared_options
@click.pass_context
def config(ctx: click.Context, /, **values: object) -> None:
    """The toolkit's configuration: show, set and check it.

    Without a command: the file in force, or the defaults where there is none, with the --set changes applied. The file
    in force is --config-file, else NVIDIA_CTK_CONFIG_FILE_PATH, NVIDIA_CTK_CONFIG, nvidia-container-runtime/config.toml
    in XDG_CONFIG_HOME, else /etc/nvidia-container-runtime/config.toml.

    \b
    Examples:
      ctk config
      ctk config set nvidia-container-runtime.mode=cdi
      ctk config --set nvidia-container-cli.no-cgroups --in-place
    """
    from ctk.cli.config_place import config_command

    if ctx.invoked_subcommand is None:
        from ctk.cli.config_edits import run_peer_form

        ctx.invoke(config_command("config")(run_peer_form), **values)
        return
    _refuse_lost_options(ctx)
    if values["config_file"] is not None:
        ctx.meta[GROUP_CONFIG_FILE] = values["config_file"]


def _refuse_lost_options(ctx: click.Context) -> None:
    """Options of the group that the subcommand would not see: nobody may think that they count."""
    for parameter in ctx.command.params:
        name = parameter.name or ""
        given = ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        if given and name != "config_file" and not name.startswith("shared_"):
            raise click.UsageError(f"{parameter.opts[0]} must stand behind {ctx.invoked_subcommand}, if at all", ctx)
