"""A console of its own and the portal have two addresses, and each link leads to the right one."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from heliograph import accounts
from heliograph.api.app import acceptor_for
from heliograph.base.settings import Settings
from heliograph.console import console_only, portal_and_console
from heliograph.database.cache import ConfigCache
from heliograph.database.database import Database
from heliograph.messages.queue import FairQueue
from tests.support.api.service import Loop
from tests.support.console.operators import sign_in_operator
from tests.support.console.people import WHY, YAW
from tests.support.factories import SECRET_KEY
from tests.support.portal.visitor import SITE, Visitor

PORTAL, CONSOLE = "https://sms.example.com", "https://console.example.com"
Browser = Callable[..., AbstractContextManager[Visitor]]


@pytest.fixture
def browser(db: Database, cache: ConfigCache, run_loop: Loop) -> Browser:
    """Makes a browser in which an operator is signed in, at a process with these settings."""

    @contextmanager
    def make(serving: Any, **given: Any) -> Iterator[Visitor]:
        acceptor = acceptor_for(db, cache, lambda carrier_ids: None, FairQueue())
        settings = Settings(Path(), db.url, SECRET_KEY, **given)
        pages = serving(settings, db, lambda _: None, acceptor)
        visitor = Visitor(db, pages, run_loop)
        sign_in_operator(visitor, db)
        yield visitor
        visitor.close()
        run_loop(pages.close())

    return make


def test_a_link_leads_a_member_to_the_portal_and_an_operator_to_the_console(
    db: Database, amina_id: str, browser: Browser
) -> None:
    with db.read() as tx:
        people = f"/console/accounts/{accounts.text_id(accounts.by_id(tx, amina_id))}/people"
    with browser(console_only, base_url=PORTAL, console_url=SITE) as admin:
        admin.get(people)
        member = admin.post(people, {"email": YAW, "role": "developer", **WHY})
        assert f"{PORTAL}/portal/sign-in/" in member.text
        operator = admin.post(
            "/console/people/operators",
            {"email": "efua@example.com", "role": "auditor", **WHY},
        )
        assert f"{SITE}/portal/sign-in/" in operator.text


@pytest.mark.parametrize(
    ("console_url", "leads"), [(CONSOLE, f"{CONSOLE}/console"), (None, "/portal/you")]
)
def test_without_the_console_an_operator_is_led_to_where_it_is(
    browser: Browser, console_url: str | None, leads: str
) -> None:
    with browser(portal_and_console, console=False, console_url=console_url) as operator:
        assert operator.get("/portal").headers["location"] == leads
        own_page = operator.get("/portal/you")
        assert own_page.status_code == 200
        assert (f'<a href="{leads}">' in own_page.text) == (console_url is not None)
