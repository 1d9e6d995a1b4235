"""Lists every page of the console, and every form."""

from typing import Final

from heliograph.console import (
    account_limits,
    account_pages,
    approvals,
    live_approvals,
    log_pages,
)
from heliograph.console.abuse_pages import abuse
from heliograph.console.alert_pages import alert_list, alert_recipients, alert_rules
from heliograph.console.carrier_pages import bind_trials, carrier_figures, carriers, routes
from heliograph.console.handlers import (
    OperatorsFormPage,
    OperatorsPage,
    by_operators,
    by_operators_in_steps,
    first_by_operators,
    to_operators,
)
from heliograph.console.message_pages import (
    found_messages,
    in_doubt,
    one_message,
    unmatched_receipts,
)
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
    LEDGER_FILES,
    LOG,
    MARGIN,
    MATCH,
    MESSAGES,
    MONEY,
    NOW,
    PRICES,
    PROOFS,
    RATES,
    RECIPIENTS,
    ROUTES,
    SHEETS,
    TRY_NEW,
    UNMATCHED,
)
from heliograph.console.now_pages import now
from heliograph.console.rate_pages import costs, margins, prices, rate_sheets, rates
from heliograph.console.seen_pages import seen_portal
from heliograph.portal.handlers import Handler, does, shows, takes_file
from heliograph.portal.lanes import Lane
from heliograph.portal.page_request import CONSOLE
from heliograph.users import OperatorRight

SENDER: Final = f"{APPROVALS}/senders/{{sender}}"
WAITING_ACCOUNT: Final = f"{APPROVALS}/accounts/{{account}}"
ACCOUNT: Final = f"{ACCOUNTS}/{{account}}"
CARRIER: Final = f"{CARRIERS}/{{carrier}}"
SHEET: Final = f"{SHEETS}/{{sheet}}"
WALLET: Final = f"{MONEY}/{{account}}"

MESSAGE: Final = f"{MESSAGES}/{{message}}"


def _on_messages(do: OperatorsPage, show: OperatorsFormPage) -> Handler:
    """Returns a handler for a form of those who decide about messages."""
    return by_operators(OperatorRight.MESSAGES, do, show, is_fresh=True)


def _on_alerts(do: OperatorsPage) -> Handler:
    """Returns a handler for a form of the page of alerts."""
    return by_operators(OperatorRight.ALERTS, do, alert_list.listed)


def _on_rates(do: OperatorsPage, show: OperatorsFormPage) -> Handler:
    """Returns a handler for a form of those who decide what a segment costs."""
    return by_operators(OperatorRight.CARRIERS, do, show, is_fresh=True)


