"""The setting: some origins, all, or none."""

from __future__ import annotations

import pytest

from identity_core.api.request import Request
from identity_core.api.transport import Origins
from identity_core.settings.fields import SettingsError
from identity_core.settings.load import load

WALLET, EVIL = "https://wallet.example", "https://evil.example"


def preflight_request(origin: str | None) -> Request:
    preflight = {"access-control-request-method": "GET"}
    return Request(headers=preflight if origin is None else {"origin": origin, **preflight})


def allowed(origins: Origins, origin: str | None) -> str | None:
    return dict(origins.headers(preflight_request(origin))).get("Access-Control-Allow-Origin")


@pytest.mark.parametrize(
    "origin", [WALLET.upper(), WALLET + ".evil.example", WALLET + "/", "null", EVIL, f"{WALLET}, {EVIL}"]
)
def test_an_origin_is_one_of_the_list_or_none(origin: str) -> None:
    origins = Origins((WALLET,))
    assert allowed(origins, WALLET) == WALLET
    assert allowed(origins, origin) is None
    assert "Access-Control-Allow-Methods" not in dict(origins.preflight(preflight_request(origin)))
    assert "Access-Control-Allow-Methods" in dict(origins.preflight(preflight_request(WALLET)))


@pytest.mark.parametrize("origin", [WALLET, EVIL, None])
def test_a_cache_keeps_the_answers_apart(origin: str | None) -> None:
    assert dict(Origins((WALLET,)).headers(preflight_request(origin)))["Vary"] == "Origin"


def test_none_is_nobody_and_a_star_is_everybody() -> None:
    assert Origins(()).headers(preflight_request(WALLET)) == Origins(()).preflight(preflight_request(WALLET)) == ()
    assert allowed(Origins(("*",)), EVIL) == allowed(Origins((WALLET, "*")), None) == "*"


@pytest.mark.parametrize("text", ["https://wallet.example/", "wallet.example", "null", "**", "https://a.example/x"])
def test_a_setting_that_names_no_origin_stops_the_start(text: str) -> None:
    with pytest.raises(SettingsError, match="cors_origins"):
        load(environment={"IDENTITY_SERVER_CORS_ORIGINS": text})
