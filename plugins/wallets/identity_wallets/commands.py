"""``identity presentation``: the requests of a verifier to wallets; and ``identity credential offer-copy``, which offers one a copy."""

from __future__ import annotations

from typing import Any

import click
from identity_commands.json_input import read_json
from identity_commands.remote import RemoteCaller, add_command, did_option, named
from identity_commands.terminal import ids_option

from identity_core.cli.output import format_value, misused
from identity_core.cli.plugin_commands import OpenGroup

ASKED = "credential"
"""What the one credential is called that options ask for."""


@click.group(name="presentation", cls=OpenGroup)
def command() -> None:
    """Request credentials from an OpenID4VP wallet, and read its presentation."""


def _request(
    caller: RemoteCaller,
    *,
    verifierDid: str | None,
    wanted: Any,
    schemaId: str | None,
    issuerDids: tuple[str, ...],
    paths: tuple[str, ...],
    redirectUri: str | None,
    encrypted: bool,
) -> dict[str, Any]:
    """Return the body of requestPresentation, of what was given."""
    verifier = verifierDid or caller.did or misused("who asks the wallet?", "give --verifier DID, or --keys FILE")
    if (wanted is None) == (schemaId is None) or (wanted is not None and (issuerDids or paths)):
        misused("what is the wallet asked for?", "give --schema with its --issuer and --claim, or --wanted alone")
    sets = None
    if wanted is not None:
        said = read_json(wanted)
        credentials, sets = said.get("credentials"), said.get("credentialSets")
    else:
        claims = tuple({"path": path.split("/")} for path in paths)
        credentials = [named(caller, id=ASKED, schemaId=schemaId, issuerDids=issuerDids, claims=claims)]
    return named(
        caller,
        verifierDid=verifier,
        credentials=credentials,
        credentialSets=sets,
        redirectUri=redirectUri,
        encrypted=encrypted or None,
    )


def _presented(body: dict[str, Any]) -> str:
    lines = [f"{body['id']}  {body['state']}" + (f" at {body['answeredAt']}" if body["answeredAt"] else "")]
    for one in body["credentials"]:
        lines += [one["id"], f"  issuer  {one['issuerDid']}", f"  schema  {one['schemaId']}"]
        lines += [f"  {name} = {format_value(value)}" for name, value in one["claims"].items()]
    return "\n".join(lines)


add_command(
    command,
    "request",
    "requestPresentation",
    "Print the link for a wallet (also for a QR code), signed by the service, and the id for `presentation show`.",
    did_option("--verifier", "verifierDid", "DID of the verifier.  [default: the DID of --keys]"),
    click.option("--schema", "schemaId", metavar="ID", help="Id of the schema of the requested credential."),
    click.option(
        "--issuer", "issuerDids", metavar="DID", multiple=True, help="Accepted issuer; repeatable.  [default: any]"
    ),
    click.option(
        "--claim",
        "paths",
        metavar="PATH",
        multiple=True,
        help="Claim to disclose, such as country or age_equal_or_over/18; repeatable.",
    ),
    click.option(
        "--wanted",
        type=click.File("rb"),
        metavar="FILE",
        help="JSON object with `credentials` and `credentialSets`, in place of these options; - is standard input.",
    ),
    click.option("--redirect-uri", "redirectUri", metavar="URL", help="URL for the holder to return to."),
    click.option("--encrypted", is_flag=True, help="Require an answer that is encrypted to a key of this request."),
    ids_option,
    body=_request,
    text="{uri}\nid     {id}\nuntil  {expiresAt}",
    whose="the verifier",
)
add_command(
    command,
    "show",
    "getPresentation",
    "Show the verified presentation of a wallet that answered your request, or `pending`.",
    click.argument("request_id"),
    text=_presented,
    whose="the verifier",
)


def _offered(answer: dict[str, Any]) -> str:
    typed = [f"code   {answer['transactionCode']}"] if "transactionCode" in answer else []
    return "\n".join([answer["uri"], *typed, f"until  {answer['expiresAt']}"])


_credential = OpenGroup(name="credential")
add_command(
    _credential,
    "offer-copy",
    "createCredentialOffer",
    """Print the link with which an OpenID4VCI wallet collects a copy of a credential, once. The issuer calls this.

    Any client with the link gets the copy. A transaction code is required too with --transaction-code: send it to the
    holder by another channel. `offer` is for a wallet that stores the secret of zero-knowledge proofs.""",
    click.argument("credential_id"),
    click.option("--transaction-code", "code", is_flag=True, help="Require a code of six digits, which is printed."),
    body=lambda _, *, code: {"transactionCode": True} if code else {},
    text=_offered,
    whose="the issuer",
)
offer_copy = _credential.commands["offer-copy"]
