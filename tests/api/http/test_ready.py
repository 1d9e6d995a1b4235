"""Nobody is kept waiting by those who ask for /readyz."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
import sqlalchemy as sa

from heliograph.api import ready
from heliograph.database import migrate
from tests.support.api.cast import Actor
from tests.support.api.service import Reply, Service

RECIPIENT = "233201234567"
DEFAULT_THREADS_MAX = 32  # of the event loop's own executor, on any machine


@pytest.fixture
def checks(api: Service) -> Iterator[list[str]]:
    """Yields the looks at the schema's version that the database sees, as they come."""
    seen: list[str] = []

    def note(connection: object, cursor: object, statement: str, *_: object) -> None:
        if "FROM alembic_version" in statement:
            seen.append(statement)

    sa.event.listen(api.db.engine, "before_cursor_execute", note)
    yield seen
    sa.event.remove(api.db.engine, "before_cursor_execute", note)


def ask(api: Service, times: int, path: str = "/readyz") -> set[int]:
    """Returns the statuses of so many answers to those who ask together, on this machine and by its
    name.
    """

    async def all_of_them() -> list[httpx.Response]:
        return list(
            await asyncio.gather(
                *(api.client.get(path, headers={"Host": "localhost"}) for _ in range(times))
            )
        )

    return {response.status_code for response in api.run(all_of_them())}


def test_all_who_ask_within_a_quarter_of_a_second_share_one_check(
    api: Service, checks: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ready, "SHARED_S", 60.0)
    assert ask(api, 100) == {200}
    assert ask(api, 100) == {200}
    assert len(checks) == 1
    monkeypatch.setattr(ready, "SHARED_S", 0.0)
    assert ask(api, 1) == {200}
    assert len(checks) == 2


def test_a_check_that_failed_is_shared_and_then_forgotten(
    api: Service, checks: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # those who ask while one runs share it all the same
    monkeypatch.setattr(ready, "SHARED_S", 0.0)
    with api.db.write() as tx:
        tx.execute(sa.text("UPDATE alembic_version SET version_num = '0' || version_num"))
    try:
        assert ask(api, 100) == {503}
        assert len(checks) == 1
    finally:
        with api.db.write() as tx:
            tx.execute(sa.text("UPDATE alembic_version SET version_num = substr(version_num, 2)"))
    assert ask(api, 1) == {200}


def test_the_migrations_are_read_once_a_process(
    api: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading and running them takes 15 ms, each time that anybody asks."""
    assert ask(api, 1) == {200}
    monkeypatch.setattr(migrate, "_config", None)
    monkeypatch.setattr(ready, "SHARED_S", 0.0)
    assert ask(api, 3) == {200}


@contextmanager
def default_executor_full(api: Service) -> Iterator[None]:
    """Keeps whatever uses the event loop's own executor waiting until the end of the block."""
    over = threading.Event()

    async def fill() -> None:
        loop = asyncio.get_running_loop()
        for _ in range(DEFAULT_THREADS_MAX):
            loop.run_in_executor(None, over.wait, 30)

    api.run(fill())
    try:
        yield
    finally:
        over.set()


def test_no_request_waits_for_the_executor_that_everybody_can_fill(
    api: Service, amina: Actor, bilal: Actor
) -> None:
    """Requests come by every way through the service, with keys that are not remembered yet, and
    none is answered from a thread of the loop's own.
    """
    send = {"sender": "AMINA", "message": "hello", "recipients": [RECIPIENT]}
    assert api.post(amina, "/sms/send", send, key="used").status == 200
    with default_executor_full(api):
        api.refresh()
        assert ask(api, 3) == {200}
        assert ask(api, 3, "/metrics") == {200}
        answers: list[Reply] = [
            api.post(amina.key("sms.send"), "/sms/send", send),
            api.post(amina, "/sms/send", {**send, "dry_run": True}, key="dry"),
            api.post(
                amina,
                "/sms/send",
                {**send, "recipients": [f"2332012{number:05d}" for number in range(900)]},
            ),
            api.post(amina, "/otp/send", {"phone": RECIPIENT}),
            api.get(bilal, "/balance"),
        ]
        assert [reply.status for reply in answers] == [200] * len(answers), answers
        assert (
            api.post(amina, "/sms/send", {**send, "customer_id": "acc_nobody"}, key="used").status
            == 409
        )
        assert api.get("sk_live_nobody", "/balance").status == 401
