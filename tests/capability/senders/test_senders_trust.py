"""Three things keep one account from passing for another: look-alikes are found, some names are
reserved, and a history says who decided what.
"""

import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heliograph import senders
from heliograph.base.errors import InvalidRequest, NotFound
from heliograph.database.database import Database
from heliograph.senders import reserved_names
from heliograph.senders.look_alikes import skeleton
from heliograph.senders.sender import by_id as sender_by_id
from heliograph.senders.sender import text_id as sender_text_id
from heliograph.senders.states import SENDER
from tests.support.capability.cast import NOW_MS, account
from tests.support.capability.commands import Run

TWINS = {
    "o": "0",
    "l": "1iIj",
    "e": "3",
    "a": "4",
    "s": "5",
    "t": "7",
    "b": "8",
    "g": "69",
    "z": "2",
}
NAMES = st.text("acdefhkmpqtuxyz", min_size=3, max_size=8)


@st.composite
def disguised(draw: st.DrawFn, name: str) -> str:
    """Returns a sender that a hasty eye takes for `name`."""
    out = ""
    for letter in name:
        out += draw(st.sampled_from([letter, letter.upper(), *TWINS.get(letter, "")]))
        out += draw(st.sampled_from(["", "", "", "-", ".", "_", " ", "&"]))
    return out.strip()


@given(data=st.data(), name=st.text(string.ascii_lowercase, min_size=3, max_size=8))
def test_a_disguised_name_has_the_skeleton_of_the_name(data: st.DataObject, name: str) -> None:
    worn = data.draw(disguised(name))
    if not worn.isdigit():  # a number is like itself only
        assert skeleton(worn) == skeleton(name)


@given(one=NAMES, other=NAMES)
def test_names_of_letters_that_nothing_looks_like_are_alike_when_they_are_the_same(
    one: str, other: str
) -> None:
    assert (skeleton(one) == skeleton(other)) == (one == other)


def test_the_known_disguises_are_seen_through() -> None:
    assert (
        len(
            {
                skeleton(name)
                for name in ("PAYPAL", "PAYPA1", "PAY-PAL", "paypai", "P.A.Y PAL", "PAYPAI")
            }
        )
        == 1
    )
    assert skeleton("MODERN") == skeleton("MODEM")
    assert skeleton("101") != skeleton("IOI"), "a number is a number"


def test_an_approved_live_sender_of_another_account_is_named(db: Database, run: Run) -> None:
    owner, stranger = account(db, "amina"), account(db, "chidi")

    def register(
        of: str, sender: str, *, sandbox: bool = False, approve: bool = True
    ) -> senders.Sender:
        with db.write() as tx:
            made = senders.register(tx, of, sender, sandbox=sandbox, now_ms=NOW_MS)
            return senders.approve(tx, made.id, now_ms=NOW_MS) if approve and not sandbox else made

    for sender, sandbox, approve in (("PAY PAL", False, False), ("PAY.PAL", True, True)):
        register(owner.id, sender, sandbox=sandbox, approve=approve)
    fake = register(stranger.id, "PAYPA1", approve=False)
    his = register(stranger.id, "PAY_PAL")
    with db.read() as tx:
        assert senders.look_alikes(tx, [fake]) == {fake.id: []}
    real = register(owner.id, "PAYPAL")
    with db.read() as tx:
        assert senders.look_alikes(tx, [fake, real]) == {fake.id: [real], real.id: [his]}
    whose = f"PAYPAL of {run('account', 'show', 'amina', '--json').json['id']}"
    assert run("sender", "show", sender_text_id(fake), "--json").json["looks_like"] == [whose]
    assert {
        record["sender"]: record["looks_like"]
        for record in run("sender", "list", "--status", "submitted", "--json").json
    }["PAYPA1"] == [whose]
    refused = run("sender", "approve", sender_text_id(fake))
    assert refused.status != 0
    assert "--reason is required, because PAYPA1 looks like PAYPAL of another" in refused.err
    why = ("--reason", "one company, two accounts")
    said = run("sender", "approve", sender_text_id(fake), *why, "--json")
    assert said.json["rejection_reason"] is None, "the account would read it"
    steps = run("sender", "show", sender_text_id(fake), "--json").json["history"]
    assert steps[0]["reason"] == "one company, two accounts"
    assert (said.status, said.err) == (
        0,
        f"Warning: PAYPA1 looks like {whose}, which is approved.\n",
    )


def test_a_reserved_name_and_what_looks_like_it_is_refused_to_accounts_and_not_to_the_operator(
    db: Database, run: Run
) -> None:
    owner = account(db, "amina")

    def register(sender: str, *, sandbox: bool = False) -> senders.Sender:
        return db.transact(
            lambda tx: senders.register(tx, owner.id, sender, sandbox=sandbox, now_ms=NOW_MS)
        )

    had = register("M.T.N")
    assert (
        run("sender", "reserve", "MTN", "--reason", "a network", "--json").json["sender"] == "MTN"
    )
    assert (
        run("sender", "reserve", "mtn", "--reason", "the network", "--json").json["reason"]
        == "the network"
    )
    assert [
        (record["sender"], record["reason"]) for record in run("sender", "reserved", "--json").json
    ] == [("mtn", "the network")]
    for name in ("MTN", "M-TN", "SANDBOX", "5andbox", "112", "+911"):
        with pytest.raises(
            InvalidRequest, match=r"sender must be another one: .* is reserved"
        ) as refused:
            register(name)
        assert "network" not in str(refused.value)
    assert register("M.T.N") == had, "who has it keeps it"
    assert register("MTN", sandbox=True).status == "approved", "nothing goes out from it"
    with db.write() as tx:
        senders.reject(tx, had.id, "no", now_ms=NOW_MS)
    with pytest.raises(InvalidRequest, match="is reserved"):
        register("M.T.N")
    assert (
        run("sender", "register", "MTN", "--account", "amina", "--approve", "--json").json["status"]
        == "approved"
    )
    assert run("sender", "release", "M-T-N", "--json").json["sender"] == "mtn"
    assert register("M.T.N").status == "submitted"
    with db.write() as tx, pytest.raises(NotFound):
        reserved_names.release(tx, "MTN")


