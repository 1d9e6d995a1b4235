"""Our reading of phone numbers is the phonenumbers library's, over every region (docs/api.md,
"Phone numbers").
"""

import re
from functools import cache

import phonenumbers
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from phonenumbers import PhoneMetadata, PhoneNumberFormat, ValidationResult

from heliograph.text.phone import RAW_LENGTH_MAX, Phone, country_codes, parse

REGIONS = sorted(phonenumbers.SUPPORTED_REGIONS)
# regions that share a calling code, or whose trunk rule rewrites the number: where mistakes would
# hide
SHARED_OR_REWRITTEN = [
    *(
        region
        for regions in phonenumbers.COUNTRY_CODE_TO_REGION_CODE.values()
        if len(regions) > 1
        for region in regions
    ),
    *("AR", "BR", "GA", "JP", "MG", "MX", "NF", "SM"),
]
NUMBER_TYPES = phonenumbers.PhoneNumberType.values()


def as_the_library_reads_it(raw: str, country: str | None) -> Phone | None:
    """Reads a number by docs/api.md, "Phone numbers", with the library's help: only where the page
    is stricter than the library is there code here.
    """
    compact = re.sub(r"[ .()-]", "", raw)
    if len(raw) > RAW_LENGTH_MAX or not re.fullmatch(r"\+?[0-9]+", compact):
        return None
    if compact.startswith("00"):
        return phone_of(possible("+" + compact.removeprefix("00")))
    if compact.startswith("+") or country is None:
        # no region beside a plus: for an unknown calling code the library would drop the plus and
        # read the number as a national one
        return phone_of(possible("+" + compact.removeprefix("+")))
    national = possible(compact, country)
    if compact.startswith(str(phonenumbers.country_code_for_region(country))):
        international = possible("+" + compact)
        if international and (
            phonenumbers.is_valid_number(international)
            or not (national and phonenumbers.is_valid_number(national))
        ):
            return phone_of(international)
    return phone_of(national)


def possible(compact: str, country: str | None = None) -> phonenumbers.PhoneNumber | None:
    try:
        number = phonenumbers.parse(compact, country)
    except phonenumbers.NumberParseException:
        return None
    full = phonenumbers.is_possible_number_with_reason(number) == ValidationResult.IS_POSSIBLE
    return number if full and 7 <= len(digits_of(number)) <= 15 else None


def digits_of(number: phonenumbers.PhoneNumber) -> str:
    return phonenumbers.format_number(number, PhoneNumberFormat.E164).removeprefix("+")


def phone_of(number: phonenumbers.PhoneNumber | None) -> Phone | None:
    if number is None:
        return None
    region = phonenumbers.region_code_for_number(number)
    return Phone(
        digits_of(number), None if region == phonenumbers.REGION_CODE_FOR_NON_GEO_ENTITY else region
    )


def examples_of(region: str) -> list[phonenumbers.PhoneNumber]:
    found = (
        phonenumbers.example_number_for_type(region, number_type) for number_type in NUMBER_TYPES
    )
    return [example for example in found if example is not None]


@cache
def significant_examples_of(region: str) -> list[str]:
    return [phonenumbers.national_significant_number(example) for example in examples_of(region)]


@st.composite
def nearly_numbers(draw: st.DrawFn, region: str) -> str:
    """Returns a number of the region of any type, changed a little or a lot, with any prefix before
    it, right or wrong.
    """
    metadata = PhoneMetadata.metadata_for_region(region, None)
    assert metadata is not None
    assert metadata.general_desc is not None
    example = draw(st.sampled_from(significant_examples_of(region)))
    kept = draw(st.integers(0, len(example)))
    length = draw(
        st.sampled_from(
            [
                len(example),
                *metadata.general_desc.possible_length,
                *metadata.general_desc.possible_length_local_only,
                16,
            ]
        )
    )
    digits = example[:kept] + draw(
        st.text("0123456789", min_size=max(0, length - kept), max_size=max(0, length - kept))
    )
    calling_code = str(metadata.country_code)
    trunk = metadata.national_prefix or "0"
    before = draw(
        st.sampled_from(
            [
                "",
                "",
                trunk,
                trunk + trunk,
                "15",
                "9",
                trunk + "15",
                trunk + "9",
                "1",
                "0015",
                "180020",
                "003768",
            ]
        )
    )
    international = draw(
        st.sampled_from(
            [
                "",
                "",
                calling_code,
                "+" + calling_code,
                "00" + calling_code,
                "+",
                "00",
                calling_code * 2,
            ]
        )
    )
    abroad = draw(st.sampled_from(["", "", "", "", "011", "010", "810", "0011", "119", "990"]))
    return abroad + international + before + digits


