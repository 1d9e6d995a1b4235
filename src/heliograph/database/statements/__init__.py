"""Declares the statements of the hot paths, each in one place: its parameters and the columns of
its rows by name, and its text in both dialects.

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
each of them, or once if it says `json_each(:given) AS g`, which is such a table too.

An INSERT lists `columns_of` the Row that it stores, beside `SELECT * FROM :given AS g` or
`VALUES (values_of)`: so it does not matter in which order the fields stand. An `Insert` writes both
by itself; a `TablesStatement` can run it as a part.
"""

from heliograph.database.statements.lookup import rows_by_key
from heliograph.database.statements.row import (
    AffectedRow,
    BigInt,
    Bool,
    Bytes,
    Id,
    Int,
    LongText,
    Nothing,
    Row,
    SmallInt,
    Text,
    columns_of,
    values_of,
)
from heliograph.database.statements.statement import (
    BatchStatement,
    GivenT,
    Insert,
    SharingStatement,
    Statement,
    TablesStatement,
    portable,
)

__all__ = [
    "AffectedRow",
    "BatchStatement",
    "BigInt",
    "Bool",
    "Bytes",
    "GivenT",
    "Id",
    "Insert",
    "Int",
    "LongText",
    "Nothing",
    "Row",
    "SharingStatement",
    "SmallInt",
    "Statement",
    "TablesStatement",
    "Text",
    "columns_of",
    "portable",
    "rows_by_key",
    "values_of",
]
