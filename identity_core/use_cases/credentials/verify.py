"""verifyCredential: whether a credential that somebody shows is one of ours, unchanged, and good now. A verdict, never an error.

The issuer's signature covers schema and values. What it does not cover, the holder above all, is compared with the record,
and only for a credential whose signature is right: anyone who merely guesses learns nothing from the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from identity_core.domain.credentials import verifiable_credential
from identity_core.domain.credentials.credential import canonical_values
from identity_core.domain.credentials.verifiable_credential import PresentedCredential
from identity_core.errors import CredentialExpired, CredentialRevoked, InvalidCredential
from identity_core.ports.clock import Clock
from identity_core.ports.credentials import Credentials, CredentialSchemas
from identity_core.use_cases.credentials.issue import SignatureChecks
from identity_core.use_cases.proofs.check import IssuerKeys
from identity_core.wire import VerifyCredentialRequest


@dataclass(frozen=True, slots=True)
class CredentialCheck:
    """One check. ``ok`` None: it could not be made. ``code`` says why it is not right; ``reason`` is for people and quotes
    nothing."""

    name: str
    ok: bool | None
    code: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class CredentialVerification:
    """The checks in their order; those behind the first that is not right may be missing."""

    checks: tuple[CredentialCheck, ...]

    @property
    def verified(self) -> bool:
        """Whether every check is right."""
        return all(check.ok for check in self.checks)


@dataclass(frozen=True, slots=True)
class VerifyCredential:
    """Looks, and changes nothing. ``base_url`` is where this service's status lists are."""

    schemas: CredentialSchemas
    credentials: Credentials
    issuer_keys: IssuerKeys
    check: SignatureChecks
    clock: Clock
    base_url: str

    async def __call__(self, wish: VerifyCredentialRequest) -> CredentialVerification:
        now = self.clock.now()
        try:
            presented = verifiable_credential.parse(wish.credential)
        except InvalidCredential as error:
            return CredentialVerification((_wrong("form", "CREDENTIAL_MALFORMED", error),))
        checks = [CredentialCheck("form", True), *await self._signature(presented, now)]
        if all(check.ok for check in checks):
            checks += await self._record(presented, now)
        return CredentialVerification(tuple(checks))

    async def _signature(self, presented: PresentedCredential, now: datetime) -> list[CredentialCheck]:
        registered = await self.schemas.get(presented.schema_id)
        if registered is None:
            return [CredentialCheck("schema", False, "SCHEMA_UNKNOWN")]
        schema = registered.definition.schema
        try:
            values = canonical_values(schema, presented.attributes)
        except InvalidCredential as error:
            return [_wrong("schema", "ATTRIBUTES_INVALID", error)]
        checks = [CredentialCheck("schema", True)]
        if presented.verification_method.partition("#")[0] != str(presented.issuer):
            return [*checks, CredentialCheck("issuerKey", False, "ISSUER_MISMATCH")]
        found = await self.issuer_keys(presented.verification_method, now)
        code = found.check.code
        checks.append(CredentialCheck("issuerKey", found.check.ok, None if code is None else code.value))
        if found.raw is None:
            return checks
        try:
            await self.check(found.raw, presented.signature, schema, values)
        except InvalidCredential as error:
            return [*checks, _wrong("signature", "SIGNATURE_INVALID", error)]
        return [*checks, CredentialCheck("signature", True)]

    async def _record(self, presented: PresentedCredential, now: datetime) -> list[CredentialCheck]:
        credential = await self.credentials.get(presented.id)
        if credential is None:
            return [CredentialCheck("record", False, "CREDENTIAL_UNKNOWN")]
        if not presented.agrees_with(credential, self.base_url):
            return [CredentialCheck("record", False, "RECORD_MISMATCH")]
        checks = [CredentialCheck("record", True)]
        try:
            credential.check_usable(now)
        except CredentialRevoked as error:
            return [*checks, CredentialCheck("status", False, f"CREDENTIAL_{credential.status.upper()}", str(error))]
        except CredentialExpired as error:
            return [*checks, CredentialCheck("status", True), _wrong("validity", error.code, error)]
        return [*checks, CredentialCheck("status", True), CredentialCheck("validity", True)]


def _wrong(name: str, code: str, error: InvalidCredential | CredentialExpired) -> CredentialCheck:
    reason = error.details.get("reason")
    return CredentialCheck(name, False, code, reason if isinstance(reason, str) else str(error))
