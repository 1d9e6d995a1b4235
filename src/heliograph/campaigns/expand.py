"""A chunk of a campaign is one transaction: its messages, their charge and the campaign's place in
its list.

So whatever kills the process, each recipient has become a message once, or not yet.
"""

from typing import Final, NamedTuple

from heliograph.accounts.states import ACTIVE
from heliograph.campaigns.states import ACCOUNT_SUSPENDED, CAMPAIGN, PAUSED, SENDING
from heliograph.campaigns.template import parse
from heliograph.database.hot import HotTx
from heliograph.database.statements import (
    BigInt,
    Bool,
    Id,
    Int,
    Nothing,
    Row,
    SmallInt,
    Statement,
    Text,
    portable,
    rows_by_key,
)
from heliograph.database.statements.opt_out_lookups import mark_opt_out_lookup
from heliograph.messages.accept import (
    Chunk,
    Chunker,
    ChunkRecipient,
    ChunkRequest,
)
from heliograph.messages.queue import Ranks
from heliograph.opt_outs import scope_of_sender
from heliograph.text import count_segments


class _CampaignId(Row, frozen=True):
    id: Id


class _SendingCampaign(Row, frozen=True):
    """Holds a campaign that is sending, under lock. `cursor` is the last recipient who was taken.
    `is_active` says that the account is active, and its partner.
    """

    group_id: Int
    account_id: Id
    sandbox: Bool
    sender: Text
    text: Text
    validity_s: Int
    cursor: BigInt
    is_active: Bool


_LOCK: Final = portable(
    _CampaignId,
    _SendingCampaign,
    f"""
    SELECT c.group_id, c.account_id, c.sandbox, c.sender, c.text, c.validity_s, c.cursor,
           a.status = '{ACTIVE}' AND (p.status IS NULL OR p.status = '{ACTIVE}') AS is_active
    FROM campaigns c JOIN accounts a ON a.id = c.account_id LEFT
        JOIN accounts p ON p.id = a.parent_id
    WHERE c.id = :id AND {CAMPAIGN.is_in(SENDING, of="c.")} AND NOT c.expanded""",
    lock="FOR UPDATE OF c",
)


class _RecipientsAfter(Row, frozen=True):
    """Asks for recipients in their order, after `cursor`."""

    group_id: Int
    cursor: BigInt
    most: Int
    account_id: Id
    sandbox: Bool
    sender: Text


class _Next(Row, frozen=True):
    """Holds the next recipient. `text`, `encoding` and `segments` are None if the campaign's text
    is the same for all.
    """

    recipient: BigInt
    country_code: Text | None
    text: Text | None
    encoding: Text | None
    segments: SmallInt | None
    opted_out: Bool


# Who has opted out since the audience was frozen is told by the index of opt-outs.
_OPT_OUTS: Final = rows_by_key(
    "suppressions",
    "sender",
    account_id=":account_id",
    sandbox=":sandbox",
    phone="r.recipient",
)
_NEXT_OF: Final = """
    SELECT r.recipient, r.country_code, r.text, r.encoding, r.segments, EXISTS ({opt_outs}
        o.sender IN ('', :sender)) AS opted_out
    FROM campaign_recipients r WHERE r.group_id = :group_id AND r.recipient > :cursor
        AND NOT r.opted_out ORDER BY r.recipient LIMIT :most"""
_NEXT: Final = Statement(
    _RecipientsAfter,
    _Next,
    postgresql=mark_opt_out_lookup(_NEXT_OF.format(opt_outs=f"SELECT 1 FROM {_OPT_OUTS} o WHERE")),
    sqlite=_NEXT_OF.format(
        opt_outs="""SELECT 1 FROM suppressions o WHERE o.account_id = :account_id
        AND o.sandbox = :sandbox AND o.phone = r.recipient AND"""
    ),
)


