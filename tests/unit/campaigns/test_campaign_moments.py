"""A scheduled campaign starts at its local time, also where the clocks are changed."""

from datetime import UTC, datetime

import pytest

from heliograph.base.errors import InvalidRequest
from heliograph.campaigns import read_start_time

NOW = int(datetime(2027, 1, 1, tzinfo=UTC).timestamp() * 1_000)


def utc(text: str, zone: str = "Europe/Berlin") -> str:
    at_s = read_start_time(text, zone, NOW).at_ms / 1_000
    return f"{datetime.fromtimestamp(at_s, UTC):%Y-%m-%dT%H:%M:%S}"


@pytest.mark.parametrize(
    ("text", "zone", "at"),
    [
        ("2027-01-31T09:30", "Europe/Berlin", "2027-01-31T08:30:00"),
        ("2027-07-31 09:30:15", "Europe/Berlin", "2027-07-31T07:30:15"),
        ("2027-07-31T09:30", "Africa/Accra", "2027-07-31T09:30:00"),
        ("2027-07-31T09:30", "UTC", "2027-07-31T09:30:00"),
        ("2027-07-31T09:30Z", "Europe/Berlin", "2027-07-31T09:30:00"),
        ("2027-07-31t09:30-05:00", "Europe/Berlin", "2027-07-31T14:30:00"),
        ("2027-03-28T01:59:59", "Europe/Berlin", "2027-03-28T00:59:59"),
        ("2027-03-28T03:00", "Europe/Berlin", "2027-03-28T01:00:00"),
    ],
)
def test_a_time_is_that_of_the_accounts_clocks_unless_it_has_an_offset(
    text: str, zone: str, at: str
) -> None:
    assert utc(text, zone) == at
    assert read_start_time(text, zone, NOW).note is None


@pytest.mark.parametrize("text", ["2027-03-28T02:00", "2027-03-28T02:59:59"])
def test_a_time_that_the_clocks_leave_out_is_refused(text: str) -> None:
    with pytest.raises(
        InvalidRequest,
        match=rf"at is {text}, a time that does not exist in Europe/Berlin.* show 03:",
    ):
        utc(text)


@pytest.mark.parametrize(
    ("text", "at"),
    [("2027-10-31T02:00", "2027-10-31T00:00:00"), ("2027-10-31T02:59:59", "2027-10-31T00:59:59")],
)
def test_of_a_time_that_comes_twice_the_earlier_is_taken_and_that_is_said(
    text: str, at: str
) -> None:
    assert utc(text) == at
    assert (
        read_start_time(text, "Europe/Berlin", NOW).note
        == f"{text} comes twice in Europe/Berlin; the earlier one is meant, {at}Z."
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("2026-12-31T23:59", "must be in the future"),
        ("2027-01-01T01:00", "must be in the future"),
        ("2028-02-01T00:00", "within a year"),
        ("9999-12-31T23:59", "within a year"),
        ("0001-01-01T00:00", "at must be"),
        ("2027-02-30T09:00", "must be a time such as"),
        ("2027-01-31", "must be a time such as"),
        ("20270131T0930", "must be a time such as"),
        ("tomorrow", "must be a time such as"),
    ],
)
def test_what_is_no_time_to_come_within_a_year_is_refused(text: str, told: str) -> None:
    with pytest.raises(InvalidRequest, match=told) as refused:
        utc(text)
    assert [field.field for field in refused.value.fields] == ["at"]
