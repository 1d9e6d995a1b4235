"""`otp_house` and `postgresql_otp_house` are the way out that sends codes and takes them back."""

import pytest

from tests.support.capability.passwords import OtpHouse


@pytest.fixture
def otp_house(database_url: str) -> OtpHouse:
    return OtpHouse(database_url)


@pytest.fixture
def postgresql_otp_house(postgresql_url: str) -> OtpHouse:
    return OtpHouse(postgresql_url)
