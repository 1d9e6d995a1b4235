"""`heliograph erase`: afterwards no column of any table has the number, but another account's; and
everything that was true of money is.
"""

import hashlib
import json
from collections import Counter
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from heliograph import accounts, wallet
from heliograph.accounts.tables import customers, notices
from heliograph.audit.audit import audit
from heliograph.audit.events import verify_events
from heliograph.base import clock, ids
from heliograph.campaigns.tables import campaign_recipients, campaigns
from heliograph.carriers import ReceiptState
from heliograph.contacts.tables import contacts, opt_outs
from heliograph.database.database import metadata
from heliograph.messages.groups import open_group
from heliograph.messages.tables import (
    carrier_refs,
    messages,
    operator_decisions,
    sends,
    unmatched_receipts,
)
from heliograph.otp.tables import otps
from heliograph.plugin.tables import site_events, site_logs, sites
from heliograph.requests.tables import idempotency_keys
from heliograph.text import parse_phone
from heliograph.text.phones_in_text import ERASED, Quoted
from heliograph.webhooks.tables import webhook_attempts, webhook_deliveries, webhook_events
from tests.support.capability.commands import Run
from tests.support.capability.sending import House
from tests.support.capability.webhooks import endpoint
from tests.support.factories import PHONE, awaited, open_account

LOCAL = "020 123-4567"
OTHER = "233201234568"
DAY_MS = 86_400_000


def _new() -> str:
    return ids.raw_of_number(ids.new_number())


def names_it(db: Any) -> Counter[str]:
    """How many values of each column of the whole database have the number in them, in any
    spelling.
    """
    phone = parse_phone(PHONE)
    assert phone is not None
    quoted, found = Quoted(phone), Counter[str]()
    with db.read() as tx:
        for table in metadata.sorted_tables:
            for row in tx.execute(sa.select(table)).mappings():
                for name, value in row.items():
                    text = value.decode("latin-1") if isinstance(value, bytes) else str(value)
                    if not isinstance(table.c[name].type, sa.Uuid | sa.types.TypeDecorator) and (
                        quoted.stands_in(text) or PHONE[3:] in text
                    ):
                        found[f"{table.name}.{name}"] += 1
    return found


async def texts(house: House, account_id: str) -> None:
    """To the number alone, to it and another, and to another about it; and one that was refused."""
    for to, text in (
        ([PHONE], "your code"),
        ([PHONE, OTHER], "to both"),
        ([OTHER], f"call {LOCAL}"),
        ([OTHER, f"+{PHONE}9"], "hi"),
    ):
        await house.send(
            to,
            text=text,
            account_id=account_id,
            reference=f"for {PHONE}" if to == [OTHER] else None,
        )
        link = house.turn()
        await link.turn.once()
        for submission in list(link.open.values()):
            (ref,) = link.answer(submission, ref=f"{submission.message_id[-12:]}")
            link.receive(ref, submission.recipient, ReceiptState.DELIVRD)
        await link.turn.once()


