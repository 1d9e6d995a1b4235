"""Defines the commands `heliograph ledger …`."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from heliograph.cli.carriers.ledger_export import export
from heliograph.cli.command import CommandRun, Noun, examples
from heliograph.cli.failure import Failure
from heliograph.cli.output import show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Connection

    from heliograph.audit import Audit, SmscLog
    from heliograph.wallet import Discrepancy

command = Noun(
    "ledger",
    help="The ledger: every change of money and credits, in entries that are only ever added.",
)
command.add_command(export)


@command.command(
    "verify",
    epilog=examples(
        "ledger verify", "ledger verify --smsc-log smsc.jsonl --accepted accepted.txt --json"
    ),
)
@click.option(
    "--smsc-log",
    "smsc_logs",
    metavar="FILE",
    multiple=True,
    type=click.Path(path_type=Path),
    help=(
        "What `heliograph smsc --log` wrote. Once for each SMSC, all of them; of a log that was"
        " rotated, its pieces oldest first."
    ),
)
@click.option(
    "--accepted",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Ids of messages, msg_…, one a line: clients were answered 200 for each of them.",
)
def verify(run: CommandRun, smsc_logs: "Sequence[Path]", accepted: Path | None) -> None:
    """Prove the ledger, and say what does not agree. Wallets are the sum of their entries, charges
    and refunds are those of the messages, and nothing is below zero. Each campaign's statistics are
    what its messages add up to. Each state that a message has reached is one webhook event, for
    each endpoint that was made a minute or longer before, and there are no other events.

    With one of the options it proves the messages too: each accepted message has ended, is sent, or
    waits in a queue from which it goes on. Logs of SMSCs, which are for tests, are compared with
    the messages: what an SMSC took is what was sent, what it refused or did not answer was at most
    sent again, and what it reported is known. Lines of a log that are dated later than now need no
    reason, because they came while the command ran. If they are dated 5 minutes later or more, they
    are a finding.

    It works beside a running server. If something is wrong, the exit status is 1, and the output
    says what is wrong with which account or message.
    """
    proof = _prove(run, smsc_logs, accepted)
    show(run, _record(proof, as_json=run.as_json))
    if proof.discrepancies and not run.as_json:
        click.echo("\n".join(f"{account_id}: {what}" for account_id, what in proof.discrepancies))
    _say(proof.audited)
    if proof.discrepancies:
        account_id, what = proof.discrepancies[0]
        more = len(proof.discrepancies) - 1
        raise Failure(
            f"The ledger is not proven: account {account_id}: {what}"
            + (f" (and {more} more)" if more else "")
        )
    if proof.audited is not None and not proof.audited.is_clean:
        raise Failure(
            f"The messages are not proven: {proof.audited.figures['lost']} lost,"
            f" {proof.audited.figures['unexplained']} unexplained."
        )


class _Proof(NamedTuple):
    """Holds what was looked at, and what is wrong. `promised` is how many ids --accepted names, or
    None without it. `discrepancies` have the id of the account as it is shown, and what is wrong.
    `audited` is None if nothing was asked about messages.
    """

    counts: dict[str, int]
    promised: int | None
    discrepancies: list[tuple[str, str]]
    audited: "Audit | None"


def _prove(run: CommandRun, smsc_logs: "Sequence[Path]", accepted: Path | None) -> _Proof:
    from heliograph.audit import audit, events_size, prove
    from heliograph.base import clock
    from heliograph.database.postgresql.snapshot import read_one_snapshot
    from heliograph.wallet import size

    promised = _read_accepted(accepted) if accepted else set[str]()
    asked_ms = clock.now_ms()
    with run.read() as tx:
        read_one_snapshot(tx)
        found = prove(tx, asked_ms)
        counts = size(tx) | {"webhook_events": events_size(tx)}
        discrepancies = _with_shown_ids(tx, found)
        log = _read_logs(smsc_logs, asked_ms)
        audited = audit(tx, log, promised) if smsc_logs or accepted else None
    return _Proof(counts, len(promised) if accepted else None, discrepancies, audited)


def _record(proof: _Proof, *, as_json: bool) -> dict[str, object]:
    """Returns what is printed of a proof; in JSON also all that is wrong."""
    audited = proof.audited
    is_proven = not proof.discrepancies and (audited is None or audited.is_clean)
    record: dict[str, object] = {"proven": is_proven, **proof.counts}
    if proof.promised is not None:
        record["promised"] = proof.promised
    if audited is not None:
        record |= audited.figures
    if as_json:
        record["discrepancies"] = [
            {"account_id": account_id, "what": what} for account_id, what in proof.discrepancies
        ]
        if audited is not None:
            record["findings"] = [finding._asdict() for finding in audited.findings]
    return record


def _say(audited: "Audit | None") -> None:
    """Prints, on standard error, the first ones of what is wrong with messages."""
    if audited is None:
        return
    for finding in audited.findings:
        click.echo(f"{finding.kind}: {finding.where}: {finding.what}", err=True)
    more = audited.figures["lost"] + audited.figures["unexplained"] - len(audited.findings)
    if more:
        click.echo(f"and {more} more", err=True)


def _read_logs(paths: "Sequence[Path]", asked_ms: int) -> "SmscLog | None":
    from heliograph.audit import NotALog, read_logs

    for path in paths:
        if paths.count(path) > 1:
            raise click.BadParameter(
                f"{path} is named twice; each log counts once.", param_hint="--smsc-log"
            )
    try:
        return read_logs(paths, asked_ms) if paths else None
    except OSError as error:
        raise click.BadParameter(
            f"{error.filename} cannot be read: {error.strerror}.", param_hint="--smsc-log"
        ) from error
    except NotALog as error:
        raise click.BadParameter(f"{error}.", param_hint="--smsc-log") from error


def _read_accepted(path: Path) -> set[str]:
    """Returns raw ids. A file without any proves nothing, and is more often one that nobody
    wrote.
    """
    from heliograph.base import ids
    from heliograph.messages.read import MESSAGE_PREFIX

    promised: set[str] = set()
    try:
        with path.open(encoding="ascii", errors="replace") as file:
            for number, line in enumerate(file, 1):
                raw = ids.raw_of_text(MESSAGE_PREFIX, line.strip())
                if raw is None:
                    raise click.BadParameter(
                        f"{path} line {number}: found no id of a message (allowed: msg_…, one a"
                        " line).",
                        param_hint="--accepted",
                    )
                promised.add(raw)
    except OSError as error:
        raise click.BadParameter(
            f"{path} cannot be read: {error.strerror}.", param_hint="--accepted"
        ) from error
    if not promised:
        raise click.BadParameter(
            f"{path} is empty: found no id of a message (allowed: msg_…, one a line, at least"
            " one).",
            param_hint="--accepted",
        )
    return promised


def _with_shown_ids(tx: "Connection", found: "Sequence[Discrepancy]") -> list[tuple[str, str]]:
    """Returns discrepancies with the accounts' ids as they are shown."""
    from heliograph.accounts import by_id, text_id
    from heliograph.base.errors import NotFound

    rows = []
    for account_id, what in found:
        try:
            shown_id = text_id(by_id(tx, account_id))
        except NotFound:  # of an entry's counterpart: nothing keeps that from being anything
            shown_id = account_id
        rows.append((shown_id, what))
    return rows
