"""`amina`: an account without contacts."""

import pytest

from heliograph.database.database import Database
from tests.support.factories import open_account


@pytest.fixture
def amina(db: Database) -> str:
    return open_account(db)
