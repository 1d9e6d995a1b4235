"""A text to somebody who has opted out is not accepted, whoever is in the batch with it."""

import asyncio
from typing import Any, Final

import sqlalchemy as sa

from heliograph.base import clock
from heliograph.base.errors import ServiceError
from heliograph.database.hot import run_in
from heliograph.messages.accept import read_sql
from heliograph.messages.accept.batch import SendResult
from heliograph.messages.accept.opted_out import HELP_ANSWERS_MAX
from heliograph.messages.accept.read_sql import AskedRecipient
from heliograph.messages.accept.request import AnsweredText, answer_to
from heliograph.messages.accept.response import response_of_send
from heliograph.messages.tables import messages
from heliograph.opt_outs import WHOLE_ACCOUNT, OptOutOwner, OptOutSource, lift, suppress
from heliograph.opt_outs.suppression import OptOutScope, scope_of_sender
from tests.support.capability.sending import House
from tests.support.factories import awaited, phones, send_request

OUT, OTHER = phones(2)
STOP: Final = OptOutSource.KEYWORD


def opts_out(
    house: House, *out: str, scope: OptOutScope = WHOLE_ACCOUNT, sandbox: bool = False
) -> None:
    with house.db.write() as tx:
        owner = OptOutOwner(house.amina_id, sandbox)
        suppress(tx, owner, out, source=STOP, now_ms=clock.now_ms(), scope=scope)


async def sent(house: House, *to: str, **fields: Any) -> dict[str, Any]:
    made = await house.send(to, **fields)
    return response_of_send(made.send, dry_run=bool(fields.get("dry_run")))


@awaited
async def test_who_has_opted_out_is_rejected_and_not_charged(house: House) -> None:
    first = await sent(house, OUT, OTHER)
    assert first["accepted"] == 2
    opts_out(house, OUT)
    for dry_run in (True, False, False):
        answer = await sent(house, "no number", OTHER, OUT, OUT, dry_run=dry_run)
        assert (answer["accepted"], answer["credits_required"]) == (1, 1)
        assert answer["rejected"] == [
            {"index": 0, "recipient": "no number", "reason": "invalid_number"},
            {"index": 2, "recipient": OUT, "reason": "opted_out"},
            {"index": 3, "recipient": OUT, "reason": "opted_out"},
        ]
    assert house.count(messages, messages.c.recipient == int(OUT)) == 1
    with house.db.write() as tx:
        lift(tx, OptOutOwner(house.amina_id, False), [OUT], by=STOP, now_ms=clock.now_ms())
    assert (await sent(house, OUT, OTHER))["accepted"] == 2
    house.assert_sound()


@awaited
async def test_a_send_to_nobody_else_is_refused_with_its_reason(house: House) -> None:
    opts_out(house, OUT)
    refused = None
    try:
        await sent(house, OUT)
    except ServiceError as error:
        refused = error
    assert refused is not None
    assert "has opted out of these texts" in str(refused)
    assert refused.extra["rejected"] == [{"index": 0, "recipient": OUT, "reason": "opted_out"}]
    with house.db.read() as tx:
        assert tx.execute(sa.select(sa.func.count()).select_from(messages)).scalar_one() == 0


@awaited
async def test_an_opt_out_of_one_sender_or_of_the_other_mode_leaves_the_rest(house: House) -> None:
    opts_out(house, OUT, sandbox=True)
    opts_out(house, OUT, scope=scope_of_sender("OTHER"))
    assert (await sent(house, OUT, OTHER))["accepted"] == 2
    opts_out(house, OUT, scope=scope_of_sender("amina"))
    assert (await sent(house, OUT, OTHER))["accepted"] == 1


@awaited
async def test_a_code_reaches_who_has_opted_out(house: House) -> None:
    opts_out(house, OUT)
    await sent(house, OTHER)
    request = send_request(house.amina_id, [OUT])
    request.passes_opt_outs = True
    made = await house.acceptor.accept(request)
    assert made.send.message_count == 1


@awaited
async def test_of_answers_to_help_at_the_same_moment_no_more_than_two_pass(house: House) -> None:
    opts_out(house, OUT)
    await sent(house, OTHER)
    requests = [send_request(house.amina_id, [OUT]) for _ in range(4)]
    for request in requests:
        answer_to(request, AnsweredText(f"{1:032x}", OUT))
    tried = [house.acceptor.accept(request) for request in requests]
    made = await asyncio.gather(*tried, return_exceptions=True)
    assert sum(isinstance(each, SendResult) for each in made) == HELP_ANSWERS_MAX
    assert house.count(messages, messages.c.recipient == int(OUT)) == HELP_ANSWERS_MAX
    house.assert_sound()


def test_however_many_recipients_a_batch_has_one_statement_asks_about_them(house: House) -> None:
    opts_out(house, OUT)
    asked = [AskedRecipient(house.amina_id, False, int(OUT) + i) for i in range(50)]
    statements: list[str] = []

    def executed(*event: Any) -> None:
        statements.append(event[2])

    with house.db.read() as tx:
        sa.event.listen(tx, "before_cursor_execute", executed)
        found = run_in(tx, lambda hot: read_sql.opt_outs(hot, asked))
    assert [(row.account_id, row.phone, row.sandbox) for row in found] == [
        (house.amina_id, int(OUT), False)
    ]
    assert len(statements) == 1
