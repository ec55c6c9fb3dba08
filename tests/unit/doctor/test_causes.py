"""A failure is explained by the deepest failing checks it needs, subject by subject, and by nothing else."""

import pytest

from ctk.doctor.causes import find_causes, root_causes
from ctk.doctor.model import CRITICAL, ERROR, HIGH, INFO, LOW, MEDIUM, PASS, SKIP, UNKNOWN, WARN, Finding
from tests.unit.doctor.rows import make_check, make_finding

GPU, OTHER_GPU = "0000:3b:00.0", "0000:af:00.0"


def explained(*findings: Finding, through: tuple[str, ...] = ()) -> dict[str, tuple[str, ...]]:
    """caused_by of every failure, by its key."""
    links = [make_check(*link.split()) for link in through]
    return {item.key: item.caused_by for item in find_causes(findings, links) if item.status == "fail"}


def test_a_failure_alone_is_a_root() -> None:
    assert explained(make_finding("a")) == {"a": ()}


def test_the_deepest_failing_ancestor_explains() -> None:
    found = explained(make_finding("a"), make_finding("b", "a"), make_finding("c", "b"))
    assert found == {"a": (), "b": ("a",), "c": ("a",)}


def test_the_order_of_the_findings_does_not_matter() -> None:
    chain = (make_finding("c", "b"), make_finding("b", "a"), make_finding("a"))
    assert explained(*chain) == {"a": (), "b": ("a",), "c": ("a",)}


@pytest.mark.parametrize("status", [PASS, INFO, WARN, SKIP, UNKNOWN, ERROR])
def test_only_a_failure_explains(status: str) -> None:
    assert explained(make_finding("a", status=status), make_finding("b", "a")) == {"b": ()}


@pytest.mark.parametrize("status", [PASS, INFO, WARN, SKIP, UNKNOWN, ERROR])
def test_a_link_that_does_not_fail_still_hands_on(status: str) -> None:
    found = explained(make_finding("a"), make_finding("b", "a", status=status), make_finding("c", "b"))
    assert found == {"a": (), "c": ("a",)}


def test_a_link_that_was_not_chosen_or_had_nothing_to_say_hands_on_too() -> None:
    assert explained(make_finding("a"), make_finding("c", "b"), through=("b a",)) == {"a": (), "c": ("a",)}
    assert explained(make_finding("a"), make_finding("c", "b")) == {"a": (), "c": ()}


def test_only_failures_are_explained() -> None:
    findings = find_causes([make_finding("a"), make_finding("b", "a", status=WARN)])
    assert [item.caused_by for item in findings] == [(), ()]
    assert [item.masks for item in findings] == [(), ()]


def test_two_independent_faults_are_two_roots() -> None:
    findings = find_causes([make_finding("a"), make_finding("x"), make_finding("b", "a", "x")])
    assert [item.key for item in root_causes(findings)] == ["a", "x"]
    assert findings[2].caused_by == ("a", "x")
    assert [item.masks for item in findings] == [("b",), ("b",), ()]


def test_two_ways_to_one_root_name_it_once() -> None:
    diamond = (make_finding("a"), make_finding("b", "a"), make_finding("c", "a"), make_finding("d", "b", "c"))
    assert explained(*diamond)["d"] == ("a",)


def test_a_failure_of_one_gpu_explains_that_gpu_only() -> None:
    found = explained(
        make_finding("a", subject=GPU), make_finding("b", "a", subject=GPU), make_finding("b", "a", subject=OTHER_GPU)
    )
    assert found == {f"a[{GPU}]": (), f"b[{GPU}]": (f"a[{GPU}]",), f"b[{OTHER_GPU}]": ()}


def test_a_failure_of_the_host_explains_every_gpu_and_one_gpu_the_host() -> None:
    assert explained(make_finding("a"), make_finding("b", "a", subject=GPU))[f"b[{GPU}]"] == ("a",)
    assert explained(make_finding("a", subject=GPU), make_finding("b", "a"))["b"] == (f"a[{GPU}]",)


def test_a_host_failure_that_one_gpu_explains_does_not_hide_another_gpu() -> None:
    found = explained(
        make_finding("lost", subject=GPU),
        make_finding("count", "lost"),
        make_finding("ecc", "count", subject=OTHER_GPU),
    )
    assert found == {f"lost[{GPU}]": (), "count": (f"lost[{GPU}]",), f"ecc[{OTHER_GPU}]": ()}


def test_outcomes_of_one_check_do_not_explain_each_other() -> None:
    assert explained(make_finding("a"), make_finding("a", subject=GPU)) == {"a": (), f"a[{GPU}]": ()}


def test_a_circle_ends_and_hides_nothing() -> None:
    found = explained(make_finding("a", "b"), make_finding("b", "a"))
    assert found == {"a": (), "b": ()}


def test_a_need_that_no_check_has_is_passed_over() -> None:
    assert explained(make_finding("a", "nowhere")) == {"a": ()}


def test_roots_come_by_severity_then_layer_then_what_they_explain() -> None:
    findings = find_causes(
        [
            make_finding("low", severity=LOW),
            make_finding("high"),
            make_finding("explains"),
            make_finding("beneath", layer="L1"),
            make_finding("critical", severity=CRITICAL, layer="L9"),
            make_finding("medium", severity=MEDIUM),
            make_finding("follow-up", "explains"),
        ]
    )
    expected = ["critical", "beneath", "explains", "high", "medium", "low"]
    assert [item.key for item in root_causes(findings)] == expected


def test_a_root_is_as_grave_as_the_gravest_that_it_explains() -> None:
    findings = find_causes(
        [
            make_finding("word", severity=LOW),
            make_finding("module", "word", severity=CRITICAL),
            make_finding("node", "module", severity=MEDIUM),
            make_finding("other", severity=HIGH),
            make_finding("noted", "other", status=WARN, severity=CRITICAL),
        ]
    )
    assert [(item.key, item.severity) for item in root_causes(findings)] == [("word", CRITICAL), ("other", HIGH)]
    assert findings[2].severity == MEDIUM
