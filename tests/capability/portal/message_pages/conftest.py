"""`sent` sends texts of the house's account, and `root` is where its owner has come in."""

from collections.abc import Iterator

import pytest

from tests.support.api.service import Loop
from tests.support.capability.sending import House
from tests.support.portal.sent_texts import SendText, sender_of
from tests.support.portal.visitor import EMAIL, Visitor, home_of


@pytest.fixture
def sent(house: House, run_loop: Loop) -> Iterator[SendText]:
    """Yields a function that sends a text, and returns the id of its first message."""
    yield sender_of(house, run_loop)
    run_loop(house.close())


@pytest.fixture
def root(house: House, visitor: Visitor) -> str:
    """Returns the path of the account's pages; its owner is signed in."""
    visitor.sign_in(EMAIL, house.amina_id)
    return home_of(house.db, house.amina_id)
