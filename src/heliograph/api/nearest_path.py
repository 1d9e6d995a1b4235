"""Finds the path that a client probably meant, if the one that it asked for does not exist or does
not answer its method.
"""

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Final

from heliograph.api.openapi import BASE_PATH
from heliograph.base.short_texts import shorten

PATH_SHOWN_MAX: Final = 100
# characters of a path that is compared with ours, the longest of which has half as many
COMPARED_MAX: Final = 100
NAMED_MAX: Final = 3
SIMILAR: Final = 0.75  # of the characters, where a path is only similar to one of ours
DESCRIBED: Final = "All paths are described at /docs."
# what stands before a path twice, or wrongly
_REPEATED: Final = re.compile(r"/(?:api(?:/v[0-9])?|v[0-9])(?=/)", re.ASCII)
_ID: Final = re.compile(r"(?<=/)[a-z]{3,4}_[0-9a-z]+(?=/|$)", re.ASCII)


class PathSuggestions:
    """Compares paths with those of the table, `methods_by_path`; both are given without
    `/api/v1`.
    """

    def __init__(self, methods_by_path: Mapping[str, Iterable[str]]) -> None:
        self._methods = {
            path: tuple(sorted(set(methods) - {"HEAD"}))
            for path, methods in methods_by_path.items()
        }

    def not_found(self, method: str, path: str) -> str:
        """Returns the message of a 404 below `/api/v1`."""
        return (
            f"There is nothing at {shorten(BASE_PATH + path, PATH_SHOWN_MAX)!r}."
            f" {_words_for(self._found(method, path))}{DESCRIBED}"
        )

    def not_below_base(self, method: str, path: str, pages: Iterable[str]) -> str:
        """Returns the message of a 404 elsewhere, which anybody may cause without a key: so nothing
        is searched for. `pages` are those that there are.
        """
        plain = _plain(path)
        page = [
            known for known in pages if plain and plain in (known, known.removeprefix(BASE_PATH))
        ]
        return (
            f"There is nothing here. {_words_for(page or self._named(method, self._same(path)))}"
            f"The API is below {BASE_PATH}. {DESCRIBED}"
        )

    def not_answered(self, method: str, template: str, allowed: list[str]) -> str:
        """Returns the message of a 405. `template` is the path as the table has it."""
        others = [
            path
            for path in self._methods
            if method in self._methods[path]
            and (_is_above(template, path) or _is_above(path, template))
        ]
        instead = (
            f" {method} is answered at"
            f" {', '.join(BASE_PATH + path for path in others[:NAMED_MAX])}."
            if others
            else ""
        )
        return f"{BASE_PATH}{template} answers {', '.join(allowed)}.{instead} {DESCRIBED}"

    def _found(self, method: str, path: str) -> list[str]:
        if same := self._same(path):
            return self._named(method, same)
        if len(path) > COMPARED_MAX:
            return []
        plain = _plain(path)
        if plain and (below := [known for known in self._methods if _is_above(plain, known)]):
            return self._named(
                method, [known for known in below if method in self._methods[known]] or below
            )
        return self._named(
            method, difflib.get_close_matches(_ID.sub("{id}", plain), self._methods, 1, SIMILAR)
        )

    def _same(self, path: str) -> list[str]:
        """Returns the path of the table that this one is, but for slashes, case and what stands
        before it.
        """
        if len(path) > COMPARED_MAX:
            return []
        parts = _plain(path).split("/")
        return [known for known in self._methods if _is_same(known.split("/"), parts)][:1]

    def _named(self, method: str, paths: Iterable[str]) -> list[str]:
        return [
            f"{method if method in self._methods[path] else self._methods[path][0]}"
            f" {BASE_PATH}{path}"
            for path in paths
        ][:NAMED_MAX]


def _plain(path: str) -> str:
    """Returns a path without what is often written too much: `/api/v1/sms//send/` becomes
    `/sms/send`.
    """
    plain = re.sub("/{2,}", "/", path).rstrip("/").lower()
    while begin := _REPEATED.match(plain):
        plain = plain[begin.end() :]
    return plain


def _is_same(known: list[str], parts: list[str]) -> bool:
    return len(known) == len(parts) and all(
        want == part or want == "{id}" for want, part in zip(known, parts, strict=True)
    )


def _is_above(path: str, other: str) -> bool:
    return other.startswith(f"{path}/")


def _words_for(paths: list[str]) -> str:
    return f"Did you mean {' or '.join(paths)}? " if paths else ""
