"""The proof with a credential of suite 2: bound to its holder, valid today, not in the list of the revoked (PROTOCOL-2.md §4, §5).

The custodian keeps the holder's secret and consents to exactly this question of this verifier. It is called only here, after a use
of the holder's IBCT was counted. If a wallet keeps the secret, its consent came with the request (``agreement``). The gap of the
handle comes from the published list of the current epoch, so a revocation within it affects proofs from the next edition on.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from identity_verification.use_cases.check import IssuerKeys
from msgspec import Struct, field

from identity_bbs.holders import HolderConsent
from identity_bound_credentials.domain import status_gaps
from identity_bound_credentials.domain.bound_credential import StatusListReference
from identity_bound_credentials.domain.bound_format import particulars_of
from identity_bound_credentials.domain.gap_shards import Manifest, Shard, SignedGap
from identity_bound_credentials.domain.presentation import (
    Agreement,
    BoundWitness,
    ConsentTerms,
    GapWitness,
    PresentationContext,
    PresentationStatement,
    PresentationWitness,
    StatusPart,
    proof_day,
)
from identity_bound_credentials.domain.presented import presentation_signals
from identity_bound_credentials.domain.question import Question
from identity_bound_credentials.ports import GapList
from identity_bound_credentials.store.status_gaps import StoredStatusGaps
from identity_bound_credentials.use_cases.holder_secrets import is_kept, lost
from identity_bound_credentials.use_cases.status_gaps import PublishStatusGaps
from identity_bound_credentials.worker_calls import present
from identity_client.status_list import StatusListRefused
from identity_core.cache import BoundedCache
from identity_core.domain.credentials.credential import Binding, Credential
from identity_core.domain.proofs.proof import Context, Witness, WitnessInvalid, ZkProof
from identity_core.errors import CredentialRevoked, IdentityError, PluginUnavailable
from identity_core.ports.custodian import Custodian, KeepingCustodian, KeyNotHeld
from identity_core.ports.prover import ProofWorkers

_MANIFESTS_KEPT: Final = 16
_SHARDS_KEPT: Final = 32
"""Of a large list 0.5 MB a manifest, and 0.2 MB a shard of 1,024 gaps."""


class PresentBound(Struct, frozen=True):
    """The proof with credentials of suite 2. ``publisher`` makes a missing list. ``manifests`` and ``shards`` cache verified ones,
    by the bytes of the manifest, which change with each publication. Raises what ``ProofWorkers.present`` and the custodian do, and
    ``PluginUnavailable``: when the list has no gap for the handle. The next edition has one, because the credential is in force."""

    provers: ProofWorkers
    custodian: Custodian
    gaps: StoredStatusGaps
    publisher: PublishStatusGaps
    issuer_keys: IssuerKeys
    manifests: BoundedCache[bytes, Manifest] = field(default_factory=lambda: BoundedCache(_MANIFESTS_KEPT))
    shards: BoundedCache[tuple[bytes, int], Shard] = field(default_factory=lambda: BoundedCache(_SHARDS_KEPT))

    async def __call__(
        self,
        credentials: Sequence[Credential],
        question: Question,
        witnesses: Sequence[Witness],
        context: Context,
        agreed: Agreement | None = None,
    ) -> ZkProof:
        """Return the proof. The credentials are those of the question, all bound to one secret. ``agreed`` is the verified consent
        of the wallet with the secret, None if the custodian keeps it."""
        bindings = [credential.binding for credential in credentials if credential.binding is not None]
        now = context.issued_at
        # A stored proof is checked until it expires, so the consent lasts as long; its times are whole hours, the same for everybody.
        terms = ConsentTerms.around(now, context.expires_at - now) if agreed is None else agreed.terms
        bound = PresentationContext(context, None if agreed is None else agreed.agent_key, terms)
        status = [
            await self._status(binding, asked.header.status, now)
            for binding, asked in zip(bindings, question.credentials, strict=True)
            if question.status and asked.header.status is not None
        ]
        keys = tuple(credential.issuer_public_key for credential in credentials)
        statement = PresentationStatement(question, keys, proof_day(now), tuple(part for part, _ in status))
        if agreed is None:
            ids = [credential.id for credential in credentials]
            message = terms.message(question, context, None)
            consent = await self._custodians(bindings[0].secret, ids, message, question.pseudonym)
        else:
            consent = agreed.consent
        held = tuple(
            BoundWitness(witness.signature, witness.attributes, particulars_of(credential, binding))
            for credential, binding, witness in zip(credentials, bindings, witnesses, strict=True)
        )
        gaps = tuple(gap for _, gap in status)
        try:
            witness = PresentationWitness(held, gaps, consent)
            text = await present(self.provers, statement, witness, bound=bound)
        except WitnessInvalid:
            if agreed is None and not await self._all_kept(credentials):
                raise lost() from None
            raise
        kinds = ",".join(predicate.type for asked in question.credentials for predicate in asked.predicates)
        return ZkProof(text, presentation_signals(question, context), kinds, context.proof_id)

    async def check_issuers(self, credentials: Sequence[Credential]) -> None:
        """Check, before a use is counted, that no issuer is deactivated, because its list has ended. Raises ``CredentialRevoked``."""
        for credential in credentials:
            if await self.issuer_keys.is_deactivated(credential.verification_method):
                raise CredentialRevoked("The issuer of the credential is deactivated.")

    async def _custodians(
        self, secret: str, ids: Sequence[str], message: bytes, pseudonym: str | None
    ) -> HolderConsent:
        if not isinstance(self.custodian, KeepingCustodian):
            raise lost()
        try:
            return await self.custodian.consent(secret, ids, message, pseudonym)
        except KeyNotHeld:
            raise lost() from None

    async def _all_kept(self, credentials: Sequence[Credential]) -> bool:
        bound = [(credential.id, credential.binding) for credential in credentials if credential.binding is not None]
        return all([await is_kept(self.custodian, *one) for one in bound])

    async def _status(
        self, binding: Binding, reference: StatusListReference, now: datetime
    ) -> tuple[StatusPart, GapWitness]:
        """Return the gap of the handle, under a key that is in force for verifiers."""
        found, key = await self._signed_gap(reference, binding.handle, now)
        if key is None:
            # Begun or resumed since the job's last step; or the issuer replaced the key, and verifiers refuse the old one's gaps.
            for gap_list in await self.gaps.lists():
                if gap_list.id == reference.list_id:
                    await self._brought_up(gap_list)
            found, key = await self._signed_gap(reference, binding.handle, now)
        if found is None:
            raise PluginUnavailable(
                "The list of what is revoked has no gap for this credential yet.", details={"retryAfter": 30}
            )
        if key is None:
            raise PluginUnavailable("The key of the issuer's status list is not in force.")
        return StatusPart(found.epoch, key), GapWitness(*found.gap, found.signature)

    async def _signed_gap(
        self, reference: StatusListReference, handle: int, now: datetime
    ) -> tuple[SignedGap | None, bytes | None]:
        """Return the published gap, and its key if that is in force."""
        found = await self._gap(reference, handle, now)
        return found, None if found is None else (await self.issuer_keys(found.epoch.method, now)).raw

    async def _brought_up(self, gap_list: GapList) -> None:
        try:
            await self.publisher.bring_up(gap_list)
        except IdentityError as error:
            raise PluginUnavailable("The list of what is revoked cannot be published.") from error

    async def _gap(self, reference: StatusListReference, handle: int, now: datetime) -> SignedGap | None:
        """Return the signed gap of the current epoch that contains the handle, if there is one."""
        published = await self.gaps.published(reference.list_id, status_gaps.epoch_at(now, reference.period))
        if published is None:
            return None
        try:
            manifest = self.manifests.get(published.manifest)
            if manifest is None:
                manifest = self.manifests.store(published.manifest, Manifest.from_octets(published.manifest))
            number = manifest.shard_of(handle)
            shard = self.shards.get((published.manifest, number))
            if shard is None:
                data = await self.gaps.shard(reference.list_id, manifest.digests[number])
                shard = self.shards.store((published.manifest, number), manifest.open(number, data or b""))
            found = manifest.gap_in(shard, handle)
        except StatusListRefused:
            return None
        return found if found.gap.low < handle < found.gap.high else None
