"""French pages show the words of a carrier or a person as they are, within sentences of ours."""

from collections.abc import Iterator

import pytest

from heliograph.accounts.audit_log import AuditEntry, Author, AuthorKind, StoredEntry
from heliograph.messages.carrier.settle import NOT_ENCODED
from heliograph.messages.doubt.decide import BY_OPERATOR
from heliograph.messages.states import ERROR_MESSAGES
from heliograph.portal import languages
from heliograph.portal.languages import failures
from heliograph.portal.settings_pages.audit_details import detail_words


@pytest.fixture(autouse=True)
def _in_french() -> Iterator[None]:
    languages.use_language("fr")
    yield
    languages.use_language(languages.USUAL)


@pytest.mark.parametrize("sentence", ERROR_MESSAGES.values())
def test_a_failure_is_told_beside_the_carriers_words(sentence: str) -> None:
    told = failures.told_failure(f"{sentence} (UNDELIV, error 001)")
    assert told == (languages.translated(sentence), "UNDELIV, error 001")
    assert told.words != sentence
    for ours in (NOT_ENCODED, BY_OPERATOR):
        told = failures.told_failure(f"{sentence} {ours}")
        assert told.words.endswith(languages.translated(ours))
        assert (ours in failures.OURS, ours in told.words, told.carrier) == (True, False, "")


def test_a_failure_that_nobody_knows_is_marked_as_english() -> None:
    assert failures.told_failure("Unheard-of").words == '<span lang="en">Unheard-of</span>'
    assert failures.failure_words("gone") == "gone"


@pytest.mark.parametrize(
    ("kind", "action", "detail", "french"),
    [
        ("user", "settings.change", "name: viewer → none", "nom\u00a0: viewer → none"),
        (
            "user",
            "settings.change",
            "countries: none → GH, NG",
            "pays autorisés\u00a0: aucun → GH, NG",
        ),
        ("user", "member.role", "live@viewer.example viewer", "live@viewer.example lecteur"),
        ("user", "campaign.pause", "live: paused", "live: paused"),
        ("user", "webhook.remove", "live", "live"),
        ("operator", "account.rename", "suspended", "suspended"),
        ("operator", "campaign.pause", "live: paused", "live\u00a0: en pause"),
    ],
)
def test_a_detail_of_the_audit_log_keeps_what_people_wrote(
    kind: str, action: str, detail: str, french: str
) -> None:
    author = Author(AuthorKind(kind), "0" * 32, "amina@example.com")
    stored = StoredEntry("0" * 32, author, AuditEntry(action, None, detail))
    assert detail_words(stored) == french
    languages.use_language(languages.USUAL)
    assert detail_words(stored) == detail
