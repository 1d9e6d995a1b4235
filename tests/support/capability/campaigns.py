"""Makes contacts and campaigns for tests: it has plain functions, of one transaction each."""

import io
import json
from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph import campaigns
from heliograph.base import clock, ids
from heliograph.campaigns import Campaign
from heliograph.campaigns.campaign import by_id as campaign_by_id
from heliograph.campaigns.tables import campaign_recipients
from heliograph.contacts import ContactOwner
from heliograph.contacts.search_buckets import assign_buckets, lock_contacts
from heliograph.contacts.tables import contacts
from heliograph.database.database import Database
from heliograph.opt_outs.tables import suppressions
from heliograph.text import parse_phone
from tests.support.factories import SENDER


def add_contacts(
    db: Database, account_id: str, people: Iterable[dict[str, Any] | str], *, sandbox: bool = False
) -> None:
    """Adds contacts; each is a phone, or {phone, name, tags, custom, opted_out}."""
    rows, out = list[dict[str, Any]](), dict[int, bool]()
    for person in people:
        given = {"phone": person} if isinstance(person, str) else person
        phone = parse_phone(given["phone"])
        assert phone is not None
        out[int(phone.digits)] = bool(given.get("opted_out"))
        rows.append(
            {
                "id": ids.raw_of_number(ids.new_number()),
                "account_id": account_id,
                "sandbox": sandbox,
                "phone": int(phone.digits),
                "country_code": phone.country_code,
                "name": given.get("name"),
                "tags": json.dumps(given.get("tags", [])),
                "custom": json.dumps(given.get("custom", {})),
                "opted_out": given.get("opted_out", False),
                "searched": "",
                "created_at_ms": 0,
                "updated_at_ms": 0,
            }
        )
    with db.write() as tx:
        owner = ContactOwner(account_id, sandbox)
        lock_contacts(tx, owner)
        rows.sort(key=lambda row: row["id"])
        buckets = assign_buckets(tx, owner, [row["id"] for row in rows])
        for row, bucket in zip(rows, buckets, strict=True):
            row["shelf"] = bucket
        tx.execute(sa.insert(contacts), rows)
        set_opted_out(tx, account_id, out, sandbox=sandbox)


def set_opted_out(
    tx: Connection, account_id: str, out: Mapping[int, bool], *, sandbox: bool = False
) -> None:
    """Stores that these phones have opted out or not, and nothing else: campaigns that are under
    way are not told.
    """
    columns, whose = suppressions.c, {"account_id": account_id, "sandbox": sandbox}
    theirs = (columns.account_id == account_id) & columns.sandbox.is_(sandbox)
    tx.execute(sa.delete(suppressions).where(theirs, columns.phone.in_(list(out))))
    made = [
        {
            **whose,
            "phone": phone,
            "sender": "",
            "id": ids.raw_of_number(ids.new_number()),
            "source": "api",
        }
        for phone, is_out in out.items()
        if is_out
    ]
    if made:
        tx.execute(sa.insert(suppressions), made)


def write_down(db: Database, account_id: str, *, sandbox: bool = False, **fields: Any) -> Campaign:
    """Writes down a draft to all contacts, or to those with the `tags`."""
    body = {
        "name": "Spring",
        "sender": SENDER,
        "message": "Hello",
        "audience": "tags" if "tags" in fields else "all",
        **fields,
    }
    with db.write() as tx:
        return campaigns.create(
            tx,
            account_id,
            campaigns.read_campaign_request(body),
            sandbox=sandbox,
            now_ms=clock.now_ms(),
        )


def write_down_file(
    db: Database, account_id: str, lines: Iterable[object], *, columns: str = "phone", **fields: Any
) -> Campaign:
    """Writes down a draft to the numbers of a file with these lines."""
    body = {"name": "Owed", "sender": SENDER, "message": "Hello", "audience": "numbers", **fields}
    file = io.StringIO("".join(f"{line}\n" for line in (columns, *lines)))
    return campaigns.create_listed(
        db,
        account_id,
        campaigns.read_campaign_request(body),
        campaigns.Numbers(file, "GH"),
        sandbox=False,
    ).campaign


def now(db: Database, campaign: Campaign) -> Campaign:
    """Returns the campaign as it stands."""
    with db.read() as tx:
        return campaign_by_id(tx, campaign.id)


def written(db: Database, campaign: Campaign) -> dict[int, tuple[str | None, int | None]]:
    """Returns, of the recipients that are written down and not marked as opted out, their text and
    its segments.
    """
    with db.read() as tx:
        found = tx.execute(
            sa.select(campaign_recipients).where(
                campaign_recipients.c.group_id == campaign.group_id,
                sa.not_(campaign_recipients.c.opted_out),
            )
        )
        return {row.recipient: (row.text, row.segments) for row in found}
