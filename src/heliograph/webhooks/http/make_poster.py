"""Makes a Poster, and loads aiohttp only then, because many processes never post anything."""

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING

from heliograph.webhooks.http.address_guard import AllowedNetworks

if TYPE_CHECKING:
    from heliograph.webhooks.http.post import Poster


async def make_poster(allow: AllowedNetworks, connections: int) -> "Poster":
    """Returns a Poster. The event loop goes on while aiohttp is loaded."""
    post = await asyncio.to_thread(import_module, "heliograph.webhooks.http.post")
    made: Poster = post.Poster(allow, connections=connections)
    return made
