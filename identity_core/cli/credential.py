"""``identity credential``: schemas, issuing and importing, reading, status and checking, against a running service. What is done
without one stands in ``credential_offline``."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from identity_core.cli.asking import asks, wallet_option
from identity_core.cli.credential_input import claims, given_claims, read_json
from identity_core.cli.credential_offline import check_offline, sign
from identity_core.cli.credential_schema import schema
from identity_core.cli.listing import add_list
from identity_core.cli.options import shown
from identity_core.cli.output import as_json, fail, show
from identity_core.cli.plugin_commands import OpenGroup
from identity_core.cli.remote import api_key_option, session, url_option

STATUSES = ("active", "suspended", "revoked")


@click.group(name="credential", cls=OpenGroup)
def command() -> None:
    """Issue, sign, import, show, revoke and verify credentials; register their schemas."""


command.add_command(schema)
command.add_command(sign)


@command.command()
@url_option
@api_key_option
@wallet_option
@click.option("--issuer", metavar="DID", help="Who says it; the DID of --keys by default.")
@claims
@click.option(
    "--key", "method", metavar="KEY_ID", help="The issuer's key; the newest that the service holds by default."
)
@as_json
def issue(
    url: str,
    api_key: str | None,
    wallet: Path | None,
    issuer: str | None,
    method: str | None,
    json_output: bool,
    **given: Any,
) -> None:
    """Issue a credential that the service signs, with a key of the issuer that it holds."""
    body = given_claims(**given) | ({} if method is None else {"verificationMethod": method})
    with session(url, api_key) as opened:
        ask = asks(opened, wallet)
        body["issuerDid"] = issuer or ask.did
        if body["issuerDid"] is None:
            fail("who issues it?", "identity credential issue", "give --issuer DID, or --keys FILE", status=2)
        show(ask("POST", "/credentials", "credential", body), json_output=json_output, text=_record)


@command.command(name="import")
@click.argument("file", type=click.File("rb"))
@url_option
@api_key_option
@wallet_option
@as_json
def import_signed(file: Any, url: str, api_key: str | None, wallet: Path | None, json_output: bool) -> None:
    """Import a credential that its issuer signed: FILE is what `identity credential sign` wrote, `-` is standard input."""
    body = read_json(file)
    with session(url, api_key) as opened:
        answer = asks(opened, wallet)("POST", "/credentials/import", "credential", body)
    show(answer, json_output=json_output, text=_record)


@command.command(name="show")
@click.argument("credential_id")
@url_option
@api_key_option
@wallet_option
@as_json
def show_one(credential_id: str, url: str, api_key: str | None, wallet: Path | None, json_output: bool) -> None:
    """Show a credential: its values to holder and issuer, its record to others who may know of it."""
    with session(url, api_key) as opened:
        answer = asks(opened, wallet)("GET", f"/credentials/{quote(credential_id, safe=':')}", "read")
    show(answer, json_output=json_output, text=_record)


add_list(
    command,
    "/credentials",
    "List credentials, newest first, without their values.",
    click.option("--holder", "holderDid", metavar="DID", help="Only those of this holder."),
    click.option("--issuer", "issuerDid", metavar="DID", help="Only those by this issuer."),
    click.option("--status", type=click.Choice(STATUSES), help="Only those of this status."),
    row="{id}  {status:9}  {schemaId}",
)


def _status_command(name: str, purpose: str, value: bool, says: str) -> None:
    """Adds the command ``name``, which sets ``purpose`` to ``value``."""

    @command.command(name=name, help=says)
    @click.argument("credential_id")
    @url_option
    @api_key_option
    @wallet_option
    @click.option("--reason", help="Holder and issuer see it.")
    @as_json
    def change(
        credential_id: str, url: str, api_key: str | None, wallet: Path | None, reason: str | None, json_output: bool
    ) -> None:
        body: dict[str, Any] = {"purpose": purpose, "value": value} | ({} if reason is None else {"reason": reason})
        path = f"/credentials/{quote(credential_id, safe=':')}/status"
        with session(url, api_key) as opened:
            answer = asks(opened, wallet)("POST", path, "credential", body)
        show(answer, json_output=json_output, text=_record)


_status_command("revoke", "revocation", True, "Revoke a credential, for good.")
_status_command("suspend", "suspension", True, "Suspend a credential until it is resumed.")
_status_command("resume", "suspension", False, "End the suspension of a credential.")


@command.command()
@click.argument("file", type=click.File("rb"))
@url_option
@click.option("--issuer-key", metavar="MULTIKEY", help="Check offline, by this Bls12381G2Key2020 key of the issuer.")
@click.option("--schema", "schema_file", type=click.File("rb"), metavar="FILE", help="The schema, for a check offline.")
@as_json
def verify(file: Any, url: str, issuer_key: str | None, schema_file: Any, json_output: bool) -> None:
    """Check a credential: FILE holds one, or a record with one in it; `-` is standard input.

    The service checks everything. With --issuer-key and --schema nobody is asked; then only signature and values are checked, and
    what that leaves open is printed as unchecked.
    """
    value = read_json(file)
    credential = value["credential"] if isinstance(value.get("credential"), dict) else value
    if (issuer_key is None) != (schema_file is None):
        fail("a check offline needs both", "the options", "give --issuer-key and --schema, or neither", status=2)
    if issuer_key is not None:
        verdict = check_offline(credential, read_json(schema_file), issuer_key)
    else:
        with session(url) as opened:
            verdict = opened.call("POST", "/credentials/verify", body={"credential": credential}, signed_in=False)
    show(verdict, json_output=json_output, text=_verdict)
    if not verdict["verified"]:
        raise SystemExit(1)


def _record(body: dict[str, Any]) -> str:
    lines = [body["id"], f"status  {body['status']}" + (f" ({body['statusReason']})" if body["statusReason"] else "")]
    lines += [f"issuer  {body['issuerDid']}", f"holder  {body['holderDid']}", f"schema  {body['schemaId']}"]
    lines.append(f"valid   {body['validFrom']} to {body['validUntil'] or 'no end'}")
    if body["credential"] is not None:
        subject = body["credential"]["credentialSubject"]
        lines += [f"  {name} = {shown(subject[name])}" for name in body["attributeNames"]]
    return "\n".join(lines)


def _verdict(body: dict[str, Any]) -> str:
    lines = ["verified" if body["verified"] else "NOT verified"]
    for check in body["checks"]:
        outcome = {True: "right", False: "wrong", None: "could not be checked"}[check["ok"]]
        lines.append(f"  {check['check']:10} {outcome}" + (f": {check['code']}" if check["code"] else ""))
    if body.get("unchecked"):
        lines.append(f"  unchecked  {', '.join(body['unchecked'])}")
    return "\n".join(lines)
