"""`ctk completion SHELL`: the script that a shell sources; changes nothing."""

import click

from ctk.cli.app import App, shared_options
from ctk.cli.arguments import CtkCommand
from ctk.result import Result


@click.command(cls=CtkCommand, name="completion", context_settings={"help_option_names": ["--help", "-h"]})
@click.argument("shell", metavar="SHELL", type=click.Choice(["bash", "zsh", "fish"]))
@shared_options
@click.pass_obj
def completion(app: App, shell: str) -> None:
    """Print the completion script for SHELL: bash, zsh or fish.

    Example: ctk completion bash > /etc/bash_completion.d/ctk
    """
    from click.shell_completion import ShellComplete, get_completion_class

    from ctk.cli import root

    app.command = "completion"
    shell_class = get_completion_class(shell)
    assert shell_class is not None  # noqa: S101 - click knows every shell of the choice
    # The base class's method: bash's own starts a bash to look at its version, and there may be none here.
    script = ShellComplete.source(shell_class(root, {}, "ctk", "_CTK_COMPLETE"))
    app.finish(Result("completion", {"shell": shell, "script": script}, text=script))
