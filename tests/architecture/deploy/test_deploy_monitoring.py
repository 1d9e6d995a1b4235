"""deploy/prometheus-rules.yml and deploy/grafana-dashboard.json have the right form, are about
metrics that there are, and raise alarms when they should.
"""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.metrics import MetricWrapperBase

from heliograph.base import metrics
from tests.support.deployed import DEPLOY
from tests.support.services import ServiceMissing, prometheus
from tests.support.sources import ROOT

RULES = DEPLOY / "prometheus-rules.yml"
DASHBOARD = DEPLOY / "grafana-dashboard.json"
OF_PROMETHEUS = {"instance", "job"}  # labels that Prometheus adds to what it reads
SELECTED = re.compile(r"\b(heliograph_\w+)(?:\{([^}]*)\})?")
BY = re.compile(r"\bby \(([^)]*)\)")


def _there() -> dict[str, set[str]]:
    """Returns the names of all series that /metrics may have, with their labels."""
    found: dict[str, set[str]] = {}
    for metric in vars(metrics).values():
        if isinstance(metric, MetricWrapperBase):
            described, labels = next(iter(metric.describe())), set(metric._labelnames)
            if described.type == "histogram":
                found |= {
                    f"{described.name}{ending}": labels | {"le"}
                    for ending in ("_bucket", "_sum", "_count")
                }
            else:
                found[described.name + "_total" * (described.type == "counter")] = labels
    return found


def _promtool(*arguments: object) -> None:
    if prometheus.find_promtool() is None:
        raise ServiceMissing(prometheus.ADVICE)
    done = subprocess.run(
        ["promtool", *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _panels(dashboard: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from (panel for panel in dashboard["panels"] if panel["type"] != "row")


def _queries() -> list[str]:
    """Returns the expressions of the dashboard, as Prometheus is asked them."""
    panels = _panels(json.loads(DASHBOARD.read_text("utf-8")))
    return [
        target["expr"].replace("$__rate_interval", "5m")
        for panel in panels
        for target in panel["targets"]
    ]


def test_prometheus_takes_the_rules() -> None:
    _promtool("check", "rules", RULES)


def test_a_bad_night_raises_the_alarms_and_a_quiet_one_none() -> None:
    _promtool("test", "rules", Path(__file__).with_name("prometheus-rules.test.yml"))


def test_prometheus_takes_every_query_of_the_dashboard(tmp_path: Path) -> None:
    rules = [
        {"record": f"panel:{number}", "expr": query} for number, query in enumerate(_queries())
    ]
    # JSON is YAML, too
    (tmp_path / "dashboard.yml").write_text(
        json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}), "utf-8"
    )
    _promtool("check", "rules", tmp_path / "dashboard.yml")


@pytest.mark.parametrize(
    "text", [RULES.read_text("utf-8"), *_queries()], ids=lambda text: str(len(text))
)
def test_rules_and_dashboard_ask_for_metrics_and_labels_that_there_are(text: str) -> None:
    there = _there()
    asked = SELECTED.findall(text)
    assert {name for name, _ in asked} <= set(there)
    for name, selector in asked:
        assert set(re.findall(r"(\w+) *[=!]", selector)) <= there[name] | OF_PROMETHEUS, name
    grouped = {label.strip() for labels in BY.findall(text) for label in labels.split(",")}
    assert grouped <= set.union(OF_PROMETHEUS, *(there[name] for name, _ in asked))


def test_every_metric_is_shown_or_raises_an_alarm() -> None:
    asked = {
        name
        for text in (RULES.read_text("utf-8"), *_queries())
        for name, _ in SELECTED.findall(text)
    }
    shown = {re.sub(r"_(bucket|sum|count)$", "", name) for name in asked}
    assert {re.sub(r"_(bucket|sum|count)$", "", name) for name in _there()} - shown == set()


def test_panels_stand_side_by_side() -> None:
    dashboard = json.loads(DASHBOARD.read_text("utf-8"))
    taken: set[tuple[int, int]] = set()
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])


def test_the_handbook_lists_the_alerts_that_there_are() -> None:
    there = re.findall(r"- alert: (\w+)", RULES.read_text("utf-8"))
    told = re.findall(
        r"^\| `(Heliograph\w+)` \|",
        (ROOT / "docs" / "operations.md").read_text("utf-8"),
        re.MULTILINE,
    )
    assert told == there
