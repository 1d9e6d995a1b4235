"""Shows operators how the service does: samples of its figures, and all that is wrong with it."""

from heliograph.monitoring.carrier_hours import (
    FIGURE_SPANS,
    CarrierHour,
    FigureSpan,
    SegmentFigures,
    by_country,
    by_part,
    carrier_hours,
    span_of_figures,
)
from heliograph.monitoring.check_result import CheckResult
from heliograph.monitoring.database_now import database_state
from heliograph.monitoring.last_waiting import last_waiting
from heliograph.monitoring.plotted_samples import (
    SPANS,
    PlottedPart,
    PlottedSpan,
    parts_of,
    span_named,
)
from heliograph.monitoring.process_figures import written_figures
from heliograph.monitoring.process_list import RegisteredProcess, registered_processes
from heliograph.monitoring.sampling import MeasuredQueue, Sampler
from heliograph.monitoring.service_figures import ServiceFigures, service_figures
from heliograph.monitoring.situation import SAMPLES_LATE_MS, Trouble, TroubleKind, situation
from heliograph.monitoring.told_sentences import asked
from heliograph.monitoring.waiting_queues import queue_causes, queues_told

__all__ = [
    "FIGURE_SPANS",
    "SAMPLES_LATE_MS",
    "SPANS",
    "CarrierHour",
    "CheckResult",
    "FigureSpan",
    "MeasuredQueue",
    "PlottedPart",
    "PlottedSpan",
    "RegisteredProcess",
    "Sampler",
    "SegmentFigures",
    "ServiceFigures",
    "Trouble",
    "TroubleKind",
    "asked",
    "by_country",
    "by_part",
    "carrier_checks",
    "carrier_days",
    "carrier_hours",
    "carrier_rollups",
    "database_state",
    "last_waiting",
    "parts_of",
    "queue_causes",
    "queues_told",
    "registered_processes",
    "service_figures",
    "situation",
    "span_named",
    "span_of_figures",
    "work_checks",
    "written_figures",
]
