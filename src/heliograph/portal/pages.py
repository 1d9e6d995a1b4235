"""Lists every page of the portal, and every form."""

from typing import Final

from heliograph.portal import (
    api_keys,
    members,
    overview,
    quickstart,
    request_log,
    send,
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
from heliograph.portal.handlers import (
    by_members,
    by_users,
    does,
    may_take_files,
    shows,
    takes_file,
    to_console,
    to_members,
    to_members_first,
    to_members_in_steps,
    to_users,
)
from heliograph.portal.lanes import Lane
from heliograph.portal.message_pages import conversations, handsets, messages
from heliograph.portal.once import leads_once, leads_once_by
from heliograph.portal.page_request import HOME
from heliograph.portal.report_pages import reports
from heliograph.portal.sender_pages import documents, senders
from heliograph.portal.settings_pages import audit_log, settings
from heliograph.portal.sign_in import (
    authenticator,
    code_page,
    language_pages,
    passkey_pages,
    sign_in_pages,
    sign_up_pages,
    user_page,
)
from heliograph.portal.wallet_pages import levels_plot, low_balance, money, purchase
from heliograph.senders import DOCUMENTS_PER_SENDER_MAX
from heliograph.users import Right

OF_ACCOUNT: Final = "/portal/accounts/{account}"
CONVERSATIONS: Final = f"{OF_ACCOUNT}/conversations"
CONTACTS: Final = f"{OF_ACCOUNT}/contacts"
CONTACT: Final = f"{CONTACTS}/{{contact}}"
IMPORT: Final = f"{CONTACTS}/imports/{{file}}"
CAMPAIGN: Final = f"{OF_ACCOUNT}/campaigns/{{campaign}}"
DOCUMENTS: Final = f"{OF_ACCOUNT}/senders/{{sender}}/documents"
CUSTOMER: Final = f"{OF_ACCOUNT}/connect/{{customer}}"
ENDPOINT: Final = f"{OF_ACCOUNT}/webhooks/{{endpoint}}"


# by which users sign in, and look after how they do: the portal and the console share them
SIGN_IN_PAGES: Final = (
    shows(user_page.PATH, to_users(user_page.shown)),
    does(f"{user_page.PATH}/password", user_page.set_password, Lane.PASSWORDS),
    does(f"{user_page.PATH}/sessions", by_users(user_page.end_session, user_page.shown)),
    shows(authenticator.PATH, to_users(authenticator.shown)),
    does(authenticator.PATH, by_users(authenticator.change, authenticator.shown)),
    shows(passkey_pages.PATH, to_users(passkey_pages.how_to_make)),
    does(passkey_pages.PATH, by_users(leads_once_by(passkey_pages.change), user_page.shown)),
    does(f"{user_page.PATH}/language", by_users(language_pages.choose_for_user, user_page.shown)),
    shows(f"{language_pages.PATH}/{{language}}", language_pages.choose),
    shows("/portal/sign-in/passkey", passkey_pages.how_to_sign_in),
    does("/portal/sign-in/passkey", passkey_pages.sign_in),
    shows("/portal/sign-in", sign_in_pages.ask_password),
    does("/portal/sign-in", sign_in_pages.with_password, Lane.PASSWORDS),
    does("/portal/sign-in/mail", sign_in_pages.mail_link),
    shows(sign_up_pages.PATH, sign_up_pages.form),
    does(sign_up_pages.PATH, sign_up_pages.ask),
    shows(f"{sign_up_pages.PATH}/{{link}}", sign_up_pages.confirm),
    does(f"{sign_up_pages.PATH}/{{link}}", sign_up_pages.make),
    shows("/portal/invitation/{link}", sign_in_pages.invited),
    does("/portal/invitation/{link}", sign_in_pages.accept_invitation),
    shows("/portal/sign-in/code", code_page.ask),
    does("/portal/sign-in/code", code_page.judge),
    shows("/portal/sign-in/{link}", sign_in_pages.ask),
    does("/portal/sign-in/{link}", sign_in_pages.sign_in),
    does("/portal/sign-out", sign_in_pages.sign_out),
)

# what is served of the portal where it is off and the console is on
PAGES_WITHOUT_PORTAL: Final = (shows(HOME, to_console), *SIGN_IN_PAGES)

PAGES: Final = (
    shows(HOME, to_members_first(to_members(overview.overview))),
    shows(OF_ACCOUNT, to_members(overview.overview)),
    shows(f"{OF_ACCOUNT}/quickstart", to_members(quickstart.shown)),
    does(
        f"{OF_ACCOUNT}/quickstart",
        by_members(Right.KEYS, quickstart.make_key, quickstart.shown),
    ),
    shows(f"{OF_ACCOUNT}/send", to_members(send.form)),
    does(f"{OF_ACCOUNT}/send", send.send),
    does(f"{OF_ACCOUNT}/send/count", send.count),
    shows(f"{OF_ACCOUNT}/messages", to_members(messages.log)),
    shows(f"{OF_ACCOUNT}/messages/export", to_members(messages.export)),
    shows(f"{OF_ACCOUNT}/messages/{{message}}", to_members(messages.one)),
    shows(CONVERSATIONS, to_members(conversations.listed)),
    shows(f"{CONVERSATIONS}/export", to_members(conversations.export)),
    shows(f"{CONVERSATIONS}/{{phone}}", to_members(conversations.one)),
    does(f"{CONVERSATIONS}/{{phone}}", conversations.answer),
    does(
        f"{CONVERSATIONS}/{{phone}}/opt-out",
        by_members(Right.SEND, conversations.opt_out, conversations.not_opted_out),
    ),
    shows(f"{OF_ACCOUNT}/handsets", to_members(handsets.handsets)),
    shows(f"{OF_ACCOUNT}/handsets/{{phone}}", to_members(handsets.one)),
    does(f"{OF_ACCOUNT}/handsets/{{phone}}", handsets.write),
    shows(CONTACTS, to_members(contacts.listed)),
    shows(f"{CONTACTS}/new", to_members(contacts.new)),
    does(f"{CONTACTS}/new", by_members(Right.CONTACTS, leads_once(contacts.add), contacts.new)),
    shows(f"{CONTACTS}/export", to_members(contact_export.export)),
    shows(f"{CONTACTS}/import", to_members(contact_import.ask)),
    takes_file(f"{CONTACTS}/import", to_members(contact_import.ask), contact_import.store),
    shows(IMPORT, to_members(contact_import.one)),
    does(IMPORT, by_members(Right.CONTACTS, leads_once(contact_import.change), contact_import.ask)),
    shows(f"{CONTACTS}/tags", to_members_in_steps(contact_tags.ask)),
    does(f"{CONTACTS}/tags", contact_tags.change),
    shows(CONTACT, to_members(contacts.one)),
    does(CONTACT, by_members(Right.CONTACTS, contacts.change, contacts.one)),
    shows(f"{CONTACT}/remove", to_members(contacts.ask_remove)),
    does(
        f"{CONTACT}/remove",
        by_members(Right.CONTACTS, leads_once(contacts.remove), contacts.ask_remove),
    ),
    shows(f"{OF_ACCOUNT}/senders", to_members(senders.listed)),
    may_take_files(
        f"{OF_ACCOUNT}/senders",
        to_members(senders.may_register),
        by_members(Right.SENDERS, leads_once(senders.register), senders.listed),
        documents.FORM_OCTETS_MAX,
        DOCUMENTS_PER_SENDER_MAX,
    ),
    does(
        f"{OF_ACCOUNT}/senders/{{sender}}",
        by_members(Right.SENDERS, senders.make_default, senders.listed),
    ),
    shows(DOCUMENTS, to_members(documents.listed)),
    takes_file(
        DOCUMENTS, to_members(documents.may_attach), documents.attach, documents.FORM_OCTETS_MAX
    ),
    does(
        f"{DOCUMENTS}/{{document}}",
        by_members(Right.SENDERS, leads_once(documents.detach), documents.listed),
    ),
    shows(f"{DOCUMENTS}/{{document}}/file", to_members(documents.file)),
    shows(f"{OF_ACCOUNT}/campaigns", to_members(campaigns.listed)),
    shows(f"{OF_ACCOUNT}/campaigns/new", to_members(campaign_new.new)),
    does(
        f"{OF_ACCOUNT}/campaigns/new",
        by_members(Right.CAMPAIGNS, campaign_new.write_down, campaign_new.new),
    ),
    does(
        f"{OF_ACCOUNT}/campaigns/new/preview",
        by_members(Right.CAMPAIGNS, campaign_new.preview, campaign_new.no_preview),
    ),
    shows(f"{OF_ACCOUNT}/campaigns/new/import", to_members(campaign_file.ask)),
    takes_file(
        f"{OF_ACCOUNT}/campaigns/new/import", to_members(campaign_file.ask), campaign_file.store
    ),
    does(f"{CAMPAIGN}/test", campaign_test.send_test),
    shows(CAMPAIGN, to_members_in_steps(campaigns.one)),
    does(CAMPAIGN, campaigns.change),
    shows(f"{CAMPAIGN}/launch", to_members_in_steps(campaigns.ask_launch)),
    does(f"{CAMPAIGN}/launch", campaigns.launch),
    shows(f"{OF_ACCOUNT}/reports", to_members(reports.shown)),
    shows(f"{OF_ACCOUNT}/reports/file", to_members(reports.file)),
    shows(f"{OF_ACCOUNT}/money", to_members(money.ledger)),
    shows(f"{OF_ACCOUNT}/money/export", to_members(money.export)),
    shows(f"{OF_ACCOUNT}/money/days/file", to_members(levels_plot.file)),
    shows(f"{OF_ACCOUNT}/money/buy", to_members(purchase.ask)),
    does(f"{OF_ACCOUNT}/money/buy", by_members(Right.MONEY, purchase.buy, purchase.ask)),
    shows(f"{OF_ACCOUNT}/money/low", to_members(low_balance.ask)),
    does(f"{OF_ACCOUNT}/money/low", by_members(Right.MONEY, low_balance.change, low_balance.ask)),
    shows(f"{OF_ACCOUNT}/connect", to_members(customers.listed)),
    shows(f"{OF_ACCOUNT}/connect/new", to_members(provision.new)),
    does(
        f"{OF_ACCOUNT}/connect/new",
        by_members(Right.CONNECT, provision.provision, provision.new),
    ),
    shows(CUSTOMER, to_members(customers.one)),
    does(CUSTOMER, by_members(Right.CONNECT, customers.move, customers.one)),
    shows(f"{OF_ACCOUNT}/keys", to_members(api_keys.listed)),
    shows(f"{OF_ACCOUNT}/keys/new", to_members(api_keys.new)),
    does(f"{OF_ACCOUNT}/keys/new", by_members(Right.KEYS, api_keys.make, api_keys.new)),
    shows(f"{OF_ACCOUNT}/keys/{{key}}/revoke", to_members(api_keys.ask_revoke)),
    does(
        f"{OF_ACCOUNT}/keys/{{key}}/revoke",
        by_members(Right.KEYS, api_keys.revoke, api_keys.new),
    ),
    shows(f"{OF_ACCOUNT}/webhooks", to_members(webhooks.listed)),
    shows(f"{OF_ACCOUNT}/webhooks/new", to_members(webhooks.new)),
    does(
        f"{OF_ACCOUNT}/webhooks/new",
        by_members(Right.WEBHOOKS, webhooks.add, webhooks.new),
    ),
    does(
        f"{OF_ACCOUNT}/webhooks/new/address",
        by_members(Right.WEBHOOKS, webhooks.judge, webhooks.refuse),
    ),
    shows(ENDPOINT, to_members(webhooks.one)),
    does(ENDPOINT, by_members(Right.WEBHOOKS, leads_once(webhooks.change), webhooks.one)),
    does(
        f"{ENDPOINT}/secret",
        by_members(Right.WEBHOOKS, webhooks.reveal, webhooks.one),
    ),
    shows(f"{ENDPOINT}/events/{{event}}", to_members(webhooks.event)),
    does(f"{ENDPOINT}/test", webhooks.test, Lane.WEBHOOK_TESTS),
    shows(f"{OF_ACCOUNT}/sites", to_members(sites.listed)),
    shows(f"{OF_ACCOUNT}/sites/{{site}}", to_members(sites.one)),
    shows(f"{OF_ACCOUNT}/members", to_members(members.listed)),
    does(
        f"{OF_ACCOUNT}/members",
        by_members(Right.MEMBERS, leads_once(members.change), members.listed),
    ),
    shows(f"{OF_ACCOUNT}/requests", to_members(request_log.listed)),
    shows(f"{OF_ACCOUNT}/settings", to_members(settings.shown)),
    does(
        f"{OF_ACCOUNT}/settings",
        by_members(Right.SETTINGS, settings.change, settings.shown),
    ),
    shows(f"{OF_ACCOUNT}/audit", to_members(audit_log.listed)),
    shows(f"{OF_ACCOUNT}/audit/export", to_members(audit_log.export)),
    *SIGN_IN_PAGES,
)
