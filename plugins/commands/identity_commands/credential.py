"""``identity credential``: schemas, issuing and importing, reading, status and checking, against a running service. Commands
without a service are in ``credential_offline``, ``credential_offer`` and ``credential_wallet``."""

from __future__ import annotations

import functools
from typing import Any

import click

from identity_commands.credential_import import import_body
from identity_commands.credential_offer import offer, sign_request
from identity_commands.credential_offline import check_offline, given_values, holder_option, sign, value_options
from identity_commands.credential_secret import rotate_secret
from identity_commands.credential_wallet import accept, request
from identity_commands.json_input import input_argument, read_json
from identity_commands.remote import (
    RemoteCaller,
    add_command,
    did_option,
    named,
    page,
    page_options,
    session,
    url_option,
)
from identity_commands.terminal import ids_option
from identity_core.cli.options import Whole
from identity_core.cli.output import fail, format_value, misused, show
from identity_core.cli.plugin_commands import OpenGroup

STATUSES = ("active", "suspended", "revoked")


@click.group(name="credential", cls=OpenGroup)
def command() -> None:
    """Issue, sign, import, show, revoke and verify credentials; register their schemas.

    A wallet that stores the holder's secret itself gets a credential by `offer`, `request`, `sign-request` and
    `accept`. These commands call no service.
    """


@command.group(cls=OpenGroup, place="credential.schema")
def schema() -> None:
    """Register, get and list credential schemas."""


for offline in (sign, offer, request, sign_request, accept, rotate_secret):
    command.add_command(offline)


@command.command()
@input_argument
@url_option
@click.option("--issuer-key", metavar="MULTIKEY", help="Verify offline with this Bls12381G2Key2020 key of the issuer.")
@click.option(
    "--schema", "schema_file", type=click.File("rb"), metavar="FILE", help="Schema, for offline verification."
)
def verify(file: Any, url: str, issuer_key: str | None, schema_file: Any) -> None:
    """Verify the credential in FILE, or in the record in FILE; - is standard input. Only the holder's record has the
    signature: the issuer cannot verify its own.

    The service verifies everything. With --issuer-key and --schema no service is called, and only signature and
    values are verified. What was not verified is printed as unchecked.
    """
    value = read_json(file)
    credential = value["credential"] if isinstance(value.get("credential"), dict) else value
    if (issuer_key is None) != (schema_file is None):
        fail("a check offline needs both", "the options", "give --issuer-key and --schema, or neither", status=2)
    if issuer_key is not None:
        verdict = check_offline(credential, read_json(schema_file), issuer_key)
    else:
        with session(url) as opened:
            verdict = RemoteCaller(opened, None).send("verifyCredential", body={"credential": credential})
    show(verdict, text=_verdict)
    if not verdict["verified"]:
        raise SystemExit(1)


def _issued(caller: RemoteCaller, *, values: Any, single: Any, issuerDid: str | None, **given: Any) -> dict[str, Any]:
    issuer = issuerDid or caller.did or misused("who issues it?", "give --issuer DID, or --keys FILE")
    return named(caller, issuerDid=issuer, **given) | {"attributes": given_values(values, single)}


def _rotation(answer: Any) -> str:
    bound = [
        f"  {one['credentialId']}  of {one['issuerDid']}, generation {one['generation']}"
        for one in answer["credentials"]
    ]
    more = [] if answer["complete"] else ["  and more, which are not named"]
    first = f"generation {answer['generation']}; bound to former ones:"
    return "\n".join([first, *(bound or ["  nothing"]), *more])


def _definition(caller: RemoteCaller, *, file: Any, id: str | None) -> dict[str, Any]:
    value = read_json(file)
    return {"attributes": value.get("attributes")} | named(caller, id=id or value.get("id"))


def _record(body: dict[str, Any]) -> str:
    lines = [body["id"], f"status  {body['status']}" + (f" ({body['statusReason']})" if body["statusReason"] else "")]
    lines += [f"issuer  {body['issuerDid']}", f"holder  {body['holderDid']}", f"schema  {body['schemaId']}"]
    lines.append(f"valid   {body['validFrom']} to {body['validUntil'] or 'no end'}")
    if body.get("suite") == 2:
        other = ", on another secret than before" if body.get("holderSecretReplaced") else ""
        lines.append(f"suite   2, bound to its holder{other}")
    if body["credential"] is not None:
        subject = body["credential"]["credentialSubject"]
        lines += [f"  {name} = {format_value(subject[name])}" for name in body["attributeNames"]]
    return "\n".join(lines)


def _counts(body: dict[str, Any]) -> str:
    names = {"valid": "valid", "suspended": "suspended", "revoked": "revoked", "endingIn30Days": "end in 30 days"}
    rows = (", ".join(f"{one[name]} {text}" for name, text in names.items()) for one in body["items"])
    return "\n".join(f"{one['schemaId']}  {row}" for one, row in zip(body["items"], rows, strict=True)) or "none"


def _end(row: dict[str, Any]) -> str:
    return row["validUntil"] or "no end"


def _names(row: dict[str, Any]) -> str:
    return ", ".join(one["name"] for one in row["attributes"])


