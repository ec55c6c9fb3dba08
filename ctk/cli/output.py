"""Result to text or JSON; the only module that prints."""

import os
import sys
from typing import TextIO

from ctk.errors import CtkError
from ctk.result import ErrorInfo, Message, Result, envelope, error_info

LABELS = {"info": "", "warning": "warning: ", "error": "error: "}


def emit(result: Result, *, as_json: bool, quiet: bool = False) -> None:
    """Print a result: JSON is one document on stdout; text goes to stdout, messages and errors to stderr."""
    if as_json:
        import json

        write(sys.stdout, json.dumps(envelope(result), indent=2, sort_keys=True, ensure_ascii=False) + "\n")
        return
    if result.text:
        write(sys.stdout, result.text if result.text.endswith("\n") else result.text + "\n")
        sys.stdout.flush()
    for message in result.messages:
        emit_message(message, quiet=quiet)
    for error in result.errors:
        emit_error(error)


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


def write(stream: TextIO, text: str) -> None:
    """Write text whatever the stream's encoding is; surrogates and characters it lacks become escapes."""
    try:
        stream.write(text)
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


def wants_colour(stream: TextIO) -> bool:
    """Colour only on a terminal, and not where NO_COLOR or TERM=dumb ask for none (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "") != "dumb"
