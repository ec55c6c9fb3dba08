"""Properties of Docker's edits over random daemon.json files: idempotent, reversible, and blind to foreign keys."""

import json

from hypothesis import given
from hypothesis import strategies as st

from ctk.edit.compare import edited_only, is_equal
from ctk.edit.json import set_member
from ctk.engines.base import EditOutcome, Layer, RuntimeSpec
from ctk.engines.docker import configure, view
from ctk.engines.docker_remove import unconfigure
from tests.unit.edit.json_texts import Layout, Members, members

FILE = "/etc/docker/daemon.json"
FOREIGN = ("debug", "dns", "log-opts", "a<b>", "é")
OUR_WORDS = ('"runtimes"', '"features"', '"default-runtime"', '"nvidia"', '"cdi"', '"path"', '"args"')

paths = st.sampled_from(('"/n"', '"/usr/bin/nvidia-container-runtime"', '"\\u002fn"'))
entries = st.fixed_dictionaries({}, optional={"path": paths, "runtimeArgs": st.just(['"--x"']), "x": st.just("1e21")})
runtimes = st.dictionaries(st.sampled_from(("nvidia", "kata", "crun")), entries, max_size=3)
defaults = st.sampled_from(('"runc"', '"nvidia"', '"kata"', "null", '""'))
switches = st.dictionaries(st.sampled_from(("cdi", "buildkit")), st.sampled_from(("true", "false")), max_size=2)
specs = st.builds(RuntimeSpec, st.just("nvidia"), st.sampled_from(("/n", "/o")), st.booleans(), st.booleans())
foreign = members(FOREIGN, max_leaves=6)
ours = st.fixed_dictionaries({}, optional={"runtimes": runtimes, "default-runtime": defaults, "features": switches})


@st.composite
def roots(draw: st.DrawFn) -> Members:
    """The members of a file that dockerd could read, in any order."""
    root = {**draw(foreign), **draw(ours)}
    order = draw(st.permutations(list(root)))
    return {key: root[key] for key in order}


@st.composite
def files(draw: st.DrawFn) -> str:
    return Layout(draw, chaos=draw(st.booleans())).text(draw(roots()))


def add(text: str, spec: RuntimeSpec) -> EditOutcome:
    return configure((Layer(FILE, text),), spec)


def new_text(text: str, outcome: EditOutcome) -> str:
    after = outcome.texts.get(FILE, text)
    assert after is not None
    return after


@given(files(), specs)
def test_configuring_twice_is_configuring_once(text: str, spec: RuntimeSpec) -> None:
    after = new_text(text, add(text, spec))
    assert add(after, spec).texts == {}
    seen = view((Layer(FILE, after),), "nvidia")
    assert (seen.registered, seen.path) == (True, spec.path)
    assert seen.is_default or not spec.set_as_default
    assert seen.cdi_enabled or not spec.enable_cdi


@given(files(), specs)
def test_foreign_keys_stay_equal_and_in_their_order(text: str, spec: RuntimeSpec) -> None:
    outcome = add(text, spec)
    before, after = json.loads(text), json.loads(new_text(text, outcome))
    assert edited_only(before, after, outcome.owned) == ()
    assert list(after)[: len(before)] == list(before)


@given(files(), specs)
def test_removal_with_a_known_past_gives_back_the_bytes(text: str, spec: RuntimeSpec) -> None:
    after = new_text(text, add(text, spec))
    removed = unconfigure((Layer(FILE, after),), "nvidia", {FILE: text})
    assert new_text(after, removed) == text


@given(files(), specs)
def test_removal_keeps_what_was_added_since_and_gives_back_the_rest(text: str, spec: RuntimeSpec) -> None:
    later = set_member(new_text(text, add(text, spec)), ("since",), {"then": [1]})
    removed = unconfigure((Layer(FILE, later),), "nvidia", {FILE: text})
    before = {**json.loads(text), "since": {"then": [1]}}
    after = json.loads(new_text(later, removed))
    if before.get("default-runtime") == "kata" and "kata" not in before.get("runtimes", {}):
        before.pop("default-runtime")  # dockerd would not start with it
        after.pop("default-runtime", None)
    if before.get("default-runtime") == "nvidia" and "nvidia" not in before.get("runtimes", {}):
        before.pop("default-runtime")
    assert is_equal(after, before)


@given(files(), specs)
def test_removal_without_a_past_leaves_only_foreign_keys(text: str, spec: RuntimeSpec) -> None:
    after = new_text(text, add(text, spec))
    removed = unconfigure((Layer(FILE, after),), "nvidia", {})
    end = new_text(after, removed)
    seen = view((Layer(FILE, end),), "nvidia")
    assert not seen.registered
    assert not seen.is_default
    kept = [key for key in json.loads(text) if key in FOREIGN]
    assert {key: json.loads(end)[key] for key in kept} == {key: json.loads(text)[key] for key in kept}


@st.composite
def spread_files(draw: st.DrawFn) -> str:
    layout = Layout(draw, chaos=False)
    layout.spread = True
    return layout.text(draw(roots()))


@given(spread_files(), specs)
def test_every_old_line_stays_in_order_apart_from_a_comma(text: str, spec: RuntimeSpec) -> None:
    after = new_text(text, add(text, spec))
    lines = iter([line.rstrip(",\r") for line in after.split("\n")])
    for line in text.split("\n"):
        old = line.rstrip(",\r")
        if not any(word in old for word in OUR_WORDS) and old.strip() != "{}":
            assert old in lines  # consumes up to it: the order counts
