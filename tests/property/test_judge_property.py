"""Sends come one after the other on one wallet: what is charged is what was asked, and every
recipient is accounted for once.
"""

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from heliograph.base.errors import ServiceError
from heliograph.carriers import GENERAL, SIMULATOR_ID, current_rates, routing
from heliograph.messages.accept.judge import AcceptedSend, AccountFacts, WalletState, judge
from heliograph.messages.accept.request import SendRequest
from heliograph.messages.accept.response import Send, SendExceptions, response_of_send
from heliograph.messages.accept.tariff import Tariff
from tests.support.factories import send_request

ACCOUNT = "a" * 32
NOW_MS = 1_800_000_000_000
NUMBERS = [
    *(f"23320123456{k}" for k in range(8)),
    "+233 20 1234560",
    "233201234004",
    "2348021234567",
    "254712345678",
    "+1 201 555 0123",
    "nonsense",
]
ROUTES = st.lists(
    st.sampled_from(
        [
            routing.Route("233", (2, 3)),
            routing.Route("2332", (3, 4), (70, 30)),
            routing.Route("", (4, 2, 3), (1, 1)),
            routing.Route("254", ()),
        ]
    ),
    unique=True,
)
RATES = st.lists(
    st.builds(
        current_rates.Rate,
        st.sampled_from([GENERAL, ACCOUNT]),
        st.sampled_from(["default", "233", "NG", "US"]),
        st.none() | st.integers(0, 5),
    ),
    unique_by=lambda rate: rate[:2],
)


@st.composite
def requests(draw: st.DrawFn) -> SendRequest:
    to = draw(st.lists(st.sampled_from(NUMBERS), min_size=1, max_size=12))
    text = draw(st.sampled_from(["hello", "x" * 161, "ж" * 71]))
    sender = draw(st.sampled_from(["AMINA", "amina", "AMINA", "SANDBOX"]))
    return send_request(
        ACCOUNT, to, text, sandbox=draw(st.booleans()), sender=sender, dry_run=draw(st.booleans())
    )


@st.composite
def judged(
    draw: st.DrawFn,
) -> tuple[WalletState, WalletState, list[tuple[SendRequest, AcceptedSend | ServiceError]]]:
    """Returns a wallet before and after some sends, and what became of each."""
    facts = AccountFacts(
        {"amina": "AMINA"},
        draw(st.sampled_from([None, frozenset({"GH"}), frozenset({"GH", "NG"})])),
        draw(st.none() | st.integers(0, 60)),
    )
    tariff = Tariff(
        routing.Routes(draw(ROUTES)),
        current_rates.Rates(draw(RATES)),
        draw(st.sampled_from([frozenset(), frozenset({2}), frozenset({2, 3})])),
    )
    credits = draw(st.integers(0, 100))
    purse = WalletState(credits, 0, 0)
    verdicts = []
    for at, request in enumerate(draw(st.lists(requests(), max_size=8))):
        before = (purse.sms_credits, purse.spent_credits)
        verdict = judge(request, facts, tariff, purse, NOW_MS + at)
        if isinstance(verdict, ServiceError) or request.sandbox or request.dry_run:
            assert (purse.sms_credits, purse.spent_credits) == before
        verdicts.append((request, verdict))
    if facts.daily_credits is not None:
        assert credits - purse.sms_credits <= facts.daily_credits
    return WalletState(credits, 0, 0), purse, verdicts


Story = tuple[WalletState, WalletState, list[tuple[SendRequest, AcceptedSend | ServiceError]]]


