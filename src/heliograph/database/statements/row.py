"""Defines rows with names: what a statement takes and what it answers, with the types of their
columns.
"""

import types
from collections.abc import Callable, Sequence
from itertools import starmap
from typing import (
    Annotated,
    Any,
    NamedTuple,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec

Id: TypeAlias = Annotated[str, "uuid"]  # raw: 32 hexadecimal digits
Text: TypeAlias = Annotated[str, "text"]
# kilobytes: an array of these goes by the driver, whose way is dearer for short ones
LongText: TypeAlias = Annotated[str, "text", "long"]
Bool: TypeAlias = Annotated[bool, "bool"]
SmallInt: TypeAlias = Annotated[int, "smallint"]
Int: TypeAlias = Annotated[int, "int"]
BigInt: TypeAlias = Annotated[int, "bigint"]
Bytes: TypeAlias = Annotated[bytes, "bytea"]


class Row(msgspec.Struct, frozen=True, order=True, gc=False):
    """Holds what a statement takes, or what it answers. Rows are compared field by field.

    A field is stored in the column of its name, unless the class says another one, such as
    `rename={"number": "try"}`.

    The garbage collector does not look at them, as it would at tuples with names: there are a dozen
    of them for each message.
    """


RowT = TypeVar("RowT", bound=Row)


class Nothing(Row, frozen=True):
    """Stands for no parameters; or for no columns, of a statement that returns no rows."""


class AffectedRow(Row, frozen=True):
    """Stands for a row that was deleted or changed, where only their number is asked for:
    `RETURNING 1 AS one`.
    """

    one: Int


class Parameter(NamedTuple):
    """Describes a value that a statement takes or returns. `type` is the name of its type on
    PostgreSQL; for an array, that of one element.
    """

    name: str
    type: str
    is_array: bool = False
    is_long: bool = False

    def placeholder(self, number: int) -> str:
        """Returns the placeholder as PostgreSQL's driver gets it. (Where `::` tells the type of
        an array, it is handed over as one text: database/arrays.py.)
        """
        if self.is_array and self.is_long:
            return f"CAST(${number} AS {self.type}[])"
        return f"${number}::{self.type}{'[]' if self.is_array else ''}"


def fields_of(named: type[Row]) -> tuple[Parameter, ...]:
    """Returns the fields of a row in their order; one that is a Row itself stands for its own.
    Raises TypeError for other types.
    """
    found: list[Parameter] = []
    for name, hint in get_type_hints(named, include_extras=True).items():
        found.extend(fields_of(hint) if is_row(hint) else [parameter_of(named, name, hint)])
    return tuple(found)


def is_row(hint: Any) -> bool:
    """Returns whether an annotation is a class of rows."""
    return isinstance(hint, type) and issubclass(hint, Row)


def parameter_of(named: type, name: str, hint: Any) -> Parameter:
    """Returns the parameter that a field's annotation describes. Raises TypeError for a type that
    no column has.
    """
    inner = hint
    if get_origin(inner) in (types.UnionType, Union):
        inner = next(one for one in get_args(inner) if one is not type(None))
    is_array = get_origin(inner) is list
    if is_array:
        [inner] = get_args(inner)
        if get_origin(inner) in (types.UnionType, Union):
            inner = next(one for one in get_args(inner) if one is not type(None))
    if get_origin(inner) is not Annotated:
        raise TypeError(f"{named.__name__}.{name} is {hint!r}, and no type of a column")
    _, type_, *more = get_args(inner)
    return Parameter(name, type_, is_array, is_long="long" in more)


def maker_of(kind: type[RowT]) -> Callable[[Sequence[Sequence[Any]]], list[RowT]]:
    """Returns what makes rows of this kind of what the database returned."""
    if not any(map(is_row, get_type_hints(kind).values())):
        return lambda found: list(starmap(kind, found))
    made = _row_maker(kind)
    return lambda found: [made(values) for values in found]


def _row_maker(kind: type[RowT]) -> Callable[[Sequence[Any]], RowT]:
    """Returns what makes one row of the values of its columns and those of the Rows in it."""
    hints = get_type_hints(kind)
    parts: list[tuple[slice | int, Callable[[Sequence[Any]], Any] | None]] = []
    place = 0
    for hint in hints.values():
        width = len(fields_of(hint)) if is_row(hint) else 1
        parts.append(
            (slice(place, place + width), _row_maker(hint)) if is_row(hint) else (place, None)
        )
        place += width
    return lambda values: kind(
        *[values[at] if inner is None else inner(values[at]) for at, inner in parts]
    )


def columns_of(row: type[Row]) -> str:
    """Returns the columns that its fields are stored in, as an INSERT lists them."""
    return ", ".join(row.__struct_encode_fields__)


def values_of(row: type[Row]) -> str:
    """Returns a row's fields as parameters, as an INSERT of one row lists values."""
    return ", ".join(f":{name}" for name in row.__struct_fields__)
