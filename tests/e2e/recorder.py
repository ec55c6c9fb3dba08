"""Small OCI runtimes for the tests: each appends its argv to a log and becomes the real runc; it decides nothing."""

import json
import sys
from pathlib import Path

_SCRIPT = '''#!{python} -IS
"""Writes its argv to a log, fits the call to a test machine, and becomes runc."""
import json, os, sys

arguments = sys.argv[1:]
line = json.dumps(arguments) + "\\n"
log = os.open({log!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
os.write(log, line.encode())
os.close(log)

# No systemd answers in a private host: runc would wait for its bus. The log above has the flag.
if not os.path.isdir("/run/systemd/private"):
    arguments = [item for item in arguments if item != "--systemd-cgroup"]

# A test machine may lack CAP_SYS_RESOURCE, and the kernel then refuses a lower oom_score_adj.
status = open("/proc/self/status").read()
effective = int(status.split("CapEff:")[1].split()[0], 16)
if "create" in arguments and not effective >> 24 & 1:
    bundle = next(b for a, b in zip(arguments, arguments[1:]) if a in ("--bundle", "-b"))
    path = os.path.join(bundle, "config.json")
    document = json.load(open(path))
    document["process"].pop("oomScoreAdj", None)
    json.dump(document, open(path, "w"))

os.execv({runc!r}, [{runc!r}, *arguments])
'''


class Recorder:
    """A runtime binary at `binary` that records to a log."""

    def __init__(self, binary: Path, log: Path, runc: str) -> None:
        self.binary = binary
        self._log = log
        binary.parent.mkdir(parents=True, exist_ok=True)
        python = Path(sys.executable).resolve()
        binary.write_text(_SCRIPT.format(python=python, log=str(log), runc=runc))
        binary.chmod(0o755)

    @property
    def calls(self) -> list[list[str]]:
        """The argument lists so far."""
        if not self._log.exists():
            return []
        return [json.loads(line) for line in self._log.read_text().splitlines()]

    @property
    def creates(self) -> list[list[str]]:
        """The calls that created a container."""
        return [call for call in self.calls if "create" in call]

    def forget(self) -> None:
        """Empties the log."""
        self._log.unlink(missing_ok=True)
