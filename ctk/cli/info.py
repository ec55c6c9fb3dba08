"""`ctk info`: what ctk knows of this host, as a screen, as JSON, or saved to a file; it judges nothing."""

from typing import TYPE_CHECKING

import click

from ctk.cli.app import App, shared_options
from ctk.cli.arguments import CtkCommand
from ctk.result import Message, Result

if TYPE_CHECKING:
    from ctk.facts.snapshot import Snapshot

UNLIMITED_WIDTH = 1000


@click.command(cls=CtkCommand, name="info", context_settings={"help_option_names": ["--help", "-h"]})
@click.option("--save", "save_file", metavar="FILE", help="Save the snapshot for --snapshot, here or elsewhere.")
@click.option("--verbose", "-v", is_flag=True, help="Also flags, imports, unit files and programs that are missing.")
@click.option("--no-redact", is_flag=True, help="Keep host name, user names and addresses in --json and --save.")
@shared_options
@click.pass_obj
def info(app: App, save_file: str | None, verbose: bool, no_redact: bool) -> None:
    """Show what ctk knows about this host: the engines, the files they really read, the kubelet, the toolkit.

    Example: ctk info --save host.json, and elsewhere: ctk info --snapshot host.json
    """
    app.command = "info"
    snapshot = app.snapshot()
    document = _document(snapshot, redacted=not no_redact)
    messages: tuple[Message, ...] = ()
    if save_file is not None:
        _save(save_file, document)
        messages = (Message("info", f"Saved the snapshot to {save_file}"),)
    text = "" if app.json else _screen(snapshot, verbose=verbose)
    app.finish(Result("info", document, text=text, messages=messages))


def _document(snapshot: "Snapshot", *, redacted: bool) -> dict[str, object]:
    from ctk.facts.codec import snapshot_to_document
    from ctk.facts.redact import redact

    document = snapshot_to_document(snapshot)
    return redact(document) if redacted else document


def _save(path: str, document: dict[str, object]) -> None:
    import json

    from ctk.change.output import write_output

    write_output(path, (json.dumps(document, indent=2, sort_keys=True) + "\n").encode())


def _screen(snapshot: "Snapshot", *, verbose: bool) -> str:
    import sys

    from ctk.cli.info_screen import render_snapshot
    from ctk.cli.output import terminal_width, wants_colour

    width = terminal_width(sys.stdout) or UNLIMITED_WIDTH
    return render_snapshot(snapshot, verbose=verbose, colour=wants_colour(sys.stdout), width=width)
