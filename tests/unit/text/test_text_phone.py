"""Phone numbers are read as people write them (docs/api.md, "Phone numbers")."""

from timeit import repeat

import phonenumbers
import pytest

from heliograph import text
from heliograph.text.phone import (
    RAW_LENGTH_MAX,
    Phone,
    calling_code_of,
    country,
    country_codes,
    parse,
    parse_many,
    read,
)


@pytest.mark.parametrize(
    "raw",
    [
        "233201234567",
        "+233201234567",
        "00233201234567",
        "+233 20 123-4567",
        "(+233) 20.123.4567",
        "+233 (0)20 123 4567",
        " 00 233 20 1234567 ",
    ],
)
def test_an_international_number_is_read_however_it_is_written(raw: str) -> None:
    assert parse(raw) == Phone("233201234567", "GH")


@pytest.mark.parametrize(
    "raw",
    [
        "0201234567",
        "020 123 4567",
        "201234567",
        "233201234567",
        "2330201234567",
        "+233201234567",
        "00233201234567",
    ],
)
def test_with_a_country_a_number_is_read_as_it_is_dialled_there(raw: str) -> None:
    assert parse(raw, "GH") == Phone("233201234567", "GH")


def test_without_a_country_a_number_with_a_single_0_is_read_as_it_is_dialled_at_home() -> None:
    assert parse("020 123 4567", home_country="GH") == Phone("233201234567", "GH")
    for international in ("233201234567", "00233201234567", "+233201234567"):
        assert parse(international, home_country="GB") == Phone("233201234567", "GH")
    assert parse("0201234567", "GH", home_country="GB") == Phone("233201234567", "GH")
    assert parse("201234567", home_country="GH") is None


def test_a_number_has_as_many_separators_as_fit_in_its_longest_form() -> None:
    assert parse("233201234567".ljust(RAW_LENGTH_MAX)) == Phone("233201234567", "GH")
    assert parse("233201234567".ljust(RAW_LENGTH_MAX + 1)) is None


def test_an_international_number_of_another_country_is_fine() -> None:
    assert (
        parse("+44 7400 123456", "GH")
        == parse("0044 7400 123456", "GH")
        == Phone("447400123456", "GB")
    )


@pytest.mark.parametrize(
    ("raw", "home", "digits"),
    [
        # Italy has no trunk prefix: its 0 is part of the number
        ("06 1234 5678", "IT", "390612345678"),
        # a mobile number is dialled with 15 at home and has a 9 from abroad
        ("011 15 2345-6789", "AR", "5491123456789"),
        ("+54 11 15 2345 6789", None, "5491123456789"),
        ("0 15 11 96123-4567", "BR", "5511961234567"),  # 15 chooses the carrier of the call
        ("8 (912) 345-67-89", "RU", "79123456789"),
        ("06 20 123 4567", "HU", "36201234567"),
        ("9198765432", "IN", "919198765432"),  # national, though it begins with the calling code
        # and so is this, from area code 55; without it +55 991234567 would be possible too
        ("55 99123-4567", "BR", "5555991234567"),
        ("391 781 2533", "IT", "393917812533"),
        # international, though +49 4915123456789 is a possible number
        ("4915123456789", "DE", "4915123456789"),
        ("38344123456", "XK", "38344123456"),
        ("62812345678", "ID", "62812345678"),
        # 010 is dialled for + there, but no calling code begins with 0
        ("010 0123 4567", "JP", "811001234567"),
        ("4601234", "AG", "12684601234"),  # seven digits are dialled within Antigua
        ("233 (0) 0201234567", "GH", "233201234567"),  # the library forgives a trunk prefix twice
        ("011 44 7400 123456", "US", "447400123456"),  # what is dialled there for +
        ("010 44 7400 123456", "JP", "447400123456"),
    ],
)
def test_each_country_has_its_own_way(raw: str, home: str | None, digits: str) -> None:
    phone = parse(raw, home)
    assert phone is not None
    assert phone.digits == digits


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "+",
        "00",
        " ",
        "0201234567",  # national, and nobody said of which country
        "+0201234567",
        "++233201234567",
        "233+201234567",
        "00+233201234567",
        "233201234567 ext. 5",
        "233201234567x5",
        "tel:+233201234567",
        "+1 800 FLOWERS",
        "٢٣٣٢٠١٢٣٤٥٦٧",
        "２３３２０１２３４５６７",
        "23320123456²",
        "+233\u00a0201234567",
        "+233\u2011201234567",
        "233201234567\n",
        "233/201234567",
        "2332012345",  # too short for Ghana
        "2332012345678",  # too long
        "12530000",  # a subscriber number without its area code
        "999123456789",  # no such calling code
        "491234",  # 6 digits, although Germany has such numbers
        "4915112345678901",  # 16 digits, although Germany has such numbers
        "+52 1 55 1234 5678",  # Mexico's mobile prefix ended in 2019
        "1" * RAW_LENGTH_MAX,
        "+233201234567" + " " * RAW_LENGTH_MAX,
        "1" * 1_000_000,
    ],
)
def test_what_is_no_full_number_is_refused(raw: str) -> None:
    assert parse(raw) is None


