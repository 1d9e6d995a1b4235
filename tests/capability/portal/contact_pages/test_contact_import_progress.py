"""An import of contacts goes on by itself, says how far it is, and can be stopped and interrupted
without doubling anything.
"""

import html
import re
import threading

import pytest
import sqlalchemy as sa

from heliograph import accounts
from heliograph.accounts import quotas
from heliograph.base import clock
from heliograph.base.clock import DAY_MS
from heliograph.contacts import ContactOwner, stored_import
from heliograph.contacts.stored_import import KEPT, FileToImport
from heliograph.contacts.tables import contact_imports
from heliograph.database.database import Database
from heliograph.jobs.contact_imports import Imports
from heliograph.jobs.pruning import prune_all
from tests.support.api.service import Loop
from tests.support.capability.commands import Run
from tests.support.factories import open_account, phones
from tests.support.portal.campaign_pages import words_of
from tests.support.portal.stored_contacts import send_file, stored, those_of, upload
from tests.support.portal.visitor import EMAIL, Visitor, home_of

STEP = 10
PHONES = phones(24)
# 30 rows: four are repeated, one of them of the step before; two are not valid
ROWS = [*PHONES[:9], "12", PHONES[0], *PHONES[9:20], PHONES[3], "x", *PHONES[20:], *PHONES[8:10]]
SHEET = "phone,opted_out\n" + "".join(f"{phone},yes\n" for phone in ROWS)
FIGURES = "New 23 Changed 1 Repeated 4 Left out 2"


@pytest.fixture(autouse=True)
def _small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_import, "STEP_ROWS", STEP)


def begun(visitor: Visitor, home: str, sheet: str = SHEET) -> str:
    """Returns the path of the page of an import that no process has seen yet."""
    visitor.get(f"{home}/contacts/import")
    answer = send_file(visitor, home, sheet)
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


def said(visitor: Visitor, path: str) -> str:
    return words_of(visitor.get(path).text)


