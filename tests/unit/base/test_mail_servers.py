"""The URL of a mail server is read as it is written, and a wrong one is refused without telling
its password.
"""

from pathlib import Path

import pytest

from heliograph.base.addresses import MailServer, mail_server
from heliograph.base.setting_error import SettingError
from heliograph.base.settings import load


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("terminal:", None),
        ("smtp://mail.example", MailServer("mail.example", 587, None, None, is_tls_first=False)),
        ("smtps://mail.example/", MailServer("mail.example", 465, None, None, is_tls_first=True)),
        (
            "smtp://ama%40shop:p%2Fss%40@mail.example:2525",
            MailServer("mail.example", 2525, "ama@shop", "p/ss@", is_tls_first=False),
        ),
        ("smtps://[2001:db8::1]:1", MailServer("2001:db8::1", 1, None, None, is_tls_first=True)),
    ],
)
def test_a_url_says_which_server_takes_mail(url: str, server: MailServer | None) -> None:
    assert mail_server(url) == server


@pytest.mark.parametrize(
    "url",
    [
        "mail.example",
        "http://mail.example",
        "smtp://",
        "smtp://user@mail.example",
        "smtp://u:secret@mail.example:none",
        "smtp://u:secret@mail.example:70000",
        "smtp://u:secret@mail.example/inbox",
        "smtps://u:secret@mail.example?x=1",
        "terminal",
    ],
)
def test_a_wrong_url_stops_the_start_and_its_password_is_not_told(url: str, tmp_path: Path) -> None:
    with pytest.raises(SettingError) as refused:
        load(tmp_path, {"HELIOGRAPH_SMTP_URL": url})
    assert "HELIOGRAPH_SMTP_URL" in str(refused.value)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("address", ["", "nobody", "a@b@c", "a <b@c.example>", "a@b c"])
def test_a_wrong_sender_stops_the_start(address: str, tmp_path: Path) -> None:
    environment = {"HELIOGRAPH_MAIL_FROM": address}
    if not address:
        assert load(tmp_path, environment).mail_from is None
        return
    with pytest.raises(SettingError):
        load(tmp_path, environment)