def test_the_services_own_sender_and_emergency_numbers_are_reserved_however_they_are_disguised(
    db: Database, run: Run
) -> None:
    owner = account(db, "amina")

    def register(sender: str, service_sender: str) -> senders.Sender:
        return db.transact(
            lambda tx: senders.register(
                tx, owner.id, sender, sandbox=False, service_sender=service_sender, now_ms=NOW_MS
            )
        )

    for name, service_sender in (
        ("HELIOGRAPH", "Heliograph"),
        ("HELI0GR4PH", "Heliograph"),
        ("Helio-Graph", "Heliograph"),
        ("NOTlCES", "Notices"),
        ("55500", "55500"),
        ("1I2", "Notices"),
        ("9I1", "Notices"),
        ("91l", "Notices"),
        ("9-g9", "Notices"),
    ):
        with pytest.raises(
            InvalidRequest,
            match=(
                r"is reserved, because it is, or looks like, (the sender of the service's|an"
                r" emergency)"
            ),
        ):
            register(name, service_sender)
    assert [register(name, "Notices").status for name in ("HELIOGRAPH", "GIL", "5550", "9112")] == [
        "submitted"
    ] * 4
    late = {name: sender_text_id(register(name, "Notices")) for name in ("HELI0GRAPH", "L4TEBANK")}
    run("sender", "reserve", "LATEBANK", "--reason", "a bank")
    for name, why in (
        ("HELI0GRAPH", "it is, or looks like, the sender of the service's own one-time passwords"),
        ("L4TEBANK", "it is, or looks like, LATEBANK: a bank"),
    ):
        assert run("sender", "show", late[name], "--json").json["reserved"] == why
        assert run("sender", "approve", late[name]).err == f"Warning: {name} is reserved: {why}.\n"
    said = run("sender", "register", "112", "--account", "amina", "--approve")
    assert (said.status, said.err) == (
        0,
        "Warning: 112 is reserved: it is, or looks like, an emergency number.\n",
    )
    for name, mode in (("AMINA", "live"), ("LATEBANK", "sandbox")):
        made = run("sender", "register", name, "--account", "amina", "--mode", mode, "--json").json[
            "id"
        ]
        assert run("sender", "show", made, "--json").json["reserved"] is None


@given(
    words=st.lists(st.sampled_from(["register", "approved", "rejected", "suspended"]), max_size=10)
)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_history_is_what_happened_and_nothing_else(db: Database, words: list[str]) -> None:
    """It has each state that the sender came into, whatever is asked for in whatever order; what
    was refused, and what changed nothing, leaves no trace.
    """
    owner = account(db)
    with db.write() as tx:
        sender = senders.register(tx, owner.id, "AMINA", sandbox=False, now_ms=NOW_MS)
    status = "submitted"
    expected: list[tuple[str, str | None, str | None]] = [("submitted", None, None)]
    for place, word in enumerate(words, start=1):
        to = "submitted" if word == "register" else word
        by = None if word == "register" else f"officer {place}"
        reason = f"reason {place}" if word in ("rejected", "suspended") else None
        try:
            with db.write() as tx:
                if by is None:
                    senders.register(tx, owner.id, "AMINA", sandbox=False, now_ms=NOW_MS + place)
                elif reason is None:
                    senders.approve(tx, sender.id, by=by, now_ms=NOW_MS + place)
                else:
                    {"rejected": senders.reject, "suspended": senders.suspend}[to](
                        tx, sender.id, reason, by=by, now_ms=NOW_MS + place
                    )
        except InvalidRequest:
            assert status not in SENDER.sources(to)
        if status in SENDER.sources(to):
            status = to
            expected.append((to, reason, by))
    with db.read() as tx:
        assert [step[:3] for step in senders.history(tx, sender.id)] == expected[::-1]
        assert sender_by_id(tx, sender.id).status == status


def test_the_operator_sees_who_decided_what(db: Database, run: Run) -> None:
    account(db, "amina")
    made = run("sender", "register", "AMINA", "--account", "amina", "--by", "Esi", "--json").json
    run("sender", "reject", made["id"], "--reason", "a letter, please", "--by", "Kwame")
    shown = run("sender", "show", made["id"], "--json").json
    assert [(step["status"], step["by"], step["reason"]) for step in shown["history"]] == [
        ("rejected", "Kwame", "a letter, please"),
        ("submitted", "Esi", None),
    ]
    assert "a letter, please" in run("sender", "show", made["id"]).out


def test_those_that_wait_and_look_like_others_are_listed_oldest_first(db: Database) -> None:
    owner, stranger = account(db, "amina").id, account(db, "chidi").id
    with db.write() as tx:
        known = senders.register(tx, owner, "AMINA", sandbox=False, now_ms=NOW_MS)
        senders.approve(tx, known.id, now_ms=NOW_MS)
        for name in ("AM1NA", "CHIDI", "A-M-I-N-A"):
            senders.register(tx, stranger, name, sandbox=False, now_ms=NOW_MS)
        found = senders.waiting_look_alikes(tx)
    assert [(each.sender.sender, [like.sender for like in each.like]) for each in found] == [
        ("AM1NA", ["AMINA"]),
        ("A-M-I-N-A", ["AMINA"]),
    ]
