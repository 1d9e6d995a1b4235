"""A campaign is written down, priced, frozen and launched, up to the moment in which it is sent;
each thing can be done with it at some times only.
"""

import io
from collections.abc import Callable

import pytest
import sqlalchemy as sa

from heliograph import accounts, campaigns
from heliograph.base import clock
from heliograph.base.errors import InsufficientCredits, InvalidRequest, ServiceError
from heliograph.campaigns import Campaign
from heliograph.campaigns.audience import audience_lock
from heliograph.campaigns.audience.audience_lock import AudienceLock, AudienceTaken
from heliograph.campaigns.due_steps import QuickCheck, quick_check
from heliograph.campaigns.states import CAMPAIGN, PAUSED_BY_OPERATOR, WrongState
from heliograph.campaigns.tables import campaign_recipients
from heliograph.campaigns.tables import campaigns as table
from heliograph.database.database import Database
from heliograph.messages.tables import groups
from tests.support.capability.campaigns import add_contacts, now, set_opted_out, write_down, written
from tests.support.factories import SENDER, grant, open_route, phones

AMA, KOFI, ESI, YAW = 233200000000, 233200000001, 233200000002, 233200000003
HOUR_MS = 3_600_000


@pytest.fixture(autouse=True)
def ready_to_launch(db: Database, amina_id: str) -> None:
    """Amina has ten credits, a route, and four contacts, one of whom has opted out."""
    open_route(db)
    grant(db, amina_id, 10)
    add_contacts(
        db,
        amina_id,
        [
            {
                "phone": str(AMA),
                "name": "Ama",
                "tags": ["gold", "new"],
                "custom": {"shop": "Accra"},
            },
            {"phone": str(KOFI), "name": "Kofi", "tags": ["gold"], "opted_out": True},
            {"phone": str(ESI), "tags": ["gold"], "custom": {"shop": "é" * 1_600}},
            {"phone": str(YAW), "name": "Yaw"},
        ],
    )
    add_contacts(db, amina_id, ["233209999999"], sandbox=True)


def test_an_audience_is_frozen_priced_and_launched(db: Database, amina_id: str) -> None:
    campaign = write_down(db, amina_id)
    assert campaigns.estimate(db, campaign, lambda people: None) == (3, 1, {}, {}, 3, 3, 10)
    launched = campaigns.launch(db, campaign.id)
    assert launched.quote == (3, 1, {}, {}, 3, 3, 10)
    assert written(db, campaign) == {AMA: (None, None), ESI: (None, None), YAW: (None, None)}
    found = now(db, campaign)
    assert found == launched.campaign
    assert (
        found.status,
        found.recipients_total,
        found.opted_out,
        found.refused,
        found.credits_estimated,
    ) == ("sending", 3, 1, 0, 3)
    assert (found.cursor, found.expanded, found.freezing, found.started_at_ms is not None) == (
        0,
        False,
        None,
        True,
    )
    with pytest.raises(
        WrongState,
        match="This campaign is sending; only one that is draft or scheduled can be launched",
    ):
        campaigns.launch(db, campaign.id)


def test_a_text_is_filled_in_for_each_and_who_cannot_get_one_is_counted(
    db: Database, amina_id: str
) -> None:
    campaign = write_down(db, amina_id, message="{name|friend}, {phone}: {shop}", tags=["gold"])
    assert campaigns.estimate(db, campaign, lambda people: None) == (
        1,
        1,
        {"too_many_segments": 1},
        {"name": 1},
        1,
        1,
        10,
    )
    campaigns.launch(db, campaign.id)
    assert written(db, campaign) == {AMA: (f"Ama, {AMA}: Accra", 1)}
    found = now(db, campaign)
    assert (found.recipients_total, found.opted_out, found.refused) == (2, 1, 1)


