"""The issuance and import of credentials of suite 2.

If the custodian keeps the holder's secret, its commitment needs no signature of the holder, because keeper and issuer are this
service, which names the secret after the holder's DID. If a wallet keeps it, the issuer has verified the commitment on its own
machine, and imports the credential.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from identity_bbs.blind import IssueRequest
from identity_bbs.bls12381.backend import G1_OCTETS
from identity_bbs.holders import name_of
from identity_bound_credentials.domain import status_gaps
from identity_bound_credentials.domain.bound_credential import (
    NO_HANDLE,
    BoundHeader,
    Particulars,
    SecretKeeper,
    StatusListReference,
    midnight,
)
from identity_bound_credentials.domain.bound_format import particulars_of
from identity_bound_credentials.ports import GapList
from identity_bound_credentials.store.holder_secrets import StoredHolderSecrets
from identity_bound_credentials.use_cases.holder_secrets import root_of_new
from identity_bound_credentials.use_cases.status_gaps import PublishStatusGaps
from identity_bound_credentials.worker_calls import NAME
from identity_codec import multikey
from identity_codec.multibase import base64url_decode
from identity_codec.structs import value_or
from identity_codec.values import replace
from identity_core.domain.credentials.attributes import ValueRefused
from identity_core.domain.credentials.credential import NO_SECRET, Binding, Credential
from identity_core.domain.credentials.credential_schema import digest as schema_digest
from identity_core.domain.credentials.verifiable_credential import invalid
from identity_core.domain.dids.keys import PublicKey
from identity_core.errors import Conflict, InvalidCredential
from identity_core.ports.custodian import Custodian, HolderCustodian, KeepingCustodian
from identity_core.ports.prover import ProofWorkers
from identity_core.ports.suites import Prepared, Signed
from identity_core.use_cases.credentials.issue import newest_held_key
from identity_core.wire import ImportedBinding

GAP_PERIOD: Final = 86_400
"""Seconds of an epoch of the lists that new credentials are put into."""
NONCE_OCTETS: Final = 32


class BoundDraft(Struct, frozen=True):
    """The content of a suite-2 signature: the header, the particulars without the handle, and the list that assigns the handle."""

    prepared: Prepared
    signer: HolderCustodian
    keeper: KeepingCustodian
    gap_list: GapList
    header: BoundHeader
    particulars: Particulars
    request: IssueRequest


class IssueBound(Struct, frozen=True):
    """The issuance of suite-2 credentials. It needs a prover that presents them, a custodian that keeps holders' secrets, keys of
    the issuer with a proof of possession, and validity in whole days. ``custodian`` holds the issuers' keys, ``keeper`` the secrets
    of holders; they may be one."""

    custodian: Custodian
    keeper: Custodian
    publisher: PublishStatusGaps
    provers: ProofWorkers
    generations: StoredHolderSecrets
    random: Callable[[int], bytes]

    async def issue(
        self, prepared: Prepared, key_id: str, key: PublicKey, *, is_named: bool
    ) -> tuple[Prepared, Signed] | None:
        """See ``ProofSuite.issue``."""
        if not is_named and NAME not in self.provers.extensions:
            return None
        if not prepared.has_begin:
            prepared = replace(prepared, valid_from=midnight(prepared.now))
        try:
            draft = await self._draft(prepared, key_id, key)
        except InvalidCredential:
            if is_named:
                raise
            return None
        return prepared, await self._bound(draft, key)

    def bind(self, bound: ImportedBinding, prepared: Prepared, signed: Signed) -> tuple[Prepared, Signed]:
        """Verify that the header of an imported credential names exactly this schema, key and status list, and add the
        binding (``ProofSuite.bind``)."""
        definition, issuer, method = prepared.definition, str(prepared.issuer), signed.verification_method
        try:
            data, commitment = base64url_decode(bound.header), base64url_decode(bound.commitment)
            tag = base64url_decode(value_or(bound.holder_tag, "")) or None
            header = BoundHeader.from_octets(data)
            reference = StatusListReference(status_gaps.list_id(issuer, GAP_PERIOD), GAP_PERIOD)
            expected = BoundHeader(definition.schema, method, reference, SecretKeeper.WALLET, schema_digest(definition))
            Particulars(bound.id, str(prepared.holder), prepared.valid_from, prepared.valid_until, bound.handle)
        except ValueRefused as refused:
            raise invalid(str(refused)) from None
        except ValueError:
            raise invalid("header, commitment and holderTag are base64url") from None
        if header != expected or len(commitment) != G1_OCTETS:
            raise invalid(
                "the header is not that of a wallet's credential under this schema, key and the list of signed gaps that is published"
                f" here for the issuer ({reference.list_id}), or the commitment has not {G1_OCTETS} bytes"
            )
        binding = Binding(data, commitment, bound.handle, NO_SECRET, prepared.accepts_new_secret)
        return replace(prepared, id=bound.id), replace(signed, binding=binding, tag=tag)

    async def enlist(self, credential: Credential, prepared: Prepared, key: PublicKey) -> None:
        """See ``ProofSuite.enlist``."""
        gap_list, binding = await self._list_of(prepared, key), credential.binding
        if binding is None:
            raise invalid("the credential is not bound to its holder")
        last_day = particulars_of(credential, binding).last_day
        if not await self.publisher.gaps.take(gap_list, credential.id, binding.handle, last_day):
            raise Conflict("Another credential has this handle.", details={"member": "handle"})
        await self.publisher.begin_list(gap_list)

    async def _draft(self, prepared: Prepared, key_id: str, key: PublicKey) -> BoundDraft:
        """Draft the credential. Its status list is signed with the issuer's newest key. Raises ``InvalidCredential``."""
        custodian, keeper = self.custodian, self.keeper
        if not isinstance(custodian, HolderCustodian) or not isinstance(keeper, KeepingCustodian):
            raise invalid("the custodian of this service keeps no secrets of holders, which suite 2 needs")
        gap_list = await self._list_of(prepared, key)
        holder = str(prepared.holder)
        try:
            particulars = Particulars(prepared.id, holder, prepared.valid_from, prepared.valid_until, NO_HANDLE)
            reference = StatusListReference(gap_list.id, gap_list.period)
            digest = schema_digest(prepared.definition)
            header = BoundHeader(prepared.definition.schema, key_id, reference, SecretKeeper.CUSTODIAN, digest)
            request = IssueRequest(key_id, header.encoded, holder, self.random(NONCE_OCTETS))
        except ValueRefused as refused:
            raise invalid(str(refused)) from None
        return BoundDraft(prepared, custodian, keeper, gap_list, header, particulars, request)

    async def _bound(self, draft: BoundDraft, key: PublicKey) -> Signed:
        """Return the credential, signed for a secret of the holder in the custodian."""
        particulars, request, credential_id = draft.particulars, draft.request, draft.prepared.id
        last_day, give = particulars.last_day, self.publisher.gaps.give
        handle = await give(draft.gap_list, credential_id, last_day, random=self.random)
        await self.publisher.begin_list(draft.gap_list)
        messages = draft.header.known_messages(draft.prepared.values, replace(particulars, handle=handle))
        # The holder's DID names the secret, so that all of its credentials since a rotation are of one holder.
        generation = await self.generations.generation(particulars.subject)
        secret = name_of(particulars.subject, generation, await root_of_new(draft.keeper))
        commitment = await draft.keeper.commit_holder(secret, credential_id, request)
        signature = await draft.signer.sign_bbs_blind(request.method, messages, commitment, request)
        binding = Binding(request.header, commitment[:G1_OCTETS], handle, secret, draft.prepared.accepts_new_secret)
        return Signed(request.method, key.raw, signature, binding, commitment[G1_OCTETS : 2 * G1_OCTETS])

    async def _list_of(self, prepared: Prepared, key: PublicKey) -> GapList:
        """Return the issuer's list of signed gaps, for a credential that ``key`` signs. Raises ``InvalidCredential``."""
        method, list_key = await newest_held_key(self.custodian, prepared.state.document)
        used = {multikey.encode_public(multikey.BLS12381G2, one.raw) for one in (key, list_key)}
        if not used <= {*(prepared.state.proven_keys or ())}:
            raise invalid("the key came without a proof of possession, which suite 2 needs: rotate it, or add another")
        issuer = str(prepared.issuer)
        return GapList(status_gaps.list_id(issuer, GAP_PERIOD), issuer, method, GAP_PERIOD)
