"""Which parts of a snapshot are collected for which checks; that they suffice is asserted for every host."""

import dataclasses
from pathlib import Path

import pytest

from ctk.doctor.checks import ALL_CHECKS
from ctk.doctor.parts import ALWAYS, READ, parts_of
from ctk.doctor.run import select_checks
from ctk.facts.snapshot import NOT_COLLECTED, Snapshot
from ctk.host.collect import collect
from tests.fake_host import build_host
from tests.unit.doctor.rows import make_check

FIELDS = {field.name for field in dataclasses.fields(Snapshot)}
UNCONDITIONAL = {"taken_at", "ctk_version", "host_name", "system"}


def test_rows_name_checks_and_parts_that_exist() -> None:
    names = {check.id for check in ALL_CHECKS} | {check.id.partition(".")[0] for check in ALL_CHECKS}
    assert set(READ) <= names
    assert {part for parts in (ALWAYS, *READ.values()) for part in parts} <= FIELDS


def test_parts_of_several_checks_are_those_of_each() -> None:
    chosen = [check for check in ALL_CHECKS if check.id in ("host.selinux", "collect.scope")]
    assert parts_of(chosen) == frozenset({*ALWAYS, "conditions", "observer"})


@pytest.mark.parametrize("name", ["collect.snapshot", "made.up"])
def test_a_check_without_a_row_may_read_everything(name: str) -> None:
    assert parts_of((make_check(name), make_check("host.selinux"))) is None


def test_only_the_wanted_parts_are_collected(tmp_path: Path) -> None:
    host, _ = build_host("healthy-one-gpu", tmp_path / "host")
    snapshot = collect(host, None, parts=frozenset({"pci", "kubelet"}))
    looked_at = {name for name in FIELDS if getattr(snapshot, name) != NOT_COLLECTED}
    assert looked_at - {"cuda_probe", "smi"} == UNCONDITIONAL | {"pci", "kubelet"}


def test_the_last_step_of_an_installer_reads_no_kernel_log() -> None:
    """A log may be large, and nothing in it is an installer's fault."""
    parts = parts_of(select_checks(ALL_CHECKS, profile="install"))
    assert parts is not None, "a check of the install profile has no row in ctk.doctor.parts"
    assert "kernel_log" not in parts
