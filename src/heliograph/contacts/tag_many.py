"""Adds a tag to many contacts, or removes it, in steps that are each one transaction. Nobody waits
for long, and what is done stays done.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection

from heliograph.base.errors import InvalidRequest, NotFound
from heliograph.contacts.contact import Contact, ContactOwner, by_id
from heliograph.contacts.fields import TAGS_MAX, read_tag
from heliograph.contacts.search import SameTags, count_by_tags, newest
from heliograph.contacts.search_buckets import lock_contacts
from heliograph.contacts.store import AT_ONCE_MAX, replace_tags
from heliograph.database.database import Database

# of one search: a page looks through so many within two seconds, and changes them within some more
FOUND_MAX: Final = 20_000


class TagChange(NamedTuple):
    """Says which tag is added, or removed."""

    tag: str
    is_added: bool

    def tags_after(self, tags: tuple[str, ...]) -> tuple[str, ...] | None:
        """Returns the tags that a contact with these tags has then; None if it cannot have one
        more.
        """
        if self.is_added == (self.tag in tags):
            return tags
        if not self.is_added:
            return tuple(tag for tag in tags if tag != self.tag)
        return (*tags, self.tag) if len(tags) < TAGS_MAX else None


class ChosenContacts(NamedTuple):
    """Says which contacts are meant: those with the ids `picked`, in text form, or if there are
    none, all of the owner that `needle` finds.
    """

    owner: ContactOwner
    needle: str | None = None
    picked: Sequence[str] = ()


class TagCount(NamedTuple):
    """Counts contacts: `found` in all, of whom `changing` get another set of tags, and `full` have
    as many tags as a contact may have.
    """

    found: int = 0
    changing: int = 0
    full: int = 0

    def __add__(self, other: object) -> "TagCount":
        assert isinstance(other, TagCount)
        return TagCount(
            self.found + other.found,
            self.changing + other.changing,
            self.full + other.full,
        )


def read_tag_change(tag: str, *, is_added: bool) -> TagChange:
    """Reads a tag that is added to many contacts, or taken from them. Raises ValueError for what
    can be no tag.
    """
    return TagChange(read_tag(tag), is_added)


def count(db: Database, chosen: ChosenContacts, change: TagChange) -> TagCount:
    """Returns what a change would do now. It opens a transaction. Raises InvalidRequest if it finds
    too many contacts.
    """
    with db.read() as tx:
        counted = (
            _by_tags(_picked_contacts(tx, chosen))
            if chosen.picked
            else count_by_tags(tx, chosen.owner, chosen.needle, most=FOUND_MAX + 1)
        )
    total = _tag_count(counted, change)
    if total.found > FOUND_MAX:
        raise InvalidRequest(
            f"This finds more than {FOUND_MAX:,} contacts, too many to tag at once. Search for"
            " fewer."
        )
    return total


def apply(
    db: Database, chosen: ChosenContacts, change: TagChange, *, now_ms: int
) -> Iterator[TagCount]:
    """Changes the contacts step by step, and gives what each step did, when it is committed. Raises
    StorageQuotaReached; what is committed stays.
    """
    before: str | None = None
    for _ in range(FOUND_MAX // AT_ONCE_MAX):
        with db.write() as tx:
            lock_contacts(tx, chosen.owner)  # before it reads what it writes over
            found = _some(tx, chosen, before)
            changes = [
                (contact, tags)
                for contact in found
                if (tags := change.tags_after(contact.tags)) not in (None, contact.tags)
            ]
            replace_tags(tx, chosen.owner, changes, now_ms=now_ms)
        yield _tag_count(_by_tags(found), change)
        if chosen.picked or len(found) < AT_ONCE_MAX:
            return
        before = found[-1].id


def _some(tx: Connection, chosen: ChosenContacts, before: str | None) -> list[Contact]:
    """Returns the contacts that were picked, or the next ones that are found."""
    if chosen.picked:
        return list(_picked_contacts(tx, chosen))
    return newest(tx, chosen.owner, chosen.needle, limit=AT_ONCE_MAX, before=before)


def _picked_contacts(tx: Connection, chosen: ChosenContacts) -> Iterator[Contact]:
    """Yields the contacts that were picked; somebody may have removed one meanwhile."""
    for contact_id in dict.fromkeys(chosen.picked):
        try:
            yield by_id(tx, chosen.owner, contact_id)
        except NotFound:
            continue


def _by_tags(found: Iterable[Contact]) -> list[SameTags]:
    counted = Counter(contact.tags for contact in found)
    return [SameTags(tags, contacts) for tags, contacts in counted.items()]


def _tag_count(counted: Iterable[SameTags], change: TagChange) -> TagCount:
    total = TagCount()
    for same in counted:
        after = change.tags_after(same.tags)
        changing = same.contacts if after not in (None, same.tags) else 0
        total += TagCount(same.contacts, changing, same.contacts if after is None else 0)
    return total
