"""A sender ID has documents: the tests ask what may be attached, by whom and for how long."""

from pathlib import Path

import pytest

from heliograph import accounts, senders
from heliograph.base import clock
from heliograph.base.errors import InvalidRequest, NotFound
from heliograph.database.database import Database
from heliograph.jobs import close_account
from heliograph.jobs.pruning import prune_all
from heliograph.senders import documents
from heliograph.senders.documents import DOCUMENTS_KEPT_MS, DOCUMENTS_PER_ACCOUNT_MAX
from tests.support.capability.commands import Run
from tests.support.console.operators import PDF, attached, waiting_sender
from tests.support.factories import open_account

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + b"\x00" * 17
JPEG = b"\xff\xd8\xff\xe0" + b"\x00" * 20 + b"\xff\xd9"


def documents_in(db: Database, sender: str) -> list[tuple[str, str, int]]:
    with db.read() as tx:
        found = documents.of_sender(tx, senders.find(tx, sender))
    return [(each.name, each.media_type, each.octets) for each in found]


def test_a_document_is_kept_as_it_came_and_named_for_what_it_is(
    db: Database, amina_id: str
) -> None:
    sender = waiting_sender(db, amina_id)
    for name, content in (
        ("C:\\scans\\letter of the bank.PDF", PDF),
        ("../../etc/passwd", PNG),
        ("shop\r\n\u202egpj.exe", JPEG),
        ("", PNG),
        ("n" * 300 + ".html", PDF),
    ):
        document = attached(db, amina_id, sender, name, content)
        with db.read() as tx:
            assert documents.content_of(tx, document) == content
    kept = documents_in(db, sender)
    assert [name for name, _, _ in kept[:2]] == ["letter of the bank.pdf", "passwd.png"]
    assert [kind for _, kind, _ in kept] == [
        "application/pdf",
        "image/png",
        "image/jpeg",
        "image/png",
        "application/pdf",
    ]
    assert all(name.isprintable() and len(name) <= 100 and "/" not in name for name, _, _ in kept)
    assert kept[2][0].endswith(".jpg")
    assert kept[3][0] == "document.png"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<html><script>alert(1)</script>",
        b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
        b"GIF89a" + b"\x00" * 20,
        b"MZ\x90\x00" + PDF,
        b" " + PDF,
        b"%PDF-1.4\nno end",
        b"\x89PNG\r\n\x1a\n<script>",
        b"\xff\xd8\xff<script>alert(1)</script>",
        b"PK\x03\x04" + b"\x00" * 40,
        PDF + b"\x00" * documents.OCTETS_MAX,
    ],
    ids=[
        *("nothing", "a page", "a drawing", "a GIF", "a program", "a PDF behind a space"),
        *("half a PDF", "a false PNG", "a false JPEG", "an archive", "too large"),
    ],
)
def test_what_is_no_such_document_is_refused_whatever_its_name(
    db: Database, amina_id: str, content: bytes
) -> None:
    sender = waiting_sender(db, amina_id)
    with pytest.raises(InvalidRequest) as refused:
        attached(db, amina_id, sender, "letter.pdf", content)
    assert refused.value.fields[0].field == "file"
    assert documents_in(db, sender) == []


