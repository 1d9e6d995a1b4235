"""Freezes an audience: the recipients of a campaign are written down chunk by chunk, as they are
when it is launched, and priced meanwhile.

`read_through` goes through the same people and stores nothing: that is an estimate.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeAlias

from sqlalchemy.engine import Connection

from heliograph.campaigns.audience.audience_lock import AudienceLock
from heliograph.campaigns.audience.fill_in import Filling
from heliograph.campaigns.audience.price import Pricing
from heliograph.campaigns.audience.recipients import (
    OPTED_OUT,
    AudienceChunk,
    AudienceMember,
    Contacts,
    WrittenRecipients,
    store,
)
from heliograph.campaigns.campaign import Campaign, needs_filling
from heliograph.database.database import Database

# 0.1 s; nobody waits for it, and so many groups at most are in memory
PEOPLE_PER_LOOK: Final = 20_000

Tell: TypeAlias = Callable[[int], object]  # of so many people more that were looked at


def freeze(lock: AudienceLock, campaign: Campaign, pricing: Pricing, tell: Tell) -> None:
    """Stores the contacts of an audience, without those who opted out. What an earlier attempt has
    stored is removed first. The numbers of a file are stored already: those who opted out are
    marked, anew each time. Each transaction stores `lock.size` people. Raises AudienceTaken, and
    StorageQuotaReached; what was stored until then stays until it is cleared.
    """
    if campaign.audience.kind != "numbers":
        clear(lock, campaign)
    if needs_filling(campaign):
        with _ReadAhead(lock.db, campaign, lock.size) as ahead, _WriteBehind(lock) as behind:
            _go(lambda after: _fill_in(ahead, campaign, pricing, behind), pricing, tell)
        return
    looking = _chunk_reader(campaign, pricing, lock.size, write=True)
    _go(
        lambda after: _without_texts(campaign, lock.step(lambda tx: looking(tx, after))),
        pricing,
        tell,
    )


def read_through(db: Database, campaign: Campaign, pricing: Pricing, tell: Tell) -> None:
    """Reads the audience as it is now."""
    if needs_filling(campaign):
        with _ReadAhead(db, campaign, PEOPLE_PER_LOOK) as ahead:
            _go(lambda after: _fill_in(ahead, campaign, pricing, None), pricing, tell)
        return
    looking = _chunk_reader(campaign, pricing, PEOPLE_PER_LOOK, write=False)

    def step(after: int) -> AudienceChunk | None:
        with db.read() as tx:
            return looking(tx, after)

    _go(lambda after: _without_texts(campaign, step(after)), pricing, tell)


def clear(lock: AudienceLock, campaign: Campaign) -> None:
    """Removes all recipients of a campaign."""
    written = WrittenRecipients(campaign)
    after: int | None = 0
    while after is not None:
        # it is called at once
        after = lock.step(lambda tx: written.drop(tx, after or 0, lock.size))  # noqa: B023


def _go(
    step: Callable[[int], tuple[AudienceChunk, Filling] | None], pricing: Pricing, tell: Tell
) -> None:
    after = 0
    while (found := step(after)) is not None:
        chunk, filling = found
        pricing.add(chunk, filling)
        after = chunk.upto
        tell(chunk.people)


def _chunk_reader(
    campaign: Campaign, pricing: Pricing, size: int, *, write: bool
) -> Callable[[Connection, int], AudienceChunk | None]:
    """Returns what takes the next chunk behind a number, when no texts have to be filled in."""
    segments = campaign.template.plain_segments
    people = (
        WrittenRecipients(campaign) if campaign.audience.kind == "numbers" else Contacts(campaign)
    )
    return lambda tx, after: people.read_chunk(
        tx, after, size, pricing.digits, segments, write=write
    )


def _without_texts(
    campaign: Campaign, chunk: AudienceChunk | None
) -> tuple[AudienceChunk, Filling] | None:
    return None if chunk is None else (chunk, Filling(campaign.template))


class _ReadAhead:
    """Reads contacts while the texts of those before are filled in and stored."""

    def __init__(self, db: Database, campaign: Campaign, size: int) -> None:
        self._db = db
        self._contacts = Contacts(campaign)
        self._size = size
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="audience")
        self._next: Future[list[AudienceMember]] = self._thread.submit(self._read, 0)

    def __enter__(self) -> "_ReadAhead":
        return self

    def __exit__(self, *error: object) -> None:
        self._thread.shutdown()

    def next_people(self) -> list[AudienceMember]:
        """Returns the next people, each once; it is empty at the end."""
        people = self._next.result()
        if people:
            self._next = self._thread.submit(self._read, people[-1].phone)
        return people

    def _read(self, after: int) -> list[AudienceMember]:
        with self._db.read() as tx:
            return self._contacts.people(tx, after, self._size)


class _WriteBehind:
    """Stores chunks one after the other, while the texts of the next are filled in. All of them are
    stored when it is left without an error.
    """

    def __init__(self, lock: AudienceLock) -> None:
        self._lock = lock
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="recipients")
        self._last: Future[object] | None = None

    def __enter__(self) -> "_WriteBehind":
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        self._thread.shutdown()
        if kind is None:
            self._wait()

    def store(self, step: Callable[[Connection], object]) -> None:
        """Stores a chunk while the caller goes on. Raises AudienceTaken, and what the storing of
        the chunk before has raised.
        """
        self._wait()
        self._last = self._thread.submit(self._lock.step, step)

    def _wait(self) -> None:
        if self._last is not None:
            self._last.result()


def _fill_in(
    ahead: _ReadAhead, campaign: Campaign, pricing: Pricing, behind: _WriteBehind | None
) -> tuple[AudienceChunk, Filling] | None:
    """Returns the next chunk, filled in, or None at the end. With `behind`, it is stored too."""
    people, filling = ahead.next_people(), Filling(campaign.template)
    if not people:
        return None
    recipients = filling.recipients(people)
    opted_out = sum(person.reach == OPTED_OUT for person in people)
    chunk = AudienceChunk(
        people[-1].phone, len(people), opted_out, filling.groups(recipients, pricing.digits)
    )
    if behind is not None:
        behind.store(lambda tx: store(tx, campaign, recipients))
    return chunk, filling
