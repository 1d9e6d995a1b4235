"""A campaign can go to the numbers of a file. They are written down, with their texts, when it
is made.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.accounts import quotas
from heliograph.base import clock
from heliograph.base.errors import InvalidRequest
from heliograph.campaigns.audience.audience_lock import AudienceLock
from heliograph.campaigns.audience.fill_in import Filling
from heliograph.campaigns.audience.freeze import Tell, clear
from heliograph.campaigns.audience.landmarks import landmarks_among
from heliograph.campaigns.audience.numbers_file import (
    BadNumberRow,
    LeftOutReason,
    NumberRow,
    Numbers,
)
from heliograph.campaigns.audience.recipients import CampaignRecipient, store
from heliograph.campaigns.campaign import Campaign, FileCounts, by_id, change
from heliograph.campaigns.draft import CampaignRequest, create, encode_audience
from heliograph.campaigns.states import CAMPAIGN
from heliograph.campaigns.tables import campaigns
from heliograph.database.database import Database
from heliograph.database.transitions import NO_ROW
from heliograph.messages.groups import remove_group
from heliograph.text import SEGMENTS_MAX

# of one file: a hundred times what most lists hold, and an hour at 3,000 a second
NUMBERS_MAX: Final = 10_000_000
BAD_ROWS_TOLD_MAX: Final = 100


class FileResult(NamedTuple):
    """Reports what became of a file's lines: `recipients` were stored, the others are counted, and
    the first bad ones are listed in `bad_rows`.
    """

    campaign: Campaign
    rows: int
    recipients: int
    duplicates: int
    bad: int
    bad_rows: list[BadNumberRow]
    lacking: dict[str, int]  # recipients by the placeholder that they have no value for


class _NumbersRead:
    """Collects what was read so far."""

    def __init__(self, request: CampaignRequest) -> None:
        self._request = request
        self._same = request.template.plain is not None
        self.filling = Filling(request.template)
        self.rows = 0
        self.left_out: Counter[str] = Counter()  # by reason
        self.bad_rows: list[BadNumberRow] = []

    def recipients(self, rows: Iterable[NumberRow | BadNumberRow]) -> list[CampaignRecipient]:
        """Returns the recipients of these rows, and counts the rows that have none."""
        found = []
        for row in rows:
            self.rows += 1
            recipient = self._recipient(row)
            if isinstance(recipient, CampaignRecipient):
                found.append(recipient)
                continue
            self.left_out[recipient.reason] += 1
            if len(self.bad_rows) < BAD_ROWS_TOLD_MAX:
                self.bad_rows.append(recipient)
        return found

    def counts(self, stored: int) -> FileCounts:
        """Returns what became of all lines, of which so many were `stored`."""
        left_out = dict(self.left_out)
        duplicates = self.rows - sum(left_out.values()) - stored
        return FileCounts(self.rows, duplicates, left_out)

    def _recipient(self, row: NumberRow | BadNumberRow) -> CampaignRecipient | BadNumberRow:
        if isinstance(row, BadNumberRow):
            return row
        number, country_code = int(row.phone.digits), row.phone.country_code
        if self._same:
            return CampaignRecipient(number, country_code)
        recipient = self.filling.recipient(
            number, country_code, {**row.values, "phone": row.phone.digits}
        )
        return recipient or BadNumberRow(
            row.line,
            f"makes a text that is empty, or takes more than {SEGMENTS_MAX} segments",
            LeftOutReason.BAD_TEXT,
        )


def _each_time(tx: Connection, make: Callable[[Connection], Campaign]) -> Campaign:
    return make(tx)


def create_listed(
    db: Database,
    account_id: str,
    request: CampaignRequest,
    numbers: Numbers,
    *,
    sandbox: bool,
    tell: Tell = lambda people: None,
    most: int = NUMBERS_MAX,
    make_once: Callable[[Connection, Callable[[Connection], Campaign]], Campaign] = _each_time,
) -> FileResult:
    """Makes a draft to the numbers of a file, of which there may be at `most` so many. Bad lines
    are left out, and reported. A file that cannot be read to its end, or in which nobody is left,
    makes no campaign; one whose reading was killed cannot be launched. `make_once` calls what makes
    the draft, in the first transaction. If the request was carried out before, it raises an error
    instead, which ends this.

    Raises InvalidRequest, as `create` does, and StorageQuotaReached.
    """
    campaign = db.transact(
        lambda tx: make_once(
            tx,
            lambda tx: create(tx, account_id, request, sandbox=sandbox, now_ms=clock.now_ms()),
        )
    )
    lock = AudienceLock(db, campaign.id)
    lock.take(lambda tx: None)
    reading, stored, left = _NumbersRead(request), 0, numbers.rows(request.template.names)
    try:
        while batch := list(islice(left, lock.size)):
            recipients = reading.recipients(batch)
            # it is called at once
            stored += lock.step(lambda tx: store(tx, campaign, recipients))  # noqa: B023
            tell(len(batch))
            if reading.rows > most:
                raise InvalidRequest(f"The file has more than {most:,} numbers.")
        if not stored:
            raise InvalidRequest(_no_recipients_left(reading))
    except (InvalidRequest, quotas.StorageQuotaReached):
        clear(lock, campaign)
        lock.finish(lambda tx: _remove(tx, campaign))
        raise
    with db.read() as tx:
        landmarks = landmarks_among(tx, campaign, stored)
    counts = reading.counts(stored)
    audience = request.audience._replace(whole=True, size=stored, landmarks=landmarks, file=counts)
    whole = lock.finish(
        lambda tx: change(tx, by_id(tx, campaign.id), audience=encode_audience(audience))
    )
    return FileResult(
        whole,
        reading.rows,
        stored,
        duplicates=counts.duplicates,
        bad=sum(counts.left_out.values()),
        bad_rows=reading.bad_rows,
        lacking=dict(reading.filling.lacking),
    )


def _no_recipients_left(reading: _NumbersRead) -> str:
    if not reading.bad_rows:
        return "The file holds no numbers."
    first = reading.bad_rows[0]
    if reading.rows == 1:
        return f"The file's only row cannot be sent to; line {first.line} {first.why}."
    return (
        f"None of the file's {reading.rows:,} lines can be sent to; line {first.line} {first.why}."
    )


def _remove(tx: Connection, campaign: Campaign) -> None:
    """Deletes a draft with its group. A campaign that is no longer a draft stays."""
    deleted = tx.execute(
        sa.delete(campaigns).where(
            campaigns.c.id == campaign.id, sa.text(CAMPAIGN.may_become(NO_ROW))
        )
    )
    if deleted.rowcount:
        remove_group(tx, campaign.group_id)
