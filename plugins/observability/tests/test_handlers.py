"""The operation getMetrics: its text, and who may read it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest
from identity_observability.handlers import MetricsHandlers
from identity_observability.metrics import Metrics

from identity_codec.values import replace
from identity_core.api.request import Request
from identity_core.domain.callers import ApiKey, Caller
from identity_core.errors import AuthRequired, Forbidden
from identity_core.use_cases.service import Dependencies

KEY = ApiKey("key_1", "Olu", "0" * 64, None, None, None, None, datetime(2026, 1, 1, tzinfo=UTC))


async def up() -> str:
    return "ok"


async def down() -> str:
    return "down"


def metrics_for(scopes: frozenset[str] | None, *, is_public: bool = False, has_key: bool = True) -> str:
    handlers = MetricsHandlers(Dependencies({"ledger": up, "store": down}), Metrics(shared=None), is_public)
    key = replace(KEY, scopes=scopes)
    request = Request()
    request.caller = Caller(api_key=key) if has_key else None
    answer = asyncio.run(handlers.get_metrics(request))
    assert answer.media_type == "text/plain; version=0.0.4; charset=utf-8"
    text: bytes = answer.body
    return text.decode()


@pytest.mark.parametrize("scopes", [None, frozenset({"service:read"})])
def test_metrics_show_the_state_of_each_dependency(scopes: frozenset[str] | None) -> None:
    text = metrics_for(scopes)
    assert 'identity_dependency_state{dependency="ledger",state="ok"} 1.0' in text
    assert 'identity_dependency_state{dependency="store",state="down"} 1.0' in text


def test_metrics_are_refused_without_the_scope() -> None:
    with pytest.raises(Forbidden):
        metrics_for(frozenset({"dids:list"}))


def test_metrics_need_a_key_unless_they_are_public() -> None:
    with pytest.raises(AuthRequired):
        metrics_for(None, has_key=False)
    assert "identity_dependency_state" in metrics_for(None, has_key=False, is_public=True)
