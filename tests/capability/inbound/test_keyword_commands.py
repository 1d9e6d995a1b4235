"""The operator's commands manage keywords, also on a number that several accounts share."""

import json

from heliograph.database.database import Database
from tests.support.capability.commands import Run
from tests.support.factories import open_account, open_carrier


def test_a_keyword_is_added_listed_and_removed(db: Database, run: Run) -> None:
    open_account(db)
    open_account(db, "chidi")
    open_carrier(db, "gh-main")
    open_carrier(db, "gh-spare", prefix=None)
    for carrier in ("gh-main", "gh-spare"):
        assert run("number", "add", "4567", "--carrier", carrier).status == 0
    add = ("keyword", "add", "Amina", "--account", "amina", "--number", "4567")
    assert "carrier is required: gh-main, gh-spare" in run(*add).err
    shared = ("--carrier", "gh-main", "--json")
    made = json.loads(run(*add, *shared).out)
    assert (made["keyword"], made["number"], made["created"]) == ("Amina", "4567", True)
    taken = run("keyword", "add", "AMINA!", "--account", "chidi", "--number", "4567", *shared)
    assert taken.status == 2
    assert "another account has 'AMINA!' there" in taken.err
    more = run("keyword", "add", "BASTA", "--account", "amina", "--action", "opt_out", "--json")
    assert json.loads(more.out)["number"] is None
    assert (
        "action must be one of"
        in run("keyword", "add", "A", "--account", "amina", "--action", "x").err
    )
    listed = json.loads(run("keyword", "list", "--account", "amina", "--json").out)
    assert [each["keyword"] for each in listed] == ["Amina", "BASTA"]
    assert json.loads(run("keyword", "list", "--account", "amina", "--sandbox", "--json").out) == []
    removed = json.loads(run("keyword", "remove", made["id"], "--json").out)
    assert removed["removed"] is True
    assert run("keyword", "remove", made["id"]).status == 1
    assert json.loads(
        run("keyword", "add", "AMINA", "--account", "chidi", "--number", "4567", *shared).out
    )["created"]


def test_a_number_takes_its_keywords_with_it(db: Database, run: Run) -> None:
    open_account(db)
    open_carrier(db, "gh-main")
    run("number", "add", "4567", "--carrier", "gh-main", "--account", "amina")
    run("keyword", "add", "RICE", "--account", "amina", "--number", "4567")
    run("keyword", "add", "RICE", "--account", "amina")
    run("number", "remove", "4567")
    listed = json.loads(run("keyword", "list", "--account", "amina", "--json").out)
    assert [each["number"] for each in listed] == [None]


def test_how_keywords_count_on_a_number_is_set(db: Database, run: Run) -> None:
    open_account(db)
    open_carrier(db, "gh-main")
    run("number", "add", "4567", "--carrier", "gh-main", "--account", "amina")
    said = run("number", "keywords", "4567", "--first-word", "--json")
    assert json.loads(said.out)["first_word"] is True
    both = run("number", "keywords", "4567", "--whole-text", "--opt-out-scope", "sender", "--json")
    assert (json.loads(both.out)["first_word"], json.loads(both.out)["opt_out_scope"]) == (
        False,
        "sender",
    )
    assert run("number", "keywords", "4567").status == 2
    assert "'x' is not one of" in run("number", "keywords", "4567", "--opt-out-scope", "x").err


def test_a_closed_account_gives_its_words_back(db: Database, run: Run) -> None:
    for name in ("amina", "chidi"):
        open_account(db, name, credits=0)
    open_carrier(db, "gh-main")
    run("number", "add", "4567", "--carrier", "gh-main")
    shared = ("--number", "4567", "--json")
    for word in ("RICE", "BEANS"):
        assert run("keyword", "add", word, "--account", "amina", *shared).status == 0
    assert run("keyword", "add", "rice", "--account", "chidi", *shared).status == 2
    assert run("account", "close", "amina").status == 0
    assert run("keyword", "add", "rice", "--account", "chidi", *shared).status == 0
