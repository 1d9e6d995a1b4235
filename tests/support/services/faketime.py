"""Runs a process of ours under another clock than the machine's, by libfaketime."""

from pathlib import Path

from tests.support.services import ServiceMissing

ADVICE = (
    "libfaketime is needed, for faults of clocks: install it (Debian, Ubuntu: sudo apt-get install"
    " libfaketime)"
)


def find_library() -> str | None:
    return next(
        (str(path) for path in sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))), None
    )


def fake_time(**variables: str) -> dict[str, str]:
    """Returns the environment of such a process. With `FAKETIME="+0 x60"` its clocks run 60 times
    as fast. With `FAKETIME_TIMESTAMP_FILE=…, FAKETIME_NO_CACHE="1"` they show what stands in that
    file, which is read each time. With `FAKETIME_DONT_FAKE_MONOTONIC="1"` only the wall clock
    changes.
    """
    library = find_library()
    if library is None:
        raise ServiceMissing(ADVICE)
    return {"LD_PRELOAD": library, **variables}
