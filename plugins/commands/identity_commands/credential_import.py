"""The body of ``identity credential import``, from the file that an issuer wrote offline."""

from __future__ import annotations

from typing import Any

from identity_codec.multibase import base64url_encode
from identity_codec.times import printed
from identity_commands.json_input import name_of, read_json
from identity_commands.remote import RemoteCaller, named
from identity_core.cli.output import failing
from identity_core.errors import InvalidCredential


def import_body(caller: RemoteCaller, *, file: Any, **given: Any) -> dict[str, Any]:
    """Return the body: the output of `identity credential sign`, or one around a credential that a wallet requested
    (`sign-request`). A credential of another kind ends the command."""
    from identity_bound_credentials.domain.bound_format import binding_of, parse_credential

    value = read_json(file)
    if "proof" not in value:
        return value | named(caller, **given)
    remedy = "give what `identity credential sign` or `identity credential sign-request` wrote"
    with failing((InvalidCredential, ValueError), name_of(file), remedy, what="this cannot be imported"):
        shown = parse_credential(value)
        if (bound := binding_of(shown)) is None:
            raise ValueError("a credential of suite 1 is imported as `identity credential sign` wrote it")
    tag = {name: proof for name, proof in value["proof"].items() if name == "holderTag"}
    return named(caller, **given) | {
        "issuerDid": str(shown.issuer),
        "holderDid": str(shown.holder),
        "schemaId": shown.schema_id,
        "attributes": dict(shown.attributes),
        "validFrom": printed(shown.valid_from),
        "validUntil": None if shown.valid_until is None else printed(shown.valid_until),
        "verificationMethod": shown.verification_method,
        "signature": base64url_encode(shown.signature),
        "bound": {
            "id": shown.id,
            "header": base64url_encode(bound.header.encoded),
            "commitment": base64url_encode(bound.commitment),
            "handle": bound.handle,
            **tag,
        },
    }
