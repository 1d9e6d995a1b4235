"""A request's fields are read one by one: every bad one is named with what was found and what is
allowed.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.base.clock import rfc3339
from heliograph.base.errors import FieldError, InvalidRequest
from heliograph.base.forms import BadParts, Form, Query, quote_value, read_moment_ms


def errors_of(read: Form | Query) -> list[FieldError]:
    with pytest.raises(InvalidRequest) as refused:
        read.finish()
    assert refused.value.status == 400
    return refused.value.fields


def errors_of_form(body: dict[str, Any], read: Callable[[Form], object]) -> list[FieldError]:
    form = Form(body)
    assert read(form) is None
    return errors_of(form)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (3, "must be a string, not 3"),
        (True, "must be a string, not true"),
        (["x"], "must be a string, not an array"),
        ({}, "must be a string, not an object"),
        ("", "must have 1 to 5 characters, not 0"),
        ("x" * 6, "must have 1 to 5 characters, not 6"),
    ],
)
def test_a_text_is_a_string_within_its_bounds(value: Any, message: str) -> None:
    assert errors_of_form({"name": value}, lambda form: form.text("name", most=5)) == [
        ("name", message)
    ]


@pytest.mark.parametrize("value", [0, 11, -1, 1.5, 1e300, True, "5", [], 2**62])
def test_an_integer_is_a_whole_number_within_its_bounds(value: Any) -> None:
    assert errors_of_form(
        {"limit": value}, lambda form: form.integer("limit", least=1, most=10)
    ) == [("limit", f"must be an integer from 1 to 10, not {quote_value(value)}")]


def test_a_whole_number_may_be_written_with_a_point() -> None:
    value = Form({"validity_s": 60.0}).integer("validity_s", least=60, most=60)
    assert (value, type(value)) == (60, int)


@pytest.mark.parametrize("value", [0, 1, "true", []])
def test_a_boolean_is_true_or_false_and_nothing_like_it(value: Any) -> None:
    form = Form({"dry_run": value})
    assert form.boolean("dry_run") is False
    assert errors_of(form) == [("dry_run", f"must be true or false, not {quote_value(value)}")]


def test_null_is_absent_and_what_is_absent_has_its_default() -> None:
    for body in ({}, {"a": None, "b": None, "c": None, "d": None}):
        form = Form(body)
        assert form.text("a", most=5) is None
        assert form.integer("b", least=1, most=5) is None
        assert form.boolean("c", default=True) is True
        assert form.value("d", read=int) is None
        form.finish()
        assert form.warnings() == []


@pytest.mark.parametrize("body", [{}, {"sender": None}, {"sender": None, "from": None}])
def test_what_is_required_is_missed_by_its_own_name(body: dict[str, Any]) -> None:
    assert errors_of_form(
        body, lambda form: form.text("sender", "from", required=True, most=11)
    ) == [("sender", "is required")]


@pytest.mark.parametrize(
    ("field", "sent"),
    [
        ("message", "text"),
        ("sender", "sender_id"),
        ("sender", "senderId"),
        ("recipients", "recipient"),
        ("recipients", "phone_number"),
        ("phone", "phone_number"),
        ("phone", "phoneNumber"),
        ("code", "otp"),
        ("full_name", "fullName"),
        ("full_name", "name"),
    ],
)
def test_a_missing_field_is_told_with_the_name_that_was_sent_in_its_place(
    field: str, sent: str
) -> None:
    def read(form: Form) -> None:
        form.text("customer_id", most=5)
        form.text(field, required=True, most=11)

    first, *others = errors_of_form({sent: "A", "customer_id": "x", "z" * 1_000: 1}, read)
    assert first == (field, f"is required; found {sent!r} instead")
    # one that is a single edit away is refused for itself, too
    assert [name for name, _ in others] in ([], [sent])


def test_a_field_of_the_form_is_not_taken_for_another_one() -> None:
    def read(form: Form) -> None:
        form.text("phone", required=True, most=11)
        form.text("to", most=5)

    assert errors_of_form({"to": "A"}, read) == [("phone", "is required")]


@pytest.mark.parametrize(
    "body",
    [{"sender": "A"}, {"from": "A"}, {"sender": "A", "from": "A"}, {"sender": None, "from": "A"}],
)
def test_an_alias_is_taken_for_the_name_and_both_may_say_the_same(body: dict[str, Any]) -> None:
    form = Form(body)
    assert form.text("sender", "from", required=True, most=11) == "A"
    form.finish()
    assert form.warnings() == []


def test_a_name_and_its_alias_that_differ_once_they_are_read_are_an_error() -> None:
    form = Form({"countryCode": "GH", "country_code": "gh"})
    assert form.value("countryCode", "country_code", read=str.upper) == "GH"
    form.finish()
    form = Form({"countryCode": "GH", "country_code": "KE"})
    form.value("countryCode", "country_code", read=str.upper)
    assert errors_of(form) == [("country_code", "differs from countryCode; give one of them")]


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"from": 1}, ["from"]),
        ({"sender": 1}, ["sender"]),
        ({"sender": None, "from": 1}, ["from"]),
        ({"sender": "A", "from": 1}, ["from"]),
        ({"sender": 1, "from": 2}, ["sender", "from"]),
    ],
)
def test_a_bad_field_is_named_as_it_was_sent(body: dict[str, Any], named: list[str]) -> None:
    form = Form(body)
    form.text("sender", "from", most=11)
    assert [field for field, _ in errors_of(form)] == named


def test_a_reason_of_its_own_stands_on_top_when_nothing_else_is_wrong() -> None:
    form = Form({"a": 1})
    form.refuse("message", "is too long", reason="too_many_segments")
    form.refuse("message", "is much too long", reason="too_many_segments")
    with pytest.raises(InvalidRequest) as alone:
        form.finish()
    form.text("a", most=1)
    with pytest.raises(InvalidRequest) as among_others:
        form.finish()
    assert (alone.value.reason, among_others.value.reason) == ("too_many_segments", "invalid_field")
    assert [field for field, _ in among_others.value.fields] == ["message", "message", "a"]


def test_a_field_with_rules_of_its_own_says_what_is_wrong() -> None:
    def even(value: Any) -> int:
        if value % 2:
            raise ValueError("must be even")
        return int(value)

    form = Form({"a": 4, "b": 5})
    assert (form.value("a", read=even), form.value("b", read=even)) == (4, None)
    assert errors_of(form) == [("b", "must be even")]


def test_all_bad_fields_are_told_together_and_the_first_in_words() -> None:
    form = Form({"b": 1, "c": "x"})
    form.text("a", required=True, most=5)
    form.text("b", most=5)
    form.integer("c", least=0, most=5)
    with pytest.raises(InvalidRequest) as refused:
        form.finish()
    assert [field for field, _ in refused.value.fields] == ["a", "b", "c"]
    assert refused.value.message == "a is required. 2 more fields are wrong."
    assert refused.value.reason == "invalid_field"


def test_of_very_many_bad_fields_a_hundred_are_told_and_all_are_counted() -> None:
    def none(value: Any) -> Any:
        raise BadParts([FieldError(f"[{index}]", "is bad") for index in range(100)], more=50)

    form = Form({"parts": []})
    for number in range(500):
        form.text(f"field{number}", required=True, most=5)
    form.value("parts", read=none)
    with pytest.raises(InvalidRequest) as refused:
        form.finish()
    assert len(refused.value.fields) == 100
    assert refused.value.message == "field0 is required. 649 more fields are wrong."


def test_unknown_fields_are_no_errors_but_are_named_shortly() -> None:
    form = Form({"name": "x", "id": "msg_1", "z" * 1_000: 1, **{f"x{k:02}": 1 for k in range(30)}})
    form.text("name", most=5)
    form.finish()
    warnings = form.warnings()
    assert warnings[:2] == ["unknown field 'id' was ignored", "unknown field 'x00' was ignored"]
    assert (len(warnings), warnings[-1]) == (21, "12 more unknown fields were ignored")
    assert Form({"z" * 1_000: 1}).warnings() == [f"unknown field '{'z' * 64}…' was ignored"]
    assert Form({"z" * 64: 1}).warnings() == [f"unknown field '{'z' * 64}' was ignored"]


def test_a_query_names_unknown_and_repeated_parameters_and_what_is_allowed() -> None:
    query = Query([("limit", "5"), ("offset", "3"), ("limit", "6"), ("q" * 1_000, "")])
    query.integer("limit", default=50, least=1, most=100)
    query.text("cursor")
    assert errors_of(query) == [
        ("limit", "is given twice"),
        ("offset", "is not a query parameter here; allowed: cursor, limit"),
        ("q" * 64 + "…", "is not a query parameter here; allowed: cursor, limit"),
    ]


def test_a_query_names_every_bad_parameter_shortly() -> None:
    query = Query([(f"p{k}" + "x" * 1_000, "") for k in range(50)] * 2)
    found = errors_of(query)
    assert len(found) == 100
    assert {field[64:] for field, _ in found} == {"…"}


@pytest.mark.parametrize(
    "value", ["0", "101", "-1", "+5", " 5", "5.0", "1e1", "٥", "0x5", "9" * 30, ""]
)
def test_a_querys_integer_is_plain_digits_within_its_bounds(value: str) -> None:
    query = Query([("limit", value)])
    assert query.integer("limit", default=50, least=1, most=100) == 50
    assert [field for field, _ in errors_of(query)] == ["limit"]


def test_an_empty_number_is_no_filter_that_was_left_out_but_a_number_that_is_missing() -> None:
    query = Query([("limit", "")])
    assert query.integer("limit", default=50, least=1, most=100) == 50
    assert errors_of(query) == [("limit", "must be an integer from 1 to 100, not ''")]


def test_what_a_query_may_say_is_read_as_it_is() -> None:
    query = Query(
        [
            ("limit", "007"),
            ("status", "sent"),
            ("campaign_id", "cmp_1"),
            ("since", "2026-01-31T09:30:00Z"),
        ]
    )
    assert query.integer("limit", default=50, least=1, most=100) == 7
    assert query.choice("status", ["queued", "sent"]) == "sent"
    assert query.text("campaignId", "campaign_id") == "cmp_1"
    assert query.moment_ms("since") == 1_769_851_800_000
    assert query.moment_ms("until") is None
    query.finish()


@pytest.mark.parametrize(
    ("name", "value"), [("status", "gone"), ("since", "yesterday"), ("q", "a\0b"), ("q", "x" * 257)]
)
def test_a_querys_bad_value_is_named(name: str, value: str) -> None:
    query = Query([(name, value)])
    query.choice("status", ["queued", "sent"])
    query.moment_ms("since")
    query.text("q")
    [(field, message)] = errors_of(query)
    assert field == name
    assert message.startswith("must ")


def test_a_querys_name_and_alias_that_differ_are_an_error() -> None:
    query = Query([("campaignId", "cmp_1"), ("campaign_id", "cmp_2")])
    query.text("campaignId", "campaign_id")
    assert errors_of(query) == [("campaign_id", "differs from campaignId; give one of them")]
    query = Query([("campaignId", "cmp_1"), ("campaign_id", "cmp_1")])
    assert query.text("campaignId", "campaign_id") == "cmp_1"
    query.finish()
    query = Query([("campaignId", ""), ("campaign_id", "cmp_1")])
    assert query.text("campaignId", "campaign_id") == "cmp_1"
    query.finish()


def test_an_empty_parameter_was_not_given_and_an_unknown_one_is_refused_all_the_same() -> None:
    query = Query([("status", ""), ("since", ""), ("q", ""), ("offset", "")])
    assert not query.has("q")
    assert [query.choice("status", ["sent"]), query.moment_ms("since"), query.text("q")] == [
        None
    ] * 3
    assert [field for field, _ in errors_of(query)] == ["offset"]


offsets = st.integers(-1_439, 1_439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
# those that UTC has too
moments = st.datetimes(timezones=offsets).filter(lambda moment: 2 <= moment.year <= 9_998)


@given(moments, st.sampled_from("Tt "))
def test_a_moment_is_read_in_whatever_offset_it_is_written(
    moment: datetime, separator: str
) -> None:
    moment = moment.replace(microsecond=moment.microsecond // 1_000 * 1_000)
    expected_ms = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    assert read_moment_ms(moment.isoformat(sep=separator, timespec="milliseconds")) == expected_ms


def test_a_moment_between_two_milliseconds_is_the_later_one() -> None:
    whole = read_moment_ms("2026-01-31T09:30:00.001Z")
    for between in (".000001", ".0002", ".000500", ".0009", ".001", ".0010"):
        assert read_moment_ms(f"2026-01-31T09:30:00{between}Z") == whole, between
    assert read_moment_ms("2026-01-31T09:30:00.001001Z") == whole + 1
    assert read_moment_ms("1969-12-31T23:59:59.9995Z") == 0


@given(st.integers(0, 253_402_300_799_999))
def test_a_moment_that_we_wrote_is_read_back(at_ms: int) -> None:
    assert read_moment_ms(rfc3339(at_ms)) == at_ms


@pytest.mark.parametrize(
    "value",
    [
        "2026-02-30T00:00:00Z",
        "2026-01-31",
        "2026-01-31T09:30Z",
        "2026-01-31T09:30:00",
        "2026-01-31T25:00:00Z",
        "20260131T093000Z",
        "2026-01-31T09:30:00+99:99",
        "2026-01-31T09:30:00.Z",
        "٢٠٢٦-01-31T09:30:00Z",
        "0001-01-01T00:00:00+01:00",
        "2026-01-31T09:30:00Z\n",
        "",
        1_769_851_800,
        None,
        True,
        ["2026-01-31T09:30:00Z"],
    ],
)
def test_what_is_no_rfc_3339_time_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"must be a time in RFC 3339"):
        read_moment_ms(value)


@given(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.lists(st.text())
    | st.dictionaries(st.text(), st.text())
)
def test_whatever_a_bad_value_is_it_can_be_shown_in_one_short_line(value: Any) -> None:
    text = quote_value(value)
    assert 0 < len(text) <= 41
    assert text.isprintable()
    assert (text == "null") == (value is None)
