"""``identity presentation``: the requests of a verifier to wallets; and ``identity credential offer-copy``, which offers one a copy."""

from __future__ import annotations

from typing import Any

import click
from identity_commands.json_input import read_json
from identity_commands.remote import RemoteCaller, add_command, did_option, named

from identity_core.cli.output import format_value, misused
from identity_core.cli.plugin_commands import OpenGroup

ASKED = "credential"
"""What the one credential is called that options ask for."""


@click.group(name="presentation", cls=OpenGroup)
def command() -> None:
    """Ask a wallet of OpenID4VP for credentials, and read what it presents."""


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
    """Print the link that a wallet opens, or reads as a QR code, and the id by which `show` finds what it presents.

    The service signs the request with a key of the verifier that it holds.

    \b
    Examples:
      identity presentation request --keys shop.json --schema urn:schema:person \\
          --claim age_equal_or_over/18
      identity presentation request --api-key operator.key --verifier did:ids:… --wanted wanted.json
    """,
    did_option("--verifier", "verifierDid", "Who asks; the DID of --keys by default."),
    click.option("--schema", "schemaId", metavar="ID", help="The schema of the credential that is asked for."),
    click.option(
        "--issuer",
        "issuerDids",
        metavar="DID",
        multiple=True,
        help="Only one by this issuer; may be repeated.  [default: any]",
    ),
    click.option(
        "--claim",
        "paths",
        metavar="PATH",
        multiple=True,
        help="What it has to disclose, such as country or age_equal_or_over/18; may be repeated.",
    ),
    click.option(
        "--wanted",
        type=click.File("rb"),
        metavar="FILE",
        help="In their place: a JSON object whose `credentials` and `credentialSets` are as the interface has them; - is "
        "standard input.",
    ),
    click.option("--redirect-uri", "redirectUri", metavar="URL", help="Where the wallet leads its holder afterwards."),
    click.option("--encrypted", is_flag=True, help="Have the wallet encrypt its answer to a key of this request."),
    body=_request,
    text="{uri}\nid     {id}\nuntil  {expiresAt}",
    whose="the verifier",
)
add_command(
    command,
    "show",
    "getPresentation",
    """Show what a wallet presented to a request of yours, checked; `pending` while it has said nothing.

    \b
    Example:
      identity presentation show QxSy3mVcXW8q… --keys shop.json
    """,
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
    """Print the link by which a wallet of OpenID4VCI collects a copy of a credential, once; its issuer does this.

    Anyone with the link gets the copy. With --transaction-code it takes six digits besides: tell them to the holder by another way.
    `offer` is for a wallet that keeps the secret of zero-knowledge proofs.

    \b
    Example:
      identity credential offer-copy 3f0c9f8e-… --keys isa.json --transaction-code
    """,
    click.argument("credential_id"),
    click.option("--transaction-code", "code", is_flag=True, help="Have the wallet ask for six digits."),
    body=lambda _, *, code: {"transactionCode": True} if code else {},
    text=_offered,
    whose="the issuer",
)
offer_copy = _credential.commands["offer-copy"]
