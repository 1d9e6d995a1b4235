"""Writes how PostgreSQL looks up many keys in a table of which the planner may know too little."""


def rows_by_key(table: str, columns: str, **key: str) -> str:
    """Returns a table expression of PostgreSQL: these columns (separated by commas) of the rows of
    `table` whose columns have the values of `key`. It stands behind LATERAL in statements that ask
    for many keys: `g.phone` is then the phone of the one that is looked up.

    OFFSET 0 leaves the planner no way but to look into the index once for each, even where it takes
    the table for empty.
    """
    condition = " AND ".join(f"{table}.{column} = {value}" for column, value in key.items())
    return f"(SELECT {columns} FROM {table} WHERE {condition} OFFSET 0)"
