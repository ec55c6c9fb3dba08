"""What the journal says of a file from before our first configure, over all the ways a file's history goes."""

from typing import Any

from ctk.change.journal import Baseline
from ctk.change.rollback import plan_rollback
from tests.unit.change.scene import NEW, OLD, Scene, answer_none


def run(scene: Scene, before: bytes | None, after: bytes | None, operation: str = "configure", **options: Any) -> str:
    return str(scene.apply(scene.plan(scene.change(before, after), operation=operation, **options)).journal_id)


def baseline(scene: Scene) -> Baseline | None:
    return scene.journal.baseline(str(scene.file))


def test_the_baseline_is_what_the_first_configure_found(scene: Scene) -> None:
    first = run(scene, OLD, b"1", facts=(("default_runtime", "runc"),))
    run(scene, b"1", b"2")
    found = baseline(scene)
    assert found is not None
    assert (found.entry_id, found.before) == (first, OLD)
    assert dict(found.facts)["default_runtime"] == "runc"
    assert found.state is not None
    assert found.state.mode == 0o640
    assert found.holds_only_ours(b"2")
    assert not found.holds_only_ours(b"3")
    assert not found.holds_only_ours(None)


def test_an_edit_by_others_between_our_runs_breaks_the_chain_for_good(scene: Scene) -> None:
    run(scene, OLD, b"1")
    scene.file.write_bytes(b"theirs")
    run(scene, b"theirs", b"2")
    run(scene, b"2", b"3")
    found = baseline(scene)
    assert found is not None
    assert found.before == OLD
    assert not found.holds_only_ours(b"3")


def test_unconfigure_ends_the_cycle_and_configure_begins_a_new_one(scene: Scene) -> None:
    run(scene, OLD, b"1")
    run(scene, b"1", b"cleaned", "unconfigure")
    assert baseline(scene) is None
    run(scene, b"cleaned", b"2")
    found = baseline(scene)
    assert found is not None
    assert found.before == b"cleaned"
    assert found.holds_only_ours(b"2")


def test_an_unconfigure_that_leaves_some_of_ours_keeps_the_cycle_open(scene: Scene) -> None:
    run(scene, OLD, b"1")
    run(scene, b"1", b"2", "unconfigure", facts=(("cycle", "open"),))
    found = baseline(scene)
    assert found is not None
    assert found.before == OLD
    assert found.holds_only_ours(b"2")


def test_a_plan_that_found_none_of_our_keys_begins_a_new_cycle(scene: Scene) -> None:
    run(scene, OLD, b"1")
    scene.file.write_bytes(b"hand-cleaned")
    run(scene, b"hand-cleaned", b"2", facts=(("cycle", "start"),))
    found = baseline(scene)
    assert found is not None
    assert found.before == b"hand-cleaned"
    assert found.holds_only_ours(b"2")


def test_coming_back_to_the_first_bytes_ends_the_cycle_by_whatever_operation(scene: Scene) -> None:
    first = run(scene, OLD, b"1")
    scene.apply(plan_rollback(scene.journal, first, lambda path: scene.file.read_bytes()))
    assert scene.file.read_bytes() == OLD
    assert baseline(scene) is None
    run(scene, OLD, b"1")
    run(scene, b"1", b"2")
    run(scene, b"2", OLD, "config")
    assert baseline(scene) is None


def test_a_rollback_to_the_middle_keeps_the_cycle(scene: Scene) -> None:
    run(scene, OLD, b"1")
    second = run(scene, b"1", b"2")
    scene.apply(plan_rollback(scene.journal, second, lambda path: scene.file.read_bytes()))
    found = baseline(scene)
    assert found is not None
    assert found.before == OLD
    assert found.holds_only_ours(b"1")


def test_a_created_file_has_no_bytes_before_and_its_folders_are_known(scene: Scene) -> None:
    path = scene.etc / "containerd/conf.d/99-nvidia.toml"
    scene.apply(scene.plan(scene.change(None, NEW, path)))
    scene.apply(scene.plan(scene.change(NEW, b"2", path)))
    found = scene.journal.baseline(str(path))
    assert found is not None
    assert found.before is None
    assert found.state is None
    assert found.created_folders == (str(path.parent.parent), str(path.parent))
    assert found.holds_only_ours(b"2")


def test_runs_that_were_undone_do_not_count(scene: Scene) -> None:
    scene.runner = answer_none
    run(scene, OLD, b"1")
    assert scene.fails(scene.plan(scene.change(b"1", b"2"), query=scene.wrong()))
    found = baseline(scene)
    assert found is not None
    assert found.holds_only_ours(b"1")
    assert scene.states() == ["finished", "undone"]


def test_files_of_one_folder_have_their_own_cycles(scene: Scene) -> None:
    other = scene.etc / "other"
    other.write_bytes(OLD)
    scene.apply(scene.plan(scene.change(OLD, b"1"), scene.change(OLD, NEW, other)))
    run(scene, b"1", OLD, "unconfigure")
    assert baseline(scene) is None
    found = scene.journal.baseline(str(other))
    assert found is not None
    assert found.before == OLD
