"""The requests of a VCALM verifier (w3c/vcalm, "Verifying"). Malformed input gets an outcome, not an error.

verifyVcalmCredential, verifyVcalmPresentation, createVcalmChallenge.

A plugin that cannot be asked is an error: nothing is known then, and a false ``verified`` would state that something is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, Final

from identity_verification.use_cases.check import IssuerKeys
from identity_verification.wire import CredentialVerdict, VerifyCredentialRequest
from msgspec import Struct, field

from identity_codec.structs import value_or
from identity_core.domain.credentials import verifiable_credential
from identity_core.domain.credentials.credential import CredentialStatus
from identity_core.errors import DidDeactivated, DidNotFound, InvalidCredential, InvalidDid, NotAcceptable, ProofInvalid
from identity_core.ports.clock import Clock
from identity_core.ports.credentials import CopyStatus
from identity_core.ports.repositories import ChallengeUseRow, SpentChallenges
from identity_core.ports.securing import Disclosed, KeyBinding, Secured, SecuringFormat
from identity_core.use_cases.dids.index import DidReader
from identity_vcalm.presentation import (
    CHALLENGE_PREFIX,
    PresentationChallengeKey,
    PresentationRefused,
    SignedPresentation,
    as_list,
    has_inline_context,
    has_only_envelope,
    is_envelope,
)
from identity_vcalm.wire import (
    VcalmCredentialOptions,
    VcalmPresentationOptions,
    VcalmProblem,
    VerifyVcalmCredentialRequest,
    VerifyVcalmPresentationRequest,
)

_OWN_SUITES: Final = frozenset({verifiable_credential.CRYPTOSUITE, verifiable_credential.BOUND_CRYPTOSUITE})
_DATA: Final = "data:application/"
_TYPES: Final = {
    "PARSING_ERROR": "https://www.w3.org/TR/vc-data-model#PARSING_ERROR",
    "MALFORMED_VALUE_ERROR": "https://www.w3.org/TR/vc-data-model#MALFORMED_VALUE_ERROR",
    "RANGE_ERROR": "https://www.w3.org/TR/vc-data-model#RANGE_ERROR",
    "STATUS_RETRIEVAL_ERROR": "https://www.w3.org/ns/credentials/status-list#STATUS_RETRIEVAL_ERROR",
    "STATUS_VERIFICATION_ERROR": "https://www.w3.org/ns/credentials/status-list#STATUS_VERIFICATION_ERROR",
}
_SECURITY: Final = "https://w3id.org/security#"
# The checks of verifyCredential, and what VCALM calls their failure.
_OWN_CHECKS: Final = {
    "form": "PARSING_ERROR",
    "schema": "PARSING_ERROR",
    "issuerKey": "INVALID_VERIFICATION_METHOD",
    "signature": "PROOF_VERIFICATION_ERROR",
    "record": "PROOF_VERIFICATION_ERROR",
    "status": "STATUS_VERIFICATION_ERROR",
    "validity": "RANGE_ERROR",
}


def problem(kind: str, detail: str) -> VcalmProblem:
    """Return a problem of the type that ``kind`` names."""
    return VcalmProblem(type=_TYPES.get(kind, _SECURITY + kind), title=kind, detail=detail)


class CredentialFindings(Struct):
    """The outcome for a credential: its payload where the proof is right, what is wrong, warnings, and the parts that were compared.
    ``shown`` is a JSON-LD credential with the verified claims and its proof, without names of the holder's choice; None for the others."""

    claims: Mapping[str, Any] | None = None
    shown: Any = None
    problems: list[VcalmProblem] = field(default_factory=list)
    warnings: list[VcalmProblem] = field(default_factory=list)
    valid_from: bool | None = None
    valid_until: bool | None = None
    statuses: list[bool] = field(default_factory=list)

    @property
    def verified(self) -> bool:
        """Return whether nothing is wrong."""
        return self.claims is not None and not self.problems


class PresentationFindings(Struct):
    """The findings of a presentation."""

    problems: list[VcalmProblem] = field(default_factory=list)
    warnings: list[VcalmProblem] = field(default_factory=list)
    proof: bool = False
    credentials: list[bool] = field(default_factory=list)
    shown: list[Any] = field(default_factory=list)

    @property
    def verified(self) -> bool:
        """Return whether nothing is wrong."""
        return self.proof and not self.problems


