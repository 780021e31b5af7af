"""What needs no service: signing a credential with a key of this machine, and checking a signature."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from identity_core.cli.options import json_or_text, read_json
from identity_core.cli.output import as_json, fail, show
from identity_core.cli.remote import keys_option
from identity_core.cli.wallet import Wallet
from identity_core.codec import multibase, multikey
from identity_core.domain.credential_schema import CredentialSchema
from identity_core.errors import IdentityError

UNCHECKED = ["holder", "issuer", "validity", "status"]
F = TypeVar("F", bound=Callable[..., Any])

value_options = (
    click.option("--values", type=click.File("rb"), metavar="FILE", help="A JSON object: attribute → value."),
    click.option(
        "--value", "single", nargs=2, multiple=True, metavar="ATTRIBUTE VALUE", help="One value; JSON or a text."
    ),
    click.option("--valid-from", "validFrom", metavar="TIME", help="RFC 3339; now by default."),
    click.option("--valid-until", "validUntil", metavar="TIME", help="RFC 3339; without end by default."),
)
holder_option = click.option("--holder", "holderDid", required=True, metavar="DID", help="Of whom it is said.")


def given_values(values: Any, single: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    """The attributes. A VALUE is JSON (18, true, null); anything else is taken as a string."""
    attributes = {} if values is None else read_json(values)
    return attributes | {name: json_or_text(text) for name, text in single}


def _value_options(command: F) -> F:
    for option in reversed(value_options):
        command = option(command)
    return command


@click.command()
@keys_option
@holder_option
@click.option(
    "--schema",
    "schema_file",
    required=True,
    type=click.File("rb"),
    metavar="FILE",
    help="What `identity credential schema get ID --json` printed.",
)
@_value_options
@click.option(
    "--key", "method", metavar="KEY_ID", help="The key; the only Bls12381G2Key2020 of the keys file by default."
)
@as_json
def sign(wallet: Path, schema_file: Any, method: str | None, values: Any, single: Any, **given: Any) -> None:
    """Sign a credential here, with the issuer's key in the keys file. Prints JSON in any case: what `identity credential import`
    takes."""
    issuer = Wallet.open(wallet)
    key = _signing_key(issuer, method)
    definition = read_schema(schema_file)
    body = {name: value for name, value in given.items() if value is not None}
    attributes = given_values(values, single)
    kind, secret = multikey.decode_secret(key["privateKey"])
    if kind != multikey.BLS12381G2:
        fail("the key does not sign credentials", key["keyId"], "name a Bls12381G2Key2020 key with --key")
    try:
        body["attributes"], signature = sign_values(definition, attributes, secret)
    except IdentityError as error:
        attribute = error.details.get("attribute")
        where = "the values" if attribute is None else f"the attribute {attribute}"
        fail(str(error.details.get("reason", error)), where, "put it right and sign again")
    body |= {
        "schemaId": definition.schema.id,
        "issuerDid": issuer.named_did(),
        "verificationMethod": key["keyId"],
        "signature": multibase.base64url_encode(signature),
    }
    show(body)


def sign_values(definition: CredentialSchema, values: dict[str, Any], secret: bytes) -> tuple[dict[str, Any], bytes]:
    """The values in canonical form, and the signature (80 octets) by the raw ``secret``. Raises ``InvalidCredential``."""
    from identity_core.crypto.bbs import core, octets
    from identity_core.crypto.bbs.suite import ciphersuite
    from identity_core.crypto.bls12381 import keys as bls
    from identity_core.crypto.bls12381 import select
    from identity_core.domain.credential_signature import canonical_values, messages

    schema = definition.schema
    canonical = canonical_values(schema, values)
    suite = ciphersuite(select())
    scalars = octets.mixed_messages_to_scalars(messages(schema, canonical))
    public = octets.octets_to_public_key(suite, bls.public_key(secret))
    made = core.core_sign(suite, bls.secret_scalar(secret), public, schema.header, scalars)
    return dict(canonical), octets.signature_to_octets(suite, made)


def check_offline(credential: dict[str, Any], schema: dict[str, Any], issuer_key: str) -> dict[str, Any]:
    """The verdict on schema, values and signature; what only a service knows stands under ``unchecked``."""
    from identity_core.domain import verifiable_credential
    from identity_core.domain.credential_signature import canonical_values, check_signature
    from identity_core.domain.keys import PublicKey

    definition = _definition(schema, "--schema")
    checks: list[dict[str, Any]] = []
    try:
        key = PublicKey.parse(multikey.BLS12381G2, issuer_key).raw
    except IdentityError as error:
        fail(str(error), "--issuer-key", "give a Bls12381G2Key2020 multikey", status=2)
    stages = (("form", "CREDENTIAL_MALFORMED"), ("schema", "ATTRIBUTES_INVALID"), ("signature", "SIGNATURE_INVALID"))
    try:
        presented = verifiable_credential.parse(credential)
        checks.append(_right("form"))
        if presented.schema_id != definition.schema.id:
            checks.append({"check": "schema", "ok": False, "code": "SCHEMA_UNKNOWN", "reason": "another schema"})
            return {"verified": False, "checks": checks, "unchecked": UNCHECKED}
        values = canonical_values(definition.schema, presented.attributes)
        checks.append(_right("schema"))
        check_signature(key, presented.signature, definition.schema, values)
        checks.append(_right("signature"))
    except IdentityError as error:
        name, code = stages[len(checks)]
        checks.append({"check": name, "ok": False, "code": code, "reason": str(error.details.get("reason", error))})
    return {"verified": all(check["ok"] for check in checks), "checks": checks, "unchecked": UNCHECKED}


def _right(name: str) -> dict[str, Any]:
    return {"check": name, "ok": True, "code": None, "reason": None}


def read_schema(file: Any) -> CredentialSchema:
    """The schema in a file; one that is none ends the command."""
    return _definition(read_json(file), getattr(file, "name", "standard input"))


def _definition(value: dict[str, Any], where: str) -> CredentialSchema:
    from identity_core.domain import schema_json

    try:
        return schema_json.read(value["id"], value["attributes"])
    except IdentityError as error:
        fail(
            f"not a schema: {error.details.get('reason', error)}",
            where,
            "give what `schema get --json` printed",
            status=2,
        )
    except (KeyError, TypeError, AttributeError):
        fail("not a schema", where, "give what `identity credential schema get ID --json` printed", status=2)


def _signing_key(issuer: Wallet, method: str | None) -> dict[str, Any]:
    """The key that is named, or the only one of its type."""
    filed: list[dict[str, Any]] = []
    for purpose, one in issuer.keys.items():
        if purpose != "retired":
            filed += one if isinstance(one, list) else [one]
    found = [key for key in filed if key.get("type") == multikey.BLS12381G2 and method in (None, key.get("keyId"))]
    if len(found) != 1 or "privateKey" not in found[0]:
        what = "the keys file holds no such key" if not found else "the keys file holds several keys"
        remedy = (
            "say which with --key"
            if found
            else "make one: `identity did create --key Bls12381G2Key2020 assertionMethod`"
        )
        fail(what, str(issuer.path), remedy)
    return found[0]