def test_a_sender_id_has_five_and_an_account_fifty(db: Database, amina_id: str) -> None:
    for number in range(DOCUMENTS_PER_ACCOUNT_MAX // 5):
        sender = waiting_sender(db, amina_id, f"SHOP{number}")
        for _ in range(5):
            attached(db, amina_id, sender)
        with pytest.raises(InvalidRequest, match="a sender ID has at most 5"):
            attached(db, amina_id, sender)
    last = waiting_sender(db, amina_id, "LAST")
    with pytest.raises(InvalidRequest, match="an account has at most 50"):
        attached(db, amina_id, last)


def test_only_the_account_and_only_while_it_waits(db: Database, amina_id: str) -> None:
    sender, chidi = waiting_sender(db, amina_id), open_account(db, "chidi")
    document = attached(db, amina_id, sender)
    for theirs in (waiting_sender(db, chidi, "CHIDISHOP"), "sid_1", "acc_1"):
        with db.write() as tx, pytest.raises(NotFound):
            documents.detach(tx, chidi, theirs, document.text_id)
    with pytest.raises(NotFound):
        attached(db, chidi, sender)
    with db.write() as tx:
        senders.approve(tx, senders.find(tx, sender).id, now_ms=clock.now_ms())
    with pytest.raises(InvalidRequest, match="does not wait"):
        attached(db, amina_id, sender)
    with db.write() as tx, pytest.raises(InvalidRequest, match="does not wait"):
        documents.detach(tx, amina_id, sender, document.text_id)
    assert len(documents_in(db, sender)) == 1


def test_what_was_decided_on_stays_when_the_sender_id_is_registered_again(
    db: Database, amina_id: str
) -> None:
    sender = waiting_sender(db, amina_id)
    decided_on = attached(db, amina_id, sender)
    clock.move(1_000)
    with db.write() as tx:
        senders.reject(tx, senders.find(tx, sender).id, "Unsigned.", now_ms=clock.now_ms())
    clock.move(1_000)
    assert waiting_sender(db, amina_id) == sender
    later = attached(db, amina_id, sender)
    with db.write() as tx, pytest.raises(InvalidRequest, match="somebody has decided on it"):
        documents.detach(tx, amina_id, sender, decided_on.text_id)
    with db.write() as tx:
        documents.detach(tx, amina_id, sender, later.text_id)
        kept = documents.of_sender(tx, senders.find(tx, sender))
    assert kept == [decided_on]


def test_one_more_can_be_attached_when_five_were_decided_on(db: Database, amina_id: str) -> None:
    """Who is asked for another document cannot remove those, and has to send it."""
    sender = waiting_sender(db, amina_id)
    for _ in range(5):
        attached(db, amina_id, sender)
    clock.move(1_000)
    with db.write() as tx:
        senders.reject(tx, senders.find(tx, sender).id, "No letter.", now_ms=clock.now_ms())
    clock.move(1_000)
    waiting_sender(db, amina_id)
    for _ in range(5):
        attached(db, amina_id, sender)
    with pytest.raises(InvalidRequest, match="a sender ID has at most 5"):
        attached(db, amina_id, sender)


@pytest.mark.anyio
async def test_documents_go_after_their_days_and_with_their_account(
    db: Database, amina_id: str
) -> None:
    sender, chidi = waiting_sender(db, amina_id), open_account(db, "chidi", credits=0)
    theirs = waiting_sender(db, chidi, "CHIDISHOP")
    attached(db, amina_id, sender)
    clock.move(by_ms=DOCUMENTS_KEPT_MS - 60_000)
    attached(db, chidi, theirs)
    await prune_all(db)
    assert len(documents_in(db, sender)) == 1
    clock.move(by_ms=120_000)
    await prune_all(db)
    await db.close_hot()
    assert documents_in(db, sender) == []
    assert len(documents_in(db, theirs)) == 1
    with db.write() as tx:
        close_account.close(tx, chidi, "asked", "kofi", now_ms=clock.now_ms())
    assert documents_in(db, theirs) == []
    with db.read() as tx:
        assert accounts.by_id(tx, chidi).closed_at_ms is not None


def test_the_command_lists_and_saves_them_and_overwrites_nothing(
    db: Database, amina_id: str, run: Run, tmp_path: Path
) -> None:
    sender = waiting_sender(db, amina_id)
    document = attached(db, amina_id, sender, "../letter.html")
    (listed,) = run("sender", "documents", sender, "--json").json
    assert (listed["id"], listed["name"], listed["octets"]) == (
        document.text_id,
        "letter.pdf",
        len(PDF),
    )
    folder = tmp_path / "shop"
    (saved,) = run("sender", "documents", sender, "--save", str(folder), "--json").json
    assert saved["saved"] == str(folder / f"{document.text_id}.pdf")
    assert Path(saved["saved"]).read_bytes() == PDF
    assert Path(saved["saved"]).stat().st_mode & 0o777 == 0o600
    again = run("sender", "documents", sender, "--save", str(folder))
    assert (again.status, again.out) == (1, "")
    assert "exists already" in again.err
