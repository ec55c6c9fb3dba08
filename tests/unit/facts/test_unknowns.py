"""Everything that could not be looked at is found, wherever it is, with its place."""

from ctk.facts import Unknown
from ctk.facts.unknowns import find_unknowns
from tests.builders import make_engine, make_flag, make_snapshot, make_system

DENIED = Unknown("permission denied")


def test_places() -> None:
    snapshot = make_snapshot(
        kubelet=DENIED,
        system=make_system(kernel=DENIED),
        engines=(make_engine(), make_engine(version=DENIED, flags=(make_flag(),))),
    )
    places = [place for place, fact in find_unknowns(snapshot) if fact == DENIED]
    assert places == ["system.kernel", "engines[1].version", "kubelet"]


def test_values_hold_none() -> None:
    for value in (None, "permission denied", 7, True, 1.5, (), ("a", 1)):
        assert list(find_unknowns(value)) == []


def test_an_unknown_is_its_own() -> None:
    assert list(find_unknowns(DENIED)) == [("", DENIED)]
