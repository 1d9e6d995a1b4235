"""Lists every page of the console, and every form."""

from typing import Final

from heliograph.console import approvals, live_approvals, log_pages, reserved_names
from heliograph.console.abuse_pages import abuse
from heliograph.console.account_pages import (
    account_campaigns,
    account_closing,
    account_keys,
    account_limits,
    account_name,
    account_new,
    account_quotas,
    account_webhooks,
    accounts,
    rate_tiers,
)
from heliograph.console.alert_pages import alert_list, alert_recipients, alert_rules
from heliograph.console.carrier_pages import (
    bind_trials,
    carrier_figures,
    carrier_settings,
    carriers,
    keywords,
    numbers,
    one_number,
    routes,
)
from heliograph.console.handlers import (
    OperatorsFormPage,
    OperatorsPage,
    checked_form_for_operators,
    form_for_operators,
    long_form_for_operators,
    page_for_operators,
)
from heliograph.console.message_pages import (
    found_messages,
    in_doubt,
    one_message,
    queued_messages,
    unmatched_receipts,
)
from heliograph.console.message_pages.inbound_routes import INBOUND_ROUTES
from heliograph.console.money_pages import carrier_money, days, ledger_files, money, proofs
from heliograph.console.navigation import (
    ABUSE,
    ACCOUNTS,
    ALERTS,
    APPROVALS,
    CARRIER_MONEY,
    CARRIERS,
    COSTS,
    IN_DOUBT,
    KEYWORDS,
    LEDGER_FILES,
    LOG,
    MARGIN,
    MATCH,
    MESSAGES,
    MONEY,
    NEW_ACCOUNT,
    NOW,
    NUMBERS,
    OPERATORS,
    PEOPLE,
    PRICES,
    PROOFS,
    RATES,
    RECIPIENTS,
    RESERVED,
    ROUTES,
    SHEETS,
    TIERS,
    TRY_NEW,
    UNMATCHED,
)
from heliograph.console.now_pages import now
from heliograph.console.people_pages import (
    account_people,
    one_member,
    one_operator,
    one_person,
    operator_list,
    people,
)
from heliograph.console.phone_pages.phone_routes import PHONE_ROUTES
from heliograph.console.rate_pages import costs, margins, prices, rate_sheets, rates
from heliograph.console.seen_pages import seen_portal
from heliograph.portal.handlers import Handler, file_form_route, form_route, page_route
from heliograph.portal.lanes import Lane
from heliograph.portal.page_request import CONSOLE
from heliograph.users import OperatorRight

SENDER: Final = f"{APPROVALS}/senders/{{sender}}"
WAITING_ACCOUNT: Final = f"{APPROVALS}/accounts/{{account}}"
ACCOUNT: Final = f"{ACCOUNTS}/{{account}}"
KEY: Final = f"{ACCOUNT}/keys/{{key}}"
ENDPOINT: Final = f"{ACCOUNT}/webhooks/{{endpoint}}"
CAMPAIGN: Final = f"{ACCOUNT}/campaigns/{{campaign}}"
CARRIER: Final = f"{CARRIERS}/{{carrier}}"
NUMBER: Final = f"{NUMBERS}/{{number}}"
SHEET: Final = f"{SHEETS}/{{sheet}}"
WALLET: Final = f"{MONEY}/{{account}}"

MESSAGE: Final = f"{MESSAGES}/{{message}}"
PERSON: Final = f"{PEOPLE}/{{user}}"
MEMBER: Final = f"{ACCOUNT}/people/{{user}}"
KEYWORD: Final = f"{KEYWORDS}/{{keyword}}"


def _on_accounts(do: OperatorsPage, show: OperatorsFormPage) -> Handler:
    """Returns a handler for a form of those who decide what a tenant may do and has."""
    return form_for_operators(OperatorRight.ACCOUNTS, do, show, is_fresh=True)


