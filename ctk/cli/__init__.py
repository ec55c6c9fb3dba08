"""click and rich live here only: the root command, and how errors become exit codes."""

from collections.abc import Sequence

import click

from ctk.cli.app import GROUP_CONFIG_FILE, App, shared_options
from ctk.cli.arguments import CtkGroup
from ctk.errors import EXIT_INTERRUPTED, EXIT_OK, CtkError, UsageFault
from ctk.result import Result


class RootGroup(CtkGroup):
    """The command tree, in the order people need it."""

    rows = (
        ("runtime", "ctk.cli.runtime", "runtime", "Register the NVIDIA runtime with Docker, containerd and CRI-O."),
        ("config", "ctk.cli.config", "config", "Show, set and check the toolkit's config.toml."),
        ("cdi", "ctk.cli.cdi", "cdi", "List and check the specs that describe the GPUs to the engines."),
        ("hook", "ctk.cli.hook", "hook", "What engines call while a container starts."),
        ("doctor", "ctk.cli.doctor", "doctor", "Find out why containers cannot use the GPUs."),
        ("info", "ctk.cli.info", "info", "Show what ctk knows about this host."),
        ("completion", "ctk.cli.completion", "completion", "Print the completion script of a shell."),
    )


@click.group(
    cls=RootGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["--help", "-h"]},
)
@click.option("--version", "-v", is_flag=True, help="Print the version.")
@click.option("--config", "toolkit_config", metavar="FILE", help="The toolkit's config.toml, as for `ctk config`.")
@shared_options
@click.pass_context
def root(ctx: click.Context, version: bool, toolkit_config: str | None) -> None:
    """Make NVIDIA GPUs work in containers, and find out why when they don't."""
    if toolkit_config is not None:
        ctx.meta[GROUP_CONFIG_FILE] = toolkit_config
    if version:
        _finish_with_version(ctx)
    elif ctx.invoked_subcommand is None:
        finish_with_help(ctx)


def _finish_with_version(ctx: click.Context) -> None:
    from ctk import __version__

    if ctx.invoked_subcommand is not None:
        raise click.UsageError("--version takes no command", ctx)
    ctx.ensure_object(App).finish(Result("", {"version": __version__}, text=f"ctk {__version__}"))


def finish_with_help(ctx: click.Context) -> None:
    """A group without a member's name: its help is the result."""
    text = ctx.get_help()
    ctx.ensure_object(App).finish(Result(_command_name(ctx), {"help": text}, text=text))


def run(arguments: Sequence[str]) -> int:
    """Run one command line; returns the exit code. Prints whatever happens, never a traceback without --debug."""
    app = App()
    app.arguments = tuple(arguments)
    app.json = _asks_json(arguments)
    try:
        result = _result(app, arguments)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return _finish(app, result) if result is not None else EXIT_OK


def _asks_json(arguments: Sequence[str]) -> bool:
    return any(word in ("--json", "-json", "--json=true", "-json=true") for word in arguments)


def _result(app: App, arguments: Sequence[str]) -> Result | None:
    """What the command hands to the renderer; None where click has printed it itself (--help)."""
    from ctk.cli.output import internal_fault, show_traceback

    try:
        root.main(list(arguments), prog_name="ctk", standalone_mode=False, obj=app)
    except click.exceptions.Exit:
        return None
    except click.Abort as stop:
        raise KeyboardInterrupt from stop
    except click.UsageError as error:
        return _usage_failure(app, error)
    except BrokenPipeError:
        return None
    except CtkError as error:
        show_traceback(app)
        return _failure(app, error)
    except Exception as error:  # the last line: a bug of ours ends as a message too
        show_traceback(app)
        return _failure(app, internal_fault(error))
    return app.result


def _finish(app: App, result: Result) -> int:
    from ctk.cli.output import print_result

    return print_result(result, as_json=app.json, quiet=app.quiet)


def _failure(app: App, error: CtkError) -> Result:
    from ctk.cli.output import failure

    return failure(app.command, error)


def _usage_failure(app: App, error: click.UsageError) -> Result:
    path = error.ctx.command_path if error.ctx else "ctk"
    app.command = app.command or path.removeprefix("ctk").strip()
    message = " ".join(error.format_message().split())
    hint = f"See {path} --help. Nothing was changed."
    return _failure(app, UsageFault(message[:1].lower() + message[1:], hint=hint))


def _command_name(ctx: click.Context) -> str:
    return ctx.command_path.removeprefix("ctk").strip()
