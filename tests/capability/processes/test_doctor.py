"""Doctor tells of the processes beside it."""

from pathlib import Path

import pytest

from heliograph.base import clock, ids
from heliograph.base.settings import Settings
from heliograph.carriers import LinkState, carrier_states, pause_carrier
from heliograph.database.database import Database
from heliograph.database.leases import workers
from heliograph.messages.tables import inflight
from heliograph.monitoring import MeasuredQueue, Sampler
from heliograph.otp.range_guard import BLOCKED_MS
from heliograph.otp.tables import otp_ranges
from heliograph.processes.checks import surrounding_findings
from heliograph.processes.checks.doctor import examine
from tests.support.factories import SECRET_KEY, open_account, open_carrier
from tests.support.monitored import bound, tell, told


@pytest.mark.parametrize(
    ("kinds", "verdict", "found"),
    [
        ([], "warning", "none: nothing sends"),
        (["api", "scheduler", "api"], "warning", "2 api, 1 scheduler: nothing sends"),
        (
            ["api", "carrier"],
            "warning",
            (
                "1 api, 1 carrier: no process handles validity, messages in doubt and the work of"
                " dead processes"
            ),
        ),
        (["carrier", "scheduler"], "ok", "1 carrier, 1 scheduler"),
        (["api", "worker", "worker"], "ok", "1 api, 2 worker"),
        (["serve"], "ok", "1 serve"),
    ],
)
def test_processes_that_are_missing_are_named(
    kinds: list[str], verdict: str, found: str, postgresql_url: str, tmp_path: Path
) -> None:
    db = Database(postgresql_url)
    with db.write() as tx:
        for kind in kinds:
            tx.execute(workers.insert().values(kind=kind, started_at_ms=clock.now_ms()))
    db.close()
    [finding] = [
        finding
        for finding in examine(Settings(tmp_path, postgresql_url, SECRET_KEY))
        if finding.check == "processes"
    ]
    assert (finding.verdict, finding.found, finding.remedy is None) == (
        verdict,
        found,
        verdict == "ok",
    )


def test_a_process_that_is_not_bound_beside_one_that_is_is_named(
    database_url: str, tmp_path: Path
) -> None:
    db = Database(database_url)
    carrier_id = open_carrier(db)
    with db.write() as tx:
        process_numbers = [
            tx.execute(
                workers.insert().values(kind="worker", started_at_ms=0).returning(workers.c.epoch)
            ).scalar_one()
            for _ in range(3)
        ]
        for process_number, state in zip(
            process_numbers, (LinkState.BOUND, LinkState.REFUSED, LinkState.BOUND), strict=True
        ):
            carrier_states.record(
                tx,
                process_number,
                carrier_id,
                state,
                "ESME_RALYBND" if state is LinkState.REFUSED else "",
                clock.now_ms(),
            )
    [finding] = [
        finding
        for finding in examine(Settings(tmp_path, database_url, SECRET_KEY))
        if finding.check == "carrier carrier"
    ]
    assert (finding.verdict, finding.found) == (
        "warning",
        "bound in 2 of 3 processes; another is refused: ESME_RALYBND",
    )
    with db.write() as tx:
        carrier_states.record(
            tx, process_numbers[1], carrier_id, LinkState.BOUND, "", clock.now_ms()
        )
    db.close()
    [finding] = [
        finding
        for finding in examine(Settings(tmp_path, database_url, SECRET_KEY))
        if finding.check == "carrier carrier"
    ]
    assert (finding.verdict, finding.found) == ("ok", "bound")


@pytest.mark.parametrize(
    ("detail", "remedy"),
    [
        ("bind refused with command_status 0x00000005", "is carrier's system_id bound elsewhere"),
        (
            "bind refused with command_status 0x0000000e",
            "see what it answers: heliograph carrier test carrier",
        ),
    ],
)
def test_a_carrier_that_says_already_bound_is_met_with_what_may_be_the_cause(
    detail: str, remedy: str, database_url: str, tmp_path: Path
) -> None:
    db = Database(database_url)
    carrier_id = open_carrier(db)
    with db.write() as tx:
        process_number = tx.execute(
            workers.insert().values(kind="worker", started_at_ms=0).returning(workers.c.epoch)
        ).scalar_one()
        carrier_states.record(
            tx, process_number, carrier_id, LinkState.REFUSED, detail, clock.now_ms()
        )
    db.close()
    [finding] = [
        finding
        for finding in examine(Settings(tmp_path, database_url, SECRET_KEY))
        if finding.check == "carrier carrier"
    ]
    assert (finding.verdict, finding.found) == ("warning", f"refused: {detail}")
    assert (finding.remedy or "").startswith(remedy)


