"""The operator's commands set the costs of carriers, and rate sheets."""

from pathlib import Path

from heliograph.database.database import Database
from tests.support.capability.commands import Run, typed
from tests.support.factories import open_carrier


def test_a_sheet_is_looked_at_set_exported_and_changes_nothing_more(
    run: Run, amina_foods: str, tmp_path: Path
) -> None:
    file, out = tmp_path / "may.csv", tmp_path / "now.csv"
    file.write_text(f"country,credits,account\nGH,2,\nCU,none,\nNG,3,{amina_foods}\n")
    told = run("rate", "import", file, "--dry-run", "--json").json
    assert told == {"new": 3, "changed": 0, "removed": 0, "unchanged": 0, "losses": []}
    assert run("rate", "list", "--json").json == []
    assert run("rate", "import", file, "--json").json["status"] == "applied"
    assert run("rate", "export").out.splitlines() == [
        "destination,credits,account",
        "CU,none,",
        "GH,2,",
        f"NG,3,{amina_foods}",
    ]
    assert run("rate", "export", out, "--json").json["rates"] == 3
    assert "is there already" in run("rate", "export", out).err
    again = run("rate", "import", out, "--whole", "--dry-run", "--json").json
    assert (again["unchanged"], again["new"], again["removed"]) == (3, 0, 0)


def test_a_sheet_with_a_loss_or_a_wrong_row_sets_nothing(run: Run, tmp_path: Path) -> None:
    for line in (
        "price set GHS 35 --per 1000",
        'route set "" simulator',
        "cost set simulator 233 0.05 GHS",
    ):
        assert run(*typed(line)).status == 0
    file = tmp_path / "may.csv"
    file.write_text("prefix,credits\n233,1\n")
    assert "233 brings 0.035 GHS a segment" in run("rate", "import", file).err
    assert run("rate", "import", file, "--allow-loss").status == 2
    assert run("rate", "list", "--json").json == []
    agreed = run("rate", "import", file, "--allow-loss", "--reason", "agreed", "--json").json
    assert agreed["losses"] == [
        "233 brings 0.035 GHS a segment, and simulator charges 0.05 GHS for 233"
    ]
    file.write_text("prefix,credits\n233,2\nGhana,3\n234,x\n")
    wrong = run("rate", "import", file).err
    assert "line 3: prefix must be" in wrong
    assert "line 4: credits must be" in wrong
    assert [rate["credits"] for rate in run("rate", "list", "--json").json] == [1]


def test_margins_are_listed_the_worst_first_and_written_to_a_file(
    run: Run, amina_foods: str, tmp_path: Path
) -> None:
    assert "No cost is known" in run("rate", "margin").err
    for line in (
        "price set GHS 35 --per 1000",
        "cost set simulator 233 0.02 GHS",
        "cost set simulator 23324 0.05 GHS",
        "cost set simulator 234 0.01 NGN",
    ):
        assert run(*typed(line)).status == 0
    assert "No route leads to a carrier" in run("rate", "margin").err
    run(*typed('route set "" simulator'))
    run("rate", "set", "GH", 2, "--account", amina_foods)
    listed = run("rate", "margin", "--json").json
    assert [(each["numbers"], each["margin"], each["below_cost"]) for each in listed] == [
        ("23324", "-0.015", True),
        ("233", "0.015", False),
        ("234", None, False),
    ]
    assert listed[0] == {
        "numbers": "23324",
        "margin": "-0.015",
        "brings": "0.035",
        "costs": "0.05",
        "currency": "GHS",
        "carrier": "simulator",
        "rate": "default",
        "account_id": None,
        "credits": 1,
        "below_cost": True,
    }
    few = run("rate", "margin", "--limit", 1)
    assert few.out.splitlines()[0].split()[:3] == ["NUMBERS", "MARGIN", "BRINGS"]
    assert (len(few.out.splitlines()), few.err) == (
        2,
        "1 below cost. And 2 more: --limit shows up to 1000, --csv all.\n",
    )
    of_her = run("rate", "margin", "--account", amina_foods, "--csv", "-").out.splitlines()
    assert of_her[:2] == [
        "numbers,margin,brings,costs,currency,carrier,rate,account,credits",
        f"23324,0.02,0.07,0.05,GHS,simulator,GH,{amina_foods},2",
    ]
    assert "Nothing sells below cost" in run("rate", "margin", "--account", amina_foods).err
    out = tmp_path / "margins.csv"
    assert run("rate", "margin", "--csv", out, "--json").json == {"file": str(out), "margins": 3}
    assert len(out.read_text().splitlines()) == 4
    assert "is there already" in run("rate", "margin", "--csv", out).err
    assert run("rate", "margin", "--account", "nobody").status == 1


def test_each_command_that_makes_something_sell_below_cost_warns_of_that_and_does_it(
    run: Run, db: Database
) -> None:
    open_carrier(db, "dear", prefix=None)
    loss = "Warning: this sells below cost: default brings {} GHS a segment, and {} charges {} GHS"
    for line, warning in (
        ("price set GHS 35 --per 1000", None),
        ('route set "" simulator', None),
        ("cost set simulator 233 0.03 GHS", None),
        ("cost set simulator 233 0.05 GHS", ("0.035", "simulator", "0.05")),
        ("cost set simulator 233 0.04 GHS", None),
        ("price set GHS 30 --per 1000", ("0.03", "simulator", "0.04")),
        ("cost set dear 23324 9 GHS", None),
        ("route set 23324 dear", ("0.03", "dear", "9.00")),
        ("rate set default 1000", None),
        ("rate set default 2", ("0.06", "dear", "9.00")),
        ("route remove 23324", None),
        ("cost set simulator 2332 0.04 GHS", None),
        ("cost set simulator 233 3 GHS", ("0.06", "simulator", "3.00")),
        ("cost remove simulator 2332", ("0.06", "simulator", "3.00")),
        ("cost remove simulator 2332", None),
        ("price remove GHS", None),
    ):
        said = run(*typed(line)).err
        assert said.startswith("Warning") == (warning is not None), (line, said)
        assert warning is None or loss.format(*warning) in said, (line, said)


def test_a_planned_sheet_is_listed_and_withdrawn(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "may.csv"
    file.write_text("prefix,credits\n233,2\n")
    planned = run("rate", "import", file, "--at", "30d", "--json").json
    assert planned["status"] == "planned"
    assert planned["id"] in run("rate", "sheets").out
    assert run("rate", "withdraw", planned["id"], "--json").json["status"] == "withdrawn"
    assert "applied or withdrawn" in run("rate", "withdraw", planned["id"]).err
    assert "There is no such rate sheet" in run("rate", "withdraw", "rsh_1").err
    assert run("rate", "list", "--json").json == []


def test_costs_are_set_listed_and_removed(run: Run) -> None:
    made = run(*typed('cost set simulator "" 0.0125 ghs --json')).json
    assert made == {"carrier": "simulator", "prefix": "", "amount": "0.0125", "currency": "GHS"}
    assert run(*typed("cost list --carrier simulator --json")).json == [made]
    assert "more than 6 decimals" in run(*typed("cost set simulator 233 0.0000001 GHS")).err
    assert run(*typed('cost remove simulator "" --json')).json["removed"]
    assert run(*typed("cost list --json")).json == []
