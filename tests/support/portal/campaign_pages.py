"""Fills in and reads the pages of campaigns for tests."""

import html
import re

from heliograph import campaigns
from heliograph.campaigns import Campaign
from heliograph.database.database import Database
from tests.support.factories import SENDER

HOSTILE = "<script>alert(1)</script>"
FORM = {"name": "Spring", "sender": SENDER, "message": "Hi {name|friend}", "audience": "all"}


def those_of(db: Database, account_id: str) -> list[Campaign]:
    with db.read() as tx:
        return campaigns.page(tx, limit=10, account_id=account_id)


def path_of(home: str, campaign: Campaign) -> str:
    return f"{home}/campaigns/{campaigns.text_id(campaign)}"


def words_of(page: str) -> str:
    """Returns what a person reads of a page."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())
