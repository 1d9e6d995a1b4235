import pytest

from tests.support.capability.inbox import Inbox


@pytest.fixture
def inbox(database_url: str) -> Inbox:
    return Inbox(database_url)
