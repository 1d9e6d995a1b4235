"""Measures one-time passwords over 64 connections: they are sent one by one to phones that had
none, and right codes are given back.
"""

import secrets

import sqlalchemy as sa

from bench import load, setup, traffic
from bench.databases import Databases, Installation
from bench.ours import measured
from bench.reading import Conditions, Reading, together
from bench.server import SECRET_KEY, count_messages, scalar, serving, set_up
from heliograph.accounts.tables import accounts
from heliograph.base import clock, ids
from heliograph.database.database import Database
from heliograph.otp.code import Codes
from heliograph.otp.tables import otps

CODE = "402913"
PER_SECOND_MAX = 12_000  # codes made ready for each second of load; who gives back more finds none
ROWS_AT_ONCE = 10_000
_VERIFIED = "SELECT count(*) FROM otps WHERE verified_at_ms IS NOT NULL"


def send(conditions: Conditions, databases: Databases) -> list[Reading]:
    """Measures sending while the carrier is away, so that all stay queued."""
    with set_up(conditions, databases) as installation, serving(installation) as server:
        sends = traffic.otp_sends(installation.data_dir, server.port, setup.keys_file(installation))
        warm = load.run(sends, conditions.connections, conditions.warm_up_s)
        seen, detail = measured(server, sends, conditions.connections, conditions.seconds)
        lost = {"lost": max(0, warm.answered + seen.answered - count_messages(installation).stored)}
        return [
            Reading(
                f"ours.otp_send.{databases.kind}",
                seen.per_s,
                together(seen.errors, warm.errors, lost),
                detail,
            )
        ]


def verify(conditions: Conditions, databases: Databases) -> list[Reading]:
    """Measures codes that were put into the database beforehand, and are given back once each."""
    with set_up(conditions, databases) as installation:
        firsts = {
            first: int(seconds * PER_SECOND_MAX)
            for first, seconds in ((0, conditions.warm_up_s), (5_000_000, conditions.seconds))
        }
        for first, count in firsts.items():
            _issue(installation, first, count)
        with serving(installation) as server:
            codes = traffic.otp_codes(
                installation.data_dir, server.port, setup.keys_file(installation), CODE
            )
            warm_first, first = firsts
            warm = load.run(codes, conditions.connections, conditions.warm_up_s, warm_first)
            seen, detail = measured(
                server, codes, conditions.connections, conditions.seconds, first
            )
            lost = {"lost": max(0, warm.answered + seen.answered - scalar(installation, _VERIFIED))}
            return [
                Reading(
                    f"ours.otp_verify.{databases.kind}",
                    seen.per_s,
                    together(seen.errors, warm.errors, lost),
                    detail,
                )
            ]


def _issue(installation: Installation, first: int, count: int) -> None:
    """Stores what the load's requests with the numbers after `first` give back: each code is the
    next account's, and was sent to the number's recipient.
    """
    codes, database, now_ms = Codes(SECRET_KEY), Database(installation.url), clock.now_ms()
    base = (now_ms << 80) | (0x7 << 76) | (0b10 << 62) | secrets.randbits(40) << 20
    try:
        with database.read() as tx:
            in_order = (
                sa.select(accounts.c.id)
                .where(accounts.c.name.like("bench %"))
                .order_by(sa.func.length(accounts.c.name), accounts.c.name)
            )
            account_ids = list(tx.execute(in_order).scalars())  # as the keys file has them
        for start in range(first + 1, first + count + 1, ROWS_AT_ONCE):
            rows = []
            for number in range(start, min(start + ROWS_AT_ONCE, first + count + 1)):
                account_id, phone, otp_id = (
                    account_ids[number % len(account_ids)],
                    int(traffic.recipient(number)),
                    ids.raw_of_number(base + number),
                )
                rows.append(
                    {
                        "id": otp_id,
                        "account_id": account_id,
                        "sandbox": False,
                        "phone": phone,
                        "failures": 0,
                        "created_at_ms": now_ms,
                        "code_hmac": codes.keyed(otp_id, account_id, phone, CODE, sandbox=False),
                    }
                )
            with database.write() as tx:
                tx.execute(otps.insert(), rows)
    finally:
        database.close()
