"""Puts long texts together: it decides to which text a part belongs, and whether that is whole.

Parts come in any order, and more than once. Phones choose a reference by themselves, so what tells
texts apart is the sender, the recipient, the reference and the number of parts. A phone that uses a
reference again begins a new text where its parts do not fit into the one before.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from heliograph.carriers import HandsetText, PartOf
from heliograph.inbound.receive.decode import TextPiece

# the first part of a text waits so long for the others, and a whole one's are known so much longer
WAITED_MS: Final = 30 * 60_000


class PartedText:
    """Collects the parts of one text. `inbound_id` is the id (raw) under which it is stored, once
    that is so.
    """

    def __init__(self, group_id: str, total: int) -> None:
        self.group_id = group_id
        self.total = total
        self.inbound_id: str | None = None
        self.pieces: dict[int, TextPiece] = {}
        self.digests: dict[int, str] = {}

    @property
    def is_whole(self) -> bool:
        return len(self.digests) == self.total

    @property
    def in_order(self) -> list[TextPiece]:
        """Returns the parts that are there, in the order of their numbers."""
        return [self.pieces[number] for number in sorted(self.pieces)]

    def add(self, number: int, digest: str, piece: TextPiece) -> None:
        self.digests[number] = digest
        self.pieces[number] = piece


class TextKey(NamedTuple):
    """Says what the parts of one text have in common. `total` is their number."""

    sender: str
    recipient: str
    reference: int
    total: int


class Assembly:
    """Holds the texts whose parts are known, each key's in the order in which they began. `new_id`
    makes the id of one more.
    """

    def __init__(self, new_id: Callable[[], str]) -> None:
        self._new_id = new_id
        self._texts: dict[TextKey, list[PartedText]] = {}

    def know(self, key: TextKey, text: PartedText) -> None:
        """Adds a text of which some parts are stored. They are added in the order of their ids."""
        self._texts.setdefault(key, []).append(text)

    def place(self, came: HandsetText, part: PartOf) -> tuple[PartedText, bool]:
        """Returns the text to which a part belongs, and whether the part is new. A new one is added
        to the text.
        """
        texts = self._texts.setdefault(key_of(came, part), [])
        for text in texts:
            if text.digests.get(part.number) == came.digest:
                return text, False
        for text in reversed(texts):
            if text.inbound_id is None and part.number not in text.digests:
                break
        else:
            text = PartedText(self._new_id(), part.total)
            texts.append(text)
        text.add(part.number, came.digest, TextPiece(part.number, came.alphabet, came.octets))
        return text, True


def key_of(came: HandsetText, part: PartOf) -> TextKey:
    """Returns what a part has in common with the other parts of its text."""
    return TextKey(came.sender, came.recipient, part.reference, part.total)
