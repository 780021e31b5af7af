"""What a request asks to be proven, whichever way it says it: of one credential, or with ``credentials`` of several together.

With ``credentials`` the holder's IBCT names, in this order: of each credential that it may be shown, its predicates, and its attributes
that are the same as others; then the pseudonym (domain/delegations/README.md). Alternatives need no action of their own: that one of two
predicates holds says less than both, and both are named.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from identity_client.action import CREDENTIAL, PSEUDONYM, SAME
from identity_codec.strict_json import JsonValue
from identity_codec.structs import UNSET, UnsetType, ValidationError, convert, given, plain
from identity_codec.values import value_class
from identity_core.domain.proofs.expected import AttributeOf
from identity_core.domain.proofs.predicate import MAX_PREDICATES
from identity_core.domain.proofs.stored import read_value
from identity_core.errors import InvalidRequest
from identity_core.wire import (
    AskedPredicate,
    DelegatedPresentationRequest,
    DelegatedProofCheckRequest,
    DelegatedProofRequest,
    HolderConsent,
    ZKPredicate,
)

ProofRequest = DelegatedProofRequest | DelegatedPresentationRequest
"""The bodies of generateDelegatedProof and createDelegatedPresentation. No body is one of both."""

_JOINT: Final = "credentials"


@value_class
class AskedPart:
    """One credential of the holder's, and the predicates over it as the request has them."""

    credential_id: str
    predicates: tuple[ZKPredicate | AskedPredicate, ...]


@value_class
class Claim:
    """What one action of the IBCT is about: ``attribute`` is empty for a credential and a pseudonym; ``value`` None where the request
    left it out. ``part`` counts the credentials; None for a pseudonym."""

    attribute: str
    type: str
    value: JsonValue
    part: int | None


@value_class
class AskedProof:
    """``is_joint`` where the request has ``credentials``; only then there are ``same``, ``either`` and ``pseudonym``, as ``Question`` has
    them."""

    parts: tuple[AskedPart, ...]
    same: tuple[tuple[AttributeOf, ...], ...] = ()
    either: tuple[tuple[int, ...], ...] = ()
    pseudonym: str | None = None
    is_joint: bool = False
    consent: HolderConsent | UnsetType = UNSET

    @classmethod
    def of(cls, request: ProofRequest) -> AskedProof:
        """Raises ``InvalidRequest`` for what is said twice or not at all, and for what has no one meaning."""
        if isinstance(request, DelegatedProofRequest):
            read_value(given(request.predicate.value, ""))
            return cls((AskedPart(request.credential_id, (request.predicate,)),))
        is_joint = request.credentials is not UNSET
        if not (request.predicates is UNSET) == (request.credential_id is UNSET) == is_joint:
            raise _refused("Send either credentialId and predicates, or credentials.", "predicates")
        if request.credentials is UNSET:
            for name in ("same", "either", "pseudonym"):
                if getattr(request, name) is not UNSET:
                    raise _refused(f"{name} stands beside credentials.", name)
            part = AskedPart(given(request.credential_id, ""), _readable(given(request.predicates, ())))
            return cls((part,), consent=request.holder_consent)
        asked = cls(
            tuple(AskedPart(one.credential_id, _readable(given(one.predicates, ()))) for one in request.credentials),
            tuple(
                tuple((one.credential, one.attribute_name) for one in together) for together in given(request.same, ())
            ),
            tuple(map(tuple, given(request.either, ()))),
            given(request.pseudonym, None),
            is_joint=True,
            consent=request.holder_consent,
        )
        asked._check()
        return asked

    def _check(self) -> None:
        if len({part.credential_id for part in self.parts}) != len(self.parts):
            raise _refused("credentials names each credential once.", _JOINT)
        count = sum(len(part.predicates) for part in self.parts)
        if count > MAX_PREDICATES:
            raise _refused(f"credentials have at most {MAX_PREDICATES} predicates in all.", _JOINT)
        if any(number >= len(self.parts) for together in self.same for number, _ in together):
            raise _refused("same names a credential that is not there.", "same")
        if any(number >= count for group in self.either for number in group):
            raise _refused("either names a predicate that is not there.", "either")
        for name, groups in (("same", self.same), ("either", self.either)):
            listed: list[Any] = [*groups]
            if listed != sorted(set(listed)) or any([*group] != sorted(set(group)) for group in listed):
                raise _refused(f"The groups of {name}, and what is in each, stand in ascending order, each once.", name)
        if self.pseudonym is not None and not self.pseudonym.isprintable():
            raise _refused("pseudonym is of printable characters.", "pseudonym")

    @property
    def predicates(self) -> tuple[ZKPredicate | AskedPredicate, ...]:
        """Of all credentials."""
        return tuple(predicate for part in self.parts for predicate in part.predicates)

    @property
    def claims(self) -> Iterator[Claim]:
        """One for each action that the IBCT must have, in order."""
        for number, part in enumerate(self.parts):
            if self.is_joint:
                yield Claim("", CREDENTIAL, part.credential_id, number)
            for predicate in part.predicates:
                yield Claim(predicate.attribute_name, predicate.type, given(predicate.value, None), number)
            for place, together in enumerate(self.same):
                for owner, name in together:
                    if owner == number:
                        yield Claim(name, SAME, place, number)
        if self.pseudonym is not None:
            yield Claim("", PSEUDONYM, self.pseudonym, None)


def checked_request(request: DelegatedProofCheckRequest) -> ProofRequest:
    """Return the request that is to be checked: with ``predicate`` one for a proof, otherwise for a presentation.

    Raises ``InvalidRequest``: when the operation would not accept its members."""
    kind: type[ProofRequest] = DelegatedPresentationRequest if request.predicate is UNSET else DelegatedProofRequest
    try:
        return convert(plain(request), kind)
    except ValidationError as error:
        raise InvalidRequest(f"This is not the body of a {kind.__name__}: {error}.") from None


def _readable(predicates: tuple[ZKPredicate | AskedPredicate, ...]) -> tuple[ZKPredicate | AskedPredicate, ...]:
    for one in predicates:
        if one.value is not UNSET:
            read_value(one.value)
    return predicates


def _refused(message: str, member: str) -> InvalidRequest:
    return InvalidRequest(message, details={"member": member})
