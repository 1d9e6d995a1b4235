"""In French, no page shows English: every route is asked in a language that marks what was
translated, and what a page shows outside of the marks has to be data.
"""

from pathlib import Path

import pytest

from heliograph import keys, users, wallet
from heliograph.accounts import audit_log
from heliograph.accounts.audit_log import AuthorKind
from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.messages.states import ERROR_MESSAGES
from heliograph.messages.tables import messages
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
    *("heliograph", "sandbox", "hello", "from", "free", "standard", "connect"),
    *("sent", "nothing", "picked", "do", "phone", "name", "email", "tags"),
    *("ghs", "tu", "utc", "gh", "ng", "csv", "wordpress", "php", "curl", "python", "node", "ruby"),
}
# what the audit log says of a change, by who has made it
DETAILS = {
    AuthorKind.USER: {
        "contact.import": "5 rows of a file",
        "contact.tag": "gold added to 7 contacts",
        "credits.buy": "100 SMS credits at 5.00 GHS per 100",
        "customer.credits": "+20 credits",
        "key.make": "live: shop",
        "low_balance.change": "low_balance_credits: never → 100; low_balance_amount: 5.00 → never",
        "member.invite": "kofi@example.com viewer",
        "member.join": "viewer",
        "member.role": "kofi@example.com developer",
        "settings.change": "time_zone: UTC → Africa/Accra",
        "webhook.add": "live",
    },
    AuthorKind.OPERATOR: {
        "account.create": "Amina, GH, 0 SMS credits, 0.00 GHS",
        "account.limits": (
            "max_tier: standard, countries: none, daily_credits: 5, otp_unverified: none,"
            " transactional: no, low_balance_credits: none, low_balance_amount: none,"
            " time_zone: UTC"
        ),
        "account.quotas": "contacts: default",
        "account.suspend": "suspended",
        "campaign.pause": "Spring: paused (paused_by_operator)",
        "credits.grant": "20 SMS credits, 0.00 GHS",
        "message.cancel": "3 queued messages canceled, 3 credits back",
        "message.read": "its text was read",
        "message.settle": "failed: canceled, 1 credit back",
        "otp.block": "233: refused",
        "rate.set": "233: 2 credits a segment",
        "rate.sheet": "2 rates",
        "sender.approve": "AMINA: approved",
        "webhook.disable": "disabled: by hand",
    },
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
        for kind, details in DETAILS.items():
            author = audit_log.Author(kind, users.find(tx, EMAIL).id, EMAIL)
            for action in ACTIONS:
                entry = audit_log.AuditEntry(action, None, details.get(action))
                audit_log.write(tx, amina_id, author, entry, now_ms=now_ms)
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


def expire(db: Database) -> None:
    """Lets what was sent fail, with what a carrier says of it."""
    why = f"{ERROR_MESSAGES['expired']} (EXPIRED, error 027)"
    failed = messages.update().values(
        status="failed", error_code="expired", error_message=why, failed_at_ms=clock.now_ms()
    )
    with db.write() as tx:
        assert tx.execute(failed).rowcount == 1


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
        message = sent.headers["location"].split("/")[-1]
        told = {"as it waits": english_of(visitor.get(f"{home}/messages/{message}").text, DATA)}
        expire(db)
        for method, path in asked(portal, there, message=message):
            # a form is sent empty: it is shown again with what is wrong, or refused
            page = visitor.get(path) if method == "GET" else visitor.post(path, {"do": "nothing"})
            if page.headers.get("content-type", "").startswith("text/html"):
                told[f"{method} {path}"] = english_of(page.text, DATA)
            visitor.get(home)
        for by in ("people", "the%20operator"):
            path = f"{home}/audit?by={by}&limit=100"
            shown = visitor.get(path).text
            assert shown.count("<tr>") > len(ACTIONS)
            told[path] = english_of(shown, DATA)
        assert len(told) > 50
        visitor.cookies.delete("__Host-heliograph")
        for path in SIGNED_OUT:
            told[path] = english_of(visitor.get(path).text, DATA)
    wrong = {path: texts for path, texts in told.items() if texts}
    assert not wrong, "\n".join(f"{path}: {texts}" for path, texts in wrong.items())
