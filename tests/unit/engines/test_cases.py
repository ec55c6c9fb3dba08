"""Every case folder of every engine: expected text, second pass, foreign keys, removal, an independent parser."""

import json
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from ctk.edit.compare import edited_only, lookup
from ctk.edit.text import ConfigText
from ctk.engines import containerd, containerd_remove, containerd_view, crio, crio_remove, docker, docker_remove
from ctk.engines.base import EditOutcome, Layer, RuntimeView
from ctk.errors import CtkError
from tests.edit_cases import Case, as_layers, load_cases

Layers = tuple[Layer, ...]
Originals = Mapping[str, str | None]

CASES = load_cases()


def _configure_docker(case: Case, layers: Layers) -> EditOutcome:
    return docker.configure(layers, case.asked.spec, flags=case.asked.flags, forced=case.asked.forced)


def _configure_containerd(case: Case, layers: Layers) -> EditOutcome:
    values = {**case.asked.destination}
    values["folder_files"] = tuple(values.get("folder_files", ()))  # type: ignore[arg-type] # a list of strings
    return containerd.configure(
        layers,
        case.asked.spec,
        containerd.Destination(**values),  # type: ignore[arg-type] # the case file's keys are the fields
        engine=case.asked.engine_version,
        forced=case.asked.forced,
        dump=case.dump(),
    )


def _configure_crio(case: Case, layers: Layers) -> EditOutcome:
    target = str(case.asked.destination.get("target", layers[-1].path))
    destination = crio.Destination(target, in_main=bool(case.asked.destination.get("in_main", False)))
    return crio.configure(layers, case.asked.spec, destination, dump=case.dump())


def _unconfigure_containerd(case: Case, layers: Layers, originals: Originals) -> EditOutcome:
    return containerd_remove.unconfigure(layers, case.asked.spec.name, originals, engine=case.asked.engine_version)


CONFIGURE: dict[str, Callable[[Case, Layers], EditOutcome]] = {
    "docker": _configure_docker,
    "containerd": _configure_containerd,
    "crio": _configure_crio,
}
UNCONFIGURE: dict[str, Callable[[Case, Layers, Originals], EditOutcome]] = {
    "docker": lambda case, layers, originals: docker_remove.unconfigure(layers, case.asked.spec.name, originals),
    "containerd": _unconfigure_containerd,
    "crio": lambda case, layers, originals: crio_remove.unconfigure(layers, case.asked.spec.name, originals),
}
VIEW: dict[str, Callable[[Layers, str], RuntimeView]] = {
    "docker": docker.view,
    "containerd": containerd_view.view,
    "crio": crio.view,
}


def view_of(case: Case, layers: Layers) -> RuntimeView:
    """What the engine's files say of the case's runtime; a file that another program merges in counts, too."""
    if case.asked.destination.get("foreign_main"):
        drop_in = str(case.asked.destination["drop_in"])
        return containerd_view.view(layers, case.asked.spec.name, merged_elsewhere=drop_in)
    return VIEW[case.engine](layers, case.asked.spec.name)


def run(case: Case, layers: Layers) -> EditOutcome:
    """The operation of the case."""
    if case.operation == "configure":
        return CONFIGURE[case.engine](case, layers)
    return UNCONFIGURE[case.engine](case, layers, case.originals())


def apply(layers: Layers, outcome: EditOutcome) -> Layers:
    """The files after an edit."""
    return tuple(Layer(layer.path, outcome.texts.get(layer.path, layer.text)) for layer in layers)


def parse(case: Case, text: str | None) -> dict[str, object]:
    """What a parser that is not ours makes of a file; nothing for a blank one."""
    if text is None or not text.strip():
        return {}
    parsed = json.loads(text) if case.engine == "docker" else tomllib.loads(text)
    assert isinstance(parsed, dict)
    return parsed


def identity(case: Case) -> str:
    """A readable id."""
    return "-".join(case.folder.parts[-3:])


def test_there_are_cases_for_both_operations() -> None:
    assert {case.operation for case in CASES} <= {"configure", "unconfigure"}
    assert {case.engine for case in CASES} <= set(CONFIGURE)
    assert len([case for case in CASES if case.engine == "docker"]) > 60


def _case_says_why_it_exists(case: Case) -> None:
    assert case.asked.why.strip().endswith(".")
    known = {"spec.toml", "before", "after", "original", "error.toml", "dump"}
    assert {each.name for each in case.folder.iterdir()} <= known


