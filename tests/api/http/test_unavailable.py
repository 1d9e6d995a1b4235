"""While the database is away every answer is a 503 that says when to try again; when it is
back, so is the API, without a restart.
"""

import time
from pathlib import Path

import psycopg

from heliograph.database import migrate
from tests.support.api.requests_of import examples, is_answered
from tests.support.api.service import Reply, service_on
from tests.support.services.postgres import PrivatePostgres

ANSWER_WITHIN_S = 2.0  # docs/reliability.md, row 7
BACK_WITHIN_S = 10.0


def test_a_database_that_is_away_is_503_on_every_endpoint_until_it_is_back(
    private_postgres: PrivatePostgres, tmp_path: Path
) -> None:
    migrate.upgrade(private_postgres.url)
    with service_on(private_postgres.url, tmp_path) as api:
        key = api.amina.key()
        assert all(is_answered(api, key, example) for example in examples())
        private_postgres.kill()
        for example in examples():
            asked_s = time.monotonic()
            reply = api.request(example.endpoint.method, key, example.path, **example.sends)
            assert (reply.status, reply.code, reply.reason) == (
                503,
                "UNAVAILABLE",
                "unavailable",
            ), str(example)
            assert int(reply.headers["retry-after"]) >= 1
            assert time.monotonic() - asked_s < ANSWER_WITHIN_S, str(example)
        ready = Reply(api.run(api.client.get("/readyz")))
        assert (ready.status, ready.code, int(ready.headers["retry-after"]) >= 1) == (
            503,
            "UNAVAILABLE",
            True,
        )
        private_postgres.start()
        until_s = time.monotonic() + BACK_WITHIN_S
        for example in examples():
            while not is_answered(api, key, example):
                assert time.monotonic() < until_s, str(example)


def test_tables_that_somebody_holds_are_503_for_whoever_reads_them(
    postgresql_url: str, tmp_path: Path
) -> None:
    with service_on(postgresql_url, tmp_path) as api, psycopg.connect(postgresql_url) as holder:
        key = api.amina.key()
        reads = [example for example in examples() if example.endpoint.method == "GET"]
        assert all(is_answered(api, key, example) for example in reads)
        tables = (
            "wallets, ledger_entries, sends, messages, senders, customers, contacts, campaigns,"
            " groups, inbound, numbers, keywords, suppressions,"
            " message_replies, answering_sends"
        )
        holder.execute(f"LOCK TABLE {tables} IN ACCESS EXCLUSIVE MODE")
        replies = api.at_once(
            *(api.requested("GET", key, example.path, **example.sends) for example in reads)
        )
        for example, reply in zip(reads, replies, strict=True):
            assert (reply.status, reply.code, "retry-after" in reply.headers) == (
                503,
                "UNAVAILABLE",
                True,
            ), str(example)


def test_a_configuration_that_somebody_holds_is_read_again_as_soon_as_it_can_be(
    postgresql_url: str, tmp_path: Path
) -> None:
    with service_on(postgresql_url, tmp_path) as api:
        key, example = api.amina.key(), examples()[0]
        assert is_answered(api, key, example)
        with psycopg.connect(postgresql_url) as holder:
            holder.execute("LOCK TABLE config IN ACCESS EXCLUSIVE MODE")
            held_s = time.monotonic()
            while api.run(api.client.get("/readyz")).status_code == 200:
                assert time.monotonic() - held_s < 5
            assert (
                api.request(example.endpoint.method, key, example.path, **example.sends).status
                == 503
            )
            while time.monotonic() - held_s < 2.5:  # for longer than a statement waits for a lock
                api.run(api.client.get("/healthz"))
        until_s = time.monotonic() + BACK_WITHIN_S
        while not is_answered(api, key, example):
            assert time.monotonic() < until_s
        assert api.run(api.client.get("/readyz")).status_code == 200
