"""Lists forty texts that somebody could give a name to, so that a page does something else with it
than show it; and reads what a page is made of, whatever it shows.
"""

from functools import lru_cache
from html.parser import HTMLParser
from typing import Final, NamedTuple

import httpx

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


ADDRESSES: Final = ("href", "src", "action", "formaction", "hx-get", "hx-post", "data-options")
# what pages of this service are never made of
_ACTIVE: Final = {"base", "embed", "iframe", "img", "link", "meta", "object", "script", "style"}


class Form(NamedTuple):
    """Holds a form of a page: where it goes, the fields that somebody fills in, and what it says
    beside them. The value of its first button is among the latter. What is sent to another address
    while a form is filled in counts as a form of its own.
    """

    method: str
    action: str
    takes_files: bool
    filled: list[str]
    hidden: dict[str, str]


class _Structure(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[object] = []
        self.addresses: list[str] = []
        self.links: list[str] = []
        self.active: list[str] = []
        self.forms: list[Form] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.parts.append((tag, [name for name, _ in attrs]))
        self.addresses += [value or "" for name, value in attrs if name in ADDRESSES]
        self.links += [value or "" for name, value in attrs if (tag, name) == ("a", "href")]
        if tag in _ACTIVE:
            self.active.append(self.get_starttag_text() or "")
        self._read_form(tag, {name: value or "" for name, value in attrs})

    def _read_form(self, tag: str, said: dict[str, str]) -> None:
        if tag == "form":
            is_file = said.get("enctype") == "multipart/form-data"
            where = said.get("action", "")
            self.forms.append(Form(said.get("method", "get"), where, is_file, [], {}))
        if self.forms and "hx-post" in said:
            self.forms.insert(0, self.forms[-1]._replace(action=said["hx-post"]))
        name = said.get("name")
        if not self.forms or not name:
            return
        if tag == "button" or said.get("type") == "hidden":
            self.forms[-1].hidden.setdefault(name, said.get("value", ""))
        elif tag in ("input", "select", "textarea") and said.get("type") != "file":
            self.forms[-1].filled.append(name)

    def handle_endtag(self, tag: str) -> None:
        self.parts.append(f"/{tag}")

    def handle_comment(self, data: str) -> None:
        self.parts.append("a comment")

    def handle_decl(self, decl: str) -> None:
        self.parts.append("a declaration")


@lru_cache(maxsize=1)
def _read(page: str) -> _Structure:
    """Reads a page; the same one again, which the next question is about, only once."""
    parser = _Structure()
    parser.feed(page)
    parser.close()
    return parser


def structure_of(page: str) -> tuple[list[object], list[str]]:
    """Returns the elements of a page with the names of their attributes, in order, and where it
    leads.
    """
    read = _read(page)
    return read.parts, read.addresses


def links_of(page: str) -> list[str]:
    """Returns where the links of a page lead, in order."""
    return _read(page).links


def forms_of(page: str) -> list[Form]:
    """Returns the forms of a page, in order."""
    return _read(page).forms


def active_parts_of(page: str) -> set[str]:
    """Returns the tags of a page that load or run something, as they are written."""
    return set(_read(page).active)


def assert_inert(page: httpx.Response, active: set[str], about: object) -> None:
    """Sees that a page runs and loads nothing but the `active` parts that pages of this service
    have, obeys no text, and leads to no other place.
    """
    read = _read(page.text)
    assert not set(read.active) - active, about
    names = {name for part in read.parts if isinstance(part, tuple) for name in part[1]}
    obeyed = {name for name in names if name.startswith(("on", "hx-on"))}
    assert not obeyed, about
    assert "a comment" not in read.parts, about
    for address in read.addresses:
        assert address.startswith(("/", "#", "?")), (about, address)
        assert not address.startswith("//"), (about, address)
    assert "set-cookie: b=c" not in str(page.headers).lower(), about
    assert "b=c" not in page.headers.get("set-cookie", ""), about
