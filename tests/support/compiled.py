"""SQL that was compiled for one database of this process serves the next one of its kind.

SQLAlchemy keeps the text that it makes of a statement with the engine. A server has one engine for
as long as it lives; the tests have one for each of their thousands of databases, and a third of
their processor time went into making the same texts again. Two dialects of one kind make the same
text, so here they count as one, and their engines share what was compiled.
"""

from collections.abc import MutableMapping
from functools import wraps
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.util import LRUCache

STATEMENTS_MAX: Final = 4_000

_shared: dict[str, MutableMapping[Any, Any]] = {}


def share() -> None:
    """Lets engines share, from now on, what is compiled. It is called once, before the first one is
    made.
    """
    made = sa.create_engine

    @wraps(made)
    def create_engine(*args: Any, **options: Any) -> sa.Engine:
        engine = made(*args, **options)
        engine._compiled_cache = _shared.setdefault(engine.dialect.name, LRUCache(STATEMENTS_MAX))
        return engine

    sa.create_engine = create_engine
    DefaultDialect.__hash__ = lambda self: hash(type(self))  # type: ignore[method-assign]
    DefaultDialect.__eq__ = lambda self, other: type(self) is type(other)  # type: ignore[method-assign]
