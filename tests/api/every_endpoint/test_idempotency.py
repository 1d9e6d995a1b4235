"""Every POST takes an Idempotency-Key: what succeeded once is answered again, and not done again
(docs/api.md, "Idempotency").
"""

import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from heliograph.base import ids
from heliograph.database.database import Database
from heliograph.requests import idempotency
from heliograph.requests.stored_keys import KEPT_MS
from heliograph.requests.tables import idempotency_keys
from tests.support.api.cast import PHONE, Actor
from tests.support.api.service import Reply, Service


class Post(NamedTuple):
    """Describes a POST, and what it leaves behind."""

    path: str
    body: dict[str, Any]
    other: dict[str, Any]  # a body that is right too
    refused: dict[str, Any]  # one that is not
    effects: Callable[[Service, Actor | str], int]


POSTS = [
    Post(
        "/sms/send",
        {"sender": "AMINA", "message": "hello", "recipients": [PHONE]},
        {"sender": "AMINA", "message": "hi", "recipients": [PHONE]},
        {"sender": "NOBODY", "message": "hello", "recipients": [PHONE]},
        lambda api, who: len(api.get(who, "/reports").data),
    ),
    Post(
        "/otp/send",
        {"phone": PHONE},
        {"phone": "233201234568"},
        {"phone": PHONE, "sender": "NOBODY"},
        lambda api, who: len(api.get(who, "/reports", type="otp").data),
    ),
    Post(
        "/sender-ids",
        {"sender": "FIRST"},
        {"sender": "SECOND"},
        {"sender": "?"},
        lambda api, who: sum(
            record["sender"] != "AMINA" for record in api.get(who, "/sender-ids").data
        ),
    ),
]
EVERY_POST = pytest.mark.parametrize("post", POSTS, ids=[post.path for post in POSTS])


def is_replay(reply: Reply, first: Reply) -> bool:
    assert "idempotent-replayed" not in first.headers
    return (
        reply.status == 200
        and reply.headers.get("idempotent-replayed") == "true"
        and reply.body == first.body
    )


def is_conflict(reply: Reply, reason: str = "idempotency_key_reused") -> bool:
    return (reply.status, reply.code, reply.reason) == (409, "CONFLICT", reason)


@EVERY_POST
def test_the_same_request_with_the_same_key_acts_once_and_is_answered_the_same(
    api: Service, amina: Actor, post: Post
) -> None:
    first = api.post(amina, post.path, post.body, key="k-1")
    assert is_replay(api.post(amina, post.path, post.body, key="k-1"), first)
    assert post.effects(api, amina) == 1
    assert (
        first.response.content == api.post(amina, post.path, post.body, key="k-1").response.content
    )


@EVERY_POST
def test_another_body_with_the_same_key_is_a_conflict(
    api: Service, amina: Actor, post: Post
) -> None:
    api.post(amina, post.path, post.body, key="k-1")
    assert is_conflict(api.post(amina, post.path, post.other, key="k-1"))
    assert is_conflict(api.post(amina, post.path, {**post.body, "unknown": 1}, key="k-1"))
    assert post.effects(api, amina) == 1
    assert api.post(amina, post.path, post.other, key="k-2").status == 200


@EVERY_POST
def test_a_key_is_judged_after_the_form_and_before_what_the_body_names(
    api: Service, amina: Actor, chidi: Actor, post: Post
) -> None:
    api.post(amina, post.path, post.body, key="k-1")
    assert api.post(amina, post.path, {}, key="k-1").status == 400
    unknown = {**post.body, "customer_id": chidi.text_id}
    assert is_conflict(api.post(amina, post.path, unknown, key="k-1"))
    assert api.post(amina, post.path, unknown, key="k-2").status == 404


@EVERY_POST
def test_what_did_not_succeed_leaves_the_key_free(api: Service, amina: Actor, post: Post) -> None:
    assert api.post(amina, post.path, post.refused, key="k-1").status == 400
    first = api.post(amina, post.path, post.body, key="k-1")
    assert (first.status, first.headers.get("idempotent-replayed")) == (200, None)


@EVERY_POST
def test_a_key_belongs_to_its_account_mode_and_path(
    api: Service, amina: Actor, bilal: Actor, chidi: Actor, post: Post
) -> None:
    bilal.sender("AMINA")
    chidi.sender("AMINA")
    api.refresh()
    amina_acts = {**post.other, "customer_id": bilal.text_id}
    for key, body in (
        (amina.key(), post.body),
        (amina.key(sandbox=True), post.other),
        (chidi.key(), post.other),
        (bilal.key(), post.other),
    ):
        assert api.post(key, post.path, body, key="k-1").headers.get("idempotent-replayed") is None
    assert is_conflict(api.post(amina, post.path, amina_acts, key="k-1"))
    for other in POSTS:
        if other.path != post.path:
            assert (
                api.post(amina, other.path, other.body, key="k-1").headers.get(
                    "idempotent-replayed"
                )
                is None
            )


@EVERY_POST
def test_equal_requests_at_once_act_once(api: Service, amina: Actor, post: Post) -> None:
    headers = {"Idempotency-Key": "k-1"}
    replies = api.at_once(
        *(
            api.requested("POST", amina, post.path, json=post.body, headers=headers)
            for _ in range(20)
        )
    )
    assert {reply.status for reply in replies} == {200}
    assert sum("idempotent-replayed" not in reply.headers for reply in replies) == 1
    assert len({reply.response.content for reply in replies}) == 1
    assert post.effects(api, amina) == 1


