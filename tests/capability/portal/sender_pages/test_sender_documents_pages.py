"""Documents of a sender ID are attached in the portal, and looked at there and in the console."""

import secrets

import pytest

from heliograph import senders
from heliograph.accounts import audit_log
from heliograph.base import clock
from heliograph.base.paging import PageWanted
from heliograph.database.database import Database
from heliograph.senders import documents
from heliograph.users import Role
from tests.support.console.operators import PDF, attached, waiting_sender
from tests.support.factories import open_account
from tests.support.portal.visitor import EMAIL, Visitor, home_of


def upload(visitor: Visitor, path: str, content: bytes, name: str = "letter.pdf") -> int:
    visitor.get(path)
    return int(
        visitor.post_as_it_is(
            path,
            data={"form_token": visitor.token, "once": secrets.token_urlsafe()},
            files={"file": (name, content, "text/html")},
        ).status_code
    )


def test_a_document_is_attached_saved_and_removed(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    sender = waiting_sender(db, amina_id)
    path = f"{home}/senders/{sender}/documents"
    assert f'href="{path}"' in visitor.get(f"{home}/senders").text
    assert upload(visitor, path, PDF, '"><script>.html') == 303
    page = visitor.get(path)
    assert "<script>" not in page.text
    with db.read() as tx:
        (document,) = documents.of_sender(tx, senders.find(tx, sender))
    saved = visitor.get(f"{path}/{document.text_id}/file")
    assert saved.content == PDF
    assert saved.headers["content-type"] == "application/pdf"
    assert saved.headers["x-content-type-options"] == "nosniff"
    assert saved.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert saved.headers["content-disposition"] == (
        f'attachment; filename="{document.text_id}.pdf"'
    )
    visitor.get(path)
    assert visitor.post(f"{path}/{document.text_id}").status_code == 303
    assert "No document is attached." in visitor.get(path).text
    with db.read() as tx:
        logged = audit_log.page(tx, amina_id, PageWanted(2, None))
    assert [each.entry.action for each in logged] == ["sender.detach", "sender.attach"]


@pytest.mark.parametrize(
    ("contents", "said"),
    [
        ([PDF] * 6, "A form may have 5 files."),
        ([b"%PDF-" + b"0" * (3 << 20)] * 2, "must have at most 5 MiB together, not 6.01 MiB"),
    ],
    ids=["six", "two of 3 MiB"],
)
def test_too_many_files_and_too_large_ones_are_told_apart(
    visitor: Visitor, home: str, contents: list[bytes], said: str
) -> None:
    visitor.get(f"{home}/senders")
    refused = visitor.post_as_it_is(
        f"{home}/senders",
        data={"form_token": visitor.token, "sender": "AMINASHOP", "mode": "live"},
        files=[("file", ("letter.pdf", content, "application/pdf")) for content in contents],
    )
    assert refused.status_code >= 400
    assert said in refused.text


def test_a_sender_id_is_registered_with_its_documents_or_not_at_all(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    def register(sender: str, mode: str, *contents: bytes) -> int:
        visitor.get(f"{home}/senders")
        return int(
            visitor.post_as_it_is(
                f"{home}/senders",
                data={
                    "form_token": visitor.token,
                    "once": secrets.token_urlsafe(),
                    "sender": sender,
                    "mode": mode,
                },
                files=[("file", (f"{k}.pdf", content)) for k, content in enumerate(contents)]
                or [("file", ("", b""))],  # as browsers send a field in which none was chosen
            ).status_code
        )

    def kept() -> dict[str, list[str]]:
        with db.read() as tx:
            return {
                sender.sender: [each.name for each in documents.of_sender(tx, sender)]
                for sender in senders.page(tx, limit=9, account_id=amina_id)
            }

    before = kept()
    assert register("ONE", "live", PDF, b"<script>") == 400
    assert register("ONE", "live", *[PDF] * 6) == 400
    assert register("ONE", "sandbox", PDF) == 400, "nobody decides on it"
    half = b"%PDF-" + b"\x00" * (documents.OCTETS_MAX // 2 + 32 * 1_024) + b"%%EOF"
    assert register("ONE", "live", half, half) == 413
    assert kept() == before
    assert register("ONE", "live") == 303
    assert register("TWO", "live", *[PDF] * 5) == 303
    assert kept() == before | {"ONE": [], "TWO": [f"{k}.pdf" for k in range(5)]}


def test_what_was_decided_on_has_no_button_that_removes_it(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    sender = waiting_sender(db, amina_id)
    decided_on = attached(db, amina_id, sender)
    with db.write() as tx:
        senders.reject(tx, senders.find(tx, sender).id, "Unsigned.", now_ms=clock.now_ms())
    clock.move(1_000)
    waiting_sender(db, amina_id)
    later = attached(db, amina_id, sender)
    path = f"{home}/senders/{sender}/documents"
    page = visitor.get(path).text
    assert f'action="{path}/{later.text_id}"' in page
    assert f'action="{path}/{decided_on.text_id}"' not in page
    assert "decided on, and kept" in page
    refused = visitor.post(f"{path}/{decided_on.text_id}")
    assert (refused.status_code, "somebody has decided on it" in refused.text) == (400, True)


@pytest.mark.parametrize("content", [b"<script>", b"", PDF + b"\x00" * documents.OCTETS_MAX])
def test_what_may_not_be_attached_is_told(
    visitor: Visitor, db: Database, amina_id: str, home: str, content: bytes
) -> None:
    sender = waiting_sender(db, amina_id)
    path = f"{home}/senders/{sender}/documents"
    assert upload(visitor, path, content) in (400, 413)
    with db.read() as tx:
        assert documents.of_sender(tx, senders.find(tx, sender)) == []


@pytest.mark.parametrize("role", list(Role))
def test_who_registers_sender_ids_attaches_and_all_members_look(
    visitor: Visitor, db: Database, amina_id: str, role: Role
) -> None:
    visitor.sign_in(EMAIL, amina_id, role)
    sender = waiting_sender(db, amina_id)
    document = attached(db, amina_id, sender)
    path = f"{home_of(db, amina_id)}/senders/{sender}/documents"
    may = role in (Role.OWNER, Role.MARKETER)
    assert ("Attach a document" in visitor.get(path).text) == may
    assert upload(visitor, path, PDF) == (303 if may else 403)
    assert visitor.get(f"{path}/{document.text_id}/file").status_code == 200


def test_another_accounts_documents_are_not_found(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    chidi = open_account(db, "chidi")
    theirs = waiting_sender(db, chidi, "CHIDISHOP")
    document, own = attached(db, chidi, theirs), waiting_sender(db, amina_id)
    for sender in (theirs, own):
        path = f"{home}/senders/{sender}/documents/{document.text_id}"
        assert visitor.get(f"{path}/file").status_code == 404
        visitor.get(home)
        # at the account's own sender ID as for one that was removed already
        assert visitor.post(path).status_code == (303 if sender == own else 404)
    with db.read() as tx:
        assert documents.find(tx, senders.own_sender(tx, chidi, theirs), document.text_id)
    with db.write() as tx:
        senders.approve(tx, senders.find(tx, own).id, now_ms=clock.now_ms())
    assert upload(visitor, f"{home}/senders/{own}/documents", PDF) == 400
