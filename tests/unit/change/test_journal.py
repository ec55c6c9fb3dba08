"""The journal: complete before a change, readable whatever it holds, and never losing the state from before us."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctk.change.journal import KEPT_ENTRIES, Journal
from ctk.errors import CtkError, WriteFault
from tests.unit.change.scene import NEW, OLD, Scene


def test_an_entry_holds_the_run_and_the_old_bytes(scene: Scene) -> None:
    applied = scene.apply(scene.plan(facts=(("default_runtime", "runc"),)))
    folder = scene.state / "journal" / str(applied.journal_id)
    document = json.loads((folder / "entry.json").read_text())
    record = document["files"][0]
    assert document["format"] == 1
    assert document["command"] == ["ctk", "runtime", "configure"]
    assert (document["operation"], document["key"]) == ("configure", "docker-system")
    assert document["facts"] == {"default_runtime": "runc"}
    assert record["path"] == record["target"] == str(scene.file)
    assert (record["before"]["mode"], record["before"]["size"]) == ("0640", len(OLD))
    assert (folder / record["backup"]).read_bytes() == OLD
    assert (folder / record["result"]).read_bytes() == NEW
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", document["time"])


def test_an_entry_comes_back_as_it_was_written(scene: Scene) -> None:
    path = scene.etc / "odd \udcff name"
    path.write_bytes(OLD)
    scene.apply(scene.plan(scene.change(path=path), scene.change(None, NEW, scene.etc / "a/b")))
    entry = scene.journal.entries()[0]
    assert entry.files[0].target == str(path)
    assert scene.journal.before_bytes(entry, entry.files[0]) == OLD
    assert scene.journal.after_bytes(entry, entry.files[1]) == NEW
    assert scene.journal.before_bytes(entry, entry.files[1]) is None


def test_entries_are_in_the_order_of_the_runs_whatever_the_clock_says(scene: Scene) -> None:
    times = iter([1_700_000_000.5, 1_700_000_000.5, 1_000_000_000.0])
    ids = []
    for before, after in ((OLD, NEW), (NEW, OLD), (OLD, NEW)):
        journal = Journal(str(scene.state), lambda: next(times))
        ids.append(run(scene, journal, before, after))
    assert [entry.id for entry in scene.journal.entries()] == ids
    assert ids[0].startswith("20231114T221320.500000Z-")


def run(scene: Scene, journal: Journal, before: bytes, after: bytes) -> str:
    class WithClock(Scene):
        @property
        def journal(self) -> Journal:
            return journal

    other = WithClock.__new__(WithClock)
    other.__dict__ = scene.__dict__
    return str(other.apply(other.plan(other.change(before, after))).journal_id)


def test_load_takes_an_id_a_unique_beginning_or_the_part_behind_the_time(scene: Scene) -> None:
    first = str(scene.apply().journal_id)
    second = str(scene.apply(scene.plan(scene.change(NEW, OLD))).journal_id)
    assert scene.journal.load(first).id == first
    assert scene.journal.load(second.partition("-")[2]).id == second
    with pytest.raises(CtkError, match="cannot tell which run"):
        scene.journal.load(first[:4])
    for wanted in ("", "99", "nonsense"):
        with pytest.raises(CtkError, match="cannot find the run"):
            scene.journal.load(wanted)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "no entry.json"),
        ("{", "not valid JSON"),
        ("[]", "something else than an object"),
        ('{"format": 99, "ctk_version": "7.0"}', "newer ctk (7.0)"),
        ('{"format": true}', "'format' is missing or of another type"),
        ("[" * 100_000, "not valid JSON"),
        ('{"format": 1, "id": "another"}', "belongs to another entry"),
        ('{"format": 1, "id": "20250101T000000.000000Z-00000000", "time": 5}', "'time' is missing"),
    ],
)
def test_a_damaged_entry_is_reported_and_left_alone(scene: Scene, content: str | None, reason: str) -> None:
    scene.apply()
    folder = scene.state / "journal/20250101T000000.000000Z-00000000"
    folder.mkdir()
    if content is not None:
        (folder / "entry.json").write_text(content)
    assert len(scene.journal.entries()) == 1
    (damaged,) = scene.journal.damaged()
    assert damaged.name == folder.name
    assert reason in damaged.reason
    with pytest.raises(CtkError, match="cannot use the journal entry"):
        scene.journal.load("20250101")
    scene.apply(scene.plan(scene.change(NEW, OLD)))
    assert folder.is_dir()


def test_a_record_cannot_name_a_file_outside_its_entry(scene: Scene) -> None:
    applied = scene.apply()
    path = scene.state / "journal" / str(applied.journal_id) / "entry.json"
    document = json.loads(path.read_text())
    document["files"][0]["backup"] = "../../secret"
    path.write_text(json.dumps(document))
    assert "is no file name" in scene.journal.damaged()[0].reason


def test_unknown_folders_and_states_are_reported(scene: Scene) -> None:
    scene.apply()
    (scene.state / "journal/lost+found").mkdir()
    (scene.state / "journal/20250101T000000.000000Z-00000000.strange").mkdir()
    assert [item.reason for item in scene.journal.damaged()] == [
        "its state 'strange' is not known",
        "it is not named as an entry",
    ]


def test_damaged_bytes_are_never_given_out(scene: Scene) -> None:
    applied = scene.apply()
    entry = scene.journal.load(str(applied.journal_id))
    backup = Path(entry.folder, entry.files[0].backup)
    backup.write_bytes(b"{}")
    with pytest.raises(CtkError, match="is damaged"):
        scene.journal.before_bytes(entry, entry.files[0])
    backup.unlink()
    with pytest.raises(CtkError, match="is missing"):
        scene.journal.baseline(str(scene.file))


def test_an_absent_journal_is_empty(scene: Scene) -> None:
    assert scene.journal.entries() == ()
    assert scene.journal.damaged() == ()
    assert scene.journal.unfinished("docker-system") == ()
    assert scene.journal.baseline(str(scene.file)) is None


def test_a_journal_that_may_not_be_read_says_so(scene: Scene, as_nobody: object) -> None:
    assert callable(as_nobody)
    scene.apply()
    (scene.state / "journal").chmod(0o000)
    try:
        with pytest.raises(CtkError, match="cannot read the journal"):
            as_nobody(scene.journal.entries)
    finally:
        (scene.state / "journal").chmod(0o700)


def test_a_state_folder_that_is_a_file_stops_the_run(scene: Scene) -> None:
    scene.state.write_text("")
    with pytest.raises(WriteFault, match="cannot write the journal"):
        scene.apply()
    assert scene.file.read_bytes() == OLD


def toggles(scene: Scene, count: int) -> Iterator[str]:
    for index in range(count):
        before, after = (b"5", b"6") if index % 2 == 0 else (b"6", b"5")
        yield str(scene.apply(scene.plan(scene.change(before, after), operation="config")).journal_id)


@pytest.mark.long
def test_the_newest_entries_and_the_first_of_each_file_are_kept(scene: Scene) -> None:
    first = str(scene.apply(scene.plan(scene.change(OLD, b"0"))).journal_id)
    other = scene.etc / "other"
    other.write_bytes(OLD)
    second = str(scene.apply(scene.plan(scene.change(OLD, NEW, other))).journal_id)
    third = str(scene.apply(scene.plan(scene.change(b"0", b"1"), facts=(("cycle", "start"),))).journal_id)
    fourth = str(scene.apply(scene.plan(scene.change(b"1", b"2"))).journal_id)
    fifth = str(scene.apply(scene.plan(scene.change(b"2", b"1"))).journal_id)
    scene.apply(scene.plan(scene.change(b"1", b"3"), facts=(("cycle", "start"),)))
    scene.file.write_bytes(b"5")
    newest = list(toggles(scene, KEPT_ENTRIES + 4))
    ids = [entry.id for entry in scene.journal.entries()]
    assert ids[-KEPT_ENTRIES:] == newest[-KEPT_ENTRIES:]
    assert first in ids
    assert second in ids
    assert not {third, fourth, fifth} & set(ids)
    baseline = scene.journal.baseline(str(scene.file))
    assert baseline is not None
    assert baseline.entry_id in ids
    assert len(ids) <= KEPT_ENTRIES + 3
    assert scene.leftovers() == []


@pytest.mark.long
def test_pruning_leaves_unfinished_and_damaged_entries(scene: Scene) -> None:
    damaged = scene.state / "journal/19990101T000000.000000Z-00000000"
    pending = scene.state / "journal/19990102T000000.000000Z-00000000.pending"
    scene.apply(scene.plan(scene.change(OLD, b"5")))
    damaged.mkdir()
    pending.mkdir()
    list(toggles(scene, KEPT_ENTRIES + 2))
    assert damaged.is_dir()
    assert pending.is_dir()
