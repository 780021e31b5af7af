"""verifyCredential: whether a presented credential is recorded here, unchanged, and in force now. A verdict, never an error.

The issuer's signature of suite 1 covers schema and values. The other members, such as the holder, are compared with the record, but
only if the signature is right: a client that guesses learns nothing from the answer.

A check of a signature takes milliseconds, and any client may request one. ``SignatureChecks`` runs a few at once in threads, and refuses
the next one when too many wait.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from identity_codec.values import value_class
from identity_core.domain.credentials import verifiable_credential
from identity_core.domain.credentials.credential import canonical_values
from identity_core.domain.credentials.verifiable_credential import BoundFormat, PresentedCredential
from identity_core.errors import CredentialExpired, CredentialRevoked, IdentityError, InvalidCredential, Overloaded
from identity_core.ports.clock import Clock
from identity_core.ports.credentials import Credentials, CredentialSchemas
from identity_core.use_cases.proofs.check import IssuerKeys
from identity_core.wire import CredentialCheck, CredentialVerdict, VerifyCredentialRequest

AT_ONCE: Final = 2
WAITING: Final = 64
ANONYMOUS_WAITING: Final = 16
ANONYMOUS_REST: Final = 3.0
"""The pause after a check of unauthenticated clients, as a multiple of its duration: together they use at most a quarter of one CPU."""


@dataclass(slots=True)
class SignatureChecks:
    """A limited number of signature checks in threads: at most ``at_once`` run and ``waiting`` are unfinished. A slot is free again
    after ``rest`` times the duration of its check. It is created inside the event loop that uses it. Authenticated and
    unauthenticated clients have one each, so that the latter delay only each other."""

    at_once: int = AT_ONCE
    waiting: int = WAITING
    rest: float = 0.0
    _turns: asyncio.Semaphore = field(init=False)
    _unfinished: int = 0

    def __post_init__(self) -> None:
        self._turns = asyncio.Semaphore(self.at_once)

    @classmethod
    def for_strangers(cls) -> SignatureChecks:
        """Return the checks of unauthenticated clients: one at a time, with pauses."""
        return cls(1, ANONYMOUS_WAITING, ANONYMOUS_REST)

    async def __call__(self, *work: Any) -> None:
        """Run one check, a function and its arguments, when a slot is free. Raises the errors of the check, and ``Overloaded``."""
        if self._unfinished >= self.waiting:
            raise Overloaded(details={"retryAfter": 1})
        self._unfinished += 1
        try:
            await self._turns.acquire()
            # If a client disconnects, its check continues and still occupies its slot.
            await asyncio.shield(self._begun(*work))
        finally:
            self._unfinished -= 1

    def _begun(self, *work: Any) -> asyncio.Future[None]:
        loop = asyncio.get_running_loop()
        began = loop.time()

        def ended(_: object) -> None:
            loop.call_later(self.rest * (loop.time() - began), self._turns.release)

        future: asyncio.Future[None] = loop.run_in_executor(None, *work)
        future.add_done_callback(ended)
        return future


@value_class
class VerifyCredential:
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
