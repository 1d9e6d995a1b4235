"""Prometheus metrics of one process (`/metrics`)."""

from prometheus_client import Counter, Histogram

REQUESTS = Counter("heliograph_requests_total", "HTTP requests answered", ["method", "route", "status"])
REQUEST_SECONDS = Histogram("heliograph_request_seconds", "From the first byte of a request to the last of its answer", ["route"],
                            buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10))


_METHODS = frozenset({"GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"})  # others would be labels without end
_answered: dict[tuple[str, str, int], Counter] = {}
_seconds: dict[str, Histogram] = {}


def request_answered(method: str, route: str, status: int, seconds: float) -> None:
    """Counts one answer. The labelled children are kept: looking them up costs more than counting."""
    method = method if method in _METHODS else "other"
    counter = _answered.get((method, route, status))
    if counter is None:
        counter = _answered[(method, route, status)] = REQUESTS.labels(method, route, str(status))
    counter.inc()
    histogram = _seconds.get(route)
    if histogram is None:
        histogram = _seconds[route] = REQUEST_SECONDS.labels(route)
    histogram.observe(seconds)


