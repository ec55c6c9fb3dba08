"""The way back to before a run, and the refusal that shows what would be lost; and the list of runs."""

import stat
from pathlib import Path

import pytest

from ctk.change.history import read_history
from ctk.change.plan import Plan
from ctk.change.rollback import plan_rollback
from ctk.errors import CtkError
from tests.unit.change.scene import NEW, OLD, Scene, answer_none


def read(path: str) -> bytes | None:
    return Path(path).read_bytes() if Path(path).exists() else None


def back(scene: Scene, entry_id: str | None) -> Plan:
    return plan_rollback(scene.journal, str(entry_id), read)


def test_rollback_puts_edits_creations_and_removals_back(scene: Scene) -> None:
    new, gone = scene.etc / "conf.d/99.toml", scene.etc / "gone"
    gone.write_bytes(OLD)
    gone.chmod(0o604)
    done = scene.apply(scene.plan(scene.change(), scene.change(None, NEW, new), scene.change(OLD, None, gone)))
    applied = scene.apply(back(scene, done.journal_id))
    assert applied.applied
    assert scene.file.read_bytes() == OLD
    assert not (scene.etc / "conf.d").exists()
    assert gone.read_bytes() == OLD
    assert stat.S_IMODE(gone.stat().st_mode) == 0o604
    entry = scene.journal.entries()[-1]
    assert (entry.operation, entry.fact("rollback_of")) == ("rollback", done.journal_id)


def test_a_rollback_can_be_rolled_back(scene: Scene) -> None:
    done = scene.apply()
    undone = scene.apply(back(scene, done.journal_id))
    scene.apply(back(scene, undone.journal_id))
    assert scene.file.read_bytes() == NEW


def test_a_file_that_moved_on_is_refused_with_the_difference(scene: Scene) -> None:
    done = scene.apply(scene.plan(scene.change(OLD, b'{\n  "auth": "c2VjcmV0",\n  "a": 1\n}\n')))
    scene.file.write_bytes(b'{\n  "auth": "c2VjcmV0",\n  "a": 2\n}\n')
    with pytest.raises(CtkError) as caught:
        back(scene, done.journal_id)
    assert (caught.value.code, caught.value.exit_code) == ("moved", 3)
    assert '-  "a": 1\n+  "a": 2\n' in caught.value.message
    assert f"+++ {scene.file} (today)\n" in caught.value.message
    assert "c2VjcmV0" not in caught.value.message
    assert "Nothing was changed." in caught.value.hint


def test_one_file_of_two_that_moved_on_refuses_both(scene: Scene) -> None:
    other = scene.etc / "other"
    done = scene.apply(scene.plan(scene.change(), scene.change(None, NEW, other)))
    other.unlink()
    scene.file.write_bytes(b"theirs")
    with pytest.raises(CtkError) as caught:
        back(scene, done.journal_id)
    assert caught.value.message.count("\n--- ") == 1
    assert scene.file.read_bytes() == b"theirs"


def test_what_is_back_already_is_nothing_to_do(scene: Scene) -> None:
    done = scene.apply()
    scene.file.write_bytes(OLD)
    assert back(scene, done.journal_id).pending == ()


def test_a_run_that_was_undone_has_nothing_to_take_back(scene: Scene) -> None:
    scene.runner = answer_none
    assert scene.fails(scene.plan(query=scene.wrong()))
    with pytest.raises(CtkError, match="that run is undone"):
        back(scene, scene.journal.entries()[0].id)


def test_history_lists_runs_newest_first_and_what_cannot_be_read(scene: Scene) -> None:
    first = scene.apply()
    second = scene.apply(scene.plan(scene.change(NEW, None), operation="unconfigure"))
    (scene.state / "journal/20250101T000000.000000Z-00000000").mkdir()
    history = read_history(scene.journal)
    assert [row.id for row in history.rows] == [second.journal_id, first.journal_id]
    assert history.rows[0].files == (("remove", str(scene.file)),)
    assert history.rows[1].command == ("ctk", "runtime", "configure")
    assert [row.state for row in history.rows] == ["finished", "finished"]
    assert history.damaged == (("20250101T000000.000000Z-00000000", "it has no entry.json"),)


def test_history_of_a_new_host_is_empty(scene: Scene) -> None:
    assert read_history(scene.journal) == ((), ())
