"""Has a child open the control node (--probe), which wakes no GPU, and reads what it told; this process opens none."""

from ctk.facts import Unknown
from ctk.facts.device_nodes import OpenAttempt
from ctk.host import Host
from ctk.host.driver_library import ask
from ctk.host.nvml_watch import read_lines

CONTROL = "/dev/nvidiactl"


def collect_attempts(host: Host) -> tuple[OpenAttempt, ...] | Unknown:
    """Only on the machine itself: below another root a node may stand for another machine's device."""
    if not host.is_live:
        return Unknown("not opened: --root")
    talk = ask(host, "ctk.host.device_open", CONTROL, host.timeout_seconds, host.get_environment())
    if isinstance(talk, Unknown):
        return talk
    for line in read_lines(talk.printed):
        code, text = line.get("code"), line.get("text")
        if isinstance(code, int) and isinstance(text, str):
            return (OpenAttempt(CONTROL, code, text),)
    return Unknown(f"{CONTROL}: {talk.failure or 'not told'}")
