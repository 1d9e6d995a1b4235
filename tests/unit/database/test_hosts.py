"""One host of a PostgreSQL is chosen, and another one when that must not be used."""

import threading
import time
from collections.abc import Callable

import psycopg
import pytest

from heliograph.base.database_url import Host, WrongUrl, parse
from heliograph.database.postgresql import hosts as hosts_module
from heliograph.database.postgresql.hosts import Hosts, HostStatus, NoHost
from tests.support.polling import wait_until

CLUSTER = 7_000
PRIMARY = HostStatus(read_only=False, is_standby=False, system=CLUSTER, timeline=1)
SUCCESSOR = PRIMARY._replace(timeline=2)
STANDBY = HostStatus(read_only=True, is_standby=True, system=CLUSTER, timeline=0)
SILENT_S = 30.0


class ScriptedServers:
    """Stands for the PostgreSQL servers of a list of hosts, each of which says what the test gives
    it: its status, an error, or nothing for so many seconds. `asked` counts how often any was
    asked.
    """

    def __init__(self, *says: HostStatus | Exception | float, options: str = "") -> None:
        self.says = list(says)
        self.asked = 0
        self._over = threading.Event()
        listed = ",".join(f"db{number}:5432" for number in range(len(says)))
        self.hosts = Hosts(
            f"postgresql://amina:opensesame@{listed}/heliograph{options}", self._said
        )

    def _said(self, _: Hosts, host: Host) -> HostStatus:
        self.asked += 1
        said = self.says[int(host.label[2])]
        if isinstance(said, Exception):
            raise said
        if isinstance(said, float):
            self._over.wait(said)
            raise psycopg.OperationalError("no answer")
        return said

    def chosen(self) -> str:
        return self.hosts.chosen_host().host.label

    def connect(self) -> str:
        """Connects as a driver does, to the host that is chosen. Raises NoHost when it must not be
        used.
        """
        chosen = self.hosts.chosen_host()
        said = self.says[int(chosen.host.label[2])]
        assert isinstance(said, HostStatus)
        return self.hosts.require_usable(chosen, said).host.label


@pytest.mark.parametrize(
    ("url", "hosts", "wanted"),
    [
        ("postgresql://a:p%40w@db/x", ["postgresql://a:p%40w@db/x"], "any"),
        (
            "postgres://a@db:5433/x?target_session_attrs=read-write",
            ["postgresql://a@db:5433/x"],
            "read-write",
        ),
        (
            "postgresql://a:b@h1:5432,h2:5433/x?sslmode=require",
            [
                "postgresql://a:b@h1:5432/x?sslmode=require",
                "postgresql://a:b@h2:5433/x?sslmode=require",
            ],
            "read-write",
        ),
        (
            "postgresql://h1,[::1]:5433/x?target_session_attrs=any",
            ["postgresql://h1/x", "postgresql://[::1]:5433/x"],
            "any",
        ),
        (
            "postgresql://a@/x?host=h1,h2&port=5001,5002",
            ["postgresql://a@h1:5001/x", "postgresql://a@h2:5002/x"],
            "read-write",
        ),
        (
            "postgresql://a@/x?host=h1&host=h2:5002&port=5001",
            ["postgresql://a@h1:5001/x", "postgresql://a@h2:5002/x"],
            "read-write",
        ),
        (
            "postgresql:///x?host=/run/postgresql&port=5433",
            ["postgresql:///x?host=%2Frun%2Fpostgresql&port=5433"],
            "any",
        ),
        ("postgresql:///x", ["postgresql:///x"], "any"),
    ],
)
def test_each_host_gets_a_url_of_its_own(url: str, hosts: list[str], wanted: str) -> None:
    parsed = parse(url)
    assert [host.url.replace("%2F", "/") for host in parsed.hosts] == [
        host.replace("%2F", "/") for host in hosts
    ]
    assert parsed.wanted == wanted


@pytest.mark.parametrize(
    ("url", "found", "allowed"),
    [
        (
            "postgresql://a:opensesame@h1:5432,h2:abc/x",
            "a value that is not a PostgreSQL URL",
            "postgresql://USER",
        ),
        ("postgresql://a:opensesame@h1:5432,h2:70000/x", "the port 70000", "1 to 65535"),
        (
            "postgresql://a:opensesame@h1,,h2/x",
            "several hosts, one of them without a name",
            "HOST1:PORT1,HOST2:PORT2",
        ),
        (
            "postgresql://a:opensesame@/x?host=h1,h2&port=1,2,3",
            "3 ports for 2 hosts",
            "one port, or one for each host",
        ),
        (
            "postgresql://a:opensesame@h1,h2/x?target_session_attrs=standby",
            "target_session_attrs=standby",
            "any, primary, read-write",
        ),
        ("postgresql://a:opensesame@" + ",".join("abcdefghi") + "/x", "9 hosts", "at most 8"),
    ],
)
def test_a_wrong_list_of_hosts_is_named_without_the_password(
    url: str, found: str, allowed: str
) -> None:
    with pytest.raises(WrongUrl) as refused:
        parse(url)
    assert refused.value.found == found
    assert allowed in refused.value.allowed
    assert "opensesame" not in str(refused.value)


