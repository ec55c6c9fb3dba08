"""A small program around apply for tests that need whole processes: adds one line to a file, as if a runtime.

Usage: driver.py STATE FILE WORD [OPTION...]; options: new (also create FILE's neighbour conf.d/WORD), slow (hold the
lock for a while), exact (do not plan anew). Plans anew while the file changes under it, as the command line does.
"""

import os
import sys
import time

from ctk.change.apply import apply
from ctk.change.files import read_file
from ctk.change.journal import Journal
from ctk.change.plan import CommandOutput, EngineQuery, FileChange, Plan
from ctk.change.recover import repair
from ctk.change.state import has_unfinished
from ctk.errors import BusyFault, CtkError

KEY = "docker-system"


def plan(path: str, word: str, options: list[str]) -> Plan:
    """The line at the end of the file, once."""
    line = f"{word}\n".encode()
    target = os.path.realpath(path)
    before = read_file(target) or b""
    after = before if line in before else before + line
    changes = [FileChange(path, target, before, after)]
    if "new" in options:
        new = os.path.join(os.path.dirname(target), "conf.d", word)
        changes.append(FileChange(new, new, read_file(new), line))
    query = EngineQuery("config-dump", ("slow",), lambda before, after: (), ask_before=False)
    return Plan("configure", KEY, tuple(changes), query if "slow" in options else None)


def wait(argv: tuple[str, ...], _timeout: float) -> CommandOutput:
    """Holds the run in its most delicate part until a test is done with it."""
    print("inside", flush=True)
    time.sleep(float(os.environ.get("DRIVER_SECONDS", "1")))
    return CommandOutput(argv, 0, "", "")


def main(state: str, path: str, word: str, *options: str) -> int:
    """0, or 3 with the message on stderr."""
    journal = Journal(state)
    seconds = float(os.environ.get("DRIVER_WAIT", "60"))
    for attempt in range(200):
        try:
            if has_unfinished(state):
                for message in repair(journal, state, KEY, seconds):
                    print(message.text, file=sys.stderr)
            apply(
                plan(path, word, list(options)),
                journal=journal,
                state_directory=state,
                runner=wait,
                command_line=("driver", word),
                ctk_version="0",
                lock_wait_seconds=seconds,
            )
        except BusyFault as error:
            if error.code == "changed" and "exact" not in options and attempt < 199:
                continue
            print(error.message, file=sys.stderr)
            return error.exit_code
        except CtkError as error:
            print(error.message, error.hint, file=sys.stderr)
            return error.exit_code
        else:
            return 0
    return 1


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
