"""The expectation of a verifier, and the members of requests."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, structs

from identity_codec.strict_json import JsonValue

_PROOF_MEMBERS: Final = frozenset({"proof", "publicSignals", "predicateType", "proofId"})
_BOUND: Final = (("predicate", "predicates", "credentials"), ("challenge",), ("domain",), ("issuerDid", "credentials"))
"""The members that bind a proof to its verifier; one of each tuple is required."""


class Expectation(Struct, frozen=True, kw_only=True):
    """The parts that a verifier compares with a proof: the members of a request of verifyProof. A proof that was not compared with
    predicates, challenge, domain and issuer could be a replay, or answer another question: without one of them ``members`` raises
    ``ValueError``, unless ``allow_unbound``."""

    predicate: Mapping[str, JsonValue] | None = None
    predicates: Sequence[Mapping[str, JsonValue]] | None = None
    challenge: str | None = None
    domain: str | None = None
    issuer_did: str | None = None
    schema_id: str | None = None
    max_age: int | None = None
    status_max_age: int | None = None
    requires: Sequence[str] | None = None
    agent_key: str | None = None
    consent_cover: int | None = None
    credentials: Sequence[Mapping[str, JsonValue]] | None = None
    same: Sequence[Any] | None = None
    either: Sequence[Any] | None = None
    pseudonym: str | None = None
    allow_unbound: bool = False

    def members(self) -> dict[str, Any]:
        """Return the members of the request."""
        found = members_of(structs.asdict(self))
        allow_unbound = found.pop("allowUnbound")
        missing = [names[0] for names in _BOUND if not any(map(found.get, names))]
        if missing and not allow_unbound:
            raise ValueError(f"the proof could be a replay: expect {', '.join(missing)}, or set allow_unbound")
        return found


def members_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that are not None, by their names on the wire: ``schema_id`` is ``schemaId``."""
    named = ((re.sub("_([a-z])", lambda match: match[1].upper(), name), value) for name, value in values.items())
    return {name: value for name, value in named if value is not None}


def proof_members(proof: Any) -> dict[str, Any]:
    """Return the members of a ``ZKProof``, of an answer or record that contains one, or of the text of a proof."""
    whole = proof if isinstance(proof, Mapping) else {"proof": proof}
    inner = whole.get("proof")
    members = inner if isinstance(inner, Mapping) else whole
    return {name: members[name] for name in _PROOF_MEMBERS & members.keys()}
