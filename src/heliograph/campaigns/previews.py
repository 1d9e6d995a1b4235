"""Shows the text of a campaign as one recipient would get it, and finds the placeholders that
nobody has a value for.
"""

from typing import Final, NamedTuple

from sqlalchemy.engine import Connection

from heliograph.base.errors import InvalidRequest
from heliograph.campaigns.audience import members
from heliograph.campaigns.audience.fill_in import Filling
from heliograph.campaigns.audience.price import Quote
from heliograph.campaigns.audience.recipients import Contacts, WrittenRecipients
from heliograph.campaigns.campaign import Audience, Campaign
from heliograph.campaigns.lifecycle import NoRecipients
from heliograph.campaigns.template import PHONE, TOO_MANY_SEGMENTS, FilledText, Template, counted
from heliograph.text import SEGMENTS_MAX

SAMPLES: Final = 3


class SampleText(NamedTuple):
    """Shows what one recipient would get. `refusal` says why it cannot be sent (`empty_text` or
    `too_many_segments`). Then `text` is empty and `segments` is 0.
    """

    phone: int
    name: str | None
    text: str
    segments: int
    refusal: str | None = None


class UnfilledPlaceholders(NamedTuple):
    """Names placeholders that nobody among so many `people` has a value for. They are more likely
    misspelled than meant.
    """

    names: tuple[str, ...]
    people: int


def find_unfilled(tx: Connection, campaign: Campaign) -> UnfilledPlaceholders:
    """Returns what cannot be filled in for an audience of contacts, as it is now. A file's
    columns are judged when it is read.
    """
    if campaign.audience.kind == "numbers":
        return UnfilledPlaceholders((), 0)
    audience = Contacts(campaign)
    names = tuple(
        name for name in campaign.template.names if name != PHONE and audience.nobody_has(tx, name)
    )
    return UnfilledPlaceholders(names, audience.count_reached(tx) if names else 0)


def unfilled_of(quote: Quote) -> UnfilledPlaceholders:
    """Returns the placeholders that nobody of a quote's people has a value for."""
    return UnfilledPlaceholders(
        tuple(name for name, people in quote.lacking.items() if people == quote.people),
        quote.people,
    )


class WantedAudience(NamedTuple):
    """Says whom a campaign would be for that is not written down yet."""

    account_id: str
    sandbox: bool
    audience: Audience
    sender: str
    group_id: int = 0  # no recipients are stored


def samples_of(tx: Connection, template: Template, wanted: WantedAudience) -> list[SampleText]:
    """Returns what the first contacts of an audience would get of a text, as they are now."""
    filling = Filling(template)
    return [
        _sample(person.phone, person.name, template.fill(filling.values_of(person)))
        for person in members.first_reached(tx, wanted, SAMPLES)
    ]


def samples(tx: Connection, campaign: Campaign) -> list[SampleText]:
    """Returns what the first recipients of the audience would get, as it is now. Of contacts,
    thousands of the audience are looked at.
    """
    if campaign.audience.kind == "numbers":
        plain = campaign.template.plain
        return [
            _sample(phone, None, text if plain is None else plain)
            for phone, text in WrittenRecipients(campaign).first(tx, SAMPLES).items()
        ]
    return samples_of(
        tx,
        campaign.template,
        WantedAudience(campaign.account_id, campaign.sandbox, campaign.audience, campaign.sender),
    )


def _sample(phone: int, name: str | None, text: str | None) -> SampleText:
    found = counted(text or "")
    if isinstance(found, FilledText):
        return SampleText(phone, name, found.text, found.segments)
    return SampleText(phone, name, "", 0, found)


def sample(tx: Connection, campaign: Campaign, phone: int) -> str:
    """Returns the text as the person with this number would get it; if there is none, as the
    first of the audience would. Raises NoRecipients, and InvalidRequest when that text takes too
    many segments or is empty.
    """
    template = campaign.template
    if template.plain is not None:
        return template.plain
    if campaign.audience.kind == "numbers":
        text = WrittenRecipients(campaign).text_of(tx, phone)
        if text is None:
            raise NoRecipients()
        return text
    person = members.person(tx, campaign, phone)
    if person is None:
        raise NoRecipients()
    filling = Filling(template)
    recipients = filling.recipients([person])
    if not recipients:
        why = (
            f"takes more than {SEGMENTS_MAX} segments"
            if filling.unsendable[TOO_MANY_SEGMENTS]
            else "is empty"
        )
        raise InvalidRequest(f"The text for {person.phone} {why}.")
    assert recipients[0].text is not None
    return recipients[0].text
