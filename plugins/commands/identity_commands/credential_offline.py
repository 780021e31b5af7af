"""The commands that need no service: signing a credential with a key of this machine, and checking a signature."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from identity_codec import multibase, multikey
from identity_commands.json_input import json_or_text, name_of, read_json
from identity_commands.options import all_of, several
from identity_commands.remote import did_option, keys_option
from identity_commands.wallet import Wallet
from identity_core.cli.output import Command, fail, failing, show
from identity_core.domain.credentials.credential_schema import CredentialSchema
from identity_core.errors import IdentityError

UNCHECKED = ["holder", "issuer", "validity", "status"]

value_options = (
    click.option("--values", type=click.File("rb"), metavar="FILE", help="JSON object of attributes and values."),
    several("--value", "ATTRIBUTE VALUE", "Value of one attribute, JSON or a string; repeatable.", into="single"),
    click.option("--valid-from", "validFrom", metavar="TIME", help="Start of validity, RFC 3339.  [default: now]"),
    click.option("--valid-until", "validUntil", metavar="TIME", help="End of validity, RFC 3339.  [default: no end]"),
)
schema_option = click.option(
    "--schema",
    "schema_file",
    required=True,
    type=click.File("rb"),
    metavar="FILE",
    help="File with the schema, as `identity credential schema get ID --json` prints it.",
)
key_option = click.option(
    "--key",
    "method",
    metavar="KEY_ID",
    help="Id of the signing key.  [default: the only Bls12381G2Key2020 of the keys file]",
)
issuer_options = all_of(
    click.option("--issuer-key", metavar="MULTIKEY", help="Public key of the issuer (Bls12381G2Key2020)."),
    click.option("--issuer-document", type=click.File("rb"), help="The issuer's DID document, or its resolution."),
    click.option("--issuer-log", type=click.File("rb"), help="Log of the issuer's DID, which is verified too."),
)
holder_option = did_option("--holder", "holderDid", "DID of the holder.", required=True)


def given_values(values: Any, single: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    """Return the attributes. A VALUE is JSON (18, true, null); anything else is taken as a string."""
    attributes = {} if values is None else read_json(values)
    return attributes | {name: json_or_text(text) for name, text in single}


@click.command(cls=Command)
@keys_option
@holder_option
@schema_option
@all_of(*value_options)
@key_option
def sign(wallet: Path, schema_file: Any, method: str | None, values: Any, single: Any, **given: Any) -> None:
    """Sign a credential on this machine, with the issuer's key in the keys file.

    The output is always JSON, the input of `identity credential import`.
    """
    issuer = Wallet.open(wallet)
    key = signing_key(issuer, method)
    definition = read_schema(schema_file)
    attributes = given_values(values, single)
    kind, secret = multikey.decode_secret(key["privateKey"])
    if kind != multikey.BLS12381G2:
        fail("the key does not sign credentials", key["keyId"], "name a Bls12381G2Key2020 key with --key")
    try:
        canonical, signature = sign_values(definition, attributes, secret)
    except IdentityError as error:
        attribute = error.details.get("attribute")
        where = "the values" if attribute is None else f"the attribute {attribute}"
        fail(str(error.details.get("reason", error)), where, "put it right and sign again")
    body = {name: value for name, value in given.items() if value is not None} | {
        "attributes": canonical,
        "schemaId": definition.schema.id,
        "issuerDid": issuer.did,
        "verificationMethod": key["keyId"],
        "signature": multibase.base64url_encode(signature),
    }
    show(body)


def sign_values(definition: CredentialSchema, values: dict[str, Any], secret: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the values in canonical form, and the signature (80 bytes) by the raw ``secret``. Raises ``InvalidCredential``."""
    from identity_bbs import interface
    from identity_bbs.bls12381 import keys as bls
    from identity_bbs.bls12381 import select
    from identity_bbs.suite import ciphersuite
    from identity_core.domain.credentials.credential import canonical_values

    schema = definition.schema
    canonical = canonical_values(schema, values)
    public, signed = bls.public_key(secret), schema.messages(canonical)
    return dict(canonical), interface.sign(ciphersuite(select()), secret, public, schema.header, signed)


def check_offline(credential: dict[str, Any], schema: dict[str, Any], issuer_key: str) -> dict[str, Any]:
    """Return the verdict on schema, values and signature; checks that need a service are listed under ``unchecked``."""
    from identity_bound_credentials.domain.bound_format import parse_credential

    from identity_core.domain.credentials.credential import canonical_values
    from identity_core.domain.dids.keys import PublicKey

    definition = _definition(schema, "--schema")
    checks: list[dict[str, Any]] = []
    with failing(IdentityError, "--issuer-key", "give a Bls12381G2Key2020 multikey", status=2):
        key = PublicKey.parse(multikey.BLS12381G2, issuer_key).raw

    def check(name: str, code: str | None = None, reason: str | None = None) -> None:
        checks.append({"check": name, "ok": code is None, "code": code, "reason": reason})

    stages = (("form", "CREDENTIAL_MALFORMED"), ("schema", "ATTRIBUTES_INVALID"), ("signature", "SIGNATURE_INVALID"))
    try:
        presented = parse_credential(credential)
        check("form")
        if presented.schema_id != definition.schema.id:
            check("schema", "SCHEMA_UNKNOWN", "another schema")
            return {"verified": False, "checks": checks, "unchecked": UNCHECKED}
        values = canonical_values(definition.schema, presented.attributes)
        check("schema")
        work, *arguments = presented.signature_check(key, definition, values)
        work(*arguments)
        check("signature")
    except IdentityError as error:
        check(*stages[len(checks)], str(error.details.get("reason", error)))
    return {"verified": all(one["ok"] for one in checks), "checks": checks, "unchecked": UNCHECKED}


def read_schema(file: Any) -> CredentialSchema:
    """Return the schema in a file. An invalid one ends the command."""
    return _definition(read_json(file), name_of(file))


def _definition(value: dict[str, Any], where: str) -> CredentialSchema:
    from identity_core.domain.credentials import credential_schema as schema_json

    try:
        return schema_json.read(value["id"], value["attributes"])
    except (IdentityError, KeyError, TypeError, AttributeError) as error:
        reason = f": {error.details.get('reason', error)}" if isinstance(error, IdentityError) else ""
        fail(f"not a schema{reason}", where, "give what `identity credential schema get ID --json` printed", status=2)


def signing_key(issuer: Wallet, method: str | None) -> dict[str, Any]:
    """Return the named key, or the only one of its type."""
    filed: list[dict[str, Any]] = [where[place] for where, place in issuer.places()]
    found = [key for key in filed if key.get("type") == multikey.BLS12381G2 and method in (None, key.get("keyId"))]
    if not found:
        remedy = "make one: `identity did create --key Bls12381G2Key2020 assertionMethod`"
        fail("the keys file holds no such key", str(issuer.path), remedy)
    if len(found) > 1 or "privateKey" not in found[0]:
        fail("the keys file holds several keys", str(issuer.path), "say which with --key")
    return found[0]
