"""Which endpoints the settings serve, and the errors of a startup without the parts that they need."""

from __future__ import annotations

import asyncio
from importlib.metadata import EntryPoints
from types import SimpleNamespace
from typing import Any

import pytest
from identity_agents import extension
from identity_agents.card import CARD_PATH, EXTENSION_PATH
from identity_oauth import extension as oauth
from identity_verification import extension as verification

from identity_codec.values import replace
from identity_core.bootstrap.runtime import require_resources, served_resources, unserved_resources
from identity_core.extension.choice import choose_extensions, in_order
from identity_core.extension.opening import OpenKernel
from identity_core.settings import Settings, StartError, load
from identity_core.settings.sources import ExtensionSettings
from tests.unit.extension.test_extensions import source

CARD, SCHEMA = "/.well-known/agent-card.json", "/ext/request-proof/v1"


def contribute(settings: Settings) -> Any:
    """Return the contribution of the extension."""

    async def run() -> Any:
        kernel: Any = SimpleNamespace(
            settings=settings,
            origin="https://id.example",
            clock=None,
            random=None,
            operations={},
            secret=lambda label: bytes(32),
            need=lambda service: None,
            find=lambda service: None,
        )
        async with extension.open_agents(kernel) as contribution:
            return contribution

    return asyncio.run(run())


def chosen(settings: Settings, *, kept: tuple[str, ...] = ()) -> Any:
    declared = {"oauth": oauth, "verification": verification, "agents": extension}
    installed = in_order([(source(name), one.identity_extend()) for name, one in declared.items()])
    require_resources(installed, settings)
    return choose_extensions(installed, settings, kept)


@pytest.mark.parametrize(
    ("served", "endpoints", "pages"),
    [
        ({}, [], []),
        ({"MCP"}, ["/mcp"], []),
        ({"A2A"}, ["/a2a"], [CARD, SCHEMA]),
        ({"MCP", "A2A"}, ["/mcp", "/a2a"], [CARD, SCHEMA]),
    ],
)
def test_endpoints_are_those_of_the_settings(served: set[str], endpoints: list[str], pages: list[str]) -> None:
    settings = load(environment={f"IDENTITY_{name}_ENABLED": "true" for name in served})
    contribution = contribute(settings)
    assert [*contribution.endpoints] == endpoints
    assert [*contribution.pages] == pages
    assert [*served_resources(chosen(settings), settings)] == endpoints


def test_startup_without_the_protocol_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extension, "entry_points", lambda **how: EntryPoints())
    settings = load(environment={"IDENTITY_MCP_ENABLED": "true"})
    with pytest.raises(StartError, match=r"IDENTITY_MCP_ENABLED\n.*identity[-_]service\[mcp\]"):
        contribute(settings)


@pytest.mark.parametrize("key", ["mcp.enabled", "a2a.enabled"])
def test_setting_turns_the_extension_on(key: str) -> None:
    """An installation with the setting needs no other one after an upgrade, also if its database is new."""
    variable = f"IDENTITY_{key.upper().replace('.', '_')}"
    settings = load(environment={variable: "true"})
    found = chosen(settings)
    row = next(row for row in found.rows() if row["name"] == "agents")
    assert (row["state"], row["because"]) == ("on", f"environment {variable} ({key})")
    settings = replace(settings, extensions=ExtensionSettings((), ("agents",)))
    disabled = chosen(settings)
    assert [one.declared.name for one in disabled.on] == ["oauth", "verification"]
    assert unserved_resources(disabled, settings)[f"/{key.partition('.')[0]}"] == ("agents", "")


@pytest.mark.parametrize(("enabled", "on"), [(("agents",), ["agents"]), ((), [])])
def test_extension_without_a_setting_serves_nothing(enabled: tuple[str, ...], on: list[str]) -> None:
    """An upgrade keeps it on by the settings alone: without them it was not in use, whatever the audit log contains."""
    settings = replace(Settings(), extensions=ExtensionSettings(enabled, ()))
    found = chosen(settings, kept=("agents",))
    assert [one.declared.name for one in found.on if one.declared.name not in {"oauth", "verification"}] == on
    unserved = {"/mcp": ("agents", "mcp.enabled"), "/a2a": ("agents", "a2a.enabled")}
    pages = {} if on else dict.fromkeys((CARD_PATH, EXTENSION_PATH), ("agents", ""))
    assert unserved_resources(found, settings) == unserved | pages


def test_tasks_of_before_the_extension_stay_valid() -> None:
    """The secret is what version 1.0 derived."""
    unused: Any = None
    roots = {"agents": bytes(range(32))}
    kernel = OpenKernel(*[unused] * 6, bytes(32), unused, {}, {}, "agents", roots=roots)
    assert kernel.secret("tasks").hex() == "609699ae3a8f79367e7a348b04caa98d8f234ac8cb3cb1eb615117b2f094e9ff"
