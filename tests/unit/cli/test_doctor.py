"""`ctk doctor` end to end: exit codes, formats, selection, suppressions, and its catalogue."""

import json
from pathlib import Path

import pytest

from ctk.doctor.checks import ALL_CHECKS
from ctk.facts.codec import snapshot_to_document
from tests.fake_host import snapshot_of
from tests.memory_host import snapshot_in_memory
from tests.unit.cli.scene import Answer, ctk

KEYS = {
    *("id", "title", "status", "severity", "layer", "subject", "message", "evidence", "explains", "remedy", "fix"),
    *("caused_by", "masks", "suppressed"),
}
SUPPRESSED = """\
[[suppress]]
id = "host.nouveau-loaded"
reason = "a desktop"
[[suppress]]
id = "no.such-check"
reason = "x"
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Three hosts as snapshots in files."""
    folder = tmp_path_factory.mktemp("saved")
    files = {}
    for name in ("cpu-only", "healthy-one-gpu", "nouveau-bound"):
        files[name] = folder / f"{name}.json"
        files[name].write_text(json.dumps(snapshot_to_document(snapshot_in_memory(name, folder / name))))
    return files


def doctor(path: Path, *arguments: str, **settings: bool) -> Answer:
    return ctk("doctor", "--snapshot", str(path), *arguments, **settings)  # type: ignore[arg-type] # terminal or not


@pytest.mark.parametrize(
    ("name", "code", "status", "verdict"),
    [
        ("cpu-only", 4, "not-applicable", "not-applicable"),
        ("healthy-one-gpu", 0, "ok", "healthy"),
        ("nouveau-bound", 1, "negative", "broken"),
    ],
)
def test_exit_code_and_envelope(saved: dict[str, Path], name: str, code: int, status: str, verdict: str) -> None:
    answer = doctor(saved[name], "--json")
    document = answer.json()
    assert answer.code == document["exit_code"] == code
    assert (document["command"], document["status"]) == ("doctor", status)
    assert set(document["data"]) == {"verdict", "summary", "root_causes", "findings", "host"}
    assert document["data"]["verdict"] == verdict
    assert answer.err == ""
    assert doctor(saved[name]).code == code


def test_findings_as_data(saved: dict[str, Path]) -> None:
    data = doctor(saved["nouveau-bound"], "--json").json()["data"]
    assert all(set(finding) == KEYS for finding in data["findings"])
    (root,) = data["root_causes"]
    assert root.startswith("host.nouveau-loaded")
    follow_up = next(finding for finding in data["findings"] if finding["id"] == "driver.module-loaded")
    assert (follow_up["status"], follow_up["caused_by"]) == ("fail", [root])
    cause = next(finding for finding in data["findings"] if finding["id"] == "host.nouveau-loaded")
    assert "driver.module-loaded" in cause["masks"]
    assert cause["remedy"]["commands"][0]["needs_root"] is True
    assert cause["evidence"][0]["source"]
    assert data["summary"]["fail"] == 1
    assert data["summary"]["masked"] == len([item for item in data["findings"] if item["caused_by"]])
    assert data["host"]["kernel"] == "6.1.0-21-amd64"


def test_the_bare_document_is_the_data_of_the_envelope(saved: dict[str, Path]) -> None:
    bare = doctor(saved["nouveau-bound"], "--format", "json")
    assert bare.code == 1
    assert bare.json() == doctor(saved["nouveau-bound"], "--json").json()["data"]


def test_text_and_markdown(saved: dict[str, Path]) -> None:
    text = doctor(saved["nouveau-bound"])
    assert text.out == doctor(saved["nouveau-bound"], "--format=text").out
    assert text.out.startswith("GPU containers cannot work on this host: 1 root cause, with ")
    assert "\x1b" not in text.out
    assert "\x1b[1;31m" in doctor(saved["nouveau-bound"], terminal=True).out
    assert doctor(saved["nouveau-bound"], "--format=markdown").out.startswith("**GPU containers cannot work")
    assert "  - driver.module-loaded: " in doctor(saved["nouveau-bound"], "--show-masked").out


@pytest.mark.parametrize(
    "arguments",
    [
        ("--json", "--format=json"),
        ("--format=xml",),
        ("--only=no.such-check",),
        ("--skip=no.such-*",),
        ("--profile=fast",),
        ("bogus",),
        ("explain",),
        ("explain", "no.such-check"),
        ("list", "extra"),
        ("--strict", "list"),
        ("--only=xid.burst", "explain", "xid.burst"),
    ],
    ids=" ".join,
)
def test_usage_faults(arguments: tuple[str, ...]) -> None:
    assert ctk("doctor", *arguments).code == 2


