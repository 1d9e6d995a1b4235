"""Shows the audit log of an account: a list of what people and programs have changed, and the same
as a CSV file.
"""

from collections.abc import Iterable
from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph.accounts import audit_log
from heliograph.base.clock import rfc3339
from heliograph.base.csv.cells import line_of, neutralize
from heliograph.base.forms import Query
from heliograph.base.paging import PageWanted, read_page
from heliograph.portal.export import pieces
from heliograph.portal.languages import marked
from heliograph.portal.list_page import ListPage, list_page, page_or_errors, with_one_more_row
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import Download, page
from heliograph.portal.settings_pages.audit_details import detail_words
from heliograph.portal.visit import Visit

BY: Final = {
    "people": audit_log.AuthorKind.USER,
    "programs": audit_log.AuthorKind.KEY,
    "the operator": audit_log.AuthorKind.OPERATOR,
}
ENTRIES_AT_ONCE: Final = 1_000  # of a file, in one transaction
SEPARATOR: Final = ","
COLUMNS: Final = ("time", "by", "by_kind", "action", "record", "detail")
# what was done, in words
ACTIONS: Final = {
    "account.close": marked("Closed the account for good"),
    "account.create": marked("Created the account"),
    "account.go_live": marked("Let the account go live"),
    "account.limits": marked("Set the limits of the account"),
    "account.quotas": marked("Set how much the account may store in a day"),
    "account.rename": marked("Renamed the account"),
    "account.resume": marked("Lifted the suspension of the account"),
    "account.see": marked("Began to look at this portal, unable to change anything"),
    "account.see_end": marked("Ended the look at this portal"),
    "account.suspend": marked("Suspended the account"),
    "campaign.cancel": marked("Canceled a campaign"),
    "campaign.launch": marked("Launched a campaign"),
    "campaign.pause": marked("Paused a campaign"),
    "campaign.resume": marked("Resumed a campaign"),
    "campaign.schedule": marked("Scheduled a campaign"),
    "campaign.write": marked("Wrote a campaign"),
    "contact.change": marked("Changed a contact"),
    "contact.import": marked("Imported contacts"),
    "contact.import_go_on": marked("Let an import of contacts go on"),
    "contact.import_stop": marked("Stopped an import of contacts"),
    "contact.opt_in": marked("Opted a contact in again"),
    "contact.opt_out": marked("Opted a contact out"),
    "contact.remove": marked("Removed a contact"),
    "contact.save": marked("Added or changed a contact"),
    "contact.tag": marked("Changed tags of contacts"),
    "credits.adjust": marked("Adjusted SMS credits"),
    "credits.buy": marked("Bought credits"),
    "credits.grant": marked("Granted SMS credits"),
    "customer.credits": marked("Moved credits of a Connect customer"),
    "customer.provision": marked("Provisioned a Connect customer"),
    "inbound.read": marked("Read a text that came in"),
    "key.make": marked("Made an API key"),
    "key.revoke": marked("Revoked an API key"),
    "keyword.remove": marked("Removed a keyword"),
    "keyword.save": marked("Added or changed a keyword"),
    "low_balance.change": marked("Changed when a low balance is told of"),
    "member.add": marked("Added a member"),
    "member.invite": marked("Invited a member"),
    "member.join": marked("Joined the account"),
    "member.remove": marked("Removed a member"),
    "member.role": marked("Changed a member's role"),
    "member.withdraw": marked("Withdrew an invitation"),
    "message.cancel": marked("Canceled queued messages"),
    "message.match": marked("Matched a receipt to a message"),
    "message.read": marked("Read the text of a message"),
    "message.resend": marked("Sent a message again"),
    "message.settle": marked("Settled a message without an answer"),
    "number.add": marked("Added a number for texts that come in"),
    "number.keywords": marked("Changed how keywords count on a number"),
    "number.remove": marked("Removed a number for texts that come in"),
    "opt_out.add": marked("Opted a phone out"),
    "opt_out.remove": marked("Lifted the opt-out of a phone"),
    "otp.block": marked("Blocked one-time passwords to a range of numbers"),
    "otp.unblock": marked("Let one-time passwords go out again"),
    "phone.erase": marked("Erased a phone number at its owner's request"),
    "rate.remove": marked("Removed a rate of the account"),
    "rate.set": marked("Set a rate of the account"),
    "rate.sheet": marked("Changed rates of the account"),
    "sender.approve": marked("Approved a sender ID"),
    "sender.attach": marked("Attached a document to a sender ID"),
    "sender.detach": marked("Removed a document of a sender ID"),
    "sender.make_default": marked("Made a sender ID the default"),
    "sender.register": marked("Registered a sender ID"),
    "sender.reject": marked("Rejected a sender ID"),
    "sender.suspend": marked("Suspended a sender ID"),
    "settings.change": marked("Changed the settings"),
    "site.link": marked("Linked a site"),
    "user.link": marked("Gave a member a link that signs in"),
    "user.two_step_off": marked("Turned the two-step sign-in of a member off"),
    "wallet.adjust": marked("Adjusted money"),
    "wallet.pay_out": marked("Paid the wallet out"),
    "wallet.topup": marked("Added money"),
    "webhook.add": marked("Added a webhook endpoint"),
    "webhook.disable": marked("Disabled a webhook endpoint"),
    "webhook.enable": marked("Enabled a webhook endpoint"),
    "webhook.finish": marked("Ended the rotation of a secret"),
    "webhook.remove": marked("Removed a webhook endpoint"),
    "webhook.replay": marked("Replayed an event"),
    "webhook.replay_since": marked("Replayed events"),
    "webhook.rotate": marked("Rotated the secret of an endpoint"),
    "webhook.show_secret": marked("Looked at the secret of an endpoint"),
}


