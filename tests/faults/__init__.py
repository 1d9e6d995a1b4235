"""The fault matrix: each row is a test that does that very fault to real processes, and ends with
the checker.

    make faults                                     all rows in their long forms, then the matrix;
    fails when a row has no result make test                                       the same tests in
    their quick forms, on PostgreSQL alone where they are for both make test
    ARGS="tests/faults/test_reset.py"     one of them

A row is a test in a file of its own kind (`test_reset.py`, `test_receipts.py`), marked with its
number:

    @pytest.mark.fault(16)
    def test_a_reset_with_a_full_window_charges_once(house: House) -> None:
        carrier = house.carrier("--answer-delay-ms", "250", window=10)       # heliograph smsc as a
        process, behind a proxy, with a route to it house.start()
        # serve on SQLite; api and worker on PostgreSQL with Redis with
        house.clients.sending(per_second=50):                          # good clients:
        Idempotency-Keys, and they ask again
            house.until(lambda: carrier.waiting()[0] == 10, "the window is full")
            carrier.proxy.cut()                                              # the fault back_s =
            house.until(lambda: carrier.proxy.open, "bound again") house.holds(repeated_max=10,
            recovered_s=back_s, how="…")            # settles, stops, lets the checker look, and
            remembers for the matrix

| you want | it is in |
|---|---|
| a connection cut, refused, swallowed, delayed; a chosen reply lost | `proxy.py: Proxy`;
  `house.database_proxy()`, `.redis_proxy()`; each carrier's |
| an SMSC that misbehaves | `house.carrier("--chaos", "throttle=0.5")`, or with `script=`; see
  `heliograph smsc --help` |
| a process killed or stopped | `house.sender.process.kill()`, `.send_signal(signal.SIGSTOP)`; one
  more: `house.run("worker")` |
| a PostgreSQL or Redis of the test's own, to kill | `new_house("postgresql",
  url=private_postgres.url)` after `migrate.upgrade`; tests/conftest.py |
| a process under another clock | `house.env |= fake_time(FAKETIME="+0 x60")` before `start`;
  tests/services/faketime.py |
| a disk that is full | `tests/services/disk.py: small_disk`, then `fill` and `make_room`; it needs
  root, and CI takes its lack for a failure |
| what clients were answered, and when | `house.clients.replies`, `.accepted` |
| what a carrier got | `carrier.submits()`, `.events(…)` |
| receivers of webhooks that misbehave, and are mended | `receivers.py: hearing`, `FAULTS` |
| campaigns under way, and what must hold at their end | `campaigning.py: Under`, `all_sent`,
  `check_all` |
| doubts that are old | `house.age_doubts()` |
| a shorter and a longer form | `matrix.quick_or_long(5, 60)`; `@pytest.mark.long` where there is no
  shorter one |
| a carrier served by several processes | `house.run("carrier", "run", "carrier")`; see
  `test_several_processes.py` |

`HELIOGRAPH_TEST_FAULTS=long` chooses the long forms. A test that a row needs on one database only
takes `new_house`; `matrix.ROWS` says on which databases a row must have a result. Quick forms take
10 s at most, for `make test` has all of them.
"""
