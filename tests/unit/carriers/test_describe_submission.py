"""An operator can read a submit_sm field by field."""

from typing import Any

import pytest

from heliograph.carriers.link import Outgoing
from heliograph.carriers.smpp import SmppSettings
from heliograph.carriers.smpp.describe_submission import DescribedSubmission, describe

TEXT = "nobody's business, " * 20
MESSAGE_ID = "0197a5c0ffee70008000000000000abc"


def described(
    text: str = TEXT, *, shows_text: bool = False, segments: int = 3, **given: Any
) -> list[DescribedSubmission]:
    settings = SmppSettings("test", "127.0.0.1", 2775, "amina", "secret", **given)
    message = Outgoing(
        message_id=MESSAGE_ID,
        sender="AMINA",
        recipient="233201234567",
        text=text,
        encoding="GSM-7",
        segments=segments,
        validity_s=93_784,
    )
    return describe(settings, message, shows_text=shows_text)


def values(submission: DescribedSubmission) -> dict[str, tuple[str, str]]:
    return {field.name: (field.value, field.meaning) for field in submission.fields}


def test_each_segment_tells_its_addresses_its_header_and_what_the_values_mean() -> None:
    first, second, third = described()
    assert [first.parts, second.parts, third.parts] == [0b1, 0b10, 0b100]
    told = values(second)
    assert told["source_addr_ton"] == ("5", "alphanumeric")
    assert told["destination_addr"] == ("233201234567", "")
    assert told["esm_class"] == ("0x40", "store and forward, with a user data header")
    assert told["validity_period"] == ("000001020304000R", "1 d 2 h 3 min 4 s from then")
    assert told["data_coding"] == ("0", "the carrier's default alphabet: GSM-7")
    assert told["short_message: header"] == ("05 00 03 BC 03 02", "segment 2 of 3, reference 188")
    assert told["user_message_reference (0x0204)"] == ("AB C2", "43970")


@pytest.mark.parametrize("long", ["udh", "payload", "sar"])
def test_the_text_is_in_no_field_unless_it_is_asked_for(long: str) -> None:
    hidden = str(described(long=long))
    octets = TEXT[:20].encode().hex(" ").upper()
    assert "nobody" not in hidden
    assert octets not in hidden
    assert "not shown" in hidden
    assert octets in str(described(long=long, shows_text=True))


def test_a_payload_is_one_submission_of_all_segments() -> None:
    [submission] = described(long="payload")
    assert submission.parts == 0b111
    assert values(submission)["message_payload (0x0424)"] == ("not shown", "380 octets")
    assert "short_message" not in values(submission)


def test_a_sar_message_tells_which_segment_it_is() -> None:
    told = values(described(long="sar")[1])
    assert told["sar_segment_seqnum (0x020F)"] == ("02", "2")
    assert "short_message: header" not in told


def test_a_text_that_cannot_be_encoded_is_refused() -> None:
    with pytest.raises(ValueError, match=r"."):
        described("Ж")
