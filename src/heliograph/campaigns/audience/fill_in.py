"""Fills in the texts of a campaign for its recipients. It counts who cannot get a text, and who has
no value for which placeholder.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec

from heliograph.campaigns.audience.recipients import (
    REACHED,
    AudienceMember,
    CampaignRecipient,
    Group,
)
from heliograph.campaigns.template import NAME, PHONE, Template

_custom: Final = msgspec.json.Decoder(dict[str, str])


class Filling:
    """Fills in one template, and counts."""

    def __init__(self, template: Template) -> None:
        self._template = template
        self._names = template.names
        self._has_own = not {NAME, PHONE}.issuperset(self._names)
        self.unsendable: Counter[str] = Counter()  # people, by the reason
        # people, by the placeholder that they have no value for
        self.lacking: Counter[str] = Counter()

    def recipients(self, people: Iterable[AudienceMember]) -> list[CampaignRecipient]:
        """Returns the people for whom there is a text, out of those who have not opted out, each
        with the text.
        """
        found = []
        for person in people:
            if person.reach == REACHED:
                values = self.values_of(person)
                recipient = self.recipient(person.phone, person.country_code, values)
                if recipient is not None:
                    found.append(recipient)
        return found

    def values_of(self, person: AudienceMember) -> dict[str, str]:
        """Returns what the placeholders can become for a person who is reached."""
        values = _custom.decode(person.custom) if self._has_own and person.custom else {}
        values[NAME], values[PHONE] = person.name or "", str(person.phone)
        return values

    def recipient(
        self, phone: int, country_code: str | None, values: dict[str, str]
    ) -> CampaignRecipient | None:
        """Returns a recipient with the text, or None when there is no text for it that can be
        sent.
        """
        for name in self._names:
            if not values.get(name):
                self.lacking[name] += 1
        text = self._template.write(values)
        if isinstance(text, str):
            self.unsendable[text] += 1
            return None
        return CampaignRecipient(phone, country_code, text.text, text.encoding, text.segments)

    def groups(self, recipients: Iterable[CampaignRecipient], digits: int) -> list[Group]:
        """Groups recipients as the database does when all get the same text."""
        counts: Counter[tuple[str, str | None]] = Counter()
        segments: Counter[tuple[str, str | None]] = Counter()
        for recipient in recipients:
            key = (str(recipient.recipient)[:digits], recipient.country_code)
            counts[key] += 1
            segments[key] += recipient.segments or 0
        return [
            Group(first_digits, country_code, count, segments[first_digits, country_code])
            for (first_digits, country_code), count in counts.items()
        ]