def show_list(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Shows the entries that the query selects, newest first."""
    found, errors = page_or_errors(lambda: _select(tx, request, visit))
    return page(
        "audit_log.html",
        request,
        status=400 if errors else 200,
        visit=visit,
        entries=found.rows,
        actions=ACTIONS,
        detail_words=detail_words,
        older=found.older,
        typed={"by": "", **dict(request.sent.query)},
        errors={error.field: error.message for error in errors},
        others=[error for error in errors if error.field != "by"],
        by=tuple(BY),
    )


def export(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Returns the entries that the query selects as a file, newest first. Raises InvalidRequest."""
    query = Query(request.sent.query)
    by = query.choice("by", tuple(BY))
    query.finish()

    def read_lines(tx: Connection, before: str | None) -> tuple[str, str | None]:
        wanted = PageWanted(ENTRIES_AT_ONCE + 1, before)
        kind = None if by is None else BY[by]
        found = audit_log.page(tx, visit.account.id, wanted, kind=kind)
        in_file = found[:ENTRIES_AT_ONCE]
        lines = "".join(_line(_cells(stored)) for stored in in_file)
        return lines, in_file[-1].id if len(found) > ENTRIES_AT_ONCE else None

    return Download("audit-log.csv", pieces(request, _line(COLUMNS), read_lines))


def _select(tx: Connection, request: PageRequest, visit: Visit) -> ListPage[audit_log.StoredEntry]:
    """Returns the page of entries that the query asks for. Raises InvalidRequest."""
    query = Query(request.sent.query)
    by = query.choice("by", tuple(BY))
    wanted = read_page(query)
    query.finish()
    found = audit_log.page(
        tx,
        visit.account.id,
        with_one_more_row(wanted),
        kind=None if by is None else BY[by],
    )
    return list_page(request, wanted, found, lambda stored: stored.id)


def _line(cells: Iterable[str]) -> str:
    return line_of(map(neutralize, cells), SEPARATOR)


def _cells(stored: audit_log.StoredEntry) -> tuple[str, ...]:
    author, entry = stored.author, stored.entry
    return (
        rfc3339(stored.at_ms),
        author.name,
        author.kind.value,
        entry.action,
        entry.record or "",
        entry.detail or "",
    )