def test_one_host_is_not_asked_before_it_is_connected_to() -> None:
    servers = ScriptedServers(PRIMARY)
    assert (servers.connect(), servers.asked) == ("db0:5432", 0)


def test_the_host_that_can_be_written_to_is_chosen_and_a_silent_one_is_not_waited_for() -> None:
    servers = ScriptedServers(SILENT_S, STANDBY, PRIMARY)
    began_s = time.monotonic()
    assert servers.connect() == "db2:5432"
    assert time.monotonic() - began_s < hosts_module.OTHERS_WITHIN_S + 0.5
    servers.hosts.chosen_host()
    assert servers.asked == 3


def test_of_two_that_can_be_written_to_the_one_that_was_promoted_later_is_meant() -> None:
    assert ScriptedServers(PRIMARY, SUCCESSOR).connect() == "db1:5432"


def test_who_has_seen_the_successor_goes_back_to_the_old_primary_no_more() -> None:
    servers = ScriptedServers(PRIMARY, STANDBY)
    chosen = servers.hosts.require_usable(servers.hosts.chosen_host(), PRIMARY)
    servers.says = [SILENT_S, SUCCESSOR]
    servers.hosts.note_lost_connection(chosen.generation)
    assert servers.connect() == "db1:5432"
    servers.says = [PRIMARY, STANDBY]
    servers.hosts.note_lost_connection(servers.hosts.generation)
    with pytest.raises(
        NoHost,
        match=(
            r"db0:5432 is a former primary: its timeline is 1, and 2 was seen; db1:5432 is a"
            r" standby"
        ),
    ):
        servers.hosts.chosen_host()
    # another cluster, whose timelines say nothing of this one's
    servers.says = [PRIMARY._replace(system=CLUSTER + 1), STANDBY]
    assert servers.connect() == "db0:5432"


def test_behind_one_address_a_former_primary_is_refused_too() -> None:
    servers = ScriptedServers(SUCCESSOR)
    first = servers.hosts.require_usable(servers.hosts.chosen_host(), SUCCESSOR)
    with pytest.raises(NoHost, match="is a former primary"):
        servers.hosts.require_usable(servers.hosts.chosen_host(), PRIMARY)
    third = servers.hosts.require_usable(
        servers.hosts.chosen_host(), SUCCESSOR._replace(timeline=3)
    )
    assert (
        third.generation > first.generation
    )  # nothing that leads to the one before is used again,
    assert third.promotions > first.promotions  # nor held there


def test_a_promotion_beside_a_primary_that_goes_on_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts_module, "LOOK_S", 0.0)
    servers = ScriptedServers(PRIMARY, STANDBY)
    former = servers.hosts.require_usable(servers.hosts.chosen_host(), PRIMARY)
    servers.says[1] = SUCCESSOR
    servers.hosts.ask_others_if_due()
    wait_until(lambda: servers.chosen() == "db1:5432", "the other one is chosen")
    assert servers.hosts.generation != former.generation
    assert servers.hosts.promotions != former.promotions


def test_a_failure_that_is_known_already_changes_nothing() -> None:
    servers = ScriptedServers(PRIMARY, STANDBY)
    chosen = servers.hosts.require_usable(servers.hosts.chosen_host(), PRIMARY)
    servers.hosts.note_lost_connection(chosen.generation)
    servers.hosts.chosen_host()
    turn = servers.hosts.generation
    servers.hosts.note_lost_connection(chosen.generation)  # by a connection as old as the first
    assert (servers.hosts.generation, servers.hosts.chosen is not None) == (turn, True)


def test_those_who_want_to_know_at_once_ask_once() -> None:
    servers = ScriptedServers(0.3, PRIMARY, STANDBY)
    threads = [threading.Thread(target=servers.chosen) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert servers.asked == 3


def test_when_no_host_can_be_written_to_each_is_named_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hosts_module, "ANSWERS_WITHIN_S", 0.2)
    servers = ScriptedServers(SILENT_S, STANDBY, psycopg.OperationalError("FATAL: no such role"))
    with pytest.raises(NoHost) as none:
        servers.hosts.chosen_host()
    assert (
        str(none.value)
        == "no host can be written to: db0:5432 does not answer; db1:5432 is a standby; "
        "db2:5432 does not let us in (FATAL: no such role)"
    )


@pytest.mark.parametrize(
    ("options", "status", "is_used"),
    [
        ("?target_session_attrs=any", STANDBY, True),
        ("?target_session_attrs=primary", STANDBY, False),
        ("?target_session_attrs=primary", PRIMARY._replace(read_only=True), True),
        ("", PRIMARY._replace(read_only=True), False),
    ],
)
def test_what_is_wanted_of_a_host_is_what_is_taken(
    options: str, status: HostStatus, is_used: bool
) -> None:
    assert (
        isinstance(_outcome(ScriptedServers(status, status, options=options).connect), str)
        is is_used
    )


def _outcome(work: Callable[[], str]) -> str | NoHost:
    try:
        return work()
    except NoHost as refused:
        return refused
