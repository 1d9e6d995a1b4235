"""Makes the sections about what is done with a segment in doubt, and about carriers, whose states
are seen and not decided.
"""

from collections.abc import Iterator

from heliograph.carriers.carrier_states import STATE_MEANINGS
from heliograph.carriers.manage import DOWN_MS
from heliograph.messages.states import RESEND_AFTER_MS
from tools.states.markdown import table


def doubts() -> Iterator[str]:
    """Yields the section about segments in doubt."""
    yield "## What settles a segment in doubt\n"
    yield "The first of these three settles it:\n"
    yield "- An answer that comes late."
    yield (
        "- A receipt. It matches by the carrier's id, or else by the user_message_reference that it"
        " brings back. A receipt that has neither"
    )
    yield (
        "  matches if the carrier has only one message on the wire from that sender to that"
        " recipient."
    )
    yield "- The end of its validity. The message then fails, with the code `unknown`.\n"
    yield (
        f"If none of them has come after {RESEND_AFTER_MS // 1_000} s, the carrier's `--in-doubt`"
        " decides. With `resend`, the segment is sent once more."
    )
    yield (
        "A segment of a one-time password is never sent twice. An operator can settle a message in"
        " doubt at any time, or have it sent again, with `heliograph message`.\n"
    )


def carriers() -> Iterator[str]:
    """Yields the section about carriers, whose states are seen and not decided."""
    yield "## Carriers\n"
    yield from table(
        ("state", "means"),
        ((f"`{state.value}`", meaning) for state, meaning in STATE_MEANINGS.items()),
    )
    yield (
        "The state of a carrier is what its processes saw last of their connections. Nobody"
        " decides it, so any state may follow any other."
    )
    yield (
        "`heliograph carrier list` shows the state with its reason. `heliograph carrier show NAME`"
        " also shows all settings."
    )
    yield f"A carrier is down when it has not been `bound` for {DOWN_MS // 1_000} s."
    yield (
        "New messages then take the next carrier of their route, or the others that share the route"
        " by weight. Messages that wait for the carrier move there too.\n"
    )
