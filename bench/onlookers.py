"""Ten people look at the portal (`python -m bench.onlookers --port P --links FILE`).

Each signs in with a link of the file and stays on one connection. Half of them watch the handsets
or the newest messages: a browser asks for these every three seconds, and names what it shows
already. The others open one page after another, one in five seconds.

The program prints one line of JSON when all are signed in, and on SIGTERM a second one: how many
pages were answered, how many were not, and how long they took. Before the first line each page is
opened once: a server that has just started reads its templates then, which takes it a fifth of a
second in all, and is no part of looking.
"""

import argparse
import asyncio
import json
import re
import signal
import statistics
import sys
import time
from itertools import cycle
from pathlib import Path
from typing import Final

import httpx

WATCHES_EVERY_S: Final = 3.0
CLICKS_EVERY_S: Final = 5.0
# Whoever is stopped while a page is on its way reads it after that.
ANSWER_S: Final = 600.0
WATCHED: Final = ("/handsets", "/messages")
OPENED: Final = ("", "/messages", "/reports", "/contacts", "/money", "/requests", "/webhooks")
_HOME: Final = re.compile(r"/portal/accounts/acc_[0-9a-z]{26}")
_SHOWN: Final = re.compile(r'data-shown="([^"]+)"')
_TOKEN: Final = re.compile(r'name="form_token" value="([0-9a-f]{64})"')


class Onlookers:
    """Onlookers are people with a browser each. `took_ms` and `refused` are of the pages asked for
    so far.
    """

    def __init__(self, port: int, links: list[str]) -> None:
        self._clients = [
            httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=ANSWER_S) for _ in links
        ]
        self._links = links
        self.took_ms: list[float] = []
        self.refused = 0

    async def sign_in(self) -> list[str]:
        """Returns where the pages of each begin."""
        return [
            await self._signed_in(client, link)
            for client, link in zip(self._clients, self._links, strict=True)
        ]

    async def open_each_once(self, homes: list[str]) -> None:
        """Opens each page once."""
        for page in (*WATCHED, *OPENED):
            answer = await self._clients[0].get(homes[0] + page)
            self.refused += answer.status_code != httpx.codes.OK

    async def look(self, homes: list[str]) -> None:
        """Looks until it is cancelled. Nobody begins in the same moment as another."""
        async with asyncio.TaskGroup() as people:
            for number, (client, home) in enumerate(zip(self._clients, homes, strict=True)):
                part = number / len(homes)
                if number % 2 == 0:
                    path = home + WATCHED[number // 2 % len(WATCHED)]
                    people.create_task(self._watch(client, path, WATCHES_EVERY_S * part))
                else:
                    people.create_task(self._click(client, home, CLICKS_EVERY_S * part))

    async def _watch(self, client: httpx.AsyncClient, path: str, first_s: float) -> None:
        await asyncio.sleep(first_s)
        shown = ""
        while True:
            page = await self._get(client, path, {"Heliograph-Shown": shown} if shown else {})
            if found := _SHOWN.search(page.text):
                shown = found[1]
            await asyncio.sleep(WATCHES_EVERY_S)

    async def _click(self, client: httpx.AsyncClient, home: str, first_s: float) -> None:
        await asyncio.sleep(first_s)
        for page in cycle(OPENED):
            await self._get(client, home + page, {})
            await asyncio.sleep(CLICKS_EVERY_S)

    async def _get(
        self, client: httpx.AsyncClient, path: str, headers: dict[str, str]
    ) -> httpx.Response:
        began_s = time.monotonic()
        page = await client.get(path, headers=headers)
        self.took_ms.append((time.monotonic() - began_s) * 1_000)
        self.refused += page.status_code not in {httpx.codes.OK, httpx.codes.NO_CONTENT}
        return page

    async def _signed_in(self, client: httpx.AsyncClient, link: str) -> str:
        path = httpx.URL(link).path
        page = await client.get(path)
        found = _TOKEN.search(page.text)
        if found is None:
            raise SystemExit(f"{path} answers {page.status_code} without a form")
        # the cookies are for HTTPS or a browser's loopback, so they are sent by hand
        client.headers["Cookie"] = _cookies(page)
        client.headers["Origin"] = str(client.base_url).rstrip("/")
        answer = await client.post(path, data={"form_token": found[1]})
        if answer.status_code != httpx.codes.SEE_OTHER:
            raise SystemExit(f"{path} answers {answer.status_code} to the form")
        client.headers["Cookie"] = _cookies(answer)
        overview = await client.get("/portal")
        home = _HOME.search(overview.text)
        if home is None:
            raise SystemExit(f"/portal answers {overview.status_code} without a link to an account")
        return home[0]


def _cookies(answer: httpx.Response) -> str:
    return "; ".join(each.partition(";")[0] for each in answer.headers.get_list("set-cookie"))


async def main(port: int, links: list[str]) -> None:
    onlookers = Onlookers(port, links)
    homes = await onlookers.sign_in()
    await onlookers.open_each_once(homes)
    looking = asyncio.ensure_future(onlookers.look(homes))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, looking.cancel)
    print(json.dumps({"people": len(homes), "home": homes[0]}), flush=True)
    try:
        await looking
    except asyncio.CancelledError:
        took_ms = onlookers.took_ms
        said = {
            "pages": len(took_ms),
            "refused": onlookers.refused,
            "median_ms": statistics.median(took_ms) if took_ms else 0,
        }
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.onlookers", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--links", type=Path, required=True)
    options = parser.parse_args(sys.argv[1:])
    asyncio.run(main(options.port, options.links.read_text().split()))
