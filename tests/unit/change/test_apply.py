"""apply: all of a plan or nothing of it, whatever fails; with nothing foreign changed on the way."""

import os
import stat
from pathlib import Path

import pytest

from ctk.change.plan import CommandOutput, EngineQuery, FileChange
from ctk.change.verify import Verified
from ctk.errors import BusyFault, ReadFault, VerifyFault, WriteFault
from tests.unit.change.scene import NEW, OLD, Scene, look


def answer(argv: tuple[str, ...], _timeout: float) -> CommandOutput:
    return CommandOutput(argv, 0, Path(argv[1]).read_text(), "")


def query(scene: Scene, *problems: str) -> EngineQuery:
    return EngineQuery("config-dump", ("engine", str(scene.file)), lambda before, after: problems)


def test_apply_writes_the_new_bytes_and_says_so(scene: Scene) -> None:
    applied = scene.apply()
    assert scene.file.read_bytes() == NEW
    assert applied.applied
    assert applied.verified == Verified("parse", "passed", "")
    assert not applied.restart_done
    assert [entry.id for entry in scene.journal.entries()] == [applied.journal_id]
    assert scene.states() == ["finished"]
    assert scene.leftovers() == []


def test_apply_keeps_mode_owner_and_attributes(scene: Scene) -> None:
    scene.file.chmod(0o604)
    os.setxattr(scene.file, "user.note", b"kept")
    if os.geteuid() == 0:
        os.chown(scene.file, 12, 34)
    before = look(scene.file)
    scene.apply()
    after = look(scene.file)
    assert after[0] == NEW
    assert after[1:4] == before[1:4]
    assert after[6] == before[6]


def test_apply_with_nothing_to_do_touches_nothing(scene: Scene) -> None:
    before = look(scene.file)
    applied = scene.apply(scene.plan(scene.change(OLD, OLD)))
    assert not applied.applied
    assert applied.journal_id is None
    assert look(scene.file) == before
    assert scene.journal.entries() == ()