def test_a_launch_that_cannot_be_paid_changes_nothing_unless_told_to_go_as_far_as_it_can(
    db: Database, amina_id: str
) -> None:
    add_contacts(db, amina_id, phones(20, first=100))
    campaign = write_down(db, amina_id)
    with pytest.raises(
        InsufficientCredits, match="takes 23 credits; the wallet holds 10"
    ) as refused:
        campaigns.launch(db, campaign.id)
    assert refused.value.extra == {"required": 23, "available": 10}
    assert (
        now(db, campaign).status,
        now(db, campaign).freezing,
        now(db, campaign).recipients_total,
    ) == ("draft", None, 0)
    with db.write() as tx:
        set_opted_out(tx, amina_id, {YAW: True})
    launched = campaigns.launch(db, campaign.id, as_far_as_credits_reach=True).campaign
    assert (
        launched.status,
        launched.as_far_as_credits_reach,
        launched.opted_out,
        launched.recipients_total,
    ) == ("sending", True, 2, 22)
    assert len(written(db, campaign)) == 22


def test_a_sandbox_campaign_is_to_sandbox_contacts_and_costs_nothing(
    db: Database, amina_id: str
) -> None:
    campaign = write_down(db, amina_id, sandbox=True, sender="sandbox")
    assert campaigns.launch(db, campaign.id).quote == (1, 0, {}, {}, 1, 0, 10)
    assert list(written(db, campaign)) == [233209999999]


def test_what_cannot_be_sent_is_not_launched(db: Database, amina_id: str) -> None:
    nobody = write_down(db, amina_id, tags=["nobody"])
    with pytest.raises(
        InvalidRequest, match=r"nobody to send this campaign to \(its audience is empty\)"
    ):
        campaigns.launch(db, nobody.id)
    with db.write() as tx:
        accounts.change(tx, amina_id, countries=["NG"])
    with pytest.raises(InvalidRequest, match=r"\(3 country_not_allowed, 1 opted_out\)"):
        campaigns.launch(db, write_down(db, amina_id).id)
    with pytest.raises(
        InvalidRequest,
        match=(
            r"sender must be one that is approved for this account and mode \(AMINA\), not 'KOFI'"
        ),
    ):
        write_down(db, amina_id, sender="KOFI")
    with db.write() as tx:
        accounts.suspend(tx, amina_id)
    with pytest.raises(WrongState, match="suspended"):
        campaigns.launch(db, nobody.id)
    assert now(db, nobody).freezing is None


FILE = """\
\N{ZERO WIDTH NO-BREAK SPACE}Phone;Name;Amount;;
+233 20 000 0000;Ama;12
0200000001;Kofi;3;;;
233200000003;;5
12;Short;1
233200000003;Again;7
233200000009;Too;1;;;many
"""


