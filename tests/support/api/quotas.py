"""Sets storage quotas of accounts, and reads what is stored, as tests see them."""

import sqlalchemy as sa

from heliograph.accounts import quotas
from heliograph.accounts.quotas import set_quotas, used_today
from heliograph.base import clock
from heliograph.base.clock import DAY_MS
from tests.support.api.cast import Actor
from tests.support.api.service import Reply, Service


def allow(api: Service, who: Actor, **octets_of_kinds: int | None) -> None:
    with api.db.write() as tx:
        set_quotas(
            tx,
            who.account_id,
            {quotas.StoredKind(kind): octets for kind, octets in octets_of_kinds.items()},
        )
    api.refresh()


def rows(api: Service, table: sa.Table) -> int:
    with api.db.read() as tx:
        return int(tx.execute(sa.select(sa.func.count()).select_from(table)).scalar_one())


def used(api: Service, who: Actor, kind: quotas.StoredKind, *, sandbox: bool = False) -> int:
    with api.db.read() as tx:
        return used_today(tx, who.account_id, clock.now_ms()).get((kind, sandbox), 0)


def assert_full(reply: Reply) -> None:
    assert (reply.status, reply.code, reply.reason) == (
        429,
        "RATE_LIMITED",
        "storage_quota_reached",
    ), reply
    left_s = (DAY_MS - clock.now_ms() % DAY_MS) / 1_000
    assert 0 <= int(reply.headers["Retry-After"]) - left_s <= 2, "until the day ends"
