"""What is understood of an env file means the same to systemd, and a bad line is told without what
stands in it.
"""

import os
from pathlib import Path

import pytest

from heliograph.base.env_file import apply, read
from heliograph.base.settings import SettingError

UNDERSTOOD = r"""
# a comment
; another one
A=plain
  B  =  spaces around, and within
C=a # is no comment here; nor is ;
D="quoted \"twice\" \$HOME \` \\ \n"
E='as it stands: \n "$HOME" #'
F=
G=""
H=back\slash \"one
I=a=b==
J=it's
K="  kept  "
A=the last one counts
_l1=ё€
"""
MEANT = {
    "A": "the last one counts",
    "B": "spaces around, and within",
    "C": "a # is no comment here; nor is ;",
    "D": 'quoted "twice" $HOME ` \\ \\n',
    "E": 'as it stands: \\n "$HOME" #',
    "F": "",
    "G": "",
    "H": 'backslash "one',
    "I": "a=b==",
    "J": "it's",
    "K": "  kept  ",
    "_l1": "ё€",
}


def written(directory: Path, text: str) -> Path:
    path = directory / "heliograph.env"
    path.write_bytes(text.encode())
    return path


def test_what_is_understood(tmp_path: Path) -> None:
    assert read(written(tmp_path, UNDERSTOOD)) == MEANT
    assert read(written(tmp_path, UNDERSTOOD.replace("\n", "\r\n"))) == MEANT


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("hunter2", "a line without ="),
        ("export A=hunter2", "`export`: leave it out"),
        ("1A=hunter2", "something other than a name before the ="),
        ("=hunter2", "something other than a name before the ="),
        ("\ufeffA=hunter2", "a byte order mark (BOM): save the file as UTF-8 without one"),
        ("HUNTER-2=hunter2", "something other than a name before the ="),
        ('A="hunter2', "a quote that is not closed on its line"),
        ("A='hunter2", "a quote that is not closed on its line"),
        ('A="hunter2\\"', "a quote that is not closed on its line"),
        ('A="hunter2" hunter2', "something after the closing quote"),
        ("A='hunter2'hunter2", "something after the closing quote"),
        ("A=hunter2\\", "a \\ at the end of the line"),
        ("A=hunter2\0", "a zero octet"),
    ],
)
def test_a_bad_line_is_told_by_its_number_and_nothing_of_it_is_shown(
    line: str, wrong: str, tmp_path: Path
) -> None:
    path = written(tmp_path, f"# first\nB=1\n{line}\n")
    with pytest.raises(SettingError) as refused:
        read(path)
    assert (
        str(refused.value)
        == f"{path}, line 3: found {wrong}; allowed: KEY=VALUE, KEY=\"VALUE\" or KEY='VALUE' on one"
        " line"
    )
    assert "hunter2" not in str(refused.value).lower()


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for path, why in (
        (tmp_path / "none", "No such file or directory"),
        (tmp_path, "Is a directory"),
    ):
        with pytest.raises(SettingError) as refused:
            read(path)
        assert (
            str(refused.value)
            == f"HELIOGRAPH_ENV_FILE: found {path} ({why}); allowed: a file of lines KEY=VALUE that"
            " can be read"
        )
    (tmp_path / "latin1").write_bytes(b"A=\xe9\n")
    with pytest.raises(SettingError, match="it is not UTF-8"):
        read(tmp_path / "latin1")


def test_the_environment_wins_and_is_afterwards_what_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELIOGRAPH_LOG_LEVEL", "error")
    monkeypatch.setenv("REDIS_URL", "")  # set to nothing
    monkeypatch.delenv("PGSSLMODE", raising=False)
    before = dict(os.environ)
    with apply(
        str(
            written(
                tmp_path, "HELIOGRAPH_LOG_LEVEL=debug\nREDIS_URL=redis://a\nPGSSLMODE=require\n"
            )
        )
    ):
        assert (
            os.environ["HELIOGRAPH_LOG_LEVEL"],
            os.environ["REDIS_URL"],
            os.environ["PGSSLMODE"],
        ) == ("error", "", "require")
    assert dict(os.environ) == before
    with apply(None):
        assert dict(os.environ) == before
