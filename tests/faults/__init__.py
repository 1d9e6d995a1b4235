"""Each row of the fault matrix is a test that does that very fault to real processes, and ends with
the checker.

    make faults                   all rows in their long forms, then the matrix;
                                  it fails when a row has no result
    make test                     the same tests in their quick forms, on PostgreSQL alone
                                  where they are for both
    make test ARGS="tests/faults/carriers/test_reset.py"     one of them

A row is a test in a file of its own kind (`test_reset.py`, `test_receipts.py`), marked with its
number:

    @pytest.mark.fault(16)
    def test_a_reset_with_a_full_window_charges_once(deployment: Deployment) -> None:
        # heliograph smsc as a process, behind a proxy, with a route to it
        carrier = deployment.carrier("--answer-delay-ms", "250", window=10)
        # serve on SQLite; api and worker on PostgreSQL with Redis
        deployment.start()
        # good clients: they have Idempotency-Keys, and ask again
        with deployment.clients.sending(per_second=50):
            deployment.until(lambda: carrier.waiting()[0] == 10, "the window is full")
            carrier.proxy.cut()  # the fault
            back_s = deployment.until(lambda: carrier.proxy.open, "bound again")
        # settles, stops, lets the checker look, and remembers for the matrix
        deployment.holds(repeated_max=10, recovered_s=back_s, how="…")

What a row can use is in `tests/support/faults/`, unless the list says otherwise:

- A connection that is cut, refused, swallowed or delayed, and a chosen reply that is lost:
  `proxy.py: Proxy`, `deployment.database_proxy()`, `.redis_proxy()`; each carrier has one.
- An SMSC that misbehaves: `deployment.carrier("--chaos", "throttle=0.5")`, or with `script=`; see
  `heliograph smsc --help`.
- A process that is killed or stopped: `deployment.sender.process.kill()`,
  `.send_signal(signal.SIGSTOP)`; one more process: `deployment.run("worker")`.
- A PostgreSQL or Redis of the test's own, to kill:
  `new_deployment("postgresql", url=private_postgres.url)` after `migrate.upgrade`;
  `tests/conftest.py`.
- A process under another clock: `deployment.env |= fake_time(FAKETIME="+0 x60")` before `start`;
  `tests/support/services/faketime.py`.
- A disk that is full: `tests/support/services/disk.py: small_disk`, then `fill` and `make_room`.
  It needs root, and CI takes its lack for a failure.
- What clients were answered, and when: `deployment.clients.replies`, `.accepted`.
- What a carrier got: `carrier.submits()`, `.events(…)`.
- Receivers of webhooks that misbehave, and are mended: `receivers.py: hearing`, `FAULTS`.
- Campaigns under way, and what must hold at their end: `campaigning.py: Under`, `all_sent`,
  `check_all`.
- Doubts that are old: `deployment.age_doubts()`.
- A shorter and a longer form: `matrix.quick_or_long(5, 60)`; `@pytest.mark.long` where there is no
  shorter one.
- A carrier that several processes serve: `deployment.run("carrier", "run", "carrier")`; see
  `test_several_processes.py`.

`HELIOGRAPH_TEST_FAULTS=long` chooses the long forms. A test that a row needs on one database only
takes `new_deployment`; `matrix.ROWS` says on which databases a row must have a result. Quick forms
take 10 s at most, for `make test` has all of them.
"""
