"""Checks of a bbs-2023 credential before any computation: its size and shape, its issuer, and its one proof."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import orjson
from msgspec import Struct

from identity_client.data_integrity import check_proof_options
from identity_codec import times
from identity_core.ports.securing import Secured, SecuredHead
from identity_securing_bbs2023.contexts import CONTEXTS, VC_CONTEXT
from identity_securing_bbs2023.data_model import check_members
from identity_securing_bbs2023.proof_values import MAX_QUADS
from identity_securing_bbs2023.refused import malformed

CRYPTOSUITE: Final = "bbs-2023"
PROOF_TYPE: Final = "DataIntegrityProof"
DATA_MODEL: Final = "https://www.w3.org/2018/credentials#"
"""Prefix of the IRIs of the data model's own terms."""
MAX_OCTETS: Final = 16_384
MAX_DEPTH: Final = 16
MAX_CONTEXTS: Final = 8
MAX_TERMS: Final = 64
MAX_VALUES: Final = 1_024
MAX_ITEMS: Final = 128
"""Items of one array: PyLD compares each with each other one."""
_VALUE_OBJECT: Final = frozenset({"@value", "@language", "@direction"})


class Parts(Struct, frozen=True):
    """A credential in its parts: the document that is signed, the proof without its value, and that."""

    document: dict[str, Any]
    proof: dict[str, Any]
    value: Any


def parts(secured: Secured) -> Parts:
    """Return the parts of a secured credential. Raises ``Malformed``."""
    if not isinstance(secured, dict):
        malformed("it is not a JSON object")
    check_size(secured)
    document = {name: value for name, value in secured.items() if name != "proof"}
    proof = dict(_own_proof(secured.get("proof")))
    value = proof.pop("proofValue", None)
    if proof.pop("@context", document.get("@context")) != document.get("@context"):
        malformed("the proof has contexts of its own")
    check_document(document)
    _check_shape(proof, 1)
    _check_purpose(proof)
    return Parts(document, proof, value)


def head(document: Mapping[str, Any], proof: Mapping[str, Any]) -> SecuredHead:
    """Return the claimed issuer and the validity; a proof that expires earlier ends the validity. Raises
    ``Malformed``."""
    issuer = document.get("issuer")
    name = issuer.get("id") if isinstance(issuer, dict) else issuer
    method = proof.get("verificationMethod")
    if not isinstance(name, str) or not isinstance(method, str) or not method.startswith(f"{name}#"):
        malformed("the key is not the issuer's")
    ends = [_time(document.get("validUntil")), _time(proof.get("expires"))]
    return SecuredHead(name, method, _time(document.get("validFrom")), min((end for end in ends if end), default=None))


def check_size(value: Any) -> None:
    """Raise ``Malformed`` for what is not JSON, or more than ``MAX_OCTETS`` of it."""
    try:
        data = orjson.dumps(value)
    except (orjson.JSONEncodeError, RecursionError):
        malformed("it is not JSON")
    if len(data) > MAX_OCTETS:
        malformed(f"it has more than {MAX_OCTETS} bytes")


def check_document(document: Mapping[str, Any]) -> None:
    """Raise ``Malformed`` for contexts that are not known, and for a shape that would cost too much or state nothing."""
    contexts = document.get("@context")
    if not isinstance(contexts, list) or not 1 <= len(contexts) <= MAX_CONTEXTS or contexts[0] != VC_CONTEXT:
        malformed(f"the contexts are not a list of at most {MAX_CONTEXTS} that begins with that of the data model 2.0")
    for context in contexts:
        _check_context(context)
    _check_type(document)
    _check_shape({name: value for name, value in document.items() if name != "@context"}, 1)
    if _values(document) > MAX_VALUES:
        malformed(f"it has more than {MAX_VALUES} values")
    # Before it is expanded, which takes the longest of all.
    if _statements({name: value for name, value in document.items() if name != "@context"}) - 1 > MAX_QUADS:
        malformed(f"it makes more than {MAX_QUADS} statements")