def test_ranges_that_one_time_passwords_are_not_sent_to_are_counted(
    database_url: str, tmp_path: Path
) -> None:
    settings = Settings(tmp_path, database_url, SECRET_KEY)
    db = Database(database_url)
    account_id = open_account(db)
    assert "otp ranges" not in {finding.check for finding in examine(settings)}
    with db.write() as tx:
        for digits, blocked_at_ms in (
            ("23320000", clock.now_ms()),
            ("23320001", None),
            ("23320002", clock.now_ms() - BLOCKED_MS),
        ):
            tx.execute(
                otp_ranges.insert().values(
                    account_id=account_id,
                    digits=digits,
                    sent_at_ms="1",
                    blocked_at_ms=blocked_at_ms,
                    changed_at_ms=1,
                )
            )
    db.close()
    [finding] = [finding for finding in examine(settings) if finding.check == "otp ranges"]
    assert (finding.verdict, finding.found) == (
        "warning",
        "1 blocked: codes were not verified there, or an operator has blocked them",
    )


@pytest.mark.parametrize(
    ("for_ms", "told"), [(75_000, "2 min"), (3 * 1_800_000, "3 h"), (36 * 3_600_000, "3 days")]
)
def test_messages_in_doubt_are_counted_with_the_age_of_the_oldest(
    for_ms: int, told: str, database_url: str, tmp_path: Path
) -> None:
    settings = Settings(tmp_path, database_url, SECRET_KEY)
    assert "in doubt" not in {finding.check for finding in examine(settings)}
    db = Database(database_url)
    carrier_id, now_ms = open_carrier(db), clock.now_ms()
    with db.write() as tx:
        for part, state in ((1, "in_doubt"), (2, "in_doubt"), (1, "submitting")):
            message_id = ids.raw_of_number(7 if state == "in_doubt" else 8)
            tx.execute(
                inflight.insert().values(
                    message_id=message_id,
                    part=part,
                    parts=part,
                    carrier_id=carrier_id,
                    worker=1,
                    attempt=1,
                    state=state,
                    prefix="",
                    expires_at_ms=now_ms,
                    since_ms=now_ms - for_ms * part,
                )
            )
    [finding] = [finding for finding in examine(settings) if finding.check == "in doubt"]
    db.close()
    assert (finding.verdict, finding.found) == (
        "warning",
        f"1 message, the oldest for {told}: given to a carrier that never answered",
    )
    assert "heliograph message list --in-doubt" in str(finding.remedy)


def test_each_process_the_database_and_a_stuck_queue_are_told(
    db: Database, database_url: str, tmp_path: Path
) -> None:
    carrier_id, sampler = open_carrier(db, "alpha"), Sampler()
    for _ in range(2):  # the first sample only begins to count
        clock.move(by_ms=10_000)
        tell(db, 7)
        tell(db, 8, figures=told(redis=False, host="sea", disk_free_octets=None))
        bound(db, carrier_id)
        with db.write() as tx:
            measured = MeasuredQueue(waiting_bulk=4, oldest_bulk_s=500.0)
            sampler.take(tx, {carrier_id: measured}, clock.now_ms())
    with db.write() as tx:
        pause_carrier(tx, "alpha")
    settings = Settings(tmp_path, database_url, SECRET_KEY)
    found = {finding.check: finding for finding in examine(settings)}
    assert found["process 7"].found == (
        "worker on pump, process 4711: version 1.0, 80.0 MiB of memory, 50.0 GiB free on its disk"
    )
    assert found["process 8"].found == (
        "worker on sea, process 4711: version 1.0, 80.0 MiB of memory, Redis does not answer"
    )
    assert (
        found["database size"]
        .found.partition(", ")[2]
        .startswith("PostgreSQL " if db.postgresql else "SQLite ")
    )
    assert ("connections" in found) is db.postgresql
    queue = found["queue of alpha"]
    assert (queue.verdict, queue.found) == (
        "warning",
        "4 texts wait for carrier alpha, and nothing is handed over to it; the oldest has waited"
        " for 8 min",
    )
    assert (queue.remedy or "").startswith("resume it (heliograph carrier resume alpha)")
    clock.move(by_ms=60_000)
    later = {finding.check: finding for finding in examine(settings)}
    assert later["process 7"].found.endswith("; it has not shown itself for 60 s")
    assert "queue of alpha" not in later, "what was measured is old"


@pytest.mark.parametrize(
    ("proxies", "base_url", "told"),
    [
        ((), None, None),
        (("10.0.0.1",), "https://sms.example.com", None),
        (("10.0.0.1",), None, "HELIOGRAPH_BASE_URL is not set"),
        ((), "https://sms.example.com", "no proxy is trusted"),
        ((), "http://127.0.0.1:8080", None),
        (("10.0.0.1",), "http://sms.example.com", "http://sms.example.com, without TLS"),
    ],
)
def test_a_proxy_in_front_needs_the_public_address(
    proxies: tuple[str, ...], base_url: str | None, told: str | None, tmp_path: Path
) -> None:
    settings = Settings(
        tmp_path,
        f"sqlite:///{tmp_path}/none.db",
        SECRET_KEY,
        base_url=base_url,
        trusted_proxies=proxies,
    )
    found = [
        finding
        for finding in surrounding_findings.public_address(settings)
        if finding.check == "base url"
    ]
    assert [finding.verdict for finding in found] == (["warning"] if told else [])
    assert (told or "") in "".join(finding.found for finding in found)
