"""Says which tests are trials: those that `make test` leaves to `make trials`.

`make test` runs at each change, and takes eight minutes at most. Trials take longer, or do again on
the other database what one has done. Together the two run every test.

A file outside `ON_BOTH` runs on one database in `make test`, and on the other one in `make trials`.
Which one it is depends on the file's name alone, so half of the files test each database; but for
those of `ON_SQLITE`.
"""

import zlib
from collections.abc import Iterable
from typing import Final

PART: Final = "HELIOGRAPH_TEST_PART"  # the name of the variable that says which part runs
FIRST, TRIALS = "first", "trials"  # its values; without one, all tests run

# Accepting, a carrier's turn, an operator's decision, the ledger and the conditions of states: a
# difference between the dialects costs most there. Other rooms have statements in two dialects,
# too; `tests/capability/database` prepares every statement on both databases.
ON_BOTH: Final = (
    "tests/capability/alerts/test_rules_at_once.py",  # PostgreSQL alone has the lock
    "tests/capability/campaigns/test_campaign_transitions.py",
    "tests/capability/database/",
    "tests/capability/messages/accept/test_accept",
    "tests/capability/messages/carrier/test_turn",
    "tests/capability/messages/doubt/test_decide",
    "tests/capability/messages/queue/test_fair",
    "tests/capability/messages/test_message_transitions.py",
    "tests/capability/otp/test_otp_transitions.py",
    "tests/capability/wallet/test_ledger.py",
    "tests/capability/webhooks/test_webhooks_transitions.py",
    "tests/crash/",
    "tests/faults/",
)
# What pages do with forty texts, or with each role, is judged in Python, and takes twice as long on
# PostgreSQL. So each change has it on SQLite, and the trials have it on PostgreSQL.
ON_SQLITE: Final = (
    "tests/capability/console/test_every_console_route.py",
    "tests/capability/console/test_hostile_console.py",
    "tests/capability/portal/test_every_route.py",
    "tests/capability/portal/test_hostile_details.py",
    "tests/capability/portal/test_hostile_files.py",
    "tests/capability/portal/test_hostile_forms.py",
    "tests/capability/portal/test_hostile_from_outside.py",
    "tests/capability/portal/test_hostile_texts.py",
)
# Each fault has a long form in `make faults`. These quick ones stay: a process that is killed, a
# carrier, a database and Redis that are away, and a receipt that comes late.
FIRST_FAULTS: Final = (
    "tests/faults/test_api_killed.py",
    "tests/faults/carriers/test_outage.py",
    "tests/faults/database/test_postgres.py::test_a_postgresql_that_dies",
    "tests/faults/carriers/test_receipts.py",
    "tests/faults/test_redis.py",
)
_LISTS: Final = "tests/unit/cli/test_cli_modules.py::test_a_list_loads_only_what_it_needs"
# What takes a minute, or long for what changes seldom: installing, starting, restarting, clients
# that others generate, crowds, French, half of the journeys, and what tests are run with.
LONG: Final = (
    "tests/api/description/test_schemathesis.py",
    "tests/api/http/test_crowds.py",
    "tests/architecture/test_package.py",
    "tests/browser/console/test_console_alerts.py",
    "tests/browser/console/test_console_carriers_and_money.py",
    "tests/browser/console/test_console_closing.py",
    "tests/browser/console/test_console_doubts.py",
    "tests/browser/console/test_console_fail_over.py",
    "tests/browser/console/test_console_looks.py",
    "tests/browser/console/test_console_money.py",
    "tests/browser/console/test_console_now.py",
    "tests/browser/console/test_console_numbers.py",
    "tests/browser/console/test_console_operators.py",
    "tests/browser/console/test_console_people.py",
    "tests/browser/console/test_console_phones.py",
    "tests/browser/console/test_console_queued.py",
    "tests/browser/console/test_console_rates.py",
    "tests/browser/console/test_console_reserved_names.py",
    "tests/browser/console/test_console_sender_from_both_sides.py",
    "tests/browser/console/test_console_stops.py",
    "tests/browser/console/test_console_suspends.py",
    # the narrow one stays, where more does not fit
    "tests/browser/console/test_console_widths.py::test_no_page_and_no_navigation_is_wider_than_its_place[1440]",
    "tests/browser/portal/test_portal_by_itself.py::test_a_page_with_several_parts_says_after_a_quarter",
    "tests/browser/portal/test_portal_campaigns.py",
    "tests/browser/portal/test_portal_components.py",
    "tests/browser/portal/test_portal_connect.py",
    "tests/browser/portal/test_portal_contacts.py",
    "tests/browser/portal/test_portal_conversations.py",
    "tests/browser/portal/test_portal_french.py",
    "tests/browser/portal/test_portal_kept_forms.py",
    "tests/browser/portal/test_portal_members.py",
    "tests/browser/portal/test_portal_money.py",
    "tests/browser/portal/test_portal_questions.py",
    "tests/browser/portal/test_portal_quickstart.py",
    "tests/browser/portal/test_portal_reload.py",
    "tests/browser/portal/test_portal_replays.py",
    "tests/browser/portal/test_portal_reports.py",
    "tests/browser/portal/test_portal_settings.py",
    "tests/browser/portal/test_portal_sites.py",
    "tests/capability/cli/test_cli_start.py",
    "tests/capability/cli/test_commands_unconfirmed.py",
    "tests/capability/portal/languages/test_french_pages.py",
    "tests/capability/processes/test_demo.py",
    "tests/crash/test_balancer_limits.py",
    "tests/crash/test_collected.py",
    "tests/crash/test_fair_restart.py",
    "tests/crash/test_inbound_load.py",
    "tests/crash/test_install_documented.py",
    "tests/crash/test_metrics_guarded.py",
    "tests/crash/test_otp_ahead.py",
    "tests/crash/test_prepared.py",
    "tests/crash/test_processes.py",
    "tests/crash/test_rolling_restart.py",
    "tests/crash/test_secret_rotated.py",
    "tests/crash/test_silent_database.py",
    "tests/crash/test_slow_readers.py",
    "tests/crash/test_warm_in_path.py",
    "tests/crash/test_warm_start.py",
    # what lists of accounts, messages and alerts load is counted at each change
    *(f"{_LISTS}[{noun}]" for noun in ("key", "webhook", "contact", "sender", "route", "site")),
    *(f"{_LISTS}[{noun}]" for noun in ("carrier", "opt-out", "user", "receipt", "number")),
    *(f"{_LISTS}[{noun}]" for noun in ("keyword", "inbound", "campaign", "rate", "cost")),
    *(f"{_LISTS}[{noun}]" for noun in ("price", "tier", "ledger")),
    "tests/wire/test_generated_clients.py",
)
DATABASES: Final = ("sqlite", "postgresql")
WIDTHS: Final = ("1440", "390")  # of a browser; each database has one of them


def trials_of(tests: Iterable[str]) -> set[str]:
    """Returns which of these ids are trials."""
    every = set(tests)
    return {test for test in every if _is_long(test) or _runs_on_the_other(test, every)}


def _is_long(test: str) -> bool:
    if test.startswith("tests/faults/"):
        return not test.startswith(FIRST_FAULTS)
    return test.startswith(LONG)


def _runs_on_the_other(test: str, every: set[str]) -> bool:
    """Says whether the same test also runs on the database that `make test` has for its file."""
    if test.startswith(ON_BOTH):
        return False
    mine = _database_of(test.partition("::")[0])
    other = next(name for name in DATABASES if name != mine)
    return other in test.partition("[")[2] and _twin(test) in every


def _database_of(file: str) -> str:
    """Returns the database on which `make test` runs a file's tests."""
    if file in ON_SQLITE:
        return DATABASES[0]
    return DATABASES[zlib.crc32(file.encode()) % len(DATABASES)]


def _twin(test: str) -> str:
    """Returns the id of the same test on the other database."""
    name, bracket, values = test.partition("[")
    for first, second in (DATABASES, WIDTHS):
        before, after = (first, second) if first in values else (second, first)
        values = values.replace(before, after)
    return name + bracket + values