def rows(house: House, account_id: str) -> None:
    """What other ways leave behind of it."""
    now_ms, number = clock.now_ms(), int(PHONE)
    with house.db.write() as tx:
        event_id, message_id = (
            tx.execute(
                sa.select(column).where(table.c.account_id == account_id).limit(1)
            ).scalar_one()
            for table, column in ((webhook_events, webhook_events.c.id), (messages, messages.c.id))
        )
        campaign_id, site_id = _new(), _new()
        group_id = open_group(tx, account_id, campaign_id, sandbox=False)
        customer = accounts.create(
            tx, f"customer {campaign_id}", "GH", parent_id=account_id, now_ms=now_ms
        )
        for table, values in (
            (
                contacts,
                {
                    "id": _new(),
                    "account_id": account_id,
                    "sandbox": False,
                    "phone": number,
                    "tags": "[]",
                    "custom": "{}",
                    "opted_out": False,
                    "searched": PHONE,
                    "created_at_ms": 1,
                    "updated_at_ms": 1,
                },
            ),
            (
                contacts,
                {
                    "id": _new(),
                    "account_id": account_id,
                    "sandbox": True,
                    "phone": int(OTHER),
                    "tags": "[]",
                    "custom": f'{{"of":"{LOCAL}"}}',
                    "opted_out": False,
                    "searched": LOCAL,
                    "created_at_ms": 1,
                    "updated_at_ms": 1,
                },
            ),
            (opt_outs, {"account_id": account_id, "sandbox": False, "phone": number, "due_ms": 0}),
            (
                campaigns,
                {
                    "id": campaign_id,
                    "group_id": group_id,
                    "account_id": account_id,
                    "sandbox": False,
                    "name": "x",
                    "sender": "AMINA",
                    "text": f"call {PHONE}",
                    "audience": "{}",
                    "validity_s": 60,
                    "status": "completed",
                    "as_far_as_credits_reach": False,
                    "recipients_total": 1,
                    "opted_out": 0,
                    "refused": 0,
                    "cursor": number,
                    "expanded": True,
                    "ended_at_ms": 1,
                    "created_at_ms": 1,
                },
            ),
            (
                campaign_recipients,
                {"group_id": group_id, "recipient": number, "text": f"for {LOCAL}"},
            ),
            (
                otps,
                {
                    "id": _new(),
                    "account_id": account_id,
                    "sandbox": False,
                    "phone": number,
                    "code_hmac": b"x" * 32,
                    "failures": 0,
                    "created_at_ms": 1,
                },
            ),
            (
                sites,
                {
                    "id": site_id,
                    "account_id": account_id,
                    "sandbox": False,
                    "site_url": "https://a.example",
                    "connected_at_ms": 1,
                    "updated_at_ms": 1,
                },
            ),
            (
                site_logs,
                {
                    "id": _new(),
                    "site_id": site_id,
                    "event": "sent",
                    "recipient": LOCAL,
                    "external_ref": f"for {PHONE}",
                    "created_at_ms": 1,
                },
            ),
            (
                site_events,
                {
                    "id": _new(),
                    "site_id": site_id,
                    "event": "sold",
                    "payload": json.dumps({"to": LOCAL}),
                    "created_at_ms": 1,
                },
            ),
            (
                idempotency_keys,
                {
                    "account_id": account_id,
                    "sandbox": False,
                    "path": "POST /contacts",
                    "key": "k",
                    "created_at_ms": now_ms,
                    "body_sha256": hashlib.sha256(b"").digest(),
                    "answer": json.dumps({"data": {"phone": PHONE}}),
                },
            ),
            (
                customers,
                {
                    "account_id": customer.id,
                    "partner_id": account_id,
                    "sandbox": False,
                    "phone": PHONE,
                },
            ),
            (
                notices,
                {
                    "id": _new(),
                    "account_id": account_id,
                    "kind": "x",
                    "text": f"about {PHONE}",
                    "created_at_ms": 1,
                },
            ),
            (
                operator_decisions,
                {
                    "id": _new(),
                    "message_id": message_id,
                    "carrier_id": 1,
                    "parts": 0,
                    "decision": "sent",
                    "decided_by": "amina",
                    "reason": f"{LOCAL} has it",
                    "decided_at_ms": 1,
                },
            ),
            (
                webhook_deliveries,
                {
                    "endpoint_id": _new(),
                    "event_id": event_id,
                    "outcome": "missed",
                    "tries": 1,
                    "answer": PHONE,
                    "at_ms": now_ms,
                },
            ),
            (
                webhook_attempts,
                {
                    "id": _new(),
                    "endpoint_id": _new(),
                    "event_id": event_id,
                    "try": 1,
                    "reason": "status",
                    "took_ms": 1,
                    "answer": f"no such {LOCAL}",
                },
            ),
        ):
            tx.execute(table.insert().values(values))


def nobodys(house: House) -> None:
    """Receipts that found no message."""
    with house.db.write() as tx:
        tx.execute(
            carrier_refs.insert().values(
                carrier_id=1,
                ref="nobodys",
                recipient=int(PHONE),
                receipt_state="DELIVRD",
                created_at_ms=1,
            )
        )
        tx.execute(
            unmatched_receipts.insert().values(
                id=_new(),
                carrier_id=1,
                recipient=int(PHONE),
                raw=f"to {PHONE}".encode(),
                received_at_ms=1,
            )
        )