def test_selection(saved: dict[str, Path]) -> None:
    def ids(*arguments: str) -> list[str]:
        findings = doctor(saved["nouveau-bound"], "--json", *arguments).json()["data"]["findings"]
        return list(dict.fromkeys(finding["id"] for finding in findings))

    assert ids("--only", "driver.module-loaded") == ["driver.module-loaded"]
    assert ids("--only=driver.installed,xid.burst") == ["driver.installed", "xid.burst"]
    assert all(name.startswith("xid.") for name in ids("--only", "xid.*", "--skip", "xid.burst"))
    assert "xid.burst" not in ids("--only", "xid.*", "--skip", "xid.burst")
    assert set(ids("--profile=install")) < set(ids("--profile=all"))


def test_a_prerequisite_that_was_left_out_is_a_link_all_the_same(saved: dict[str, Path]) -> None:
    answer = doctor(saved["nouveau-bound"], "--only=driver.module-loaded", "--json")
    assert answer.code == 1
    assert answer.json()["data"]["root_causes"] == ["driver.module-loaded"]


def test_strict_makes_a_warning_a_failure(tmp_path: Path) -> None:
    document = snapshot_to_document(snapshot_in_memory("healthy-one-gpu", tmp_path / "host"))
    del document["observer"]
    file = tmp_path / "old.json"
    file.write_text(json.dumps(document))
    assert doctor(file).code == 0
    assert "WARN  collect.snapshot  the snapshot lacks observer" in doctor(file).out
    assert doctor(file, "--strict").code == 1


@pytest.mark.parametrize(
    ("taken_at", "words"),
    [
        ("2024-05-02T09:00:00Z", " days ago, at 2024-05-02T09:00:00Z"),
        ("9999-01-01T00:00:00Z", None),
        ("2024-05-02T09:00:00", "the snapshot does not say when it was taken"),
        ("", "the snapshot does not say when it was taken"),
    ],
)
def test_the_age_of_a_snapshot_is_told(tmp_path: Path, taken_at: str, words: str | None) -> None:
    document = snapshot_to_document(snapshot_in_memory("cpu-only", tmp_path / "host"))
    file = tmp_path / "old.json"
    file.write_text(json.dumps({**document, "taken_at": taken_at}))
    answer = doctor(file)
    assert answer.code == 4
    assert words in answer.err if words is not None else answer.err == ""


def test_what_decides_and_cannot_be_seen_is_exit_3(tmp_path: Path) -> None:
    document = snapshot_to_document(snapshot_in_memory("healthy-one-gpu", tmp_path / "host"))
    document["pci"] = {"unknown": "no /sys"}
    file = tmp_path / "blind.json"
    file.write_text(json.dumps(document))
    answer = doctor(file, "--json")
    found = answer.json()
    assert answer.code == found["exit_code"] == 3
    assert (found["status"], found["data"]["verdict"]) == ("error", "incomplete")
    assert found["errors"][0]["code"] == "incomplete"
    assert doctor(file).out.startswith("Nothing that was looked at fails, but 1 deciding check could not look.\n")


def test_a_root_without_anything_is_no_verdict(tmp_path: Path) -> None:
    """A container without /sys, say: could not look is neither healthy nor broken."""
    answer = ctk("--root", str(tmp_path), "doctor", "--json")
    assert answer.json()["data"]["summary"]["fail"] == 0
    assert answer.code in (3, 4)


def test_suppressions_are_marked_and_what_is_wrong_with_them_is_said(tmp_path: Path) -> None:
    root = tmp_path / "host"
    snapshot_of("nouveau-bound", root)
    file = root / "etc/ctk/doctor.toml"
    file.parent.mkdir()
    file.write_text(SUPPRESSED)
    answer = ctk("--root", str(root), "doctor", "--json")
    document = answer.json()
    cause = next(finding for finding in document["data"]["findings"] if finding["id"] == "host.nouveau-loaded")
    assert (cause["status"], cause["suppressed"]) == ("fail", "a desktop")
    assert document["data"]["root_causes"] == []
    assert document["data"]["summary"]["suppressed"] == 1
    assert answer.code == 0
    assert [message["text"] for message in document["messages"]] == [
        "/etc/ctk/doctor.toml: no.such-check names no check; see ctk doctor list"
    ]


def test_the_shared_options_stand_before_the_catalogue_too() -> None:
    assert ctk("doctor", "--json", "list").json()["command"] == "doctor list"


def test_list() -> None:
    text = ctk("doctor", "list").out
    assert all(check.id in text and check.title in text for check in ALL_CHECKS)
    rows = ctk("doctor", "list", "--json").json()["data"]["checks"]
    assert [row["id"] for row in rows] == [check.id for check in ALL_CHECKS]


@pytest.mark.parametrize("group", tuple(dict.fromkeys(check.group for check in ALL_CHECKS)))
def test_explain(group: str) -> None:
    for check in (check for check in ALL_CHECKS if check.group == group):
        text = ctk("doctor", "explain", check.id).out
        for words in (check.title, check.reads, check.rule, check.source, *check.explains, *check.needs):
            assert words in text, check.id


def test_explain_of_a_name_that_is_nearly_right_names_the_right_one() -> None:
    answer = ctk("doctor", "explain", "host.nouveau-loadet")
    assert answer.code == 2
    assert "Did you mean host.nouveau-loaded" in answer.err
