"""Puts the pages of the console beside those of the portal."""

from dataclasses import replace

from heliograph.base.settings import Settings
from heliograph.console.pages import PAGES
from heliograph.database.database import Database
from heliograph.messages.accept import Acceptor
from heliograph.portal import Portal, portal_for
from heliograph.portal.page_request import ClientOf


def portal_and_console(
    settings: Settings, db: Database, client_of: ClientOf, acceptor: Acceptor
) -> Portal | None:
    """Returns what serves the portal and the console, each unless the settings turn it off, or None
    if they turn both off. Raises SettingError.
    """
    return portal_for(settings, db, client_of, acceptor, PAGES if settings.console else ())


def console_only(
    settings: Settings, db: Database, client_of: ClientOf, acceptor: Acceptor
) -> Portal:
    """Returns what serves the console and its sign-in alone, at HELIOGRAPH_CONSOLE_URL. Links for
    members lead to the portal, at HELIOGRAPH_BASE_URL. It sends no mail: a link in one leads to the
    address of the process that mails it, which is another one. Raises SettingError.
    """
    own_url = settings.console_url or settings.base_url
    alone = replace(settings, portal=False, smtp_url=None, base_url=own_url)
    pages = portal_for(alone, db, client_of, acceptor, PAGES, portal_url=settings.base_url)
    assert pages is not None
    return pages