def test_an_import_says_how_far_it_is_and_no_process_that_takes_it_over_doubles_a_row(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    stored(db, amina_id, phone=PHONES[5])
    path = begun(visitor, home)
    processes = Imports(db), Imports(db)
    for step, figures in enumerate(
        (
            "New 0 Changed 0 Repeated 0 Left out 0",
            "New 8 Changed 1 Repeated 0 Left out 1",
            "New 17 Changed 1 Repeated 1 Left out 1",
            FIGURES,
        )
    ):
        assert f"{step * STEP} of 30 rows are read" in said(visitor, path)
        assert re.search(rf'data-live="import" [^>]*hx-get="{path}"', visitor.page.text)
        assert figures in said(visitor, path)
        assert processes[step % 2].round()  # each begins where the other ended
    assert not any(process.round() for process in processes)
    told = said(visitor, path)
    assert "Imported, but for 2 rows" in told
    assert FIGURES in told
    assert "count instead of it: 12, 24, 30, 31." in told
    assert "data-live" not in visitor.page.text
    assert sorted(each.phone for each in those_of(db, amina_id)) == sorted(PHONES)
    assert all(each.opted_out for each in those_of(db, amina_id))
    assert "30 rows" in said(visitor, f"{home}/contacts/import")
    assert f'href="{path}"' in visitor.page.text
    with db.read() as tx:
        assert tx.execute(sa.select(contact_imports.c.file)).scalar_one() is None


def test_an_import_whose_process_has_ended_says_so_until_another_one_goes_on(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    path = begun(visitor, home)
    Imports(db).round()
    clock.move(by_ms=stored_import.INTERRUPTED_MS - 1_000)
    assert "interrupted" not in said(visitor, path)
    clock.move(by_ms=1_000)
    told = said(visitor, path)
    assert "The import is interrupted since" in told
    assert "No process of this service that imports contacts has gone on with it." in told
    assert "needs a serve, a worker or a scheduler that runs." in told
    Imports(db).round()
    assert "interrupted" not in said(visitor, path)
    assert "20 of 30 rows are read" in said(visitor, path)


def test_an_import_is_stopped_and_goes_on_and_there_is_one_at_a_time(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    path = begun(visitor, home)
    process = Imports(db)
    process.round()
    visitor.get(path)
    assert send_file(visitor, home, SHEET).status_code == 409
    assert visitor.post(path, {"do": "dance"}).status_code == 400
    assert visitor.post(path, {"do": "stop"}).headers["location"] == path
    assert not process.round()
    assert "It was stopped. What stands up to line 11 of the file" in said(visitor, path)
    assert len(those_of(db, amina_id)) == 9
    assert visitor.post(path, {"do": "go_on"}).status_code == 303
    assert "10 of 30 rows are read" in said(visitor, path)
    while process.round():
        pass
    assert "New 24 Changed 0 Repeated 4 Left out 2" in said(visitor, path)
    assert visitor.post(path, {"do": "go_on"}).status_code == 404  # it has ended
    # who uploads another file has no use for one that was stopped
    stopped = begun(visitor, home)
    visitor.get(stopped)
    visitor.post(stopped, {"do": "stop"})
    other = begun(visitor, home)
    assert "Import the same file again" in said(visitor, stopped)
    visitor.get(other)
    assert visitor.post(stopped, {"do": "go_on"}).status_code == 409, "one at a time"
    assert visitor.post(other, {"do": "go_on"}).headers["location"] == other
    assert "That was done already" in visitor.get(other).text
    told = said(visitor, f"{home}/audit")
    for done in ("Imported contacts", "Stopped an import", "Let an import of contacts go on"):
        assert done in told


def test_what_a_day_or_an_operator_stops_can_go_on_later(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    with db.write() as tx:
        quotas.set_quotas(tx, amina_id, {quotas.StoredKind.CONTACTS: 600})
    path = begun(visitor, home, "phone\n" + "".join(f"{each}\n" for each in PHONES))
    process = Imports(db)
    process.round()
    assert "up to line 1 of the file is stored" in said(visitor, path)
    assert those_of(db, amina_id) == []
    with db.write() as tx:
        quotas.set_quotas(tx, amina_id, {quotas.StoredKind.CONTACTS: 10**6})
    assert visitor.post(path, {"do": "go_on"}).status_code == 303
    process.round()
    with db.write() as tx:
        accounts.suspend(tx, amina_id)
    process.round()
    assert "The account is suspended. What stands up to line 11" in said(visitor, path)
    with db.write() as tx:
        accounts.resume(tx, amina_id)
    visitor.post(path, {"do": "go_on"})
    while process.round():
        pass
    assert "New 24 Changed 0" in said(visitor, path)


def test_an_import_of_a_customer_stops_while_its_partner_is_suspended(
    visitor: Visitor, db: Database, amina_id: str, bilal: str, home: str
) -> None:
    theirs = home_of(db, bilal)
    path = begun(visitor, theirs)
    process = Imports(db)
    with db.write() as tx:
        accounts.suspend(tx, amina_id)
    process.round()
    assert "The account is suspended. What stands up to line 1" in said(visitor, path)
    assert those_of(db, bilal) == []
    with db.write() as tx:
        accounts.resume(tx, amina_id)
    visitor.post(path, {"do": "go_on"})
    while process.round():
        pass
    assert len(those_of(db, bilal)) == len(PHONES)


def test_accounts_import_in_turns(
    visitor: Visitor, stranger: Visitor, db: Database, amina_id: str, home: str
) -> None:
    chidi = open_account(db, "chidi")
    stranger.sign_in("kofi@example.com", chidi)
    theirs = begun(stranger, home_of(db, chidi))
    path = begun(visitor, home)
    Imports(db).round()
    assert "10 of 30 rows are read" in said(visitor, path)
    assert "10 of 30 rows are read" in said(stranger, theirs)
    assert visitor.get(theirs.replace(home_of(db, chidi), home)).status_code == 404


def test_files_are_forgotten_after_a_week_and_with_a_number_that_is_erased(
    visitor: Visitor, db: Database, amina_id: str, home: str, run: Run, run_loop: Loop
) -> None:
    path = begun(visitor, home)
    told = run("erase", PHONES[0], "--account", "amina", "--yes", "--json").json
    assert told["erased"] == {"contact_imports": 1}
    assert not Imports(db).round()
    assert visitor.get(path).status_code == 404
    visitor.get(home)
    page = upload(visitor, home, SHEET)
    [kept] = KEPT
    for ms, there in ((kept.ms - DAY_MS, 200), (2 * DAY_MS, 404)):
        clock.move(by_ms=ms)
        run_loop(prune_all(db))
        with db.read() as tx:
            found = stored_import.newest_imports(tx, amina_id, limit=2)
        assert len(found) == (there == 200)
    assert "Imported" in page.text


def test_an_import_that_goes_on_while_another_begins_is_told_so(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    path = begun(visitor, home)
    visitor.get(path)
    assert visitor.post(path, {"do": "stop"}).status_code == 303
    sheet = FileToImport(b"phone\n", None, {}, 0, {"fields": [], "custom": [], "not_read": []})
    answered: list[int] = []
    with db.write() as tx:
        stored_import.begin(
            tx, ContactOwner(amina_id, False), sheet, "amina's", now_ms=clock.now_ms()
        )
        going_on = threading.Thread(
            target=lambda: answered.append(visitor.post(path, {"do": "go_on"}).status_code)
        )
        going_on.start()
        going_on.join(0.3)  # it waits for what has begun, or has met it
    going_on.join()
    assert answered == [409]


def test_a_file_that_comes_while_its_account_is_locked_waits_for_that(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    visitor.get(f"{home}/contacts/import")
    answered: list[int] = []
    with db.write() as tx:
        accounts.lock(tx, amina_id)  # as `go_on` does
        sending = threading.Thread(
            target=lambda: answered.append(send_file(visitor, home, SHEET).status_code)
        )
        sending.start()
        sending.join(1.5)  # for longer than one try waits for a lock
    sending.join()
    assert answered == [303]


def test_the_audit_log_says_in_each_language_how_many_rows_a_file_had(
    visitor: Visitor, db: Database, home: str
) -> None:
    begun(visitor, home, f"phone\n{PHONES[0]}\n")
    assert Imports(db).round()
    assert "1 row of a file" in said(visitor, f"{home}/audit")
    begun(visitor, home)
    assert "30 rows of a file" in said(visitor, f"{home}/audit")
    visitor.get("/portal/language/fr")
    told = said(visitor, f"{home}/audit")
    assert "1 ligne d’un fichier" in told
    assert "30 lignes d’un fichier" in told
    assert f"{EMAIL}\xa0: terminée" in html.unescape(visitor.get(f"{home}/contacts/import").text)
