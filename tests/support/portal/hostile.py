"""Lists forty texts that somebody could give a name to, so that a page does something else with it
than show it; and reads what a page is made of, whatever it shows.
"""

from html.parser import HTMLParser
from typing import Final

HOSTILE: Final = (
    # markup
    "<script>alert(1)</script>",
    "'\"><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)" x="',
    "' autofocus onfocus='alert(1)",
    "</title><script>alert(1)</script>",
    "</textarea><script>alert(1)</script>",
    "</select></form><form action=//evil.example>",
    "<!--",
    "-->",
    "<![CDATA[<b>]]>",
    "<svg/onload=alert(1)>",
    "<a href=javascript:alert(1)>x</a>",
    "<meta http-equiv=refresh content=0>",
    "<base href=//evil.example>",
    "&lt;script&gt;&#60;b&#62;",
    "&quot;&amp;&nbsp",
    # templates, and attributes that scripts of a page obey
    "{{7*7}}",
    "{% include 'base.html' %}",
    "${7*7}#{7*7}<%= 7*7 %>",
    "hx-get=/portal data-live=x hx-on:click=x",
    # letters that reorder, hide, combine or look alike
    "\u202egnp.exe",
    "\u2066x\u2069\u202a",
    "\u200b\u200d\ufeff\u00ad",
    "Z\u0351\u0343\u0302" * 40,
    "\u0430mina",  # with a Cyrillic a
    "\ud7ff\uffff\U0010ffff",
    "🙂👩‍👩‍👧",
    # lengths
    "é" * 300,
    "x" * 10_000,
    # control characters
    "\0",
    "a\0<b>",
    "a\r\nSet-Cookie: b=c",
    "\x1b[31m\x07\x7f\x85\u2028",
    # other languages than HTML, paths and values
    "' OR 1=1 --",
    "$(id)`id`;|&",
    "=1+1,@SUM(1)",
    "javascript:alert(1)//",
    "../..%2e%2e%2f%00",
    "null",
    "-1",
)


class _Structure(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[object] = []
        self.addresses: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.parts.append((tag, [name for name, _ in attrs]))
        self.addresses += [value or "" for name, value in attrs if name in ADDRESSES]
        self.links += [value or "" for name, value in attrs if (tag, name) == ("a", "href")]

    def handle_endtag(self, tag: str) -> None:
        self.parts.append(f"/{tag}")

    def handle_comment(self, data: str) -> None:
        self.parts.append("a comment")

    def handle_decl(self, decl: str) -> None:
        self.parts.append("a declaration")


ADDRESSES: Final = ("href", "src", "action", "formaction", "hx-get", "hx-post")


def structure_of(page: str) -> tuple[list[object], list[str]]:
    """Returns the elements of a page with the names of their attributes, in order, and where it
    leads.
    """
    parser = _Structure()
    parser.feed(page)
    parser.close()
    return parser.parts, parser.addresses


def links_of(page: str) -> list[str]:
    """Returns where the links of a page lead, in order."""
    parser = _Structure()
    parser.feed(page)
    parser.close()
    return parser.links
