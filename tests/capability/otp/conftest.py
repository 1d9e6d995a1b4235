"""`house` and `postgresql_house` are the way out that sends codes and takes them back."""

import pytest

from tests.support.capability.passwords import OtpHouse


@pytest.fixture
def house(database_url: str) -> OtpHouse:
    return OtpHouse(database_url)


@pytest.fixture
def postgresql_house(postgresql_url: str) -> OtpHouse:
    return OtpHouse(postgresql_url)
