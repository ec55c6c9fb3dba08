"""No snapshot, however mutilated, makes a check crash, and what could not be looked at never fails."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctk.doctor.checks import ALL_CHECKS
from ctk.doctor.model import ERROR, FAIL
from ctk.doctor.report import judge
from ctk.facts import Unknown
from ctk.facts.snapshot import Snapshot
from tests.builders import make_snapshot
from tests.fake_host import snapshot_of
from tests.unit.doctor.mutations import Mutation, find_mutations, mutate
from tests.unit.doctor.test_checks import OLD_RELEASES

BUILT = make_snapshot()
WHOLE_HOSTS = ("healthy-one-gpu", "nouveau-bound", "wsl2", "jetson-orin", "vgpu-restricted", "nvswitch-server")
MUTATIONS = list(find_mutations(BUILT))


def assert_sane(snapshot: Snapshot, *mutations: Mutation) -> None:
    for mutation in mutations:
        snapshot = mutate(snapshot, mutation)
    findings = judge(snapshot, ALL_CHECKS, ALL_CHECKS).findings
    wrong = [(item.key, item.outcome.message) for item in findings if item.status == ERROR]
    assert wrong == [], [mutation.name for mutation in mutations]
    if all(isinstance(mutation.value, Unknown) for mutation in mutations):
        failing = [(item.key, item.outcome.message) for item in findings if item.status == FAIL]
        failing = [found for found in failing if found[0] not in OLD_RELEASES]
        assert failing == [], [mutation.name for mutation in mutations]


@settings(max_examples=60)
@given(mutation=st.sampled_from(MUTATIONS))
def test_one_thing_changed(mutation: Mutation) -> None:
    assert_sane(BUILT, mutation)


@given(
    places=st.lists(st.sampled_from([found for found in MUTATIONS if len(found.place) == 2]), min_size=2, max_size=5)
)
def test_several_things_changed(places: list[Mutation]) -> None:
    assert_sane(BUILT, *{found.place: found for found in places}.values())


@pytest.mark.long
@pytest.mark.parametrize("name", WHOLE_HOSTS)
def test_every_field_of_a_whole_host(tmp_path: Path, name: str) -> None:
    """Only crashes are looked for: the second host is broken before anything is changed."""
    snapshot = snapshot_of(name, tmp_path / "host")
    for mutation in find_mutations(snapshot):
        findings = judge(mutate(snapshot, mutation), ALL_CHECKS, ALL_CHECKS).findings
        assert [(item.key, item.outcome.message) for item in findings if item.status == ERROR] == [], mutation.name
