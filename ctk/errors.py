"""The errors ctk raises on purpose: each says what could not be done, why, and what to do now. It knows no output."""

EXIT_OK = 0
EXIT_NEGATIVE = 1
EXIT_USAGE = 2
EXIT_FAILED = 3
EXIT_NOT_APPLICABLE = 4
EXIT_INTERRUPTED = 130


class CtkError(Exception):
    """An operation failed or was refused; nothing was left half done.

    message: "cannot <verb> <object>: <cause>". hint: what to do now and whether anything was changed.
    code: a stable slug for the JSON envelope. path, line, column (1-based) where the fault lies in a file.
    """

    code = "failed"
    exit_code = EXIT_FAILED

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        code: str | None = None,
        path: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.path = path
        self.line = line
        self.column = column
        if code is not None:
            self.code = code


class UsageFault(CtkError):
    """The command line does not make sense (exit 2)."""

    code = "usage"
    exit_code = EXIT_USAGE


class ParseFault(CtkError):
    """A file is not what its engine can read; carries line and column (exit 3)."""

    code = "parse"


class ReadFault(CtkError):
    """A file could not be read: a directory, no permission, a dangling link (exit 3)."""

    code = "read"


class WriteFault(CtkError):
    """A file could not be written; the old content stands (exit 3)."""

    code = "write"


class Refused(CtkError):
    """ctk will not do this unless told to: `--force NAME` with the name in `force` (exit 3)."""

    code = "refused"

    def __init__(
        self,
        message: str,
        *,
        force: str,
        hint: str = "",
        path: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        super().__init__(message, hint=hint, code=force, path=path, line=line, column=column)
        self.force = force


class VerifyFault(CtkError):
    """The engine's own reading of the new file is not what was meant; the old file was put back (exit 3)."""

    code = "verify"


class RestartFault(CtkError):
    """The engine did not come back; the old file was put back and the engine started again (exit 3)."""

    code = "restart"


class BusyFault(CtkError):
    """Another run holds the lock, or the file changed between reading and writing (exit 3)."""

    code = "busy"


class SelfCheckFault(CtkError):
    """ctk's own result failed ctk's own independent check: a bug in ctk; nothing was written (exit 3)."""

    code = "internal"


class NotApplicable(CtkError):
    """There is nothing here to do it to: no engine, no GPU and no trace of one (exit 4)."""

    code = "not-applicable"
    exit_code = EXIT_NOT_APPLICABLE
