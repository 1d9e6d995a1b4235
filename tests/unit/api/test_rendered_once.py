"""A page that takes long to render is rendered once, for whoever asks for it."""

import asyncio
import threading

import pytest

from heliograph.api.published import RenderedOnce


class Template:
    """Renders when it is let go on, and fails as often as it is told to."""

    def __init__(self, failures: int = 0) -> None:
        self.rendered = 0
        self.goes_on = threading.Event()
        self._failures = failures

    def render(self) -> bytes:
        self.goes_on.wait(10)
        self.rendered += 1
        if self.rendered <= self._failures:
            raise OSError("the template cannot be read")
        return b"page"


def test_all_who_ask_get_one_rendering_and_who_leaves_does_not_end_it() -> None:
    async def story() -> None:
        template = Template()
        page = RenderedOnce(template.render, [])
        first, *others = [asyncio.create_task(page({})) for _ in range(5)]
        await asyncio.sleep(0)
        first.cancel()
        template.goes_on.set()
        assert {(await other).body for other in others} == {b"page"}
        assert (await page({})).body == b"page"
        assert template.rendered == 1

    asyncio.run(story())


def test_a_rendering_that_fails_is_tried_again_for_the_next() -> None:
    async def story() -> None:
        template = Template(failures=1)
        template.goes_on.set()
        page = RenderedOnce(template.render, [])
        with pytest.raises(OSError, match="cannot be read"):
            await page({})
        assert (await page({})).body == b"page"

    asyncio.run(story())
