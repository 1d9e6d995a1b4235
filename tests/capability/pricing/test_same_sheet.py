"""A rate sheet that is applied and exported is the same sheet, and its export changes nothing."""

import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heliograph import accounts
from heliograph.base import clock
from heliograph.carriers import GENERAL, current_rates
from heliograph.carriers.tables import rates as stored
from heliograph.database.database import Database
from heliograph.pricing import read_sheet, sheets, write_sheet
from heliograph.pricing.difference import ChangeKind
from heliograph.text import country_codes

DESTINATIONS = (
    st.integers(1, 10**15 - 1).map(str)
    | st.sampled_from(sorted(country_codes()))
    | st.just("default")
)
CREDITS = st.none() | st.integers(0, 100_000)


def rates_of(account_id: str) -> st.SearchStrategy[dict[tuple[str, str], int | None]]:
    places = st.tuples(st.sampled_from([GENERAL, account_id]), DESTINATIONS)
    return st.dictionaries(places, CREDITS, max_size=12)


def listed(rates: dict[tuple[str, str], int | None]) -> list[current_rates.Rate]:
    return [current_rates.Rate(*place, credits) for place, credits in sorted(rates.items())]


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), is_whole=st.booleans())
def test_a_sheet_that_is_applied_and_exported_is_the_same(
    db: Database, amina_id: str, data: st.DataObject, is_whole: bool
) -> None:
    today, sheet = data.draw(rates_of(amina_id)), data.draw(rates_of(amina_id))
    with db.write() as tx:
        tx.execute(sa.delete(stored))
        current_rates.change(tx, [], listed(today))
        draft = sheets.upload(
            tx, "x", listed(sheet), None, is_whole=is_whole, now_ms=clock.now_ms()
        )
        sheets.plan(
            tx, draft, at_ms=None, allows_loss=False, reason="May", by=None, now_ms=clock.now_ms()
        )
        named = {account for account, _ in sheet}
        kept = {
            place: credits
            for place, credits in today.items()
            if not (is_whole and place[0] in named)
        }
        now = current_rates.load(tx)
        assert sorted(now) == listed(kept | sheet)
        if not now:
            return
        file = write_sheet(now, lambda raw: accounts.text_id(accounts.by_id(tx, raw)))
        read = read_sheet(file.encode(), lambda text: accounts.find(tx, text).id)
        assert (sorted(read.rates), read.bad) == (sorted(now), [])
        changes = sheets.outlook_of(tx, read.rates, is_whole=True).difference
        assert {change.kind for change in changes.changes} == {ChangeKind.UNCHANGED}