@st.composite
def numbers_and_countries(draw: st.DrawFn) -> tuple[str, str | None]:
    region = draw(st.sampled_from(REGIONS) | st.sampled_from(SHARED_OR_REWRITTEN))
    country = draw(st.just(region) | st.none() | st.sampled_from(sorted(country_codes())))
    return draw(nearly_numbers(region)), country


@settings(max_examples=1_000)
@given(numbers_and_countries())
def test_a_number_is_read_as_the_library_reads_it(
    number_and_country: tuple[str, str | None],
) -> None:
    raw, country = number_and_country
    assert parse(raw, country) == as_the_library_reads_it(raw, country)


@settings(max_examples=500)
@given(
    st.text("0123456789", max_size=20),
    st.sampled_from(["", "+", "00"]),
    st.none() | st.sampled_from(sorted(country_codes())),
)
def test_any_digits_are_read_as_the_library_reads_them(
    digits: str, prefix: str, country: str | None
) -> None:
    assert parse(prefix + digits, country) == as_the_library_reads_it(prefix + digits, country)


@pytest.mark.parametrize(
    "style", [PhoneNumberFormat.E164, PhoneNumberFormat.INTERNATIONAL, PhoneNumberFormat.NATIONAL]
)
def test_every_kind_of_number_of_every_region_is_read_back_from_print(style: int) -> None:
    refused = set()
    for region in REGIONS:
        for example in examples_of(region):
            printed = re.sub(r"[/~*]", "", phonenumbers.format_number(example, style))
            expected = as_the_library_reads_it(printed, region)
            assert parse(printed, region) == expected, (region, printed)
            if expected is None:
                refused.add((region, phonenumbers.national_significant_number(example)))
            else:
                assert parse(expected.digits) == parse(expected.digits, region) == expected, (
                    region,
                    expected,
                )
    # no full numbers: a Canadian one without its area code, and an Iranian one of six digits
    assert refused <= {("CA", "3101234"), ("IR", "9601")}


def test_every_number_of_no_region_is_read_back() -> None:
    for calling_code in phonenumbers.COUNTRY_CODES_FOR_NON_GEO_REGIONS:
        example = phonenumbers.example_number_for_non_geo_entity(calling_code)
        assert example is not None
        assert parse(digits_of(example)) == Phone(digits_of(example), None)


@given(numbers_and_countries(), st.data())
def test_separators_change_nothing(
    number_and_country: tuple[str, str | None], data: st.DataObject
) -> None:
    raw, country = number_and_country
    separators = data.draw(
        st.lists(st.text(" -.()", max_size=1), min_size=len(raw) + 1, max_size=len(raw) + 1)
    )
    written = "".join(
        separator + character for separator, character in zip(separators, raw + " ", strict=True)
    )
    assert parse(written, country) == (
        parse(raw, country) if len(written) <= RAW_LENGTH_MAX else None
    )


@settings(max_examples=300)
@given(st.data(), st.sampled_from(REGIONS))
def test_a_valid_number_without_plus_means_itself_also_beside_its_country(
    data: st.DataObject, region: str
) -> None:
    example = data.draw(st.sampled_from(examples_of(region)))
    digits = digits_of(example)
    kept = data.draw(st.integers(len(digits) // 2, len(digits)))
    digits = digits[:kept] + data.draw(
        st.text("0123456789", min_size=len(digits) - kept, max_size=len(digits) - kept)
    )
    number = possible("+" + digits)
    assume(
        number is not None and phonenumbers.is_valid_number(number) and digits_of(number) == digits
    )
    phone = parse(digits)
    assert phone is not None
    assert phone.digits == digits
    assert phone.country_code in country_codes()
    assert parse(digits, region) == phone


@given(st.text(max_size=80), st.none() | st.sampled_from(["GH", "US", "AR"]))
def test_any_text_gets_an_answer(raw: str, country: str | None) -> None:
    phone = parse(raw, country)
    assert phone is None or re.fullmatch(r"[1-9][0-9]{6,14}", phone.digits)
