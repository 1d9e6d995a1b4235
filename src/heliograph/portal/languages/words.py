"""Lists the words that rooms below give as values, and that pages show: states, modes, roles,
choices. They are translated where they are shown (`word`), and stay as they are in addresses, forms
and files.
"""

from typing import Final

from heliograph.portal.languages.page_language import marked

WORDS: Final = (
    # between the names of a list
    marked(" and "),
    marked(" or "),
    marked("; "),
    # how fields are called
    marked("column %(place)s, %(name)s,"),
    marked("tag %(tag)s"),
    marked("a custom field"),
    # modes and roles
    marked("live"),
    marked("sandbox"),
    marked("owner"),
    marked("developer"),
    marked("marketer"),
    marked("viewer"),
    marked("the operator"),
    # of messages and their segments
    marked("queued"),
    marked("sent"),
    marked("delivered"),
    marked("on its way"),
    marked("failed"),
    marked("accepted"),
    marked("not accepted"),
    marked("claimed"),
    marked("submitting"),
    marked("in_doubt"),
    marked("otp"),
    marked("sms"),
    marked("campaign"),
    # of campaigns
    marked("draft"),
    marked("scheduled"),
    marked("sending"),
    marked("paused"),
    marked("completed"),
    marked("canceled"),
    # of sender IDs, keys, customers
    marked("pending"),
    marked("submitted"),
    marked("approved"),
    marked("rejected"),
    marked("suspended"),
    marked("active"),
    marked("expired"),
    marked("revoked"),
    # of webhooks
    marked("enabled"),
    marked("disabled"),
    marked("waiting"),
    marked("exhausted"),
    marked("missed"),
    marked("operator"),
    marked("gone"),
    marked("failing"),
    # of the ledger, as values and as they are read
    marked("topup"),
    marked("credit_purchase"),
    marked("credit_grant"),
    marked("sms_charge"),
    marked("sms_refund"),
    marked("transfer_in"),
    marked("transfer_out"),
    marked("adjustment"),
    marked("Top-up"),
    marked("Credit purchase"),
    marked("Credit grant"),
    marked("SMS charge"),
    marked("SMS refund"),
    marked("Transfer in"),
    marked("Transfer out"),
    marked("Adjustment"),
    # choices of forms
    marked("never"),
    marked("in 30 days"),
    marked("in 90 days"),
    marked("in 365 days"),
    marked("failures"),
    marked("successes"),
    marked("people"),
    marked("programs"),
    marked("to the customer"),
    marked("back to us"),
    marked("add"),
    marked("remove"),
    # of reports
    marked("all others"),
    marked("unknown"),
)
