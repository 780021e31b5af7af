"""The form of verdicts, questions and predicates in answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from identity_codec.multibase import base64url_encode
from identity_codec.strict_json import JsonValue
from identity_codec.structs import UNSET, UnsetType
from identity_codec.times import printed
from identity_core.domain.proofs.asked import Asked
from identity_core.domain.proofs.proof import PresentedProof
from identity_core.domain.proofs.stored import KeptQuestion
from identity_core.wire import Anchor, AttributeReference
from identity_verification import wire
from identity_verification.domain.expected import AnyPresented
from identity_verification.domain.verification import ProofVerification, issuer_of


def verification(verdict: ProofVerification, anchor: Anchor | None) -> wire.VerificationResult:
    """Return the result of a verification, check by check, and the content of the proof."""
    presented = verdict.presented
    predicates = () if presented is None else presented.predicates
    shown = _format_predicates(predicates)
    return wire.VerificationResult(
        verified=verdict.verified,
        verdict=verdict.verdict,
        missing=verdict.missing,
        checks=tuple(
            wire.ProofCheck(check=one.name, ok=one.ok, code=one.code, expected=one.expected, found=one.found)
            for one in verdict.checks
        ),
        errors=verdict.errors,
        warnings=verdict.warnings,
        unchecked=verdict.unchecked,
        proof_id=None if presented is None else presented.context.proof_id,
        predicate=only_predicate(shown[0]) if len(shown) == 1 else None,
        predicates=shown,
        question=shown_question(presented),
        issuer_did=None if presented is None else issuer_of(presented),
        schema_id=None if presented is None else presented.schema.id,
        status_lists=status_lists(presented) or UNSET,
        anchor=anchor,
    )


def status_lists(presented: AnyPresented | None) -> tuple[wire.StatusListEpoch, ...]:
    """Return the epochs of the status lists with which a proof was made; none for a proof that states no status."""
    epochs = () if presented is None or isinstance(presented, PresentedProof) else presented.epochs
    return tuple(
        wire.StatusListEpoch(list_id=one.list_id, epoch=one.epoch, begins=printed(one.begins), ends=printed(one.ends))
        for one in epochs
    )


def only_predicate(shown: wire.ShownPredicate) -> wire.OnlyPredicate:
    """Return the one predicate of an answer."""
    return wire.OnlyPredicate(attribute_name=shown.attribute_name, type=shown.type, value=shown.value)


def shown_question(presented: AnyPresented | None) -> wire.ShownQuestion | None:
    """Return the statement of a proof about several credentials, alternatives, equal attributes or a pseudonym; None
    for any other."""
    if presented is None or isinstance(presented, PresentedProof) or presented.joint is None:
        return None
    value = None if presented.pseudonym is None else base64url_encode(presented.pseudonym)
    return joint_question(presented.joint, pseudonym_value=value)


def joint_question(question: KeptQuestion, *, pseudonym_value: str | UnsetType | None) -> wire.ShownQuestion:
    """Return a question about several credentials, alternatives, equal attributes or a pseudonym."""
    credentials = tuple(
        wire.ShownCredential(
            credential_id=one.credential_id or UNSET,
            issuer_did=one.issuer,
            schema_id=one.schema_id,
            predicates=tuple(map(shown_predicate, one.predicates)),
        )
        for one in question.credentials
    )
    same = tuple(
        tuple(AttributeReference(credential=part, attribute_name=name) for part, name in together)
        for together in question.same
    )
    return wire.ShownQuestion(
        credentials=credentials,
        same=same,
        either=question.either,
        pseudonym=question.pseudonym,
        pseudonym_value=pseudonym_value,
    )


def _format_predicates(predicates: Iterable[Asked]) -> tuple[wire.ShownPredicate, ...]:
    return tuple(shown_predicate(one.json) for one in predicates)


def shown_predicate(said: Mapping[str, JsonValue]) -> wire.ShownPredicate:
    """Return a predicate of its JSON."""
    return wire.ShownPredicate(attribute_name=str(said["attributeName"]), type=str(said["type"]), value=said["value"])
