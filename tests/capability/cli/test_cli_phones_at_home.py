"""A phone with a single leading 0 and no --country is read by the country of the account, by every
command that takes one, and in files.
"""

from pathlib import Path

import pytest

from tests.support.capability.commands import Run
from tests.support.factories import SENDER

LOCAL, PHONE = "020 123 4567", "233201234567"
AMINA = ("--account", "amina")
SANDBOX = (*AMINA, "--mode", "sandbox")


@pytest.fixture(autouse=True)
def account_in_ghana(run: Run) -> None:
    run("account", "create", "amina", "--country", "GH", "--currency", "GHS", "--json")


def test_contacts_are_named_so(run: Run) -> None:
    whose = (*AMINA, "--json")
    made = run("contact", "add", LOCAL, *whose).json
    assert made["phone"] == PHONE
    assert run("contact", "show", LOCAL, *whose).json == made
    assert run("contact", "opt-out", LOCAL, *whose).json["opted_out"] is True
    assert run("contact", "opt-in", LOCAL, *whose).json["opted_out"] is False
    assert (
        run("contact", "set", LOCAL, "--phone", "0201234568", *whose).json["phone"]
        == "233201234568"
    )
    assert run("contact", "remove", "0201234568", *whose).json["deleted"] is True
    assert (
        run("contact", "add", "0712345678", "--country", "KE", *whose).json["phone"]
        == "254712345678"
    ), "--country is before the account's"


def test_a_campaign_is_tested_so(run: Run) -> None:
    run("sender", "register", SENDER, *AMINA, "--approve")
    run("contact", "add", PHONE, *SANDBOX, "--tag", "vip")
    campaign = run(
        "campaign",
        "create",
        "Spring",
        *SANDBOX,
        "--sender",
        SENDER,
        "--message",
        "{phone}",
        "--tag",
        "vip",
        "--json",
    ).json["id"]
    assert run("campaign", "test", campaign, "--to", LOCAL, "--json").json["message"] == PHONE


def test_a_phone_is_erased_so_and_an_international_one_is_no_number_of_the_account_s_country(
    run: Run,
) -> None:
    run("contact", "add", PHONE, *AMINA)
    assert run("erase", LOCAL, *AMINA, "--yes", "--json").json["erased"] == {"contacts": 1}
    run("account", "create", "greta", "--country", "DE", "--currency", "EUR")
    run("contact", "add", PHONE, "--account", "greta")
    assert run("erase", PHONE, "--account", "greta", "--yes", "--json").json["erased"] == {
        "contacts": 1
    }


def test_a_file_of_contacts_is_read_so(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "contacts.csv"
    path.write_text(f"phone,country_code\n{LOCAL},\n0712345678,KE\n")
    assert run("contact", "import", path, *AMINA, "--json").json["created"] == 2
    assert {each["phone"] for each in run("contact", "list", *AMINA, "--json").json} == {
        PHONE,
        "254712345678",
    }


@pytest.mark.parametrize(
    ("text", "recipients", "bad"),
    [
        (f"{LOCAL}\n+233201234568\n", 2, 0),
        (f"article;phone\n0123456789;{LOCAL}\n", 1, 0),
        # nothing says that the second column is all phones
        (f"0123456789;+{PHONE}\n0123456789;{LOCAL}\n", 1, 1),
    ],
)
def test_a_file_of_numbers_is_read_so_where_it_is_certain_which_column_they_are(
    run: Run, tmp_path: Path, text: str, recipients: int, bad: int
) -> None:
    run("sender", "register", SENDER, *AMINA, "--approve")
    path = tmp_path / "numbers.csv"
    path.write_text(text)
    made = run(
        "campaign",
        "create",
        "Spring",
        *AMINA,
        "--sender",
        SENDER,
        "--message",
        "Hello",
        "--numbers",
        path,
        "--json",
    ).json
    assert (made["file"]["recipients"], made["file"]["bad"]) == (recipients, bad)
