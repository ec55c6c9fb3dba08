"""Opens one device node and closes it again, in a child process of its own (--probe); it asks the device nothing."""

import json
import os


def main(path: str, descriptor: int = 1) -> None:
    """Tells the errno, 0 = it could be opened. For reading only: writing is what access(2) was asked about."""
    code, text = 0, ""
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError as error:
        code, text = error.errno or -1, error.strerror or ""
    os.write(descriptor, json.dumps({"code": code, "text": text}).encode() + b"\n")
