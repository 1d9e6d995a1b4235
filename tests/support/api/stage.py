"""Prepares a database for the API's tests: with the current schema, and the cast in it."""

from heliograph.database import migrate
from heliograph.database.database import Database
from tests.support.api.cast import Cast, make_cast


class Stage:
    """Prepares databases to be copied, and knows the cast of the one that it prepared last."""

    def __init__(self, cast: Cast | None = None) -> None:
        """`cast` is that of a database which is prepared already."""
        self.cast = cast

    def prepare(self, url: str) -> None:
        migrate.upgrade(url)
        db = Database(url)
        self.cast = make_cast(db)
        for actor in (self.cast.amina, self.cast.bilal, self.cast.chidi):
            actor.key()
            actor.key(sandbox=True)
        db.close()
