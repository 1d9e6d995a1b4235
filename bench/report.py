"""Shows the results as tables for people and as JSON for programs."""

import platform
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import psutil

from bench import kannel, load
from bench.figures import DATABASES, LIMITS, OURS, Figure, medians
from bench.plan import BUSY_PERCENT, Results
from bench.reading import Reading, errors_text, together

TITLE_WIDTH = 72


def tables(results: Results) -> str:
    """Returns the limits, then ours on each database with ratios and verdicts, then everything that
    went wrong, loudly.
    """
    found = medians(results.readings)
    lines = [
        "",
        "LIMITS OF THIS MACHINE, IN THESE MINUTES",
        *_rows(LIMITS, results.readings, found),
    ]
    for kind in DATABASES:
        rows = list(_rows(OURS[kind], results.readings, found))
        if rows:
            lines += ["", f"HELIOGRAPH ON {kind.upper()}", *rows]
    return "\n".join([*lines, "", *_warnings(results)])


def clean(results: Results) -> bool:
    """Returns whether everything was measured and no request failed."""
    return not results.failures and not any(reading.errors for reading in results.readings)


def document(results: Results, versions: dict[str, str], options: dict[str, Any]) -> dict[str, Any]:
    """Returns all of it, with every single reading."""
    found = medians(results.readings)
    return {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "clean": clean(results),
        "machine": machine() | versions,
        "options": options,
        "busy_percent": results.busy_percent,
        "figures": {
            figure.name: {
                "title": figure.title,
                "unit": figure.unit,
                "value": found[figure.name],
                "ratios": {
                    name: found[figure.name] / found[name]
                    for name in figure.beside
                    if name in found
                },
                "aims": [
                    {"aim": aim.text(), "met": aim.met(found[figure.name], found)}
                    for aim in figure.aims
                ],
                "readings": [
                    asdict(reading) for reading in results.readings if reading.figure == figure.name
                ],
            }
            for figure in (*LIMITS, *(figure for kind in DATABASES for figure in OURS[kind]))
            if figure.name in found
        },
        "failures": [asdict(failure) for failure in results.failures],
    }


def machine() -> dict[str, str]:
    """Returns what the figures belong to."""
    memory_gib = psutil.virtual_memory().total / (1 << 30)
    return {
        "cores": str(psutil.cpu_count()),
        "memory": f"{memory_gib:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load_generator": load.generator(),
        "kannel": kannel.version() if kannel.installed() else "not installed",
    }


def _rows(
    figures: Sequence[Figure], readings: Sequence[Reading], found: dict[str, float]
) -> Iterator[str]:
    """Yields a line a figure, with its ratios and aims below it."""
    for figure in figures:
        of_it = [reading for reading in readings if reading.figure == figure.name]
        if not of_it:
            continue
        value, errors = found[figure.name], together(*(reading.errors for reading in of_it))
        values = [reading.value for reading in of_it]
        spread = f"  {_number(min(values))} .. {_number(max(values))}" if len(values) > 1 else ""
        yield (
            f"  {figure.title:<{TITLE_WIDTH}} {_number(value):>11}"
            f" {figure.unit:<12}{spread}{f'  !! {errors_text(errors)} !!' if errors else ''}"
        )
        for name in figure.beside:
            if name in found:
                title = next(limit.title for limit in LIMITS if limit.name == name)
                yield f"      {value / found[name]:.2f} x {title}"
        for aim in figure.aims:
            met = aim.met(value, found)
            yield f"      aim {aim.text()}: {_VERDICTS[met]}"


_VERDICTS = {None: "not judged, Kannel was not measured", True: "met", False: "MISSED"}


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def _warnings(results: Results) -> Iterator[str]:
    for failure in results.failures:
        yield f"!! NOT MEASURED: {failure.case}: {failure.why}"
    for figure in sorted({reading.figure for reading in results.readings if reading.errors}):
        yield f"!! WITH ERRORS, so no clean figure: {figure}"
    if max(results.busy_percent, default=0.0) > BUSY_PERCENT:
        yield (
            f"!! Others used up to {max(results.busy_percent):.0f} % of the machine before a round"
            " began: compare ratios only."
        )
    if not kannel.installed():
        yield (
            "Kannel is not installed (Debian: apt-get install --no-install-recommends kannel), so"
            " nothing is compared with it."
        )
    if load.generator() != "wrk":
        yield (
            "wrk is not installed: the load came from our own generator, which takes more of the"
            " machine away from what it measures."
        )
