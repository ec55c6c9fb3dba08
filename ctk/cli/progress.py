"""One line on a terminal that says what takes long; it prints nothing elsewhere, and nothing that is done in time."""

import os
import threading
import time
from types import TracebackType
from typing import Self, TextIO

DELAY_SECONDS = 1.0
ERASE = "\r\x1b[K"
WORDS = {
    "nvml": "asking NVIDIA's management library",
    "cuda_probe": "starting CUDA",
    "smi": "running nvidia-smi",
    "licence_status": "running nvidia-smi",
    "kernel_log": "reading the kernel's log",
    "engines": "looking at the container engines",
    "toolkit": "asking NVIDIA's programs for their versions",
    "packages": "reading the list of packages",
    "cdi": "reading CDI specs",
}
"""By the part of the snapshot that is being collected."""
OTHERWISE = "looking at the host"


class Progress:
    """Used as a context: tells after a second what is going on, how long for, and erases that again."""

    def __init__(self, stream: TextIO | None, delay_seconds: float = DELAY_SECONDS) -> None:
        self._stream = stream
        self._delay = delay_seconds
        self._words = OTHERWISE
        self._start = time.monotonic()
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def tell(self, part: str) -> None:
        """What is being collected from now on."""
        self._words = WORDS.get(part, OTHERWISE)

    def __enter__(self) -> Self:
        if self._stream is not None:
            self._thread = threading.Thread(target=self._run, name="progress", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        if self._stream is None or self._done.wait(self._delay):
            return
        try:
            while True:
                seconds = time.monotonic() - self._start
                self._write(f"{ERASE}{self._words} ({seconds:.0f} s)")
                if self._done.wait(DELAY_SECONDS):
                    break
            self._write(ERASE)
        except (OSError, ValueError):  # the terminal is gone: nobody looks
            return

    def _write(self, text: str) -> None:
        if self._stream is not None:
            self._stream.write(text)
            self._stream.flush()


def progress_stream(stream: TextIO | None, *, quiet: bool) -> TextIO | None:
    """The stream, if it is a terminal whose line can be erased and somebody wants to hear."""
    if stream is None or quiet or os.environ.get("TERM", "") in ("", "dumb"):
        return None
    return stream if stream.isatty() else None
