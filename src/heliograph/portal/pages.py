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
from heliograph.portal.form_idempotency import redirect_once, redirect_user_once
from heliograph.portal.handlers import (
    file_form_route,
    files_form_route,
    form_for_members,
    form_for_users,
    form_route,
    long_page_for_members,
    page_for_members,
    page_for_members_else_console,
    page_for_users,
    page_route,
    redirect_to_console,
)
from heliograph.portal.lanes import Lane
from heliograph.portal.message_pages import conversations, handsets, messages
from heliograph.portal.page_request import HOME, YOU
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
from heliograph.senders.documents import DOCUMENTS_PER_SENDER_MAX
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
    page_route(YOU, page_for_users(user_page.show_user)),
    form_route(f"{YOU}/password", user_page.set_password, Lane.PASSWORDS),
    form_route(f"{YOU}/sessions", form_for_users(user_page.end_session, user_page.show_user)),
    page_route(authenticator.PATH, page_for_users(authenticator.show_authenticator)),
    form_route(
        authenticator.PATH, form_for_users(authenticator.change, authenticator.show_authenticator)
    ),
    page_route(passkey_pages.PATH, page_for_users(passkey_pages.registration_options)),
    form_route(
        passkey_pages.PATH,
        form_for_users(redirect_user_once(passkey_pages.change), user_page.show_user),
    ),
    form_route(
        f"{YOU}/language",
        form_for_users(language_pages.choose_for_user, user_page.show_user),
    ),
    page_route(f"{language_pages.PATH}/{{language}}", language_pages.choose),
    page_route("/portal/sign-in/passkey", passkey_pages.authentication_options),
    form_route("/portal/sign-in/passkey", passkey_pages.sign_in),
    page_route("/portal/sign-in", sign_in_pages.show_form),
    form_route("/portal/sign-in", sign_in_pages.sign_in_with_password, Lane.PASSWORDS),
    form_route("/portal/sign-in/mail", sign_in_pages.mail_link),
    page_route(sign_up_pages.PATH, sign_up_pages.show_form),
    form_route(sign_up_pages.PATH, sign_up_pages.request_link),
    page_route(f"{sign_up_pages.PATH}/{{link}}", sign_up_pages.show_confirmation),
    form_route(f"{sign_up_pages.PATH}/{{link}}", sign_up_pages.make_account),
    page_route("/portal/invitation/{link}", sign_in_pages.show_invitation),
    form_route("/portal/invitation/{link}", sign_in_pages.accept_invitation),
    page_route("/portal/sign-in/code", code_page.show_form),
    form_route("/portal/sign-in/code", code_page.sign_in),
    page_route("/portal/sign-in/{link}", sign_in_pages.show_link_button),
    form_route("/portal/sign-in/{link}", sign_in_pages.sign_in_with_link),
    form_route("/portal/sign-out", sign_in_pages.sign_out),
)

# what is served of the portal where it is off and the console is on
PAGES_WITHOUT_PORTAL: Final = (page_route(HOME, redirect_to_console), *SIGN_IN_PAGES)

