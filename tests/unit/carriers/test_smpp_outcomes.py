"""Each command_status has an outcome for a message (docs/answers.md, "command_status in an
answer").
"""

import pytest

from heliograph.carriers.link import SubmitOutcome
from heliograph.carriers.smpp.outcomes import outcome_of

TABLE = {
    SubmitOutcome.ACCEPTED: [0x00],
    SubmitOutcome.THROTTLED: [0x58, 0x14],
    SubmitOutcome.RETRY: [
        0x08,
        0x64,
        0x45,
        0xFF,
        0x400,
        0x4FF,
        0x06,
        0x07,
        0x0C,
        0x66,
        0x67,
        0x100,
        0xFFFFFFFF,
    ],
    SubmitOutcome.UNSPENT: [0x04, 0x05, 0x0D, 0x0E, 0x0F],
    SubmitOutcome.REFUSED: [
        *(
            0x01,
            0x02,
            0x03,
            0x0A,
            0x0B,
            0x15,
            0x33,
            0x42,
            0x43,
            0x44,
            0x48,
            0x49,
            0x50,
            0x51,
            0x53,
            0x54,
            0x55,
        ),
        *(0x61, 0x62, 0x63, 0x65, 0xC0, 0xC1, 0xC2, 0xC3, 0xC4, 0xFE),
    ],
}


@pytest.mark.parametrize(
    ("outcome", "status"),
    [(outcome, status) for outcome, statuses in TABLE.items() for status in statuses],
)
def test_a_status_has_its_outcome(outcome: SubmitOutcome, status: int) -> None:
    assert outcome_of(status, {}) is outcome


def test_a_carrier_s_own_reading_goes_first() -> None:
    overrides = {0x08: SubmitOutcome.REFUSED, 0x45: SubmitOutcome.THROTTLED}
    assert [outcome_of(status, overrides) for status in (0x08, 0x45, 0x58)] == [
        SubmitOutcome.REFUSED,
        SubmitOutcome.THROTTLED,
        SubmitOutcome.THROTTLED,
    ]
