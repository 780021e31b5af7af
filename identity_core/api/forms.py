"""Forms as standards of OAuth define them."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl

from identity_core.errors import InvalidRequest


def form_members(octets: bytes) -> Mapping[str, str]:
    """Return names and values of a form, each name once (RFC 6749 §3.2). A member without a value counts as absent."""
    pairs = parse_qsl(octets.decode("ascii"), keep_blank_values=True, errors="strict")
    found = dict(pairs)
    if len(found) != len(pairs):
        raise InvalidRequest("A parameter is repeated.")
    return {name: value for name, value in found.items() if value}
