"""Snapshots with one thing changed, anywhere in them: what could not be looked at, is not there, or is absurd."""

import dataclasses
from collections.abc import Iterator
from typing import Any, NamedTuple, get_args, get_type_hints

from ctk.facts import Unknown
from ctk.facts.snapshot import Snapshot

NOTHING = Unknown("permission denied")
ABSURD: dict[type, tuple[object, ...]] = {
    str: ("", "\x1b[2J", "0000:00:00.0", "9" * 40, "/../..", "é\udcff"),
    int: (0, -1, 2**70),
    bool: (True, False),
    tuple: ((),),
}


class Mutation(NamedTuple):
    """Where in the snapshot ("driver.gpus[0].minor"), and what stands there instead."""

    place: tuple[str | int, ...]
    value: object

    @property
    def name(self) -> str:
        return ".".join(str(step) for step in self.place) + f"={self.value!r:.20}"


def find_mutations(snapshot: Snapshot) -> Iterator[Mutation]:
    """Every field of every record, with all that its type allows and the absurd values of its kind."""
    yield from _of_record(snapshot, ())


def _of_record(record: object, place: tuple[str | int, ...]) -> Iterator[Mutation]:
    hints = get_type_hints(type(record))
    for name in field_names(record):
        value, kinds = getattr(record, name), get_args(hints[name])
        here = (*place, name)
        if Unknown in kinds and value != NOTHING:
            yield Mutation(here, NOTHING)
        if type(None) in kinds and value is not None:
            yield Mutation(here, None)
        for absurd in ABSURD.get(type(value), ()):
            if absurd != value:
                yield Mutation(here, absurd)
        yield from _inside(value, here)


def _inside(value: object, place: tuple[str | int, ...]) -> Iterator[Mutation]:
    if field_names(value):
        yield from _of_record(value, place)
    elif isinstance(value, tuple):
        for index, item in enumerate(value[:1]):  # the first of a list stands for the others
            yield from _inside(item, (*place, index))


def field_names(value: object) -> tuple[str, ...]:
    """The fields of a record of any make; none for other values."""
    if isinstance(value, Unknown | type) or value is None:
        return ()
    if dataclasses.is_dataclass(value):
        return tuple(field.name for field in dataclasses.fields(value))
    return getattr(value, "_fields", ())


def mutate(snapshot: Snapshot, mutation: Mutation) -> Snapshot:
    changed = _replace(snapshot, mutation.place, mutation.value)
    assert isinstance(changed, Snapshot)
    return changed


def _replace(value: Any, place: tuple[str | int, ...], new: object) -> object:
    if not place:
        return new
    step, rest = place[0], place[1:]
    if isinstance(step, int):
        return (*value[:step], _replace(value[step], rest, new), *value[step + 1 :])
    inner = {step: _replace(getattr(value, step), rest, new)}
    return value._replace(**inner) if hasattr(value, "_replace") else dataclasses.replace(value, **inner)
