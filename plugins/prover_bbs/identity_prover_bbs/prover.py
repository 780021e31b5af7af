"""Proving: one BBS proof, its challenge shared by the arguments about hidden messages (PROTOCOL.md §6.3).

The BBS part is the draft's to the byte. The arguments' commitments stand in its presentation header, and their link to the
signed messages is the BBS responses themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Final

from msgspec import Struct

from identity_bbs import core
from identity_bbs.bls12381 import Curve
from identity_bbs.bls12381.keys import InvalidBlsKey
from identity_bbs.encoding import (
    calculate_challenge,
    mixed_messages_to_scalars,
    octets_to_public_key,
    octets_to_signature,
    proof_to_octets,
)
from identity_bbs.frames import frame, scalar
from identity_bbs.suite import BbsPublicKey, BbsSignatureInvalid, Ciphersuite, RandomScalars, Signature, ciphersuite
from identity_codec.values import Hidden
from identity_core.cache import BoundedCache
from identity_core.domain.credentials.attributes import ValueRefused
from identity_core.domain.proofs.predicate import check_satisfied
from identity_core.domain.proofs.proof import (
    Context,
    PresentedProof,
    Statement,
    Witness,
    WitnessInvalid,
    ZkProof,
    public_signals,
)
from identity_prover_bbs import labels
from identity_prover_bbs.dice import Dice
from identity_prover_bbs.envelope import Envelope
from identity_prover_bbs.generators import Generators, generators
from identity_prover_bbs.range_argument import RangeProver
from identity_prover_bbs.relation import Relation
from identity_prover_bbs.set_argument import SetProver
from identity_prover_bbs.transcript import context_octets

_REMEMBERED: Final = 1024
_HIDDEN_DICE: Final = 5
"""r1, r2, e~, r1~, r3~ stand before the masks of the messages in the draft's list of random scalars."""


class _Credential(Hidden, Struct, frozen=True):
    """A checked credential: never printed, never kept."""

    key: BbsPublicKey
    signature: Signature
    messages: tuple[int, ...]
    digest: bytes


class Proving:
    """Makes proofs on one curve, with one source of randomness (``os.urandom`` outside tests)."""

    def __init__(self, curve: Curve, random: Callable[[int], bytes]) -> None:
        self._suite: Final[Ciphersuite] = ciphersuite(curve)
        self._generators: Final[Generators] = generators(curve)
        self._random = random
        self._checked: BoundedCache[bytes, None] = BoundedCache(_REMEMBERED)

    def prove(self, statement: Statement, witness: Witness, context: Context) -> ZkProof:
        relation = Relation.from_statement(statement)
        credential = self._credential(relation, witness)
        dice = Dice(self._random, sha256(frame(labels.CREDENTIAL, self._about(relation, credential, context))).digest())
        bbs_proof, arguments = self._argue(relation, credential, context, dice)
        presented = PresentedProof(
            statement.issuer.verification_method, statement.schema, statement.predicates, context
        )
        return ZkProof(
            Envelope(presented, relation.shown, bbs_proof, arguments).encode(),
            public_signals(labels.SUITE, statement, context),
            predicate_type(statement),
            context.proof_id,
        )

    def _argue(
        self, relation: Relation, credential: _Credential, context: Context, dice: Dice
    ) -> tuple[bytes, tuple[bytes, ...]]:
        r1, r2, e_tilde, r1_tilde, r3_tilde = dice.scalars(_HIDDEN_DICE)
        masks = dict(zip(relation.hidden, dice.scalars(len(relation.hidden)), strict=True))
        # An equality's mask is 1, so that its response is b c + 1 for everybody to see. Equation (3.2).
        masks |= dict.fromkeys(relation.equal, 1)
        random_scalars = RandomScalars(r1, r2, e_tilde, r1_tilde, r3_tilde, tuple(masks.values()))
        init = core.proof_init(
            self._suite,
            credential.key,
            credential.signature,
            relation.header,
            credential.messages,
            sorted(relation.disclosed),
            random_scalars,
        )
        arguments = self._arguments(relation, credential.messages, masks, dice)
        commitments = [data for argument in arguments for data in argument.first()]
        transcript = relation.first_challenge(context, init.points_octets, init.domain, commitments)
        coefficients = [data for argument in arguments for data in argument.second(transcript.y)]
        challenge = calculate_challenge(init, relation.disclosed, transcript.presentation_header(coefficients))
        hidden_messages = [credential.messages[slot] for slot in relation.hidden]
        proof = core.proof_finalize(init, challenge, credential.signature.e, random_scalars, hidden_messages)
        return proof_to_octets(proof), tuple(argument.proof(challenge) for argument in arguments)

    def _arguments(
        self, relation: Relation, messages: Sequence[int], masks: Mapping[int, int], dice: Dice
    ) -> list[RangeProver | SetProver]:
        arguments: list[RangeProver | SetProver] = []
        slots = [goal.slot for goal in relation.ranges.goals]
        if slots:
            values, message_masks = [messages[slot] for slot in slots], [masks[slot] for slot in slots]
            arguments.append(RangeProver(self._generators, relation.ranges, values, message_masks, dice))
        for layout in relation.sets:
            slot = layout.slot
            arguments.append(SetProver(self._generators, layout, messages[slot], masks[slot], dice))
        return arguments

    def _credential(self, relation: Relation, witness: Witness) -> _Credential:
        statement = relation.statement
        try:
            messages = statement.schema.messages(witness.attributes)
            check_satisfied(relation.goals, messages)
            key = octets_to_public_key(self._suite, statement.issuer.public_key)
            signature = octets_to_signature(self._suite, witness.signature)
            scalars = tuple(mixed_messages_to_scalars(messages))
            data = b"".join(map(scalar, scalars))
            digest = sha256(frame(labels.CREDENTIAL, [key.encoded, relation.header, witness.signature, data]))
            credential = _Credential(key, signature, scalars, digest.digest())
            self._check_signature(credential, relation.header)
        except (ValueRefused, InvalidBlsKey, BbsSignatureInvalid):
            raise WitnessInvalid() from None
        return credential

    def _check_signature(self, credential: _Credential, header: bytes) -> None:
        """Check each credential once; remembered is a digest that only its holder can compute."""
        if credential.digest not in self._checked:
            core.core_verify(self._suite, credential.key, credential.signature, header, credential.messages)
            self._checked.store(credential.digest, None)

    @staticmethod
    def _about(relation: Relation, credential: _Credential, context: Context) -> list[bytes]:
        return [credential.digest, relation.encoded, context_octets(context)]


def predicate_type(statement: Statement) -> str:
    """``ZKProof.predicateType``: the predicate's type, or all of them in order."""
    return ",".join(predicate.type.value for predicate in statement.predicates)
