"""What images require of a driver: the language's own rules, one by one, and that no text makes it crash."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctk.formats.requirement import (
    DeviceFacts,
    RequirementFault,
    compare_versions,
    first_unmet,
    is_met,
    nearest_miss,
    parse_term,
    split_alternatives,
)

A100 = DeviceFacts("12.2", "535.161.08", "8.0", "Tesla")
IMAGE = "cuda>=12.6 brand=tesla,driver>=535,driver<536 brand=unknown,driver>=535,driver<536"


@pytest.mark.parametrize(
    ("text", "met"),
    [
        ("", True),
        (" , ,", True),
        ("cuda>=12.2", True),
        ("cuda>=12.6", False),
        ("cuda=12.2.0", True),
        ("cuda!=12.2", False),
        ("cuda!12.3", True),
        ("cuda<12.10", True),
        ("cuda>12.1,cuda<=12.2", True),
        ("cuda>12.2", False),
        ("CUDA>=12", True),
        ("driver>=535,driver<536", True),
        ("arch>=8.0", True),
        ("arch>8", False),
        ("brand=TESLA", True),
        ("brand!=geforce", True),
        ("brand=geforce", False),
        ("cuda>=13 arch>=9 brand=tesla", True),
        ("cuda>=13,brand=tesla", False),
        (IMAGE, True),
    ],
)
def test_rules(text: str, met: bool) -> None:
    assert is_met(text, A100) is met


@pytest.mark.parametrize(
    "text",
    [
        *("cuda==12", "cuda=<12", "cuda>=", "cuda", "", "nvenc>=1", "cuda>=12.x", "cuda >=12", "brand>tesla"),
        *("brand=", "=12", "cuda>=-1", "cuda<>1"),
    ],
)
def test_what_is_no_term(text: str) -> None:
    with pytest.raises(RequirementFault) as raised:
        parse_term(text)
    assert str(raised.value) == text


def test_a_bad_term_matters_only_when_it_is_its_turn() -> None:
    assert is_met("cuda>=12 nonsense", A100)
    with pytest.raises(RequirementFault):
        is_met("cuda>=13 nonsense", A100)
    assert not is_met("cuda>=13,nonsense", A100)


def test_what_is_not_known_holds() -> None:
    assert is_met("cuda>=99,driver>=999,arch>=9,brand=x", DeviceFacts())
    assert is_met("arch>=9,brand=x,cuda>=12", DeviceFacts(cuda="12.2"))


def test_a_version_of_the_host_that_is_none_is_a_fault() -> None:
    with pytest.raises(RequirementFault):
        is_met("driver>=535", DeviceFacts(driver="535-custom"))


def test_the_error_names_the_first_alternative() -> None:
    geforce = A100._replace(brand="GeForce")
    assert first_unmet(["cuda>=11", IMAGE], geforce) == "cuda>=12.6"
    assert first_unmet(["brand=a,cuda>=1 brand=b"], geforce) == "brand=a,cuda>=1"
    assert first_unmet([IMAGE], A100) is None
    assert first_unmet([], A100) is None


def test_nearest_miss() -> None:
    old = A100._replace(driver="525.60.13", cuda="12.0")
    assert [term.text for term in nearest_miss("cuda>=12.6,driver>=560 brand=tesla,driver>=535", old)] == [
        "driver>=535"
    ]
    assert nearest_miss(IMAGE, A100) == ()
    assert nearest_miss("", A100) == ()


@pytest.mark.parametrize(("one", "other", "order"), [("11", "11.0", 0), ("11.10", "11.9", 1), ("1..2", "1.0.2", 0)])
def test_versions(one: str, other: str, order: int) -> None:
    assert compare_versions(one, other) == order
    assert compare_versions(other, one) == -order


def test_alternatives_without_empty_pieces() -> None:
    assert split_alternatives(" a,,b  c, ") == (("a", "b"), ("c",))


@given(text=st.text(alphabet="cudarivenhb=!<>., 0129", max_size=40))
def test_no_text_makes_it_crash(text: str) -> None:
    try:
        found = is_met(text, A100)
    except RequirementFault:
        return
    assert found is (first_unmet([text], A100) is None)
