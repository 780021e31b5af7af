"""``identity proof request``: an agent asks for a proof, with a token of the holder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from identity_core.cli.asking import asks, wallet_option
from identity_core.cli.options import predicate_value
from identity_core.cli.output import as_json, fail, show
from identity_core.cli.remote import api_key_option, session, url_option
from identity_core.cli.secret_input import secret_option


@click.command()
@click.option("--ibct", "token", type=click.File("rb"), required=True, help="The holder's token, - for standard input.")
@click.option("--credential", required=True, metavar="ID", help="The credential to prove with.")
@click.option("--value", help="The target value; may be left out where the token or the delegation pins it.")
@click.option("--challenge", help="The verifier's challenge, at least 16 characters.")
@click.option("--domain", help="The verifier: a DID or an origin.")
@click.option("--anchor", is_flag=True, help="Put a commitment to the proof on the ledger.")
@click.option("--sync-wait-ms", type=click.IntRange(min=0), default=0, help="How long to wait for the anchor.")
@wallet_option
@secret_option("--token", "IDENTITY_TOKEN", what="access token", parameter="bearer")
@api_key_option
@url_option
@as_json
def request(
    token: Any,
    credential: str,
    value: str | None,
    challenge: str | None,
    domain: str | None,
    anchor: bool,
    sync_wait_ms: int,
    wallet: Path | None,
    bearer: str | None,
    api_key: str | None,
    url: str,
    json_output: bool,
) -> None:
    """Ask for a proof and print it. Who is proved about, by whom, and which predicate, the token says.

    Sending the same again gets the same proof; a token serves no other request.
    """
    from identity_core.client import ibct
    from identity_core.codec import strict_json

    more: dict[str, Any] = {"value": None if value is None else predicate_value(value)}
    more |= {"challenge": challenge, "domain": domain}
    more = {name: one for name, one in more.items() if one is not None}
    if anchor:
        more |= {"anchor": True, "syncWaitMs": sync_wait_ms}
    try:
        body = ibct.proof_request(strict_json.loads(token.read()), credential, **more)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = error if isinstance(error, ValueError) else "it has not the members of a token"
        fail(f"this is no token: {reason}", getattr(token, "name", "--ibct"), "`identity ibct issue` makes tokens")
    path = "/zkp/delegated-proofs"
    with session(url, api_key) as opened:
        if bearer is not None:
            made = opened.call("POST", path, body=body, headers={"Authorization": f"Bearer {bearer}"})
        else:
            made = asks(opened, wallet)("POST", path, "prove", body)
    show(made, json_output=json_output)
