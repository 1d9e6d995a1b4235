"""Lists are paged by key: nothing repeats, nothing is left out, and a page holds no more than was
asked for.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.base import ids
from heliograph.base.errors import InvalidRequest
from heliograph.base.forms import Query
from heliograph.base.paging import PageWanted, cursor_at, first_id_of, page_body, read_page

RAW_IDS = st.integers(0, (1 << 128) - 1).map(ids.raw_of_number)


@given(st.sets(RAW_IDS, max_size=40), st.integers(1, 12))
def test_following_the_cursors_shows_every_record_once_newest_first(
    records: set[str], limit: int
) -> None:
    newest_first = sorted(records, reverse=True)
    seen: list[str] = []
    pairs = [("limit", str(limit))]
    while True:
        wanted = read_page(Query(pairs))
        found = [
            record for record in newest_first if wanted.before is None or record < wanted.before
        ][: wanted.limit + 1]
        body = page_body(found, wanted, lambda record: record, lambda record: {"id": record})
        assert len(body["data"]) <= limit
        assert body["data"] or not records, "a cursor leads to something"
        seen += [record["id"] for record in body["data"]]
        if body["next_cursor"] is None:
            break
        assert len(body["data"]) == limit, "only the last page is short"
        pairs = [("limit", str(limit)), ("cursor", body["next_cursor"])]
    assert seen == newest_first


@given(RAW_IDS)
def test_a_cursor_is_read_back(raw_id: str) -> None:
    assert read_page(Query([("cursor", cursor_at(raw_id))])) == PageWanted(50, raw_id)


@given(st.text(min_size=1, max_size=30))
def test_what_is_no_cursor_is_refused_by_name(text: str) -> None:
    query = Query([("cursor", text)])
    wanted = read_page(query)
    if wanted.before is not None:
        assert cursor_at(wanted.before) == text
        return
    with pytest.raises(InvalidRequest) as refused:
        query.finish()
    assert [bad.field for bad in refused.value.fields] == ["cursor"]


@given(st.integers(-(10**6), 1 << 50), st.integers(0, (1 << 48) - 1))
def test_times_bound_the_ids_made_at_them(at_ms: int, made_ms: int) -> None:
    made = ids.raw_of_number(ids.new_number(made_ms))
    if at_ms < 1 << 48:
        assert (made >= first_id_of(at_ms)) == (made_ms >= at_ms)