PAGES: Final = (
    shows(CONSOLE, to_operators(now.led_there)),
    shows(NOW, to_operators(now.now)),
    shows(f"{NOW}/figures", to_operators(now.figures)),
    shows(f"{NOW}/export", to_operators(now.export)),
    shows(APPROVALS, to_operators(approvals.listed)),
    shows(SENDER, to_operators(approvals.one)),
    does(SENDER, by_operators(OperatorRight.APPROVE, approvals.decide, approvals.one)),
    shows(f"{SENDER}/documents/{{document}}", to_operators(approvals.document)),
    shows(WAITING_ACCOUNT, to_operators(live_approvals.one)),
    does(
        WAITING_ACCOUNT,
        by_operators(
            OperatorRight.ACCOUNTS, live_approvals.let_live, live_approvals.one, is_fresh=True
        ),
    ),
    shows(ACCOUNTS, to_operators(account_pages.listed)),
    shows(ACCOUNT, to_operators(account_pages.one)),
    does(
        ACCOUNT,
        by_operators(
            OperatorRight.ACCOUNTS, account_pages.change, account_pages.one, is_fresh=True
        ),
    ),
    shows(f"{ACCOUNT}/limits", to_operators(account_limits.one)),
    does(
        f"{ACCOUNT}/limits",
        by_operators(
            OperatorRight.ACCOUNTS, account_limits.change, account_limits.one, is_fresh=True
        ),
    ),
    does(f"{ACCOUNT}/see", by_operators(OperatorRight.SEE, seen_portal.begin, account_pages.one)),
    does(
        f"{ACCOUNT}/leave", by_operators(OperatorRight.LOOK, seen_portal.leave, account_pages.one)
    ),
    *seen_portal.seen_pages(),
    shows(MESSAGES, to_operators(found_messages.listed)),
    shows(IN_DOUBT, to_operators(in_doubt.listed)),
    does(IN_DOUBT, _on_messages(in_doubt.ask, in_doubt.listed)),
    does(f"{IN_DOUBT}/decide", _on_messages(in_doubt.decide, in_doubt.listed)),
    shows(UNMATCHED, to_operators(unmatched_receipts.listed)),
    shows(MATCH, to_operators(unmatched_receipts.one)),
    does(MATCH, _on_messages(unmatched_receipts.match, unmatched_receipts.one)),
    shows(MESSAGE, to_operators(one_message.one)),
    does(
        f"{MESSAGE}/text",
        by_operators(OperatorRight.TEXTS, one_message.read_text, one_message.one),
    ),
    shows(ABUSE, to_operators(abuse.listed)),
    does(
        f"{ABUSE}/block",
        by_operators(OperatorRight.ACCOUNTS, abuse.block, abuse.listed, is_fresh=True),
    ),
    shows(f"{ABUSE}/unblock", to_operators(abuse.ask_unblock)),
    does(
        f"{ABUSE}/unblock",
        by_operators(OperatorRight.ACCOUNTS, abuse.unblock, abuse.ask_unblock, is_fresh=True),
    ),
    shows(CARRIERS, to_operators(carriers.listed)),
    does(
        CARRIERS,
        first_by_operators(
            OperatorRight.CARRIERS,
            bind_trials.try_first,
            by_operators(OperatorRight.CARRIERS, carriers.add, carriers.listed, is_fresh=True),
        ),
        Lane.TRIAL_BINDS,
    ),
    does(
        TRY_NEW,
        by_operators_in_steps(OperatorRight.CARRIERS, bind_trials.try_new),
        Lane.TRIAL_BINDS,
    ),
    does(
        f"{CARRIER}/try",
        by_operators_in_steps(OperatorRight.CARRIERS, bind_trials.try_known),
        Lane.TRIAL_BINDS,
    ),
    shows(CARRIER, to_operators(carriers.one)),
    shows(f"{CARRIER}/figures", to_operators(carrier_figures.figures)),
    shows(f"{CARRIER}/export", to_operators(carrier_figures.export)),
    does(CARRIER, by_operators(OperatorRight.CARRIERS, carriers.change, carriers.one)),
    shows(ROUTES, to_operators(routes.listed)),
    does(ROUTES, by_operators(OperatorRight.CARRIERS, routes.change, routes.listed, is_fresh=True)),
    shows(RATES, to_operators(rates.listed)),
    does(RATES, _on_rates(rates.change, rates.listed)),
    shows(f"{RATES}/export", to_operators(rates.export)),
    shows(SHEETS, to_operators(rate_sheets.listed)),
    takes_file(SHEETS, rate_sheets.may_upload_at_all, rate_sheets.upload_it),
    shows(SHEET, to_operators(rate_sheets.one)),
    does(SHEET, _on_rates(rate_sheets.change, rate_sheets.one)),
    shows(COSTS, to_operators(costs.listed)),
    does(COSTS, _on_rates(costs.change, costs.listed)),
    shows(PRICES, to_operators(prices.listed)),
    does(PRICES, by_operators(OperatorRight.MONEY, prices.change, prices.listed, is_fresh=True)),
    shows(MARGIN, to_operators(margins.listed)),
    shows(MONEY, to_operators(days.every_account)),
    shows(f"{MONEY}/days", to_operators(days.export)),
    shows(CARRIER_MONEY, to_operators(carrier_money.listed)),
    shows(f"{CARRIER_MONEY}/export", to_operators(carrier_money.export)),
    shows(PROOFS, to_operators(proofs.listed)),
    does(PROOFS, by_operators(OperatorRight.MONEY, proofs.ask, proofs.refused)),
    shows(LEDGER_FILES, to_operators(ledger_files.files)),
    shows(f"{LEDGER_FILES}/export", to_operators(ledger_files.export)),
    shows(WALLET, to_operators(money.one)),
    does(WALLET, by_operators(OperatorRight.MONEY, money.change, money.one, is_fresh=True)),
    shows(f"{WALLET}/statement", to_operators(ledger_files.statement)),
    shows(f"{WALLET}/statement.pdf", to_operators(ledger_files.statement_pdf)),
    shows(f"{WALLET}/days", to_operators(days.one_account)),
    shows(f"{WALLET}/days/export", to_operators(days.export_one)),
    shows(f"{WALLET}/entries", to_operators(money.entries)),
    shows(ALERTS, to_operators(alert_list.listed)),
    does(ALERTS, _on_alerts(alert_rules.change)),
    does(f"{ALERTS}/wallets", _on_alerts(alert_rules.watch)),
    shows(RECIPIENTS, to_operators(alert_list.led_there)),
    does(
        RECIPIENTS,
        by_operators(
            OperatorRight.ALERTS,
            alert_recipients.add,
            alert_list.listed,
            is_fresh=True,
            shows_once=True,
        ),
    ),
    shows(f"{RECIPIENTS}/{{recipient}}", to_operators(alert_recipients.ask_removal)),
    does(f"{RECIPIENTS}/{{recipient}}", _on_alerts(alert_recipients.change)),
    shows(LOG, to_operators(log_pages.listed)),
    shows(f"{LOG}/export", to_operators(log_pages.export)),
)