def test_apply_keeps_a_symbolic_link(scene: Scene) -> None:
    real = scene.folder / "repository.json"
    scene.file.rename(real)
    scene.file.symlink_to("../repository.json")
    scene.apply()
    assert os.readlink(scene.file) == "../repository.json"
    assert real.read_bytes() == NEW
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777])
def test_new_files_and_folders_have_their_modes_under_any_umask(scene: Scene, umask: int) -> None:
    path = scene.etc / "deep/conf.d/99-nvidia.toml"
    old_umask = os.umask(umask)
    try:
        scene.apply(scene.plan(scene.change(None, NEW, path)._replace(mode=0o644)))
    finally:
        os.umask(old_umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o755
    assert stat.S_IMODE(path.parent.parent.stat().st_mode) == 0o755
    assert scene.journal.entries()[0].created_folders == (str(path.parent.parent), str(path.parent))
    for entry in (scene.state, scene.state / "journal", *(scene.state / "journal").iterdir()):
        assert stat.S_IMODE(entry.stat().st_mode) == 0o700
    for file in (scene.state / "journal").rglob("*.*"):
        assert file.is_dir() or stat.S_IMODE(file.stat().st_mode) == 0o600


def test_removing_a_file_removes_folders_only_while_they_are_empty(scene: Scene) -> None:
    first, second = scene.etc / "a/conf.d/x.toml", scene.etc / "b/conf.d/x.toml"
    for path in (first, second):
        path.parent.mkdir(parents=True)
        path.write_bytes(NEW)
    (second.parent.parent / "somebody's").touch()
    changes = [
        scene.change(NEW, None, path)._replace(remove_folders=(str(path.parent), str(path.parent.parent)))
        for path in (first, second)
    ]
    scene.apply(scene.plan(*changes))
    assert not (scene.etc / "a").exists()
    assert not second.parent.exists()
    assert (second.parent.parent / "somebody's").exists()


@pytest.mark.parametrize("journal", [True, False])
def test_a_file_that_changed_meanwhile_stops_the_run(scene: Scene, journal: bool) -> None:
    scene.file.write_bytes(b"{}")
    before = look(scene.file)
    with pytest.raises(BusyFault) as caught:
        scene.apply(journal=journal)
    assert caught.value.code == "changed"
    assert "changed while ctk was working" in caught.value.message
    assert look(scene.file) == before
    assert scene.leftovers() == []


def test_a_file_that_appeared_or_vanished_meanwhile_stops_the_run(scene: Scene) -> None:
    with pytest.raises(BusyFault):
        scene.apply(scene.plan(scene.change(None, NEW)))
    scene.file.unlink()
    with pytest.raises(BusyFault):
        scene.apply()
    assert not scene.file.exists()


def test_a_file_that_became_a_link_meanwhile_stops_the_run(scene: Scene) -> None:
    plan = scene.plan()
    scene.file.rename(scene.folder / "elsewhere")
    scene.file.symlink_to(scene.folder / "elsewhere")
    with pytest.raises(BusyFault, match="symbolic link"):
        scene.apply(plan)
    assert (scene.folder / "elsewhere").read_bytes() == OLD


def test_a_change_during_the_engine_s_first_answer_is_seen_and_kept(scene: Scene) -> None:
    def change_it(argv: tuple[str, ...], _timeout: float) -> CommandOutput:
        scene.file.write_bytes(b"theirs")
        return CommandOutput(argv, 0, "", "")

    scene.runner = change_it
    with pytest.raises(BusyFault):
        scene.apply(scene.plan(query=query(scene)))
    assert scene.file.read_bytes() == b"theirs"
    assert scene.leftovers() == []
    assert scene.states() == []


def test_the_second_file_failing_puts_the_first_one_back(scene: Scene) -> None:
    other = scene.etc / "other.json"
    other.write_bytes(OLD)
    new = scene.etc / "new/sub/file.toml"

    def change_other(argv: tuple[str, ...], _timeout: float) -> CommandOutput:
        other.write_bytes(b"theirs")
        return CommandOutput(argv, 0, "", "")

    scene.runner = change_other
    before = look(scene.file)
    changes = (scene.change(), scene.change(None, NEW, new), scene.change(OLD, NEW, other))
    with pytest.raises(BusyFault):
        scene.apply(scene.plan(*changes, query=query(scene)))
    assert look(scene.file)[:5] == before[:5]
    assert other.read_bytes() == b"theirs"
    assert not (scene.etc / "new").exists()
    assert scene.states() == ["undone"]
    assert scene.leftovers() == []


def test_the_engine_is_asked_before_and_after(scene: Scene) -> None:
    seen: list[tuple[str, str]] = []

    def judge(before: CommandOutput | None, after: CommandOutput) -> tuple[str, ...]:
        assert before is not None
        seen.append((before.stdout, after.stdout))
        return ()

    scene.runner = answer
    applied = scene.apply(scene.plan(query=query(scene)._replace(judge=judge)))
    assert seen == [(OLD.decode(), NEW.decode())]
    assert applied.verified == Verified("config-dump", "passed", "")


def test_a_problem_the_engine_finds_restores_everything(scene: Scene) -> None:
    scene.runner = answer
    before = look(scene.file)
    removed = scene.etc / "gone/file"
    removed.parent.mkdir()
    removed.write_bytes(OLD)
    removed.parent.chmod(0o711)
    plan = scene.plan(
        scene.change(),
        scene.change(None, NEW, scene.etc / "new/file"),
        scene.change(OLD, None, removed)._replace(remove_folders=(str(removed.parent),)),
        query=query(scene, "plugins.cri.sandbox_image changed from a to b"),
    )
    with pytest.raises(VerifyFault) as caught:
        scene.apply(plan)
    assert "plugins.cri.sandbox_image changed from a to b" in caught.value.message
    assert "put back" in caught.value.hint
    assert look(scene.file)[:5] == before[:5]
    assert removed.read_bytes() == OLD
    assert stat.S_IMODE(removed.parent.stat().st_mode) == 0o711
    assert not (scene.etc / "new").exists()
    assert scene.states() == ["undone"]
    assert scene.leftovers() == []


def test_a_judge_that_crashes_restores_everything(scene: Scene) -> None:
    def judge(before: CommandOutput | None, after: CommandOutput) -> tuple[str, ...]:
        raise KeyError("our bug")

    scene.runner = answer
    with pytest.raises(KeyError):
        scene.apply(scene.plan(query=query(scene)._replace(judge=judge)))
    assert scene.file.read_bytes() == OLD
    assert scene.states() == ["undone"]


def test_a_program_that_cannot_be_started_is_a_note_and_no_failure(scene: Scene) -> None:
    applied = scene.apply(scene.plan(query=query(scene, "never judged")))
    assert applied.verified == Verified("parse", "passed", "engine was not asked: not found")
    assert scene.file.read_bytes() == NEW


def test_a_program_that_answered_before_and_not_after_is_a_problem(scene: Scene) -> None:
    answers = [CommandOutput(("engine",), 0, "", ""), CommandOutput(("engine",), None, "", "", "no answer within 5 s")]
    scene.runner = lambda argv, timeout: answers.pop(0)
    with pytest.raises(VerifyFault, match="no answer within 5 s"):
        scene.apply(scene.plan(query=query(scene)))
    assert scene.file.read_bytes() == OLD


def test_a_question_the_engine_is_too_old_for_is_no_failure(scene: Scene) -> None:
    scene.runner = lambda argv, timeout: CommandOutput(argv, 125, "", "unknown flag: --validate")
    applied = scene.apply(scene.plan(query=query(scene)))
    assert (applied.verified.method, applied.verified.result) == ("parse", "passed")
    assert "cannot answer" in applied.verified.detail


def test_no_verify_asks_nothing(scene: Scene) -> None:
    def never(argv: tuple[str, ...], _timeout: float) -> CommandOutput:
        raise AssertionError(argv)

    scene.runner = never
    applied = scene.apply(scene.plan(query=query(scene)), no_verify=True)
    assert applied.verified == Verified("none", "not-asked", "--no-verify")


def test_a_change_by_others_during_the_check_is_left_and_reported(scene: Scene) -> None:
    def change_it(argv: tuple[str, ...], _timeout: float) -> CommandOutput:
        if scene.file.read_bytes() == NEW:
            scene.file.write_bytes(b"theirs")
        return CommandOutput(argv, 0, "", "")

    scene.runner = change_it
    with pytest.raises(VerifyFault) as caught:
        scene.apply(scene.plan(query=query(scene, "wrong")))
    assert scene.file.read_bytes() == b"theirs"
    assert "changed by somebody else meanwhile" in caught.value.message
    assert "state/journal/" in caught.value.hint
    assert scene.states() == ["abandoned"]


def test_a_folder_in_the_file_s_place_is_named(scene: Scene) -> None:
    scene.file.unlink()
    scene.file.mkdir()
    with pytest.raises(ReadFault, match="it is a folder"):
        scene.apply()
    with pytest.raises(ReadFault, match="it is a folder"):
        scene.apply(scene.plan(scene.change(None, NEW)))


def test_a_pipe_in_the_file_s_place_does_not_hang(scene: Scene) -> None:
    scene.file.unlink()
    os.mkfifo(scene.file)
    with pytest.raises(ReadFault, match="neither a file nor a folder"):
        scene.apply(scene.plan(scene.change(None, NEW)))


def test_a_file_in_a_folder_s_place_is_named(scene: Scene) -> None:
    with pytest.raises(ReadFault, match="is not a folder"):
        scene.apply(scene.plan(FileChange(f"{scene.file}/x", f"{scene.file}/x", None, NEW)))
    assert scene.states() == []


def test_without_rights_nothing_changes(scene: Scene, as_nobody: object) -> None:
    assert callable(as_nobody)
    scene.file.chmod(0o666)
    scene.etc.chmod(0o755)
    (scene.folder / "state").mkdir()
    scene.state.chmod(0o777)
    before = look(scene.file)
    if os.geteuid() != 0:
        scene.etc.chmod(0o555)
    with pytest.raises(WriteFault) as caught:
        as_nobody(scene.apply)
    assert "permission denied" in caught.value.message
    assert caught.value.hint.endswith("Nothing was changed.")
    assert look(scene.file) == before
    assert scene.leftovers() == []
    assert as_nobody(scene.states) == []
    scene.etc.chmod(0o755)


def test_a_state_folder_without_rights_names_the_way_out(scene: Scene, as_nobody: object) -> None:
    assert callable(as_nobody)
    scene.etc.chmod(0o777)
    scene.file.chmod(0o666)
    scene.state.mkdir(mode=0o500)
    with pytest.raises(WriteFault) as caught:
        as_nobody(scene.apply)
    assert "cannot write the journal" in caught.value.message
    assert "--no-journal" in caught.value.hint
    assert scene.file.read_bytes() == OLD


def test_without_a_journal_the_folder_is_the_lock(scene: Scene, as_nobody: object) -> None:
    assert callable(as_nobody)
    scene.etc.chmod(0o777)
    scene.file.chmod(0o666)
    scene.state.mkdir(mode=0o500)
    applied = as_nobody(scene.apply, journal=False)
    assert applied.journal_id is None
    assert scene.file.read_bytes() == NEW
    assert scene.leftovers() == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root owns files of others")
def test_a_file_whose_owner_cannot_be_kept_is_written_in_place(scene: Scene, as_nobody: object) -> None:
    assert callable(as_nobody)
    scene.etc.chmod(0o777)
    scene.file.chmod(0o666)
    scene.state.mkdir()
    scene.state.chmod(0o777)
    inode, owner = scene.file.stat().st_ino, scene.file.stat().st_uid
    as_nobody(scene.apply)
    assert scene.file.read_bytes() == NEW
    assert (scene.file.stat().st_ino, scene.file.stat().st_uid) == (inode, owner)
    assert scene.leftovers() == []


def test_mtime_of_a_restored_file_is_the_old_one(scene: Scene) -> None:
    os.utime(scene.file, ns=(1_000_000_000, 1_234_567_890))
    scene.runner = answer
    with pytest.raises(VerifyFault):
        scene.apply(scene.plan(query=query(scene, "wrong")))
    assert scene.file.stat().st_mtime_ns == 1_234_567_890