PAGES: Final = (
    page_route(HOME, page_for_members_else_console(page_for_members(overview.show_overview))),
    page_route(OF_ACCOUNT, page_for_members(overview.show_overview)),
    page_route(f"{OF_ACCOUNT}/quickstart", page_for_members(quickstart.show_programs)),
    form_route(
        f"{OF_ACCOUNT}/quickstart",
        form_for_members(Right.KEYS, quickstart.make_key, quickstart.show_programs),
    ),
    page_route(f"{OF_ACCOUNT}/send", page_for_members(send.show_form)),
    form_route(f"{OF_ACCOUNT}/send", send.send),
    form_route(f"{OF_ACCOUNT}/send/count", send.count),
    page_route(f"{OF_ACCOUNT}/messages", page_for_members(messages.show_list)),
    page_route(f"{OF_ACCOUNT}/messages/export", page_for_members(messages.export)),
    page_route(f"{OF_ACCOUNT}/messages/{{message}}", page_for_members(messages.show_message)),
    page_route(CONVERSATIONS, page_for_members(conversations.show_list)),
    page_route(f"{CONVERSATIONS}/export", page_for_members(conversations.export)),
    page_route(f"{CONVERSATIONS}/{{phone}}", page_for_members(conversations.show_conversation)),
    form_route(f"{CONVERSATIONS}/{{phone}}", conversations.answer),
    form_route(
        f"{CONVERSATIONS}/{{phone}}/opt-out",
        form_for_members(Right.SEND, conversations.opt_out, conversations.show_opt_out_errors),
    ),
    page_route(f"{OF_ACCOUNT}/handsets", page_for_members(handsets.show_list)),
    page_route(f"{OF_ACCOUNT}/handsets/{{phone}}", page_for_members(handsets.show_handset)),
    form_route(f"{OF_ACCOUNT}/handsets/{{phone}}", handsets.write),
    page_route(CONTACTS, page_for_members(contacts.show_list)),
    page_route(f"{CONTACTS}/new", page_for_members(contacts.show_form)),
    form_route(
        f"{CONTACTS}/new",
        form_for_members(Right.CONTACTS, redirect_once(contacts.add), contacts.show_form),
    ),
    page_route(f"{CONTACTS}/export", page_for_members(contact_export.export)),
    page_route(f"{CONTACTS}/import", page_for_members(contact_import.show_form)),
    file_form_route(
        f"{CONTACTS}/import",
        page_for_members(contact_import.show_form),
        contact_import.store,
        show_again=contact_import.show_form,
    ),
    page_route(IMPORT, page_for_members(contact_import.show_import)),
    form_route(
        IMPORT,
        form_for_members(
            Right.CONTACTS, redirect_once(contact_import.change), contact_import.show_form
        ),
    ),
    page_route(f"{CONTACTS}/tags", long_page_for_members(contact_tags.show_form)),
    form_route(f"{CONTACTS}/tags", contact_tags.change),
    page_route(CONTACT, page_for_members(contacts.show_contact)),
    form_route(CONTACT, form_for_members(Right.CONTACTS, contacts.change, contacts.show_contact)),
    page_route(f"{CONTACT}/remove", page_for_members(contacts.ask_remove)),
    form_route(
        f"{CONTACT}/remove",
        form_for_members(Right.CONTACTS, redirect_once(contacts.remove), contacts.ask_remove),
    ),
    page_route(f"{OF_ACCOUNT}/senders", page_for_members(senders.show_list)),
    files_form_route(
        f"{OF_ACCOUNT}/senders",
        page_for_members(senders.may_register),
        form_for_members(Right.SENDERS, redirect_once(senders.register), senders.show_list),
        documents.FORM_OCTETS_MAX,
        DOCUMENTS_PER_SENDER_MAX,
        senders.show_list,
    ),
    form_route(
        f"{OF_ACCOUNT}/senders/{{sender}}",
        form_for_members(Right.SENDERS, senders.make_default, senders.show_list),
    ),
    page_route(DOCUMENTS, page_for_members(documents.show_list)),
    file_form_route(
        DOCUMENTS,
        page_for_members(documents.may_attach),
        documents.attach,
        documents.FORM_OCTETS_MAX,
        show_again=documents.show_list,
    ),
    form_route(
        f"{DOCUMENTS}/{{document}}",
        form_for_members(Right.SENDERS, redirect_once(documents.detach), documents.show_list),
    ),
    page_route(f"{DOCUMENTS}/{{document}}/file", page_for_members(documents.download)),
    page_route(f"{OF_ACCOUNT}/campaigns", page_for_members(campaigns.show_list)),
    page_route(f"{OF_ACCOUNT}/campaigns/new", page_for_members(campaign_new.show_form)),
    form_route(
        f"{OF_ACCOUNT}/campaigns/new",
        form_for_members(Right.CAMPAIGNS, campaign_new.store_draft, campaign_new.show_form),
    ),
    form_route(
        f"{OF_ACCOUNT}/campaigns/new/preview",
        form_for_members(
            Right.CAMPAIGNS, campaign_new.show_preview, campaign_new.show_empty_preview
        ),
    ),
    page_route(f"{OF_ACCOUNT}/campaigns/new/import", page_for_members(campaign_file.show_form)),
    file_form_route(
        f"{OF_ACCOUNT}/campaigns/new/import",
        page_for_members(campaign_file.show_form),
        campaign_file.store,
        may_lack_files=True,  # a mode that is chosen shows the form again
        show_again=campaign_file.show_form,
    ),
    form_route(f"{CAMPAIGN}/test", campaign_test.send_test),
    page_route(CAMPAIGN, long_page_for_members(campaigns.show_campaign)),
    form_route(CAMPAIGN, campaigns.change),
    page_route(f"{CAMPAIGN}/launch", long_page_for_members(campaigns.show_launch)),
    form_route(f"{CAMPAIGN}/launch", campaigns.launch),
    form_route(f"{CAMPAIGN}/launch/price", campaigns.price_launch),
    page_route(f"{OF_ACCOUNT}/reports", page_for_members(reports.show_report)),
    page_route(f"{OF_ACCOUNT}/reports/file", page_for_members(reports.download_table)),
    page_route(f"{OF_ACCOUNT}/money", page_for_members(money.show_ledger)),
    page_route(f"{OF_ACCOUNT}/money/export", page_for_members(money.export)),
    page_route(f"{OF_ACCOUNT}/money/days/file", page_for_members(levels_plot.download)),
    page_route(f"{OF_ACCOUNT}/money/buy", page_for_members(purchase.show_form)),
    form_route(
        f"{OF_ACCOUNT}/money/buy", form_for_members(Right.MONEY, purchase.buy, purchase.show_form)
    ),
    page_route(f"{OF_ACCOUNT}/money/low", page_for_members(low_balance.show_form)),
    form_route(
        f"{OF_ACCOUNT}/money/low",
        form_for_members(Right.MONEY, low_balance.change, low_balance.show_form),
    ),
    page_route(f"{OF_ACCOUNT}/connect", page_for_members(customers.show_list)),
    page_route(f"{OF_ACCOUNT}/connect/new", page_for_members(provision.show_form)),
    form_route(
        f"{OF_ACCOUNT}/connect/new",
        form_for_members(Right.CONNECT, provision.provision, provision.show_form),
    ),
    page_route(CUSTOMER, page_for_members(customers.show_customer)),
    form_route(CUSTOMER, form_for_members(Right.CONNECT, customers.move, customers.show_customer)),
    page_route(f"{OF_ACCOUNT}/keys", page_for_members(api_keys.show_list)),
    page_route(f"{OF_ACCOUNT}/keys/new", page_for_members(api_keys.show_form)),
    form_route(
        f"{OF_ACCOUNT}/keys/new", form_for_members(Right.KEYS, api_keys.make, api_keys.show_form)
    ),
    page_route(f"{OF_ACCOUNT}/keys/{{key}}/revoke", page_for_members(api_keys.ask_revoke)),
    form_route(
        f"{OF_ACCOUNT}/keys/{{key}}/revoke",
        form_for_members(Right.KEYS, api_keys.revoke, api_keys.show_form),
    ),
    page_route(f"{OF_ACCOUNT}/webhooks", page_for_members(webhooks.show_list)),
    page_route(f"{OF_ACCOUNT}/webhooks/new", page_for_members(webhooks.show_form)),
    form_route(
        f"{OF_ACCOUNT}/webhooks/new",
        form_for_members(Right.WEBHOOKS, webhooks.add, webhooks.show_form),
    ),
    form_route(
        f"{OF_ACCOUNT}/webhooks/new/address",
        form_for_members(Right.WEBHOOKS, webhooks.check_address, webhooks.show_address_errors),
    ),
    page_route(ENDPOINT, page_for_members(webhooks.show_endpoint)),
    form_route(
        ENDPOINT,
        form_for_members(Right.WEBHOOKS, redirect_once(webhooks.change), webhooks.show_endpoint),
    ),
    form_route(
        f"{ENDPOINT}/secret",
        form_for_members(Right.WEBHOOKS, webhooks.reveal, webhooks.show_endpoint),
    ),
    page_route(f"{ENDPOINT}/events/{{event}}", page_for_members(webhooks.show_event)),
    form_route(f"{ENDPOINT}/test", webhooks.send_test, Lane.WEBHOOK_TESTS),
    page_route(f"{OF_ACCOUNT}/sites", page_for_members(sites.show_list)),
    page_route(f"{OF_ACCOUNT}/sites/{{site}}", page_for_members(sites.show_site)),
    page_route(f"{OF_ACCOUNT}/members", page_for_members(members.show_list)),
    form_route(
        f"{OF_ACCOUNT}/members",
        form_for_members(Right.MEMBERS, redirect_once(members.change), members.show_list),
    ),
    page_route(f"{OF_ACCOUNT}/requests", page_for_members(request_log.show_list)),
    page_route(f"{OF_ACCOUNT}/settings", page_for_members(settings.show_settings)),
    form_route(
        f"{OF_ACCOUNT}/settings",
        form_for_members(Right.SETTINGS, settings.change, settings.show_settings),
    ),
    page_route(f"{OF_ACCOUNT}/audit", page_for_members(audit_log.show_list)),
    page_route(f"{OF_ACCOUNT}/audit/export", page_for_members(audit_log.export)),
    *SIGN_IN_PAGES,
)
