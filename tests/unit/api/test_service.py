import asyncio

import pytest

from identity_core.api import service
from identity_core.api.metrics import Metrics
from identity_core.api.request import Request
from identity_core.api.service import Probe, ServiceHandlers


def handlers(**probes: Probe) -> ServiceHandlers:
    return ServiceHandlers(version={"service": "1.0.0"}, probes=probes, plugins=dict, measured=Metrics(shared=None))


async def up() -> str:
    return "ok"


async def limping() -> str:
    return "degraded"


async def broken() -> str:
    raise OSError("secret")


async def full() -> str:
    return "full"


async def hanging() -> str:
    await asyncio.sleep(60)
    return "ok"


@pytest.mark.parametrize(
    ("probes", "status", "states"),
    [
        ({}, 200, {}),
        ({"ledger": up, "store": limping}, 200, {"ledger": "ok", "store": "degraded"}),
        ({"ledger": up, "store": broken}, 503, {"ledger": "ok", "store": "down"}),
        ({"ledger": full}, 503, {"ledger": "full"}),
        ({"ledger": hanging, "store": up}, 503, {"ledger": "down", "store": "ok"}),
    ],
)
def test_readiness(
    probes: dict[str, Probe], status: int, states: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "PROBE_SECONDS", 0.02)
    answer = asyncio.run(handlers(**probes).get_readiness(Request()))
    assert answer.status == status
    assert answer.body["dependencies"] == states
    assert ("retry-after" in dict(answer.headers)) == (status == 503)


def test_health_asks_nobody() -> None:
    assert asyncio.run(handlers(store=broken).get_health(Request())).status == 200


def test_version() -> None:
    assert asyncio.run(handlers().get_version(Request())).body == {"service": "1.0.0"}
