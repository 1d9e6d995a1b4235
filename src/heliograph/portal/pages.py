"""Lists every page of the portal, and every form."""

from typing import Final, NamedTuple

from heliograph.portal import (
    api_keys,
    members,
    overview,
    quickstart,
    request_log,
    send,
    senders,
    sites,
    webhooks,
)
from heliograph.portal.campaign_pages import campaign_file, campaign_new, campaign_test, campaigns
from heliograph.portal.connect_pages import customers, provision
from heliograph.portal.contact_pages import (
    contact_export,
    contact_import,
    contact_tags,
    contacts,
)
from heliograph.portal.handlers import Handler, by_members, to_members, to_members_in_steps
from heliograph.portal.lanes import Lane
from heliograph.portal.message_pages import handsets, messages
from heliograph.portal.report_pages import reports
from heliograph.portal.settings_pages import audit_log, settings
from heliograph.portal.sign_in import (
    authenticator,
    code_page,
    language_pages,
    passkey_pages,
    sign_in_pages,
    sign_up_pages,
    you,
)
from heliograph.portal.wallet_pages import levels_plot, low_balance, money, purchase
from heliograph.users import Right

OF_ACCOUNT: Final = "/portal/accounts/{account}"
CONTACTS: Final = f"{OF_ACCOUNT}/contacts"
CONTACT: Final = f"{CONTACTS}/{{contact}}"
IMPORT: Final = f"{CONTACTS}/imports/{{file}}"
CAMPAIGN: Final = f"{OF_ACCOUNT}/campaigns/{{campaign}}"
CUSTOMER: Final = f"{OF_ACCOUNT}/connect/{{customer}}"
ENDPOINT: Final = f"{OF_ACCOUNT}/webhooks/{{endpoint}}"


class PageRoute(NamedTuple):
    """Says what answers a path: GET, or POST if it is a form. With `may`, the form has a file,
    which is read only if `may` raises nothing.
    """

    path: str
    handle: Handler
    is_form: bool
    may: Handler | None = None
    lane: Lane = Lane.PAGES


def _shows(path: str, handle: Handler) -> PageRoute:
    return PageRoute(path, handle, is_form=False)


def _does(path: str, handle: Handler, lane: Lane = Lane.PAGES) -> PageRoute:
    return PageRoute(path, handle, is_form=True, lane=lane)


def _takes_file(path: str, may: Handler, handle: Handler) -> PageRoute:
    return PageRoute(path, handle, is_form=True, may=may)


