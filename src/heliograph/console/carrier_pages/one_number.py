"""Shows one number, sets what it does with texts, and removes it, as the commands do."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts, inbound
from heliograph.base.errors import FieldError, NotFound
from heliograph.base.short_texts import invalid_field
from heliograph.console.carrier_pages.keyword_words import listed_keywords
from heliograph.console.carrier_pages.number_words import STOPPED, ListedNumber, listed_number
from heliograph.console.named_account import account_named
from heliograph.console.navigation import NUMBERS
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.reasons import reason_of
from heliograph.console.rendering import page
from heliograph.inbound import OwnNumber
from heliograph.inbound.keywords import keywords_of_number
from heliograph.portal.filled_form import body_of, choice_of
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, redirect
from heliograph.users import OperatorEntry

KEYWORDS_SHOWN_MAX: Final = 100
CHANGES: Final = ("set", "remove")


def show_number(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows a number, and the forms that change and remove it. Raises NotFound."""
    number = inbound.number_with_id(tx, request.path["number"])
    listed = listed_number(tx, number)
    body = body_of(request)
    keywords = keywords_of_number(tx, number.id, limit=KEYWORDS_SHOWN_MAX + 1)
    return page(
        "number.html",
        request,
        visit,
        status=400 if errors else 200,
        each=listed,
        stopped=STOPPED,
        keywords=listed_keywords(tx, keywords[:KEYWORDS_SHOWN_MAX]),
        keywords_shown_max=KEYWORDS_SHOWN_MAX,
        has_more_keywords=len(keywords) > KEYWORDS_SHOWN_MAX,
        shown=_exact(number),
        typed=body,
        filled=body if body.get("do") == "set" else _filled_with(listed),
        errors={error.field: error.message for error in errors},
    )


def change(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Sets what the number does, or removes it. One that is gone was removed already. Raises
    NotFound, AccountClosed, and InvalidRequest, also when what the page showed is not what there is
    now.
    """
    wanted = choice_of("do", request.sent.form.get("do", ""), CHANGES)
    body = body_of(request)
    reason = reason_of(request)
    catch_all_id = None
    if wanted == "set" and "catch_all" in body:
        catch_all_id = account_named(tx, "catch_all", body["catch_all"]).id
        accounts.keep_open(tx, catch_all_id)  # first, as where an account is closed
    try:
        before = inbound.number_with_id(tx, request.path["number"], is_locked=True)
    except NotFound:
        if wanted == "remove":
            return redirect(NUMBERS, DoneNotice.REMOVED_ALREADY)
        raise
    if body.get("shown", "") != _exact(before):
        raise invalid_field(
            "shown",
            "is not what there is now: somebody changed it after you had opened this page. Look at"
            " it, then do yours",
        )
    listed = listed_number(tx, before)
    if wanted == "remove":
        _remove(tx, request, visit, listed, reason)
        return redirect(NUMBERS, DoneNotice.REMOVED)
    after = _set(tx, request, listed, catch_all_id)
    if after != before:
        visit.log(
            tx,
            OperatorEntry(
                "number.set",
                after.getter_id or before.getter_id,
                before.text_id,
                listed.in_words,
                listed_number(tx, after).in_words,
                reason,
            ),
        )
    return redirect(f"{NUMBERS}/{before.text_id}", DoneNotice.SAVED)


def _set(
    tx: Connection, request: PageRequest, listed: ListedNumber, catch_all_id: str | None
) -> OwnNumber:
    """Sets how keywords count, and of a shared number who gets what is no other's."""
    digits, carrier, now_ms = listed.number.digits, listed.carrier, request.now_ms
    body = body_of(request)
    scope = choice_of("opt_out_scope", body.get("opt_out_scope", ""), tuple(STOPPED))
    if listed.is_shared or catch_all_id is not None:
        inbound.set_catch_all(tx, digits, carrier, catch_all_id, now_ms=now_ms)
    return inbound.set_keyword_rules(
        tx,
        digits,
        carrier,
        first_word="first_word" in body,
        opt_out_scope=scope,
        now_ms=now_ms,
    )


def _remove(
    tx: Connection, request: PageRequest, visit: OperatorVisit, listed: ListedNumber, reason: str
) -> None:
    number = listed.number
    inbound.remove_number(tx, number.digits, listed.carrier, now_ms=request.now_ms)
    visit.log(
        tx,
        OperatorEntry(
            "number.remove", number.getter_id, number.text_id, listed.in_words, None, reason
        ),
    )


def _filled_with(listed: ListedNumber) -> dict[str, str]:
    filled = {"opt_out_scope": listed.number.opt_out_scope}
    filled |= {"first_word": "yes"} if listed.number.first_word else {}
    filled |= {"catch_all": listed.owner.text_id} if listed.is_shared and listed.owner else {}
    return filled


def _exact(number: OwnNumber) -> str:
    """Returns what the number does, as its form says that it has shown it."""
    shown = (number.getter_id, number.first_word, number.opt_out_scope)
    return ";".join(str(value) for value in shown)