@EVERY_POST
def test_different_requests_at_once_with_one_key_act_once(
    api: Service, amina: Actor, bilal: Actor, post: Post
) -> None:
    bilal.sender("AMINA")
    api.refresh()
    bodies = [post.body, {**post.body, "customer_id": bilal.text_id}] * 5
    replies = api.at_once(
        *(
            api.requested("POST", amina, post.path, json=body, headers={"Idempotency-Key": "k-1"})
            for body in bodies
        )
    )
    assert sorted({reply.status for reply in replies}) == [200, 409], replies
    assert (
        sum(reply.status == 200 and "idempotent-replayed" not in reply.headers for reply in replies)
        == 1
    )


@pytest.mark.judged_in_python
@EVERY_POST
@pytest.mark.parametrize("keys", [[""], ["x" * 256], ["é"], ["a", "a"], ["a\tb"]], ids=repr)
def test_a_key_that_cannot_be_is_refused(
    api: Service, amina: Actor, post: Post, keys: list[str]
) -> None:
    headers = [
        (b"Authorization", f"Bearer {amina.key()}".encode()),
        *((b"Idempotency-Key", key.encode()) for key in keys),
    ]
    reply = api.run(api.client.post(f"/api/v1{post.path}", json=post.body, headers=headers))
    error = reply.json()["error"]
    assert (reply.status_code, error["code"], error["reason"]) == (
        400,
        "INVALID_REQUEST",
        "invalid_field",
    )
    assert [bad["field"] for bad in error["fields"]] == ["Idempotency-Key"]
    assert post.effects(api, amina) == 0


def test_a_key_of_255_characters_is_kept(api: Service, amina: Actor) -> None:
    for post in POSTS:
        first = api.post(amina, post.path, post.body, key="x" * 255)
        assert is_replay(api.post(amina, post.path, post.body, key="x" * 255), first)


def test_a_dry_run_stores_no_key(api: Service, amina: Actor) -> None:
    body = POSTS[0].body
    assert api.post(amina, "/sms/send", {**body, "dry_run": True}, key="k-1").status == 200
    assert api.post(amina, "/sms/send", body, key="k-1").headers.get("idempotent-replayed") is None
    assert is_conflict(api.post(amina, "/sms/send", {**body, "dry_run": True}, key="k-1"))
    assert api.post(amina, "/sms/send", {**body, "dry_run": True}, key="k-2").status == 200


def test_a_key_is_free_again_after_72_hours(api: Service, amina: Actor) -> None:
    api.post(amina, "/sender-ids", {"sender": "FIRST"}, key="k-1")
    api.move_clock(KEPT_MS - 60_000)
    assert is_conflict(api.post(amina, "/sender-ids", {"sender": "SECOND"}, key="k-1"))
    api.move_clock(61_000)
    assert api.post(amina, "/sender-ids", {"sender": "SECOND"}, key="k-1").status == 200


@pytest.mark.parametrize("finished", [True, False], ids=["finished in time", "not finished"])
def test_an_equal_request_waits_for_the_one_that_is_being_carried_out(
    postgresql_api: Service, monkeypatch: pytest.MonkeyPatch, finished: bool
) -> None:
    api, amina = postgresql_api, postgresql_api.amina
    monkeypatch.setattr(idempotency, "WAIT_S", 10.0 if finished else 0.0)
    first = api.post(amina, "/sender-ids", {"sender": "FIRST"}, key="k-1")
    with api.db.write() as tx:
        row = dict(
            tx.execute(idempotency_keys.delete().returning(*idempotency_keys.c)).one()._mapping
        )
    holder = Holder(api.db, row)
    waiting: list[Reply] = []
    thread = threading.Thread(
        target=lambda: waiting.append(
            api.post(amina, "/sender-ids", {"sender": "FIRST"}, key="k-1")
        )
    )
    thread.start()
    if finished:
        holder.wait_for(thread)
        holder.finish(commit=True)
        thread.join()
        assert is_replay(waiting[0], first)
    else:
        thread.join()
        holder.finish(commit=False)
        assert is_conflict(waiting[0], "idempotency_in_progress")
        assert waiting[0].headers["retry-after"] == "1"


class Holder:
    """Holds the transaction of another process, which has written a key's row and is not
    committed.
    """

    def __init__(self, db: Database, row: dict[str, Any]) -> None:
        self._connection = db.engine.connect()
        self._connection.execute(idempotency_keys.insert().values(row))
        self._pid = self._connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()

    def wait_for(self, thread: threading.Thread) -> None:
        """Waits until the other one waits for this row a second time: a lock is waited for one
        second at most, and then tried again.
        """
        tries: set[Any] = set()
        while len(tries) < 2 and thread.is_alive():
            tries |= self._waiting_since()
            time.sleep(0.005)

    def _waiting_since(self) -> set[Any]:
        """Returns when those who wait began to. In a transaction, PostgreSQL goes on showing the
        sessions that it has shown first, unless told otherwise.
        """
        self._connection.exec_driver_sql("SELECT pg_stat_clear_snapshot()")
        waiters = f"""
            SELECT query_start FROM pg_stat_activity
            WHERE {self._pid} = ANY(pg_blocking_pids(pid))"""
        return set(self._connection.exec_driver_sql(waiters).scalars())

    def finish(self, *, commit: bool) -> None:
        (self._connection.commit if commit else self._connection.rollback)()
        self._connection.close()


def test_the_id_of_a_replayed_send_finds_its_message(api: Service, amina: Actor) -> None:
    api.post(amina, "/sms/send", POSTS[0].body, key="k-1")
    replayed = api.post(amina, "/sms/send", POSTS[0].body, key="k-1").data["message_id"]
    assert ids.raw_of_text("msg", replayed)
    assert api.get(amina, f"/messages/{replayed}").status == 200
