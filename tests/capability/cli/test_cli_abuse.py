"""`heliograph abuse` lists what the page *Abuse* of the console does."""

from heliograph import accounts
from heliograph.base import clock
from heliograph.base.clock import DAY_MS, HOUR_MS
from heliograph.database.database import Database
from heliograph.senders import reserved_names
from tests.support.capability.commands import Run, typed
from tests.support.console.messages import stored_message
from tests.support.factories import open_account
from tests.support.portal.rolled_up import rolled_up


def text_id(db: Database, account_id: str) -> str:
    with db.read() as tx:
        return accounts.text_id(accounts.by_id(tx, account_id))


def test_accounts_that_suddenly_send_more_are_listed(run: Run, db: Database, amina_id: str) -> None:
    clock.move(by_ms=DAY_MS - clock.now_ms() % DAY_MS + 12 * HOUR_MS)
    chidi = open_account(db, "chidi", sender=None)
    assert run(*typed("abuse volume --json")).json == []
    rolled_up(db, chidi, clock.now_ms() - DAY_MS, sent=700)
    rolled_up(db, chidi, clock.now_ms(), sent=1_234)
    rolled_up(db, amina_id, clock.now_ms(), sent=499)
    [listed] = run(*typed("abuse volume --json")).json
    assert listed == {
        "account_id": text_id(db, chidi),
        "today": 1_234,
        "before": 100.0,
        "times": 12.3,
    }


def test_hosts_that_texts_link_to_are_listed_with_what_is_suspicious(
    run: Run, db: Database, amina_id: str
) -> None:
    chidi = open_account(db, "chidi", sender="CHIDI")
    with db.write() as tx:
        reserved_names.add(tx, "Postbank", "a bank", now_ms=clock.now_ms())
    for text in ("Pay at http://10.1.2.3/x", "https://am1na-login.com", "www.p0st-bank.com"):
        stored_message(db, chidi, text=text)
    newest = stored_message(db, amina_id, text="Order at amina.com")
    stored_message(db, amina_id, text="http://10.9.9.9/", type="otp")
    listed = run(*typed("abuse links --json")).json
    found = {each["host"]: (each["suspicious"], each["trait"]) for each in listed}
    assert found == {
        "10[.]1[.]2[.]3": (True, "ip_address"),
        "am1na-login[.]com": (True, None),
        "www[.]p0st-bank[.]com": (True, None),
        "amina[.]com": (False, None),
    }
    likes = [like for each in listed for like in each["looks_like"]]
    assert likes == [f"AMINA of {text_id(db, amina_id)}", "Postbank, which is reserved"]
    of_amina = listed[-1]
    assert of_amina["account_id"] == text_id(db, amina_id)
    sent = run(*typed(f"message show {newest} --json")).json
    assert of_amina["newest_send_id"] == sent["send_id"]
    only = run(*typed("abuse links --suspicious --json")).json
    assert [each["host"] for each in only] == [each["host"] for each in listed[:-1]]