def _showing_once(right: OperatorRight, do: OperatorsPage, show: OperatorsFormPage) -> Handler:
    """Returns a handler for a form that may give a link or a secret, which it shows once."""
    return form_for_operators(right, do, show, is_fresh=True, shows_once=True)


def _on_people(do: OperatorsPage, show: OperatorsFormPage) -> Handler:
    """Returns a handler for a form that may give somebody a link."""
    return _showing_once(OperatorRight.ACCOUNTS, do, show)


def _on_messages(do: OperatorsPage, show: OperatorsFormPage) -> Handler:
    """Returns a handler for a form of those who decide about messages."""
    return form_for_operators(OperatorRight.MESSAGES, do, show, is_fresh=True)


def _on_alerts(do: OperatorsPage) -> Handler:
    """Returns a handler for a form of the page of alerts."""
    return form_for_operators(OperatorRight.ALERTS, do, alert_list.show_list)


def _on_rates(do: OperatorsPage, show: OperatorsFormPage) -> Handler:
    """Returns a handler for a form of those who decide what a segment costs."""
    return form_for_operators(OperatorRight.CARRIERS, do, show, is_fresh=True)


PAGES: Final = (
    page_route(CONSOLE, page_for_operators(now.redirect_to_first_page)),
    page_route(NOW, page_for_operators(now.show_service)),
    page_route(f"{NOW}/figures", page_for_operators(now.show_figures)),
    page_route(f"{NOW}/export", page_for_operators(now.export)),
    page_route(APPROVALS, page_for_operators(approvals.show_list)),
    page_route(SENDER, page_for_operators(approvals.show_sender)),
    form_route(
        SENDER, form_for_operators(OperatorRight.APPROVE, approvals.decide, approvals.show_sender)
    ),
    page_route(f"{SENDER}/documents/{{document}}", page_for_operators(approvals.download_document)),
    page_route(WAITING_ACCOUNT, page_for_operators(live_approvals.show_account)),
    form_route(
        WAITING_ACCOUNT,
        form_for_operators(
            OperatorRight.ACCOUNTS,
            live_approvals.let_live,
            live_approvals.show_account,
            is_fresh=True,
        ),
    ),
    page_route(RESERVED, page_for_operators(reserved_names.show_list)),
    form_route(
        RESERVED,
        form_for_operators(OperatorRight.APPROVE, reserved_names.reserve, reserved_names.show_list),
    ),
    page_route(f"{RESERVED}/release", page_for_operators(reserved_names.ask_release)),
    form_route(
        f"{RESERVED}/release",
        form_for_operators(
            OperatorRight.APPROVE, reserved_names.release, reserved_names.ask_release
        ),
    ),
    page_route(ACCOUNTS, page_for_operators(accounts.show_list)),
    form_route(
        ACCOUNTS, form_for_operators(OperatorRight.LOOK, accounts.search, accounts.show_list)
    ),
    page_route(TIERS, page_for_operators(rate_tiers.show_list)),  # first: ACCOUNT takes any name
    form_route(TIERS, _on_accounts(rate_tiers.change, rate_tiers.show_list)),
    page_route(NEW_ACCOUNT, page_for_operators(account_new.show_form)),
    form_route(NEW_ACCOUNT, _on_people(account_new.create, account_new.show_form)),
    page_route(ACCOUNT, page_for_operators(accounts.show_account)),
    form_route(
        ACCOUNT,
        form_for_operators(
            OperatorRight.ACCOUNTS, accounts.change, accounts.show_account, is_fresh=True
        ),
    ),
    page_route(f"{ACCOUNT}/name", page_for_operators(account_name.show_form)),
    form_route(f"{ACCOUNT}/name", _on_accounts(account_name.rename, account_name.show_form)),
    page_route(f"{ACCOUNT}/people", page_for_operators(account_people.show_list)),
    form_route(f"{ACCOUNT}/people", _on_people(account_people.add, account_people.show_list)),
    page_route(MEMBER, page_for_operators(one_member.show_member)),
    form_route(MEMBER, _on_accounts(one_member.change, one_member.show_member)),
    page_route(f"{ACCOUNT}/limits", page_for_operators(account_limits.show_limits)),
    form_route(
        f"{ACCOUNT}/limits",
        form_for_operators(
            OperatorRight.ACCOUNTS, account_limits.change, account_limits.show_limits, is_fresh=True
        ),
    ),
    page_route(f"{ACCOUNT}/quotas", page_for_operators(account_quotas.show_quotas)),
    form_route(
        f"{ACCOUNT}/quotas", _on_accounts(account_quotas.change, account_quotas.show_quotas)
    ),
    page_route(f"{ACCOUNT}/keys", page_for_operators(account_keys.show_list)),
    page_route(KEY, page_for_operators(account_keys.show_key)),
    form_route(KEY, _on_accounts(account_keys.change, account_keys.show_key)),
    page_route(f"{ACCOUNT}/webhooks", page_for_operators(account_webhooks.show_list)),
    page_route(ENDPOINT, page_for_operators(account_webhooks.show_endpoint)),
    form_route(ENDPOINT, _on_accounts(account_webhooks.change, account_webhooks.show_endpoint)),
    page_route(f"{ACCOUNT}/campaigns", page_for_operators(account_campaigns.show_list)),
    page_route(CAMPAIGN, page_for_operators(account_campaigns.show_campaign)),
    form_route(CAMPAIGN, _on_accounts(account_campaigns.change, account_campaigns.show_campaign)),
    page_route(f"{ACCOUNT}/close", page_for_operators(account_closing.ask_closing)),
    form_route(
        f"{ACCOUNT}/close", _on_accounts(account_closing.close, account_closing.ask_closing)
    ),
    page_route(f"{ACCOUNT}/queued", page_for_operators(queued_messages.show_list)),
    form_route(
        f"{ACCOUNT}/queued",
        long_form_for_operators(OperatorRight.MESSAGES, queued_messages.cancel),
    ),
    form_route(
        f"{ACCOUNT}/see",
        form_for_operators(OperatorRight.SEE, seen_portal.begin, accounts.show_account),
    ),
    form_route(
        f"{ACCOUNT}/leave",
        form_for_operators(OperatorRight.LOOK, seen_portal.leave, accounts.show_account),
    ),
    *seen_portal.seen_pages(),
    page_route(MESSAGES, page_for_operators(found_messages.show_list)),
    page_route(IN_DOUBT, page_for_operators(in_doubt.show_list)),
    form_route(IN_DOUBT, _on_messages(in_doubt.preview_decision, in_doubt.show_list)),
    form_route(f"{IN_DOUBT}/decide", _on_messages(in_doubt.decide, in_doubt.show_list)),
    page_route(UNMATCHED, page_for_operators(unmatched_receipts.show_list)),
    page_route(MATCH, page_for_operators(unmatched_receipts.show_receipt)),
    form_route(MATCH, _on_messages(unmatched_receipts.match, unmatched_receipts.show_receipt)),
    *INBOUND_ROUTES,
    page_route(MESSAGE, page_for_operators(one_message.show_message)),
    form_route(
        f"{MESSAGE}/text",
        form_for_operators(OperatorRight.TEXTS, one_message.read_text, one_message.show_message),
    ),
    form_route(f"{MESSAGE}/cancel", _on_messages(one_message.cancel, one_message.show_message)),
    *PHONE_ROUTES,
    page_route(ABUSE, page_for_operators(abuse.show_list)),
    form_route(
        f"{ABUSE}/block",
        form_for_operators(OperatorRight.ACCOUNTS, abuse.block, abuse.show_list, is_fresh=True),
    ),
    page_route(f"{ABUSE}/unblock", page_for_operators(abuse.ask_unblock)),
    form_route(
        f"{ABUSE}/unblock",
        form_for_operators(OperatorRight.ACCOUNTS, abuse.unblock, abuse.ask_unblock, is_fresh=True),
    ),
    page_route(CARRIERS, page_for_operators(carriers.show_list)),
    form_route(
        CARRIERS,
        checked_form_for_operators(
            OperatorRight.CARRIERS,
            bind_trials.try_before_adding,
            form_for_operators(
                OperatorRight.CARRIERS, carriers.add, carriers.show_list, is_fresh=True
            ),
        ),
        Lane.TRIAL_BINDS,
    ),
    form_route(
        TRY_NEW,
        long_form_for_operators(OperatorRight.CARRIERS, bind_trials.try_new),
        Lane.TRIAL_BINDS,
    ),
    form_route(
        f"{CARRIER}/try",
        long_form_for_operators(OperatorRight.CARRIERS, bind_trials.try_stored),
        Lane.TRIAL_BINDS,
    ),
    page_route(CARRIER, page_for_operators(carriers.show_carrier)),
    page_route(f"{CARRIER}/settings", page_for_operators(carrier_settings.show_settings)),
    form_route(
        f"{CARRIER}/settings",
        checked_form_for_operators(
            OperatorRight.CARRIERS,
            bind_trials.try_before_changing,
            form_for_operators(
                OperatorRight.CARRIERS,
                carrier_settings.change,
                carrier_settings.show_settings,
                is_fresh=True,
            ),
        ),
        Lane.TRIAL_BINDS,
    ),
    form_route(
        f"{CARRIER}/settings/try",
        long_form_for_operators(OperatorRight.CARRIERS, bind_trials.try_changed),
        Lane.TRIAL_BINDS,
    ),
    page_route(f"{CARRIER}/figures", page_for_operators(carrier_figures.show_figures)),
    page_route(f"{CARRIER}/export", page_for_operators(carrier_figures.export)),
    form_route(
        CARRIER, form_for_operators(OperatorRight.CARRIERS, carriers.change, carriers.show_carrier)
    ),
    page_route(ROUTES, page_for_operators(routes.show_list)),
    form_route(
        ROUTES,
        form_for_operators(OperatorRight.CARRIERS, routes.change, routes.show_list, is_fresh=True),
    ),
    page_route(NUMBERS, page_for_operators(numbers.show_list)),
    form_route(NUMBERS, _on_accounts(numbers.add, numbers.show_list)),
    page_route(KEYWORDS, page_for_operators(keywords.show_list)),
    form_route(KEYWORDS, _on_accounts(keywords.save, keywords.show_list)),
    page_route(KEYWORD, page_for_operators(keywords.ask_removal)),
    form_route(KEYWORD, _on_accounts(keywords.remove, keywords.ask_removal)),
    page_route(NUMBER, page_for_operators(one_number.show_number)),
    form_route(NUMBER, _on_accounts(one_number.change, one_number.show_number)),
    page_route(RATES, page_for_operators(rates.show_list)),
    form_route(RATES, _on_rates(rates.change, rates.show_list)),
    page_route(f"{RATES}/export", page_for_operators(rates.export)),
    page_route(SHEETS, page_for_operators(rate_sheets.show_list)),
    file_form_route(SHEETS, rate_sheets.may_upload_at_all, rate_sheets.upload_it),
    page_route(SHEET, page_for_operators(rate_sheets.show_sheet)),
    page_route(f"{SHEET}/export", page_for_operators(rate_sheets.export)),
    page_route(f"{SHEET}/losses/export", page_for_operators(rate_sheets.export_losses)),
    form_route(SHEET, _on_rates(rate_sheets.change, rate_sheets.show_sheet)),
    page_route(COSTS, page_for_operators(costs.show_list)),
    form_route(COSTS, _on_rates(costs.change, costs.show_list)),
    page_route(PRICES, page_for_operators(prices.show_list)),
    form_route(
        PRICES,
        form_for_operators(OperatorRight.MONEY, prices.change, prices.show_list, is_fresh=True),
    ),
    page_route(MARGIN, page_for_operators(margins.show_list)),
    page_route(f"{MARGIN}/export", page_for_operators(margins.export)),
    page_route(MONEY, page_for_operators(days.show_all_accounts)),
    page_route(f"{MONEY}/days", page_for_operators(days.export)),
    page_route(CARRIER_MONEY, page_for_operators(carrier_money.show_list)),
    page_route(f"{CARRIER_MONEY}/export", page_for_operators(carrier_money.export)),
    page_route(PROOFS, page_for_operators(proofs.show_list)),
    form_route(
        PROOFS, form_for_operators(OperatorRight.MONEY, proofs.request_proof, proofs.show_refusal)
    ),
    page_route(LEDGER_FILES, page_for_operators(ledger_files.show_form)),
    page_route(f"{LEDGER_FILES}/export", page_for_operators(ledger_files.export)),
    page_route(WALLET, page_for_operators(money.show_wallet)),
    form_route(
        WALLET,
        form_for_operators(OperatorRight.MONEY, money.change, money.show_wallet, is_fresh=True),
    ),
    page_route(f"{WALLET}/statement", page_for_operators(ledger_files.statement)),
    page_route(f"{WALLET}/statement.pdf", page_for_operators(ledger_files.statement_pdf)),
    page_route(f"{WALLET}/days", page_for_operators(days.show_account)),
    page_route(f"{WALLET}/days/export", page_for_operators(days.export_account)),
    page_route(f"{WALLET}/entries", page_for_operators(money.export_entries)),
    page_route(ALERTS, page_for_operators(alert_list.show_list)),
    form_route(ALERTS, _on_alerts(alert_rules.change)),
    form_route(f"{ALERTS}/wallets", _on_alerts(alert_rules.watch)),
    page_route(RECIPIENTS, page_for_operators(alert_list.redirect_to_alerts)),
    form_route(
        RECIPIENTS,
        _showing_once(OperatorRight.ALERTS, alert_recipients.add, alert_list.show_list),
    ),
    page_route(f"{RECIPIENTS}/{{recipient}}", page_for_operators(alert_recipients.ask_removal)),
    form_route(f"{RECIPIENTS}/{{recipient}}", _on_alerts(alert_recipients.change)),
    page_route(PEOPLE, page_for_operators(people.show_list)),
    page_route(OPERATORS, page_for_operators(operator_list.show_list)),
    form_route(
        OPERATORS,
        _showing_once(OperatorRight.OPERATORS, operator_list.add, operator_list.show_list),
    ),
    page_route(PERSON, page_for_operators(one_person.show_person)),
    page_route(f"{PERSON}/operator", page_for_operators(one_operator.show_operator)),
    form_route(
        f"{PERSON}/operator",
        form_for_operators(
            OperatorRight.OPERATORS, one_operator.change, one_operator.show_operator, is_fresh=True
        ),
    ),
    page_route(f"{PERSON}/link", page_for_operators(one_person.ask_link)),
    form_route(f"{PERSON}/link", _on_people(one_person.link, one_person.ask_link)),
    page_route(f"{PERSON}/two-step-off", page_for_operators(one_person.ask_two_step_off)),
    form_route(
        f"{PERSON}/two-step-off",
        _on_accounts(one_person.turn_two_step_off, one_person.ask_two_step_off),
    ),
    page_route(f"{PERSON}/disable", page_for_operators(one_person.ask_disabling)),
    form_route(f"{PERSON}/disable", _on_accounts(one_person.disable, one_person.ask_disabling)),
    page_route(LOG, page_for_operators(log_pages.show_list)),
    page_route(f"{LOG}/export", page_for_operators(log_pages.export)),
)
