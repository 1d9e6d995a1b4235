"""The portal gives out contacts as a file: the tests ask what is in it, who gets it, and who waits
for it.
"""

import asyncio
import csv
import html
import io
import re
from collections.abc import Callable
from typing import Any

import pytest

from heliograph import users
from heliograph.contacts.export_file import PAGE
from heliograph.database.database import Database
from heliograph.portal.lanes import SIZES, Lane
from heliograph.portal.portal import Portal
from heliograph.users import Role, sign_ins
from tests.support.api.service import Loop
from tests.support.capability.commands import Run
from tests.support.capability.contact_files import kept
from tests.support.factories import open_account, phones
from tests.support.portal.stored_contacts import stored
from tests.support.portal.visitor import EMAIL, Visitor, home_of

Wait = Callable[[], Any]


def rows_of(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


class SlowReader:
    """Reads one piece of a download, and the others when it is told to."""

    def __init__(self, portal: Portal, visitor: Visitor, path: str) -> None:
        self._portal = portal
        cookies = "; ".join(f"{name}={value}" for name, value in visitor.cookies.items())
        route, _, query = path.partition("?")
        self._scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "https",
            "path": route,
            "raw_path": route.encode(),
            "query_string": query.encode(),
            "headers": [(b"host", b"heliograph.test"), (b"cookie", cookies.encode())],
            "server": ("heliograph.test", 443),
        }
        self.has_begun, self.goes_on = asyncio.Event(), asyncio.Event()
        self.read = b""

    async def download(self) -> None:
        await self._portal(self._scope, self._receive, self._send)

    async def _receive(self) -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.body":
            self.read += message["body"]
            self.has_begun.set()
            await self.goes_on.wait()


def test_a_file_has_what_the_command_writes_and_comes_back(
    visitor: Visitor, db: Database, amina_id: str, home: str, run: Run, tmp_path: Any
) -> None:
    stored(db, amina_id, name="=1+1", tags=["vip", "a;=b"], custom={"@cmd": "+1", "Email": "x"})
    stored(db, amina_id, phone="233201234568", custom={"city": "Accra"})
    answer = visitor.get(f"{home}/contacts/export")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="contacts-live.csv"'
    written = rows_of(run("contact", "export", "--account", "amina").out)
    assert rows_of(answer.text) == [written[0], *written[:0:-1]]  # newest first
    chidi, file = open_account(db, "chidi"), tmp_path / "contacts.csv"
    file.write_bytes(answer.content)
    run("contact", "import", file, "--account", "chidi")
    assert kept(db, chidi) == kept(db, amina_id)


def test_a_file_has_what_the_list_shows(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    assert len(rows_of(visitor.get(f"{home}/contacts/export").text)) == 1
    stored(db, amina_id, name="Kofi & Co", custom={"city": "Accra"})
    stored(db, amina_id, phone="233201234568", custom={"street": "Ring Road"})
    stored(db, amina_id, phone="233201234569", sandbox=True)
    stored(db, open_account(db, "chidi"), phone="233201234560", name="Kofi & Co")
    visitor.get(f"{home}/contacts?q=kofi+%26")
    link = re.search(r'href="([^"]+)">Save these', visitor.page.text)
    assert link is not None
    rows = rows_of(visitor.get(html.unescape(link[1])).text)
    assert rows == [
        ["phone", "name", "email", "tags", "opted_out", "city"],
        ["233201234567", "Kofi & Co", "", "", "no", "Accra"],
    ]
    tried_out = visitor.get(f"{home}/contacts/export?mode=sandbox")
    assert [row[0] for row in rows_of(tried_out.text)] == ["phone", "233201234569"]
    assert visitor.get(f"{home}/contacts/export?colour=red").status_code == 400


def test_more_than_a_page_is_in_a_file_and_a_search_finds_it_all(
    visitor: Visitor, db: Database, amina_id: str, home: str, run: Run, tmp_path: Any
) -> None:
    file = tmp_path / "contacts.csv"
    file.write_text("phone;name\n" + "".join(f"{phone};vip\n" for phone in phones(PAGE + 5)))
    run("contact", "import", file, "--account", "amina")
    for query in ("", "?q=vip"):
        rows = rows_of(visitor.get(f"{home}/contacts/export{query}").text)
        assert sorted(row[0] for row in rows[1:]) == phones(PAGE + 5)


@pytest.mark.parametrize("role", list(Role))
def test_whoever_sees_contacts_gets_the_file_and_nobody_else(
    visitor: Visitor, stranger: Visitor, db: Database, amina_id: str, role: Role
) -> None:
    stored(db, amina_id)
    visitor.sign_in(EMAIL, amina_id, role)
    path = f"{home_of(db, amina_id)}/contacts/export"
    assert "233201234567" in visitor.get(path).text
    assert stranger.get(path).status_code == 401
    chidi = open_account(db, "chidi")
    assert visitor.get(f"{home_of(db, chidi)}/contacts/export").status_code == 404


def test_who_reads_slowly_keeps_nobody_from_a_page_and_gets_the_rest(
    visitor: Visitor, db: Database, amina_id: str, home: str, portal: Portal, run_loop: Loop
) -> None:
    stored(db, amina_id)
    path = f"{home}/contacts/export"
    whole = visitor.get(path).content

    async def read_slowly() -> None:
        slow = [SlowReader(portal, visitor, path) for _ in range(SIZES[Lane.PAGES].threads + 1)]
        downloads = [asyncio.create_task(each.download()) for each in slow]
        await asyncio.gather(*(each.has_begun.wait() for each in slow))
        assert {each.read for each in slow} == {whole.splitlines(keepends=True)[0]}
        other = SlowReader(portal, visitor, home)
        other.goes_on.set()
        await other.download()
        assert b"Last messages" in other.read
        for each in slow:
            each.goes_on.set()
        await asyncio.gather(*downloads)
        assert {each.read for each in slow} == {whole}

    run_loop(read_slowly())


def test_a_file_ends_with_the_session_that_began_it(
    visitor: Visitor, db: Database, amina_id: str, home: str, portal: Portal, run_loop: Loop
) -> None:
    stored(db, amina_id)

    async def read_slowly() -> None:
        slow = SlowReader(portal, visitor, f"{home}/contacts/export")
        download = asyncio.create_task(slow.download())
        await slow.has_begun.wait()
        with db.write() as tx:
            users.remove_member(tx, users.find(tx, EMAIL).id, amina_id)
        slow.goes_on.set()
        with pytest.raises(sign_ins.NotSignedIn):
            await download
        assert b"233201234567" not in slow.read

    run_loop(read_slowly())


def test_a_custom_field_that_comes_up_while_a_file_is_sent_is_left_out_of_it(
    visitor: Visitor, db: Database, amina_id: str, home: str, portal: Portal, run_loop: Loop
) -> None:
    stored(db, amina_id, custom={"city": "Accra"})

    async def read_slowly() -> None:
        slow = SlowReader(portal, visitor, f"{home}/contacts/export")
        download = asyncio.create_task(slow.download())
        await slow.has_begun.wait()
        stored(db, amina_id, custom={"city": "Tema", "street": "Ring Road"})
        stored(db, amina_id, phone="233201234568", custom={"street": "High Street"})
        slow.goes_on.set()
        await download
        head, *rows = rows_of(slow.read.decode())
        assert head[-1] == "city"
        assert sorted((row[0], row[-1]) for row in rows) == [
            ("233201234567", "Tema"),
            ("233201234568", ""),
        ]

    run_loop(read_slowly())
