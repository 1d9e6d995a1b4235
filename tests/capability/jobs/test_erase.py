"""After `heliograph erase`, no column of any table has the number, but another account's; and
everything that was true of money still is.
"""

from collections import Counter

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from heliograph.accounts.tables import notices
from heliograph.audit.audit import audit
from heliograph.audit.events import verify_events
from heliograph.base import clock, ids
from heliograph.campaigns.tables import campaign_recipients, campaigns
from heliograph.database.postgresql.snapshot import read_one_snapshot
from heliograph.messages.groups import open_group
from heliograph.messages.tables import (
    messages,
    sends,
)
from heliograph.text import parse_phone
from heliograph.text.phones_in_text import ERASED, Quoted
from tests.support.capability.commands import Run
from tests.support.capability.number_left import (
    LOCAL,
    OTHER,
    names_it,
    new_id,
    nobodys,
    rows,
    texts,
)
from tests.support.capability.sending import House
from tests.support.capability.webhooks import endpoint
from tests.support.factories import PHONE, awaited, open_account

DAY_MS = 86_400_000
TABLES = {  # in which the number is left
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


def text_of(house: House, account_id: str) -> None:
    """Stores a text to the number that an account has sent."""
    with house.db.write() as tx:
        send_id = new_id()
        tx.execute(
            sends.insert().values(
                id=send_id,
                account_id=account_id,
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
                id=ids.raw_of_number(int(send_id, 16) + 1),
                send_id=send_id,
                account_id=account_id,
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


def ledger(house: House) -> tuple[int, list[int], list[int]]:
    return house.credits(), house.entries("sms_charge"), house.entries("sms_refund")


def assert_proven(house: House) -> None:
    house.assert_sound()
    with house.db.read() as tx:
        read_one_snapshot(tx)
        found = [what for _, what in verify_events(tx, clock.now_ms())]
        assert (found, audit(tx).findings) == ([], [])


@awaited
async def test_no_column_of_the_database_has_the_number_and_others_keep_theirs(
    house: House, run: Run
) -> None:
    chidi = open_account(house.db, "chidi", credits=100, sender=None)
    text_of(house, chidi)
    nobodys(house)
    of_others = names_it(house.db)
    assert set(of_others) == {
        "sends.text",
        "messages.recipient",
        "carrier_refs.recipient",
        "unmatched_receipts.recipient",
        "unmatched_receipts.raw",
    }
    endpoint(house.db, house.amina_id, age_ms=DAY_MS)
    await texts(house, house.amina_id)
    assert_proven(house)
    before = ledger(house)
    rows(house, house.amina_id)
    assert {name.split(".")[0] for name in names_it(house.db)} >= TABLES
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
                sa.select(messages.c.recipient).where(messages.c.account_id == house.amina_id)
            ).scalars()
        ) == {None: 2, int(OTHER): 3}
        assert set(
            tx.execute(
                sa.select(sends.c.text).where(sends.c.account_id == house.amina_id)
            ).scalars()
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
    endpoint(house.db, house.amina_id, age_ms=DAY_MS)
    await texts(house, house.amina_id)
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
    await link.turn.run_once()
    assert run("erase", LOCAL, "--account", "amina", "--yes").status == 1  # in flight
    link.answer(*link.open.values())
    await link.turn.run_once()
    assert run("erase", LOCAL, "--account", "amina", "--yes").status == 0
    assert names_it(house.db) == {}


def test_a_campaign_that_will_send_to_it_is_named(house: House, run: Run) -> None:
    with house.db.write() as tx:
        campaign_id = new_id()
        group_id = open_group(tx, house.amina_id, campaign_id, sandbox=False)
        tx.execute(
            campaigns.insert().values(
                id=campaign_id,
                group_id=group_id,
                account_id=house.amina_id,
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
                id=new_id(), account_id=house.amina_id, kind="x", text=PHONE, created_at_ms=1
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
