"""One-time passwords have some pure parts: texts of ours, codes and what is kept of them, and how a
text is sealed.
"""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from heliograph.base.secrets import SecretUnreadable
from heliograph.otp.code import Codes, equal
from heliograph.otp.limits import (
    LOCK_MS,
    TRIES_MAX,
    VALID_MS,
    Expired,
    LockedForCodes,
    Otp,
    TooSoon,
    judge_try,
    refusal_to_send,
)
from heliograph.otp.request import (
    ANY_CODE,
    NAMELESS_TEXT,
    PLACE,
    default_text,
    read_otp_verify_request,
)
from heliograph.otp.sealed_text import text_sealer
from heliograph.text import count_segments

ONE, OTHER = "0" * 31 + "1", "0" * 31 + "2"
NOW_MS = 1_800_000_000_000


def otp(*, locked_until_ms: int | None = None, created_at_ms: int = NOW_MS) -> Otp:
    """Returns a code that was sent. Where it is locked, it was locked after as many wrong tries as
    that takes.
    """
    return Otp(
        ONE,
        ONE,
        sandbox=False,
        phone=233201234567,
        code_hmac=b"",
        failures=0 if locked_until_ms is None else TRIES_MAX,
        locked_until_ms=locked_until_ms,
        verified_at_ms=None,
        verified_by=None,
        created_at_ms=created_at_ms,
    )


@given(name=st.text(min_size=1, max_size=128))
@example(name="{code}")
@example(name="{name}")
@example(name="ё" * 128)
@example(name="€" * 128)
def test_the_default_text_holds_the_code_once_and_fits_one_segment_whatever_the_name(
    name: str,
) -> None:
    text = default_text(name)
    assert text.count(PLACE) == 1
    assert count_segments(text.replace(PLACE, ANY_CODE)).segments == 1


def test_a_name_is_shortened_no_further_than_it_must_be() -> None:
    assert (
        default_text("Amina Foods")
        == "{code} is your Amina Foods verification code. It expires in 5 minutes."
    )
    assert len(default_text("x" * 128).replace(PLACE, ANY_CODE)) == 160
    assert default_text("Ёлка и ещё много слов").startswith("{code} is your Ёлка")
    assert (
        default_text("{code}")
        == "{code} is your {code... verification code. It expires in 5 minutes."
    )
    assert NAMELESS_TEXT.count(PLACE) == 1


def test_what_is_kept_of_a_code_belongs_to_its_row_account_mode_and_phone_and_to_the_key() -> None:
    codes, other = Codes("s" * 32), Codes("t" * 32)
    kept = codes.keyed(ONE, ONE, 233201234567, "402913", sandbox=False)
    assert len(kept) == 32
    assert equal(kept, codes.keyed(ONE, ONE, 233201234567, "402913", sandbox=False))
    for different in (
        codes.keyed(OTHER, ONE, 233201234567, "402913", sandbox=False),
        codes.keyed(ONE, OTHER, 233201234567, "402913", sandbox=False),
        codes.keyed(ONE, ONE, 233201234568, "402913", sandbox=False),
        codes.keyed(ONE, ONE, 233201234567, "402914", sandbox=False),
        codes.keyed(ONE, ONE, 233201234567, "402913", sandbox=True),
        other.keyed(ONE, ONE, 233201234567, "402913", sandbox=False),
    ):
        assert not equal(kept, different)


def test_codes_are_six_digits_and_no_two_alike_but_in_sandbox() -> None:
    codes = Codes("s" * 32)
    made = {codes.make(sandbox=False) for _ in range(1_000)}
    assert len(made) > 980
    assert all(len(code) == 6 and code.isdigit() for code in made)
    assert codes.make(sandbox=True) == "123456"


@pytest.mark.parametrize(
    "given",
    [
        "123456",
        "123-456",
        " 123456 ",
        "123 456",
        "12-34-56",
        "123\u00a0456\n",
        "123.456",
        "123\u2013456",
        "123\u2009456",
    ],
)
def test_a_code_is_read_however_its_digits_are_grouped(given: str) -> None:
    assert read_otp_verify_request({"phone": "233201234567", "code": given}).code == "123456"


@pytest.mark.parametrize(
    "given", ["12345", "123-45", "1234567", "12345a", "-", "１２３４５６", "123,456"]
)
def test_what_is_no_code_stays_a_wrong_one(given: str) -> None:
    assert read_otp_verify_request({"phone": "233201234567", "code": given}).code == given


def test_a_sealed_text_is_read_with_its_key_only_and_an_unsealed_one_by_anybody() -> None:
    sealer = text_sealer("s" * 32)
    sealed = [sealer.seal("402913 is your code, ё") for _ in range(2)]
    assert sealed[0] != sealed[1]
    assert "402913" not in sealed[0]
    assert [sealer.unseal(each) for each in sealed] == ["402913 is your code, ё"] * 2
    assert sealer.unseal("an ordinary text") == "an ordinary text"
    for wrong in (text_sealer("t" * 32).seal("x"), sealed[0][:-4] + "AAAA", "sealed:", "sealed:?"):
        with pytest.raises(SecretUnreadable):
            sealer.unseal(wrong)


@pytest.mark.parametrize("is_right", [False, True])
def test_a_code_that_was_locked_is_never_verified_also_where_clocks_differ(is_right: bool) -> None:
    """Another machine's clock was ahead when the code was sent, so it seems to be valid still."""
    locked = otp(locked_until_ms=NOW_MS, created_at_ms=NOW_MS - VALID_MS + 1)
    judged = judge_try(locked, is_right, OTHER, NOW_MS)
    assert judged.otp == locked
    assert isinstance(judged.refusal, Expired)


def test_whoever_tries_a_locked_phone_is_told_how_long_to_wait() -> None:
    locked = otp(locked_until_ms=NOW_MS + LOCK_MS - 1)
    judged = judge_try(locked, True, OTHER, NOW_MS)
    assert judged.otp == locked
    assert isinstance(judged.refusal, LockedForCodes)
    assert judged.refusal.retry_after_s == 600


def test_a_phone_may_be_sent_another_code_exactly_when_it_was_told_so() -> None:
    sent = [otp(created_at_ms=NOW_MS - 30_000 + 1)]
    refusal = refusal_to_send(sent, NOW_MS)
    assert isinstance(refusal, TooSoon)
    assert refusal.retry_after_s == 1
    assert refusal_to_send(sent, NOW_MS + 1) is None
