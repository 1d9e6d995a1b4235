"""Limits how many POSTs may run at once in the process. Each endpoint has a few slots of its own,
and all share the rest.

A receiver that is slow to answer keeps each of its POSTs, and their connections, for up to 15 s.
The API's connections and the databases' are files of the same process.
"""

from typing import Final

from heliograph.base import clock
from heliograph.base.log import Log

OWN: Final = 2  # POSTs that each endpoint at work may have, whatever others do
RECEIVERS_MAX: Final = 5_000  # endpoints at work in one process
SHARED_MAX: Final = 5_000  # POSTs beside those
# one endpoint at work for so many files: its own POSTs are a quarter of them
_FILES_OF_RECEIVER: Final = 8
# one shared place for so many: in all three eighths; the rest is for connections that are kept, the
# API, databases
_FILES_OF_SHARED: Final = 8
TELL_S: Final = 60.0

log = Log(__name__)


class PostSlots:
    """Holds the slots of one process. `free` is the number of shared slots that are not in use."""

    def __init__(self, limit: int) -> None:
        """Shares out the slots. `limit` is the limit of open files."""
        self._limit = limit
        self.receivers = max(1, min(RECEIVERS_MAX, limit // _FILES_OF_RECEIVER))
        self.shared = self.free = min(SHARED_MAX, limit // _FILES_OF_SHARED)
        self._logged_s: dict[str, float] = {}

    @property
    def posts(self) -> int:
        """Returns how many POSTs there are at most at once."""
        return OWN * self.receivers + self.shared

    def take(self, posts: int) -> bool:
        """Takes a slot for one more POST of an endpoint that has `posts` under way, and returns
        whether there was one. An endpoint may have fewer shared slots than are free. So those that
        want many come to have the same number, without being counted, and some are always left for
        the next one.
        """
        if posts < OWN:
            return True
        if posts - OWN >= self.free:
            return False
        self.free -= 1
        return True

    def give_back(self, posts: int) -> None:
        """Gives back the slot of a POST that is over, of an endpoint that had `posts` under way."""
        if posts > OWN:
            self.free += 1

    def log_exhausted(self) -> None:
        """Logs, once a minute, that this process or this machine can open no more files."""
        if self._may_log("exhausted"):
            log.error("webhooks_no_files_left", limit=self._limit, posts=self.posts)

    def log_crowded(self, waiting: int) -> None:
        """Logs, once a minute, that so many endpoints have something due and no slot."""
        if self._may_log("crowded"):
            log.warning(
                "webhooks_endpoints_wait",
                limit=self._limit,
                at_work=self.receivers,
                waiting=waiting,
            )

    def _may_log(self, what: str) -> bool:
        now_s = clock.monotonic_s()
        if now_s - self._logged_s.get(what, -TELL_S) < TELL_S:
            return False
        self._logged_s[what] = now_s
        return True
