"""Reads the one final response of HTTP/1.1 to a POST out of octets that a stranger sends (RFC
9112).

A receiver is hostile until it is shown otherwise, so what one response may cost is bounded in
octets, in lines and in pieces. What goes past the bound after the status is known ends the reading,
and the status counts; what goes past it before is no response. Nothing behind the final response is
read at all, and a connection on which anything stood there is not used again.
"""

import re
from collections.abc import Callable
from typing import Final

# octets of all heads of one response, interim ones too; servers commonly send less than 1 KiB
HEADS_MAX: Final = 16 * 1_024
# responses like `100 Continue` before the final one; a server has a use for one or two
INTERIM_MAX: Final = 8
# octets behind the final head, sizes of chunks and trailers too (docs/webhooks.md, "What counts as
# received")
READ_MAX: Final = 64 * 1_024
# chunks and trailers that are read: 64 KiB in chunks of one octet each would be eleven thousand
LINES_MAX: Final = 256
LINE_MAX: Final = 4 * 1_024  # octets of a chunk's size with its extensions, or of a trailer
# times that octets may arrive: 64 KiB come in fewer than 50, and 15 s of dripping ten a second are
# 150
PIECES_MAX: Final = 200
KEPT_MAX: Final = 1_024  # octets of the body that are kept, to be shown
RETRY_AFTER_MAX: Final = 64  # characters; a date has 29

_FINAL, _SWITCHED = 200, 101  # statuses; others below 200 are followed by the response
_WITHOUT_BODY: Final = frozenset({_SWITCHED, 204, 304})
_BEGINS: Final = b"HTTP/1."
_HEAD_END: Final = re.compile(rb"\r?\n\r?\n")
_STATUS_LINE: Final = rb"HTTP/1\.([01]) ([1-9][0-9][0-9])(?: [^\r\n\0]*)?"
# Each alternative begins otherwise than the other, so a head can be read in one way only and in
# linear time.
_HEAD: Final = re.compile(
    _STATUS_LINE + rb"\r?\n(?:[^:\s\0][^:\r\n\0]*:[^\r\n\0]*\r?\n|[ \t][^\r\n\0]*\r?\n)*+\r?\n"
)
_WELL_FORMED: Final = re.compile(
    _STATUS_LINE + rb"\r\n(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\r\n\0]*\r\n)*+\r\n"
)
_FIELD: Final = re.compile(
    rb"^(content-length|transfer-encoding|connection|retry-after)[ \t]*:[ \t]*([^\r\n]*)",
    re.IGNORECASE | re.MULTILINE,
)
_LENGTH: Final = re.compile(rb"[0-9]{1,19}")
_CHUNK_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\r\n]*)?(\r?)\n")
_LENGTH_FIELD, _CODING_FIELD, _CONNECTION_FIELD, _RETRY_FIELD = (
    b"content-length",
    b"transfer-encoding",
    b"connection",
    b"retry-after",
)


class BadResponse(Exception):
    """What came is no response of HTTP."""


