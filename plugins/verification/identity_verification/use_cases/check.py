"""Verification of a received proof against the verifier's expectation.

``CheckProof`` makes the checks, one by one. Its prover is in a separate process, or in this one (``identity_verification.offline``). It
resolves the
issuer's key: did:ids and did:key here, others through their method. It distinguishes an unavailable network from a negative answer.
Any content that an attacker wrote into the proof results in a failed check, never in an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from msgspec import Struct

from identity_client.issuer_key import assertion_key, assertion_multikey, has_many_keys
from identity_codec.strict_json import JsonValue
from identity_codec.values import replace
from identity_core.domain.dids.did import controller_of
from identity_core.domain.dids.state import DidState
from identity_core.domain.proofs.proof import PresentedProof
from identity_core.errors import DidNotFound, DidQuarantined, InvalidDid, NotAcceptable, PluginUnavailable, ProofInvalid
from identity_core.ports.credentials import CredentialSchemas
from identity_core.ports.prover import ProofWorkers
from identity_core.use_cases.dids.index import DidReader
from identity_verification.domain.checks import Check, CheckCode, right, undecided, wrong
from identity_verification.domain.expected import AnyPresented
from identity_verification.domain.received import ReceivedProof as ReceivedProof
from identity_verification.domain.received import moment_within
from identity_verification.domain.verification import Expectation, ProofVerification, check_time
from identity_verification.suites import SuiteChecks

NAME, _SECOND = "issuerKey", timedelta(seconds=1)


class FoundKey(Struct, frozen=True):
    """The check, the raw key (96 bytes) if the check is right, and warnings about the document of the key."""

    check: Check
    raw: bytes | None = None
    warnings: tuple[CheckCode, ...] = ()


class DocumentKeys(Struct, frozen=True):
    """A source of assertion keys: DID documents of issuers."""

    async def _document(self, method_id: str) -> Check | Mapping[str, JsonValue]:
        """Return the document of the DID of the method, or the failed check."""
        raise NotImplementedError

    async def __call__(self, method_id: str, now: datetime) -> FoundKey:
        """Return the key of the verification method that is in force at ``now`` (aware UTC)."""
        document = await self._document(method_id)
        if isinstance(document, Check):
            return FoundKey(document)
        try:
            raw = assertion_key(document, method_id, now)
        except ValueError:
            return FoundKey(wrong(NAME, CheckCode.ISSUER_KEY_UNKNOWN))
        marks = has_many_keys(document, now)
        return FoundKey(right(NAME), raw, (CheckCode.ISSUER_HAS_MANY_KEYS,) if marks else ())

    async def multikey(self, method_id: str, now: datetime) -> Check | str:
        """Return the multikey of a verification method of any type that is in force at ``now``, or the failed check."""
        document = await self._document(method_id)
        if isinstance(document, Check):
            return document
        try:
            return assertion_multikey(document, method_id, now)
        except ValueError:
            return wrong(NAME, CheckCode.ISSUER_KEY_UNKNOWN)


class IssuerKeys(DocumentKeys, frozen=True):
    """A resolver of assertion keys."""

    reader: DidReader

    async def _document(self, method_id: str) -> Check | Mapping[str, JsonValue]:
        """See ``DocumentKeys``."""
        try:
            state = await self._state(method_id)
        except InvalidDid:
            return wrong(NAME, CheckCode.ISSUER_KEY_UNKNOWN)
        except DidNotFound:
            return wrong(NAME, CheckCode.ISSUER_NOT_FOUND)
        except (DidQuarantined, PluginUnavailable, NotAcceptable):
            return undecided(NAME, CheckCode.ISSUER_UNAVAILABLE)
        if state.deactivated:
            return wrong(NAME, CheckCode.ISSUER_DEACTIVATED)
        return state.document.to_json()

    async def is_deactivated(self, method_id: str) -> bool:
        """Return whether the DID of the verification method is known to be deactivated. Do not parse its keys, which may be many.
        Raises ``DidQuarantined``."""
        try:
            return (await self._state(method_id)).deactivated
        except (InvalidDid, DidNotFound, PluginUnavailable, NotAcceptable):
            return False

    async def _state(self, method_id: str) -> DidState:
        """Return the state of the DID of the method. Raises ``InvalidDid``, ``DidNotFound``, and the errors of ``DidReader.elsewhere``."""
        did = self.reader.parse(str(controller_of(method_id)))
        if did.method not in self.reader.methods:
            # This service cannot resolve the method, which does not mean that the issuer is unknown.
            raise PluginUnavailable
        try:
            return (await self.reader.read_current(did)).head.state
        except DidNotFound:
            found = await self.reader.elsewhere(did)
            if found is None:
                raise
            return found.state


class CheckProof(Struct, frozen=True):
    """The check of a proof for the verify operations. Raises ``PluginUnavailable``, ``PluginTimeout`` or ``Overloaded``: when the prover
    cannot be called; there is no verdict then."""

    provers: ProofWorkers
    suites: Sequence[SuiteChecks]
    issuers: DocumentKeys
    schemas: CredentialSchemas

    async def __call__(self, received: ReceivedProof, question: Expectation, now: datetime) -> ProofVerification:
        found = await self._read(received, question)
        if found is None:
            return ProofVerification((wrong("form", CheckCode.PROOF_INVALID),), None, question.unchecked)
        suite, presented = found
        context = presented.context
        ends = None if isinstance(presented, PresentedProof) else presented.consent_ends
        if ends is not None:
            # The proof ends with the holder's consent: after that time it is expired, not wrong. A consent may end before the proof begins.
            context = replace(context, expires_at=max(min(context.expires_at, ends), context.issued_at + _SECOND))
        checks = [right("form"), *question.checks(presented, now), check_time(context, now)]
        unchecked = (*question.unchecked, *question.unchecked_of(presented))
        match await self._is_registered(presented):
            case None:
                unchecked += () if question.header_digest else ("schemaHeader",)
            case False:
                # An issuer that signs one schema under several headers could distinguish its holders by them.
                checks.append(wrong("schemaHeader", CheckCode.SCHEMA_MISMATCH))
            case _:
                checks.append(right("schemaHeader"))
        keys, resolved = await self._keys(presented, now)
        checks += [one.check for one in resolved]
        if all(one.raw is not None for one in resolved):
            at = moment_within(context, now)
            checks += await suite.check(self.provers, received, presented, keys, question, at)
        return ProofVerification(tuple(checks), presented, unchecked, resolved[0].warnings)

    async def expired(self, received: ReceivedProof, question: Expectation) -> ProofVerification:
        """Return the error of an expired proof, which repeats only what the proof states."""
        found = await self._read(received, question)
        presented = None if found is None else found[1]
        return ProofVerification((wrong("time", CheckCode.PROOF_EXPIRED),), presented, question.unchecked)

    async def _read(self, received: ReceivedProof, question: Expectation) -> tuple[SuiteChecks, AnyPresented] | None:
        """Return the content of a proof, with its suite; None if it is malformed. The suite in the member beside its text only
        determines which suite to try first, because each try is a call of a worker."""
        signals = received.public_signals or ()
        for suite in sorted(self.suites, key=lambda one: signals[:1] != (one.name,)):
            with suppress(ProofInvalid):
                presented = await suite.read(self.provers, received.proof)
                return (suite, presented) if question.takes(presented) else None
        return None

    async def _is_registered(self, presented: AnyPresented) -> bool | None:
        """Return whether the signed headers match the registered schemas; None if a schema is not known here."""
        if isinstance(presented, PresentedProof):
            registered = await self.schemas.get(presented.schema.id)
            return None if registered is None else registered.definition.schema.header == presented.schema.header
        found = [await self.schemas.get(schema_id) for schema_id in presented.schema_ids]
        definitions = [one.definition for one in found if one is not None]
        return presented.is_of(definitions) if len(definitions) == len(found) else None

    async def _keys(self, presented: AnyPresented, now: datetime) -> tuple[dict[str, bytes], list[FoundKey]]:
        """Return the keys by their methods, and the findings: that of the first issuer, and failed ones of the others."""
        methods = presented.methods
        found = [await self.issuers(method, now) for method in methods]
        keys = {method: one.raw for method, one in zip(methods, found, strict=True) if one.raw is not None}
        return keys, [found[0], *(one for one in found[1:] if one.raw is None)]
