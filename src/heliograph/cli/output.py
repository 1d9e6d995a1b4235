"""Prints records and lists for commands: as aligned text for people and as JSON for programs."""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

import click

from heliograph.cli.command import CommandRun
from heliograph.processes import colours

# Control characters, also those above ASCII; signs that turn the direction of writing, or stand for
# nothing; line separators.
_UNSEEN: Final = re.compile(
    "[\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f]+"
)


def show(run: CommandRun, record: Mapping[str, Any], note: str | None = None) -> None:
    """Prints one record. `note` is a line more, for people."""
    if run.as_json:
        return _print_json(record)
    flat = _flatten(record)
    width = max(map(len, flat))
    for name, value in flat.items():
        click.echo(f"{name:{width}}  {in_colour(value)}")
    if note is not None:
        click.echo(note)
    return None


def show_list(
    run: CommandRun,
    records: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    *,
    limit: int | None = None,
) -> None:
    """Prints a list. For people it is a table of the named columns, and where to go on when
    there may be more than the `limit` that was asked for.
    """
    if run.as_json:
        return _print_json(records)
    print_table(records, columns)
    if len(records) == limit:
        click.echo(f"There may be more: --before {records[-1]['id']}", err=True)
    return None


def warn_of_loss(words: str) -> None:
    """Says on standard error what sells below cost after a change."""
    click.echo(f"Warning: {words}.", err=True)


def print_table(records: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Prints the named columns of records, aligned."""
    rows = [
        [_flatten(record)[column.replace("_", " ")] for column in columns] for record in records
    ]
    table = [[column.upper().replace("_", " ") for column in columns], *rows]
    widths = [max(len(row[i]) for row in table) for i in range(len(columns))]
    for number, row in enumerate(table):
        cells = [
            in_colour(cell, bold=number == 0) + " " * (width - len(cell))
            for cell, width in zip(row, widths, strict=True)
        ]
        click.echo("  ".join(cells).rstrip())


def in_colour(text: str, *, bold: bool = False) -> str:
    """Returns a state in its colour, where colours are wanted."""
    colour = colours.colour_of(text)
    return (
        click.style(text, fg=colour, bold=bold or None)
        if (colour or bold) and colours.are_wanted(sys.stdout)
        else text
    )


def _print_json(document: Any) -> None:
    click.echo(json_text(document))


def json_text(document: Any) -> str:
    """Returns the document as JSON that a terminal can show: invisible characters of its texts are
    escaped, which means the same in JSON.
    """
    return _UNSEEN.sub(
        lambda found: json.dumps(found[0])[1:-1], json.dumps(document, ensure_ascii=False, indent=2)
    )


def _flatten(record: Mapping[str, Any]) -> dict[str, str]:
    """Turns `{"wallet": {"balance": 1}}` into `{"wallet balance": "1"}`; names have spaces for
    underscores.
    """
    flat: dict[str, str] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            flat |= {f"{name} {inner}": text for inner, text in _flatten(value).items()}
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
    """Returns what strangers wrote, without what a terminal would obey."""
    from heliograph.base import short_texts

    return short_texts.printable(text)