class _CampaignProgress(Row, frozen=True):
    """Says how far a campaign came with a chunk. `status_reason` says why it pauses, if it does.
    `waits_for` is the number of credits that the next recipient costs, if they are not there.
    """

    id: Id
    cursor: BigInt
    expanded: Bool
    opted_out: Int
    refused: Int
    status_reason: Text | None
    waits_for: BigInt | None


_TAKE: Final = """
    UPDATE campaigns SET cursor = :cursor, expanded = :expanded, opted_out = opted_out + :opted_out,
        refused = refused + :refused, status_reason = :status_reason, waits_for = :waits_for"""
_GO_ON: Final = portable(_CampaignProgress, Nothing, f"{_TAKE} WHERE id = :id")
_PAUSE: Final = portable(
    _CampaignProgress,
    Nothing,
    f"{_TAKE}, status = '{PAUSED}' WHERE id = :id AND {CAMPAIGN.may_become(PAUSED)}",
)


class Expanded(NamedTuple):
    """Reports what became of one chunk. `paused` says why the campaign does not go on by itself."""

    messages: int
    carrier_ids: frozenset[int]
    paused: str | None = None
    is_whole: bool = False


async def expand(
    tx: HotTx, ranks: Ranks, chunker: Chunker, campaign_id: str, most: int
) -> Expanded | None:
    """Takes at most `most` recipients, or returns None for a campaign that is not sending."""
    locked = await _LOCK.rows(tx, _CampaignId(campaign_id))
    if not locked:
        return None
    [campaign] = locked
    if not campaign.is_active:
        await _PAUSE.rows(
            tx,
            _CampaignProgress(
                campaign_id,
                campaign.cursor,
                expanded=False,
                opted_out=0,
                refused=0,
                status_reason=ACCOUNT_SUSPENDED,
                waits_for=None,
            ),
        )
        return Expanded(0, frozenset(), ACCOUNT_SUSPENDED)
    recipient_rows = await _NEXT.rows(tx, _after(campaign, most))
    recipients = _recipients(recipient_rows, campaign.text)
    chunk = Chunk(0, 0, None, frozenset())
    if recipients:
        chunk_request = ChunkRequest(
            campaign.group_id,
            campaign_id,
            campaign.account_id,
            campaign.sandbox,
            campaign.sender,
            campaign.validity_s,
        )
        chunk = await chunker.store(tx, ranks, chunk_request, recipients)
    cursor = campaign.cursor
    if chunk.taken < len(recipients):
        cursor = recipients[chunk.taken].number - 1
    elif recipient_rows:
        cursor = recipient_rows[-1].recipient
    opted_out = sum(one.opted_out for one in recipient_rows if one.recipient <= cursor)
    is_whole = chunk.stopped is None and len(recipient_rows) < most
    storing = _GO_ON if chunk.stopped is None else _PAUSE
    await storing.rows(
        tx,
        _CampaignProgress(
            campaign_id,
            cursor,
            expanded=is_whole,
            opted_out=opted_out,
            refused=chunk.refused,
            status_reason=chunk.stopped,
            waits_for=chunk.wanted,
        ),
    )
    return Expanded(chunk.messages, chunk.carrier_ids, chunk.stopped, is_whole)


def _after(campaign: _SendingCampaign, most: int) -> _RecipientsAfter:
    """Returns what asks for the next recipients of a campaign."""
    return _RecipientsAfter(
        campaign.group_id,
        campaign.cursor,
        most,
        campaign.account_id,
        campaign.sandbox,
        scope_of_sender(campaign.sender).sender,
    )


def _recipients(found: list[_Next], template: str) -> list[ChunkRecipient]:
    """Returns those of a chunk that have not opted out. A text without placeholders is the same for
    all, and kept once.
    """
    text = parse(template).plain or ""
    encoding, segments = count_segments(text) if text else ("", 0)
    return [
        ChunkRecipient(one.recipient, one.country_code, text, encoding, segments)
        if one.text is None or one.encoding is None or one.segments is None
        else ChunkRecipient(one.recipient, one.country_code, one.text, one.encoding, one.segments)
        for one in found
        if not one.opted_out
    ]
