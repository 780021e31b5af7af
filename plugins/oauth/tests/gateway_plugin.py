"""A plugin that verifies the tokens of another issuer: ``gateway:`` and a DID."""

from __future__ import annotations

from datetime import datetime

from identity_core.domain.callers import Caller
from identity_core.domain.dids.did import Did
from identity_core.errors import AuthFailed
from identity_core.plugin import hookimpl

GATEWAY = "gateway:"


@hookimpl
def identity_verify_bearer(token: str, now: datetime) -> Caller | None:
    if not token.startswith(GATEWAY):
        return None
    if token == f"{GATEWAY}bad":
        raise AuthFailed
    return Caller(subject=Did.parse(token.removeprefix(GATEWAY)))
