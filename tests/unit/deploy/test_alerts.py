"""Alerts and dashboard: each metric that they name is one of a running service, each alert has a case and a paragraph, and none is set off
by a service that is well.

``promtool`` (Debian: ``prometheus``) evaluates the alerts. Where it is absent those tests skip and say so; in CI they fail.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from identity_observability.kernel_gauges import limiter_gauges, plugin_gauges
from identity_observability.metrics import Metrics
from identity_transparency.extension import witness_gauges
from prometheus_client.parser import text_string_to_metric_families

from tests.fault import service_process
from tests.fault.service_process import API_KEY, eventually

DEPLOY = Path(__file__).parents[3] / "deploy"
RULES = yaml.safe_load((DEPLOY / "prometheus/alerts.yml").read_text())["groups"][0]["rules"]
CASES = yaml.safe_load((DEPLOY / "prometheus/alerts_test.yml").read_text())["tests"]
PANELS = json.loads((DEPLOY / "grafana/identity.json").read_text())["panels"]
METRIC = re.compile(r"\bidentity_[a-z_]+")


def promtool(*arguments: object, given: bytes | None = None) -> None:
    program = shutil.which("promtool")
    if program is None:
        give_up = pytest.fail if os.environ.get("CI") else pytest.skip
        give_up("promtool is not installed (Debian: prometheus)")
    done = subprocess.run([program, *map(str, arguments)], input=given, capture_output=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr).decode()
    # What it advises against is not a failure of its own.
    assert not done.stderr.strip(), done.stderr.decode()


@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory) -> str:
    with service_process.service(tmp_path_factory.mktemp("alerts") / "data") as running:
        hana = running.stranger.holder()
        assert running.wire.call("GET", hana.path(), None, {"X-API-Key": API_KEY}).status == 200

        def read_metrics() -> str:
            return running.wire.call("GET", "/metrics", None, {"X-API-Key": API_KEY}).body.decode()

        eventually(lambda: "identity_ledger_size 1.0" in read_metrics(), "the log follows the ledger")
        return read_metrics()


class Lags:
    """Of an installation with one witness."""

    def lags(self) -> Mapping[str, float]:
        return {"w": 1.0}

    def quorum_lag(self) -> float:
        return 1.0


class Limiter:
    """Of an installation with a shared one."""

    degraded = False
    local_decisions = 0


def with_witnesses_and_limiter() -> str:
    gauges = [*witness_gauges(Lags()), *plugin_gauges(dict), *limiter_gauges(Limiter())]
    return Metrics(gauges, shared=None).render({}).decode()


def samples(text: str) -> set[str]:
    return {sample.name for family in text_string_to_metric_families(text) for sample in family.samples}


def expressions() -> dict[str, str]:
    found = {rule["alert"]: rule["expr"] for rule in RULES}
    for panel in PANELS:
        found |= {f"{panel['title']} {target['refId']}": target["expr"] for target in panel["targets"]}
    return found


def test_every_metric_that_is_named_is_one_of_ours(scraped: str) -> None:
    known = samples(scraped) | samples(with_witnesses_and_limiter())
    unknown = {(name, each) for name, text in expressions().items() for each in METRIC.findall(text)}
    assert {pair for pair in unknown if pair[1] not in known} == set()


def test_alert_expressions_use_exported_metrics(scraped: str) -> None:
    values = {
        sample.name: sample.value
        for family in text_string_to_metric_families(scraped)
        for sample in family.samples
        if not sample.labels
    }
    assert values["identity_ledger_size"] >= 1
    assert values["identity_database_writes_total"] >= values["identity_database_commits_total"] >= 1
    assert values["identity_database_groups_repeated_total"] == 0
    assert values["identity_database_writes_waiting_limit"] > values["identity_database_writes_waiting"]
    assert values["identity_database_reads"] == values["identity_database_readers"] == 0
    assert 0 < values["identity_data_free_bytes"] < values["identity_data_size_bytes"]
    assert values["identity_process_max_fds"] > values["identity_process_open_fds"] > 0
    assert values["identity_process_resident_memory_bytes"] > 10_000_000
    assert values["identity_process_cpu_seconds_total"] > 0
    assert values["identity_audit_chain_broken"] == values["identity_audit_cut_stuck"] == 0
    assert values["identity_resolution_cache_asked_total"] == 1
    assert values["identity_api_key_next_expiry_timestamp_seconds"] == math.inf


def test_every_alert_has_a_case_and_a_paragraph() -> None:
    names = [rule["alert"] for rule in RULES]
    told = {each["alertname"] for case in CASES for each in case["alert_rule_test"] if each["exp_alerts"]}
    assert told == set(names)
    page = DEPLOY.parent / "docs/how-to/alerts.md"
    headings = re.findall(r"^## (\w+)\n\n\S", page.read_text(), re.MULTILINE)
    assert headings == names
    assert [rule["annotations"]["runbook"] for rule in RULES] == [
        f"docs/how-to/alerts.md#{name.lower()}" for name in names
    ]


def test_prometheus_likes_the_metrics(scraped: str) -> None:
    promtool("check", "metrics", given=scraped.encode())
    promtool("check", "metrics", given=with_witnesses_and_limiter().encode())


def test_each_alert_is_set_off_by_its_case() -> None:
    promtool("check", "rules", DEPLOY / "prometheus/alerts.yml")
    promtool("test", "rules", DEPLOY / "prometheus/alerts_test.yml")


def test_a_service_that_is_well_sets_off_none(scraped: str, tmp_path: Path) -> None:
    series: list[dict[str, Any]] = [{"series": 'up{job="identity",instance="a"}', "values": "1x180"}]
    for family in text_string_to_metric_families(scraped):
        for sample in family.samples:
            if math.isfinite(sample.value):
                labels = ",".join(f'{name}="{value}"' for name, value in (sample.labels | {"instance": "a"}).items())
                # How full the disk is that the tests run on says nothing of the service.
                value = (
                    1e12 if sample.name in ("identity_data_free_bytes", "identity_data_size_bytes") else sample.value
                )
                series.append({"series": f"{sample.name}{{{labels}}}", "values": f"{value}x180"})
    silent = [{"eval_time": "3h", "alertname": rule["alert"], "exp_alerts": []} for rule in RULES]
    case = {"interval": "1m", "input_series": series, "alert_rule_test": silent}
    whole = {"rule_files": [str(DEPLOY / "prometheus/alerts.yml")], "evaluation_interval": "1m", "tests": [case]}
    (tmp_path / "well.yml").write_text(yaml.safe_dump(whole))
    promtool("test", "rules", tmp_path / "well.yml")


def test_every_panel_is_a_query(tmp_path: Path) -> None:
    queries = [text.replace("$__rate_interval", "5m").replace("$instance", ".*") for text in expressions().values()]
    rules = [{"record": f"panel_{number}", "expr": query} for number, query in enumerate(queries)]
    (tmp_path / "panels.yml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    promtool("check", "rules", tmp_path / "panels.yml")
