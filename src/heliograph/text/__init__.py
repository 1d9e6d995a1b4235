"""Reads texts and phone numbers, in pure functions: how many segments a text takes, and which
number is meant.
"""

from heliograph.text.countries import country, country_codes, read_country
from heliograph.text.number_prefix import FIRST_DIGITS, read_prefix
from heliograph.text.numbering_plans import (
    NUMBER_DIGITS_MAX,
    NUMBER_DIGITS_MIN,
    calling_codes_as_digits,
)
from heliograph.text.phone import SEPARATORS, Phone
from heliograph.text.phone import parse as parse_phone
from heliograph.text.phone import parse_many as parse_phones
from heliograph.text.phone import read as read_phone
from heliograph.text.segments import GSM_7, SEGMENTS_MAX, UCS_2, beyond_gsm7, gsm7_text, ucs2_text
from heliograph.text.segments import count as count_segments
from heliograph.text.segments import split as split_segments

__all__ = [
    "FIRST_DIGITS",
    "GSM_7",
    "NUMBER_DIGITS_MAX",
    "NUMBER_DIGITS_MIN",
    "SEGMENTS_MAX",
    "SEPARATORS",
    "UCS_2",
    "Phone",
    "beyond_gsm7",
    "calling_codes_as_digits",
    "count_segments",
    "country",
    "country_codes",
    "gsm7_text",
    "parse_phone",
    "parse_phones",
    "read_country",
    "read_phone",
    "read_prefix",
    "split_segments",
    "ucs2_text",
]
