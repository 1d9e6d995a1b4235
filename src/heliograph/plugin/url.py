"""Gives each site's address one spelling, so that a plugin which saves its key again means the site
that is there.
"""

import re
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

from heliograph.base.forms import quote_value

URL_MAX: Final = 255
WWW: Final = "www."  # people leave it out when they name a site
_PORTS: Final = {"http": 80, "https": 443}
_HOST: Final = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\]", re.ASCII)
_RULE: Final = (
    f"must be the address of a site such as https://shop.example, with at most {URL_MAX}"
    " characters, no user, query or fragment; not "
)


def site_url(given: str) -> str:
    """Returns a site's address with scheme and host in lower case, a host of other letters in its
    ASCII form (IDNA), without the scheme's own port and without a slash at the end.

    Raises ValueError, which says what is wrong.
    """
    bad = ValueError(_RULE + quote_value(given))
    text = given.strip(" ")
    if len(text) > URL_MAX or not text.isprintable() or " " in text:
        raise bad
    try:
        parts = urlsplit(text)
        port = parts.port
        host = _ascii_host(parts.hostname or "")
    except ValueError as error:
        raise bad from error
    if (
        parts.scheme not in _PORTS
        or "@" in parts.netloc
        or "?" in text
        or "#" in text
        or not _HOST.fullmatch(host)
    ):
        raise bad
    place = host if port in (None, _PORTS[parts.scheme]) else f"{host}:{port}"
    found = f"{parts.scheme}://{place}{parts.path.rstrip('/')}"
    if len(found) > URL_MAX:
        raise bad
    return found


def sites_meant(given: str) -> tuple[str, ...]:
    """Returns the addresses that somebody may mean who names a site by its URL, or by its host and
    what follows it: one for each scheme, with and without `www.`, as `site_url` spells them. What
    is no address means none.
    """
    rest = given.partition("://")[2] or given
    if rest[: len(WWW)].lower() == WWW:
        rest = rest[len(WWW) :]
    urls = []
    for scheme in _PORTS:
        for www in ("", WWW):
            with suppress(ValueError):
                urls.append(site_url(f"{scheme}://{www}{rest}"))
    return tuple(urls)


def _ascii_host(host: str) -> str:
    if ":" in host:
        return f"[{host}]"
    return host if host.isascii() else host.encode("idna").decode("ascii").lower()
