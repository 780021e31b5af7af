"""``identity ibct revoke``: calls a signed token back before anybody has used it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from identity_core.cli.asking import asks, wallet_option
from identity_core.cli.output import as_json, fail, show
from identity_core.cli.remote import api_key_option, session, url_option


@click.command()
@url_option
@api_key_option
@wallet_option
@click.option("--invoker", metavar="DID", help="The holder who signed it; the DID of --keys by default.")
@click.option("--id", "identifier", help="The `id` of the token.")
@click.option("--nonce", help="Its `nonce`, where that is better known.")
@click.option(
    "--expires-at", help="Its `expiresAt`; without it the service remembers as long as a delegation may last."
)
@as_json
def revoke(
    url: str,
    api_key: str | None,
    wallet: Path | None,
    invoker: str | None,
    identifier: str | None,
    nonce: str | None,
    expires_at: str | None,
    json_output: bool,
) -> None:
    """Call a token back, by its id or by its nonce. Whether somebody has used it makes no difference."""
    if (identifier is None) == (nonce is None):
        fail("which token?", "identity ibct revoke", "give --id or --nonce, one of the two", status=2)
    named = {"invoker": invoker, "id": identifier, "nonce": nonce, "expiresAt": expires_at}
    body: dict[str, Any] = {name: value for name, value in named.items() if value is not None}
    with session(url, api_key) as opened:
        ask = asks(opened, wallet)
        body.setdefault("invoker", ask.did)
        if body["invoker"] is None:
            fail("who signed it?", "identity ibct revoke", "give --invoker DID, or --keys FILE", status=2)
        answer = ask("POST", "/ibcts/revoke", "delegate", body)
    show(answer, json_output=json_output, text=_text)


def _text(body: dict[str, Any]) -> str:
    return f"revoked    {body['revokedAt']}\nremembered {body['keptUntil']}"
