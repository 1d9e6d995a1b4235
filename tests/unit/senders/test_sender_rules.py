"""Only certain texts can be sender IDs."""

import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from heliograph.base.errors import InvalidRequest
from heliograph.senders import check
from heliograph.senders.rules import fold
from heliograph.text import count_segments

NEARLY = st.text(
    st.sampled_from(string.ascii_letters + string.digits + " -_&.+!é٣А\n\0"), max_size=16
)


def expected(text: str) -> str | None:
    """Returns the stored form by the rules of docs/api.md, "Sender IDs", or None."""
    digits = text.removeprefix("+")
    if 3 <= len(digits) <= 15 and all(character in string.digits for character in digits):
        return digits
    allowed = all(character in string.ascii_letters + string.digits + " -_&." for character in text)
    has_letter = any(character in string.ascii_letters for character in text)
    return (
        text
        if 3 <= len(text) <= 11 and allowed and has_letter and text == text.strip(" ")
        else None
    )


@given(NEARLY | st.text(max_size=16))
@example("+1234")
@example("++1234")
@example("12-34")
@example("ACME\n")
@example(" ACME")
@example("ACME ")
@example("АCME")  # with a Cyrillic А, which looks like ours
def test_a_sender_is_taken_exactly_when_the_contract_says_so(text: str) -> None:
    want = expected(text)
    if want is not None:
        assert check(text) == want
    else:
        with pytest.raises(InvalidRequest, match="sender must have 3 to 11 of"):
            check(text)


@given(NEARLY.filter(expected))
def test_a_sender_fits_the_address_field_in_gsm_7_and_keeps_its_identity_in_any_case(
    text: str,
) -> None:
    sender = check(text)
    assert count_segments(sender).encoding == "GSM-7"
    assert check(sender) == sender
    assert fold(sender.upper()) == fold(sender.lower()) == fold(sender)
