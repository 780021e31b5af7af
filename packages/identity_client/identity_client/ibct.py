"""IBCTs of a holder: build, sign and verify one without the service.

A holder signs what he reads: exactly the nine members of a token, in his own name. Whatever else is put before the key is refused,
so that no challenge and no document can be passed off as a token, nor a token as a challenge (``Signer`` takes nothing that
begins with ``{``).
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from msgspec import Struct

from identity_client.action import CREDENTIAL, NOT_EQUAL, PSEUDONYM, SAME, Action, check_type, pin_of
from identity_client.capability import PROOF_VALUE, SIGNED, TYPE, Capability, CapabilityInvalid, signing_input_of
from identity_client.did import split_did
from identity_client.did_auth import Signer
from identity_codec import multibase
from identity_codec.deprecation import OldName
from identity_codec.strict_json import JsonValue
from identity_codec.times import parse, printed

NONCE_OCTETS: Final = 16


class IbctTemplate(Struct, frozen=True):
    """The permission that a token gives: ``agent`` may have proved ``action`` under ``delegation`` (id or URL), once,
    for ``lifetime``."""

    agent: str
    action: str
    delegation: str
    lifetime: timedelta = timedelta(minutes=15)


def action_text(attribute: str, type_: str, *, pin: JsonValue = None) -> str:
    """Return the action of a predicate; ``pin`` fixes its value, None leaves it to the agent. Raises ``ValueError``."""
    return str(Action(attribute, check_type(type_), None if pin is None else pin_of(pin)))


def question_action(question: Mapping[str, Any]) -> str:
    """Return the action of a token for the members ``credentials``, ``same`` and ``pseudonym`` of a request, every value pinned:
    the holder signs this question alone. Raises ``ValueError``; ``KeyError`` and ``TypeError`` for what has not the shape of a
    question."""
    actions: list[Action] = []
    for number, part in enumerate(question["credentials"]):
        actions.append(Action("", CREDENTIAL, pin_of(part["credentialId"])))
        for one in part.get("predicates", ()):
            actions.append(Action(one["attributeName"], check_type(one["type"]), pin_of(one["value"])))
        for place, together in enumerate(question.get("same", ())):
            names = [one["attributeName"] for one in together if one["credential"] == number]
            actions += [Action(name, SAME, pin_of(place)) for name in names]
    if question.get("pseudonym") is not None:
        actions.append(Action("", PSEUDONYM, pin_of(question["pseudonym"])))
    return " ".join(map(str, actions))


def build(holder: str, wish: IbctTemplate, *, now: datetime, id: str, nonce: str) -> dict[str, str]:
    """Return a token that waits for its signature. Raises ``ValueError`` for an action that no token can have, and for
    an agent that is not a DID."""
    Action.parse_all(wish.action)
    split_did(wish.agent)
    return {
        "id": id,
        "type": TYPE,
        "invoker": holder,
        "target": wish.agent,
        "action": wish.action,
        "delegationRef": wish.delegation,
        "nonce": nonce,
        "issuedAt": printed(now),
        "expiresAt": printed(now + wish.lifetime),
    }


def sign(token: Mapping[str, str], signer: Signer) -> dict[str, str]:
    """Return the token with its ``proofValue``, bare base58btc. Raises ``ValueError`` unless it is an unsigned token of this signer."""
    if token.keys() != SIGNED or not all(isinstance(text, str) for text in token.values()):
        raise ValueError("an unsigned token has exactly its nine members, all strings")
    if token["type"] != TYPE:
        raise ValueError(f"the type of a token is {TYPE}")
    if token["invoker"] != signer.did:
        raise ValueError("the token would be signed in the name of another DID")
    parse(token["issuedAt"])
    parse(token["expiresAt"])
    return {**token, PROOF_VALUE: multibase.base58_encode(signer.pair.sign(signing_input_of(token)))}


def sign_token(signer: Signer, wish: IbctTemplate) -> dict[str, str]:
    """Return a signed token as of now, with an id and a nonce from the operating system's random source."""
    nonce = multibase.base64url_encode(secrets.token_bytes(NONCE_OCTETS))
    token = build(signer.did, wish, now=datetime.now(UTC), id=f"urn:uuid:{uuid.uuid4()}", nonce=nonce)
    return sign(token, signer)


issue = OldName("ibct.issue", sign_token)


def proof_request(token: Mapping[str, str], credential_id: str, **more: JsonValue) -> dict[str, Any]:
    """Return the body for a token, whose operation ``operation_of`` names: parties and predicates are those of the token.

    ``more`` may give ``value`` (left out where it is pinned) or ``values``, a list with one for each predicate, ``holderConsent``,
    ``anchor``, ``syncWaitMs``, ``challenge`` and ``domain``. Raises ``ValueError`` for an action that names no predicate, and for another
    number of values."""
    predicates: list[dict[str, JsonValue]] = [
        {"attributeName": action.attribute, "type": action.type} for action in Action.parse_all(token["action"])
    ]
    values = [more.pop("value")] if "value" in more else more.pop("values", None)
    if isinstance(values, list):
        if len(values) != len(predicates):
            raise ValueError(f"the token names {len(predicates)} predicates, and {len(values)} values are given")
        for predicate, value in zip(predicates, values, strict=True):
            predicate["value"] = value
    # The member ``predicate`` knows the types of the specification.
    is_plain = len(predicates) == 1 and predicates[0]["type"] != NOT_EQUAL and "holderConsent" not in more
    return {
        "holderDid": token["invoker"],
        "agentDid": token["target"],
        "credentialId": credential_id,
        **({"predicate": predicates[0]} if is_plain else {"predicates": predicates}),
        "ibct": dict(token),
    } | more


def operation_of(body: Mapping[str, Any]) -> str:
    """Return the operationId for a body of ``proof_request`` or ``question_request``."""
    return "generateDelegatedProof" if "predicate" in body else "createDelegatedPresentation"


def question_request(token: Mapping[str, str], question: Mapping[str, Any], **more: JsonValue) -> dict[str, Any]:
    """Return the body of createDelegatedPresentation for a token of ``question_action`` and its question, with ``either`` too. ``more`` as
    for ``proof_request``, without values."""
    asked = {name: question[name] for name in ("credentials", "same", "either", "pseudonym") if name in question}
    return {"holderDid": token["invoker"], "agentDid": token["target"], "ibct": dict(token)} | asked | more


def verify(token: Mapping[str, str], public_keys: Iterable[bytes], now: datetime) -> Capability:
    """Return the token, when one of the raw Ed25519 keys signed it and it has not expired. What only the service knows (revocation,
    an earlier use, the delegation) is not looked at.

    Raises ``CapabilityInvalid`` and ``CapabilityExpired``.
    """
    capability = Capability.parse(token, places=())
    for party in (capability.invoker, capability.target):
        try:
            split_did(party)
        except ValueError as error:
            raise CapabilityInvalid("invoker or target is not a DID") from error
    capability.check_signature(public_keys)
    capability.check_unexpired(now)
    return capability
