"""The operator's commands show and change carriers, routes, rates and tiers."""

from contextlib import closing

import sqlalchemy as sa

from heliograph.database.database import Database
from heliograph.messages.queue import HELD_FROM_US
from heliograph.messages.tables import inflight, queue
from tests.support.capability.commands import ADD_CARRIER, Run, typed
from tests.support.queued import unanswered, waiting_run


def test_a_carrier_is_shown_with_all_that_is_known_of_it(run: Run, database_url: str) -> None:
    run(*ADD_CARRIER, "--status", "0x45=retry", "--window", 5, stdin="secret\n")
    # what a server has found out of it
    with closing(Database(database_url)) as db, db.write() as tx:
        tx.execute(
            sa.text("""
                    UPDATE carriers SET id_format = 'hex', state = 'bound', state_detail = '1 of 1'
                        WHERE name = 'mtn'""")
        )
    known = run("carrier", "show", "mtn", "--json").json
    [listed] = [each for each in run("carrier", "list", "--json").json if each["name"] == "mtn"]
    assert listed.pop("messages_waiting") is None, "nobody has measured it yet"
    assert listed.items() <= known.items()
    assert known["messages_waiting"] == 0
    assert (
        known.items()
        >= {
            "window": 5,
            "status_overrides": {"0x45": "retry"},
            "learnt_id_format": "hex",
            "state": "bound",
        }.items()
    )
    told = dict(line.split("  ", 1) for line in run("carrier", "show", "mtn").out.splitlines())
    assert {name: value.strip() for name, value in told.items()}.items() >= {
        "window": "5",
        "id format": "auto",
        "learnt id format": "hex",
        "state detail": "1 of 1",
        "status_overrides 0x45": "retry",
    }.items()
    assert "secret" not in str(known)
    assert "There is no carrier 'gh'." in run("carrier", "show", "gh").err


def test_a_carrier_is_added_and_set_and_its_password_is_not_shown(run: Run) -> None:
    added = run(
        *typed(
            "carrier add mtn --type smpp --host smpp.example.net --port 2775 "
            "--system-id amina --password-file - --tps 50 --source-ton-npi 5,0 --json"
        ),
        stdin="p4ssw0rd\n",
    )
    assert "p4ssw0rd" not in added.out + added.err
    assert {
        name: added.json[name]
        for name in (
            "name",
            "host",
            "tps",
            "window",
            "source_ton_npi",
            "alphabet",
            "in_doubt",
            "draining",
        )
    } == {
        "name": "mtn",
        "host": "smpp.example.net",
        "tps": 50.0,
        "window": 10,
        "source_ton_npi": [5, 0],
        "alphabet": "gsm",
        "in_doubt": "resend",
        "draining": False,
    }
    changed = run(
        "carrier", "set", "mtn", "--tls", "--window", 5, "--source-ton-npi", "auto", "--json"
    ).json
    assert (changed["tls"], changed["window"], changed["source_ton_npi"]) == (True, 5, None)


def test_carriers_of_a_route_share_by_their_weights(run: Run, database_url: str) -> None:
    for name in ("mtn-a", "mtn-b", "gh-spare"):
        run(*(name if each == "mtn" else each for each in ADD_CARRIER), stdin="p4ssw0rd\n")
    weighted = run("route", "set", "233", "mtn-a:70, mtn-b:30,gh-spare", "--json").json
    assert weighted == {
        "prefix": "233",
        "carriers": ["mtn-a", "mtn-b", "gh-spare"],
        "weights": [70, 30],
    }
    assert run("route", "list", "--json").json == [weighted]
    listed = run("route", "list").out.splitlines()[1]
    assert listed.split() == ["233", "mtn-a,mtn-b,gh-spare", "70,30"]
    assert "mtn-a:70, mtn-b:30, gh-spare" in run("doctor").out
    assert (
        "stand by; 'mtn-b' has a weight and comes after 'mtn-a'"
        in run("route", "set", "2", "mtn-a,mtn-b:1").err
    )
    assert "weight from 1 to 100" in run("route", "set", "2", "mtn-a:101").err


