"""A challenge for presentations carries its own end, and only this service can make one."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from identity_vcalm.presentation import (
    CHALLENGE_LIFETIME,
    CHALLENGE_PREFIX,
    PresentationChallengeKey,
)

from identity_codec.multibase import base64url_decode, base64url_encode

NOW = datetime(2026, 1, 5, 10, tzinfo=UTC)
KEY = PresentationChallengeKey(bytes(32))


def test_it_ends_when_it_was_said_to() -> None:
    text = KEY.make(bytes(16), NOW)
    assert KEY.end(text) == NOW + CHALLENGE_LIFETIME
    assert KEY.make(b"\x01" * 16, NOW) != text


def test_no_other_text_is_one() -> None:
    text = KEY.make(bytes(16), NOW)
    data = base64url_decode(text.removeprefix(CHALLENGE_PREFIX))
    changed = [
        CHALLENGE_PREFIX + base64url_encode(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        for at in range(len(data))
    ]
    for other in (
        *changed,
        "",
        CHALLENGE_PREFIX,
        text + "A",
        text[:-4],
        text + "====",
        PresentationChallengeKey(b"\x01" * 32).make(bytes(16), NOW),
    ):
        with pytest.raises(ValueError, match=r"."):
            KEY.end(other)
