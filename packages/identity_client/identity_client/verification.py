"""The expectation of a verifier, the members of requests, and verification without a service.

The verifiers are in another distribution, which the extra ``verify`` installs. It registers them as entry points ``identity_client``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
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


def verify(
    proof: Any,
    *,
    expect: Expectation,
    logs: Iterable[str | bytes] = (),
    documents: Iterable[Mapping[str, Any]] = (),
    now: datetime | None = None,
) -> dict[str, Any]:
    """Verify a proof of either suite without a service. Return the answer of verifyProof: rely on the verdict ``valid`` alone.

    ``logs`` are answers of getDidLog, which are verified. ``documents`` are DID documents that the caller trusts. Without those of an
    issuer the verdict is ``invalid``. Needs the extra ``verify``. Raises ``ValueError``: when ``expect`` leaves out what must be
    compared, no proof can meet it, or a log is invalid."""
    return dict(_verifier("verify")(proof_members(proof), expect.members(), logs, documents, now or datetime.now(UTC)))


def verify_log(log: str | bytes, *, now: datetime | None = None, witness_file: bytes | None = None) -> Any:
    """Verify an answer of getDidLog, or another log of a DID, without a service. Return its ``did``, ``document``, ``deactivated``,
    ``update_keys`` and ``unbound_changes``.

    ``now`` refuses later entries, by default those that are more than five minutes ahead. ``witness_file`` is the did-witness.json of a
    did:webvh log. Needs the extra ``verify``. Raises ``ValueError``: when the log is invalid."""
    return _verifier("verify_log")(log, now=now, witness_file=witness_file)


def _verifier(name: str) -> Any:
    from importlib.metadata import entry_points

    for entry in entry_points(group="identity_client", name=name):
        return entry.load()
    raise ModuleNotFoundError("no verifier is installed: in the checkout, pip install . ./packages/*/ ./plugins/*/")
