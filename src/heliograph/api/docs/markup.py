"""Turns the description's texts into HTML: the part of CommonMark that they use, and JSON in
colours. Everything is escaped first.
"""

import json
import re
from typing import Any, Final

from markupsafe import Markup, escape

_CODE: Final = re.compile(r"`([^`]+)`")
_TOKEN: Final = re.compile(
    r'(?P<key>"(?:[^"\\]|\\.)*")(?=\s*:)|(?P<string>"(?:[^"\\]|\\.)*")'
    r"|(?P<number>-?\b\d+(?:\.\d+)?\b)|(?P<word>\b(?:true|false|null)\b)"
)


def markup(text: str) -> Markup:
    """Renders paragraphs, `##` and `###` headings, lists, tables, fenced code without empty lines,
    and code spans.
    """
    return Markup("\n").join(_block(block.strip()) for block in text.split("\n\n") if block.strip())


def anchor(title: str) -> str:
    """Returns the id that a heading has in HTML: its words in lower case, joined by hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def code(text: str) -> Markup:
    """Returns a text in which only code spans mean something."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704  escaped first


def json_markup(value: Any) -> Markup:
    """Returns a value as indented JSON, with each kind of token in a class of its own."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    parts, end = [], 0
    for token in _TOKEN.finditer(text):
        parts.append(escape(text[end : token.start()]))
        parts.append(Markup('<span class="{}">{}</span>').format(token.lastgroup, token.group()))
        end = token.end()
    return Markup("").join([*parts, escape(text[end:])])


def _block(block: str) -> Markup:
    if block.startswith("## "):
        return Markup('<h2 id="{}">{}</h2>').format(anchor(block[3:]), block[3:])
    if block.startswith("### "):
        return Markup("<h3>{}</h3>").format(code(block[4:]))
    if block.startswith("- "):
        items = [code(item.removeprefix("- ")) for item in block.split("\n")]
        return Markup("<ul>{}</ul>").format(
            Markup("").join(Markup("<li>{}</li>").format(item) for item in items)
        )
    if block.startswith("```"):
        return Markup(
            '<figure class="code"><pre tabindex="0"><code>{}</code></pre></figure>'
        ).format("\n".join(block.split("\n")[1:-1]))
    if block.startswith("| "):
        return _table(
            [[cell.strip() for cell in line.strip("|").split("|")] for line in block.split("\n")]
        )
    return Markup("<p>{}</p>").format(code(block))


def _table(rows: list[list[str]]) -> Markup:
    head, _, *body = rows

    return Markup(
        '<div class="scroll"><table><thead>{}</thead><tbody>{}</tbody></table></div>'
    ).format(
        _row(head, Markup("<th>{}</th>")),
        Markup("").join(_row(cells, Markup("<td>{}</td>")) for cells in body),
    )


def _row(cells: list[str], cell: Markup) -> Markup:
    return Markup("<tr>{}</tr>").format(Markup("").join(cell.format(code(text)) for text in cells))
