"""Bare aiohttp sends the same signed POST again and again, as fast as it can (`python -m
bench.post_load --help`), and prints one line of JSON.
"""

import argparse
import asyncio
import json
import time

import aiohttp
import uvloop

from heliograph.base import ids
from heliograph.webhooks.sign import headers, new_secret

KIND = "message.delivered"


async def post_all(url: str, at_once: int, seconds: float, octets: int) -> dict[str, float]:
    """Posts so many side by side for so long. Returns how many were answered 200, and how many were
    not.
    """
    body = json.dumps({"filling": "x" * octets}).encode()[:octets]
    signed = headers(ids.new("evt"), KIND, body, int(time.time()), new_secret())
    counted = {"ok": 0, "other": 0}
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=at_once), cookie_jar=aiohttp.DummyCookieJar()
    ) as session:
        began, ends = time.perf_counter(), time.perf_counter() + seconds

        async def post() -> None:
            while time.perf_counter() < ends:
                async with session.post(url, data=body, headers=signed) as answer:
                    await answer.read()
                    counted["ok" if answer.status == 200 else "other"] += 1

        await asyncio.gather(*(post() for _ in range(at_once)))
        return {**counted, "seconds": time.perf_counter() - began}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.post_load")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--at-once", type=int, default=64)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--octets", type=int, required=True, help="of the body")
    options = parser.parse_args()
    print(
        json.dumps(
            uvloop.run(
                post_all(
                    f"http://127.0.0.1:{options.port}/hook",
                    options.at_once,
                    options.seconds,
                    options.octets,
                )
            )
        )
    )
