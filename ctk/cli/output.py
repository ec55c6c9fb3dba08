"""Result to text or JSON; the only module that prints."""

import os
import sys
from typing import TYPE_CHECKING, TextIO

from ctk.errors import EXIT_FAILED, CtkError
from ctk.result import ErrorInfo, Message, Result, envelope, error_info

if TYPE_CHECKING:
    from ctk.cli.app import App

LABELS = {"info": "note: ", "warning": "warning: ", "error": "error: "}


def print_result(result: Result, *, as_json: bool, quiet: bool = False) -> int:
    """Print a result and return the exit code; a reader that is gone is no error, a full disk is (exit 3)."""
    try:
        emit(result, as_json=as_json, quiet=quiet)
        _flush(sys.stdout)
    except BrokenPipeError:
        _give_up_stdout()
    except OSError as error:
        _give_up_stdout()
        hint = f"What the command did stands; without this its exit code would be {result.exit_code}."
        emit_error(ErrorInfo("output", f"cannot print the result: {error.strerror}", hint))
        return result.exit_code or EXIT_FAILED
    return result.exit_code


def emit(result: Result, *, as_json: bool, quiet: bool = False) -> None:
    """Print a result: JSON is one document on stdout; text goes to stdout, messages and errors to stderr."""
    if as_json:
        write(sys.stdout, _document(envelope(result), sys.stdout))
        return
    if result.text:
        write(sys.stdout, result.text if result.text.endswith("\n") else result.text + "\n")
        _flush(sys.stdout)
    for message in result.messages:
        emit_message(message, quiet=quiet)
    for error in result.errors:
        emit_error(error)


def _document(content: object, stream: TextIO | None) -> str:
    """As JSON; with JSON's own escapes where the stream cannot carry a character (write() would make it invalid)."""
    import json

    text = json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    try:
        text.encode(getattr(stream, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(content, indent=2, sort_keys=True) + "\n"
    return text


def _flush(stream: TextIO | None) -> None:
    if stream is not None:
        stream.flush()


def _give_up_stdout() -> None:
    """Keep the interpreter from trying once more, and complaining, when it ends."""
    sys.stdout = None  # what Python itself uses for a stdout that was closed


def emit_message(message: Message, *, quiet: bool = False) -> None:
    """One line on stderr."""
    if not (quiet and message.level == "info"):
        write(sys.stderr, f"{LABELS.get(message.level, '')}{message.text}\n")


def emit_error(error: ErrorInfo) -> None:
    """The error and its hint on stderr."""
    write(sys.stderr, f"error: {error.message}\n")
    if error.hint:
        write(sys.stderr, f"       {error.hint}\n")


def failure(command: str, error: CtkError) -> Result:
    """An exception as the result of a command."""
    return Result(command, {}, error.exit_code, errors=(error_info(error),))


def internal_fault(error: Exception) -> CtkError:
    """An exception that nobody expected, as an error of ours."""
    return CtkError(
        f"cannot finish: a bug in ctk ({type(error).__name__}: {error})",
        hint="Please report it with what the same command prints under --debug.",
        code="internal",
    )


def show_traceback(app: "App") -> None:
    """Under --debug, where the error that is being dealt with comes from."""
    if app.debug:
        import traceback

        write(sys.stderr, traceback.format_exc())


def write(stream: TextIO | None, text: str) -> None:
    """Write text whatever the stream's encoding is; surrogates and characters it lacks become escapes.

    None is a stream that was closed before ctk started: nobody wants to read it.
    """
    if stream is None:
        return
    try:
        stream.write(text)
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


def wants_colour(stream: TextIO | None) -> bool:
    """Colour only on a terminal, and not where NO_COLOR or TERM=dumb ask for none (no-color.org)."""
    if stream is None or not stream.isatty():
        return False
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM", "") != "dumb"


def terminal_width(stream: TextIO | None) -> int | None:
    """The terminal's columns; None for anything else, which gets whole lines, for grep and for mails."""
    if stream is None or not stream.isatty():
        return None
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