class VerifyVcalmCredential(Struct, frozen=True):
    """Raises ``PluginUnavailable``, ``PluginTimeout`` and ``Overloaded`` where the format cannot be asked."""

    formats: Mapping[str, SecuringFormat]
    issuer_keys: IssuerKeys
    own: Callable[[VerifyCredentialRequest], Awaitable[CredentialVerdict]]
    copy_status: CopyStatus
    clock: Clock

    async def __call__(self, wish: VerifyVcalmCredentialRequest) -> tuple[CredentialFindings, VcalmCredentialOptions]:
        options = value_or(wish.options, VcalmCredentialOptions())
        return await self.findings(wish.verifiable_credential, needs_status=_needs_status(options)), options

    async def findings(
        self, credential: Any, *, needs_status: bool = True, binding: KeyBinding | None = None
    ) -> CredentialFindings:
        """Verify an object that claims to be a credential. Unless it ``needs_status``, an unknown status is a warning. ``binding`` is that
        of the presentation that it is a part of."""
        if not isinstance(credential, dict):
            return _wrong("PARSING_ERROR", "a credential is a JSON object")
        if is_envelope(credential) and not has_only_envelope(credential):
            return _wrong("PARSING_ERROR", "leave out what is beside the envelope, because no signature covers it")
        found = self._format(credential)
        if found is None:
            if _suites(credential) & _OWN_SUITES:
                return await self._own(credential)
            return _wrong("PROOF_VERIFICATION_ERROR", "it has no proof of a format that is installed here")
        securing, secured = found
        return await self._secured(securing, secured, needs_status=needs_status, binding=binding)

    def _format(self, credential: dict[str, Any]) -> tuple[SecuringFormat, Secured] | None:
        address = credential.get("id")
        if is_envelope(credential) and isinstance(address, str):
            name, comma, text = address.removeprefix(_DATA).partition(",")
            enveloped = self.formats.get(name) if address.startswith(_DATA) and comma else None
            return None if enveloped is None else (enveloped, text)
        installed = sorted(_suites(credential) & self.formats.keys())
        return (self.formats[installed[0]], credential) if installed else None

    async def _own(self, credential: dict[str, Any]) -> CredentialFindings:
        verdict = await self.own(VerifyCredentialRequest(credential=credential))
        wrong = [check for check in verdict.checks if not check.ok]
        claims = {name: part for name, part in credential.items() if name != "proof"} if verdict.verified else None
        problems = [problem(_OWN_CHECKS[check.check], check.reason or str(check.code)) for check in wrong]
        statuses = [check.ok is True for check in verdict.checks if check.check == "status"]
        return CredentialFindings(claims, None, problems, statuses=statuses)

    async def _secured(
        self, securing: SecuringFormat, secured: Secured, *, needs_status: bool, binding: KeyBinding | None
    ) -> CredentialFindings:
        now = self.clock.now()
        try:
            head = await securing.read(secured)
            key = await self.issuer_keys.multikey(head.verification_method, now)
            if not isinstance(key, str):
                return _wrong("INVALID_VERIFICATION_METHOD", f"the issuer's key: {key.code}")
            disclosed = await securing.verify(secured, key, binding=binding)
        except InvalidCredential as error:
            return _wrong("PARSING_ERROR", str(error.details.get("reason", error)))
        except ProofInvalid as error:
            return _wrong("PROOF_VERIFICATION_ERROR", str(error.details.get("reason", error)))
        found = _judged(disclosed, now)
        if isinstance(secured, dict):
            proofs = as_list(secured["proof"])
            own = [one for one in proofs if self.formats.get(next(iter(_suites({"proof": one})), "")) is securing]
            found.shown = {**disclosed.claims, "proof": own[0] if len(own) == 1 else own}
            if others := len(proofs) - len(own):
                found.warnings.append(problem("PROOF_VERIFICATION_ERROR", f"unverified proofs are left out: {others}"))
        await self._look_up_status(found, disclosed.claims, found.problems if needs_status else found.warnings)
        return found

    async def _look_up_status(self, found: CredentialFindings, said: Mapping[str, Any], to: list[VcalmProblem]) -> None:
        """As JSON Web Tokens call it, where the list is this service's; and as the data model does, an entry or several, of which none is
        looked up. ``to`` takes the status that is not known."""
        entries = said.get("credentialStatus", [])
        found.statuses += [False for _ in as_list(entries)]
        if "credentialStatus" in said:
            to.append(problem("STATUS_RETRIEVAL_ERROR", "its status is not stored here, nor requested elsewhere"))
        try:
            status = await self.copy_status(said)
        except ValueError as error:
            found.statuses.append(False)
            to.append(problem("STATUS_RETRIEVAL_ERROR", str(error)))
            return
        if status is not None:
            found.statuses.append(status is CredentialStatus.ACTIVE)
        if status not in (None, CredentialStatus.ACTIVE):
            found.problems.append(problem("STATUS_VERIFICATION_ERROR", f"the credential is {status}"))


