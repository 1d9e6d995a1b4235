"""Keeps documents that an account adds to a sender ID that waits, such as the letter of a company.
Whoever decides looks at them.

What a file is, its content says, and never its name. It is kept as it came and is never opened
here.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph import accounts
from heliograph.base import ids
from heliograph.base.clock import DAY_MS
from heliograph.base.errors import NotFound
from heliograph.base.short_texts import invalid_field, printable, shorten
from heliograph.database.pruning import PruningRule
from heliograph.database.reads import records_of
from heliograph.senders.history import last_decision_ms
from heliograph.senders.sender import Sender, own_sender
from heliograph.senders.states import SUBMITTED
from heliograph.senders.tables import DOCUMENT_NAME_MAX, sender_documents

DOCUMENT_PREFIX: Final = "doc"
OCTETS_MAX: Final = 5 * 1_024 * 1_024  # a letter that was scanned, in some pages
DOCUMENTS_PER_SENDER_MAX: Final = 5
DOCUMENTS_PER_ACCOUNT_MAX: Final = 50  # 250 MiB, however many sender IDs it registers
DOCUMENTS_KEPT_MS: Final = 400 * DAY_MS  # as long as the logs that tell of the decision
KEPT: Final = (PruningRule(sender_documents.name, "id", DOCUMENTS_KEPT_MS, is_counts=True),)
PDF_END_OCTETS: Final = 1_024  # where readers look for %%EOF (ISO 32000-1, annex H, 3.4.4)


class DocumentKind(NamedTuple):
    """Describes a kind of file that may be attached."""

    media_type: str
    ending: str


PDF: Final = DocumentKind("application/pdf", "pdf")
PNG: Final = DocumentKind("image/png", "png")
JPEG: Final = DocumentKind("image/jpeg", "jpg")
KINDS: Final = {kind.media_type: kind for kind in (PDF, PNG, JPEG)}


class SenderDocument(NamedTuple):
    """Describes a document without what is in it. The ids are raw."""

    id: str
    sender_id: str
    name: str
    media_type: str
    octets: int

    @property
    def text_id(self) -> str:
        return ids.text_of_raw(DOCUMENT_PREFIX, self.id)

    @property
    def attached_at_ms(self) -> int:
        return ids.made_at_ms(int(self.id, 16))

    @property
    def file_name(self) -> str:
        """Returns a name in ASCII, by which every system can save it."""
        return f"{self.text_id}.{KINDS[self.media_type].ending}"


def kind_of(content: bytes) -> DocumentKind:
    """Returns what a file is, by its content. Raises InvalidRequest for all that may not be
    attached.

    PDF: ISO 32000-1, 7.5.2 and 7.5.5. PNG: its signature and first chunk (W3C PNG, 5.2 and 5.6).
    JPEG: the markers SOI and EOI (ITU-T T.81, B.1.1.3).
    """
    if content.startswith(b"%PDF-") and b"%%EOF" in content[-PDF_END_OCTETS:]:
        return PDF
    if content.startswith(b"\x89PNG\r\n\x1a\n") and content[12:16] == b"IHDR":
        return PNG
    if content.startswith(b"\xff\xd8\xff") and b"\xff\xd9" in content[-PDF_END_OCTETS:]:
        return JPEG
    raise invalid_field(
        "file", "must be a PDF, a PNG or a JPEG by its content, whatever its name says"
    )


def attach(
    tx: Connection, account_id: str, sender_text_id: str, name: str, content: bytes, *, now_ms: int
) -> SenderDocument:
    """Stores a document of a sender ID of an account (raw id) that waits for the operator.

    Raises NotFound; InvalidRequest for a sender ID that does not wait, for what is not such a
    document or too large, and for one too many.
    """
    if len(content) > OCTETS_MAX:
        raise invalid_field("file", f"must have at most {OCTETS_MAX // 1_024**2} MiB")
    kind = kind_of(content)
    sender = _waiting(tx, account_id, sender_text_id)
    columns = sender_documents.c
    if not may_have_more(tx, sender):
        most = DOCUMENTS_PER_SENDER_MAX
        raise invalid_field(
            "file",
            f"is one too many: a sender ID has at most {most} documents that nobody has decided on",
        )
    if _count(tx, columns.account_id == account_id) >= DOCUMENTS_PER_ACCOUNT_MAX:
        most = DOCUMENTS_PER_ACCOUNT_MAX
        raise invalid_field("file", f"is one too many: an account has at most {most} documents")
    document = SenderDocument(
        ids.raw_of_number(ids.new_number(now_ms)),
        sender.id,
        _name(name, kind),
        kind.media_type,
        len(content),
    )
    row = document._asdict() | {"account_id": account_id, "content": content}
    tx.execute(sender_documents.insert().values(row))
    return document


def detach(
    tx: Connection, account_id: str, sender_text_id: str, document_text_id: str
) -> SenderDocument:
    """Removes a document of a sender ID that waits. Raises NotFound; InvalidRequest for a sender
    ID that does not wait any more, and for a document that was decided on before.
    """
    sender = _waiting(tx, account_id, sender_text_id)
    document = find(tx, sender, document_text_id)
    if decided_on(tx, sender, [document]):
        raise invalid_field("file", "cannot be removed: somebody has decided on it")
    tx.execute(sender_documents.delete().where(sender_documents.c.id == document.id))
    return document


def decided_on(
    tx: Connection, sender: Sender, documents: Sequence[SenderDocument]
) -> list[SenderDocument]:
    """Returns those of a sender ID's documents that were there when the operator last decided on
    it. They stay, so that what was decided on stays what it was.
    """
    decided_at_ms = last_decision_ms(tx, sender.id)
    if decided_at_ms is None:
        return []
    return [document for document in documents if document.attached_at_ms <= decided_at_ms]


def may_have_more(tx: Connection, sender: Sender) -> bool:
    """Returns whether a sender ID may have one more document. Those that were decided on cannot be
    removed, so they do not count: else who is asked for one more could attach none.
    """
    found = of_sender(tx, sender)
    return len(found) - len(decided_on(tx, sender, found)) < DOCUMENTS_PER_SENDER_MAX


def of_sender(tx: Connection, sender: Sender) -> list[SenderDocument]:
    """Returns the documents of a sender ID, in the order in which they were attached."""
    query = sa.select(*_COLUMNS).where(sender_documents.c.sender_id == sender.id)
    return records_of(SenderDocument, tx.execute(query.order_by(sender_documents.c.id)))


def find(tx: Connection, sender: Sender, document_text_id: str) -> SenderDocument:
    """Returns the document of a sender ID with this id in text form. Raises NotFound."""
    raw = ids.raw_of_text(DOCUMENT_PREFIX, document_text_id)
    found = sender_documents.c
    query = sa.select(*_COLUMNS).where(found.id == raw, found.sender_id == sender.id)
    row = None if raw is None else tx.execute(query).first()
    if row is None:
        raise NotFound("There is no such document.")
    return SenderDocument(**row._asdict())


def content_of(tx: Connection, document: SenderDocument) -> bytes:
    """Returns what is in a document."""
    columns = sender_documents.c
    query = sa.select(columns.content).where(columns.id == document.id)
    return bytes(tx.execute(query).scalar_one())


def remove_all(tx: Connection, account_id: str) -> int:
    """Removes all documents of an account (raw id), and returns how many there were."""
    columns = sender_documents.c
    return tx.execute(sender_documents.delete().where(columns.account_id == account_id)).rowcount


_COLUMNS: Final = tuple(sender_documents.c[name] for name in SenderDocument._fields)


def _waiting(tx: Connection, account_id: str, sender_text_id: str) -> Sender:
    """Returns a sender ID of an account that waits, which nobody decides on meanwhile."""
    accounts.require_open(accounts.lock(tx, account_id))  # closing removes documents
    sender = own_sender(tx, account_id, sender_text_id)
    if sender.status != SUBMITTED:
        raise invalid_field("file", "cannot be changed: the sender ID does not wait for a decision")
    return sender


def _count(tx: Connection, which: sa.ColumnElement[bool]) -> int:
    query = sa.select(sa.func.count()).select_from(sender_documents).where(which)
    return int(tx.execute(query).scalar_one())


def _name(given: str, kind: DocumentKind) -> str:
    """Returns the name of a file for people, without folders, with the ending of what it is."""
    last = printable(given.replace("\\", "/").rpartition("/")[2]).strip() or "document"
    stem = last.rpartition(".")[0] or last
    return f"{shorten(stem, DOCUMENT_NAME_MAX - 10)}.{kind.ending}"
