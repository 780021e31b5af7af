"""Whether agents find tools is the operator's to say, and what is missing is said at the start."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from importlib.metadata import EntryPoints
from types import SimpleNamespace
from typing import Any

import pytest

from identity_core.bootstrap import agents
from identity_core.settings import Settings, StartError, load
from tests.unit.plugin.parts import GoodCustodian

NOBODY: Any = None


def endpoints(settings: Settings) -> dict[str, Any]:
    async def run() -> dict[str, Any]:
        async with AsyncExitStack() as stack:
            opened: Any = SimpleNamespace(settings=settings, custodian=GoodCustodian(), clock=None, has_pages=True)
            return await agents.agent_endpoints(opened, NOBODY, {}, NOBODY, stack)

    return asyncio.run(run())


def test_there_is_nothing_by_default_and_one_place_where_it_is_wanted() -> None:
    settings = load(environment={})
    assert endpoints(settings) == {}
    assert [*endpoints(replace(settings, mcp=replace(settings.mcp, enabled=True)))] == ["/mcp"]


def test_tasks_are_given_where_they_are_wanted() -> None:
    settings = load(environment={})
    wanted = replace(settings, a2a=replace(settings.a2a, enabled=True))
    assert [*endpoints(wanted)] == ["/a2a"]
    assert agents.agent_places(settings) == []
    assert agents.agent_places(replace(wanted, mcp=replace(settings.mcp, enabled=True))) == ["/mcp", "/a2a"]


def test_without_the_extra_the_start_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "entry_points", lambda **how: EntryPoints())
    settings = load(environment={"IDENTITY_MCP_ENABLED": "true"})
    with pytest.raises(StartError, match=r"IDENTITY_MCP_ENABLED\n.*identity-service\[mcp\]"):
        endpoints(settings)
