"""Record behaves as the values of ctk rely on: frozen, named, with defaults, equal by content."""

import pytest

from ctk.record import Record


class Point(Record):
    """Two required fields and one default."""

    x: int
    y: int
    name: str = "origin"


class Pixel(Record):
    """The same fields as Point, another class."""

    x: int
    y: int
    name: str = "origin"


def test_fields_come_by_place_and_by_name() -> None:
    assert (Point(1, y=2).x, Point(1, y=2).y, Point(1, y=2).name) == (1, 2, "origin")
    assert Point(1, 2, "end").name == "end"


@pytest.mark.parametrize(
    ("values", "named"),
    [((1,), {}), ((1, 2, "a", 4), {}), ((1, 2), {"x": 3}), ((1, 2), {"colour": "red"}), ((), {"y": 1})],
    ids=["one missing", "one too many", "given twice", "unknown", "the first missing"],
)
def test_wrong_fields_are_refused(values: tuple[object, ...], named: dict[str, object]) -> None:
    with pytest.raises(TypeError, match="Point"):
        Point(*values, **named)  # type: ignore[arg-type] # wrong on purpose


def test_it_is_frozen() -> None:
    point = Point(1, 2)
    with pytest.raises(AttributeError, match="frozen"):
        point.x = 3  # type: ignore[misc] # wrong on purpose
    with pytest.raises(AttributeError, match="frozen"):
        del point.y
    assert point == Point(1, 2)


def test_equality_and_hash_go_by_class_and_content() -> None:
    assert Point(1, 2) == Point(1, 2, "origin")
    assert hash(Point(1, 2)) == hash(Point(1, 2, "origin"))
    assert Point(1, 2) != Point(2, 1)
    assert Point(1, 2) != Pixel(1, 2)
    assert Point(1, 2) != (1, 2, "origin")


def test_replace_and_asdict() -> None:
    assert Point(1, 2)._replace(y=5) == Point(1, 5)
    assert Point(1, 2)._asdict() == {"x": 1, "y": 2, "name": "origin"}
    assert repr(Point(1, 2)) == "Point(x=1, y=2, name='origin')"
    with pytest.raises(TypeError):
        Point(1, 2)._replace(colour="red")
