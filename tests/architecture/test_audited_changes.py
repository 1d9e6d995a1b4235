"""Every form of an account that changes something writes into the audit log, in words that its page
knows.
"""

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from heliograph.portal.handlers import PageRoute
from heliograph.portal.pages import OF_ACCOUNT, PAGES
from heliograph.portal.settings_pages.audit_log import ACTIONS
from tests.support.sources import nodes_of

# they send texts and samples, or only count or price
CHANGE_NOTHING = {
    "/handsets/{phone}",
    "/conversations/{phone}",
    "/campaigns/new/preview",
    "/campaigns/{campaign}/launch/price",
    "/campaigns/{campaign}/test",
    "/send",
    "/send/count",
    "/webhooks/new/address",
    "/webhooks/{endpoint}/test",
}
AUDITS = {"audit", "AuditEntry"}


def function_of(route: PageRoute) -> Callable[..., Any]:
    """Returns the function of a form, which `form_for_members` and `redirect_once` may have
    wrapped.
    """
    function: Callable[..., Any] = route.handle
    while inner := inspect.getclosurevars(function).nonlocals.get("do"):
        function = inner
    return function


def source_of(function: Callable[..., Any]) -> str:
    """Returns the source of the function of a form, and of what it does once by
    `redirect_once`.
    """
    source = inspect.getsource(function)
    for name in re.findall(r"redirect_once\((\w+)\)", source):
        if f"def {name}(" not in source:
            source += inspect.getsource(getattr(inspect.getmodule(function), name))
    return source


def actions_in(source: Path) -> Iterator[str]:
    """Yields the actions that a file writes. Of an action that ends in a button's name, it yields
    what stands before.
    """
    for node in nodes_of(ast.parse(source.read_text())):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if name not in AUDITS:
            continue
        for value in nodes_of(node):
            if isinstance(value, ast.JoinedStr) and isinstance(value.values[0], ast.Constant):
                yield str(value.values[0].value)
            elif isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield value.value


def test_every_form_of_an_account_writes_into_its_audit_log() -> None:
    silent = {
        route.path.removeprefix(OF_ACCOUNT)
        for route in PAGES
        if route.is_form
        and route.path.startswith(OF_ACCOUNT)
        and "visit.audit(" not in source_of(function_of(route))
        and route.path != f"{OF_ACCOUNT}/campaigns/new/import"  # in what it calls
    }
    assert silent == CHANGE_NOTHING


# they are of no account, and stand in no account's log
OF_NONE = (
    "alert.",
    "carrier.",
    "cost.",
    "ledger.",
    "operator.",
    "user.disable",
    "price.",
    "rate.plan",
    "rate.withdraw",
    "route.",
    "sender.release",
    "sender.reserve",
    "tier.",
)


def test_the_page_of_the_audit_log_has_words_for_every_action() -> None:
    written = {
        action
        for source in Path("src/heliograph").rglob("*.py")
        for action in actions_in(source)
        if "." in action and " " not in action and action != "." and not action.startswith(OF_NONE)
    }
    assert len(written) > 10
    for action in written:
        assert any(known.startswith(action) for known in ACTIONS), action
