"""The examples of challenges."""

from __future__ import annotations

from datetime import timedelta

from identity_client.challenge import Challenge
from identity_codec.times import printed
from openapi.story import START, Json, Story


def challenge(story: Story) -> Json:
    """A challenge that is bound to purpose and body."""
    body = {"operation": "removeService", "serviceId": "hub"}
    text = story.offer("update", body, START + timedelta(days=1))
    expiry = printed(Challenge.parse(text).expires_at)
    bound = {"challenge": text, "did": story.did, "expiresAt": expiry}
    return {"getDidAuthChallenge": {"200": {"bound": bound}}}