def test_a_country_without_telephones_has_only_international_numbers() -> None:
    assert calling_code_of("AQ") is None
    assert parse("233201234567", "AQ") is None
    assert parse("+233201234567", "AQ") == Phone("233201234567", "GH")


@pytest.mark.parametrize(
    ("digits", "region"),
    [
        ("12125550123", "US"),
        ("14165550123", "CA"),
        ("12684641234", "AG"),
        ("77710009998", "KZ"),
        ("79123456789", "RU"),
        ("447400123456", "GB"),
        ("447797712345", "JE"),
        ("390669812345", "VA"),
        ("262639012345", "YT"),
        ("358412345678", "FI"),
        ("38343201234", "XK"),
        ("80012345678", None),  # international freephone
        ("882161234567", None),  # international networks
        ("19995550123", None),  # an area code that nobody has
    ],
)
def test_a_number_of_a_shared_calling_code_has_the_country_it_belongs_to(
    digits: str, region: str | None
) -> None:
    assert parse(digits) == Phone(digits, region)


def test_the_answers_for_many_stand_where_their_numbers_stood() -> None:
    assert parse_many(["0201234567", "no number", "+447400123456"], "GH") == [
        Phone("233201234567", "GH"),
        None,
        Phone("447400123456", "GB"),
    ]


def test_a_field_that_means_no_phone_says_what_was_found_and_what_would_be_right() -> None:
    assert read("+233 20 123 4567") == Phone("233201234567", "GH")
    with pytest.raises(ValueError, match=r"such as 233201234567, not 'a phone'$"):
        read("a phone")


def test_ten_thousand_numbers_cost_far_less_than_the_library_would_take() -> None:
    numbers = [f"23320{subscriber:07}" for subscriber in range(2_000)]

    def ours() -> None:
        parse_many(numbers)

    def the_librarys() -> None:
        for number in numbers:
            phonenumbers.region_code_for_number(phonenumbers.parse("+" + number))

    assert min(repeat(ours, number=1, repeat=5)) < min(repeat(the_librarys, number=1, repeat=2)) / 4


def test_a_country_is_two_letters_of_iso_3166_in_any_case() -> None:
    assert [country(raw) for raw in ("GH", "gh", "gH", "xk")] == ["GH", "GH", "GH", "XK"]
    assert [
        country(raw) for raw in ("", "G", "GHA", "ZZ", "UK", "EU", "001", " GH", "ß", "ıT", "ＧＨ")
    ] == [None] * 11


def test_every_country_with_telephones_and_no_other_has_a_calling_code() -> None:
    assert len(country_codes()) == 249 + 3
    with_telephones = {
        code: calling_code_of(code) for code in country_codes() if calling_code_of(code) is not None
    }
    assert with_telephones == {
        region: phonenumbers.country_code_for_region(region)
        for region in phonenumbers.SUPPORTED_REGIONS
    }
    assert calling_code_of("001") is None


def test_the_front_door_offers_what_others_call() -> None:
    assert (
        text.parse_phone("0201234567", "GH")
        == text.parse_phones(["0201234567"], "GH")[0]
        == text.Phone("233201234567", "GH")
    )