def test_the_numbers_of_a_file_are_written_down_with_their_texts(
    db: Database, amina_id: str
) -> None:
    request = campaigns.read_campaign_request(
        {
            "name": "Owed",
            "sender": SENDER,
            "message": "{Name|Friend} owes {Amount}",
            "audience": "numbers",
        }
    )
    listed = campaigns.create_listed(
        db, amina_id, request, campaigns.Numbers(io.StringIO(FILE), "GH"), sandbox=False
    )
    assert (listed.rows, listed.recipients, listed.duplicates, listed.bad, listed.lacking) == (
        6,
        3,
        1,
        2,
        {"Name": 1},
    )
    assert [f"line {row.line} {row.why}" for row in listed.bad_rows] == [
        "line 5 says '12', which is not a valid number",
        "line 7 has 6 columns; the header has 5",
    ]
    campaign = listed.campaign
    assert written(db, campaign) == {
        AMA: ("Ama owes 12", 1),
        KOFI: ("Kofi owes 3", 1),
        YAW: ("Friend owes 5", 1),
    }
    assert campaigns.estimate(db, campaign, lambda people: None) == (2, 1, {}, {}, 2, 2, 10)
    assert campaigns.launch(db, campaign.id).quote == (2, 1, {}, {}, 2, 2, 10)
    assert set(written(db, campaign)) == {AMA, YAW}
    assert (now(db, campaign).opted_out, now(db, campaign).recipients_total) == (1, 2)


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "The file holds no numbers"),
        (
            "12\nabc\n",
            (
                r"None of the file's 2 lines can be sent to; line 1 says '12', which is not a valid"
                r" number"
            ),
        ),
        ("name,town\nAma,Accra\n", r"header must name the column of the numbers phone"),
        ("phone,a,a\n233200000000,1,2\n", "names a column twice"),
        ("233200000000\n" + "x" * 70_000, "Line 2 has more than 65536 characters"),
        (
            'phone;name\n233200000000;Ama\n233200000001;"Kofi\n233200000003;Yaw\n',
            "From line 3 on, the file cannot be read: a quoted cell .* not closed",
        ),
        ('phone;name\n233200000001;"Kofi\n233200000003;"Yaw"\n', "From line 2 on"),
        (
            'phone;name\n233200000001;"' + "Kofi\n" * 101 + '"\n',
            "From line 2 on, .* more than 100 lines",
        ),
        (
            'phone;name\n233200000001;"' + ("x" * 500 + "\n") * 21 + '"\n',
            "From line 2 on, .* more than 10000 characters",
        ),
        (
            "233200000000;Ama\n233244000201;233200000001\n",
            "no header, and line 2 has numbers in columns 1, 2. Put a line with the names",
        ),
    ],
)
def test_a_file_that_is_no_list_of_numbers_makes_no_campaign(
    db: Database, amina_id: str, text: str, told: str
) -> None:
    request = campaigns.read_campaign_request(
        {"name": "Owed", "sender": SENDER, "message": "Hello", "audience": "numbers"}
    )
    with pytest.raises(InvalidRequest, match=told):
        campaigns.create_listed(
            db, amina_id, request, campaigns.Numbers(io.StringIO(text), None), sandbox=False
        )
    with db.read() as tx:
        assert [
            tx.execute(sa.select(sa.func.count()).select_from(t)).scalar_one()
            for t in (table, groups, campaign_recipients)
        ] == [0, 0, 0]


def test_a_campaign_whose_file_was_not_read_to_its_end_is_not_launched(
    db: Database, amina_id: str
) -> None:
    request = campaigns.read_campaign_request(
        {"name": "Owed", "sender": SENDER, "message": "Hello", "audience": "numbers"}
    )
    with db.write() as tx:
        killed = campaigns.create(tx, amina_id, request, sandbox=False, now_ms=clock.now_ms())
    with pytest.raises(WrongState, match="not read to its end"):
        campaigns.launch(db, killed.id)


DO: dict[str, Callable[[Database, Campaign], object]] = {
    "sending": lambda db, campaign: campaigns.launch(db, campaign.id),
    "scheduled": lambda db, campaign: _change(
        db, lambda tx: campaigns.schedule(tx, campaign.id, clock.now_ms() + HOUR_MS)
    ),
    "paused": lambda db, campaign: _change(db, lambda tx: campaigns.pause(tx, campaign.id)),
    "canceled": lambda db, campaign: _change(
        db, lambda tx: campaigns.cancel(tx, campaign.id, now_ms=clock.now_ms())
    ),
}


def _change(db: Database, effect: Callable[[sa.Connection], object]) -> object:
    return db.transact(effect)


@pytest.mark.parametrize("to", DO)
@pytest.mark.parametrize("status", CAMPAIGN.states)
def test_a_state_leads_where_the_table_says_and_nowhere_else(
    db: Database, amina_id: str, status: str, to: str
) -> None:
    campaign = write_down(db, amina_id)
    with db.write() as tx:
        reason = PAUSED_BY_OPERATOR if status == "paused" else None
        tx.execute(
            sa.update(table)
            .where(table.c.id == campaign.id)
            .values(status=status, status_reason=reason)
        )
    if status in CAMPAIGN.sources(to) and (status, to) != ("paused", "sending"):
        DO[to](db, campaign)
        assert now(db, campaign).status == to
    else:
        with pytest.raises(WrongState, match=f"This campaign is {status}"):
            DO[to](db, campaign)
        assert now(db, campaign).status == status


