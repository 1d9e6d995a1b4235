"""Makes docs/states.md out of the code that decides states: `make docs`.

What follows from code is asked of it (`settle_answer` is given one answer of each kind,
`outcome_of` every command_status); what a table cannot say stands here, by state. A state that the
code has and this file does not is an error, so neither can be forgotten.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from heliograph.campaigns import states as campaign_states
from heliograph.carriers import Answer, LinkState, Outcome, ReceiptState
from heliograph.carriers.manage import DOWN_MS
from heliograph.carriers.smpp.outcomes import (
    BIND_REFUSALS,
    CREDENTIAL_FAULTS,
    OUR_FAULTS,
    SESSION_FAULTS,
    outcome_of,
)
from heliograph.messages.carrier.inflight_sql import InFlight
from heliograph.messages.carrier.settle import (
    RESEND_AFTER_MS,
    refund_due,
    settle_answer,
    settle_receipt,
)
from heliograph.messages.changes import Changes, MessageRow
from heliograph.messages.states import (
    DELIVERED,
    ERROR_MESSAGES,
    FAILED,
    FAILED_BY_RECEIPT,
    NEXT,
    QUEUED,
    SENT,
)
from heliograph.messages.tables import inflight
from heliograph.senders import STATUSES as SENDER_STATUSES
from heliograph.senders.states import REACHED_FROM

DOCUMENT: Final = Path(__file__).parents[1] / "docs" / "states.md"

MESSAGE_MEANINGS: Final = {
    QUEUED: "the message is accepted and charged; no carrier is known to have accepted it",
    SENT: "a carrier has accepted all its segments",
    DELIVERED: "the receipts said DELIVRD for every segment that asks for one",
    FAILED: "`error.code` says why",
}
MESSAGE_MOVES: Final = {
    (QUEUED, SENT): "all segments accepted",
    (QUEUED, DELIVERED): "all segments accepted, and their receipts came first",
    (
        QUEUED,
        FAILED,
    ): (
        "refused, expired, canceled, in doubt until its validity ended, or one of several segments"
        " undeliverable"
    ),
    (SENT, DELIVERED): "receipts say DELIVRD for all segments",
    (SENT, FAILED): "a final receipt that is not DELIVRD",
}
SEGMENT_MEANINGS: Final = {
    "claimed": (
        "taken from the queue, but the window has no room yet; happens to segments of a message"
        " that is larger than the window"
    ),
    "submitting": "stored as handed to the carrier; its bytes leave after that commit",
    "in_doubt": (
        "written to the carrier, but no answer came in time, or before the connection broke or the"
        " process ended"
    ),
}
SEGMENT_MOVES: Final = (
    ("[*]", "submitting", "claimed with room in the window"),
    ("[*]", "claimed", "claimed without room"),
    ("claimed", "submitting", "room in the window"),
    ("claimed", "[*]", "process ended, back to the queue"),
    ("submitting", "[*]", "answered"),
    ("submitting", "in_doubt", "no answer"),
    (
        "in_doubt",
        "[*]",
        "late answer, matching receipt, resent, an operator's decision, or end of validity",
    ),
)
NEVER_YET: Final = "not used in this version"
ERROR_CAUSES: Final = {
    "carrier_rejected": (
        "the carrier refused it at submit, or a temporary fault lasted longer than the tries"
    ),
    "undeliverable": "",
    "expired": "or it was still queued when its validity ended",
    "rejected": "",
    "unknown": "or it was in doubt until its validity ended",
    "canceled": (
        "its campaign was canceled; or all queued messages of its account were canceled (`message"
        " cancel`); or it was in doubt, and an operator decided that it is not to be sent again"
        " (`message settle --as canceled`)"
    ),
    "blocked": "its recipient opted out while it was queued as part of a campaign",
    "no_route": NEVER_YET,
}
LINK_MEANINGS: Final = {
    LinkState.CONNECTING: "it is being connected: TCP, TLS or bind",
    LinkState.BOUND: "messages can be submitted; the detail says how many of its binds are up",
    LinkState.BACKING_OFF: "the connection failed or ended; it is tried again after 1 to 60 s",
    LinkState.REFUSED: (
        "the carrier refused the bind; it is tried again, slowly. An operator should check its"
        " settings"
    ),
    LinkState.CLOSED: "not started",
}
SENDER_MEANINGS: Final = {
    "submitted": "it waits for the operator's approval",
    "approved": "texts may come from it",
    "rejected": "the operator refused it; the account sees the reason, and may register it again",
    "suspended": "the approval is withdrawn; the account sees the reason",
}
SENDER_MOVES: Final = {
    ("rejected", "submitted"): "registered again",
    ("submitted", "approved"): "sender approve",
    ("rejected", "approved"): "sender approve",
    ("suspended", "approved"): "sender approve",
    ("submitted", "rejected"): "sender reject",
    ("approved", "suspended"): "sender suspend",
}
CAMPAIGN_MEANINGS: Final = {
    "draft": "it is created, and nothing of it is sent",
    "scheduled": "it starts by itself when its time has come",
    "sending": "its messages are queued, chunk by chunk",
    "paused": "it goes on when it is resumed, or when the cause in `status_reason` is over",
    "completed": "none of its messages is queued any more",
    "canceled": "its queued messages have failed and were refunded",
    "failed": "its time came, and it could not start; `status_reason` says why",
}
CAMPAIGN_MOVES: Final = {
    ("draft", "scheduled"): "campaign schedule",
    ("scheduled", "scheduled"): "campaign schedule, another time",
    ("draft", "sending"): "campaign launch",
    ("scheduled", "sending"): "its time has come, or campaign launch",
    ("paused", "sending"): "campaign resume, a top-up, or the next day",
    ("scheduled", "draft"): "restore-check, if its time is over in a restored copy",
    (
        "sending",
        "paused",
    ): (
        "campaign pause, restore-check, credits spent, daily cap, sender not approved, or account"
        " suspended"
    ),
    ("sending", "completed"): "no message is queued any more",
    ("paused", "completed"): "no message is queued any more",
    (
        "draft",
        "canceled",
    ): "campaign cancel, or its recipients are erased because nobody launched it",
    ("scheduled", "canceled"): "campaign cancel",
    ("sending", "canceled"): "campaign cancel",
    ("paused", "canceled"): "campaign cancel",
    ("scheduled", "failed"): "its time has come, and it cannot be sent",
}
# SMPP 3.4, table 5-2
STATUS_NAMES: Final = {
    0x00: "ROK",
    0x01: "RINVMSGLEN",
    0x02: "RINVCMDLEN",
    0x03: "RINVCMDID",
    0x04: "RINVBNDSTS",
    0x05: "RALYBND",
    0x06: "RINVPRTFLG",
    0x07: "RINVREGDLVFLG",
    0x08: "RSYSERR",
    0x0A: "RINVSRCADR",
    0x0B: "RINVDSTADR",
    0x0C: "RINVMSGID",
    0x0D: "RBINDFAIL",
    0x0E: "RINVPASWD",
    0x0F: "RINVSYSID",
    0x11: "RCANCELFAIL",
    0x13: "RREPLACEFAIL",
    0x14: "RMSGQFUL",
    0x15: "RINVSERTYP",
    0x33: "RINVNUMDESTS",
    0x34: "RINVDLNAME",
    0x40: "RINVDESTFLAG",
    0x42: "RINVSUBREP",
    0x43: "RINVESMCLASS",
    0x44: "RCNTSUBDL",
    0x45: "RSUBMITFAIL",
    0x48: "RINVSRCTON",
    0x49: "RINVSRCNPI",
    0x50: "RINVDSTTON",
    0x51: "RINVDSTNPI",
    0x53: "RINVSYSTYP",
    0x54: "RINVREPFLAG",
    0x55: "RINVNUMMSGS",
    0x58: "RTHROTTLED",
    0x61: "RINVSCHED",
    0x62: "RINVEXPIRY",
    0x63: "RINVDFTMSGID",
    0x64: "RX_T_APPN",
    0x65: "RX_P_APPN",
    0x66: "RX_R_APPN",
    0x67: "RQUERYFAIL",
    0xC0: "RINVOPTPARSTREAM",
    0xC1: "ROPTPARNOTALLWD",
    0xC2: "RINVPARLEN",
    0xC3: "RMISSINGOPTPARAM",
    0xC4: "RINVOPTPARAMVAL",
    0xFE: "RDELIVERYFAILURE",
    0xFF: "RUNKNOWNERR",
}
# up to here statuses are asked one by one: SMPP's own, the reserved ones, and vendors' from 0x400
# on
STATUS_MAX: Final = 0x4FF
_ID: Final = "0" * 32
_CREDITS: Final = 2  # of the sample message


def document() -> str:
    """The whole of docs/states.md. Raises AssertionError when this file and the code do
    not know the same states.
    """
    _same(MESSAGE_MEANINGS, NEXT)
    _same(MESSAGE_MOVES, ((state, to) for state in NEXT for to in NEXT[state]))
    _same(SEGMENT_MEANINGS, _checked_values(inflight, "inflight_state"))
    _same(ERROR_CAUSES, ERROR_MESSAGES)
    _same(LINK_MEANINGS, LinkState)
    _same(SENDER_MEANINGS, SENDER_STATUSES)
    _same(SENDER_MOVES, ((state, to) for to in REACHED_FROM for state in REACHED_FROM[to]))
    _same(CAMPAIGN_MEANINGS, campaign_states.REACHED_FROM)
    _same(
        CAMPAIGN_MOVES,
        (
            (state, to)
            for to, reached_from in campaign_states.REACHED_FROM.items()
            for state in reached_from
        ),
    )
    return "\n".join(
        [
            "# States\n",
            (
                "<!-- Made by tools/states.py from the code: change it there, and run `make docs`."
                " -->\n"
            ),
            (
                "This page lists the states of a message, a segment on the wire, a sender ID, a"
                " campaign and a carrier, and what leads from one to the next."
            ),
            "It is made from the code, and a test checks that it is up to date.\n",
            *_messages(),
            *_segments(),
            *_answers(),
            *_statuses(),
            *_receipts(),
            *_errors(),
            *_senders(),
            *_campaigns(),
            *_carriers(),
        ]
    )


def _same(told: Iterable[object], there: Iterable[object]) -> None:
    differing = set(told) ^ set(there)
    assert not differing, f"told here or there in the code, but not both: {differing}"


def _messages() -> Iterator[str]:
    yield "## Messages\n"
    moves = [
        (state, to, MESSAGE_MOVES[state, to]) for state in NEXT for to in _ordered(NEXT[state])
    ]
    yield from _diagram(
        [
            ("[*]", QUEUED, "POST /sms/send"),
            *moves,
            *((state, "[*]", "") for state in NEXT if not NEXT[state]),
        ]
    )
    yield from _table(
        ("status", "means", "next"),
        ((f"`{state}`", MESSAGE_MEANINGS[state], _codes(_ordered(NEXT[state]))) for state in NEXT),
    )
    yield (
        "A status never goes back. `delivered` and `failed` are final: late, repeated or"
        " contradicting receipts change nothing."
    )
    yield (
        "The code is `messages/carrier/settle.py: move`, with the table `NEXT` of"
        " `messages/states.py`.\n"
    )


def _segments() -> Iterator[str]:
    yield "## Segments on the wire\n"
    yield (
        "The table `inflight` has one row for each submit_sm without an answer. Meanwhile clients"
        " see their message as `queued`.\n"
    )
    yield from _diagram(SEGMENT_MOVES)
    yield from _table(
        ("state", "means"), ((f"`{state}`", meaning) for state, meaning in SEGMENT_MEANINGS.items())
    )
    yield "A segment in doubt is settled by whatever comes first:\n"
    yield "- A late answer."
    yield (
        "- A receipt that matches by the carrier's id, or else by the user_message_reference that"
        " it brings back. If it has neither, it matches"
    )
    yield "  if the carrier has only one message on the wire from that sender to that recipient."
    yield "- The end of its validity. The message has then failed, with the code `unknown`.\n"
    yield (
        f"If none of them comes within {RESEND_AFTER_MS // 1_000} s, and the carrier's `--in-doubt`"
        " is `resend`, the segment is sent once"
    )
    yield (
        "more. A segment of an OTP never is. An operator can settle a message in doubt, or have it"
        " sent again, at any time: `heliograph message`.\n"
    )


def _answers() -> Iterator[str]:
    yield "## What an answer to submit_sm makes of a message\n"
    yield from _table(
        ("outcome", "the message", "credits"),
        ((f"`{outcome.value}`", *_after_answer(outcome)) for outcome in Outcome),
    )
    yield (
        "The code is `messages/carrier/settle.py: settle_answer`. `throttled` also slows the"
        " carrier's pace (`carriers/smpp/send_rate.py`).\n"
    )


def _after_answer(outcome: Outcome) -> tuple[str, str]:
    """What becomes of a queued message of one segment, try after try; and of its credits."""
    if outcome is Outcome.UNANSWERED:
        return "stays `queued`; the segment is `in_doubt`", "as they are"
    told = []
    attempt = 1
    while True:
        row = _row(QUEUED)
        changes = Changes(0, {_ID: row})
        settle_answer(
            changes,
            Answer(_ID, 1, 1, attempt, outcome),
            InFlight(_ID, 1, 1, attempt, "", 0),
            receipt_needless=False,
        )
        back = changes.requeued.get(_ID)
        if back is None:
            told.append(f"`{row.status}`" + (f", `{row.error_code}`" if row.error_code else ""))
            break
        told.append(
            f"queued again, after {back.not_before_ms / 1_000:g} s"
            if back.not_before_ms
            else "queued again, at once"
        )
        if back.attempt == attempt:  # not counted as a try: so it goes on until the validity ends
            return f"{told[0]}; the try is not counted", "as they are"
        attempt = back.attempt
    return ", then ".join(told), "back" if refund_due(row) else "spent"


def _statuses() -> Iterator[str]:
    yield "## command_status in an answer\n"
    by_outcome: dict[Outcome, list[int]] = defaultdict(list)
    for status in range(STATUS_MAX + 1):
        by_outcome[outcome_of(status, {})].append(status)
    yield from _table(
        ("outcome", "command_status"),
        (
            (f"`{outcome.value}`", _named(outcome, by_outcome[outcome]))
            for outcome in Outcome
            if outcome in by_outcome
        ),
    )
    yield (
        f"After {_hex(SESSION_FAULTS)} the session is bound again. If a bind is answered with"
        f" {_hex(BIND_REFUSALS)},"
    )
    yield (
        f"the carrier is shown as `refused`; after {_hex(CREDENTIAL_FAULTS)} it is tried again"
        " slowly from the start."
    )
    yield (
        f"{_hex(OUR_FAULTS)} are logged as errors, because the service encoded something that this"
        " carrier does not accept."
    )
    yield "The table is `carriers/smpp/outcomes.py`.\n"


def _named(outcome: Outcome, statuses: list[int]) -> str:
    named = ", ".join(
        f"0x{status:02X} {STATUS_NAMES[status]}" for status in statuses if status in STATUS_NAMES
    )
    unnamed = _hex(status for status in statuses if status not in STATUS_NAMES)
    if outcome is outcome_of(STATUS_MAX, {}):
        return f"every other, among them {named}"
    return f"{named}; {unnamed}, which SMPP 3.4 reserves" if unnamed else named


def _hex(statuses: Iterable[int]) -> str:
    return ", ".join(f"0x{status:02X}" for status in sorted(statuses))


def _receipts() -> Iterator[str]:
    yield "## What a receipt makes of a message\n"
    yield from _table(
        ("stat:", "the message", "credits"),
        ((state.value, *_after_receipt(state)) for state in ReceiptState),
    )
    yield (
        "The table is for a `sent` message of one segment. A message of several segments is"
        " `delivered` when all of them are, and has failed as"
    )
    yield (
        "soon as one final receipt is not DELIVRD. Credits are refunded only for segments that no"
        " carrier accepted."
    )
    yield "A segment with a receipt was accepted."
    yield "The code is `messages/carrier/settle.py: settle_receipt`.\n"


def _after_receipt(state: ReceiptState) -> tuple[str, str]:
    row = _row(SENT, parts_accepted=1)
    settle_receipt(row, 1, state, None, 0)
    if row.status == SENT:
        return "unchanged", "spent"
    return f"`{row.status}`" + (f", `{row.error_code}`" if row.error_code else ""), (
        "back" if refund_due(row) else "spent"
    )


def _errors() -> Iterator[str]:
    yield "## error.code of a failed message\n"
    by_code: dict[str, list[str]] = defaultdict(list)
    for state, code in FAILED_BY_RECEIPT.items():
        by_code[code].append(state.value)
    yield from _table(
        ("code", "message", "comes from"),
        (
            (f"`{code}`", message, _causes(by_code[code], ERROR_CAUSES[code]))
            for code, message in ERROR_MESSAGES.items()
        ),
    )


def _causes(receipts: list[str], others: str) -> str:
    told = [f"receipt {', '.join(receipts)}"] if receipts else []
    return "; ".join([*told, others] if others else told)


def _senders() -> Iterator[str]:
    yield "## Sender IDs\n"
    moves = [
        (state, to, SENDER_MOVES[state, to]) for to in SENDER_STATUSES for state in REACHED_FROM[to]
    ]
    yield from _diagram(
        [("[*]", "submitted", "registered"), ("[*]", "approved", "registered in sandbox"), *moves]
    )
    yield from _table(
        ("status", "means"),
        ((f"`{status}`", SENDER_MEANINGS[status]) for status in SENDER_STATUSES),
    )
    yield "The code is `senders/states.py: move`.\n"


def _campaigns() -> Iterator[str]:
    yield "## Campaigns\n"
    moves = [(state, to, moved) for (state, to), moved in CAMPAIGN_MOVES.items()]
    yield from _diagram(
        [
            ("[*]", "draft", "campaign create"),
            *moves,
            *((state, "[*]", "") for state in ("completed", "canceled", "failed")),
        ]
    )
    yield from _table(
        ("status", "means"),
        ((f"`{status}`", meaning) for status, meaning in CAMPAIGN_MEANINGS.items()),
    )
    yield (
        "The code is the table `REACHED_FROM` of `campaigns/states.py`, used under the lock of the"
        " campaign's row."
    )
    yield "The page [Campaigns](campaigns.md) explains the rest.\n"


def _carriers() -> Iterator[str]:
    yield "## Carriers\n"
    yield from _table(
        ("state", "means"), ((f"`{state.value}`", LINK_MEANINGS[state]) for state in LinkState)
    )
    yield (
        "`heliograph carrier list` shows the state with its reason. `heliograph carrier show NAME`"
        " also shows all settings."
    )
    yield f"A carrier that has not been `bound` for {DOWN_MS // 1_000} s is down:"
    yield (
        "new messages take the next carrier of their route, and messages that wait for it move"
        " there too.\n"
    )


def _row(status: str, parts_accepted: int = 0) -> MessageRow:
    """A message of one segment."""
    return MessageRow(
        _ID,
        _ID,
        _ID,
        sandbox=False,
        recipient=None,
        status=status,
        segments=1,
        credits=_CREDITS,
        refunded=0,
        parts_accepted=parts_accepted,
        parts_delivered=0,
    )


def _ordered(states: Iterable[str]) -> list[str]:
    return sorted(states, key=list(MESSAGE_MEANINGS).index)


def _checked_values(table: sa.Table, name: str) -> list[str]:
    """The values that a CHECK … IN (…) of a table allows."""
    check = next(
        each
        for each in table.constraints
        if isinstance(each, sa.CheckConstraint) and each.name == name
    )
    return re.findall(r"'(\w+)'", str(check.sqltext))


def _diagram(moves: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    yield "```mermaid\nstateDiagram-v2"
    yield from (f"    {state} --> {to}" + (f": {why}" if why else "") for state, to, why in moves)
    yield "```\n"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""


def _codes(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "–"


if __name__ == "__main__":
    DOCUMENT.write_text(document(), "utf-8")
