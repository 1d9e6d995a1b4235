"""Whatever names and texts an account has, its pages are made of the same elements, and lead to the
same places.
"""

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

from heliograph import connect, contacts, keys, plugin, senders
from heliograph.accounts.audit_log import AuditEntry, Author, AuthorKind, write
from heliograph.base import clock, ids
from heliograph.base.json import encode
from heliograph.contacts import Changer, ChangerKind, ContactOwner, ContactPatch
from heliograph.contacts.tables import contacts as contact_rows
from heliograph.database.database import Database
from heliograph.plugin.tables import sites
from heliograph.text import Phone
from tests.support.capability.campaigns import write_down
from tests.support.factories import phones
from tests.support.portal.hostile import HOSTILE, structure_of
from tests.support.portal.shown_texts import OF_ACCOUNTS
from tests.support.portal.visitor import Visitor

COUNT = len(HOSTILE)
LISTS = (
    "",
    "/audit",
    "/campaigns",
    "/campaigns/new",
    "/connect",
    "/contacts",
    "/keys",
    "/members",
    "/quickstart",
    "/reports",
    "/send",
    "/senders",
    "/settings",
    "/sites",
)


def fill(db: Database, amina_id: str) -> None:
    """Stores forty of each thing that has a name or a text."""
    now_ms = clock.now_ms()
    owner = ContactOwner(amina_id, False)
    given: dict[str, Any] = {"name": "x", "email": "x@y", "tags": ("x",), "custom": {"x": "x"}}
    author, by = (
        Author(AuthorKind.USER, amina_id, "x"),
        Changer(ChangerKind.KEY, "x"),
    )
    with db.write() as tx:
        changes = [
            ContactPatch(Phone(phone, "GH"), given | {"opted_out": True}) for phone in phones(COUNT)
        ]
        contacts.upsert(tx, owner, changes, by=by, now_ms=now_ms)
        for k in range(COUNT):
            keys.issue(
                tx,
                amina_id,
                name="x",
                sandbox=False,
                tier="standard",
                permissions=["sms.send"],
                now_ms=now_ms,
            )
            asked, _ = connect.read_customer_request(
                {"full_name": "x", "phone": "233201234599", "country_code": "GH"}
            )
            connect.provision(tx, amina_id, asked, sandbox=False, now_ms=now_ms)
            details = plugin.SiteDetails("x", "x", "x", "x", "x")
            plugin.connect(
                tx, amina_id, f"https://shop{k}.example", details, sandbox=False, now_ms=now_ms
            )
            senders.register(tx, amina_id, f"SHOP{k}", sandbox=False, now_ms=now_ms)
            write(tx, amina_id, author, AuditEntry("key.make", "x", "x"), now_ms=now_ms)
    for _ in range(COUNT):
        write_down(db, amina_id)


def store(db: Database, texts: list[str]) -> None:
    """Gives each text of each row one of the texts, past all that checks them."""
    with db.write() as tx:
        for table, columns in OF_ACCOUNTS.items():
            (key,) = table.primary_key.columns
            raw_ids = tx.execute(sa.select(key).order_by(key)).scalars().all()
            for place, raw in enumerate(raw_ids):
                values = {
                    name: texts[(place + shift) % len(texts)][: _length(table.c[name])]
                    for shift, name in enumerate(columns)
                }
                if table is contact_rows:
                    values |= {"tags": _json([texts[place]]), "custom": _json({texts[place]: "x"})}
                tx.execute(table.update().where(key == raw).values(values))


def _json(value: object) -> str:
    return encode(value).decode()


def _length(column: sa.Column[Any]) -> int | None:
    return column.type.length if isinstance(column.type, sa.String) else None


def pages(db: Database, home: str) -> Iterator[str]:
    """Yields the lists, and one of each thing: every text stands on one of them."""
    yield from (f"{home}{path}" for path in LISTS)
    with db.read() as tx:
        for raw in tx.execute(sa.select(contact_rows.c.id).order_by(contact_rows.c.id)).scalars():
            yield f"{home}/contacts/{ids.text_of_raw('con', raw)}"
        for raw in tx.execute(sa.select(sites.c.id).order_by(sites.c.id).limit(5)).scalars():
            yield f"{home}/sites/{ids.text_of_raw('site', raw)}"


def test_no_text_of_an_account_becomes_a_part_of_a_page(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    fill(db, amina_id)
    paths = list(pages(db, home))
    store(db, [f"plain {k}" for k in range(COUNT)])
    plain = {path: structure_of(visitor.get(path).text) for path in paths}
    # PostgreSQL stores no NUL
    store(db, [text.replace("\0", "?") if db.postgresql else text for text in HOSTILE])
    for path in paths:
        page = visitor.get(path)
        assert page.status_code == 200, path
        assert structure_of(page.text) == plain[path], path
        assert "b=c" not in page.headers.get("set-cookie", "")
