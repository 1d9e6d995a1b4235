"""A page finds the price of a campaign within a bounded time. It prices a small audience exactly,
wherever its people are among all contacts, and a large one by a sample.
"""

from importlib import import_module
from typing import Any, Final

import pytest
import sqlalchemy as sa

from heliograph import campaigns
from heliograph.campaigns import previews
from heliograph.campaigns.quick_quote import rounded
from heliograph.contacts.tables import contacts
from heliograph.database.database import Database
from tests.support.capability.campaigns import add_contacts, write_down, write_down_file
from tests.support.factories import grant, open_route, phones

# the module; the package has its function under the same name
quick_quotes: Final = import_module("heliograph.campaigns.quick_quote")
MANY: Final = 18_000  # so that PostgreSQL has them in three search buckets
FIRST: Final = 9_000  # stored in one transaction, and so in one bucket or two
TEXT: Final = "Hi {name}, {shop|our shop} is open."


def _person(place: int, phone: str) -> dict[str, Any]:
    tags = ["half"] * (place % 2) + ["few"] * (place >= MANY - 10) + ["early"] * (place < FIRST)
    name = "ŵ" * 60 if place % 4 == 0 else "Ama"  # with the first, the text takes two segments
    return {"phone": phone, "name": name, "tags": tags, "opted_out": place == MANY - 5}


@pytest.fixture
def crowd(db: Database, amina_id: str) -> None:
    """Amina has a route and many contacts: the ten newest have the tag `few`."""
    open_route(db)
    grant(db, amina_id, 50_000)
    people = [_person(place, phone) for place, phone in enumerate(phones(MANY))]
    for start in (0, FIRST, FIRST + 8_000):
        end = {0: FIRST, FIRST: FIRST + 8_000}.get(start, MANY)
        add_contacts(db, amina_id, people[start:end])