def _verdict(body: dict[str, Any]) -> str:
    lines = ["verified" if body["verified"] else "NOT verified"]
    for check in body["checks"]:
        outcome = {True: "right", False: "wrong", None: "could not be checked"}[check["ok"]]
        lines.append(f"  {check['check']:10} {outcome}" + (f": {check['code']}" if check["code"] else ""))
    if body.get("unchecked"):
        lines.append(f"  unchecked  {', '.join(body['unchecked'])}")
    return "\n".join(lines)


def _schema_text(body: dict[str, Any]) -> str:
    return "\n".join([body["id"], *(f"  {one['name']}  {_kind(one)}" for one in body["attributes"])])


def _kind(attribute: dict[str, Any]) -> str:
    rules = {name: attribute[name] for name in attribute if name not in ("name", "type")}
    return str(attribute["type"]) + "".join(f"  {name} {format_value(value)}" for name, value in rules.items())


add = functools.partial(add_command, command)
add_schema = functools.partial(add_command, schema)
_CREDENTIAL = click.argument("credential_id")
_ACCEPTED = "Accept a credential that is bound to another secret of the holder than the earlier ones."
_NEW_SECRET = click.option("--new-secret", "newHolderSecret", is_flag=True, default=None, help=_ACCEPTED)
add(
    "issue",
    "issueCredential",
    "Issue a credential. The service signs it with a key of the issuer that it stores.",
    did_option("--issuer", "issuerDid", "DID of the issuer.  [default: the DID of --keys]"),
    holder_option,
    click.option("--schema", "schemaId", required=True, metavar="ID", help="Id of the registered schema."),
    *value_options,
    click.option(
        "--key",
        "verificationMethod",
        metavar="KEY_ID",
        help="Id of the signing key.  [default: the issuer's newest that the service stores]",
    ),
    click.option(
        "--suite",
        type=Whole(1, 2),
        help="Format of the credential. 1 signs schema and values; 2 also holder, validity in days and status.  [default: 2 if possible]",
    ),
    _NEW_SECRET,
    ids_option,
    body=_issued,
    text=_record,
)
add(
    "import",
    "importCredential",
    "Import the credential in FILE, which `identity credential sign` or `sign-request` printed; - is standard input.",
    input_argument,
    _NEW_SECRET,
    ids_option,
    body=import_body,
    text=_record,
)
add(
    "show",
    "getCredential",
    "Show a credential. Holder and issuer get its values; other permitted callers get the record alone.",
    _CREDENTIAL,
    text=_record,
)
add(
    "list",
    "listCredentials",
    "List credentials, newest first, without their values.",
    did_option("--holder", "holderDid", "Show only records of this holder."),
    did_option("--issuer", "issuerDid", "Show only credentials by this issuer."),
    click.option("--status", type=click.Choice(STATUSES), help="Show only credentials with this status."),
    *page_options,
    text=page(lambda row: f"{row['id']}  {row['status']:9}  {row['schemaId']}  {_end(row)}"),
    columns={"ID": "{id}", "STATUS": "{status}", "SCHEMA": "{schemaId}", "HOLDER": "{holderDid}", "UNTIL": _end},
)
add(
    "stats",
    "getCredentialStats",
    "Count the credentials of an issuer by schema and state.",
    did_option("--issuer", "issuerDid", "The issuer.", required=True),
    text=_counts,
)
for name, purpose, value, says in (
    ("revoke", "revocation", True, "Revoke a credential, for good."),
    ("suspend", "suspension", True, "Suspend a credential until it is resumed."),
    ("resume", "suspension", False, "End the suspension of a credential."),
):
    add(
        name,
        "setCredentialStatus",
        says,
        _CREDENTIAL,
        click.option("--reason", help="Reason, shown to the holder and the issuer."),
        body=functools.partial(named, purpose=purpose, value=value),
        text=_record,
    )
add(
    "reset-disclosures",
    "resetDisclosures",
    "Reset the number of disclosures of your credential, for delegations that you create from now on. It is signed with --keys.",
    click.argument("credential_id"),
    body=lambda _, *, credential_id: {"credentialId": credential_id},
    text="the count of questions about {credentialId} begins anew at {resetAt}",
)
add(
    "rotate-kept-secret",
    "rotateHolderSecret",
    """Replace the secret that the service's custodian stores for you. It is signed with --keys.

    The command prints the credentials that remain bound to earlier secrets. Ask each issuer to issue them again and
    to revoke the old ones. Then run it with --forget: no proof uses them afterwards.

    `rotate-secret` is for a secret that your wallet stores.
    """,
    click.option("--forget", is_flag=True, help="Delete earlier secrets for good; do not rotate."),
    body=lambda _, *, forget: {"forgetFormer": forget},
    text=_rotation,
)
add_schema(
    "create",
    "createCredentialSchema",
    """Register the schema in FILE for good: {"id": …, "attributes": […]}; - is standard input.""",
    input_argument,
    click.option("--id", metavar="URI", help="Id of the schema, in place of the one in FILE."),
    ids_option,
    body=_definition,
    text=_schema_text,
)
add_schema(
    "get",
    "getCredentialSchema",
    "Print a schema. The output of --json is the input of `identity credential sign --schema`.",
    click.argument("schema_id"),
    text=_schema_text,
    anonymous=True,
)
add_schema(
    "list",
    "listCredentialSchemas",
    "List the schemas in order of id.",
    *page_options,
    text=page("{id}"),
    columns={"ID": "{id}", "TITLE": lambda row: row.get("title", ""), "ATTRIBUTES": _names},
    anonymous=True,
)
