"""`ctk hook`: hands over to the code that generated specs start without click; decides nothing."""

import click

from ctk.cli.app import App
from ctk.result import Result


@click.command(
    name="hook",
    context_settings={
        "help_option_names": ["--help", "-h"],
        "ignore_unknown_options": True,
        "allow_interspersed_args": False,
    },
)
@click.argument("words", metavar="HOOK [OPTIONS]", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def hook(app: App, words: tuple[str, ...]) -> None:
    """Do a hook's work for a container that starts: its state is read from stdin.

    Engines call hooks, people don't. `ctk hook apply` takes the options of all of them and does everything in one
    process. A hook or an option before it that this version does not know is a warning and exit 0, so that a newer
    spec does not keep an older host's containers from starting; a wrong option of a hook is exit 1.

    \b
    create-symlinks --link TARGET::LINK…
    update-ldcache --folder DIR… [--ldconfig-path FILE]
    enable-cuda-compat [--host-driver-version V] [--host-cuda-version V] [--cuda-compat-container-root DIR]
    disable-device-node-modification
    update-application-profile
    chmod --mode OCTAL --path PATH…
    apply [--disable-device-node-modification] [--update-application-profile] [the options above]…

    Each takes --container-spec FILE, which holds the state instead of stdin.
    """
    from ctk.inject.hooks import run_hook

    app.command = "hook"
    app.finish(Result("hook", {}, run_hook(list(words))))