class VerifyVcalmPresentation(Struct, frozen=True):
    """Raises what ``VerifyVcalmCredential`` does, and ``DidQuarantined`` where what is stored of the holder decides nothing."""

    credentials: VerifyVcalmCredential
    reader: DidReader
    challenges: PresentationChallengeKey
    spent: SpentChallenges
    clock: Clock

    async def __call__(
        self, wish: VerifyVcalmPresentationRequest
    ) -> tuple[PresentationFindings, VcalmPresentationOptions]:
        options = value_or(wish.options, VcalmPresentationOptions())
        challenge, domain, now = value_or(options.challenge, None), value_or(options.domain, None), self.clock.now()
        found = PresentationFindings()
        try:
            use = None if challenge is None else self._use(challenge, now)
            presentation = SignedPresentation.parse(wish.verifiable_presentation)
            document = (await self.reader.active(self.reader.parse(presentation.holder))).head.state.document
            key = presentation.check(document, now, challenge=challenge, domain=domain)
        except PresentationRefused as refused:
            found.problems.append(problem(refused.kind, str(refused)))
            return found, options
        except (InvalidDid, DidNotFound, DidDeactivated, NotAcceptable):
            found.problems.append(problem("INVALID_VERIFICATION_METHOD", "the holder has no DID document here"))
            return found, options
        found.proof = True
        if missing := [name for name, value in (("challenge", challenge), ("domain", domain)) if value is None]:
            kind, names = f"INVALID_{missing[0].upper()}_ERROR", " and no ".join(missing)
            found.warnings.append(problem(kind, f"unbound: the options have no {names}, so it may be a replay"))
        if has_inline_context(wish.verifiable_presentation):
            found.warnings.append(problem("MALFORMED_VALUE_ERROR", "it has a context of its own, which changes names"))
        binding, needs_status = KeyBinding(domain or "", challenge or "", now, key), _needs_status(options)
        for number, credential in enumerate(presentation.credentials):
            one = await self.credentials.findings(credential, needs_status=needs_status, binding=binding)
            found.credentials.append(one.verified)
            found.shown.append(credential if one.shown is None else one.shown)
            found.problems += [problem(each.title, f"{number}: {each.detail}") for each in one.problems]
            found.warnings += [problem(each.title, f"{number}: {each.detail}") for each in one.warnings]
        # Spent last and once: of two that come together one loses.
        if found.verified and use is not None and not await self.spent.spend(use):
            found.problems.append(problem("INVALID_CHALLENGE_ERROR", "the challenge was used before"))
        return found, options

    def _use(self, challenge: str, now: datetime) -> ChallengeUseRow | None:
        """Return the function that consumes a challenge of this service; None for one of the verifier's own. Raises
        ``PresentationRefused``."""
        if not challenge.startswith(CHALLENGE_PREFIX):
            return None
        try:
            end = self.challenges.end(challenge)
        except (ValueError, OverflowError):
            raise PresentationRefused("INVALID_CHALLENGE_ERROR", "the challenge is not of this service") from None
        if now >= end:
            raise PresentationRefused("INVALID_CHALLENGE_ERROR", "the challenge has expired")
        digest = hashlib.sha256(challenge.encode()).digest()
        return ChallengeUseRow(digest, digest[:16], None, end)


class CreateVcalmChallenge(Struct, frozen=True):
    """Stores nothing. ``random`` is the operating system's random source."""

    challenges: PresentationChallengeKey
    random: Callable[[int], bytes]
    clock: Clock

    async def __call__(self) -> str:
        return self.challenges.make(self.random(16), self.clock.now())


def _needs_status(options: VcalmCredentialOptions | VcalmPresentationOptions) -> bool:
    """Return whether a status must be known. An unknown status is an error, with any other members."""
    return {*value_or(options.checks, ())} != {"proof"}


def _judged(disclosed: Disclosed, now: datetime) -> CredentialFindings:
    """Return the verified content, compared with the time."""
    warnings = [problem("MALFORMED_VALUE_ERROR", warning) for warning in disclosed.warnings]
    found, head = CredentialFindings(disclosed.claims, warnings=warnings), disclosed.head
    found.valid_from = None if head.valid_from is None else head.valid_from <= now
    found.valid_until = None if head.valid_until is None else now < head.valid_until
    if found.valid_from is False:
        found.problems.append(problem("RANGE_ERROR", "it is not valid yet"))
    if found.valid_until is False:
        found.problems.append(problem("RANGE_ERROR", "it is not valid any more"))
    return found


def _wrong(kind: str, detail: str) -> CredentialFindings:
    return CredentialFindings(problems=[problem(kind, detail)])


def _suites(credential: Mapping[str, Any]) -> set[str]:
    """Return the cryptosuites of its proofs."""
    suites = (one.get("cryptosuite") for one in as_list(credential.get("proof")) if isinstance(one, dict))
    return {suite for suite in suites if isinstance(suite, str)}
