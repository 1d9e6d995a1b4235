"""Adds what counts for a partner and its customers together: credits that were moved, and
one-time passwords that nobody gives back.

The version before goes on working: each new column has a default, and a tally is one that it knows.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

ID = sa.Uuid(as_uuid=False)
HOURS, DAYS = 24, 8


class Counts(NamedTuple):
    """Holds the counts of one tally up to its last hour (since 1970)."""

    hour: int
    sent: list[int]
    verified: list[int]
    best: list[int]


def upgrade() -> None:
    op.add_column(
        "wallets",
        sa.Column(
            "moved_day",
            sa.Integer(),
            nullable=False,
            server_default="0",
            comment="days since 1970 (UTC) that moved_credits counts",
        ),
    )
    op.add_column(
        "wallets",
        sa.Column(
            "moved_credits",
            sa.BigInteger(),
            nullable=False,
            server_default="0",
            comment="that the partner moved to this customer on that day, less what it took back",
        ),
    )
    _count_customers_with_their_partners()


def _count_customers_with_their_partners() -> None:
    """Begins each partner's tallies with what its customers sent and verified, so that a partner of
    many is not held for one without a past.
    """
    bind = op.get_bind()
    columns = "t.account_id, t.country_code, t.hour, t.sent, t.verified, t.best, t.changed_at_ms"
    customers = bind.execute(
        sa.text(
            f"SELECT a.parent_id, {columns} FROM otp_tallies t JOIN accounts a ON a.id ="
            " t.account_id WHERE a.parent_id IS NOT NULL"
        )
    ).all()
    if not customers:
        return
    own = {
        (row[0], row[1]): row
        for row in bind.execute(
            sa.text(
                f"SELECT {columns} FROM otp_tallies t JOIN accounts a ON a.id = t.account_id WHERE"
                " a.parent_id IS NULL"
            )
        )
    }
    tallies: dict[tuple[Any, str], tuple[Counts, int]] = {}
    for parent_id, _, country_code, *counted, changed_at_ms in customers:
        place = (parent_id, country_code)
        if place not in tallies and place in own:
            tallies[place] = _read(own[place][2:6]), own[place][6]
        before, at_ms = tallies.get(place, (Counts(0, [0] * HOURS, [0] * HOURS, [0] * DAYS), 0))
        tallies[place] = _sum(before, _read(counted)), max(at_ms, changed_at_ms)
    table = sa.table(
        "otp_tallies",
        *(
            sa.column(name, ID) if name == "account_id" else sa.column(name)
            for name in (
                "account_id",
                "country_code",
                "hour",
                "sent",
                "verified",
                "best",
                "changed_at_ms",
            )
        ),
    )
    for (account_id, country_code), (counts, changed_at_ms) in tallies.items():
        values = {
            "hour": counts.hour,
            "sent": _written(counts.sent),
            "verified": _written(counts.verified),
            "best": _written(counts.best),
            "changed_at_ms": changed_at_ms,
        }
        raw = str(account_id).replace("-", "")
        if (account_id, country_code) in own:
            bind.execute(
                sa.update(table)
                .where(table.c.account_id == raw, table.c.country_code == country_code)
                .values(values)
            )
        else:
            bind.execute(
                sa.insert(table).values(account_id=raw, country_code=country_code, **values)
            )


def _read(row: Sequence[Any]) -> Counts:
    return Counts(int(row[0]), *([int(count) for count in text.split(",")] for text in row[1:]))


def _sum(one: Counts, other: Counts) -> Counts:
    """Returns the sum of both, up to the later one's hour. The best hours are added up, though they
    need not have been the same ones. That is rather too many than too few.
    """
    hour = max(one.hour, other.hour)
    first, second = (_moved(counts, hour) for counts in (one, other))
    return Counts(
        hour,
        *(
            [a + b for a, b in zip(*pair, strict=True)]
            for pair in zip(first[1:], second[1:], strict=True)
        ),
    )


def _moved(counts: Counts, hour: int) -> Counts:
    hours, days = min(hour - counts.hour, HOURS), min(hour // HOURS - counts.hour // HOURS, DAYS)
    return Counts(
        hour,
        [*counts.sent[hours:], *[0] * hours],
        [*counts.verified[hours:], *[0] * hours],
        [*counts.best[days:], *[0] * days],
    )


def _written(counts: Iterable[int]) -> str:
    return ",".join(map(str, counts))
