"""Somebody sets up an authenticator app twice at the same moment."""

from concurrent.futures import ThreadPoolExecutor

import pyotp
import pytest

from heliograph import users
from heliograph.base import clock
from heliograph.base.errors import InvalidRequest
from heliograph.database.database import Database
from heliograph.users import two_step
from tests.support.capability.waiting import until_it_waits
from tests.support.factories import SECRET_KEY


@pytest.fixture
def ama(db: Database) -> str:
    with db.write() as tx:
        return users.add(tx, "ama@example.com", now_ms=clock.now_ms()).id


def secret_of(db: Database, user_id: str) -> str:
    with db.read() as tx:
        return two_step.unconfirmed_secret(tx, SECRET_KEY, user_id)


def test_of_two_apps_that_are_set_up_at_once_one_is_there(db: Database, ama: str) -> None:
    def begin() -> None:
        with db.write() as tx:
            two_step.begin(tx, SECRET_KEY, ama, now_ms=clock.now_ms())

    with ThreadPoolExecutor(1) as thread:
        with db.write() as tx:
            two_step.begin(tx, SECRET_KEY, ama, now_ms=clock.now_ms())
            first = two_step.unconfirmed_secret(tx, SECRET_KEY, ama)
            beside = thread.submit(begin)
            until_it_waits(db, beside)
        beside.result()
    assert secret_of(db, ama) != first


def test_an_app_that_is_confirmed_at_the_same_moment_stays(db: Database, ama: str) -> None:
    def begin() -> None:
        with db.write() as tx:
            two_step.begin(tx, SECRET_KEY, ama, now_ms=clock.now_ms())

    begin()
    now_ms = clock.now_ms()
    code = pyotp.TOTP(secret_of(db, ama)).at(now_ms // 1_000)
    with ThreadPoolExecutor(1) as thread:
        with db.write() as tx:
            two_step.confirm(tx, SECRET_KEY, ama, code, now_ms=now_ms)
            beside = thread.submit(begin)
            until_it_waits(db, beside)
        with pytest.raises(InvalidRequest):
            beside.result()
    with db.read() as tx:
        assert two_step.is_on(tx, ama)
