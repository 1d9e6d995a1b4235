"""An Authorization header that opens nothing is refused with the form that was found, and never
with the key.
"""

import pytest

from heliograph.base.errors import Unauthorized
from heliograph.keys.authenticate import MissingKey, bearer_key
from heliograph.keys.malformed_header import SEND, explain_malformed

KEY = "sk_live_0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0fcdd6ab0e"


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (KEY, "has an API key without the word Bearer"),
        (f'"Bearer {KEY}"', "begins with a quotation mark"),
        (f"Basic {KEY}", "the scheme Basic"),
        (f"token {KEY}", "the scheme Token"),
        (f"ApiKey {KEY}", "the scheme ApiKey"),
        (f"{KEY[8:]} x", "does not begin with the word Bearer"),
        (f"Bearer: {KEY}", "something other than a space"),
        (f"Bearer:{KEY}", "something other than a space"),
        (f"Bearer\t{KEY}", "other than a space"),
        (f'Bearer "{KEY}"', "in quotation marks"),
        (f"Bearer '{KEY}'", "in quotation marks"),
        (f"Bearer \u201c{KEY}\u201d", "in quotation marks"),
        (f"Bearer <{KEY}>", "in brackets"),
        ("Bearer $API_KEY", "placeholder"),
        ("Bearer {{key}}", "placeholder"),
        (f"Bearer Bearer {KEY}", "stands twice"),
        (f"Bearer {KEY} {KEY}", "a space within"),
        ("", "is empty"),
        ("Bearer", "nothing follows"),
        (f"Bearer {KEY * 3}", "longer than any API key"),
    ],
)
def test_the_form_that_was_found_is_told_and_what_would_be_right(header: str, said: str) -> None:
    told = explain_malformed([(b"authorization", header.encode())], 128)
    assert told is not None
    assert said in told
    assert told.endswith(SEND)
    assert not any(KEY[start : start + 6] in told for start in range(8, len(KEY) - 6))


@pytest.mark.parametrize("header", [f"Bearer {KEY}", "bearer sk_live_x", "Bearer \u0436"])
def test_of_a_key_in_its_right_form_there_is_no_more_to_say(header: str) -> None:
    assert explain_malformed([(b"authorization", header.encode())], 128) is None


def test_a_key_in_another_header_is_missing_and_that_header_is_named() -> None:
    with pytest.raises(MissingKey, match="was sent in the header X-API-Key, which is not read"):
        bearer_key([(b"host", b"x"), (b"x-api-key", KEY.encode())])
    with pytest.raises(MissingKey, match=r"^Send the API key in the header"):
        bearer_key([(b"host", b"x")])


def test_two_authorization_headers_are_told() -> None:
    assert "more than one Authorization header" in str(
        explain_malformed([(b"authorization", b"Bearer x")] * 2, 128)
    )


def test_a_header_is_read_up_to_its_limit_and_not_an_octet_further() -> None:
    longest = "x" * (128 - len("Bearer "))
    assert bearer_key([(b"authorization", f"Bearer {longest}".encode())]) == longest
    with pytest.raises(Unauthorized, match="longer than any API key"):
        bearer_key([(b"authorization", f"Bearer {longest}x".encode())])
