"""The JSON Schemas (2020-12) of the tools: what a model may send, and what it gets."""

from __future__ import annotations

from typing import Any, Final

Json = dict[str, Any]


def _object(properties: Json, required: tuple[str, ...] = (), *, closed: bool = True) -> Json:
    schema: Json = {"type": "object", "properties": properties, "required": list(required)}
    return schema | ({"additionalProperties": False} if closed else {})


def _text(description: str, most: int = 512) -> Json:
    return {"type": "string", "minLength": 1, "maxLength": most, "description": description}


def _list(items: Json, most: int, description: str, *, least: int = 0) -> Json:
    return {"type": "array", "items": items, "minItems": least, "maxItems": most, "description": description}


DID: Final = {"type": "string", "pattern": "^did:[a-z0-9]+:[!-~]+$", "maxLength": 2048}
PREDICATE: Final = _object(
    {
        "attributeName": _text("Attribute of the credential.", 256),
        "type": {"type": "string", "enum": ["gte", "gt", "lte", "lt", "eq", "set_member"]},
        "value": {"description": "What it is compared with; may be left out where the holder has pinned it."},
    },
    ("attributeName", "type"),
)
IBCT: Final = _object(
    {
        name: _text("As the holder signed it.", 65_536)
        for name in (
            *("id", "type", "invoker", "target", "action", "delegationRef"),
            *("nonce", "issuedAt", "expiresAt", "proofValue"),
        )
    },
    (
        *("id", "type", "invoker", "target", "action", "delegationRef"),
        *("nonce", "issuedAt", "expiresAt", "proofValue"),
    ),
)
ASKED: Final[Json] = {
    "holderDid": {**DID, "description": "Whom it is about."},
    "credentialId": _text("Which credential of the holder."),
    "predicate": PREDICATE,
    "ibct": IBCT,
    "challenge": _text("The verifier's challenge.", 256),
    "domain": _text("Whom the proof is for, such as the verifier's origin."),
    "anchor": {"type": "boolean", "description": "Whether a commitment to the proof goes to the ledger."},
}
ASKED_PREDICATE: Final = _object(
    PREDICATE["properties"]
    | {"type": {"type": "string", "enum": ["gte", "gt", "lte", "lt", "eq", "set_member", "neq"]}},
    ("attributeName", "type"),
)
_ATTRIBUTE: Final = _object(
    {"credential": {"type": "integer", "minimum": 0, "maximum": 3}, "attributeName": _text("Its name.", 256)},
    ("credential", "attributeName"),
)
PRESENTED: Final[Json] = {name: value for name, value in ASKED.items() if name != "predicate"} | {
    "predicates": _list(ASKED_PREDICATE, 16, "The predicates over credentialId, shown together.", least=1),
    "credentials": _list(
        _object(
            {
                "credentialId": _text("Which credential.", 2048),
                "predicates": _list(ASKED_PREDICATE, 16, "Of this one."),
            },
            ("credentialId",),
        ),
        4,
        "Several credentials of the holder, shown together; instead of credentialId and predicates.",
        least=1,
    ),
    "same": _list(_list(_ATTRIBUTE, 16, "A class.", least=2), 16, "Classes of attributes that are equal."),
    "either": _list(
        _list({"type": "integer", "minimum": 0, "maximum": 15}, 4, "A group.", least=2),
        8,
        "Groups of predicates, counted from 0 through all credentials, of which one holds at least.",
    ),
    "pseudonym": _text("The origin of domain: the proof has the holder's pseudonym for it."),
    "holderConsent": {"type": "object", "description": "What the holder's wallet signed, where it keeps the secret."},
}
EXPECTED: Final = _object(
    {
        "predicate": PREDICATE,
        "challenge": _text("The one that you gave.", 256),
        "domain": _text("The one that you gave."),
        "issuerDid": DID,
        "schemaId": _text("The schema that the credential must have."),
    }
)
PROOF: Final = _object(
    {
        "proof": _text("base64url of the envelope.", 131_072),
        "publicSignals": {"type": "array", "maxItems": 256, "items": {"type": "string"}},
        "predicateType": _text("Type of the predicate.", 256),
        "proofId": _text("Identifier of the proof."),
    },
    ("proof",),
)

RESOLVE_IN: Final = _object(
    {"did": DID, "versionId": {"type": "integer", "minimum": 1}, "versionTime": _text("RFC 3339.", 64)}, ("did",)
)
RESOLVE_OUT: Final = _object(
    {"didDocument": {"type": "object"}, "didDocumentMetadata": {"type": "object"}},
    ("didDocument", "didDocumentMetadata"),
    closed=False,
)
CHECK_IN: Final = _object(ASKED | PRESENTED, ("holderDid", "ibct"))
CHECK_OUT: Final = _object(
    {"usable": {"type": "boolean"}, "reasons": {"type": "array"}, "delegation": {"type": "object"}},
    ("usable", "reasons"),
)
LIST_IN: Final = _object({"status": _text("Such as active.", 32), "cursor": _text("nextCursor of the page before.")})
LIST_OUT: Final = _object(
    {"items": {"type": "array", "items": {"type": "object"}}, "nextCursor": {"type": ["string", "null"]}},
    ("items", "nextCursor"),
)
_ABOUT_REQUEST: Final = {
    "includeProof": {"type": "boolean", "description": "Whether the proof itself comes along: 2 to 5 kB."},
    "purpose": _text("Why, for the holder who is asked.", 200),
    "consentId": _text("That of the answer before, where the holder was asked.", 8_192),
}
REQUEST_IN: Final = _object(ASKED | _ABOUT_REQUEST, ("holderDid", "predicate"))
PRESENT_IN: Final = _object(PRESENTED | _ABOUT_REQUEST, ("holderDid",)) | {
    "oneOf": [{"required": ["predicates"]}, {"required": ["credentials", "ibct"]}]
}
REQUEST_OUT: Final = _object(
    {
        "status": {"type": "string", "enum": ["proved", "consent_required", "waiting", "declined"]},
        "proofId": {"type": "string"},
        "delegationId": {"type": "string"},
        "proofUri": {"type": "string"},
        "anchor": {"type": ["object", "null"]},
        "proof": {"type": "object"},
        "consentId": {"type": "string"},
        "consentUrl": {"type": "string", "description": "The page on which the holder answers."},
        "expiresAt": {"type": "string"},
    },
    ("status",),
)
VERIFY_IN: Final[Json] = _object({"proof": PROOF, "proofId": _text("A stored proof."), "expect": EXPECTED}) | {
    "oneOf": [{"required": ["proof"]}, {"required": ["proofId"]}]
}
VERIFY_OUT: Final = _object(
    {
        "verified": {"type": "boolean", "description": "Whether every check is right; rely on verdict."},
        "verdict": {"type": "string", "enum": ["valid", "unbound", "invalid"]},
        "missing": {
            "type": "array",
            "items": {"type": "string"},
            "description": "What the proof was not compared with.",
        },
    },
    ("verified", "verdict", "missing"),
    closed=False,
)
GET_IN: Final = _object({"proofId": _text("Identifier of the proof.")}, ("proofId",))
GET_OUT: Final = _object(
    {"proofId": {"type": "string"}, "proof": {"type": "object"}}, ("proofId", "proof"), closed=False
)
CHALLENGE_IN: Final = _object({"domain": _text("Whom the proof is for, such as your origin.")}, ("domain",))
CHALLENGE_OUT: Final = _object(
    {name: {"type": "string"} for name in ("challenge", "domain", "expiresAt")}, ("challenge", "expiresAt")
)
