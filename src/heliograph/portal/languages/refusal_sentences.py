"""Lists the sentences of other rooms that pages show, each with places for what differs, and one
for each reason of an error, for sentences that are not here.

`%(why)s` is filled with words that are sentences here, too; every other place with what it says.
Those of fields are in `field_sentences.py`.
"""

from typing import Final

from heliograph.portal.languages.field_sentences import OF_FIELDS, OF_FORMS
from heliograph.portal.languages.page_language import marked

REFUSALS: Final = (
    # of pages
    marked("There is no such page."),
    marked("This page does not take that method."),
    marked("This form does not come from this site, or is too old. Load the page again."),
    marked("The form cannot be read."),
    marked("The query cannot be read."),
    marked("The form has wrong fields."),
    marked("1 more field is wrong."),
    marked("%(count)s more fields are wrong."),
    marked("The field %(name)s has the character NUL (U+0000)."),
    marked("A form may have %(most)s octets."),
    marked("A file may have %(most)s MiB."),
    marked("All files together may have %(most)s MiB."),
    marked("A form may have %(most)s files."),
    marked("This took too long. Look whether it was done."),
    marked("Too many wait for this at the moment. Try again soon."),
    marked("You are a member of no account. Ask whoever invited you."),
    marked("Your role in this account, %(why_role)s, may not do this."),
    marked("This account is suspended: it can read, but change nothing."),
    marked("This form was sent before, with another text. Send it as a new one?"),
    marked("This form is not complete. Load its page again, and fill it in there."),
    marked("This Idempotency-Key was used with another body."),
    marked("You can only look at this portal. Nothing is changed, made or saved from here."),
    # of coming in
    marked("The email address or the password is not right."),
    marked("This link or session is not valid any more. Sign in again."),
    marked("This code is not right, or was used before. Take the one that the app shows now."),
    marked("There were too many tries. Wait a few minutes, or come in by a link."),
    marked("There were too many wrong codes. Wait a few minutes, or use a recovery code."),
    marked("There were too many mails in a short time. Wait a few minutes."),
    marked("You have an account on this service already. Sign in, then open the link again."),
    marked("This passkey is not known here, or its answer came too late. Try again."),
    marked("This passkey has signed less often than before: it may be a copy."),
    marked("This service takes no passkeys: HELIOGRAPH_BASE_URL has no host name."),
    marked("There is no such passkey."),
    marked("No authenticator app is being set up."),
    marked("No authenticator app is set up."),
    marked("This service sends no mail."),
    marked("This service sends no mail. Its operator can add members."),
    marked("Nobody signs up at this service. Ask whoever runs it for an account."),
    marked("This takes a sign-in that is not older than ten minutes. Confirm that it is you."),
    marked(
        "You came in by a password or a link alone. To change how you sign in, sign in with the"
        " code of your app or with your passkey."
    ),
    # of records
    marked("There is no such record for this account and mode."),
    marked("There is no such account."),
    marked("There is no such campaign."),
    marked("There is no campaign with the id %(id)s."),
    marked("There is no such contact."),
    marked("There is no such customer."),
    marked("There is no such key."),
    marked("There is no key with the id %(id)s."),
    marked("There is no such message."),
    marked("There is no such import."),
    marked("The file is no longer stored. Upload it again: no row is stored twice."),
    marked("It was stopped."),
    marked("Another file of contacts is being imported. Wait until it is done, or stop it."),
    marked("%(given)s is no button of this page."),
    marked("A request with this Idempotency-Key is being carried out."),
    marked("This form was sent before, with something else in it. Load its page again."),
    marked("This key is shown only to whoever has made it. Make another key."),
    marked("This passkey belongs to another user than the one who is signing in."),
    marked("There is no such sender ID."),
    marked("There is no such document."),
    marked("There is no sender with the id %(id)s."),
    marked("There is no such site."),
    marked("There is no site with the id %(id)s."),
    marked("There is no such wallet."),
    marked("There is no such webhook endpoint."),
    marked("There is no webhook endpoint %(id)s."),
    marked("There is no event %(id)s."),
    marked("There is no event %(id)s for this endpoint; events are kept for 30 days."),
    marked("There is no conversation with %(phone)s."),
    marked("There is no phone %(phone)s to opt out."),
    marked("There is no handset %(phone)s."),
    marked("There is no user with this id."),
    marked("This user is no member of the account."),
    marked("This customer is suspended: it can be read, but not changed."),
    marked("This account is closed: nothing of it can be changed any more."),
    marked(
        "The account %(id)s has been closed since %(at)s. A closed account is not opened again."
    ),
    # of money and limits
    marked("The wallet holds %(available)s SMS credits; this takes %(required)s."),
    marked("The wallet holds %(available)s; this takes %(required)s."),
    marked("The wallet holds fewer SMS credits than this costs."),
    marked("This campaign takes %(required)s credits; the wallet holds %(available)s."),
    marked("This campaign takes about %(required)s credits; the wallet holds %(available)s."),
    marked(
        "This account may spend %(cap)s credits a day, and has spent %(spent)s, including credits"
        " moved to customers; this is %(credits)s more."
    ),
    marked("The account has spent the credits that it may spend today (UTC)."),
    marked("SMS credits are not sold for %(currency)s: there is no price in it."),
    marked("There is no price in %(currency)s."),
    marked("This is a sandbox customer: it has no part in the ledger."),
    marked("The account has had as much stored today (UTC) as it may."),
    marked(
        "This account may store %(quota)s octets of %(kind)s a day (UTC), and has stored"
        " %(used)s; this would be %(octets)s more."
    ),
    marked(
        "This account's partner and its customers have already stored as many octets of %(kind)s"
        " as they may store today (UTC)."
    ),
    marked("Too many requests are waiting."),
    marked("The database is busy."),
    marked("The database is not reachable."),
    marked("The service cannot take this right now; nothing was stored. Try again."),
)
OF_ROOMS: Final = (
    # of sends
    marked("None of the recipients can be sent to. The first, %(recipient)s, %(why)s."),
    marked(
        "None of the recipients can be sent to. The first, %(recipient)s, %(why)s. %(count)s more"
        " cannot be sent to either; error.rejected has them."
    ),
    marked(
        "is not a phone number in %(form)s; for numbers as they are dialled in a country give"
        " countryCode, such as GH"
    ),
    marked("is not a phone number of %(country)s (countryCode), nor one in %(form)s"),
    marked("is a number of %(country)s, and this account may not send there"),
    marked("has no route: the operator has connected no carrier for such numbers"),
    marked("has no rate: the operator has set no price for such numbers"),
    marked("cannot be sent to (%(reason)s)"),
    marked("This account is in sandbox only, until whoever runs this service lets it go live."),
    marked("The sender %(sender)s is not approved for this account."),
    marked(
        "The sender %(sender)s is not approved for this account; GET /sender-ids lists its senders,"
        " and POST /sender-ids registers one."
    ),
    marked("The sender %(sender)s %(why)s; GET /sender-ids shows its status."),
    marked("The sender %(sender)s %(why)s; GET /sender-ids with a live key shows its status."),
    marked("was submitted and is not approved yet"),
    marked("was submitted and rejected"),
    marked("is suspended"),
    marked(
        "The sender %(sender)s was registered with a sandbox key and serves sandbox keys only;"
        " register it with a live key (POST /sender-ids)."
    ),
    marked(
        "Simulated: in sandbox a recipient that ends in 004 is answered as if the wallet held too"
        " few SMS credits. Nothing is missing."
    ),
    # of campaigns
    marked("It %(why)s."),
    marked("The text %(why)s."),
    marked("The text for %(phone)s %(why)s."),
    marked("empty_text"),
    marked("too_many_segments"),
    marked("country_not_allowed"),
    marked("no_route"),
    marked("no_rate"),
    marked("This campaign is %(why)s; only one that is %(why_allowed)s can %(why_do)s."),
    marked("be launched"),
    marked("be estimated"),
    marked("be scheduled"),
    marked("be resumed"),
    marked("become paused"),
    marked("become sending"),
    marked("become canceled"),
    marked("draft or scheduled"),
    marked("sending or paused"),
    marked("draft, scheduled, sending or paused"),
    marked("There is nobody to send this campaign to."),
    marked("There is nobody to send this campaign to (its audience is empty)."),
    marked("There is nobody to send this campaign to (%(whom)s)."),
    marked("The account is suspended: it sends nothing."),
    marked("The account is suspended."),
    marked("The campaign is not in a state in which that can be done."),
    marked(
        "This campaign was canceled and its numbers were erased, because nobody launched it for a"
        " long time. Create a new campaign."
    ),
    marked(
        "The file of this campaign's numbers was not read to its end. Cancel the campaign, and"
        " create a new one."
    ),
    # of files
    marked(
        "The contacts have more than %(most)s different custom fields: too many columns for a file."
    ),
    marked("The file has more than %(most)s numbers."),
    marked("The file's only row cannot be sent to; line %(line)s %(why)s."),
    marked("None of the file's %(lines)s lines can be sent to; line %(line)s %(why)s."),
    # of imports, in the audit log
    marked("1 row of a file"),
    marked("%(count)s rows of a file"),
    marked("The file has %(columns)s columns; allowed: %(most)s."),
    marked("The file has %(columns)s columns; %(most)s are allowed."),
    marked("The file is UTF-16; save it as UTF-8."),
    marked("The file is a workbook; save it as CSV."),
    marked("The file is a workbook of an old kind (.xls); save it as CSV in UTF-8."),
    marked("The file is a PDF document; choose a CSV file in UTF-8."),
    marked("The file is an image; choose a CSV file in UTF-8."),
    marked("The file is a web page (HTML); choose a CSV file in UTF-8."),
    marked("The first line is not UTF-8; save the file as UTF-8."),
    marked("The first line is wrong: %(why)s."),
    marked(
        "The first line must name the columns, and one of them must be phone (or %(others)s); it"
        " has"
        " %(found)s."
    ),
    marked("The file's header names a column twice: %(columns)s."),
    marked(
        "The file's header must name the column of the numbers phone (or %(others)s); it names"
        " %(found)s."
    ),
    marked(
        "The text asks for %(names)s, which is not a column of the file: its columns are"
        " %(columns)s."
    ),
    marked("The text asks for %(names)s, which is not a column of the file: it has no header."),
    marked(
        "The file has no header, and line %(line)s has numbers in columns %(places)s. Put a line"
        " with the names of the columns first, and name the column of the phone numbers %(name)s."
    ),
    marked("a quoted cell that begins there is not closed."),
    marked("a quoted cell has more than %(most)s characters; is a quote not closed?"),
    marked(
        "a quoted row has more than %(lines)s lines or %(most)s characters; is a quote not closed?"
    ),
    marked(
        "The contacts have more than %(most)s different custom fields: too many columns for a file."
    ),
    marked("Line %(line)s has more than %(most)s characters."),
    marked("Line %(line)s %(why)s."),
    marked("From line %(line)s on, the file cannot be read: %(why)s"),
    # of contacts
    marked("Another contact has this phone."),
    marked("phone %(phone)s is another contact's."),
    marked("This finds more than %(most)s contacts, too many to tag at once. Search for fewer."),
    marked("has %(before)s custom fields, and would have %(after)s; %(most)s are allowed"),
    # of customers
    marked("Money can only be given in the partner's own currency."),
    marked("This is a sandbox customer: it has no part in the ledger."),
    # of messages that failed
    marked("The carrier refused the message."),
    marked("The message could not be delivered to the handset."),
    marked("The message was not delivered within its validity."),
    marked("The network rejected the message."),
    marked("What became of the message is not known."),
    marked("The message was canceled."),
    marked("The recipient has opted out."),
    marked("No carrier serves this destination any more."),
    # of the ledger
    marked("SMS to 1 recipient"),
    marked("SMS to %(count)s recipients"),
    marked("Refund for 1 message that was not sent"),
    marked("Refund for %(count)s messages that were not sent"),
    # as entries of before said it: a ledger entry never changes
    marked("Refund for 1 message not accepted by any carrier"),
    marked("Refund for %(count)s messages not accepted by any carrier"),
    marked("%(credits)s SMS credits at %(price)s per %(per)s"),
    marked("Connect: to begin with, to %(customer)s"),
    marked("Connect: to %(customer)s"),
    marked("Connect: back from %(customer)s"),
)
SENTENCES: Final = OF_FIELDS + OF_FORMS + REFUSALS + OF_ROOMS

# by the reason of an error, where its sentence is not known
BY_REASON: Final = {
    "account_suspended": marked("This account is suspended: it can read, but change nothing."),
    "daily_cap_reached": marked("The account has spent the credits that it may spend today (UTC)."),
    "insufficient_credits": marked(
        "This takes %(required)s credits, and the wallet holds %(available)s."
    ),
    "no_recipients": marked("There is nobody to send this campaign to."),
    "no_such_record": marked("There is no such record for this account and mode."),
    "no_valid_recipient": marked("None of the recipients can be sent to."),
    "rate_limited": marked("Too many requests."),
    "sandbox_only": marked(
        "This account is in sandbox only, until whoever runs this service lets it go live."
    ),
    "sender_not_approved": marked("The sender is not approved for this account."),
    "storage_quota_reached": marked("The account has had as much stored today (UTC) as it may."),
    "unavailable": marked("The service cannot take this right now; nothing was stored. Try again."),
    "wrong_state": marked("The campaign is not in a state in which that can be done."),
}
