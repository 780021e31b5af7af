"""Who asks: challenges, tokens, and the gate in front of every handler."""

from __future__ import annotations

import secrets
from datetime import timedelta

from identity_core.api.api_keys import ApiKeyHandlers
from identity_core.api.auth import AuthHandlers
from identity_core.api.quota import QuotaLimits, Quotas
from identity_core.api.security import Gate
from identity_core.bootstrap.choices import origin_of
from identity_core.bootstrap.runtime import Runtime
from identity_core.domain.challenge_mac import ChallengeKey
from identity_core.throttle.policy import Limit, Policy, parse_proxies
from identity_core.use_cases.api_keys.authenticate import AuthenticateApiKey
from identity_core.use_cases.auth.authenticate_bearer import AuthenticateBearer
from identity_core.use_cases.auth.authenticate_did import AuthenticateDid
from identity_core.use_cases.auth.challenges import ChallengeBook
from identity_core.use_cases.auth.get_challenge import GetDidAuthChallenge
from identity_core.use_cases.auth.issue_token import IssueToken
from identity_core.use_cases.auth.token_keys import TokenKeys


def challenge_book(opened: Runtime) -> ChallengeBook:
    """Challenges as every process of this installation hands them out and takes them back."""
    chosen = opened.settings.challenge
    return ChallengeBook(
        ChallengeKey(opened.challenge_secret),
        opened.store.spent_challenges,
        secrets.token_bytes,
        origin_of(opened.settings),
        timedelta(seconds=chosen.lifetime_seconds),
        chosen.cap,
    )


def auth_handlers(opened: Runtime, token_keys: TokenKeys, challenges: ChallengeBook) -> AuthHandlers:
    """The handlers of the tag ``auth``."""
    reader, store, clock, settings = opened.reader, opened.store, opened.clock, opened.settings
    origin, random = origin_of(settings), secrets.token_bytes
    challenge = GetDidAuthChallenge(reader, challenges, clock)
    lifetime = settings.token.lifetime_seconds
    issue = IssueToken(reader, opened.custodian, token_keys, store.audit, clock, random, origin, lifetime)
    return AuthHandlers(reader, challenge, issue, token_keys)


def api_key_handlers(opened: Runtime) -> ApiKeyHandlers:
    """The handlers of the tag ``api_keys``."""
    keys, audit, clock = opened.keys, opened.store.audit, opened.clock
    administer = (keys.create, keys.list, keys.get, keys.update, keys.rotate, keys.revoke)
    return ApiKeyHandlers(*administer, audit, clock, opened.fingerprint)


def gate_of(opened: Runtime, token_keys: TokenKeys, challenges: ChallengeBook, quotas: Quotas) -> Gate:
    """What authenticates every request, and limits it."""
    reader, clock, origin = opened.reader, opened.clock, origin_of(opened.settings)
    api_keys = AuthenticateApiKey(opened.key_stores, opened.known_keys, clock, opened.fingerprint)
    return Gate(
        reader=reader,
        api_keys=api_keys,
        signatures=AuthenticateDid(reader, challenges, clock),
        bearers=AuthenticateBearer(reader, api_keys, token_keys, clock, opened.plugins.verify_bearer, origin),
        policy=_policy(opened),
        quotas=quotas,
        trusted_proxies=parse_proxies(opened.settings.server.trusted_proxies),
    )


def _policy(opened: Runtime) -> Policy:
    throttle = opened.settings.throttle
    return Policy(
        opened.buckets,
        key=Limit("key", throttle.key_per_second, throttle.key_burst),
        address=Limit("address", throttle.address_per_second, throttle.address_burst),
        challenge=Limit("challenge", throttle.challenge_per_second, throttle.challenge_burst),
        did=Limit("did", throttle.did_per_second, throttle.did_burst),
    )


def quotas_of(opened: Runtime) -> Quotas:
    """How much DIDs may write."""
    quota = opened.settings.quota
    limits = QuotaLimits(
        quota.did_records or None, quota.did_octets or None, quota.day_records or None, quota.day_octets or None
    )
    return Quotas(opened.store.usage, opened.clock, limits)
