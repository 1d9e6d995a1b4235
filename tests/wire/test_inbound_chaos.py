"""The handsets of our own SMSC send long texts, whose parts come out of order, among others',
twice, or never: each text is stored once, and whole if all of it came.
"""

import asyncio
from collections import defaultdict
from pathlib import Path

import pytest

from heliograph.base import clock
from heliograph.base.periodic import until
from heliograph.carriers.smpp import SmppSettings
from heliograph.carriers.smsc import handsets
from heliograph.inbound.receive.overdue import store_all_overdue
from heliograph.text import count_segments, split_segments
from tests.support.wire.raw_client import Served, serving
from tests.support.wire.receiving_texts import StoredText, taking

CHAOS = "mo-shuffle=0.5,mo-interleave:5=0.2,mo-lose=0.1,mo-repeat:3=0.2"
TEXTS = 100
LONG = "Where is my order? {" + "0123456789" * 40 + "} €"
EMOJI = "Où est ma commande ? 😀" * 8
WITHIN_S = 30.0
MINUTE_MS = 60_000


async def all_written(smsc: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits until handsets have written so many texts, and every part is answered."""
    async with asyncio.timeout(WITHIN_S):
        await until(lambda: smsc.smsc.journal.counts["text"] >= TEXTS, look_s=0.01)
        monkeypatch.setattr(handsets, "WAITING_MAX", 0)  # no handset writes any more
        await until(lambda: smsc.smsc.texts_owed == 0, look_s=0.01)


def parts_by_phone(smsc: Served, event: str) -> dict[str, set[int]]:
    found: dict[str, set[int]] = defaultdict(set)
    for line in smsc.events(event):
        found[line["sender"]].add(line["part"])
    return found


def by_phone(stored: list[StoredText]) -> dict[str, StoredText]:
    assert len({each.sender for each in stored}) == len(stored), "a text is stored twice"
    return {each.sender: each for each in stored}


@pytest.mark.parametrize(("form", "text"), [("udh", LONG), ("udh16", EMOJI), ("sar", EMOJI)])
async def test_a_text_is_stored_once_and_whole_unless_a_part_was_lost(
    database_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, form: str, text: str
) -> None:
    async with serving(
        CHAOS, mo_rate=200, mo_text=text, mo_long=form, log=tmp_path / "log"
    ) as smsc:
        carrier = SmppSettings("ours", "127.0.0.1", smsc.port, "amina", "secret")
        async with taking(database_url, carrier) as it:
            await all_written(smsc, monkeypatch)
            sent, lost = parts_by_phone(smsc, "text"), parts_by_phone(smsc, "text_lost")
            torn = {phone for phone in lost if phone in sent}
            assert len(torn) > TEXTS / 10
            whole = by_phone(it.texts())
            assert set(whole) == set(sent) - torn
            assert {each.text for each in whole.values()} == {text}

            clock.move(by_ms=29 * MINUTE_MS)
            await store_all_overdue(it.db, {}, clock.now_ms())
            assert by_phone(it.texts()) == whole
            clock.move(by_ms=2 * MINUTE_MS)  # 31 in all: what is missing after 30 is not waited for
            await store_all_overdue(it.db, {}, clock.now_ms())
            await store_all_overdue(it.db, {}, clock.now_ms())
            stored = by_phone(it.texts())
            assert set(stored) == set(sent)
            header_octets = 7 if form == "udh16" else 6
            pieces = split_segments(text, count_segments(text).encoding, header_octets)
            for phone in torn:
                came = stored[phone]
                assert (came.parts, came.parts_received) == (len(pieces), len(sent[phone]))
                assert came.text == "".join(pieces[part - 1] for part in sorted(sent[phone]))
            counts = smsc.smsc.journal.counts
            assert sum(each.repeats for each in stored.values()) == counts["text_repeated"] > 20
            assert counts["text_taken"] == sum(map(len, sent.values())) + counts["text_repeated"]


@pytest.mark.parametrize("form", ["payload", "data_sm"])
async def test_a_whole_text_is_stored_once_however_often_it_comes(
    database_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, form: str
) -> None:
    async with serving(
        CHAOS, mo_rate=200, mo_text=LONG, mo_long=form, log=tmp_path / "log"
    ) as smsc:
        carrier = SmppSettings("ours", "127.0.0.1", smsc.port, "amina", "secret")
        async with taking(database_url, carrier) as it:
            await all_written(smsc, monkeypatch)
            stored = by_phone(it.texts())
            assert set(stored) == set(parts_by_phone(smsc, "text"))
            assert not set(stored) & set(parts_by_phone(smsc, "text_lost"))
            assert {(each.text, each.parts) for each in stored.values()} == {(LONG, 1)}
            counts = smsc.smsc.journal.counts
            assert sum(each.repeats for each in stored.values()) == counts["text_repeated"] > 0
            assert counts["text"] == len(stored) + counts["text_lost"]
