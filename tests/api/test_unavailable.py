"""While the database is away every answer is a 503 that says when to try again; when it is back, so is the API, without a restart."""

import time
from pathlib import Path

from heliograph.base import migrate
from tests.api.requests_of import examples, is_answered
from tests.api.service import Reply, service_on
from tests.services.postgres import PrivatePostgres

ANSWER_WITHIN_S = 2.0  # promise 7
BACK_WITHIN_S = 10.0


def test_a_database_that_is_away_is_503_on_every_endpoint_until_it_is_back(private_postgres: PrivatePostgres, tmp_path: Path) -> None:
    migrate.upgrade(private_postgres.url)
    with service_on(private_postgres.url, tmp_path) as api:
        key = api.amina.key()
        assert all(is_answered(api, key, example) for example in examples())
        private_postgres.kill()
        for example in examples():
            asked_s = time.monotonic()
            reply = api.request(example.endpoint.method, key, example.path, **example.sends)
            assert (reply.status, reply.code, reply.reason) == (503, "UNAVAILABLE", "unavailable"), str(example)
            assert int(reply.headers["retry-after"]) >= 1
            assert time.monotonic() - asked_s < ANSWER_WITHIN_S, str(example)
        ready = Reply(api.run(api.client.get("/readyz")))
        assert (ready.status, ready.code, int(ready.headers["retry-after"]) >= 1) == (503, "UNAVAILABLE", True)
        private_postgres.start()
        until_s = time.monotonic() + BACK_WITHIN_S
        for example in examples():
            while not is_answered(api, key, example):
                assert time.monotonic() < until_s, str(example)
