"""Calls of a prover and its answers as JSON.

Down goes what the server asks; up comes what a plugin made of it, read by the domain's own parsers: after ``read_result`` the type is
the evidence. Errors come up by the name of their class, and only those of the port's contract.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import orjson

from identity_core.codec import strict_json
from identity_core.codec.multibase import base64url_decode, base64url_encode
from identity_core.domain.predicate import Predicate
from identity_core.domain.proof import Context, IssuerKey, PresentedProof, Statement, Witness, ZkProof
from identity_core.domain.schema import Schema
from identity_core.errors import IdentityError, PredicateUnsupported

_MAX_TEXT: Final = 2_000


class AnswerRefused(Exception):
    """What came up is no answer to the call. The text says what it is instead, and holds nothing of it."""


def prove_call(statement: Statement, witness: Witness, context: Context) -> bytes:
    """``Prover.prove``."""
    secret = {"signature": base64url_encode(witness.signature), "attributes": dict(witness.attributes)}
    return _call("prove", statement=_statement(statement), witness=secret, context=context.json)


def read_call(proof: str) -> bytes:
    """``Prover.read``."""
    return _call("read", proof=proof)


def verify_call(statement: Statement, proof: ZkProof, context: Context, now: datetime) -> bytes:
    """``Prover.verify``."""
    asked = {"statement": _statement(statement), "context": context.json}
    return _call("verify", **asked, proof=_zk_proof(proof), now=now.isoformat())


def read_call_body(body: bytes) -> tuple[str, Sequence[Any], Mapping[str, Any]]:
    """Method, positional and named arguments of a call, in the worker."""
    said = json.loads(body)
    method: str = said["method"]
    if method == "read":
        return method, (said["proof"],), {}
    statement, context = _read_statement(said["statement"]), Context.from_json(said["context"])
    if method == "prove":
        secret = said["witness"]
        return (
            method,
            (statement, Witness(base64url_decode(secret["signature"]), secret["attributes"])),
            {"context": context},
        )
    now = datetime.fromisoformat(said["now"])
    return method, (statement, _read_zk_proof(said["proof"])), {"context": context, "now": now}


def result(method: str, value: Any) -> bytes:
    """What ``method`` returned, of the type that it promises. Raises what a value raises that only looks like it."""
    writers: dict[str, Callable[[Any], Any]] = {"prove": _zk_proof, "read": _presented, "verify": _nothing}
    return json.dumps(writers[method](value)).encode()


def read_result(method: str, body: bytes) -> Any:
    """The value of a result. Raises ``AnswerRefused``."""
    readers: dict[str, Callable[[Any], Any]] = {
        "prove": _read_zk_proof,
        "read": _read_presented,
        "verify": _nothing,
    }
    try:
        return readers[method](strict_json.loads(body))
    except (ValueError, TypeError, KeyError, AttributeError, PredicateUnsupported) as error:
        raise AnswerRefused(f"answered with something else ({type(error).__name__})") from None


def refusal(error: IdentityError) -> bytes:
    """An error of the port's contract."""
    return json.dumps({"error": type(error).__name__, "message": str(error), "details": error.details}).encode()


def read_refusal(body: bytes, contract: Sequence[type[IdentityError]]) -> IdentityError:
    """The error of a refusal. Raises ``AnswerRefused`` for one that the contract does not have."""
    try:
        said = strict_json.loads(body)
        known = {kind.__name__: kind for kind in contract}
        message, details = said["message"], said["details"]
        if not isinstance(message, str) or len(message) > _MAX_TEXT or not isinstance(details, dict):
            raise TypeError
        return known[said["error"]](message, details=details)
    except (ValueError, TypeError, KeyError) as error:
        raise AnswerRefused(f"refused with something else ({type(error).__name__})") from None


def words(body: bytes) -> dict[str, str]:
    """Short texts by name: faults, log lines. What is none is left out."""
    try:
        said = strict_json.loads(body)
    except strict_json.JsonRefused:
        return {}
    pairs = said.items() if isinstance(said, dict) else ()
    return {name: " ".join(text.split())[:_MAX_TEXT] for name, text in pairs if isinstance(text, str)}


def _call(method: str, **arguments: Any) -> bytes:
    said = {"method": method, **arguments}
    try:
        return orjson.dumps(said)
    except TypeError:
        # A stranger's text with half a surrogate, or a number of more than 64 bits: the prover has to say what is wrong with it.
        return json.dumps(said).encode()


def _statement(statement: Statement) -> dict[str, Any]:
    return {
        "verificationMethod": statement.issuer.verification_method,
        "publicKey": base64url_encode(statement.issuer.public_key),
        "header": base64url_encode(statement.schema.header),
        "predicates": [predicate.json for predicate in statement.predicates],
    }


def _read_statement(said: Any) -> Statement:
    schema = Schema.from_header(base64url_decode(said["header"]))
    issuer = IssuerKey(said["verificationMethod"], base64url_decode(said["publicKey"]))
    return Statement(issuer, schema, _read_predicates(schema, said["predicates"]))


def _zk_proof(proof: ZkProof) -> dict[str, Any]:
    return {
        "proof": proof.proof,
        "publicSignals": list(proof.public_signals),
        "predicateType": proof.predicate_type,
        "proofId": proof.proof_id,
    }


def _read_zk_proof(said: Any) -> ZkProof:
    signals = tuple(map(_text, said["publicSignals"]))
    return ZkProof(_text(said["proof"]), signals, _text(said["predicateType"]), _text(said["proofId"]))


def _presented(presented: PresentedProof) -> dict[str, Any]:
    return {
        "verificationMethod": presented.verification_method,
        "header": base64url_encode(presented.schema.header),
        "predicates": [predicate.json for predicate in presented.predicates],
        "context": presented.context.json,
    }


def _read_presented(said: Any) -> PresentedProof:
    schema = Schema.from_header(base64url_decode(_text(said["header"])))
    predicates = _read_predicates(schema, said["predicates"])
    return PresentedProof(_text(said["verificationMethod"]), schema, predicates, Context.from_json(said["context"]))


def _read_predicates(schema: Schema, said: Any) -> tuple[Predicate, ...]:
    return tuple(Predicate.parse(schema, one["attributeName"], one["type"], one["value"]) for one in said)


def _nothing(said: Any) -> None:
    # Who answers False to "verify this" has not said that it is right.
    if said is not None:
        raise TypeError


def _text(said: Any) -> str:
    if not isinstance(said, str):
        raise TypeError("not a text")
    return said
