"""What a page changes of opt-outs is told to the account's webhook endpoints."""

from heliograph.database.database import Database
from tests.support.capability.told_opt_outs import Told, hears_of_opt_outs, told_of_opt_outs
from tests.support.factories import phones
from tests.support.portal.stored_contacts import path_of, stored, upload
from tests.support.portal.visitor import Visitor

FIRST, SECOND = phones(2)
SHEET = f"""phone;opted_out
{FIRST};yes
{SECOND};yes
233201234569;no
{SECOND};yes
"""


def test_pages_tell_of_each_opt_out_and_of_each_that_they_lift(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    hears_of_opt_outs(db, amina_id)
    path = path_of(home, stored(db, amina_id, phone=FIRST))
    for do in ("opt_out", "opt_out", "opt_in"):
        visitor.get(path)
        assert visitor.post(path, {"do": do}).status_code == 303
    path = f"{home}/conversations/{SECOND}"
    for do in ("add", "add", "remove", "remove"):
        visitor.get(f"{path}?mode=live")
        answer = visitor.post(f"{path}/opt-out", {"mode": "live", "do": do})
        assert answer.status_code == 303
    expected = [Told(what, phone, "portal") for phone in (FIRST, SECOND) for what in ("out", "in")]
    assert told_of_opt_outs(db) == expected
    visitor.get(f"{home}/contacts/import")
    assert upload(visitor, home, SHEET).status_code == 200
    assert told_of_opt_outs(db) == expected + [
        Told("out", phone, "import") for phone in (FIRST, SECOND)
    ]
