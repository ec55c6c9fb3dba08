"""What a child process said, as a value shared by those who read and those who verify; it starts nothing."""

from ctk.record import Record


class CommandOutput(Record):
    """What a child process said: returncode None = it could not be started or did not end in time (reason)."""

    argv: tuple[str, ...]
    returncode: int | None
    stdout: str
    stderr: str
    reason: str = ""
