import asyncio
from datetime import UTC, datetime

import pytest

from identity_codec.structs import plain
from identity_codec.values import replace
from identity_core.api import service
from identity_core.api.request import Request
from identity_core.api.service import ServiceHandlers
from identity_core.domain.callers import ApiKey, Caller
from identity_core.use_cases.service import Dependencies, GetHealth, GetReadiness, GetVersion, Probe


def handlers(*, is_public: bool = True, **probes: Probe) -> ServiceHandlers:
    dependencies = Dependencies({name: service.bounded(name, probe) for name, probe in probes.items()})
    return ServiceHandlers(
        health=GetHealth(),
        readiness=GetReadiness(dependencies, dict, is_public),
        version=GetVersion({"service": "1.0.0"}, lambda: "0123456789ab"),
    )


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
    assert answer.body.dependencies == states
    assert ("retry-after" in dict(answer.headers)) == (status == 503)


def test_health_asks_nobody() -> None:
    assert asyncio.run(handlers(store=broken).get_health(Request())).status == 200


def test_version() -> None:
    assert asyncio.run(handlers().get_version(Request())).body == {"service": "1.0.0", "build": "0123456789ab"}


KEY = ApiKey("key_1", "Olu", "0" * 64, None, None, None, None, datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("scopes", "sees"), [(None, True), (frozenset({"service:read"}), True), (frozenset({"dids:list"}), False)]
)
def test_states_are_for_keys_that_may_see_them(scopes: frozenset[str] | None, sees: bool) -> None:
    request = Request()
    request.caller = Caller(api_key=replace(KEY, scopes=scopes))
    answer = asyncio.run(handlers(is_public=False, ledger=up).get_readiness(request))
    assert answer.status == 200
    assert ("dependencies" in plain(answer.body), "plugins" in plain(answer.body)) == (sees, sees)


def test_a_stranger_sees_the_status_alone() -> None:
    answer = asyncio.run(handlers(is_public=False, ledger=up).get_readiness(Request()))
    assert plain(answer.body) == {"status": "ready"}
