"""Shows operators how the service does: samples of its figures, and all that is wrong with it."""

from heliograph.monitoring.check_result import CheckResult
from heliograph.monitoring.plotted import SPANS, PlottedPart, PlottedSpan, parts_of, span_named
from heliograph.monitoring.process_figures import written_figures
from heliograph.monitoring.sampling import MeasuredQueue, Sampler
from heliograph.monitoring.situation import SAMPLES_LATE_MS, Situation, situation

__all__ = [
    "SAMPLES_LATE_MS",
    "SPANS",
    "CheckResult",
    "MeasuredQueue",
    "PlottedPart",
    "PlottedSpan",
    "Sampler",
    "Situation",
    "carrier_checks",
    "parts_of",
    "situation",
    "span_named",
    "work_checks",
    "written_figures",
]
