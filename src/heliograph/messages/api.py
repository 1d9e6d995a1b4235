"""POST /sms/send, GET /messages/{id}, GET /reports."""

import hashlib

from heliograph.base import ids
from heliograph.keys import Answer, Call, Endpoint
from heliograph.messages.accept import Acceptor
from heliograph.messages.answer import send_answer
from heliograph.messages.request import read_send

SEND_PATH = "POST /sms/send"


def endpoints(acceptor: Acceptor) -> list[Endpoint]:
    async def send(call: Call) -> Answer:
        call.query.finish()
        request = read_send(call.json(), ids.new_number(), call.principal.account_id, sandbox=call.principal.sandbox)
        if call.idempotency_key is not None:
            request.idempotency_key, request.body_sha256 = call.idempotency_key, hashlib.sha256(call.body).digest()
        outcome = await acceptor.accept(request)
        body = {"data": send_answer(outcome.send, dry_run=request.dry_run)}
        return Answer({**body, "warnings": request.warnings} if request.warnings else body, replayed=outcome.replayed)

    return [Endpoint("POST", "/sms/send", "sms.send", handle=send)]
