"""The questions every engine test asks: what differs between two effective configurations, and what ctk reported."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from .engines import REPOSITORY
from .scenario import Scenario

CORPUS = REPOSITORY / "tests" / "corpus"
HELLO = ("/bin/sh", "-c", "echo hello from $(id -u); exit 7")
KeyPath = tuple[str, ...]


def read_corpus(engine: str, pattern: str) -> list[Path]:
    """The corpus files of an engine, by name."""
    found = sorted((CORPUS / engine).glob(pattern))
    assert found, pattern
    return found


def flatten(document: Mapping[str, object], start: KeyPath = ()) -> dict[KeyPath, object]:
    """Key path -> value. An empty value is left out: an engine prints its zero values only where it met the table."""
    found: dict[KeyPath, object] = {}
    for key, value in document.items():
        if isinstance(value, Mapping):
            found.update(flatten(value, (*start, key)))
        elif value not in ("", 0, [], None):
            found[*start, key] = value
    return found


def differences(before: Mapping[str, object], after: Mapping[str, object]) -> dict[KeyPath, tuple[object, object]]:
    """Key path -> (value before, value after), for every effective value that is not the same."""
    old, new = flatten(before), flatten(after)
    return {key: (old.get(key), new.get(key)) for key in _sorted(old, new) if old.get(key) != new.get(key)}


def _sorted(*documents: Mapping[KeyPath, object]) -> Iterator[KeyPath]:
    return iter(sorted({key for document in documents for key in document}))


class EngineReport:
    """The one engine of a run's JSON document, and the document's messages."""

    def __init__(self, document: Mapping[str, object]) -> None:
        self.document = document
        data, messages, errors = document["data"], document["messages"], document["errors"]
        assert isinstance(data, dict)
        assert isinstance(messages, list)
        assert isinstance(errors, list)
        self.exit_code = document["exit_code"]
        self.messages = [row["text"] for row in messages]
        self.errors = [row["code"] for row in errors]
        self.engine: dict[str, object] = (data.get("engines") or [{}])[0]

    @property
    def actions(self) -> dict[str, str]:
        """Path -> what was done to it."""
        files = self.engine.get("files")
        assert isinstance(files, list)
        return {row["path"]: row["action"] for row in files if row["action"] != "none"}

    @property
    def method(self) -> object:
        """How the result was verified."""
        verified = self.engine["verified"]
        assert isinstance(verified, dict)
        return verified["method"]


def run_runtime(scenario: Scenario, operation: str, engine: str, *options: str) -> EngineReport:
    """Runs `ctk runtime OPERATION` as a process and reads its report."""
    return EngineReport(scenario.ctk_json("runtime", operation, f"--runtime={engine}", *options))


def configure(scenario: Scenario, engine: str, *options: str) -> EngineReport:
    """`ctk runtime configure`, which must succeed."""
    report = run_runtime(scenario, "configure", engine, *options)
    assert report.exit_code == 0, report.document
    return report


def unconfigure(scenario: Scenario, engine: str, *options: str) -> EngineReport:
    """`ctk runtime unconfigure`, which must succeed."""
    report = run_runtime(scenario, "unconfigure", engine, *options)
    assert report.exit_code == 0, report.document
    return report


def snapshot_times(scenario: Scenario, folder: str) -> dict[str, int]:
    """Path -> time of the last change, in nanoseconds, of every file below a folder."""
    top = scenario.host.path(folder)
    return {str(path.relative_to(top)): path.stat().st_mtime_ns for path in top.rglob("*") if path.is_file()}
