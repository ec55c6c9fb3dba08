"""What a command returns, and its one JSON envelope; it prints nothing and knows no command."""

from collections.abc import Mapping

from ctk.errors import (
    EXIT_FAILED,
    EXIT_NEGATIVE,
    EXIT_NOT_APPLICABLE,
    EXIT_OK,
    EXIT_USAGE,
    CtkError,
)
from ctk.record import Record

SCHEMA_VERSION = 1

STATUS_BY_EXIT_CODE = {
    EXIT_OK: "ok",
    EXIT_NEGATIVE: "negative",
    EXIT_USAGE: "error",
    EXIT_FAILED: "error",
    EXIT_NOT_APPLICABLE: "not-applicable",
}


class Message(Record):
    """One line for people: level is info, warning or error."""

    level: str
    text: str


class ErrorInfo(Record):
    """An error as data; line and column are 1-based, None where there is no place in a file."""

    code: str
    message: str
    hint: str = ""
    path: str | None = None
    line: int | None = None
    column: int | None = None


class Result(Record):
    """What a command found or did: data for JSON, text for people, exit code for scripts."""

    command: str
    data: Mapping[str, object]
    exit_code: int = EXIT_OK
    text: str = ""
    messages: tuple[Message, ...] = ()
    errors: tuple[ErrorInfo, ...] = ()


def error_info(error: CtkError) -> ErrorInfo:
    """An exception as data."""
    return ErrorInfo(error.code, error.message, error.hint, error.path, error.line, error.column)


def envelope(result: Result) -> dict[str, object]:
    """The document `--json` prints (docs/reference/json.md)."""
    return {
        "schema_version": SCHEMA_VERSION,
        "command": result.command,
        "status": STATUS_BY_EXIT_CODE.get(result.exit_code, "error"),
        "exit_code": result.exit_code,
        "data": dict(result.data),
        "messages": [message._asdict() for message in result.messages],
        "errors": [error._asdict() for error in result.errors],
    }
