"""What files are called, and what their columns and rows say, is only shown: documents of sender
IDs, files of contacts, and files that a campaign goes to. So is what such files are refused with.
"""

import csv
import html
import secrets
from io import StringIO

import httpx
import pytest
import sqlalchemy as sa

from heliograph.database.database import Database
from heliograph.senders.tables import sender_documents
from tests.support.api.cast import approve_sender
from tests.support.console.operators import PDF, waiting_sender
from tests.support.portal.hostile import HOSTILE, active_parts_of, assert_inert
from tests.support.portal.stored_contacts import upload
from tests.support.portal.visitor import EMAIL, Visitor, home_of


def sheet_of(text: str) -> bytes:
    """Returns a file of which one column has this name. One of its rows has the text as its phone,
    and the other one has a phone.
    """
    file = StringIO()
    csv.writer(file).writerows([["phone", text], ["233201234567", text], [text, text]])
    return file.getvalue().encode()


def send_file(
    visitor: Visitor, path: str, file_name: str, content: bytes, **fields: str
) -> httpx.Response:
    """Sends a file by a form that takes one, and follows where that leads."""
    visitor.get(path)
    of_page = {"form_token": visitor.token, "once": secrets.token_urlsafe()}
    answer = visitor.post_as_it_is(
        path, data=of_page | fields, files={"file": (file_name, content, "text/csv")}
    )
    return visitor.get(answer.headers["location"]) if answer.status_code == 303 else answer


def is_shown(text: str, page: httpx.Response) -> bool:
    """Tells whether a page shows the beginning of a text. Lines and controls may be left out."""
    words = "".join(each for each in text[:20] if each.isprintable() and each != " ")
    shown = html.unescape(page.text).replace(" ", "")
    return words in "".join(each for each in shown if each.isprintable())


@pytest.mark.usefixtures("mailbox")
def test_no_file_becomes_a_part_of_a_page(visitor: Visitor, db: Database, amina_id: str) -> None:
    visitor.sign_in(EMAIL, amina_id)
    home = home_of(db, amina_id)
    documents = f"{home}/senders/{waiting_sender(db, amina_id)}/documents"
    campaign = {"name": "Spring", "sender": "AMINA", "message": "Hi"}
    with db.write() as tx:
        approve_sender(tx, amina_id, "AMINA")
    active = active_parts_of(visitor.get(f"{home}/contacts/import").text)
    found: dict[str, list[bool]] = {}
    for text in HOSTILE:
        sheet, write = sheet_of(text), f"{home}/campaigns/new/import"
        visitor.get(f"{home}/contacts/import")
        pages = [
            send_file(visitor, documents, text, PDF),
            upload(visitor, home, sheet),
            upload(visitor, home, b"phone\n12\n", phone_column=text, name_column=text),
            send_file(visitor, write, "list.csv", sheet, **campaign),
            send_file(visitor, write, "list.csv", sheet, **campaign, phone_column=text),
        ]
        found[text[:99]] = [is_shown(text, page) for page in pages]
        for page in [*pages, visitor.get(documents), visitor.get(f"{home}/contacts")]:
            assert page.status_code in (200, 400), text[:99]
            assert_inert(page, active, text[:99])
        with db.write() as tx:
            tx.execute(sa.delete(sender_documents))
    # a name is shown without its folder, and a control makes a file unreadable
    assert all(sum(way) > 20 for way in zip(*found.values(), strict=True)), found
