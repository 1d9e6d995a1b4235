"""Serves the endpoints POST /sms/send, GET /messages/{id}, GET /reports, and GET
/campaigns/{id}/messages.
"""

from typing import Final, Protocol

from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.base.json import encode
from heliograph.base.paging import cursor_at, read_page
from heliograph.database.cache import ConfigCache
from heliograph.database.database import Database
from heliograph.keys import acting_for, country_of, customer_asked_for
from heliograph.messages import read
from heliograph.messages.accept.acceptor import LARGE_SEND, Acceptor
from heliograph.messages.accept.batch import SendResult
from heliograph.messages.accept.request import (
    AnsweredText,
    SendRequest,
    answer_to,
    read_send_request,
)
from heliograph.messages.accept.response import response_of_send
from heliograph.messages.accept.unapproved_sender import accept_or_explain
from heliograph.messages.read.replies import answers_of
from heliograph.messages.reports.report_filters import campaign_of, read_filters
from heliograph.requests import (
    ApiResponse,
    Call,
    Endpoint,
    Handler,
    acting_for_call,
    read_with_home_country,
    refuse_used_key_of,
    sha256_of_body,
)

SEND_PATH: Final = "POST /sms/send"


class FindAnswered(Protocol):
    """Describes what finds the inbound text that a send is to answer. It raises InvalidRequest
    unless the text `text_id` is the account's.
    """

    def __call__(
        self, tx: Connection, account_id: str, text_id: str, *, sandbox: bool
    ) -> AnsweredText: ...


def endpoints(
    acceptor: Acceptor, cache: ConfigCache, db: Database, find_answered: FindAnswered
) -> list[Endpoint]:
    """Returns the endpoints of messages. `find_answered` finds the inbound text that a send is to
    answer.
    """

    def message(call: Call) -> ApiResponse:
        customer_id = customer_asked_for(call.principal, call.query)
        call.query.finish()
        with db.read() as tx:
            account_id = acting_for(tx, call.principal, customer_id)
            shown = read.message_of(tx, account_id, call.path["id"], sandbox=call.principal.sandbox)
            answers = answers_of(tx, shown)
        record = {**read.as_record(shown), "timeline": read.timeline(shown), **answers}
        return ApiResponse({"data": record})

    def reports(call: Call) -> ApiResponse:
        customer_id = customer_asked_for(call.principal, call.query)
        return narrowed(call, customer_id, call.query.text("campaignId", "campaign_id"))

    def messages_of_campaign(call: Call) -> ApiResponse:
        customer_id = customer_asked_for(call.principal, call.query)
        call.query.leave_out_empty("campaignId", "campaign_id")
        return narrowed(call, customer_id, call.path["id"])

    def narrowed(call: Call, customer_id: str | None, campaign_id: str | None) -> ApiResponse:
        wanted = read_page(call.query)
        filters = read_filters(call.query, _home_country(db, call, customer_id))
        call.query.finish()
        with db.read() as tx:
            account_id = acting_for(tx, call.principal, customer_id)
            if campaign_id is not None:
                filters = filters._replace(
                    group_id=campaign_of(
                        tx, account_id, campaign_id, sandbox=call.principal.sandbox
                    )
                )
            page = read.report(tx, account_id, wanted, filters, sandbox=call.principal.sandbox)
        next_cursor = None if page.next_before is None else cursor_at(page.next_before)
        return ApiResponse(
            {"data": [read.as_record(shown) for shown in page.messages], "next_cursor": next_cursor}
        )

    return [
        Endpoint(
            "POST",
            "/sms/send",
            "sms.send",
            handle=_sender(acceptor, cache, db, find_answered),
            other_paths=("/messages/send",),
        ),
        Endpoint("GET", "/messages/{id}", "sms.read", handle_in_thread=message),
        Endpoint("GET", "/reports", "sms.read", handle_in_thread=reports),
        Endpoint(
            "GET", "/campaigns/{id}/messages", "sms.read", handle_in_thread=messages_of_campaign
        ),
    ]


def _sender(
    acceptor: Acceptor, cache: ConfigCache, db: Database, find_answered: FindAnswered
) -> Handler:
    def answered(request: SendRequest, text_id: str) -> AnsweredText:
        with db.read() as tx:
            return find_answered(tx, request.account_id, text_id, sandbox=request.sandbox)

    async def send(call: Call) -> ApiResponse:
        call.query.finish()
        who, number = call.principal, ids.new_number()
        request = await read_with_home_country(
            cache,
            call,
            lambda body, home_country: read_send_request(
                body, number, who.account_id, sandbox=who.sandbox, home_country=home_country
            ),
        )
        if request.customer_id is not None:
            request.account_id = await acting_for_call(
                db, cache, call, SEND_PATH, request.customer_id
            )
        if (text_id := request.in_reply_to) is not None:
            answer_to(request, await call.in_thread(lambda: answered(request, text_id)))
        # it stores no key and replays none, so whatever used this one had another body
        if request.dry_run:
            await refuse_used_key_of(db, call, SEND_PATH)
        if call.idempotency_key is not None:
            request.idempotency_key, request.body_sha256 = (
                call.idempotency_key,
                sha256_of_body(call.body),
            )
        result = await accept_or_explain(acceptor, db, request, call.in_thread)
        if len(request.recipients) <= LARGE_SEND:
            return _answer(request, result)
        return await call.in_thread(lambda: _encoded(_answer(request, result)))

    return send


def _answer(request: SendRequest, result: SendResult) -> ApiResponse:
    body = {"data": response_of_send(result.send, dry_run=request.dry_run)}
    return ApiResponse(
        {**body, "warnings": request.warnings} if request.warnings else body,
        replayed=result.replayed,
    )


def _encoded(response: ApiResponse) -> ApiResponse:
    """Returns the response, encoded already: to encode ten thousand ids and reasons takes
    milliseconds.
    """
    response.raw = encode({"success": True, **response.body})
    return response


def _home_country(db: Database, call: Call, customer_id: str | None) -> str:
    """Returns the country of the account that a query is about."""
    if customer_id is None:
        return call.principal.country_code
    with db.read() as tx:
        return country_of(tx, call.principal, customer_id)
