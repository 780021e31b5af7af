"""Who asks: challenges, tokens, and the gate in front of every handler."""

from __future__ import annotations

import secrets
from datetime import timedelta

from identity_core.api.auth import AuthHandlers
from identity_core.api.security import Gate
from identity_core.bootstrap.choices import origin_of
from identity_core.bootstrap.opened import Opened
from identity_core.throttle.policy import Limit, Policy, parse_proxies
from identity_core.use_cases.api_keys.authenticate import AuthenticateApiKey
from identity_core.use_cases.auth.authenticate_bearer import AuthenticateBearer
from identity_core.use_cases.auth.authenticate_did import AuthenticateDid
from identity_core.use_cases.auth.get_challenge import GetDidAuthChallenge
from identity_core.use_cases.auth.issue_token import IssueToken
from identity_core.use_cases.auth.token_keys import TokenKeys


def auth_handlers(opened: Opened, token_keys: TokenKeys) -> AuthHandlers:
    """The handlers of the tag ``auth``."""
    reader, store, clock, settings = opened.reader, opened.store, opened.clock, opened.settings
    origin, random = origin_of(settings), secrets.token_bytes
    challenge = GetDidAuthChallenge(
        reader,
        store.challenges,
        clock,
        random,
        origin,
        timedelta(seconds=settings.challenge.lifetime_seconds),
        settings.challenge.cap,
    )
    lifetime = settings.token.lifetime_seconds
    issue = IssueToken(reader, opened.custodian, token_keys, store.audit, clock, random, origin, lifetime)
    return AuthHandlers(reader, challenge, issue, token_keys)


def gate_of(opened: Opened, token_keys: TokenKeys) -> Gate:
    """What authenticates every request, and limits it."""
    reader, clock, origin = opened.reader, opened.clock, origin_of(opened.settings)
    api_keys = AuthenticateApiKey(opened.key_stores, opened.known_keys, clock)
    return Gate(
        reader=reader,
        api_keys=api_keys,
        signatures=AuthenticateDid(reader, opened.store.challenges, clock, origin),
        bearers=AuthenticateBearer(reader, api_keys, token_keys, clock, opened.plugins.verify_bearer, origin),
        policy=_policy(opened),
        trusted_proxies=parse_proxies(opened.settings.server.trusted_proxies),
    )


def _policy(opened: Opened) -> Policy:
    throttle = opened.settings.throttle
    return Policy(
        opened.buckets,
        key=Limit("key", throttle.key_per_second, throttle.key_burst),
        address=Limit("address", throttle.address_per_second, throttle.address_burst),
        challenge=Limit("challenge", throttle.challenge_per_second, throttle.challenge_burst),
    )