@given(judged())
def test_the_wallet_loses_exactly_what_the_sends_were_charged_and_never_more_than_it_holds(
    story: Story,
) -> None:
    before, after, verdicts = story
    accepted = [verdict for _, verdict in verdicts if isinstance(verdict, AcceptedSend)]
    assert (
        before.sms_credits - after.sms_credits
        == sum(verdict.credits_used for verdict in accepted)
        == after.spent_credits
    )
    assert after.sms_credits >= 0
    assert after.charged == any(
        not verdict.request.sandbox and not verdict.request.dry_run for verdict in accepted
    )
    for verdict in accepted:
        if verdict.request.sandbox:
            assert sum(verdict.priced.credits) == verdict.credits_used == 0
            assert set(verdict.priced.carriers) == {SIMULATOR_ID}
        else:
            assert sum(verdict.priced.credits) == verdict.priced.credits_required
            assert verdict.credits_used == (
                0 if verdict.request.dry_run else verdict.priced.credits_required
            )


@given(judged())
def test_every_recipient_is_sent_to_or_rejected_or_a_duplicate(story: Story) -> None:
    for request, verdict in story[2]:
        if isinstance(verdict, ServiceError):
            continue
        places = [index for index, _, _ in verdict.rejected] + [
            index for index, _ in verdict.duplicates
        ]
        taken = [index for index in range(len(request.recipients)) if index not in places]
        assert len(places) == len(set(places))
        assert [int(_digits(request, index)) for index in taken] == verdict.priced.recipients
        assert (
            len(verdict.priced.recipients)
            == len(set(verdict.priced.recipients))
            == len(verdict.priced.countries)
            == len(verdict.priced.carriers)
            == len(verdict.priced.credits)
        )
        for index, first in verdict.duplicates:
            assert first in taken
            assert first < index
            assert _digits(request, first) == _digits(request, index)


@given(judged())
def test_runs_hold_every_message_once_in_order_and_keep_to_one_carrier(story: Story) -> None:
    for _, verdict in story[2]:
        if isinstance(verdict, AcceptedSend):
            assert [run.first for run in verdict.priced.runs] == _starts(
                [run.messages for run in verdict.priced.runs]
            )
            assert sum(run.messages for run in verdict.priced.runs) == len(
                verdict.priced.recipients
            )
            for run in verdict.priced.runs:
                assert set(verdict.priced.carriers[run.first : run.first + run.messages]) == {
                    run.carrier_id
                }
            assert all(
                (a.carrier_id, a.prefix) != (b.carrier_id, b.prefix)
                for a, b in pairwise(verdict.priced.runs)
            )


@given(judged())
def test_the_answer_has_an_id_for_each_recipient_where_it_stands(story: Story) -> None:
    for request, verdict in story[2]:
        if isinstance(verdict, ServiceError):
            continue
        send = Send(
            id=f"{request.number:032x}",
            account_id=ACCOUNT,
            sandbox=request.sandbox,
            type="sms",
            sender=verdict.sender,
            encoding=request.encoding,
            segments=request.segments,
            message_count=len(verdict.priced.recipients),
            reference=None,
            credits_required=verdict.priced.credits_required,
            credits_used=verdict.credits_used,
            credits_remaining=verdict.credits_remaining,
            exceptions=SendExceptions(verdict.rejected, verdict.duplicates).stored(),
            created_at_ms=NOW_MS,
        )
        answer = response_of_send(send, dry_run=request.dry_run)
        message_ids = answer["message_ids"]
        assert len(message_ids) == len(request.recipients)
        assert answer["accepted"] + answer["duplicates"] + len(answer["rejected"]) == len(
            request.recipients
        )
        if request.dry_run:
            assert {answer["send_id"], answer["message_id"], *message_ids} == {None}
            continue
        assert [index for index, message_id in enumerate(message_ids) if message_id is None] == [
            index for index, _, _ in verdict.rejected
        ]
        assert len(set(message_ids) - {None}) == answer["accepted"]
        assert all(message_ids[index] == message_ids[first] for index, first in verdict.duplicates)
        assert answer["message_id"] == (
            next(filter(None, message_ids)) if answer["accepted"] == 1 else None
        )


def _digits(request: SendRequest, index: int) -> str:
    phone = request.phones[index]
    assert phone is not None
    return phone.digits


def _starts(counts: Sequence[int]) -> list[int]:
    return [sum(counts[:k]) for k in range(len(counts))]
