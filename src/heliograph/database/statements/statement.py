"""Defines kinds of statements: each knows its parameters, its columns, and its text in both
dialects.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from operator import itemgetter
from typing import (
    Any,
    Final,
    Generic,
    NamedTuple,
    TypeAlias,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from msgspec.structs import astuple

from heliograph.base.json import encode
from heliograph.database.hot import HotTx
from heliograph.database.statements.row import (
    Nothing,
    Parameter,
    Row,
    RowT,
    columns_of,
    fields_of,
    is_row,
    maker_of,
    parameter_of,
    values_of,
)

Values: TypeAlias = tuple[Any, ...]  # of all parameters, in their order
GivenT = TypeVar("GivenT", bound=Row)
SharedT = TypeVar("SharedT", bound=Row)
_ALL_GIVEN: Final = "json_each(:given)"
_NAME: Final = re.compile(r"(?<!:):([a-z_]\w*)")


class _Text(NamedTuple):
    """Holds one dialect's text as the driver gets it. `positions` are the positions of the
    parameters whose values it takes, in the order of their numbers.
    """

    sql: str
    positions: tuple[int, ...]


class _Declared(Generic[RowT]):
    """Holds what all kinds of statements have in common: their parameters, their columns, and how a
    row is made of those.
    """

    def __init__(
        self, given: tuple[Parameter, ...], row: type[RowT], postgresql: str, sqlite: str
    ) -> None:
        self.given, self.row = given, fields_of(row)
        self.postgresql = _with_placeholders(
            postgresql, given, lambda number, parameter: parameter.placeholder(number)
        )
        self.sqlite = _with_placeholders(sqlite, given, lambda number, _: f"?{number}")
        self._made = maker_of(row)
        self._in_order = _orderer(self.sqlite.positions, len(given))
        self._booleans = tuple(
            place for place, column in enumerate(self.row) if column.type == "bool"
        )

    def _rows(self, tx: HotTx, found: list[Any]) -> list[RowT]:
        if tx.postgresql or not self._booleans:
            return self._made(found)
        rows = [list(row) for row in found]
        for row, place in product(rows, self._booleans):  # to SQLite, a boolean is 0 or 1
            row[place] = None if row[place] is None else bool(row[place])
        return self._made(rows)


class Statement(_Declared[RowT], Generic[GivenT, RowT]):
    """Is asked with one set of values. `sqlite` is empty if the statement is for PostgreSQL
    only.
    """

    def __init__(
        self, given: type[GivenT], row: type[RowT], *, postgresql: str, sqlite: str = ""
    ) -> None:
        super().__init__(fields_of(given), row, postgresql, sqlite)

    async def rows(self, tx: HotTx, given: GivenT) -> list[RowT]:
        """Runs the statement. Raises what the database raises (`database/outage.py` says what
        becomes of it).
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
    """Is asked with many sets of values at once; with none, nothing is asked. `postgresql` is empty
    if the statement is for SQLite only. A `sqlite` that says `json_each(:given)` is executed once.
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
        self.is_asked_once = _ALL_GIVEN in sqlite
        super().__init__(
            (*own, *fields_of(shared)),
            row,
            _with_given_table(postgresql, "given", names, names),
            _with_given_json(sqlite, names),
        )

    async def rows(self, tx: HotTx, given: Sequence[GivenT]) -> list[RowT]:
        """Runs the statement. The rows come back in any order. Raises what the database raises."""
        return await self._rows_of(tx, given, Nothing())

    async def _rows_of(self, tx: HotTx, given: Sequence[GivenT], shared: Row) -> list[RowT]:
        if not given:
            return []
        same_for_all = astuple(shared)
        if tx.postgresql:
            sql, places = self.postgresql
            columns = [*map(list, zip(*map(astuple, given), strict=True)), *same_for_all]
            return self._rows(tx, await tx.fetch(sql, *[columns[place] for place in places]))
        if self.is_asked_once:
            everything = encode([astuple(one) for one in given]).decode()
            return self._rows(tx, await tx.fetch(self.sqlite.sql, everything))
        sets = [astuple(one) + same_for_all for one in given]
        return self._rows(tx, await tx.each(self.sqlite.sql, self._in_order(sets)))


class SharingStatement(BatchStatement[GivenT, RowT], Generic[GivenT, SharedT, RowT]):
    """Is a BatchStatement with further values that are the same for every set, such as bounds that
    tell PostgreSQL which partitions to look into.
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
        """Runs the statement, as `rows` does."""
        return await self._rows_of(tx, given, shared)


class Insert(BatchStatement[GivenT, Nothing], Generic[GivenT]):
    """Describes a statement that inserts rows. `more` ends it, such as `ON CONFLICT DO NOTHING`."""

    def __init__(self, table: str, row: type[GivenT], more: str = "") -> None:
        into = f"INSERT INTO {table} ({columns_of(row)})"
        self._into, self._more = into, more
        super().__init__(
            row,
            Nothing,
            postgresql=self._part_for("given"),
            sqlite=f"{into} VALUES ({values_of(row)}) {more}",
        )

    def _part_for(self, field: str) -> str:
        """Returns PostgreSQL's text that inserts the rows of this field of `given`."""
        return f"{self._into} SELECT * FROM :{field} AS g {self._more}"