def test_a_carrier_gets_routes_drains_and_goes_once_nothing_waits_for_it(
    run: Run, database_url: str
) -> None:
    run(*ADD_CARRIER, stdin="p4ssw0rd\n")
    assert run("route", "set", "233", "mtn,simulator", "--json").json == {
        "prefix": "233",
        "carriers": ["mtn", "simulator"],
        "weights": [],
    }
    assert run("route", "set", "", "simulator").status == 0
    assert [route["prefix"] for route in run("route", "list", "--json").json] == ["", "233"]
    assert "still has routes: 233" in run("carrier", "remove", "mtn").err
    run("route", "remove", "233")
    database = Database(database_url)
    with database.write() as tx:
        carrier_id = tx.execute(sa.text("SELECT id FROM carriers WHERE name = 'mtn'")).scalar_one()
        for rank_us, count in ((1, 3), (HELD_FROM_US, 2)):
            tx.execute(queue.insert().values(waiting_run(carrier_id, rank_us, count)))
        tx.execute(inflight.insert().values(unanswered(carrier_id)))
    for words in (("drain", "mtn"), ("pause", "mtn"), ("show", "mtn")):
        shown = run("carrier", *words, "--json").json
        counted = [shown[f"messages_{name}"] for name in ("waiting", "held", "unanswered")]
        assert counted == [3, 2, 1]
    assert (
        run("carrier", "remove", "mtn").err
        == "heliograph: The carrier mtn still has 6 messages. Let it drain first.\n"
    )
    with database.write() as tx:
        tx.execute(queue.delete())
        tx.execute(inflight.delete())
    database.close()
    assert run("carrier", "remove", "mtn", "--json").json == {"name": "mtn", "removed": True}
    assert [carrier["name"] for carrier in run("carrier", "list", "--json").json] == ["simulator"]


def test_rates_and_tiers_are_set_listed_and_removed(run: Run, amina_foods: str) -> None:
    assert run("rate", "set", "gh", 2, "--json").json == {
        "destination": "GH",
        "credits": 2,
        "account_id": None,
    }
    assert run("rate", "set", "23324", "none", "--account", amina_foods, "--json").json == {
        "destination": "23324",
        "credits": None,
        "account_id": amina_foods,
    }
    assert len(run("rate", "list", "--json").json) == 2
    assert run("rate", "list", "--account", amina_foods, "--json").json == [
        {"destination": "23324", "credits": None, "account_id": amina_foods}
    ]
    assert run("rate", "remove", "23324", "--account", amina_foods).status == 0
    assert run("tier", "add", "bulk", 500, "--json").json == {"name": "bulk", "per_minute": 500}
    assert run("tier", "set", "bulk", 5000, "--json").json == {"name": "bulk", "per_minute": 5000}
    misspelled = run("tier", "set", "bluk", 6000)
    assert (misspelled.status, "Did you mean bulk?" in misspelled.err) == (2, True)
    tiers = run("tier", "list", "--json").json
    assert (len(tiers), tiers[-1]) == (4, {"name": "bulk", "per_minute": 5000})


def test_which_way_a_text_would_go_is_told_with_its_price_and_the_reasons(
    run: Run, amina_foods: str
) -> None:
    refused = run("route", "which", "233201234567", "--json").json
    assert (refused["refusal"], refused["carrier"], refused["credits"]) == ("no_route", None, None)
    for line in (
        'route set "" simulator',
        "rate set GH 2",
        f"rate set 23320 3 --account {amina_foods}",
    ):
        run(*typed(line))
    general = run("route", "which", "+233 20 123 4567", "--json").json
    assert general["why"] == run("route", "which", "233201234567").out.splitlines()
    assert (
        general["why"][0]
        == "A text to 233201234567 would go to simulator, and cost 2 credits a segment."
    )
    own = run("route", "which", "0201234567", "--account", amina_foods, "--json").json
    assert {name: own[name] for name in own if name != "why"} == {
        "to": "233201234567",
        "country": "GH",
        "carrier": "simulator",
        "credits": 3,
        "refusal": None,
        "prefix": "",
    }
    wrong = run("route", "which", "0201234567")
    assert (wrong.status, "must be a phone number in international digits" in wrong.err) == (
        2,
        True,
    )
    assert run("route", "which", "233201234567", "--account", "nobody").status != 0
