"""dockerd's command-line flags against daemon.json: what is said already, and what would clash; reads no unit."""

from typing import TYPE_CHECKING

from ctk.engines.base import Layer, RuntimeSpec
from ctk.engines.docker_file import CDI, DEFAULT, RUNTIMES, DaemonFile, Path, parse
from ctk.errors import Refused

if TYPE_CHECKING:
    from ctk.facts.engines import EngineFlag

# Flag, and the directive of daemon.json that says the same.
# https://docs.docker.com/reference/cli/dockerd/#daemon-configuration-file
DIRECTIVES = {"add-runtime": RUNTIMES, "default-runtime": DEFAULT, "feature": CDI}

# Measured on 20.10: a default named both ways stops dockerd. Since 18.09 (moby pull request 37871) two lists of
# runtimes are merged and the file's entry wins; which dockerd will read the file is not known here.
OUTCOMES = {
    "add-runtime": "dockerd before 18.09 does not start with both, later ones merge the two",
    "default-runtime": "dockerd does not start with both",
    "feature": "dockerd does not start with both",
}


def find_flag_conflicts(
    flags: "tuple[EngineFlag, ...]", text: str, spec: RuntimeSpec, *, path: str = "daemon.json"
) -> list[str]:
    """A sentence for each flag whose directive is, or would be, in the file too; with the flag's file and line."""
    return [sentence for _, sentence in _conflicts(flags, parse((Layer(path, text),)), spec)]


def _conflicts(flags: "tuple[EngineFlag, ...]", file: DaemonFile, spec: RuntimeSpec) -> "list[tuple[EngineFlag, str]]":
    said = said_by_flags(flags, spec)
    asked = {RUNTIMES: True, DEFAULT: spec.set_as_default, CDI: spec.enable_cdi}
    found = []
    for flag in flags:
        key = DIRECTIVES.get(flag.name)
        if key is None:
            continue
        if key[0] in file.content or (asked[key] and key not in said):
            outcome = OUTCOMES[flag.name]
            found.append((flag, f"{_place(flag)} sets {_spelled(flag)}, and {file.path} {key[0]!r}: {outcome}"))
    return found


def refuse_conflicts(
    flags: "tuple[EngineFlag, ...]", file: DaemonFile, spec: RuntimeSpec, forced: frozenset[str]
) -> list[str]:
    """The conflicts as warnings if they are forced. Raises Refused(flag-conflict) if not."""
    found = _conflicts(flags, file, spec)
    if not found or "flag-conflict" in forced:
        return [sentence for _, sentence in found]
    origin = found[0][0]
    raise Refused(
        f"cannot edit {file.path}: {'; '.join(sentence for _, sentence in found)}",
        force="flag-conflict",
        hint=f"Take --{origin.name} out of {origin.origin}, run systemctl daemon-reload, then run the command again. "
        "Nothing was changed.",
        path=origin.origin,
        line=origin.line,
    )


def said_by_flags(flags: "tuple[EngineFlag, ...]", spec: RuntimeSpec) -> dict[Path, str]:
    """What is asked for and set by the flags exactly so, each directive with a sentence."""
    wanted: dict[Path, tuple[str, tuple[str, ...], str]] = {}
    wanted[RUNTIMES] = ("add-runtime", (f"{spec.name}={spec.path}",), f"the runtime {spec.name!r}")
    if spec.set_as_default:
        wanted[DEFAULT] = ("default-runtime", (spec.name,), "the default")
    if spec.enable_cdi:
        wanted[CDI] = ("feature", ("cdi", "cdi=true", "cdi=1"), "CDI")
    said = {}
    for flag in flags:
        for key, (name, values, what) in wanted.items():
            if flag.name == name and flag.value.replace(" ", "") in values:
                said[key] = f"{what} is set by {_spelled(flag)} in {_place(flag)}"
    return said


def _spelled(flag: "EngineFlag") -> str:
    return f"--{flag.name}={flag.value}" if flag.value else f"--{flag.name}"


def _place(flag: "EngineFlag") -> str:
    return f"{flag.origin} (line {flag.line})" if flag.line else flag.origin
