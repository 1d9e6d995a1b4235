"""`heliograph contact …` works on one contact at a time."""

import pytest

from heliograph.database.database import Database
from tests.support.capability.commands import Run, typed
from tests.support.capability.contact_files import kept
from tests.support.factories import phones


def test_contacts_are_kept_by_hand(run: Run, amina_id: str) -> None:
    whose = ("--account", "amina", "--json")
    made = run(
        *typed("contact add 0201234567 --country GH --name Kofi --tag vip --custom city=Accra"),
        *whose,
    ).json
    assert (made["phone"], made["tags"], made["custom"]) == (
        "233201234567",
        ["vip"],
        {"city": "Accra"},
    )
    assert (
        run("contact", "show", "+233 20 123 4567", *whose).json
        == made
        == run("contact", "show", made["id"], *whose).json
    )
    assert run("contact", "opt-out", made["id"], *whose).json["opted_out"] is True
    changed = run(
        *typed("contact set 233201234567 --name none --tag none --phone 233201234568"), *whose
    ).json
    assert (changed["name"], changed["tags"], changed["phone"], changed["opted_out"]) == (
        None,
        [],
        "233201234568",
        True,
    )
    assert run("contact", "opt-in", made["id"], *whose).json["opted_out"] is False
    assert [each["id"] for each in run("contact", "list", "--search", "4568", *whose).json] == [
        made["id"]
    ]
    assert (
        run("contact", "list", "--search", "kofi", *whose).json
        == []
        == run("contact", "list", "--mode", "sandbox", *whose).json
    )
    assert run("contact", "remove", made["id"], *whose).json == {"id": made["id"], "deleted": True}
    assert (
        run("contact", "show", made["id"], *whose).status,
        run("contact", "set", made["id"], *whose).status,
    ) == (1, 2)


def test_whoever_writes_stop_is_opted_out_whether_or_not_they_are_a_contact(
    run: Run, db: Database, amina_id: str
) -> None:
    whose = ("--account", "amina", "--country", "GH")
    said = run("contact", "opt-out", "020 123 4567", *whose)
    assert (said.status, said.out.splitlines()[-1]) == (
        0,
        "This phone was not a contact yet. It is one now, and has opted out.",
    )
    assert kept(db, amina_id)["233201234567"].opted_out
    run("contact", "set", "0201234567", "--name", "Kofi", "--phone", "0201234568", *whose)
    assert run("contact", "opt-in", "0201234568", *whose, "--json").json["opted_out"] is False
    again = run("contact", "opt-out", "0201234568", *whose, "--json").json
    assert (again["created"], again["opted_out"], again["name"]) == (False, True, "Kofi")
    assert (
        run("contact", "show", "0201234568", *whose, "--json").json["id"]
        == run("contact", "remove", "0201234568", *whose, "--json").json["id"]
    )
    for phone, told in (
        ("20123", "with --country GH, say"),
        ("+233201234568", "no contact with the phone 233201234568"),
    ):
        refused = run("contact", "opt-in", phone, "--account", "amina")
        assert (refused.status, told in refused.err) == (1, True)
    assert run("contact", "opt-out", "Kofi", *whose).status == 1


def test_all_values_that_are_wrong_are_told_together_as_they_were_typed(
    run: Run, amina_id: str
) -> None:
    said = run(
        *typed(
            "contact add 12 --account amina --country XX --email x --tag a --tag 'a|b' "
            "--custom name=1"
        )
    )
    assert said.status == 2
    assert [line.split(" must ")[0] for line in said.err.splitlines()] == [
        "heliograph: 5 values are wrong.",
        "  --country",
        "  PHONE",
        "  --email",
        "  --tag 2",
        "  --custom name",
    ]


@pytest.mark.parametrize(
    "name", ["می\u200cرضا", "क्\u200dष", "Ada \N{WOMAN}\u200d\N{PERSONAL COMPUTER}"]
)
def test_names_that_are_spelled_with_joiners_are_kept_shown_and_found(
    run: Run, amina_id: str, name: str
) -> None:
    whose = ("--account", "amina")
    made = run(
        "contact",
        "add",
        phones(1)[0],
        "--name",
        name,
        "--tag",
        name,
        "--custom",
        f"{name}={name}",
        *whose,
        "--json",
    ).json
    assert (made["name"], made["tags"], made["custom"]) == (name, [name], {name: name})
    assert f"  {name}\n" in run("contact", "show", phones(1)[0], *whose).out
    for needle in (name, name.replace("\u200c", "").replace("\u200d", "")):
        assert [
            each["id"] for each in run("contact", "list", "--search", needle, *whose, "--json").json
        ] == [made["id"]]
    assert run("contact", "list", "--search", "\u200d", *whose, "--json").json == []
    for bad in ("\u200d", "a\u200bb", "a\u202eb", "a\x00b", "a\nb"):
        assert run("contact", "add", phones(1)[0], "--name", bad, *whose).status == 2
