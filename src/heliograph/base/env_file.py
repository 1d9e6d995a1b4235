"""Reads files of settings in the form of systemd's EnvironmentFile=. What stands in one counts as
if it stood in the environment, but the environment wins.

It understands the part of systemd's format (systemd.exec(5)) that stands on one line:

- empty lines, and lines that begin with # or ;
- KEY=VALUE, in which a \\ may stand before any character
- KEY="VALUE", in which a \\ stands before ", \\, ` and $
- KEY='VALUE', in which every character stands for itself

Each means the same here as there, and nothing is expanded. All else is refused, such as a value of
several lines, `export`, or something after a closing quote: systemd reads it in another way than a
shell does, or not at all.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from heliograph.base.setting_error import SettingError
from heliograph.base.short_texts import BYTE_ORDER_MARK

_SPACE: Final = " \t"
_LINE_END: Final = re.compile(r"\r\n|\n|\r")
_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_DOUBLE: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
_SINGLE: Final = re.compile(r"'([^']*)'")
_ALLOWED: Final = "KEY=VALUE, KEY=\"VALUE\" or KEY='VALUE' on one line"


@contextmanager
def apply(path: str | None) -> Iterator[None]:
    """Puts what the file says into the environment, as far as nothing else was there, for as
    long as this lasts. None means no file. Raises SettingError.
    """
    added = {
        name: value
        for name, value in (read(Path(path)) if path else {}).items()
        if name not in os.environ
    }
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def read(path: Path) -> dict[str, str]:
    """Returns the variables; the last one of a name counts. Raises SettingError, which
    tells the line and nothing that stands in it.
    """
    try:
        text = path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise SettingError(
            "HELIOGRAPH_ENV_FILE", f"{path} ({why})", "a file of lines KEY=VALUE that can be read"
        ) from error
    found = {}
    for number, line in enumerate(_LINE_END.split(text), 1):
        stripped = line.strip(_SPACE)
        if stripped and stripped[0] not in "#;":
            setting = _read_line(stripped)
            if setting.wrong:
                raise SettingError(f"{path}, line {number}", setting.wrong, _ALLOWED)
            found[setting.key] = setting.value
    return found


class _SettingLine(NamedTuple):
    """Holds what a line sets, or what is wrong with it; `wrong` is empty if nothing is."""

    key: str
    value: str = ""
    wrong: str = ""


def _read_line(line: str) -> _SettingLine:
    key, equals, value = line.partition("=")
    key, value = key.rstrip(_SPACE), value.lstrip(_SPACE)
    if not equals:
        return _SettingLine(key, wrong="a line without =")
    if key.startswith(BYTE_ORDER_MARK):
        wrong = "a byte order mark (BOM): save the file as UTF-8 without one"
        return _SettingLine(key, wrong=wrong)
    if re.match(r"export\s", key):
        return _SettingLine(key, wrong="`export`: leave it out")
    if not _KEY.fullmatch(key):
        return _SettingLine(key, wrong="something other than a name before the =")
    if "\0" in value:
        return _SettingLine(key, wrong="a zero octet")
    if value[:1] in ('"', "'"):
        quoted = (_DOUBLE if value[0] == '"' else _SINGLE).match(value)
        if quoted is None:
            return _SettingLine(key, wrong="a quote that is not closed on its line")
        if value[quoted.end() :].strip(_SPACE):
            return _SettingLine(key, wrong="something after the closing quote")
        return _SettingLine(
            key, re.sub(r'\\(["\\`$])', r"\1", quoted[1]) if value[0] == '"' else quoted[1]
        )
    if re.search(r"(?<!\\)(?:\\\\)*\\$", value):
        return _SettingLine(key, wrong="a \\ at the end of the line")
    return _SettingLine(key, re.sub(r"\\(.)", r"\1", value))
