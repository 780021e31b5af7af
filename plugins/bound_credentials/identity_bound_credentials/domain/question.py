"""A verifier's question about several credentials at once (PROTOCOL-2.md §4.1).

A question names its credentials by header and predicates. It can require that all are of one consenting holder, are valid today and
not revoked, and that attributes are equal. It also states which predicates are alternatives. It has one JSON form, of which proofs
and consents hash the JCS.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from hashlib import sha256
from typing import Any, Final

from msgspec import Struct

from identity_bound_credentials.domain.bound_credential import BoundHeader, SecretKeeper
from identity_client.action import PredicateType
from identity_codec import jcs
from identity_codec.multibase import base64url_encode
from identity_codec.strict_json import JsonValue, is_composed
from identity_core.domain.proofs.asked import Asked, parse_asked
from identity_core.domain.proofs.predicate import MAX_PREDICATES, Predicate, check_elements, unsupported
from identity_core.domain.proofs.stored import AttributeOf

SUITE_2: Final = "identity-bbs-predicates-2"
MAX_CREDENTIALS: Final = 4
MAX_ALTERNATIVES: Final = 4
MAX_PSEUDONYM_CONTEXT: Final = 512


class HolderForm(StrEnum):
    """The holder's part in a proof: a consent, the making of the proof (which needs the secret), or none."""

    CONSENT = "consent"
    PLAIN = "plain"
    NONE = "none"


class AskedCredential(Struct, frozen=True):
    """A credential in a question: its header, and 0 … 16 predicates."""

    header: BoundHeader
    predicates: tuple[Asked, ...] = ()

    @property
    def json(self) -> dict[str, JsonValue]:
        """Return issuer's key, digest of the header, predicates."""
        return {
            "header": base64url_encode(sha256(self.header.encoded).digest()),
            "issuer": self.header.method,
            "predicates": [predicate.json for predicate in self.predicates],
        }


