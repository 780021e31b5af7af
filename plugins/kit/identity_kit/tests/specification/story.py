"""State of a scenario.

A run provides two fixtures: ``plain_client`` calls a service with default settings, ``unanchored_client`` one without anchoring.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from identity_kit.tests.specification.plain_client import Controller, PlainClient

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


def connect(url: str, api_key: str) -> PlainClient:
    """Return a client of the service at this origin, or at this base URL."""
    return PlainClient(url.removesuffix("/").removesuffix("/api/v1") + "/api/v1", api_key)


def format_time(days: float) -> str:
    """Return the time in so many days, in UTC and ISO 8601."""
    return (datetime.now(UTC) + timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(text: str) -> datetime:
    """Read a timestamp that has a zone."""
    time = datetime.fromisoformat(text)
    assert time.tzinfo is not None, text
    return time


@pytest.fixture
def plain(plain_client: PlainClient) -> PlainStory:
    """Provide the state of one scenario."""
    return PlainStory(plain_client)
