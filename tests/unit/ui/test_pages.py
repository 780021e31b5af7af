"""A refusal as a page."""

from __future__ import annotations

import asyncio

import pytest

from identity_core.api import errors
from identity_core.api.request import Answer, Request
from identity_core.errors import DidNotFound
from identity_core.ui.pages import explained


async def refused(request: Request) -> Answer:
    raise DidNotFound


@pytest.mark.parametrize("guide", [True, False])
def test_an_error_leads_to_its_explanation_where_there_is_one(monkeypatch: pytest.MonkeyPatch, guide: bool) -> None:
    monkeypatch.setattr(errors, "guide_folder", lambda: "/guide" if guide else None)
    answer = asyncio.run(explained(refused)(Request(request_id="1", headers={}, operation_id="")))
    assert answer.status == 404
    assert (b'href="/docs/guide/reference/errors.html#did-not-found"' in answer.body) is guide
