"""`heliograph message settle` and `resend` are run as they are typed; beside them runs what a
server does.
"""

import getpass

import pytest

from heliograph.base import clock
from tests.support.capability.commands import Run
from tests.support.capability.doubtful import RESEND, SETTLE, Beside
from tests.support.capability.sending import House

WHY = {
    "undeliverable": "The message could not be delivered to the handset. (UNDELIV)",
    "canceled": (
        "The message was canceled. (it was in doubt whether it was sent; the operator decided so)"
    ),
}


@pytest.mark.parametrize(
    ("as_", "status", "error", "refunded"),
    [
        ("sent", "sent", None, 0),
        ("delivered", "delivered", None, 0),
        ("undeliverable", "failed", "undeliverable", 0),
        ("canceled", "failed", "canceled", 1),
    ],
)
def test_one_is_settled(
    run: Run, doubtful: list[str], as_: str, status: str, error: str | None, refunded: int
) -> None:
    assert run(*SETTLE, as_, doubtful[0], "--json").json == [
        {
            "id": doubtful[0],
            "status": status,
            "error": error,
            "credits_refunded": refunded,
            "refused": None,
        }
    ]
    assert run("ledger", "verify", "--json").json["proven"]
    told = run("message", "show", doubtful[0], "--json").json["error"]
    assert told == (None if error is None else {"code": error, "message": WHY[error]})
    again = run(*SETTLE, as_, doubtful[0])
    assert (again.status, again.out, again.err) == (
        1,
        "",
        f"heliograph: The message {doubtful[0]} is not in doubt: it is {status}.\n",
    )


def test_all_of_a_carrier_are_settled_or_sent_again_but_no_otp(
    run: Run, doubtful: list[str], beside: Beside
) -> None:
    one, long, otp, _ = doubtful
    clock.move(by_ms=60_000)
    young = run(*RESEND, "--carrier", "carrier", "--older-than", "2m", "--json")
    assert young.json == []
    said = run(*RESEND, "--carrier", "carrier", "--older-than", "1m")
    assert (said.status, [line.split()[0] for line in said.out.splitlines()[1:]]) == (
        0,
        [one, long],
    )
    assert (
        said.err
        == f"1 of 3 messages left as they were: The message {otp} is a one-time password: it is"
        " never sent twice. It can be settled.\n"
    )
    settled = run(*SETTLE, "canceled", "--carrier", "carrier", "--account", "amina", "--json").json
    assert [(each["id"], each["credits_refunded"]) for each in settled] == [(otp, 1)]

    async def go_on(house: House) -> list[tuple[int, int]]:
        link = house.turn()
        await link.turn.run_once()
        return [(submission.part, submission.attempt) for submission in link.submitted]

    assert beside.do(go_on) == [(1, 2), (2, 2), (3, 2)]


def test_of_several_ids_those_in_doubt_are_settled_and_the_others_named(
    run: Run, doubtful: list[str]
) -> None:
    one, long, _, sent = doubtful
    said = run(*SETTLE, "sent", one, sent, long, one)
    assert (said.status, [line.split()[0] for line in said.out.splitlines()[1:]]) == (
        1,
        [one, long],
    )
    assert (
        said.err
        == f"heliograph: 1 of 3 messages left as they were: The message {sent} is not in doubt: it"
        " is sent.\n"
    )


def test_who_decided_is_who_is_signed_in_unless_told(
    run: Run, doubtful: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SUDO_USER", raising=False)
    run("message", "settle", doubtful[0], "--as", "sent", "--reason", "x")
    monkeypatch.setenv("SUDO_USER", "ama")
    run("message", "resend", doubtful[1], "--reason", "x")
    decided = [
        run("message", "show", message_id, "--json").json["decisions"][0]["decided_by"]
        for message_id in doubtful[:2]
    ]
    assert decided == [getpass.getuser(), "ama"]
