"""click and rich live here only: the root command, and how errors become exit codes."""

import sys
from collections.abc import Sequence

import click

from ctk.cli.app import App, shared_options
from ctk.cli.arguments import CtkGroup
from ctk.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE, CtkError, UsageFault
from ctk.result import Result


class RootGroup(CtkGroup):
    """The command tree, in the order people need it."""

    rows = (
        ("runtime", "ctk.cli.runtime", "runtime", "Register the NVIDIA runtime with Docker, containerd and CRI-O."),
        ("info", "ctk.cli.info", "info", "Show what ctk knows about this host."),
        ("completion", "ctk.cli.completion", "completion", "Print the completion script of a shell."),
    )


@click.group(
    cls=RootGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["--help", "-h"]},
    epilog="ctk --version prints the version.",
)
@shared_options
@click.pass_context
def root(ctx: click.Context) -> None:
    """Make NVIDIA GPUs work in containers, and find out why when they don't."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run(arguments: Sequence[str]) -> int:
    """Run one command line; returns the exit code. Prints whatever happens, never a traceback without --debug."""
    app = App()
    app.arguments = tuple(arguments)
    app.json = _asks_json(arguments)
    try:
        return _run(app, arguments)
    except BrokenPipeError:
        sys.stderr.close()
        return EXIT_OK
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def _asks_json(arguments: Sequence[str]) -> bool:
    return any(word in ("--json", "-json", "--json=true", "-json=true") for word in arguments)


def _run(app: App, arguments: Sequence[str]) -> int:
    try:
        root.main(list(arguments), prog_name="ctk", standalone_mode=False, obj=app)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.UsageError as error:
        return _finish(app, _usage_failure(app, error))
    except click.Abort:
        return EXIT_INTERRUPTED
    except CtkError as error:
        if app.debug:
            raise
        return _finish(app, _failure(app, error))
    except Exception as error:
        if app.debug or isinstance(error, BrokenPipeError):
            raise
        return _finish(app, _internal_failure(app, error))
    return _finish(app, app.result) if app.result is not None else EXIT_OK


def _finish(app: App, result: Result) -> int:
    from ctk.cli.output import emit

    emit(result, as_json=app.json, quiet=app.quiet)
    sys.stdout.flush()
    return result.exit_code


def _failure(app: App, error: CtkError) -> Result:
    from ctk.cli.output import failure

    return failure(app.command, error)


def _usage_failure(app: App, error: click.UsageError) -> Result:
    path = error.ctx.command_path if error.ctx else "ctk"
    hint = f"See {path} --help. Nothing was changed."
    app.command = app.command or path.removeprefix("ctk").strip()
    result = _failure(app, UsageFault(error.format_message(), hint=hint))
    return result._replace(exit_code=EXIT_USAGE)


def _internal_failure(app: App, error: Exception) -> Result:
    message = f"cannot finish: a bug in ctk ({type(error).__name__}: {error})"
    hint = "Run the command again with --debug and report what it prints."
    return _failure(app, CtkError(message, hint=hint, code="internal"))._replace(exit_code=EXIT_FAILED)
