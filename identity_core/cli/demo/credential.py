"""Chapter 2: Ivo issues Hana a credential."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

from identity_core.cli.demo.cast import Cast
from identity_core.cli.demo.telling import Story

_ATTRIBUTES: Final[list[dict[str, Any]]] = [
    {"name": "name", "type": "string"},
    {"name": "age", "type": "integer", "minimum": 0, "maximum": 150},
    {"name": "country", "type": "string"},
]
_VALUES: Final = {"name": "Hana Tanaka", "age": 24, "country": "JP"}
_ISSUER: Final = {
    "method": "ids",
    "options": {
        "additionalKeys": [{"type": "Bls12381G2Key2020", "purpose": ["assertionMethod"]}],
        "storeSecrets": True,
    },
}


def tell(story: Story, cast: Cast) -> None:
    """Leaves everybody with a DID, and the credential."""
    session = cast.session
    ivo, aki, vera = story.tell(
        "Ivo, Aki and Vera create DIDs; the service keeps Ivo's signing key for him",
        lambda: [session.create(_ISSUER), session.create({"method": "ids"}), session.create({"method": "ids"})],
        lambda made: f"Ivo is {made[0]['did']}, with a Bls12381G2Key2020 key",
    )
    cast.ivo, cast.aki, cast.vera = cast.person(ivo), cast.person(aki), cast.person(vera)
    schema = story.tell(
        "Ivo registers what his credentials say",
        lambda: cast.ivo.ask("POST", "/credential-schemas", {"attributes": _ATTRIBUTES}),
        lambda body: ", ".join(f"{one['name']} ({one['type']})" for one in body["attributes"]),
    )
    cast.schema_id = schema["id"]
    said = {
        "issuerDid": cast.ivo.did,
        "holderDid": cast.hana.did,
        "schemaId": cast.schema_id,
        "attributes": _VALUES,
    }
    issued = story.tell(
        "Ivo issues Hana a credential; one BBS signature covers all values",
        lambda: cast.ivo.ask("POST", "/credentials", said),
        lambda body: f"{body['id']}, {body['status']}",
    )
    cast.credential_id = issued["id"]
    path = f"/credentials/{quote(cast.credential_id, safe='')}"
    story.tell(
        "Hana reads it",
        lambda: cast.hana.ask("GET", path),
        lambda body: ", ".join(f"{name} {body['credential']['credentialSubject'][name]}" for name in _VALUES),
    )
    story.refused("For Vera it does not exist", lambda: cast.vera.ask("GET", path), "CREDENTIAL_NOT_FOUND")