def test_pause_resume_and_cancel_say_why_and_when(db: Database, amina_id: str) -> None:
    campaign = campaigns.launch(db, write_down(db, amina_id).id).campaign
    _change(db, lambda tx: campaigns.pause(tx, campaign.id))
    assert (now(db, campaign).status, now(db, campaign).status_reason) == (
        "paused",
        "paused_by_operator",
    )
    _change(db, lambda tx: campaigns.resume(tx, campaign.id))
    assert (now(db, campaign).status, now(db, campaign).status_reason) == ("sending", None)
    with pytest.raises(WrongState):
        _change(db, lambda tx: campaigns.resume(tx, campaign.id))
    draft = write_down(db, amina_id)
    for each in (campaign, draft):
        _change(db, lambda tx, of=each: campaigns.cancel(tx, of.id, now_ms=77))  # type: ignore[misc]
    with db.read() as tx:
        assert tx.execute(sa.select(groups.c.canceled_at_ms)).scalars().all() == [77, 77]
    # what has begun ends when nothing of it is queued any more
    assert (now(db, campaign).ended_at_ms, now(db, draft).ended_at_ms) == (None, 77)


def _glance(db: Database) -> QuickCheck:
    with db.read() as tx:
        return quick_check(tx)


def test_a_campaign_is_started_when_its_time_has_come_or_has_failed(
    db: Database, amina_id: str
) -> None:
    at_ms = clock.now_ms() + HOUR_MS
    soon, nobody, later = (
        write_down(db, amina_id),
        write_down(db, amina_id, tags=["nobody"]),
        write_down(db, amina_id),
    )
    for campaign, when in ((soon, at_ms), (nobody, at_ms), (later, at_ms + HOUR_MS)):
        _change(db, lambda tx, c=campaign, w=when: campaigns.schedule(tx, c.id, w))  # type: ignore[misc]
    assert (_glance(db).due, campaigns.start_due(db)) == (False, [])
    clock.move(by_ms=HOUR_MS + 1)
    assert (_glance(db).due, campaigns.start_due(db)) == (True, [soon.id])
    assert not _glance(db).due
    assert [now(db, each).status for each in (soon, nobody, later)] == [
        "sending",
        "failed",
        "scheduled",
    ]
    assert (now(db, nobody).status_reason, now(db, nobody).ended_at_ms is not None) == (
        "no_recipients",
        True,
    )
    with db.write() as tx:
        accounts.suspend(tx, amina_id)
    clock.move(by_ms=HOUR_MS)
    assert campaigns.start_due(db) == []
    assert (now(db, later).status, now(db, later).status_reason) == ("failed", "account_suspended")


def test_who_is_at_work_on_a_campaign_is_left_alone_until_it_is_silent(
    db: Database, amina_id: str
) -> None:
    campaign = write_down(db, amina_id)
    _change(db, lambda tx: campaigns.schedule(tx, campaign.id, clock.now_ms()))
    first = AudienceLock(db, campaign.id)
    first.take(lambda tx: None)
    assert campaigns.start_due(db) == []
    clock.move(by_ms=audience_lock.SILENT_MS + 1)
    assert campaigns.start_due(db) == [campaign.id]
    with pytest.raises(AudienceTaken):
        first.step(lambda tx: None)


def test_of_two_launches_one_gives_way_and_nothing_of_it_is_left(
    db: Database, amina_id: str
) -> None:
    campaign = write_down(db, amina_id)
    refused: list[ServiceError] = []
    first_people: list[int] = []

    def launch_again(people: int) -> None:
        if not first_people:
            first_people.append(people)
            campaigns.launch(db, campaign.id)

    try:
        campaigns.launch(db, campaign.id, tell=launch_again)
    except AudienceTaken as error:
        refused.append(error)
    assert [error.status for error in refused] == [409]
    assert (now(db, campaign).status, now(db, campaign).opted_out, len(written(db, campaign))) == (
        "sending",
        1,
        3,
    )
