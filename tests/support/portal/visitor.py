"""Acts as a visitor of the portal, as a browser is one: it keeps cookies, and sends the forms of
pages.
"""

import asyncio
import html
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import httpx
from sqlalchemy.engine import Connection

from heliograph import accounts, users
from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.portal import visit
from heliograph.portal.portal import Portal
from heliograph.users import Role, sign_ins
from tests.support.api.service import Loop
from tests.support.capability.waiting import until_so_many_wait

SITE = "https://heliograph.test"
EMAIL = "ama@example.com"  # of amina's owner


def home_of(db: Database, account_id: str) -> str:
    """Returns the path of an account's pages."""
    with db.read() as tx:
        return visit.home_of(accounts.by_id(tx, account_id))


def once_in(page: httpx.Response) -> str:
    """Returns the random value of the form on a page, by which it is done once."""
    found = re.search(r'name="once" value="([^"]+)"', page.text)
    assert found is not None
    return found[1]


def shown_in(page: httpx.Response) -> str:
    """Returns what the form on a page says that the page has shown; nothing if it does not say."""
    found = re.search(r'name="shown" value="([^"]*)"', page.text)
    return html.unescape(found[1]) if found else ""


class Visitor:
    """Asks a portal for pages."""

    def __init__(self, db: Database, portal: Portal, run: Loop) -> None:
        self.db = db
        self._run = run
        self._client = httpx.AsyncClient(
            transport=httpx.ASGITransport(portal), base_url=SITE, verify=False
        )
        self.page = httpx.Response(200)  # the last one

    def get(self, path: str, **more: Any) -> httpx.Response:
        self.page = self._run(self._client.get(path, **more))
        return self.page

    def pages(self, path: str) -> Iterator[httpx.Response]:
        """Asks for a page of a list, and for all older ones."""
        while path:
            yield self.get(path)
            older = re.search(r'rel="next" href="([^"]+)"', self.page.text)
            path = html.unescape(older[1]) if older else ""

    def post(self, path: str, fields: dict[str, str] | None = None, **more: Any) -> httpx.Response:
        """Sends a form with the token of the last page that had one, and with what that page says
        it has shown, if it does. Its random value is that of no other form, unless it is given.
        """
        of_page = {"form_token": self.token, "once": secrets.token_urlsafe()}
        shown = shown_in(self.page)
        data = of_page | ({"shown": shown} if shown else {}) | (fields or {})
        return self._run(self._client.post(path, data=data, **more))

    def post_as_it_is(self, path: str, **more: Any) -> httpx.Response:
        return self._run(self._client.post(path, **more))

    def post_twice(
        self, path: str, fields: Mapping[str, str], **more: Any
    ) -> tuple[httpx.Response, httpx.Response]:
        """Sends one form twice at the same time, as two clicks do."""
        data = {"form_token": self.token, **fields}

        async def both() -> tuple[httpx.Response, httpx.Response]:
            return await asyncio.gather(
                self._client.post(path, data=data, **more),
                self._client.post(path, data=data, **more),
            )

        return self._run(both())

    def post_at_once(
        self,
        path: str,
        forms: Sequence[Mapping[str, str]],
        hold: Callable[[Connection], object],
    ) -> list[httpx.Response]:
        """Sends forms of the last page, each as of a page of its own, while the test's own
        transaction holds what `hold` locks. It ends when all of them wait for it.
        """
        of_page = {"form_token": self.token}
        sent = [{**of_page, "once": secrets.token_urlsafe(), **form} for form in forms]

        async def all_at_once() -> list[httpx.Response]:
            with self.db.write() as tx:
                hold(tx)
                answers = asyncio.gather(*(self._client.post(path, data=each) for each in sent))
                await asyncio.to_thread(until_so_many_wait, self.db, len(sent))
            return list(await answers)

        return self._run(all_at_once())

    def get_beside(self, path: str, form: str, how_often: int) -> float:
        """Sends an empty form so often at once, each as of a page of its own, and asks for a page
        meanwhile. It returns how many seconds the page took.
        """
        token = self.token
        sent = [{"form_token": token, "once": secrets.token_urlsafe()} for _ in range(how_often)]

        async def both() -> float:
            forms = [asyncio.create_task(self._client.post(form, data=each)) for each in sent]
            await asyncio.sleep(0.3)
            began = time.monotonic()
            self.page = await self._client.get(path)
            took = time.monotonic() - began
            assert not all(each.done() for each in forms)
            await asyncio.gather(*forms)
            return took

        return self._run(both())

    @property
    def token(self) -> str:
        found = re.search(r'name="form_token" value="([0-9a-f]{64})"', self.page.text)
        assert found is not None, self.page.text
        return found[1]

    @property
    def cookies(self) -> httpx.Cookies:
        return self._client.cookies

    def sign_in(self, email: str, account_id: str, role: Role = Role.OWNER) -> None:
        with self.db.write() as tx:
            user = users.add(tx, email, now_ms=clock.now_ms())
            users.set_role(tx, user.id, account_id, role, now_ms=clock.now_ms())
            secret = sign_ins.make_link(tx, user.id, now_ms=clock.now_ms())
        self.get(f"/portal/sign-in/{secret}")
        signed_in = self.post(f"/portal/sign-in/{secret}")
        assert signed_in.status_code == 303, signed_in.text

    def close(self) -> None:
        self._run(self._client.aclose())