def ledger(house: House) -> tuple[int, list[int], list[int]]:
    return house.credits(), house.entries("sms_charge"), house.entries("sms_refund")


def assert_proven(house: House) -> None:
    house.assert_sound()
    with house.db.read() as tx:
        wallet.hold_still(tx)
        found = [what for _, what in verify_events(tx, clock.now_ms())]
        assert (found, audit(tx).findings) == ([], [])


@awaited
async def test_no_column_of_the_database_has_the_number_and_others_keep_theirs(
    house: House, run: Run
) -> None:
    chidi = open_account(house.db, "chidi", credits=100, sender=None)
    with house.db.write() as tx:
        chidis = _new()
        tx.execute(
            sends.insert().values(
                id=chidis,
                account_id=chidi,
                sandbox=False,
                type="sms",
                sender="CHIDI",
                text=f"to {PHONE}",
                encoding="GSM-7",
                segments=1,
                message_count=1,
                expires_at_ms=1,
                credits_required=0,
                credits_used=0,
                credits_remaining=0,
                created_at_ms=1,
            )
        )
        tx.execute(
            messages.insert().values(
                id=ids.raw_of_number(int(chidis, 16) + 1),
                send_id=chidis,
                account_id=chidi,
                sandbox=False,
                credits=0,
                recipient=int(PHONE),
                carrier_id=1,
                status="sent",
                segments=1,
                sent_at_ms=1,
                parts_accepted=1,
            )
        )
    nobodys(house)
    of_others = names_it(house.db)
    assert set(of_others) == {
        "sends.text",
        "messages.recipient",
        "carrier_refs.recipient",
        "unmatched_receipts.recipient",
        "unmatched_receipts.raw",
    }
    endpoint(house.db, house.amina, age_ms=DAY_MS)
    await texts(house, house.amina)
    assert_proven(house)
    before = ledger(house)
    rows(house, house.amina)
    assert {name.split(".")[0] for name in names_it(house.db)} >= {
        "sends",
        "messages",
        "carrier_refs",
        "contacts",
        "opt_outs",
        "campaigns",
        "campaign_recipients",
        "otps",
        "site_logs",
        "site_events",
        "idempotency_keys",
        "customers",
        "notices",
        "operator_decisions",
        "webhook_events",
        "webhook_deliveries",
        "webhook_attempts",
    }
    said = run("erase", f"+{PHONE}", "--account", "amina", "--yes", "--by", "ama", "--json").json
    assert names_it(house.db) == of_others
    assert (said["erased"]["messages"], said["erased"]["sends"], said["erased"]["contacts"]) == (
        2,
        3,
        2,
    )
    assert ledger(house) == before
    house.assert_sound()
    with house.db.read() as tx:
        assert Counter(
            tx.execute(
                sa.select(messages.c.recipient).where(messages.c.account_id == house.amina)
            ).scalars()
        ) == {None: 2, int(OTHER): 3}
        assert set(
            tx.execute(sa.select(sends.c.text).where(sends.c.account_id == house.amina)).scalars()
        ) == {None, "to both", "hi"}
        (notice,) = tx.execute(
            sa.select(notices.c.text).where(notices.c.kind == "number_erased")
        ).scalars()
        assert "by ama" in notice
    assert run("erase", LOCAL, "--account", "amina", "--yes", "--json").json["rows"] == 0
    # nobody else has sent to it: then receipts that found no message go too
    with house.db.write() as tx:
        tx.execute(messages.delete().where(messages.c.account_id == chidi))
        tx.execute(sends.delete().where(sends.c.account_id == chidi))
    assert run("erase", LOCAL, "--account", "amina", "--yes", "--json").json["erased"] == {
        "carrier_refs": 1,
        "unmatched_receipts": 1,
    }
    assert names_it(house.db) == {}


@awaited
async def test_the_proofs_hold_after_it(house: House, run: Run) -> None:
    endpoint(house.db, house.amina, age_ms=DAY_MS)
    await texts(house, house.amina)
    run("erase", PHONE, "--account", "amina", "--yes", "--json")
    assert_proven(house)
    assert run("ledger", "verify", "--json").json["proven"] is True


