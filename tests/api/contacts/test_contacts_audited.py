"""What a program does to contacts is told of by hour, so that it fills no audit log."""

from concurrent.futures import ThreadPoolExecutor

from heliograph.accounts import audit_log
from heliograph.accounts.audit_log import COUNTED_MS
from heliograph.base import clock
from heliograph.base.paging import PageWanted
from tests.support.api.cast import Actor
from tests.support.api.service import Service
from tests.support.polling import wait_until


def entries(api: Service, who: Actor) -> list[audit_log.StoredEntry]:
    with api.db.read() as tx:
        return list(audit_log.page(tx, who.account_id, PageWanted(1_000, None)))


def told(api: Service, who: Actor) -> list[tuple[str, str | None, str | None]]:
    return [(e.entry.action, e.entry.record, e.entry.detail) for e in entries(api, who)]


def test_changes_of_contacts_by_a_key_are_counted_by_hour(
    at_noon: None, api: Service, chidi: Actor, amina: Actor
) -> None:
    reply = api.post(chidi, "/contacts", {"phone": "233201234567"})
    assert reply.status == 200, reply
    first = reply.data["id"]
    once = "1 in the hour from this time"
    assert told(api, chidi) == [("contact.save", first, once)]
    assert entries(api, chidi)[0].at_ms % COUNTED_MS == 0

    def add(number: int) -> int:
        return api.post(chidi, "/contacts", {"phone": f"2332012345{number:02}"}).status

    with ThreadPoolExecutor(4) as at_once:
        assert set(at_once.map(add, range(20))) == {200}
    api.put(chidi, f"/contacts/{first}", {"name": "Esi"})
    api.post(amina, "/contacts", {"phone": "233201234567"})
    assert sorted(told(api, chidi)) == [
        ("contact.change", first, once),
        ("contact.save", None, "21 in the hour from this time"),
    ]
    clock.move(by_ms=COUNTED_MS)
    wait_until(lambda: api.get(chidi, "/contacts").status == 200, "the configuration is read again")
    api.delete(chidi, f"/contacts/{first}")
    add(99)
    assert sorted(action for action, _, _ in told(api, chidi)) == [
        "contact.change",
        "contact.remove",
        "contact.save",
        "contact.save",
    ]