def _edit_gives_the_expected_bytes(case: Case, update_golden: bool) -> None:
    before = case.before()
    outcome = run(case, as_layers(before))
    new = {path: _encode(before[path], text) for path, text in outcome.texts.items() if text is not None}
    if update_golden:
        _write_after(case, new)
    assert new == case.files("after")
    assert {path for path, text in outcome.texts.items() if text is None} == set(case.asked.removed)
    assert [layer.path for layer in as_layers(before) if outcome.texts.get(layer.path, ...) == layer.text] == []


def _encode(known: ConfigText | None, text: str) -> bytes:
    return (known or ConfigText("", b"")).encode(text)


def _write_after(case: Case, new: Mapping[str, bytes]) -> None:
    place = case.folder / "after"
    if set(new) == {case.main} and not (case.folder / "before").is_dir() and not place.is_dir():
        place.write_bytes(new[case.main])
        return
    for path, data in new.items():
        target = place / Path(path).relative_to("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def _edit_says_what_people_must_know(case: Case) -> None:
    outcome = run(case, as_layers(case.before()))
    for phrases, sentences in ((case.asked.warnings, outcome.warnings), (case.asked.notes, outcome.notes)):
        for phrase in phrases:
            assert any(phrase in sentence for sentence in sentences), (phrase, sentences)
        assert case.asked.talkative or len(sentences) == len(phrases), sentences
    if case.asked.needs_restart is not None:
        assert outcome.needs_restart is case.asked.needs_restart


def _second_pass_changes_nothing(case: Case) -> None:
    layers = as_layers(case.before())
    assert run(case, apply(layers, run(case, layers))).texts == {}


def _foreign_keys_stay_equal_for_an_independent_parser(case: Case) -> None:
    layers = as_layers(case.before())
    outcome = run(case, layers)
    for old, new in zip(layers, apply(layers, outcome), strict=True):
        assert edited_only(parse(case, old.text), parse(case, new.text), outcome.owned) == ()


def _removal_gives_back_the_starting_bytes_if_they_are_known(case: Case) -> None:
    layers = as_layers(case.before())
    new = apply(layers, run(case, layers))
    outcome = UNCONFIGURE[case.engine](case, new, {layer.path: layer.text for layer in layers})
    for start, end in zip(layers, apply(new, outcome), strict=True):
        if start.text is None:
            assert edited_only({}, parse(case, end.text), (("version",),)) == ()
        else:
            assert end.text == start.text


def _removal_without_a_known_past_takes_the_runtime_and_leaves_the_rest(case: Case) -> None:
    layers = as_layers(case.before())
    added = run(case, layers)
    new = apply(layers, added)
    removed = UNCONFIGURE[case.engine](case, new, {})
    end = apply(new, removed)
    view = view_of(case, end)
    assert not view.registered
    assert not view.is_default
    owned = (*added.owned, *removed.owned)
    for old, last in zip(layers, end, strict=True):
        content = parse(case, last.text)
        stray = edited_only(parse(case, old.text), content, owned)
        assert [path for path in stray if lookup(content, path) != {}] == []  # nothing tells who made an empty table


def _view_sees_what_was_configured(case: Case) -> None:
    layers = as_layers(case.before())
    new = apply(layers, run(case, layers))
    view = view_of(case, new)
    assert (view.registered, view.path) == (True, case.asked.spec.path)
    assert view.is_default or not case.asked.spec.set_as_default


def _bad_input_is_refused_with_its_place(case: Case) -> None:
    expected = case.expected_error()
    assert expected is not None
    with pytest.raises(CtkError) as caught:
        run(case, as_layers(case.before()))
    error = caught.value
    assert error.code == expected.code
    for phrase in expected.phrases:
        assert phrase in f"{error.message}\n{error.hint}"
    assert "Nothing was changed" in error.hint or error.code == "usage"
    for name in ("line", "column", "path"):
        wanted = getattr(expected, name)
        assert wanted is None or getattr(error, name) == wanted
    assert case.files("after") == {}


@pytest.mark.parametrize("case", CASES, ids=identity)
def test_case_holds(case: Case, update_golden: bool) -> None:
    """All that is asked of a case, in one test: there are thousands of such questions."""
    _case_says_why_it_exists(case)
    if case.expected_error():
        _bad_input_is_refused_with_its_place(case)
        return
    _edit_gives_the_expected_bytes(case, update_golden)
    _edit_says_what_people_must_know(case)
    _second_pass_changes_nothing(case)
    _foreign_keys_stay_equal_for_an_independent_parser(case)
    if case.operation == "configure":
        _removal_gives_back_the_starting_bytes_if_they_are_known(case)
        _removal_without_a_known_past_takes_the_runtime_and_leaves_the_rest(case)
        _view_sees_what_was_configured(case)