def check_statements(document: Mapping[str, Any], proof: Mapping[str, Any]) -> None:
    """Check the credential and the options of its proof as ``Statements.pinned`` wrote them. Raises ``Malformed``."""
    _check_type(document)
    check_members(document)
    if any(name.startswith(DATA_MODEL) for name in document):
        malformed("a member of the data model has a value of another kind")
    if (proof.get("type"), proof.get("cryptosuite")) != (PROOF_TYPE, CRYPTOSUITE):
        malformed("it does not have one proof of bbs-2023")
    _check_purpose(proof)


def inline_contexts(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the warning about contexts in the document, if it has any: such names are the holder's choice."""
    if all(isinstance(context, str) for context in document["@context"]):
        return ()
    return ("it has a context of its own, which is not signed: terms of that context are returned as IRIs",)


def is_same(document: Any, said: Any) -> bool:
    """Return whether two documents differ in nothing but how JSON writes a set: its order, repetitions, and one value without a list."""
    return orjson.dumps(_normal(document)) == orjson.dumps(_normal(said))


def _normal(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _normal(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        found = sorted({orjson.dumps(_normal(one)) for one in value})
        return orjson.loads(found[0]) if len(found) == 1 else [one.decode() for one in found]
    return value


def _check_purpose(proof: Mapping[str, Any]) -> None:
    try:
        # When it expires is told in the head, and compared by the caller.
        check_proof_options(proof, None)
    except ValueError as error:
        malformed(f"an option of the proof is wrong: {error}")
    if not isinstance(proof.get("verificationMethod"), str) or proof.get("proofPurpose") != "assertionMethod":
        malformed("the proof says no key, or another purpose than assertionMethod")


def _check_type(document: Mapping[str, Any]) -> None:
    types = document.get("type")
    if "VerifiableCredential" not in (types if isinstance(types, list) else [types]):
        malformed("it is not a VerifiableCredential")


def _own_proof(proof: Any) -> Mapping[str, Any]:
    """Return the proof of this suite, of one or of a set; the other proofs of a set are not covered by it."""
    proofs = proof if isinstance(proof, list) else [proof]
    own = [one for one in proofs if isinstance(one, dict) and one.get("cryptosuite") == CRYPTOSUITE]
    if len(own) != 1 or own[0].get("type") != PROOF_TYPE:
        malformed("it does not have one proof of bbs-2023")
    found: Mapping[str, Any] = own[0]
    return found


def _check_context(context: Any) -> None:
    """Require a context of the wheel or a flat map of terms to IRIs, because other JSON-LD contexts can need any number of steps."""
    if isinstance(context, str):
        if context not in CONTEXTS:
            malformed("a context is not among those that this service has")
    elif not isinstance(context, dict) or len(context) > MAX_TERMS:
        malformed("a context is not a map of terms")
    elif not all(
        isinstance(iri, str) and (term == "@vocab" or not term.startswith("@")) for term, iri in context.items()
    ):
        malformed("a context in the document says more than the IRIs of its terms")


def _check_shape(value: Any, depth: int) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        malformed("a number is invalid")
    if value is None or value == []:
        malformed("a member has no value, and no issuer would have signed it")
    if not isinstance(value, dict | list):
        return
    if isinstance(value, list) and len(value) > MAX_ITEMS:
        malformed(f"an array has more than {MAX_ITEMS} items")
    if depth > MAX_DEPTH:
        malformed(f"it is deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        reserved = {name for name in value if name.startswith("@")}
        if reserved and not ("@value" in reserved and value.keys() <= _VALUE_OBJECT):
            malformed("a member has a reserved name")
    for part in value.values() if isinstance(value, dict) else value:
        _check_shape(part, depth + 1)


def _values(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(_values, inner))


def _statements(value: Any) -> int:
    """Count the statements that a value makes, unless it repeats itself: one for each value, and one that leads to each object."""
    if isinstance(value, dict):
        return 1 if "@value" in value else 1 + sum(_statements(part) for name, part in value.items() if name != "id")
    return sum(map(_statements, value)) if isinstance(value, list) else 1


def _time(value: Any) -> datetime | None:
    if value is None:
        return None
    try:
        return times.parse(value)
    except ValueError:
        malformed("a time is invalid")
