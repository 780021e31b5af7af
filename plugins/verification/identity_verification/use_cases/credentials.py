"""verifyCredential: whether a presented credential is recorded here, unchanged, and in force now. A verdict, never an error.

The issuer's signature of suite 1 covers schema and values. The other members, such as the holder, are compared with the record, but
only if the signature is right: a client that guesses learns nothing from the answer.

Any client may request a check of a signature. Unauthenticated clients have separate ``SignatureChecks`` and delay only each other.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from msgspec import Struct

from identity_core.domain.credentials import verifiable_credential
from identity_core.domain.credentials.credential import canonical_values
from identity_core.domain.credentials.verifiable_credential import BoundFormat, PresentedCredential
from identity_core.errors import CredentialExpired, CredentialRevoked, IdentityError, InvalidCredential
from identity_core.ports.clock import Clock
from identity_core.ports.credentials import Credentials, CredentialSchemas
from identity_core.use_cases.credentials.signature_checks import SignatureChecks
from identity_verification.use_cases.check import IssuerKeys
from identity_verification.wire import CredentialCheck, CredentialVerdict, VerifyCredentialRequest

ANONYMOUS_WAITING: Final = 16
ANONYMOUS_REST: Final = 3.0
"""The pause after a check of unauthenticated clients, as a multiple of its duration: together they use at most a quarter of one CPU."""


def anonymous_checks() -> SignatureChecks:
    """Return the checks of unauthenticated clients: one at a time, with pauses."""
    return SignatureChecks(1, ANONYMOUS_WAITING, ANONYMOUS_REST)


class VerifyCredential(Struct, frozen=True):
    """Use case verifyCredential, which changes nothing. ``check`` is for unauthenticated clients, ``check_known`` for callers with an API
    key. ``base_url`` is that of this service's status lists; ``bound_format`` is that of suite 2."""

    schemas: CredentialSchemas
    credentials: Credentials
    issuer_keys: IssuerKeys
    check: SignatureChecks
    check_known: SignatureChecks
    clock: Clock
    base_url: str
    bound_format: BoundFormat | None

    async def __call__(self, wish: VerifyCredentialRequest, *, is_known: bool = False) -> CredentialVerdict:
        now = self.clock.now()
        try:
            presented = verifiable_credential.parse(wish.credential, now, bound_format=self.bound_format)
        except InvalidCredential as error:
            return _verdict([_wrong("form", "CREDENTIAL_MALFORMED", error)])
        checks = [_right("form"), *await self._signature(presented, now, self.check_known if is_known else self.check)]
        if all(check.ok for check in checks):
            checks += await self._record(presented, now)
        return _verdict(checks)

    async def _signature(
        self, presented: PresentedCredential, now: datetime, check: SignatureChecks
    ) -> list[CredentialCheck]:
        registered = await self.schemas.get(presented.schema_id)
        if registered is None:
            return [_wrong("schema", "SCHEMA_UNKNOWN")]
        try:
            values = canonical_values(registered.definition.schema, presented.attributes)
        except InvalidCredential as error:
            return [_wrong("schema", "ATTRIBUTES_INVALID", error)]
        checks = [_right("schema")]
        if presented.verification_method.partition("#")[0] != str(presented.issuer):
            return [*checks, _wrong("issuerKey", "ISSUER_MISMATCH")]
        found = await self.issuer_keys(presented.verification_method, now)
        checks.append(CredentialCheck(check="issuerKey", ok=found.check.ok, code=found.check.code, reason=None))
        if found.raw is None:
            return checks
        try:
            await check(*presented.signature_check(found.raw, registered.definition, values))
        except InvalidCredential as error:
            return [*checks, _wrong("signature", "SIGNATURE_INVALID", error)]
        return [*checks, _right("signature")]

    async def _record(self, presented: PresentedCredential, now: datetime) -> list[CredentialCheck]:
        credential = await self.credentials.get(presented.id)
        if credential is None:
            return [_wrong("record", "CREDENTIAL_UNKNOWN")]
        if not presented.agrees_with(credential, self.base_url, self.bound_format):
            return [_wrong("record", "RECORD_MISMATCH")]
        checks = [_right("record")]
        try:
            credential.check_usable(now)
        except CredentialRevoked as error:
            return [*checks, _wrong("status", f"CREDENTIAL_{credential.status.upper()}", error)]
        except CredentialExpired as error:
            return [*checks, _right("status"), _wrong("validity", error.code, error)]
        return [*checks, _right("status"), _right("validity")]


def _verdict(checks: list[CredentialCheck]) -> CredentialVerdict:
    """Return the verdict of the checks in their order; those after the first failed one may be missing."""
    return CredentialVerdict(verified=all(check.ok for check in checks), checks=tuple(checks))


def _right(name: str) -> CredentialCheck:
    return CredentialCheck(check=name, ok=True, code=None, reason=None)


def _wrong(name: str, code: str, error: IdentityError | None = None) -> CredentialCheck:
    """Return a failed check. ``code`` states the cause; the reason is a text for people and quotes nothing."""
    reason = None if error is None else str(error.details.get("reason", error))
    return CredentialCheck(check=name, ok=False, code=code, reason=reason)
