"""bbs-2023 as a securing format: W3C data integrity proofs of which a holder discloses what he likes, unlinkably."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

from identity_bbs.bls12381 import select
from identity_bbs.suite import Ciphersuite, ciphersuite
from identity_codec import multikey, times
from identity_core.errors import InvalidCredential, ProofInvalid
from identity_core.plugin import BuildContext, NoSettings, Provider, hookimpl, in_threads
from identity_core.ports.securing import (
    CredentialDraft,
    Disclosed,
    IssuingFormat,
    KeyBinding,
    Secured,
    SecuredHead,
    UnsecuredCredential,
)
from identity_securing_bbs2023.credentials import (
    CRYPTOSUITE,
    PROOF_TYPE,
    check_document,
    check_size,
    check_statements,
    head,
    inline_contexts,
    is_same,
    parts,
)
from identity_securing_bbs2023.data_model import check_members
from identity_securing_bbs2023.proof_values import BaseProofValue, decode_base, decode_derived
from identity_securing_bbs2023.refused import Malformed, Unverified

if TYPE_CHECKING:
    from identity_securing_bbs2023.statements import Statements

T = TypeVar("T")
HMAC_OCTETS: Final = 32
ALWAYS_DISCLOSED: Final = ("issuer", "validFrom", "validUntil", "credentialStatus", "credentialSchema", "termsOfUse")
"""Members that a holder cannot hide: without one the credential would say more than its issuer did (VC 2.0 §4.9, §4.10)."""


class Bbs2023:
    """An ``IssuingFormat`` and ``DerivingFormat`` whose methods are synchronous: ``in_threads`` makes it one. It belongs to one thread."""

    @cached_property
    def _statements(self) -> Statements:
        # PyLD takes a tenth of a second to import, which no start of a server waits for.
        from identity_securing_bbs2023.statements import Statements

        return Statements()

    @cached_property
    def _suite(self) -> Ciphersuite:
        return ciphersuite(select())

    @property
    def name(self) -> str:
        """The cryptosuite."""
        return CRYPTOSUITE

    @property
    def key_type(self) -> str:
        """BLS12-381 in G2."""
        return multikey.BLS12381G2

    def read(self, secured: Secured) -> SecuredHead:
        """Return the unverified content of a credential with a base or a derived proof."""
        return _map_errors(lambda: self._read(secured))

    def verify(self, secured: Secured, public_key: str, *, binding: KeyBinding | None = None) -> Disclosed:
        """Accept a derived proof. A base proof is the holder's alone, because it shows how blank nodes are labelled."""
        return _map_errors(lambda: self._verify(secured, public_key, binding))

    def derive(self, secured: Secured, public_key: str, *, pointers: Sequence[str]) -> Secured:
        """Return a credential with a derived proof, from one with a base proof."""
        return _map_errors(lambda: self._derive(secured, public_key, pointers))

    def draft(self, unsecured: UnsecuredCredential) -> CredentialDraft:
        """Return the header and the messages of the base proof."""
        return _map_errors(lambda: self._draft(unsecured))

    def secure(self, draft: CredentialDraft, signature: bytes) -> Secured:
        """Return the credential with its base proof."""
        document, proof, public_key, hmac_key, mandatory = draft.state
        value = BaseProofValue(signature, draft.header, public_key, hmac_key, list(mandatory))
        return {**document, "proof": {**proof, "proofValue": value.encode()}}

    def _read(self, secured: Secured) -> SecuredHead:
        found = parts(secured)
        return head(found.document, found.proof)

    def _verify(self, secured: Secured, public_key: str, binding: KeyBinding | None) -> Disclosed:
        from identity_securing_bbs2023 import suite

        found = parts(secured)
        value, key = decode_derived(found.value), _bls_key(public_key)
        said = suite.verify(self._statements, self._suite, found.document, found.proof, value, key)
        if binding is not None and binding.holder is None:
            raise Unverified("this format has no key binding")
        # From here on only what the statements say counts: the JSON is the holder's, and so are its names.
        verified = head(said.document, said.proof)
        if verified.verification_method != found.proof["verificationMethod"]:
            raise Unverified("the proof names several keys")
        check_statements(said.document, said.proof)
        claims = found.document if is_same(found.document, said.document) else said.document
        return Disclosed(verified, claims, warnings=inline_contexts(found.document))

    def _derive(self, secured: Secured, public_key: str, pointers: Sequence[str]) -> Secured:
        from identity_securing_bbs2023 import suite

        found = parts(secured)
        head(found.document, found.proof)
        base = decode_base(found.value)
        if base.public_key != _bls_key(public_key):
            raise Unverified("the proof is of another key")
        revealed, value = suite.derive(self._statements, self._suite, found.document, found.proof, base, pointers)
        # No verifier accepts a credential that says nothing of its subject.
        check_members(revealed)
        return {**revealed, "proof": {**found.proof, "proofValue": value.encode()}}

    def _draft(self, unsecured: UnsecuredCredential) -> CredentialDraft:
        from identity_securing_bbs2023 import suite

        document = dict(unsecured.claims)
        if "proof" in document:
            raise Malformed("it has a proof already")
        if unsecured.holder_key is not None:
            raise Malformed("this format binds to no key of the holder")
        check_size(document)
        check_document(document)
        check_members(document)
        proof: dict[str, Any] = {
            "type": PROOF_TYPE,
            "cryptosuite": CRYPTOSUITE,
            "created": times.printed(unsecured.created),
            "verificationMethod": unsecured.verification_method,
            "proofPurpose": "assertionMethod",
        }
        head(document, proof)
        hmac_key = secrets.token_bytes(HMAC_OCTETS)
        pointers = [f"/{name}" for name in ALWAYS_DISCLOSED if name in document]
        mandatory = tuple(dict.fromkeys((*pointers, *unsecured.mandatory)))
        signed = suite.sign_data(self._statements, document, proof, hmac_key, mandatory)
        state = (document, proof, _bls_key(unsecured.public_key), hmac_key, mandatory)
        return CredentialDraft(signed.header, signed.messages, state)


def _bls_key(text: str) -> bytes:
    try:
        key_type, raw = multikey.decode_public(text)
    except ValueError:
        key_type, raw = "", b""
    if key_type != multikey.BLS12381G2:
        raise Unverified("the key is not a multikey on BLS12-381 in G2")
    return raw


def _map_errors(work: Callable[[], T]) -> T:
    """Return the result of ``work``, with its refusals as errors of the port."""
    try:
        return work()
    except Malformed as refused:
        _raise(InvalidCredential, refused)
    except Unverified as refused:
        _raise(ProofInvalid, refused)


def _raise(error: type[InvalidCredential | ProofInvalid], refused: Exception) -> NoReturn:
    raise error(details={"reason": str(refused)}) from None


@hookimpl
def identity_provide_securing() -> Provider[IssuingFormat]:
    """Return the format. Every installed format is used."""
    return Provider("bbs2023", build, summary="bbs-2023: W3C data integrity with selective disclosure", looks=True)


def build(settings: NoSettings, context: BuildContext) -> Any:
    """Called once, at start-up. One thread, because PyLD's caches are not made for several."""
    return in_threads(Bbs2023(), workers=1)
