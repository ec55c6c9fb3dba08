"""Runs that were cut short are undone, and what others did since is left alone."""

from pathlib import Path

import pytest

from ctk.change.entry import Entry
from ctk.change.journal import Draft
from ctk.change.recover import repair
from ctk.change.state import has_unfinished
from ctk.change.transaction import Transaction
from ctk.errors import WriteFault
from ctk.result import Message
from tests.unit.change.scene import NEW, OLD, Scene, look


def cut_short(scene: Scene, *, staged: bool = True, committed: bool = True) -> Entry:
    """A run that ended where a kill would end it."""
    new = scene.etc / "conf.d/99.toml"
    gone = scene.etc / "gone/file"
    gone.parent.mkdir(mode=0o711)
    gone.write_bytes(OLD)
    plan = scene.plan(
        scene.change(),
        scene.change(None, NEW, new),
        scene.change(OLD, None, gone)._replace(remove_folders=(str(gone.parent),)),
    )
    journal = scene.journal
    run_id = journal.new_id()
    files = Transaction(plan, run_id)
    entry = journal.prepare(Draft(run_id, plan, files.steps, files.made, files.removed, ("ctk",), "0"))
    if staged:
        files.stage()
    if committed:
        files.commit(lambda target: None)
    return entry


def fix(scene: Scene) -> tuple[Message, ...]:
    return repair(scene.journal, str(scene.state), "docker-system")


@pytest.mark.parametrize(("staged", "committed"), [(False, False), (True, False), (True, True)])
def test_a_run_cut_short_is_undone(scene: Scene, staged: bool, committed: bool) -> None:
    before = look(scene.file)
    cut_short(scene, staged=staged, committed=committed)
    assert has_unfinished(str(scene.state))
    (message,) = fix(scene)
    assert message.level == "warning"
    assert "it has been undone" in message.text
    assert look(scene.file)[:5] == before[:5]
    assert not (scene.etc / "conf.d").exists()
    assert (scene.etc / "gone/file").read_bytes() == OLD
    assert (scene.etc / "gone").stat().st_mode & 0o777 == 0o711
    assert scene.leftovers() == []
    assert scene.states() == ["undone"]
    assert fix(scene) == ()


def test_files_that_others_changed_since_are_left_and_named(scene: Scene) -> None:
    cut_short(scene)
    scene.file.write_bytes(b"theirs")
    (message,) = fix(scene)
    assert f"{scene.file} (changed by somebody else since)" in message.text
    assert scene.file.read_bytes() == b"theirs"
    assert (scene.etc / "gone/file").read_bytes() == OLD
    assert not (scene.etc / "conf.d").exists()
    assert scene.states() == ["abandoned"]
    assert not has_unfinished(str(scene.state))


def test_a_folder_that_others_use_since_is_left(scene: Scene) -> None:
    cut_short(scene)
    (scene.etc / "conf.d/theirs").touch()
    fix(scene)
    assert (scene.etc / "conf.d/theirs").exists()
    assert not (scene.etc / "conf.d/99.toml").exists()


def test_the_next_run_undoes_before_it_changes(scene: Scene) -> None:
    cut_short(scene)
    applied = scene.apply(scene.plan(scene.change(OLD, b"next")))
    assert "it has been undone" in applied.messages[0].text
    assert scene.file.read_bytes() == b"next"
    assert scene.states() == ["undone", "finished"]


def test_a_run_of_another_key_is_not_touched(scene: Scene) -> None:
    entry = cut_short(scene)
    assert repair(scene.journal, str(scene.state), "crio-system") == ()
    assert Path(entry.folder).is_dir()


def test_a_torn_write_in_place_is_repaired_only_where_one_was_announced(scene: Scene) -> None:
    entry = cut_short(scene)
    scene.file.write_bytes(NEW[:30])
    scene.journal.note_in_place(entry, str(scene.file))
    fix(scene)
    assert scene.file.read_bytes() == OLD


def test_the_same_bytes_without_the_announcement_are_somebody_s(scene: Scene) -> None:
    cut_short(scene)
    scene.file.write_bytes(NEW[:30])
    fix(scene)
    assert scene.file.read_bytes() == NEW[:30]


def test_lost_old_bytes_are_named_and_the_rest_is_restored(scene: Scene) -> None:
    entry = cut_short(scene)
    next(Path(entry.folder).glob("before-0-*")).unlink()
    (message,) = fix(scene)
    assert "is missing" in message.text
    assert scene.file.read_bytes() == NEW
    assert (scene.etc / "gone/file").read_bytes() == OLD
    assert scene.states() == ["abandoned"]


def test_a_half_written_entry_is_removed_by_the_next_run_of_its_key(scene: Scene) -> None:
    scene.apply()
    for name in (".new-docker-system-", ".new-other-", ".new-docker-system-x-"):
        (scene.state / "journal" / f"{name}20250101T000000.000000Z-00000000").mkdir()
    scene.apply(scene.plan(scene.change(NEW, OLD)))
    names = sorted(path.name.rpartition("-2025")[0] for path in (scene.state / "journal").glob(".new-*"))
    assert names == [".new-docker-system-x", ".new-other"]


def test_what_cannot_be_put_back_stays_unfinished_and_says_where_the_old_files_are(
    scene: Scene, as_nobody: object
) -> None:
    assert callable(as_nobody)
    scene.etc.chmod(0o777)
    entry = cut_short(scene)
    for path in (scene.state, *scene.state.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    scene.etc.chmod(0o755)
    with pytest.raises(WriteFault) as caught:
        as_nobody(fix, scene)
    assert "cannot undo an interrupted run's change" in caught.value.message
    assert entry.folder in caught.value.hint
    assert has_unfinished(str(scene.state))
    assert fix(scene)[0].text.endswith("it has been undone")
