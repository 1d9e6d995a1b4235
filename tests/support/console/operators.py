"""Makes operators, and what waits for them."""

from typing import NamedTuple

from heliograph import accounts, campaigns, inbound, keys, senders, users, wallet
from heliograph.base import clock
from heliograph.carriers import GENERAL, current_rates
from heliograph.database.database import Database
from heliograph.inbound.keywords import KeywordOwner, keyword_text_id, save_keyword_for
from heliograph.messages.accept import SANDBOX_SENDER
from heliograph.opt_outs import OptOutOwner, OptOutScope, OptOutSource, suppress
from heliograph.pricing import sheets
from heliograph.senders import documents
from heliograph.senders.documents import SenderDocument
from heliograph.users import OperatorRole, Role, operators, sign_ins
from heliograph.webhooks import endpoints
from tests.support.capability.campaigns import write_down
from tests.support.capability.webhooks import endpoint
from tests.support.portal.authenticator import STEP_MS, code_of, given_codes
from tests.support.portal.visitor import Visitor

OPERATOR = "kofi@example.com"


def made_operator(db: Database, role: OperatorRole) -> None:
    """Gives somebody a role in the console, as the command does."""
    now_ms = clock.now_ms()
    with db.write() as tx:
        user = users.add(tx, OPERATOR, now_ms=now_ms)
        operators.set_role(tx, user.id, role, now_ms=now_ms)


def member_of(db: Database, account_id: str, email: str = "esi@example.com") -> str:
    """Makes somebody with an authenticator app a viewer of an account, and returns the user's id in
    text form.
    """
    now_ms = clock.now_ms()
    with db.write() as tx:
        user = users.add(tx, email, now_ms=now_ms)
        users.set_role(tx, user.id, account_id, Role.VIEWER, now_ms=now_ms)
        given_codes(tx, user.id, now_ms)
        return users.text_id(user)


def link_of(db: Database) -> str:
    """Returns the path of a link that signs the operator in."""
    with db.write() as tx:
        user = users.find(tx, OPERATOR)
        return f"/portal/sign-in/{sign_ins.make_link(tx, user.id, now_ms=clock.now_ms())}"


def sign_in_by_link(visitor: Visitor, db: Database) -> str:
    """Uses a link, and returns where it leads."""
    link = link_of(db)
    visitor.get(link)
    done = visitor.post(link)
    assert done.status_code == 303, done.text
    return done.headers["location"]


def sign_in_operator(
    visitor: Visitor, db: Database, role: OperatorRole = OperatorRole.ADMIN
) -> None:
    """Signs an operator in by a link and a code of an app."""
    made_operator(db, role)
    with db.write() as tx:
        user = users.find(tx, OPERATOR)
        secret, _ = given_codes(tx, user.id, clock.now_ms() - STEP_MS)
    assert sign_in_by_link(visitor, db).startswith("/portal/sign-in/code")
    visitor.get("/portal/sign-in/code")
    code = code_of(secret, clock.now_ms())
    given = visitor.post("/portal/sign-in/code", {"code": code, "back": "/console/approvals"})
    assert (given.status_code, given.headers["location"]) == (303, "/console/approvals")


def waiting_sender(db: Database, account_id: str, name: str = "AMINASHOP") -> str:
    """Registers a sender ID that waits for the operator, and returns its id in text form."""
    with db.write() as tx:
        made = senders.register(
            tx,
            account_id,
            name,
            sandbox=False,
            country_code="GH",
            purpose="Order updates",
            now_ms=clock.now_ms(),
        )
        return senders.text_id(made)


PDF = b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n"


def attached(
    db: Database, account_id: str, sender: str, name: str = "letter.pdf", content: bytes = PDF
) -> SenderDocument:
    """Stores a document of a sender ID that waits."""
    with db.write() as tx:
        return documents.attach(tx, account_id, sender, name, content, now_ms=clock.now_ms())


def account_in_sandbox(db: Database, name: str = "zola") -> str:
    """Makes an account as a sign-up does, and returns its raw id."""
    with db.write() as tx:
        made = accounts.create(tx, name, "GH", sandbox=True, now_ms=clock.now_ms())
        wallet.open_wallet(tx, made.id, "GHS")
        return made.id


def uploaded_sheet(db: Database) -> str:
    """Stores a rate sheet, and returns its id in text form."""
    now_ms, rates = clock.now_ms(), [current_rates.Rate(GENERAL, "GH", 2)]
    with db.write() as tx:
        made = sheets.upload(tx, "May", rates, None, is_whole=False, now_ms=now_ms)
    return made.text_id


def own_keyword(db: Database, account_id: str, word: str = "OFFERS") -> str:
    """Gives an account a keyword for all its numbers, and returns its id in text form."""
    body = {"keyword": word, "reply": "This week: rice at 10 % less."}
    with db.write() as tx:
        owner = KeywordOwner(account_id, False)
        saved = save_keyword_for(tx, owner, body, None, clock.now_ms())
        return keyword_text_id(saved.keyword)


def opted_out(db: Database, account_id: str, phone: str, sender: str = "") -> None:
    """Opts a phone out of an account, as a text from it does."""
    owner, scope = OptOutOwner(account_id, False), OptOutScope(sender)
    source, now_ms = OptOutSource.KEYWORD, clock.now_ms()
    with db.write() as tx:
        suppress(tx, owner, [phone], source=source, now_ms=now_ms, scope=scope)


def own_number(db: Database, account_id: str | None, digits: str = "4567") -> str:
    """Gives an account a number of the simulator, or makes it one that several share. Returns its
    id in text form.
    """
    with db.write() as tx:
        return inbound.add_number(
            tx, digits, "simulator", account_id, now_ms=clock.now_ms()
        ).text_id


class OwnThings(NamedTuple):
    """Holds what an account has made, by the parameters of paths that name one of it."""

    key: str
    endpoint: str
    campaign: str


def own_things(db: Database, account_id: str) -> OwnThings:
    """Makes a key, a webhook endpoint and a campaign of an account, all of the sandbox."""
    now_ms, permissions = clock.now_ms(), ["sms.send"]
    with db.write() as tx:
        made = keys.issue(
            tx,
            account_id,
            name="shop",
            sandbox=True,
            tier="standard",
            permissions=permissions,
            now_ms=now_ms,
        ).record
    listening, _ = endpoint(db, account_id, sandbox=True)
    drafted = write_down(db, account_id, sandbox=True, sender=SANDBOX_SENDER)
    return OwnThings(
        keys.text_id(made), endpoints.text_id(listening.id), campaigns.text_id(drafted)
    )
