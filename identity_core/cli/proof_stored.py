"""``identity proof get`` and ``revoke``: proofs that a service keeps, for those who have a part in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from identity_core.cli.options import shown
from identity_core.cli.output import as_json, fail, show
from identity_core.cli.remote import api_key_option, session, url_option
from identity_core.cli.wallet import Wallet

_keys_option = click.option(
    "--keys",
    "wallet",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="IDENTITY_KEYS",
    show_envvar=True,
    help="File with the keys of the holder's or the agent's DID (- for standard input); else --api-key.",
)


@click.command()
@click.argument("proof_id")
@_keys_option
@api_key_option
@url_option
@as_json
def get(proof_id: str, wallet: Path | None, api_key: str | None, url: str, json_output: bool) -> None:
    """Print a stored proof and how its anchor has fared. Its `proof` member can be given to `identity proof verify`."""
    shown = _ask("GET", _path(proof_id), None, "read", wallet, api_key, url)
    show(shown, json_output=json_output, text=_text)


@click.command()
@click.argument("proof_id")
@click.option("--reason", help="Why; the holder and the agent can read it.")
@click.option("--sync-wait-ms", type=click.IntRange(min=0), default=0, help="How long to wait for the anchor.")
@_keys_option
@api_key_option
@url_option
@as_json
def revoke(
    proof_id: str,
    reason: str | None,
    sync_wait_ms: int,
    wallet: Path | None,
    api_key: str | None,
    url: str,
    json_output: bool,
) -> None:
    """Take a stored proof back. Doing it twice changes nothing."""
    body = {"syncWaitMs": sync_wait_ms} | ({} if reason is None else {"reason": reason})
    shown = _ask("POST", f"{_path(proof_id)}/revoke", body, "prove", wallet, api_key, url)
    show(shown, json_output=json_output, text=_text)


def _path(proof_id: str) -> str:
    return f"/zkp/proofs/{quote(proof_id, safe='')}"


def _ask(
    method: str, path: str, body: Any, purpose: str, wallet: Path | None, api_key: str | None, url: str
) -> dict[str, Any]:
    if wallet is None and api_key is None:
        fail("nobody asks", "the options", "give --keys of the holder or the agent, or --api-key", status=2)
    with session(url, api_key) as opened:
        if wallet is None:
            answer = opened.call(method, path, body=body)
        else:
            answer = opened.signed(method, path, body, Wallet.open(wallet).signer(), purpose)
    shown: dict[str, Any] = answer
    return shown


def _text(body: dict[str, Any]) -> str:
    predicate, anchor = body["predicate"], body["anchor"]
    state = f"revoked {body['revokedAt']} by {body['revokedBy']}" if body["revokedAt"] else "in force"
    lines = [
        f"proof      {body['proofId']}, {state}",
        f"proves     {predicate['attributeName']} {predicate['type']} {shown(predicate['value'])}",
        f"holder     {body['holderDid']}",
        f"agent      {body['agentDid']}",
        f"issuer     {body['issuerDid']}",
        f"made       {body['createdAt']}, expires {body['expiresAt']}",
        f"anchor     {'none' if anchor is None else anchor['status']}",
    ]
    if body["revocationReason"]:
        lines.append(f"reason     {body['revocationReason']}")
    return "\n".join(lines)
