"""Record: a frozen value with named fields, as cheap to define as a plain class; it holds nothing of ctk's own.

Defining a NamedTuple takes about 0.12 ms and a dataclass 0.5 ms, a Record 0.01 ms (CPython 3.11): a run that has
nothing to do defines some forty of them, and has a budget (docs/decisions/0002-records.md).
"""

from typing import ClassVar, NoReturn, Self, dataclass_transform


@dataclass_transform(frozen_default=True)
class Record:
    """Fields are the annotated names, defaults the class's own values: written and used like a NamedTuple.

    Not a tuple: it has no order, no length and no unpacking. Two are equal if their class and all fields are.
    """

    _fields: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        cls._fields = tuple(cls.__annotations__)

    def __init__(self, *values: object, **named: object) -> None:
        fields = self._fields
        state = self.__dict__
        state.update(zip(fields, values, strict=False))
        if len(values) > len(fields) or not state.keys().isdisjoint(named):
            raise TypeError(f"{type(self).__name__} has the fields {', '.join(fields)}, each once")
        state.update(named)
        for name in fields:
            if name not in state and not hasattr(type(self), name):
                raise TypeError(f"{type(self).__name__} needs a value for {name}")
        if len(state) > len(fields) or not state.keys() <= set(fields):
            raise TypeError(f"{type(self).__name__} has no such field: {', '.join(state.keys() - set(fields))}")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen: {name} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen: {name} cannot be deleted")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._asdict() == other._asdict() if isinstance(other, Record) else False

    def __hash__(self) -> int:
        return hash((type(self), *(getattr(self, name) for name in self._fields)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._asdict().items())})"

    def _asdict(self) -> dict[str, object]:
        """The fields by name, in order."""
        return {name: getattr(self, name) for name in self._fields}

    def _replace(self, **changes: object) -> Self:
        """The same with other values for some fields."""
        return type(self)(**{**self._asdict(), **changes})
