"""A database with rows of an earlier version is brought to this one, and keeps them."""

from typing import Any

import sqlalchemy as sa

from heliograph.database import migrate, schema
from heliograph.database.database import Database
from heliograph.opt_outs.tables import suppressions
from heliograph.otp.unverified_allowance import DAYS, HOURS, OtpTally
from heliograph.otp.unverified_allowance import decode_counts as decode
from heliograph.senders.look_alikes import skeleton
from tests.support.services.earlier_schema import bring_to

SENDERS = {"PAYPA1": "1" * 32, "M-TN": "2" * 32, "2335550": "3" * 32, "Modern & Co": "4" * 32}


def test_senders_of_before_look_alike_too(bare_url: str) -> None:
    database = Database(bare_url)
    bring_to(database, "0006")
    with database.write() as tx:
        tx.execute(
            sa.text(
                "INSERT INTO accounts (id, name, country_code, status, max_tier, time_zone,"
                " created_at_ms) VALUES (:id, 'amina', 'GH', 'active', 'standard', 'UTC', 1)"
            ),
            {"id": "0" * 32},
        )
        for sender, id_ in SENDERS.items():
            tx.execute(
                sa.text(
                    "INSERT INTO senders (id, account_id, sandbox, sender, folded, status,"
                    " is_default, created_at_ms) VALUES (:id, :account, :no, :sender, :folded,"
                    " 'approved', :no, 1)"
                ),
                {
                    "id": id_,
                    "account": "0" * 32,
                    "no": False,
                    "sender": sender,
                    "folded": sender.lower(),
                },
            )
    migrate.upgrade(bare_url)
    with database.read() as tx:
        assert schema.is_current(tx)
        found = {
            row[0]: row[1] for row in tx.execute(sa.text("SELECT sender, skeleton FROM senders"))
        }
    assert found == {sender: skeleton(sender) for sender in SENDERS}
    database.close()


def test_what_customers_sent_and_verified_is_their_partners_too(bare_url: str) -> None:
    database = Database(bare_url)
    bring_to(database, "0012")
    partner, first, second = (letter * 32 for letter in "abc")
    with database.write() as tx:
        for account, parent in ((partner, None), (first, partner), (second, partner)):
            tx.execute(
                sa.text(
                    "INSERT INTO accounts (id, parent_id, name, country_code, status, max_tier,"
                    " time_zone, created_at_ms, sandbox) VALUES (:id, :parent, 'x', 'GH', 'active',"
                    " 'standard', 'UTC', 1, :no)"
                ),
                {"id": account, "parent": parent, "no": False},
            )
        for account, country, hour, sent in (
            (partner, "*", 47, 1),
            (first, "*", 48, 20),
            (second, "*", 50, 300),
            (first, "GH", 48, 20),
        ):
            counts = {
                "sent": [0] * 22 + [sent, sent],
                "verified": [0] * 23 + [sent],
                "best": [0] * 7 + [sent],
            }
            tx.execute(
                sa.text(
                    "INSERT INTO otp_tallies (account_id, country_code, hour, sent, verified, best,"
                    " changed_at_ms) VALUES (:id, :country, :hour, :sent, :verified, :best, 1)"
                ),
                {
                    "id": account,
                    "country": country,
                    "hour": hour,
                    **{name: ",".join(map(str, each)) for name, each in counts.items()},
                },
            )
    migrate.upgrade(bare_url)
    with database.read() as tx:
        found = {
            row[0]: (row[1], *map(decode, row[2:]))
            for row in tx.execute(
                sa.text("""
                        SELECT t.country_code, hour, sent, verified, best FROM otp_tallies t
                            JOIN accounts a ON a.id = t.account_id WHERE parent_id IS NULL""")
            )
        }
    hour, sent, verified, best = found["*"]
    assert (hour, sent[-5:], verified[-5:], best[-2:]) == (
        50,
        [1, 21, 20, 300, 300],
        [0, 1, 20, 0, 300],
        [1, 320],
    )
    assert found["GH"][0] == 48
    assert (sum(found["GH"][1]), len(found["GH"][1]), found["GH"][3]) == (40, HOURS, [0] * 7 + [20])
    database.close()


