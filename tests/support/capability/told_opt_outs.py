"""Lets somebody hear of opt-outs, and returns what was told of them."""

from typing import Final, NamedTuple

from heliograph.database.database import Database
from tests.support.api.service import contract
from tests.support.capability.webhooks import endpoint, events

KINDS: Final = ["contact.opted_out", "contact.opted_in"]


class Told(NamedTuple):
    """Holds what an event said: `what` is "out" or "in"."""

    what: str
    phone: str
    source: str
    sender: str | None = None


def hears_of_opt_outs(db: Database, account_id: str, *, sandbox: bool = False) -> None:
    endpoint(db, account_id, kinds=KINDS, sandbox=sandbox)


def told_of_opt_outs(db: Database) -> list[Told]:
    """Returns what was told, oldest first. All of it is as the description says, and was no
    keyword.
    """
    told = []
    for event in events(db):
        contract().check_webhook(event)
        data = event["data"]
        assert (data["keyword"], data["inbound_id"]) == (None, None)
        assert data["sandbox"] == event["sandbox"]
        what = event["event"].removeprefix("contact.opted_")
        told.append(Told(what, data["phone"], data["source"], data["sender"]))
    return told
