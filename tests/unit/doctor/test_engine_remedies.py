"""Every command of ours that a check of engines or control groups proposes exists, with its options."""

from collections.abc import Iterator

import pytest

from ctk.doctor.checks import ALL_CHECKS
from ctk.doctor.model import Command, Outcome
from tests.unit.doctor import test_cgroups, test_containerd, test_docker, test_docker_kinds, test_engines
from tests.unit.doctor.tables import Row, outcomes_of, params
from tests.unit.doctor.test_checks import assert_parses, own_commands

TABLES = (test_cgroups, test_containerd, test_docker, test_docker_kinds, test_engines)
ROWS = [row for table in TABLES for row in table.ROWS if row.status in ("fail", "warn")]


def commands(outcome: Outcome, row: Row) -> Iterator[Command]:
    check = next(check for check in ALL_CHECKS if check.id == row.check)
    remedy = outcome.remedy or check.remedy
    yield from remedy.commands if remedy is not None else ()


@pytest.mark.parametrize("row", params(ROWS))
def test_commands_exist(row: Row) -> None:
    found = [
        command for outcome in outcomes_of(ALL_CHECKS, row.check, row.snapshot) for command in commands(outcome, row)
    ]
    for command in found:
        assert command.text
        assert "\n" not in command.text
        for words in own_commands(command.text):
            assert_parses(words)
        if command.text.startswith("systemctl restart"):
            assert command.restarts
    assert found or row.status == "warn" or row.check.endswith((".version", ".flag-conflict"))
