"""Accepts requests together, and tells what came of each."""

import asyncio
import json

from heliograph.base.errors import ServiceError
from heliograph.messages.accept.batch import SendResult as Accepted
from heliograph.messages.accept.request import SendRequest
from heliograph.messages.accept.response import response_of_send
from tests.support.capability.sending import House


async def at_once(house: House, *requests: SendRequest) -> list[Accepted | ServiceError]:
    await house.cache.refresh()
    results = await asyncio.gather(
        *(house.acceptor.accept(request) for request in requests), return_exceptions=True
    )
    answers = [result for result in results if isinstance(result, Accepted | ServiceError)]
    assert len(answers) == len(results), results
    return answers


def answer(accepted: Accepted) -> bytes:
    return json.dumps(response_of_send(accepted.send)).encode()


def reasons(results: list[Accepted | ServiceError]) -> list[str]:
    return [result.reason if isinstance(result, ServiceError) else "accepted" for result in results]
