"""Statements of the hot paths, each declared once: its parameters and the columns of its rows by
name, and its text in both dialects.

A declaration names two kinds of Row. The fields of `given` are the parameters; the fields of `row`
are the columns that come back, in their order. A field of `row` that is a Row itself takes as many
columns as that has. The texts say `:name` where the value of a parameter stands; nobody numbers
placeholders by hand. The types of the fields are the ones below, so that PostgreSQL is told the
type of each parameter and mypy knows the type of each column.

    class Segment(Row, frozen=True):
        message_id: Id
        part: SmallInt

A `Statement` is asked with one set of values. A field of the type `list[Id]` is one value of it: an
array on PostgreSQL, and on SQLite a JSON text for `json_each(:name)`. A `BatchStatement` is asked
with many sets: its PostgreSQL text says `:given AS g`, which is a table of them all with the
fields' names as columns (or `:name` for the array of one field); its SQLite text is executed for
each of them.
"""

import re
import types
from collections.abc import Callable, Sequence
from typing import (
    Annotated,
    Any,
    Final,
    Generic,
    NamedTuple,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec.structs import astuple

from heliograph.base.json import encode
from heliograph.database.hot import HotTx

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
    """A statement takes this, or answers it. Rows are compared field by field.

    The garbage collector does not look at them, as it would at tuples with names: there are a dozen
    of them for each message.
    """


GivenT = TypeVar("GivenT", bound=Row)
SharedT = TypeVar("SharedT", bound=Row)
RowT = TypeVar("RowT", bound=Row)

_NAME: Final = re.compile(r"(?<!:):([a-z_]\w*)")


class Nothing(Row, frozen=True):
    """No parameters; or no columns, of a statement that returns no rows."""


class Gone(Row, frozen=True):
    """A row that was deleted or changed, where only their number is asked for: `RETURNING
    1 AS one`.
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
        an array, it is handed over as one text: database/postgresql/arrays.py.)
        """
        if self.is_array and self.is_long:
            return f"CAST(${number} AS {self.type}[])"
        return f"${number}::{self.type}{'[]' if self.is_array else ''}"


class _Text(NamedTuple):
    """Holds one dialect's text as the driver gets it. `places` are the positions of the parameters
    whose values it takes, in the order of their numbers.
    """

    sql: str
    places: tuple[int, ...]


class _Declared(Generic[RowT]):
    """All kinds of statements have this in common: their parameters, their columns, and how a
    row is made of those.
    """

    def __init__(
        self, given: tuple[Parameter, ...], row: type[RowT], postgresql: str, sqlite: str
    ) -> None:
        self.given, self.row = given, fields_of(row)
        self.postgresql = _numbered(
            postgresql, given, lambda number, parameter: parameter.placeholder(number)
        )
        self.sqlite = _numbered(sqlite, given, lambda number, _: f"?{number}")
        self._made = _maker(row)
        self._booleans = tuple(
            place for place, column in enumerate(self.row) if column.type == "bool"
        )

    def _rows(self, tx: HotTx, found: list[Any]) -> list[RowT]:
        made, booleans = self._made, self._booleans
        if tx.postgresql or not booleans:
            return [made(row) for row in found]
        rows = [list(row) for row in found]
        for row in rows:
            for place in booleans:  # to SQLite, a boolean is 0 or 1
                row[place] = None if row[place] is None else bool(row[place])
        return [made(row) for row in rows]


class Statement(_Declared[RowT], Generic[GivenT, RowT]):
    """One that is asked with one set of values. `sqlite` is empty of one that is for
    PostgreSQL only.
    """

    def __init__(
        self, given: type[GivenT], row: type[RowT], *, postgresql: str, sqlite: str = ""
    ) -> None:
        super().__init__(fields_of(given), row, postgresql, sqlite)

    async def rows(self, tx: HotTx, given: GivenT) -> list[RowT]:
        """Asks it. Raises what the database raises (`database/outage.py` says what becomes
        of it).
        """
        values = astuple(given)
        if tx.postgresql:
            sql, places = self.postgresql
            return self._rows(tx, await tx.fetch(sql, *[values[place] for place in places]))
        sql, places = self.sqlite
        return self._rows(
            tx,
            await tx.fetch(
                sql,
                *[
                    encode(values[i]).decode() if self.given[i].is_array else values[i]
                    for i in places
                ],
            ),
        )


class BatchStatement(_Declared[RowT], Generic[GivenT, RowT]):
    """One that is asked with many sets of values at once; with none, nothing is asked.
    `postgresql` is empty of one that is for SQLite only.
    """

    def __init__(
        self,
        given: type[GivenT],
        row: type[RowT],
        shared: type[Row] = Nothing,
        *,
        postgresql: str = "",
        sqlite: str,
    ) -> None:
        own = tuple(parameter._replace(is_array=True) for parameter in fields_of(given))
        names = [parameter.name for parameter in own]
        super().__init__(
            (*own, *fields_of(shared)), row, _unnested(postgresql, "given", names, names), sqlite
        )

    async def rows(self, tx: HotTx, given: Sequence[GivenT]) -> list[RowT]:
        """Asks it. The rows come back in any order. Raises what the database raises."""
        return await self._rows_of(tx, given, Nothing())

    async def _rows_of(self, tx: HotTx, given: Sequence[GivenT], shared: Row) -> list[RowT]:
        if not given:
            return []
        columns = [*map(list, zip(*map(astuple, given), strict=True))]
        if tx.postgresql:
            sql, places = self.postgresql
            values = [*columns, *astuple(shared)]
            return self._rows(tx, await tx.fetch(sql, *[values[place] for place in places]))
        sql, places = self.sqlite
        columns += [[value] * len(given) for value in astuple(shared)]
        return self._rows(tx, await tx.over(sql, *[columns[place] for place in places]))


class SharingStatement(BatchStatement[GivenT, RowT], Generic[GivenT, SharedT, RowT]):
    """A BatchStatement with further values that are the same for every set, such as bounds
    that tell PostgreSQL which partitions to look into.
    """

    def __init__(
        self,
        given: type[GivenT],
        shared: type[SharedT],
        row: type[RowT],
        *,
        postgresql: str,
        sqlite: str,
    ) -> None:
        super().__init__(given, row, shared, postgresql=postgresql, sqlite=sqlite)

    async def rows_with(self, tx: HotTx, given: Sequence[GivenT], shared: SharedT) -> list[RowT]:
        """Asks it, as `rows` does."""
        return await self._rows_of(tx, given, shared)


class TablesStatement(_Declared[RowT], Generic[GivenT, RowT]):
    """One for PostgreSQL that takes rows of several tables at once. (To SQLite, a statement for
    each of them costs no more.)

    A field of `given` is a value; or `list[R]`, R a Row, which is a table by its rows; or a Row of
    lists, which is a table by its columns. The text says `:sends AS s` for the table of the field
    `sends`.
    """

    def __init__(self, given: type[GivenT], row: type[RowT], *, postgresql: str) -> None:
        parameters: list[Parameter] = []
        # of each: how many parameters it is (0: a value), and whether it is a table by its rows
        self._fields: list[tuple[int, bool]] = []
        for name, hint in get_type_hints(given, include_extras=True).items():
            by_rows = get_origin(hint) is list and _is_row(get_args(hint)[0])
            if not by_rows and not _is_row(hint):
                parameters.append(_parameter(given, name, hint))
                self._fields.append((0, False))
                continue
            columns = fields_of(get_args(hint)[0] if by_rows else hint)
            names = [f"{name}__{column.name}" for column in columns]
            postgresql = _unnested(postgresql, name, names, [column.name for column in columns])
            parameters += [
                Parameter(of_table, column.type, True, column.is_long)
                for of_table, column in zip(names, columns, strict=True)
            ]
            self._fields.append((len(columns), by_rows))
        super().__init__(tuple(parameters), row, postgresql, "")
        self._long = tuple(place for place, parameter in enumerate(parameters) if parameter.is_long)

    async def rows(self, tx: HotTx, given: GivenT) -> list[RowT]:
        """Asks it. Raises what the database raises."""
        values: list[Any] = []
        for value, (width, by_rows) in zip(astuple(given), self._fields, strict=True):
            if not width:
                values.append(value)
            elif not by_rows:
                values += astuple(value)
            else:
                values += (
                    map(list, zip(*map(astuple, value), strict=True)) if value else ([],) * width
                )
        for place in self._long:
            values[place] = tuple(values[place])
        sql, places = self.postgresql
        return self._rows(tx, await tx.fetch(sql, *[values[place] for place in places]))


def fields_of(named: type[Row]) -> tuple[Parameter, ...]:
    """Returns the fields of a row in their order; one that is a Row itself stands for its own.
    Raises TypeError for other types.
    """
    found: list[Parameter] = []
    for name, hint in get_type_hints(named, include_extras=True).items():
        found.extend(fields_of(hint) if _is_row(hint) else [_parameter(named, name, hint)])
    return tuple(found)


def _is_row(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Row)


def _parameter(named: type, name: str, hint: Any) -> Parameter:
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


def _unnested(text: str, table: str, parameters: Sequence[str], columns: Sequence[str]) -> str:
    """Returns PostgreSQL's text, with `:table AS t` written out."""
    arrays = ", ".join(f":{name}" for name in parameters)
    return re.sub(
        rf"(?<!:):{table} AS (\w+)\b",
        lambda found: f"unnest({arrays}) AS {found[1]} ({', '.join(columns)})",
        text,
    )


def _numbered(
    text: str, given: Sequence[Parameter], placeholder: Callable[[int, Parameter], str]
) -> _Text:
    """The text with its names replaced, which are numbered as they come. Raises TypeError
    for a name that no parameter has.
    """
    names = [parameter.name for parameter in given]
    numbers: dict[str, int] = {}

    def placed(found: re.Match[str]) -> str:
        name = found[1]
        if name not in names:
            raise TypeError(f":{name} is no parameter; there are: {', '.join(names) or 'none'}")
        return placeholder(numbers.setdefault(name, len(numbers) + 1), given[names.index(name)])

    return _Text(_NAME.sub(placed, text), tuple(names.index(name) for name in numbers))


def _maker(kind: type[RowT]) -> Callable[[Sequence[Any]], RowT]:
    """Returns what makes a row of this kind of the values of its columns."""
    hints = get_type_hints(kind)
    if not any(_is_row(hint) for hint in hints.values()):
        return lambda values: kind(*values)
    parts: list[tuple[slice | int, Callable[[Sequence[Any]], Any] | None]] = []
    place = 0
    for hint in hints.values():
        width = len(fields_of(hint)) if _is_row(hint) else 1
        parts.append(
            (slice(place, place + width), _maker(hint)) if _is_row(hint) else (place, None)
        )
        place += width
    return lambda values: kind(
        *[values[at] if inner is None else inner(values[at]) for at, inner in parts]
    )


def columns_of(row: type[Row]) -> str:
    """Returns the names of its fields, as an INSERT lists columns."""
    return ", ".join(row.__struct_fields__)


def values_of(row: type[Row]) -> str:
    """Returns its fields as parameters, as an INSERT of one row lists values."""
    return ", ".join(f":{name}" for name in row.__struct_fields__)


def same(
    given: type[GivenT], row: type[RowT], text: str, *, lock: str = ""
) -> Statement[GivenT, RowT]:
    """Returns a statement whose text both databases read. `lock` ends it on PostgreSQL:
    SQLite has one writer, and locks nothing.
    """
    return Statement(given, row, postgresql=f"{text} {lock}" if lock else text, sqlite=text)


class Insert(BatchStatement[GivenT, Nothing], Generic[GivenT]):
    """A statement that inserts rows. `more` ends it, such as `ON CONFLICT DO NOTHING`."""

    def __init__(self, table: str, row: type[GivenT], more: str = "") -> None:
        into = f"INSERT INTO {table} ({columns_of(row)})"
        self._into, self._more = into, more
        super().__init__(
            row,
            Nothing,
            postgresql=self.within("given"),
            sqlite=f"{into} VALUES ({values_of(row)}) {more}",
        )

    def within(self, field: str) -> str:
        """Returns the text that inserts the rows of this field of a TablesStatement, as a part of
        that statement.
        """
        return f"{self._into} SELECT * FROM :{field} AS g {self._more}"
