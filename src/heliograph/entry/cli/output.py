"""What commands print: records and lists, as aligned text for people and as JSON for programs."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import click

from heliograph.entry.cli.command import Session


def show(session: Session, record: Mapping[str, Any], note: str | None = None) -> None:
    """One record. `note` is a line more, for people."""
    if session.as_json:
        return _print_json(record)
    flat = _flattened(record)
    width = max(map(len, flat))
    for name, value in flat.items():
        click.echo(f"{name:{width}}  {value}")
    if note is not None:
        click.echo(note)
    return None


def show_list(session: Session, records: Sequence[Mapping[str, Any]], columns: Sequence[str], *, limit: int | None = None) -> None:
    """A list. For people a table of the named columns, and where to go on when there may be more than the `limit` that was asked for."""
    if session.as_json:
        return _print_json(records)
    print_table(records, columns)
    if len(records) == limit:
        click.echo(f"There may be more: --before {records[-1]['id']}", err=True)
    return None


def print_table(records: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """The named columns of records, aligned."""
    rows = [[_flattened(record)[column.replace("_", " ")] for column in columns] for record in records]
    table = [[column.upper().replace("_", " ") for column in columns], *rows]
    widths = [max(len(row[i]) for row in table) for i in range(len(columns))]
    for row in table:
        click.echo("  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())


def _print_json(document: Any) -> None:
    click.echo(json.dumps(document, ensure_ascii=False, indent=2))


def _flattened(record: Mapping[str, Any]) -> dict[str, str]:
    """`{"wallet": {"balance": 1}}` → `{"wallet balance": "1"}`; names with spaces for underscores."""
    flat: dict[str, str] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            flat |= {f"{name} {inner}": text for inner, text in _flattened(value).items()}
        else:
            flat[name.replace("_", " ")] = _text(value)
    return flat


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ",".join(map(_text, value)) or "-"
    if value == "":
        return '""'
    return printable(str(value))


def printable(text: str) -> str:
    """What strangers wrote, without what a terminal would obey."""
    from heliograph.base.lines import is_printable

    return text if is_printable(text) else "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)
