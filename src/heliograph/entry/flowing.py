"""Where trailers go, and when a connection is read: parts of `entry/protocol.py`."""

from typing import Final

from uvicorn.protocols.http.flow_control import FlowControl


class Dropped(list[tuple[bytes, bytes]]):
    """Where fields go that come after a head: trailers. No client may say there who it is, or for whom it asks (RFC 9110, 6.5.1)."""

    def append(self, field: tuple[bytes, bytes]) -> None:
        """Keeps nothing."""


DROPPED: Final = Dropped()


class Flow(FlowControl):
    """While it holds, nothing is read from the connection, whoever asks for more."""

    holds = False

    def hold(self) -> None:
        """Reads nothing from now on."""
        self.holds = True
        self.pause_reading()

    def release(self) -> None:
        """Reads again."""
        self.holds = False
        self.resume_reading()

    def resume_reading(self) -> None:
        if not self.holds:
            super().resume_reading()
