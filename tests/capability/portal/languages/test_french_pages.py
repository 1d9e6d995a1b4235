"""In French, no page shows English: every route is asked in a language that marks what was
translated, and what a page shows outside of the marks has to be data.
"""

from pathlib import Path

import pytest

from heliograph import keys, users, wallet
from heliograph.accounts import audit_log
from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.portal.portal import Portal
from heliograph.portal.settings_pages.audit_log import ACTIONS
from heliograph.users import Role, members
from heliograph.wallet import ledger
from heliograph.webhooks.tables import webhook_endpoints
from tests.support.portal.pseudo_language import english_of, marked_french
from tests.support.portal.rolled_up import rolled_up
from tests.support.portal.routes import There, asked
from tests.support.portal.visitor import EMAIL, Visitor, home_of

DAY_MS = 86_400_000
# what the account has, what stands in fields as an example, and codes
DATA = {
    *("amina", "bilal", "kofi", "mensah", "accra", "spring", "shop", "gift", "stores", "gold"),
    *("heliograph", "sandbox", "hello", "from", "free", "standard", "connect", "expired"),
    *("undeliverable", "sent", "nothing", "picked", "do", "phone", "name", "email", "tags"),
    *("ghs", "tu", "utc", "gh", "ng", "csv", "wordpress", "php", "curl", "python", "node", "ruby"),
}
SIGNED_OUT = ("/portal/sign-in", "/portal/sign-up", "/portal/sign-in/x", "/portal/sign-up/x")


@pytest.fixture
def busy(db: Database, amina_id: str, home: str, there: There) -> None:
    """Stores what makes all parts of pages show: figures, notices, log entries, an invitation."""
    now_ms = clock.now_ms()
    for days in (0, 1, 40):
        rolled_up(
            db,
            amina_id,
            now_ms - days * DAY_MS,
            delivered=5,
            sent=2,
            failed=3,
            expired=2,
            undeliverable=1,
            segments=10,
            credits=10,
        )
    with db.write() as tx:
        ledger.grant(tx, amina_id, 20, "a gift", now_ms=now_ms)
        wallet.set_low_balance(tx, amina_id, wallet.Thresholds(100, 5_000_000))
        members.invite(tx, amina_id, "bilal@example.com", Role.VIEWER, now_ms=now_ms)
        author = audit_log.Author(audit_log.AuthorKind.USER, users.find(tx, EMAIL).id, EMAIL)
        for action in ACTIONS:
            audit_log.write(
                tx, amina_id, author, audit_log.AuditEntry(action, None, None), now_ms=now_ms
            )
        tx.execute(webhook_endpoints.update().values(failing_since_ms=now_ms))
        keys.issue(
            tx,
            amina_id,
            name="shop",
            sandbox=True,
            tier="standard",
            permissions=["sms.send"],
            expires_at_ms=now_ms + DAY_MS,
            now_ms=now_ms,
        )


def test_no_page_shows_english_in_french(
    visitor: Visitor,
    portal: Portal,
    db: Database,
    amina_id: str,
    there: There,
    busy: None,
    tmp_path: Path,
) -> None:
    visitor.get("/portal/language/fr")
    with marked_french(tmp_path):
        home = home_of(db, amina_id)
        visitor.get(home)
        typed = {"mode": "sandbox", "sender": "SANDBOX", "recipients": "233201234567", "do": "send"}
        sent = visitor.post(f"{home}/send", {**typed, "message": "amina", "once": "x"})
        assert sent.status_code == 303, sent.text
        told = {}
        for method, path in asked(portal, there, message=sent.headers["location"].split("/")[-1]):
            # a form is sent empty: it is shown again with what is wrong, or refused
            page = visitor.get(path) if method == "GET" else visitor.post(path, {"do": "nothing"})
            if page.headers.get("content-type", "").startswith("text/html"):
                told[f"{method} {path}"] = english_of(page.text, DATA)
            visitor.get(home)
        assert len(told) > 50
        visitor.cookies.delete("__Host-heliograph")
        for path in SIGNED_OUT:
            told[path] = english_of(visitor.get(path).text, DATA)
    wrong = {path: texts for path, texts in told.items() if texts}
    assert not wrong, "\n".join(f"{path}: {texts}" for path, texts in wrong.items())