class TablesStatement(_Declared[RowT], Generic[GivenT, RowT]):
    """Is a statement for PostgreSQL that takes rows of several tables at once. (To SQLite, a
    statement for each of them costs no more.)

    A field of `given` is a value; or `list[R]`, R a Row, which is a table by its rows; or a Row of
    lists, which is a table by its columns. The text says `:sends AS s` for the table of the field
    `sends`. Where it says `INSERT :keys`, the rows of the field `keys` are stored by the statement
    that `inserts` has for that field, as a part of this one.
    """

    def __init__(
        self,
        given: type[GivenT],
        row: type[RowT],
        inserts: Mapping[str, Insert[Any]] | None = None,
        *,
        postgresql: str,
    ) -> None:
        for name, insert in (inserts or {}).items():
            if f"INSERT :{name}" not in postgresql:
                raise TypeError(f"the text does not say INSERT :{name}")
            postgresql = postgresql.replace(f"INSERT :{name}", insert._part_for(name))
        parameters: list[Parameter] = []
        # of each: how many parameters it is (0: a value), and whether it is a table by its rows
        self._fields: list[tuple[int, bool]] = []
        for name, hint in get_type_hints(given, include_extras=True).items():
            by_rows = get_origin(hint) is list and is_row(get_args(hint)[0])
            if not by_rows and not is_row(hint):
                parameters.append(parameter_of(given, name, hint))
                self._fields.append((0, False))
                continue
            columns = fields_of(get_args(hint)[0] if by_rows else hint)
            names = [f"{name}__{column.name}" for column in columns]
            postgresql = _with_given_table(
                postgresql, name, names, [column.name for column in columns]
            )
            parameters += [
                Parameter(of_table, column.type, True, column.is_long)
                for of_table, column in zip(names, columns, strict=True)
            ]
            self._fields.append((len(columns), by_rows))
        super().__init__(tuple(parameters), row, postgresql, "")
        self._long = tuple(place for place, parameter in enumerate(parameters) if parameter.is_long)

    async def rows(self, tx: HotTx, given: GivenT) -> list[RowT]:
        """Runs the statement. Raises what the database raises."""
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


def _with_given_table(
    text: str, table: str, parameters: Sequence[str], columns: Sequence[str]
) -> str:
    """Returns PostgreSQL's text, with `:table AS t` written out."""
    arrays = ", ".join(f":{name}" for name in parameters)
    return re.sub(
        rf"(?<!:):{table} AS (\w+)\b",
        lambda found: f"unnest({arrays}) AS {found[1]} ({', '.join(columns)})",
        text,
    )


def _with_given_json(text: str, columns: Sequence[str]) -> str:
    """Returns SQLite's text, with `json_each(:given) AS g` and the columns of `g` written out."""
    table = re.search(rf"{re.escape(_ALL_GIVEN)} AS (\w+)\b", text)
    if table is None:
        return text
    alias = table[1]
    return re.sub(
        rf"\b{alias}\.({'|'.join(columns)})\b",
        lambda found: f"{alias}.value ->> {columns.index(found[1])}",
        text.replace(_ALL_GIVEN, "json_each(?1)"),
    )


def _with_placeholders(
    text: str, given: Sequence[Parameter], placeholder: Callable[[int, Parameter], str]
) -> _Text:
    """Returns the text with its names replaced by numbers, in the order in which they come. Raises
    TypeError for a name that no parameter has.
    """
    names = [parameter.name for parameter in given]
    numbers: dict[str, int] = {}

    def placed(found: re.Match[str]) -> str:
        name = found[1]
        if name not in names:
            raise TypeError(f":{name} is no parameter; there are: {', '.join(names) or 'none'}")
        return placeholder(numbers.setdefault(name, len(numbers) + 1), given[names.index(name)])

    return _Text(_NAME.sub(placed, text), tuple(names.index(name) for name in numbers))


def _orderer(positions: tuple[int, ...], parameters: int) -> Callable[[list[Values]], list[Values]]:
    """Returns a function that takes the values at these places out of a set of values."""
    if positions == tuple(range(parameters)):
        return lambda sets: sets
    if len(positions) < 2:  # of one place, itemgetter returns the value itself
        return lambda sets: [tuple([values[place] for place in positions]) for values in sets]
    picked = itemgetter(*positions)
    return lambda sets: list(map(picked, sets))


def portable(
    given: type[GivenT], row: type[RowT], text: str, *, lock: str = ""
) -> Statement[GivenT, RowT]:
    """Returns a statement whose text both databases read. `lock` ends it on PostgreSQL:
    SQLite has one writer, and locks nothing.
    """
    return Statement(given, row, postgresql=f"{text} {lock}" if lock else text, sqlite=text)