class Question(Struct, frozen=True):
    """A question about 1 … 4 credentials. Raises ``PredicateUnsupported``.

    - ``same``: classes of attributes that are equal and not null.
    - ``either``: groups of predicates, counted through all credentials, of which at least one holds.
    - ``pseudonym``: the verifier's context.
    """

    credentials: tuple[AskedCredential, ...]
    same: tuple[tuple[AttributeOf, ...], ...] = ()
    either: tuple[tuple[int, ...], ...] = ()
    holder: HolderForm = HolderForm.CONSENT
    validity: bool = True
    status: bool = False
    pseudonym: str | None = None

    def __post_init__(self) -> None:
        if not 1 <= len(self.credentials) <= MAX_CREDENTIALS:
            raise unsupported(f"a question is about 1 to {MAX_CREDENTIALS} credentials")
        asked = [predicate for credential in self.credentials for predicate in credential.predicates]
        if len(asked) > MAX_PREDICATES:
            raise unsupported(f"a question has at most {MAX_PREDICATES} predicates in all")
        sets = [each for each in asked if isinstance(each, Predicate) and each.type is PredicateType.SET_MEMBER]
        check_elements(sum(len(each.operands) for each in sets))
        self._check_either(asked)
        self._check_same()
        self._check_holder()
        if self.status and not self.validity:
            # Handles leave a list some days after the credential's last day, revoked or not.
            raise unsupported("status is asked together with validity: a list forgets what has expired")
        if self.status and any(credential.header.status is None for credential in self.credentials):
            raise unsupported("a credential has no status list")

    def _check_either(self, asked: Sequence[Asked]) -> None:
        named = [number for group in self.either for number in group]
        if len(set(named)) != len(named) or not all(0 <= number < len(asked) for number in named):
            raise unsupported("either names predicates of the question, each once at most")
        if not all(2 <= len(group) <= MAX_ALTERNATIVES and group == tuple(sorted(group)) for group in self.either):
            raise unsupported(f"one of either's groups has 2 to {MAX_ALTERNATIVES} predicates, in ascending order")
        if list(self.either) != sorted(self.either):
            raise unsupported("either's groups stand in ascending order")

    def _check_same(self) -> None:
        named = [one for group in self.same for one in group]
        if len(set(named)) != len(named):
            raise unsupported("an attribute is in one class of same at most")
        if any(len(group) < 2 or group != tuple(sorted(group)) for group in self.same) or list(self.same) != sorted(
            self.same
        ):
            raise unsupported(
                "a class of same has two attributes at least; classes and attributes stand in ascending order"
            )
        for group in self.same:
            if len({self._kind(*one) for one in group}) != 1:
                raise unsupported("the attributes of same have one type and scale")

    def _kind(self, number: int, name: str) -> tuple[str, int]:
        attribute = (
            self.credentials[number].header.schema.attribute(name) if 0 <= number < len(self.credentials) else None
        )
        if attribute is None:
            raise unsupported("same names an attribute that is not there")
        return attribute.type.value, attribute.scale

    def _check_holder(self) -> None:
        bearer = any(credential.header.keeper is SecretKeeper.NONE for credential in self.credentials)
        if bearer and (self.holder is not HolderForm.NONE or self.pseudonym is not None or len(self.credentials) > 1):
            # A reader of a bearer credential has its secret.
            raise unsupported("a bearer credential stands alone, without a pseudonym, where no holder is asked for")
        context = self.pseudonym
        if context is None:
            return
        if not 1 <= len(context) <= MAX_PSEUDONYM_CONTEXT or not context.isprintable() or not is_composed(context):
            raise unsupported(f"the context of a pseudonym is 1 to {MAX_PSEUDONYM_CONTEXT} printable characters in NFC")

    @property
    def consented(self) -> bool:
        """Return whether the proof is one of a consenting holder, made by another party."""
        return self.holder is HolderForm.CONSENT

    @property
    def json(self) -> dict[str, JsonValue]:
        """Return the only JSON form. Equation (4.1)."""
        return {
            "credentials": [credential.json for credential in self.credentials],
            "either": [list(group) for group in self.either],
            "holder": self.holder.value,
            "pseudonym": self.pseudonym,
            "same": [[list(one) for one in group] for group in self.same],
            "status": self.status,
            "validity": self.validity,
        }

    @property
    def digest(self) -> bytes:
        """Return the SHA-256 of the JCS of the JSON form, to which a proof and a consent are bound."""
        return sha256(jcs.canonicalize(self.json)).digest()

    @classmethod
    def from_json(cls, value: Mapping[str, Any], headers: Sequence[BoundHeader]) -> Question:
        """Return the question of its JSON form and the headers, in order. The caller must write it again and compare. Raises
        ``PredicateUnsupported``, and ``KeyError``, ``TypeError``, ``ValueError`` or ``AttributeError`` for another shape."""
        asked: list[dict[str, Any]] = value["credentials"]
        if len(asked) > MAX_CREDENTIALS or sum(len(one["predicates"]) for one in asked) > MAX_PREDICATES:
            raise unsupported("the question has too many credentials or predicates")
        # Before any of them is read: a stranger may put sixteen large sets into one question.
        values = [predicate["value"] for one in asked for predicate in one["predicates"]]
        check_elements(sum(len(each) for each in values if isinstance(each, list)))
        credentials = tuple(
            AskedCredential(header, tuple(parse_asked(header.schema, each) for each in one["predicates"]))
            for one, header in zip(asked, headers, strict=True)
        )
        pseudonym = value["pseudonym"]
        if not isinstance(pseudonym, str | None) or not all(
            type(value[name]) is bool for name in ("status", "validity")
        ):
            raise ValueError("a member of the question has another type")
        return cls(
            credentials,
            tuple(tuple((_index(number), str(name)) for number, name in group) for group in value["same"]),
            tuple(tuple(_index(number) for number in group) for group in value["either"]),
            HolderForm(value["holder"]),
            value["validity"],
            value["status"],
            pseudonym,
        )


def _index(value: Any) -> int:
    if type(value) is not int:
        raise TypeError("an index is an integer")
    return value
