"""What holds for every row of ALL_CHECKS: names, texts, needs without a circle, commands that exist, no crash."""

import dataclasses
import re
import shlex
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_type_hints

import click
import pytest

from ctk.cli import root
from ctk.cli.arguments import CtkGroup
from ctk.doctor.checks import ALL_CHECKS
from ctk.doctor.model import (
    CRITICAL,
    ERROR,
    FAIL,
    FIX_CLASSES,
    HIGH,
    LAYERS,
    PASS,
    PROFILES,
    SEVERITIES,
    WARN,
    Check,
    Remedy,
)
from ctk.doctor.run import run_checks, select_checks
from ctk.facts import Unknown
from ctk.facts.snapshot import Snapshot
from tests.builders import make_snapshot

IDENTITY = re.compile(r"[a-z][a-z0-9]*(\.[a-z0-9]+(-[a-z0-9]+)*)+")
GROUPS = tuple(dict.fromkeys(check.group for check in ALL_CHECKS))
each_group = pytest.mark.parametrize("group", GROUPS)


def rows_of(group: str) -> list[Check]:
    return [check for check in ALL_CHECKS if check.group == group]


def test_ids_are_unique() -> None:
    identities = [check.id for check in ALL_CHECKS]
    assert len(identities) == len(set(identities))


@each_group
def test_rows_are_whole(group: str) -> None:
    for check in rows_of(group):
        assert_whole(check)


def assert_whole(check: Check) -> None:
    assert IDENTITY.fullmatch(check.id)
    assert check.layer in LAYERS
    assert check.severity in SEVERITIES
    assert check.fix in FIX_CLASSES
    assert check.profiles
    assert set(check.profiles) <= set(PROFILES)
    for text in (check.title, check.group, check.reads, check.rule, check.source):
        assert text.strip() == text != ""
        assert "\n" not in text
    assert not check.title.endswith(".")


@each_group
def test_needs_are_ids_of_other_checks(group: str) -> None:
    for check in rows_of(group):
        assert_needs(check)


def assert_needs(check: Check) -> None:
    assert len(check.needs) == len(set(check.needs))
    for name in check.needs:
        assert IDENTITY.fullmatch(name)
        assert name != check.id


def test_needs_have_no_circle() -> None:
    needs = {check.id: check.needs for check in ALL_CHECKS}
    done: set[str] = set()

    def walk(name: str, way: tuple[str, ...]) -> None:
        assert name not in way, " needs ".join((*way, name))
        if name not in done:
            for other in needs.get(name, ()):
                walk(other, (*way, name))
            done.add(name)

    for name in needs:
        walk(name, ())


def test_a_check_needs_nothing_above_its_own_layer() -> None:
    layers = {check.id: LAYERS.index(check.layer) for check in ALL_CHECKS}
    above = [
        f"{check.id} ({check.layer}) needs {name}"
        for check in ALL_CHECKS
        for name in check.needs
        if layers.get(name, 0) > layers[check.id]
    ]
    assert above == []


def test_the_table_goes_up_the_layers_group_by_group() -> None:
    groups = [check.group for check in ALL_CHECKS]
    starts = [group for group, before in zip(groups, ["", *groups], strict=False) if group != before]
    assert len(starts) == len(set(starts)), "a group comes in two places"


# -- remedies --------------------------------------------------------------------------------------------------------


def remedies() -> Iterator[tuple[str, Remedy]]:
    """Of the rows, and of what they say of a healthy host and of one that could not be looked at."""
    for check in ALL_CHECKS:
        if check.remedy is not None:
            yield check.id, check.remedy
    for snapshot in (make_snapshot(), all_unknown()):
        for finding in run_checks(ALL_CHECKS, snapshot):
            if finding.outcome.remedy is not None:
                yield finding.check.id, finding.outcome.remedy


def own_commands(text: str) -> Iterator[list[str]]:
    """The words behind each `ctk` of a command line or a sentence."""
    for part in re.split(r"&&|\|\||[;|]", text):
        words = shlex.split(part, comments=True) if part.count("'") % 2 == 0 and part.count('"') % 2 == 0 else []
        for index, word in enumerate(words):
            if word == "ctk":
                yield words[index + 1 :]
                break