class ResponseReader:
    """Is fed what arrives until it is `done`, and told when the connection has `ended`. `may_keep`
    then says whether the connection can be used for another request: the response came whole and
    well formed, the server did not say that it closes, and nothing stood behind it.
    """

    def __init__(self) -> None:
        self.done = False
        self.may_keep = False
        self.status = 0
        self.retry_after: str | None = None
        self._read_body: Callable[[ResponseReader, bytes], None] = ResponseReader._read_until_end
        self._buffer = bytearray()  # of the head, or of a line between chunks
        self._beginning = bytearray()
        self._pieces = self._interim = self._heads = self._behind = self._lines = 0
        # octets of the body, or of the chunk with its line's end, that have not come
        self._left = 0
        self._until_end = self._in_trailers = False

    @property
    def text(self) -> str:
        """Returns the beginning of the body, without U+0000 and with what is not UTF-8 replaced."""
        return self._beginning.decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")

    def feed(self, data: bytes) -> None:
        """Takes what has arrived. Raises BadResponse."""
        if self.done:
            self.may_keep = False
            return
        self._pieces += 1
        if self._pieces > PIECES_MAX:
            if not self.status:
                raise BadResponse
            self._is_enough()
            return
        if self.status:
            self._read_behind(data)
        else:
            self._read_head(data)

    def ended(self) -> bool:
        """Returns whether the response is whole now that the connection has ended."""
        if self._until_end:
            self.done = True
        return self.done

    def _read_head(self, data: bytes) -> None:
        buffer = self._buffer
        looked_at = max(0, len(buffer) - 3)
        buffer += data
        while True:
            if not buffer.startswith(_BEGINS[: len(buffer)]):
                raise BadResponse
            end = _HEAD_END.search(buffer, looked_at)
            looked_at = 0
            octets = end.end() if end is not None else len(buffer)
            if self._heads + octets > HEADS_MAX:
                raise BadResponse
            if end is None:
                return
            self._heads += octets
            head, rest = bytes(buffer[:octets]), bytes(buffer[octets : octets + READ_MAX + 1])
            del end  # a match holds on to the buffer
            if self._understand(head):
                buffer.clear()
                self._read_behind(rest)
                return
            del buffer[:octets]
            self._interim += 1
            if self._interim > INTERIM_MAX:
                raise BadResponse
            if not buffer:
                return

    def _understand(self, head: bytes) -> bool:
        """Returns whether this is the head of the final response, and says then how its body
        is read.
        """
        line = _HEAD.fullmatch(head)
        if line is None:
            raise BadResponse
        status = int(line[2])
        if status < _FINAL and status != _SWITCHED:
            return False
        values: dict[bytes, list[bytes]] = {}
        for name, value in _FIELD.findall(head):
            values.setdefault(name.lower(), []).append(value.strip())
        lengths = set(values.get(_LENGTH_FIELD, ()))
        if len(lengths) > 1 or not all(_LENGTH.fullmatch(length) for length in lengths):
            raise BadResponse
        codings = b",".join(values.get(_CODING_FIELD, ())).lower()
        self.may_keep = (
            line[1] == b"1"
            and status != _SWITCHED
            and _WELL_FORMED.fullmatch(head) is not None
            and b"close" not in b",".join(values.get(_CONNECTION_FIELD, ())).lower()
            and not (codings and lengths)
        )
        self.status = status
        if _RETRY_FIELD in values:
            self.retry_after = values[_RETRY_FIELD][0][:RETRY_AFTER_MAX].decode(
                "utf-8", "surrogateescape"
            )
        if status in _WITHOUT_BODY:
            self._read_body = ResponseReader._read_counted
        elif codings.rsplit(b",", 1)[-1].strip() == b"chunked":
            self._read_body = ResponseReader._read_chunks
        elif codings or not lengths:
            self._until_end, self.may_keep = True, False
        else:
            self._left = int(lengths.pop())
            self._read_body = ResponseReader._read_counted
        return True

    def _read_behind(self, data: bytes) -> None:
        """Reads what stands behind the head, and ends where 64 KiB have been read."""
        room = READ_MAX - self._behind
        self._behind += len(data)
        self._read_body(self, data[:room])
        if not self.done and len(data) >= room:
            self._is_enough()

    def _read_until_end(self, data: bytes) -> None:
        self._keep(data)

    def _read_counted(self, data: bytes) -> None:
        self._keep(data[: self._left])
        if len(data) >= self._left:
            self._is_whole(behind=len(data) - self._left)
        else:
            self._left -= len(data)

    def _read_chunks(self, data: bytes) -> None:
        """Reads lines and chunks in turn. Of what is incomplete only a line is put by, so
        no piece is looked at more than a few times.
        """
        if self._buffer:
            data = bytes(self._buffer) + data
            self._buffer.clear()
        at = 0
        while at < len(data) and not self.done:
            if self._left:
                at = self._read_chunk(data, at)
                continue
            end = data.find(b"\n", at, at + LINE_MAX) + 1
            if not end:
                if len(data) - at >= LINE_MAX:
                    self._is_enough()
                else:
                    self._buffer += data[at:]
                return
            self._read_line(data[at:end], rest=len(data) - end)
            at = end

    def _read_chunk(self, data: bytes, at: int) -> int:
        """Reads what is there of a chunk; what is left counts its line's end, two octets. Returns
        where it stopped.
        """
        taken = min(len(data) - at, self._left)
        of_body = max(0, min(taken, self._left - 2))
        self._keep(data[at : at + of_body])
        expected = b"\r\n"[max(0, 2 - self._left) : max(0, 2 - self._left) + taken - of_body]
        if data[at + of_body : at + taken] != expected:
            raise BadResponse
        self._left -= taken
        return at + taken

    def _read_line(self, line: bytes, rest: int) -> None:
        if self._in_trailers:
            if line in (b"\r\n", b"\n"):
                self._is_whole(behind=rest)
            else:
                self._count_line()
            return
        size = _CHUNK_SIZE.fullmatch(line)
        if size is None:
            raise BadResponse
        self.may_keep = self.may_keep and size[2] == b"\r"
        octets = int(size[1], 16)
        if octets:
            self._left = octets + 2
            self._count_line()
        else:
            self._in_trailers = True

    def _count_line(self) -> None:
        self._lines += 1
        if self._lines > LINES_MAX:
            self._is_enough()

    def _keep(self, data: bytes) -> None:
        self._beginning += data[: KEPT_MAX - len(self._beginning)]

    def _is_whole(self, behind: int) -> None:
        self.done = True
        self.may_keep = self.may_keep and behind == 0

    def _is_enough(self) -> None:
        """Reads nothing more of a response that goes on; its status counts."""
        self.done, self.may_keep = True, False
