"""The operator's commands about alerts name each bad value by its option, with what was found."""

import pytest

from tests.support.capability.commands import Run, typed


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("alert set backlog --hold 9999", "--hold must be a whole number, 0 to 3600 s, not 9999."),
        (
            "alert set delivery_rate --threshold 101",
            "--threshold must be a whole number, 1 to 100 %, not 101.",
        ),
        (
            "alert watch nobody --below 5",
            "ACC was not found: There is no account with the id or name 'nobody'.",
        ),
    ],
)
def test_a_bad_value_is_refused_in_one_sentence(run: Run, line: str, said: str) -> None:
    refused = run(*typed(line))
    assert (refused.status, refused.err) == (2, f"heliograph: {said}\n")


def test_credits_that_no_wallet_can_hold_are_refused(run: Run, amina_foods: str) -> None:
    refused = run("alert", "watch", amina_foods, "--below", "9" * 18)
    assert refused.status == 2
    assert refused.err.startswith("heliograph: --below must be a whole number, 1 to ")
    assert refused.err.endswith(f", not {'9' * 18}.\n")
