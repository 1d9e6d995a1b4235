"""Splits a TCP stream into PDUs. Each begins with its own length (SMPP 3.4, 3.2)."""

from typing import Final, NamedTuple

from heliograph.carriers.smpp import pdu

# a receipt has 300 octets; nobody may make a session hold more than this for one PDU
PDU_OCTETS_MAX: Final = 65_536


class Frame(NamedTuple):
    """Holds one PDU of a stream, with its body still encoded."""

    command: int
    status: int
    sequence: int
    body: bytes


class Framer:
    """Cuts a TCP stream into PDUs. Holds at most one unfinished PDU (`PDU_OCTETS_MAX`) between two
    calls.
    """

    __slots__ = ("_rest", "broken")

    def __init__(self) -> None:
        self._rest = bytearray()
        # once a command_length is impossible, the stream can never be cut again
        self.broken: pdu.PduError | None = None

    def feed(self, data: bytes) -> list[Frame]:
        """Returns the PDUs that are complete with `data`. Sets `broken` at an impossible
        command_length; what came before it is still given.
        """
        if self.broken is not None:
            return []
        rest = self._rest
        octets: bytes | bytearray = data
        if rest:
            rest += data
            octets = rest
        frames: list[Frame] = []
        at, end, unpack = 0, len(octets), pdu.HEADER.unpack_from
        while end - at >= pdu.HEADER_OCTETS:
            length, command, status, sequence = unpack(octets, at)
            if length < pdu.HEADER_OCTETS or length > PDU_OCTETS_MAX:
                self.broken = pdu.PduError(pdu.ESME_RINVCMDLEN, f"command_length {length}")
                self._rest = bytearray()
                return frames
            if end - at < length:
                break
            frames.append(
                Frame(
                    command, status, sequence, bytes(octets[at + pdu.HEADER_OCTETS : at + length])
                )
            )
            at += length
        if octets is rest:
            del rest[:at]
        else:
            rest += data[at:]
        return frames

    @property
    def unfinished_octets(self) -> int:
        """Returns how many octets of an unfinished PDU are held."""
        return len(self._rest)
