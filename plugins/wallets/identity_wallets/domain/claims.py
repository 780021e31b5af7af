"""The claims of a stored credential in a wallet: its attributes, and booleans that follow from them (SD-JWT VC; ARF Annex 2 for
``age_equal_or_over``).

A wallet of today proves no predicates, so the issuer states in advance how a value relates to each threshold of the schema
(``allowedThresholds``): ``age`` with the thresholds 18 and 65 gives ``age_equal_or_over: {"18": true, "65": false}``, of which a wallet
discloses one member and neither the others nor the age.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from identity_codec.strict_json import JsonValue
from identity_core.domain.credentials.attributes import Attribute
from identity_core.domain.credentials.credential import Credential
from identity_core.domain.credentials.credential_schema import NO_POLICY, CredentialSchema
from identity_core.errors import InvalidCredential
from identity_wallets.domain import token_status

FORMAT: Final = "dc+sd-jwt"
LIFE: Final = timedelta(days=14)
"""How long a copy lives at most: it ends by itself soon after its credential, for verifiers who look at no status."""
EQUAL_OR_OVER: Final = "_equal_or_over"
RESERVED: Final = frozenset(
    {"iss", "sub", "aud", "exp", "nbf", "iat", "jti", "cnf", "vct", "vct#integrity", "status", "_sd", "_sd_alg", "..."}
)
"""Names that the format keeps for itself; an attribute of such a name cannot be told."""


def claim_names(definition: CredentialSchema) -> list[list[str]]:
    """Return the paths of all claims that a credential of the schema may have."""
    found: list[list[str]] = []
    for attribute in definition.schema.attributes:
        found.append([attribute.name])
        found += [[attribute.name + EQUAL_OR_OVER, text] for text in _thresholds(definition, attribute)]
    return found


def check_names(definition: CredentialSchema) -> None:
    """Raise ``InvalidCredential`` for a schema whose credentials cannot be expressed as claims."""
    names = [attribute.name for attribute in definition.schema.attributes]
    derived = {one.name + EQUAL_OR_OVER for one in definition.schema.attributes if _thresholds(definition, one)}
    if taken := [name for name in names if name in RESERVED or name in derived]:
        raise InvalidCredential(
            details={"reason": f"a claim of this name means something else in {FORMAT}", "attributes": [*taken]}
        )


def wallet_claims(
    credential: Credential, definition: CredentialSchema, values: Mapping[str, JsonValue], now: datetime, origin: str
) -> dict[str, Any]:
    """Return the claims; an attribute without a value is left out. ``origin`` is this service, which has the status. Raises
    ``InvalidCredential`` as ``check_names`` does."""
    check_names(definition)
    ends = now + LIFE if credential.valid_until is None else min(now + LIFE, credential.valid_until)
    claims: dict[str, Any] = {
        "iss": str(credential.issuer),
        "vct": definition.schema.id,
        "iat": int(now.timestamp()),
        "nbf": int(credential.valid_from.timestamp()),
        "exp": int(ends.timestamp()),
        "status": token_status.reference(credential, origin),
    }
    for attribute in definition.schema.attributes:
        value = definition.schema.read(attribute.name, values)
        if value is None:
            continue
        claims[attribute.name] = value.json
        thresholds = _thresholds(definition, attribute)
        if thresholds and value.number is not None:
            claims[attribute.name + EQUAL_OR_OVER] = {text: value.number >= least for text, least in thresholds.items()}
    return claims


def _thresholds(definition: CredentialSchema, attribute: Attribute) -> dict[str, int]:
    """Text → number of each, in order."""
    allowed = definition.policies.get(attribute.name, NO_POLICY).allowed_values or ()
    found = [(value.number, value.text) for value in allowed if value.number is not None]
    return {text: number for number, text in sorted(found)}
