"""What a trial of a bind has found is told in words that an operator understands."""

import pytest

from heliograph.carriers import LinkState
from heliograph.carriers.smpp import SmppSettings
from heliograph.console.carrier_pages.bind_words import trial_in_words

SETTINGS = SmppSettings(
    name="gh-main", host="smpp.example.net", port=2775, system_id="amina", password="s3cret"
)


@pytest.mark.parametrize(
    ("detail", "said"),
    [
        # of a mail server, a web server and PostgreSQL, tried without TLS
        (
            "framing lost: command_length 842149920",
            "what answers there does not speak SMPP, or speaks it over TLS only",
        ),
        # of the first two, tried with TLS
        (
            "cannot connect: [SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)",
            "what answers there does not speak TLS",
        ),
        (
            "cannot connect: [Errno 111] Connect call failed ('192.0.2.1', 2775)",
            "nothing listens there, or a firewall refuses us",
        ),
        ("cannot connect: [Errno -2] Name or service not known", "Name or service not known"),
    ],
)
def test_why_it_could_not_be_bound_is_told_in_plain_words(detail: str, said: str) -> None:
    tried = trial_in_words(SETTINGS, LinkState.BACKING_OFF, detail)
    assert tried.sentence == f"smpp.example.net:2775 could not be bound: {said}."
