"""Walks through a record for everything that could not be looked at; no I/O."""

from collections.abc import Iterator

from ctk.facts import Unknown


def find_unknowns(value: object, where: str = "") -> Iterator[tuple[str, Unknown]]:
    """Each Unknown inside the records and tuples of a value, with its place: "pci.functions[2]"."""
    if isinstance(value, Unknown):
        yield where, value
    elif isinstance(value, str | int | float | None):
        return
    elif isinstance(value, tuple) and not hasattr(value, "_fields"):
        for index, item in enumerate(value):
            yield from find_unknowns(item, f"{where}[{index}]")
    else:
        for name in getattr(value, "__dataclass_fields__", getattr(value, "_fields", ())):
            yield from find_unknowns(getattr(value, name), f"{where}.{name}" if where else name)