def assert_parses(words: list[str]) -> None:
    """As far as the command tree: every group, the command, and each of its options."""
    command: click.Command = root
    context = click.Context(command, info_name="ctk", **command.context_settings)
    while isinstance(command, CtkGroup) and words and not words[0].startswith("-"):
        member = command.get_command(context, words[0])
        assert member is not None, f"no command {words[0]!r} in {context.command_path}"
        context = click.Context(member, parent=context, info_name=words[0], **member.context_settings)
        command, words = member, words[1:]
    command.make_parser(context).parse_args(list(words))


def test_every_command_of_ours_exists() -> None:
    found = [(name, words) for name, remedy in remedies() for c in remedy.commands for words in own_commands(c.text)]
    assert found
    for _, words in found:
        assert_parses(words)


@pytest.mark.parametrize("line", ["ctk bogus", "ctk runtime configure --bogus", "sudo ctk snapshot -o x"])
def test_a_command_that_does_not_exist_is_noticed(line: str) -> None:
    (words,) = own_commands(line)
    with pytest.raises((AssertionError, click.UsageError)):
        assert_parses(words)


@each_group
def test_remedies_of_the_rows_are_whole(group: str) -> None:
    for check in rows_of(group):
        assert_remedy(check)


def assert_remedy(check: Check) -> None:
    if check.remedy is None:
        assert check.fix == "none"
        assert check.severity not in (CRITICAL, HIGH)
        return
    assert check.remedy.summary
    for command in check.remedy.commands:
        assert command.text.strip() == command.text != ""
        assert "\n" not in command.text


# -- snapshots that say nothing, or nonsense ---------------------------------------------------------------------------


NOTHING = Unknown("permission denied")
OLD_RELEASES = ("security.driver-cve", "security.docker-cve", "security.containerd-cve")
"""What the builders' releases are known for, whatever else could be looked at."""


def blind(value: object) -> object:
    """The record with every fact that can be Unknown made so; text and numbers that cannot stay."""
    if not is_dataclass(value) or isinstance(value, type):
        return value
    hints = get_type_hints(type(value))
    changes: dict[str, Any] = {}
    for field in fields(value):
        can_be_unknown = Unknown in get_args(hints[field.name])
        changes[field.name] = NOTHING if can_be_unknown else blind(getattr(value, field.name))
    return dataclasses.replace(value, **changes)


def all_unknown() -> Snapshot:
    found = blind(make_snapshot())
    assert isinstance(found, Snapshot)
    return found


def parts_unknown() -> Iterator[Any]:
    """One part after the other gone, and one part after the other with nothing but Unknown in it."""
    snapshot = make_snapshot()
    hints = get_type_hints(Snapshot)
    for field in fields(Snapshot):
        if Unknown in get_args(hints[field.name]):
            gone: Any = {field.name: NOTHING}
            yield pytest.param(dataclasses.replace(snapshot, **gone), id=field.name)
        if is_dataclass(getattr(snapshot, field.name)):
            changed: Any = {field.name: blind(getattr(snapshot, field.name))}
            yield pytest.param(dataclasses.replace(snapshot, **changed), id=f"{field.name}-inside")


def test_nothing_known_is_no_verdict() -> None:
    findings = run_checks(ALL_CHECKS, all_unknown())
    assert [(item.key, item.outcome.message) for item in findings if item.status in (ERROR, FAIL)] == []
    assert {item.check.id for item in findings if item.status == PASS} <= {"collect.data-age", "collect.snapshot"}
    assert {item.check.id for item in findings if item.status == WARN} <= {"collect.privileges"}


@pytest.mark.parametrize("snapshot", list(parts_unknown()))
def test_a_part_that_is_not_known_makes_no_failure(snapshot: Snapshot) -> None:
    findings = run_checks(ALL_CHECKS, snapshot)
    failing = [(item.key, item.outcome.message) for item in findings if item.status in (ERROR, FAIL)]
    assert [found for found in failing if found[0] not in OLD_RELEASES] == []


def test_the_healthy_host_of_the_builders_is_healthy() -> None:
    every = [check for check in ALL_CHECKS if check.id != "collect.snapshot"]  # the builders leave parts out
    checks = select_checks(every)  # a release with known weaknesses is a matter of posture, not of health
    findings = run_checks(checks, make_snapshot())
    assert [(item.key, item.outcome.message) for item in findings if item.status in (ERROR, FAIL, WARN)] == []
