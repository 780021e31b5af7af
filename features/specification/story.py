"""State of a scenario on a server with default settings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from features.servers import Server, Servers
from features.specification.plain_client import Controller, PlainClient

SERVICE = {"id": "#files", "type": "LinkedDomains", "serviceEndpoint": "https://files.example/"}


@dataclass
class PlainStory:
    """State of one scenario: the client, the DID, the last response and named values."""

    client: PlainClient
    response: httpx.Response | None = None
    subject: Controller | None = None
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def did(self) -> Controller:
        """The DID of the scenario."""
        assert self.subject is not None
        return self.subject

    @property
    def content(self) -> dict[str, Any]:
        """The JSON object of the last response."""
        assert self.response is not None
        value: dict[str, Any] = self.response.json()
        return value


def connect(server: Server) -> PlainClient:
    """Return a client of a test server."""
    return PlainClient(server.url.removesuffix("/").removesuffix("/api/v1") + "/api/v1", server.api_key)


def format_time(days: float) -> str:
    """Return the time in so many days, in UTC and ISO 8601."""
    return (datetime.now(UTC) + timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(text: str) -> datetime:
    """Read a timestamp that has a zone."""
    time = datetime.fromisoformat(text)
    assert time.tzinfo is not None, text
    return time


@pytest.fixture
def plain(servers: Servers) -> Iterator[PlainStory]:
    """Provide a client of a server with default settings."""
    story = PlainStory(connect(servers["default"]))
    yield story
    story.client.http.close()