PAGES: Final = (
    _shows("/portal", to_members(overview.overview)),
    _shows(OF_ACCOUNT, to_members(overview.overview)),
    _shows(f"{OF_ACCOUNT}/quickstart", to_members(quickstart.shown)),
    _does(
        f"{OF_ACCOUNT}/quickstart",
        by_members(Right.KEYS, quickstart.make_key, quickstart.shown),
    ),
    _shows(f"{OF_ACCOUNT}/send", to_members(send.form)),
    _does(f"{OF_ACCOUNT}/send", send.send),
    _does(f"{OF_ACCOUNT}/send/count", send.count),
    _shows(f"{OF_ACCOUNT}/messages", to_members(messages.log)),
    _shows(f"{OF_ACCOUNT}/messages/export", to_members(messages.export)),
    _shows(f"{OF_ACCOUNT}/messages/{{message}}", to_members(messages.one)),
    _shows(f"{OF_ACCOUNT}/handsets", to_members(handsets.handsets)),
    _shows(f"{OF_ACCOUNT}/handsets/{{phone}}", to_members(handsets.one)),
    _shows(CONTACTS, to_members(contacts.listed)),
    _shows(f"{CONTACTS}/new", to_members(contacts.new)),
    _does(f"{CONTACTS}/new", by_members(Right.CONTACTS, contacts.add, contacts.new)),
    _shows(f"{CONTACTS}/export", to_members(contact_export.export)),
    _shows(f"{CONTACTS}/import", to_members(contact_import.ask)),
    _takes_file(f"{CONTACTS}/import", to_members(contact_import.ask), contact_import.store),
    _shows(IMPORT, to_members(contact_import.one)),
    _does(IMPORT, by_members(Right.CONTACTS, contact_import.change, contact_import.ask)),
    _shows(f"{CONTACTS}/tags", to_members_in_steps(contact_tags.ask)),
    _does(f"{CONTACTS}/tags", contact_tags.change),
    _shows(CONTACT, to_members(contacts.one)),
    _does(CONTACT, by_members(Right.CONTACTS, contacts.change, contacts.one)),
    _shows(f"{CONTACT}/remove", to_members(contacts.ask_remove)),
    _does(f"{CONTACT}/remove", by_members(Right.CONTACTS, contacts.remove, contacts.ask_remove)),
    _shows(f"{OF_ACCOUNT}/senders", to_members(senders.listed)),
    _does(
        f"{OF_ACCOUNT}/senders",
        by_members(Right.SENDERS, senders.register, senders.listed),
    ),
    _does(
        f"{OF_ACCOUNT}/senders/{{sender}}",
        by_members(Right.SENDERS, senders.make_default, senders.listed),
    ),
    _shows(f"{OF_ACCOUNT}/campaigns", to_members(campaigns.listed)),
    _shows(f"{OF_ACCOUNT}/campaigns/new", to_members(campaign_new.new)),
    _does(
        f"{OF_ACCOUNT}/campaigns/new",
        by_members(Right.CAMPAIGNS, campaign_new.write_down, campaign_new.new),
    ),
    _does(
        f"{OF_ACCOUNT}/campaigns/new/preview",
        by_members(Right.CAMPAIGNS, campaign_new.preview, campaign_new.no_preview),
    ),
    _shows(f"{OF_ACCOUNT}/campaigns/new/import", to_members(campaign_file.ask)),
    _takes_file(
        f"{OF_ACCOUNT}/campaigns/new/import", to_members(campaign_file.ask), campaign_file.store
    ),
    _does(f"{CAMPAIGN}/test", campaign_test.send_test),
    _shows(CAMPAIGN, to_members_in_steps(campaigns.one)),
    _does(CAMPAIGN, campaigns.change),
    _shows(f"{CAMPAIGN}/launch", to_members_in_steps(campaigns.ask_launch)),
    _does(f"{CAMPAIGN}/launch", campaigns.launch),
    _shows(f"{OF_ACCOUNT}/reports", to_members(reports.shown)),
    _shows(f"{OF_ACCOUNT}/reports/file", to_members(reports.file)),
    _shows(f"{OF_ACCOUNT}/money", to_members(money.ledger)),
    _shows(f"{OF_ACCOUNT}/money/export", to_members(money.export)),
    _shows(f"{OF_ACCOUNT}/money/days/file", to_members(levels_plot.file)),
    _shows(f"{OF_ACCOUNT}/money/buy", to_members(purchase.ask)),
    _does(f"{OF_ACCOUNT}/money/buy", by_members(Right.MONEY, purchase.buy, purchase.ask)),
    _shows(f"{OF_ACCOUNT}/money/low", to_members(low_balance.ask)),
    _does(f"{OF_ACCOUNT}/money/low", by_members(Right.MONEY, low_balance.change, low_balance.ask)),
    _shows(f"{OF_ACCOUNT}/connect", to_members(customers.listed)),
    _shows(f"{OF_ACCOUNT}/connect/new", to_members(provision.new)),
    _does(
        f"{OF_ACCOUNT}/connect/new",
        by_members(Right.CONNECT, provision.provision, provision.new),
    ),
    _shows(CUSTOMER, to_members(customers.one)),
    _does(CUSTOMER, by_members(Right.CONNECT, customers.move, customers.one)),
    _shows(f"{OF_ACCOUNT}/keys", to_members(api_keys.listed)),
    _shows(f"{OF_ACCOUNT}/keys/new", to_members(api_keys.new)),
    _does(f"{OF_ACCOUNT}/keys/new", by_members(Right.KEYS, api_keys.make, api_keys.new)),
    _shows(f"{OF_ACCOUNT}/keys/{{key}}/revoke", to_members(api_keys.ask_revoke)),
    _does(
        f"{OF_ACCOUNT}/keys/{{key}}/revoke",
        by_members(Right.KEYS, api_keys.revoke, api_keys.new),
    ),
    _shows(f"{OF_ACCOUNT}/webhooks", to_members(webhooks.listed)),
    _shows(f"{OF_ACCOUNT}/webhooks/new", to_members(webhooks.new)),
    _does(
        f"{OF_ACCOUNT}/webhooks/new",
        by_members(Right.WEBHOOKS, webhooks.add, webhooks.new),
    ),
    _shows(ENDPOINT, to_members(webhooks.one)),
    _does(ENDPOINT, by_members(Right.WEBHOOKS, webhooks.change, webhooks.one)),
    _does(
        f"{ENDPOINT}/secret",
        by_members(Right.WEBHOOKS, webhooks.reveal, webhooks.one),
    ),
    _does(f"{ENDPOINT}/test", webhooks.test, Lane.WEBHOOK_TESTS),
    _shows(f"{OF_ACCOUNT}/sites", to_members(sites.listed)),
    _shows(f"{OF_ACCOUNT}/sites/{{site}}", to_members(sites.one)),
    _shows(f"{OF_ACCOUNT}/members", to_members(members.listed)),
    _does(
        f"{OF_ACCOUNT}/members",
        by_members(Right.MEMBERS, members.change, members.listed),
    ),
    _shows(f"{OF_ACCOUNT}/requests", to_members(request_log.listed)),
    _shows(f"{OF_ACCOUNT}/settings", to_members(settings.shown)),
    _does(
        f"{OF_ACCOUNT}/settings",
        by_members(Right.SETTINGS, settings.change, settings.shown),
    ),
    _shows(f"{OF_ACCOUNT}/audit", to_members(audit_log.listed)),
    _shows(f"{OF_ACCOUNT}/audit/export", to_members(audit_log.export)),
    _shows(you.PATH, to_members(you.shown)),
    _does(f"{you.PATH}/password", you.set_password, Lane.PASSWORDS),
    _does(f"{you.PATH}/sessions", by_members(None, you.end_session, you.shown)),
    _shows(authenticator.PATH, to_members(authenticator.shown)),
    _does(authenticator.PATH, by_members(None, authenticator.change, authenticator.shown)),
    _shows(passkey_pages.PATH, to_members(passkey_pages.how_to_make)),
    _does(passkey_pages.PATH, by_members(None, passkey_pages.change, you.shown)),
    _does(f"{you.PATH}/language", by_members(None, language_pages.choose_for_user, you.shown)),
    _shows(f"{language_pages.PATH}/{{language}}", language_pages.choose),
    _shows("/portal/sign-in/passkey", passkey_pages.how_to_sign_in),
    _does("/portal/sign-in/passkey", passkey_pages.sign_in),
    _shows("/portal/sign-in", sign_in_pages.ask_password),
    _does("/portal/sign-in", sign_in_pages.with_password, Lane.PASSWORDS),
    _does("/portal/sign-in/mail", sign_in_pages.mail_link),
    _shows(sign_up_pages.PATH, sign_up_pages.form),
    _does(sign_up_pages.PATH, sign_up_pages.ask),
    _shows(f"{sign_up_pages.PATH}/{{link}}", sign_up_pages.confirm),
    _does(f"{sign_up_pages.PATH}/{{link}}", sign_up_pages.make),
    _shows("/portal/invitation/{link}", sign_in_pages.invited),
    _does("/portal/invitation/{link}", sign_in_pages.accept_invitation),
    _shows("/portal/sign-in/code", code_page.ask),
    _does("/portal/sign-in/code", code_page.judge),
    _shows("/portal/sign-in/{link}", sign_in_pages.ask),
    _does("/portal/sign-in/{link}", sign_in_pages.sign_in),
    _does("/portal/sign-out", sign_in_pages.sign_out),
)