@awaited
async def test_while_something_is_to_be_sent_nothing_is_erased(house: House, run: Run) -> None:
    await house.send([PHONE, OTHER])
    await house.send(OTHER, text=f"call {LOCAL}")
    before = names_it(house.db)
    said = run("erase", LOCAL, "--account", "amina", "--yes")
    assert (said.status, names_it(house.db)) == (1, before)
    assert "1 message to this number is not sent yet" in said.err
    assert "1 text with this number in it is not sent yet" in said.err
    link = house.turn()
    await link.turn.once()
    assert run("erase", LOCAL, "--account", "amina", "--yes").status == 1  # in flight
    link.answer(*link.open.values())
    await link.turn.once()
    assert run("erase", LOCAL, "--account", "amina", "--yes").status == 0
    assert names_it(house.db) == {}


def test_a_campaign_that_will_send_to_it_is_named(house: House, run: Run) -> None:
    with house.db.write() as tx:
        campaign_id = _new()
        group_id = open_group(tx, house.amina, campaign_id, sandbox=False)
        tx.execute(
            campaigns.insert().values(
                id=campaign_id,
                group_id=group_id,
                account_id=house.amina,
                sandbox=False,
                name="x",
                sender="AMINA",
                text="hi",
                audience="{}",
                validity_s=60,
                status="sending",
                created_at_ms=1,
                as_far_as_credits_reach=False,
                recipients_total=1,
                opted_out=0,
                refused=0,
                cursor=int(PHONE) - 1,
                expanded=False,
            )
        )
        tx.execute(campaign_recipients.insert().values(group_id=group_id, recipient=int(PHONE)))
    said = run("erase", PHONE, "--account", "amina", "--yes")
    assert said.status == 1
    assert ids.text_of_raw("cmp", campaign_id) in said.err
    with house.db.write() as tx:
        tx.execute(campaigns.update().values(cursor=int(PHONE)))
    assert run("erase", PHONE, "--account", "amina", "--yes", "--json").json["erased"] == {
        "campaign_recipients": 1
    }


def test_it_asks_first_and_names_what_is_wrong(house: House, run: Run) -> None:
    with house.db.write() as tx:
        tx.execute(
            notices.insert().values(
                id=_new(), account_id=house.amina, kind="x", text=PHONE, created_at_ms=1
            )
        )
    asked = run("erase", PHONE, "--account", "amina")
    assert (asked.status, "--yes" in asked.err, sum(names_it(house.db).values())) == (2, True, 1)
    for wrong in (
        ["12", "--account", "amina"],
        [PHONE, "--account", "amina", "--country", "XX"],
        [PHONE],
    ):
        assert run("erase", *wrong, "--yes").status == 2
    assert run("erase", PHONE, "--account", "nobody", "--yes").status == 1
    with house.db.read() as tx:
        assert not tx.execute(sa.select(notices).where(notices.c.kind == "number_erased")).all()


SEPARATOR = st.text(" -.()\u00a0\u2007\u202f\u2010\u2011\u2012\u2013\u2014\u2015\u2212", max_size=2)


@pytest.mark.parametrize("prefix", ["+233", "00233", "233", "0", ""])
@given(
    separators=st.lists(SEPARATOR, min_size=9, max_size=9),
    around=st.tuples(st.text("ab ,:", max_size=3), st.text("ab ,:", max_size=3)),
)
def test_a_number_is_found_in_any_spelling(
    prefix: str, separators: list[str], around: tuple[str, str]
) -> None:
    phone = parse_phone(PHONE)
    assert phone is not None
    spelled = prefix + "".join(
        separator + digit for separator, digit in zip(separators, "201234567", strict=True)
    )
    text = f"{around[0]}x {spelled}{around[1]}"
    quoted = Quoted(phone)
    assert quoted.stands_in(text)
    assert not any(character.isdigit() for character in quoted.erased_from(text))
    assert ERASED in quoted.erased_from(text)
    assert not quoted.stands_in(text.replace("7", "8"))
