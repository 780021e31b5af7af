"""requestPresentation and getPresentation: the request of a verifier to a wallet of OpenID4VP, and its result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from identity_codec.multibase import base64url_encode
from identity_codec.structs import value_or
from identity_core.domain.callers import Caller
from identity_core.errors import InvalidRequest, PresentationNotFound
from identity_core.ports.clock import Clock
from identity_core.use_cases.proofs.steps import VERIFY_SCOPE
from identity_wallets.domain.presentation import LIFE, CredentialSet, PresentationQuery, WantedClaim, WantedCredential
from identity_wallets.use_cases.present import VerifierKeys
from identity_wallets.use_cases.requests import KeptRequests
from identity_wallets.wire import RequestPresentationRequest


class RequestPresentation(Struct, frozen=True):
    """Raises ``Forbidden``, ``InvalidRequest``, ``InvalidDid``, ``DidNotFound``, ``DidDeactivated``; ``Overloaded`` when far too many of
    the caller's are live. ``random`` is the operating system's random source."""

    kept: KeptRequests
    keys: VerifierKeys
    clock: Clock
    random: Callable[[int], bytes]

    async def __call__(self, wish: RequestPresentationRequest, caller: Caller) -> PresentationQuery:
        did = self.keys.reader.parse(wish.verifier_did)
        caller.require_acting_for(did, VERIFY_SCOPE)
        await self.keys(did)
        redirect = value_or(wish.redirect_uri, None)
        if redirect is not None:
            _check_redirect(redirect)
        expires_at = self.clock.now().replace(microsecond=0) + LIFE
        nonce = base64url_encode(self.random(32))
        secret = self.kept.new_secret() if value_or(wish.encrypted, False) else None
        wanted, sets = _wanted_credentials(wish)
        query = PresentationQuery(self.kept.new_id(), str(did), nonce, redirect, wanted, expires_at, secret, sets)
        try:
            query.check()
        except ValueError as error:
            raise InvalidRequest(str(error), details={"member": "credentials"}) from error
        await self.kept.keep(query, caller.owner)
        return query


def _wanted_credentials(
    wish: RequestPresentationRequest,
) -> tuple[tuple[WantedCredential, ...], tuple[CredentialSet, ...]]:
    wanted = tuple(
        WantedCredential(
            one.id,
            one.schema_id,
            tuple(value_or(one.issuer_dids, ())),
            tuple(
                WantedClaim(tuple(claim.path), value_or(claim.id, ""), tuple(value_or(claim.values, ())))
                for claim in value_or(one.claims, ())
            ),
            tuple(map(tuple, value_or(one.claim_sets, ()))),
        )
        for one in wish.credentials
    )
    sets = tuple(
        CredentialSet(tuple(map(tuple, one.options)), value_or(one.required, True))
        for one in value_or(wish.credential_sets, ())
    )
    return wanted, sets


def _check_redirect(text: str) -> None:
    """Raise ``InvalidRequest`` unless a wallet may be led there."""
    try:
        parts = urlsplit(text)
        is_good = parts.scheme == "https" and bool(parts.hostname) and parts.username is None and not parts.fragment
    except ValueError:
        is_good = False
    if not is_good or not text.isascii() or not text.isprintable() or " " in text:
        raise InvalidRequest("redirectUri is an https URL without a fragment.", details={"member": "redirectUri"})


class GetPresentation(Struct, frozen=True):
    """Read a presentation. Raises ``Forbidden``; ``PresentationNotFound`` also for a request of another verifier."""

    kept: KeptRequests

    async def __call__(self, request_id: str, caller: Caller) -> tuple[str | None, dict[str, Any] | None]:
        """Return the time and the content of the wallet's answer; None if there is none."""
        caller.require_scope(VERIFY_SCOPE)
        query, stored = await self.kept.find(request_id)
        if stored.owner != caller.owner:
            raise PresentationNotFound
        return self.kept.answer_of(query, stored) or (None, None)