@pytest.fixture(autouse=True)
def _lower_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets pages price 5,000 people at most, in either way, so that more of them are quick to
    make.
    """
    monkeypatch.setattr(quick_quotes, "ADDED_UP_MAX", 5_000)
    monkeypatch.setattr(quick_quotes, "FILLED_IN_MAX", 5_000)


@pytest.mark.usefixtures("crowd")
def test_a_few_among_many_contacts_are_priced_exactly_and_shown(
    db: Database, amina_id: str
) -> None:
    for tags in (["few"], ["few", "none"], ['"few"'], ["fe"]):
        draft = write_down(db, amina_id, tags=tags, message=TEXT)
        assert campaigns.quick_quote(db, draft)[:2] == (campaigns.estimate(db, draft), None)
    few = write_down(db, amina_id, tags=["few"], message=TEXT)
    quote = campaigns.quick_quote(db, few).quote
    assert (quote.recipients, quote.opted_out, quote.segments) == (9, 1, 11)
    plain = write_down(db, amina_id, tags=["few"])
    assert campaigns.quick_quote(db, plain).quote == campaigns.estimate(db, plain)
    with db.read() as tx:
        shown = previews.samples(tx, few)
        assert [sample.phone for sample in shown] == sorted({sample.phone for sample in shown})
        stored = sa.select(contacts.c.tags).where(
            contacts.c.phone.in_([sample.phone for sample in shown])
        )
        assert ["few" in tags for tags in tx.execute(stored).scalars()] == [True] * 3
        nobodys = few._replace(audience_json='{"kind": "tags", "tags": ["none"]}')
        assert previews.samples(tx, nobodys) == []


@pytest.mark.usefixtures("crowd")
def test_a_large_audience_is_estimated_from_a_sample_of_all_of_it(
    db: Database, amina_id: str
) -> None:
    audiences: list[dict[str, Any]] = [
        {},
        *({"tags": tags} for tags in (["half"], ["early"], ["early", "half"])),
    ]
    for fields in audiences:
        draft = write_down(db, amina_id, message=TEXT, **fields)
        exact, quick = campaigns.estimate(db, draft), campaigns.quick_quote(db, draft)
        assert quick.estimated_from is not None
        assert 10 < quick.estimated_from < 2_100
        for of_sample, of_all in (
            (quick.quote.recipients, exact.recipients),
            (quick.quote.segments, exact.segments),
            (quick.quote.credits, exact.credits),
        ):
            assert of_sample == pytest.approx(of_all, rel=0.15), fields
        assert quick.quote.lacking["shop"] == pytest.approx(exact.lacking["shop"], rel=0.15)
        assert quick.shown.recipients == rounded(quick.quote.recipients)
        assert quick.shown.credits_available == 50_000
        assert quick.credits_left == rounded(50_000 - rounded(quick.quote.credits))


@pytest.mark.usefixtures("crowd")
def test_contacts_that_were_deleted_are_in_no_estimate(db: Database, amina_id: str) -> None:
    with db.write() as tx:
        older = sa.select(contacts.c.id).order_by(contacts.c.id).limit(MANY // 2)
        newer = sa.select(contacts.c.id).where(contacts.c.phone % 3 == 0)
        tx.execute(sa.delete(contacts).where(contacts.c.id.in_(older) | contacts.c.id.in_(newer)))
    draft = write_down(db, amina_id, message=TEXT)
    assert campaigns.quick_quote(db, draft).quote.recipients == pytest.approx(MANY / 3, rel=0.15)


def test_the_numbers_of_a_long_file_are_estimated_too(db: Database, amina_id: str) -> None:
    open_route(db)
    grant(db, amina_id, 10)
    # half of the numbers stand far apart, and half are one behind the other
    numbers = [*phones(3_000), *(f"2332{place * 21_001:08}" for place in range(1, 3_001))]
    lines = [f"{phone},{'x' * 159 * (place % 2)}" for place, phone in enumerate(numbers)]
    long = write_down_file(db, amina_id, lines, columns="phone,why", message="A{why}B")
    add_contacts(db, amina_id, [{"phone": phone, "opted_out": True} for phone in numbers[::5]])
    exact, quick = campaigns.estimate(db, long), campaigns.quick_quote(db, long)
    assert exact.recipients == 4_800
    older = long._replace(audience_json='{"kind": "numbers", "whole": true}')
    for estimate, people in ((quick, 700), (campaigns.quick_quote(db, older), 999)):
        assert people < (estimate.estimated_from or 0) < 1_010
        assert estimate.quote.recipients == pytest.approx(exact.recipients, rel=0.05)
        assert estimate.quote.opted_out == pytest.approx(exact.opted_out, rel=0.15)
        assert estimate.quote.segments == pytest.approx(exact.segments, rel=0.05)
    stored = long.audience.landmarks
    assert (len(stored), list(stored)) == (125, sorted(stored))
    assert max(stored) < 10**10, "a landmark is no phone number"
    short = write_down_file(db, amina_id, lines[:20], columns="phone,why", message="A{why}B")
    assert campaigns.quick_quote(db, short)[:2] == (campaigns.estimate(db, short), None)


@pytest.mark.usefixtures("crowd")
def test_whoever_asks_for_the_exact_price_gets_it(
    db: Database, amina_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"{phone},{'x' * 159 * (place % 2)}" for place, phone in enumerate(phones(6_000))]
    everybody: dict[str, Any] = {}
    drafts = [
        *(
            write_down(db, amina_id, message=message, **fields)
            for message in (TEXT, "Open at nine.")
            for fields in (everybody, {"tags": ["half"]})
        ),
        write_down_file(db, amina_id, lines, columns="phone,why", message="A{why}B"),
    ]
    for draft in drafts:
        assert campaigns.quick_quote(db, draft).estimated_from is not None
        exact = campaigns.quick_quote(db, draft, may_take_longer=True)
        assert exact[:2] == (campaigns.estimate(db, draft), None)
    monkeypatch.setattr(quick_quotes, "PRICED_WHEN_ASKED_MAX", MANY - 1)
    assert campaigns.quick_quote(db, drafts[0], may_take_longer=True).estimated_from is not None


def test_an_estimated_figure_has_two_digits() -> None:
    assert [rounded(figure) for figure in (0, 7, 99, 101, 338_912, 995_001, -1_499)] == [
        *(0, 7, 99, 100, 340_000, 1_000_000, -1_500),
    ]
