"""No snapshot, however mutilated, makes a check crash, and what could not be looked at never fails."""

import dataclasses
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctk.doctor.checks import ALL_CHECKS
from ctk.doctor.model import ERROR, FAIL, PASS, WARN
from ctk.doctor.report import judge
from ctk.doctor.run import run_checks
from ctk.facts import Unknown
from ctk.facts.snapshot import Snapshot
from tests.builders import make_snapshot
from tests.fake_host import names_of_hosts
from tests.memory_host import snapshot_in_memory
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


PARTS = [name for name, hint in get_type_hints(Snapshot).items() if Unknown in get_args(hint)]
# What another part proves by itself, and what is left to the first while both are known.
PROVED_ELSEWHERE = {
    ("nvml", "driver.gsp-state"),
    ("nvml", "xid.hardware"),
    ("nvml", "xid.recovery-action"),
    ("pci", "nvml.gpu-lost"),
    ("pci", "runtime.docker.config-parse"),
    ("driver", "device.not-a-device"),
    ("packages", "toolkit.version-skew"),
    *(("platform", f"security.{name}-cve") for name in ("runc", "docker", "containerd")),
}


@pytest.mark.long
@pytest.mark.parametrize("name", names_of_hosts())
def test_what_cannot_be_looked_at_adds_no_failure_and_no_pass(tmp_path: Path, name: str) -> None:
    snapshot = snapshot_in_memory(name, tmp_path / "host")
    seen = run_checks(ALL_CHECKS, snapshot)
    known = {item.key for item in seen if item.status == FAIL}
    bad = {item.key for item in seen if item.status in (FAIL, WARN)}
    for part in PARTS:
        hidden: Any = {part: Unknown("permission denied")}
        findings = run_checks(ALL_CHECKS, dataclasses.replace(snapshot, **hidden))
        added = [item for item in findings if item.status in (ERROR, FAIL) and item.key not in known]
        wrong = [(item.key, item.outcome.message) for item in added if (part, item.check.id) not in PROVED_ELSEWHERE]
        assert wrong == [], part
        assert [(item.key, item.outcome.message) for item in findings if item.status == PASS and item.key in bad] == []


@pytest.mark.long
@pytest.mark.parametrize("name", WHOLE_HOSTS)
def test_every_field_of_a_whole_host(tmp_path: Path, name: str) -> None:
    """Only crashes are looked for: the second host is broken before anything is changed."""
    snapshot = snapshot_in_memory(name, tmp_path / "host")
    for mutation in find_mutations(snapshot):
        findings = judge(mutate(snapshot, mutation), ALL_CHECKS, ALL_CHECKS).findings
        assert [(item.key, item.outcome.message) for item in findings if item.status == ERROR] == [], mutation.name
