"""The toolkit's config.toml as a file: there, read, its keys and values; what it finds here is judged beside it."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.toolkit_applies import config_of, engines_of, setup_of
from ctk.doctor.model import Command, Evidence, Outcome, Remedy, failed, noted, passed, unseen, warned
from ctk.facts import Unknown
from ctk.facts.toolkit_setup import UNKNOWN_KEY, VALUE
from ctk.toolkit.settings import nearest_key

if TYPE_CHECKING:
    from ctk.facts.snapshot import Snapshot
    from ctk.facts.toolkit_setup import ToolkitConfig, ToolkitProblem

LDCONFIG = "nvidia-container-cli.ldconfig"
OWN_CHECKS = (LDCONFIG, "supported-driver-capabilities")
"""Keys whose values have a check of their own."""
LARGE_LOG_BYTES = 100 << 20


def check_config_present(snapshot: "Snapshot") -> Outcome:
    """Without a file the built-in defaults hold; files of that name elsewhere are read by nobody."""
    setup = setup_of(snapshot)
    if isinstance(setup, Outcome):
        return setup
    config = setup.config
    if isinstance(config, Unknown):
        return unseen(config)
    if isinstance(config.exists, Unknown):
        return unseen(Unknown(f"{config.path}: {config.exists.reason}"))
    here = Evidence("in force" if config.exists else "not there", config.path)
    if config.look_alikes:
        others = (Evidence("not read", path) for path in config.look_alikes)
        return warned(
            f"{config.look_alikes[0]} looks like the toolkit's configuration and says something else, "
            f"but {config.path} is what counts",
            here,
            *others,
        )
    if not config.exists:
        return noted(f"there is no {config.path}: the built-in defaults hold", here)
    return passed("the toolkit has its configuration file", here)


def check_config_parse(snapshot: "Snapshot") -> Outcome:
    """The runtime and the hook stop at a file that is no TOML, and every container with them."""
    setup = setup_of(snapshot)
    if isinstance(setup, Outcome):
        return setup
    config = setup.config
    if isinstance(config, Unknown):
        return unseen(config)
    if isinstance(config.exists, Unknown):
        return unseen(Unknown(f"{config.path}: {config.exists.reason}"))
    if config.fault is None:
        return passed("the toolkit's configuration can be read", Evidence("valid TOML", config.path))
    fault = config.fault
    place = f"{config.path}:{fault.line}" if fault.line else config.path
    where = f"line {fault.line}, column {fault.column}: " if fault.line else ""
    return failed(f"{config.path} is no TOML: {where}{fault.text}", Evidence(fault.text, place))


def check_config_unknown_keys(snapshot: "Snapshot") -> Outcome:
    """The toolkit passes over a key that it does not know, without a word."""
    config = config_of(snapshot)
    if isinstance(config, Outcome):
        return config
    unknown = [problem for problem in config.problems if problem.kind == UNKNOWN_KEY]
    if not unknown:
        return passed("the toolkit knows every key of its configuration")
    misplaced = next((problem for problem in unknown if _is_misplaced(problem.key)), None)
    evidence = [_evidence(config, problem) for problem in unknown]
    if misplaced is not None:
        near = nearest_key(misplaced.key)
        return failed(
            f"{misplaced.key} in {config.path} does nothing: the setting is {near}",
            *evidence,
            remedy=Remedy(
                f"Give the setting its value where it belongs (ctk config set {near}=…), and take the other line away",
                (Command(f"ctk config unset {misplaced.key}"), Command("ctk config validate", needs_root=False)),
            ),
        )
    first = unknown[0]
    return warned(f"{first.key} in {config.path} does nothing: {first.text}", *evidence)


def _is_misplaced(key: str) -> bool:
    near = nearest_key(key)
    return near is not None and near != key and near.rpartition(".")[2] == key.rpartition(".")[2]


def _evidence(config: "ToolkitConfig", problem: "ToolkitProblem") -> Evidence:
    return Evidence(f"{problem.key}: {problem.text}", f"{config.path}:{problem.line}" if problem.line else config.path)


def check_config_values(snapshot: "Snapshot") -> Outcome:
    """Types, words and forms, whatever the host is like."""
    config = config_of(snapshot)
    if isinstance(config, Outcome):
        return config
    wrong = [problem for problem in config.problems if problem.kind == VALUE and problem.key not in OWN_CHECKS]
    if not wrong:
        return passed("every value of the toolkit's configuration has the right form")
    first = wrong[0]
    more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
    return failed(
        f"{first.key} in {config.path}: {first.text}{more}", *(_evidence(config, problem) for problem in wrong)
    )


def check_log_files(snapshot: "Snapshot") -> Outcome:
    """Logs hold what containers are started with, and nobody rotates them."""
    config = config_of(snapshot)
    if isinstance(config, Outcome):
        return config
    if not config.logs:
        return passed("the toolkit writes no debug log")
    for log in config.logs:
        if isinstance(log.folder_exists, Unknown):
            return unseen(log.folder_exists)
        if not log.folder_exists:
            return failed(
                f"{log.key} names {log.path}, whose folder does not exist",
                Evidence("no such folder", log.path.rpartition("/")[0]),
                remedy=Remedy("Switch the log off", (Command(f"ctk config unset {log.key}"),)),
            )
    rootless = [engine for engine in engines_of(snapshot) if engine.user is not None]
    evidence = [Evidence(_size(log.size_bytes), log.path) for log in config.logs]
    keys = " ".join(log.key for log in config.logs)
    remedy = Remedy("Switch the logs off when they are no longer needed", (Command(f"ctk config unset {keys}"),))
    if rootless:
        user = rootless[0].user
        message = f"the toolkit's debug log is on, and {user}'s rootless engine may not write {config.logs[0].path}"
        return warned(message, *evidence, remedy=remedy)
    large = any(isinstance(log.size_bytes, int) and log.size_bytes > LARGE_LOG_BYTES for log in config.logs)
    words = "is on and grows without end" if large else "is on: it holds what containers are started with"
    return warned(f"the toolkit's debug log {words}", *evidence, remedy=remedy)


def _size(size: int | None | Unknown) -> str:
    if isinstance(size, Unknown):
        return f"could not look: {size.reason}"
    return "not there yet" if size is None else f"{size} bytes"