def tally_of(row: Any) -> OtpTally:
    """Returns the tally of a row of `otp_tallies`, of no account or country."""
    return OtpTally(
        account_id="",
        country_code="",
        floor=1,
        hour=row.hour,
        sent=decode(row.sent),
        verified=decode(row.verified),
        best=decode(row.best),
    )


def test_codes_of_the_day_before_are_counted_so_that_nobody_begins_without_a_past(
    bare_url: str,
) -> None:
    database = Database(bare_url)
    bring_to(database, "0010")
    hour_ms = 3_600_000
    now_ms = 500_000 * hour_ms + 1_000
    with database.write() as tx:
        # 50 to Ghana and 10 to Kenya, half of them an hour ago; two of three are verified
        for number in range(60):
            phone = 233_201_000_000 + number if number < 50 else 254_712_000_000 + number
            verified_at_ms = now_ms if number % 3 else None
            tx.execute(
                sa.text(
                    "INSERT INTO otps (id, account_id, sandbox, phone, code_hmac, failures,"
                    " verified_at_ms, verified_by, created_at_ms) VALUES (:id, :account, :no,"
                    " :phone, :hmac, 0, :verified, :by, :at)"
                ),
                {
                    "id": f"{number:032x}",
                    "account": "a" * 32,
                    "no": False,
                    "phone": phone,
                    "hmac": b"h",
                    "verified": verified_at_ms,
                    "by": None if verified_at_ms is None else "b" * 32,
                    "at": now_ms - hour_ms * (number % 2),
                },
            )
    migrate.upgrade(bare_url)
    with database.read() as tx:
        found = {
            (row.account_id.replace("-", ""), row.country_code): tally_of(row)
            for row in tx.execute(
                sa.text("""
                        SELECT CAST(account_id AS VARCHAR(36)) AS account_id, country_code, hour,
                            sent, verified, best FROM otp_tallies""")
            )
        }
    assert found.keys() == {("a" * 32, "GH"), ("a" * 32, "KE"), ("a" * 32, "*")}
    everywhere, ghana = found["a" * 32, "*"], found["a" * 32, "GH"]
    assert (
        everywhere.hour,
        everywhere.sent[-2:],
        everywhere.verified[-2:],
        max(everywhere.best),
    ) == (500_000, [30, 30], [20, 20], 20)
    assert (sum(ghana.sent), ghana.unverified, len(ghana.sent), len(ghana.best)) == (
        50,
        17,
        HOURS,
        DAYS,
    )
    database.close()


def test_who_had_opted_out_is_suppressed(bare_url: str) -> None:
    database = Database(bare_url)
    bring_to(database, "0041")
    account, at_ms = "a" * 32, 0x0190_0000_0000
    told = f"{at_ms + 5:012x}7" + "1" * 19  # the id of a change of that time
    contact = sa.text(
        "INSERT INTO contacts (id, account_id, sandbox, phone, tags, custom, opted_out, searched,"
        " created_at_ms, updated_at_ms) VALUES (:id, :account, :sandbox, :phone, '[]', '{}', :out,"
        " '', 1, :at_ms)"
    )
    change = sa.text(
        "INSERT INTO opt_out_changes (id, account_id, contact_id, opted_out, by_kind, is_import)"
        " VALUES (:id, :account, :contact, :yes, 'key', :no)"
    )
    with database.write() as tx:
        tx.execute(
            sa.text(
                "INSERT INTO accounts (id, name, country_code, status, max_tier, time_zone,"
                " sandbox, created_at_ms)"
                " VALUES (:id, 'amina', 'GH', 'active', 'standard', 'UTC', :no, 1)"
            ),
            {"id": account, "no": False},
        )
        for k, (out, sandbox) in enumerate([(True, False), (False, False), (True, True)]):
            its_id = f"{1:012x}7{k}" + "c" * 18
            given = {"id": its_id, "account": account, "sandbox": sandbox, "phone": 10 + k}
            tx.execute(contact, {**given, "out": out, "at_ms": at_ms})
        given = {"id": told, "account": account, "contact": its_id, "yes": True, "no": False}
        tx.execute(change, given)
    migrate.upgrade(bare_url)
    with database.read() as tx:
        rows = tx.execute(sa.select(suppressions).order_by(suppressions.c.phone)).all()
    assert [tuple(row) for row in rows] == [
        (account, False, 10, "", f"{at_ms:012x}70" + "c" * 18, "import"),
        (account, True, 12, "", told, "api"),
    ]
    database.close()
