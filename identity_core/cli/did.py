"""``identity did``: the lifecycle against a running service, and logs checked without one."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from identity_core.cli.output import as_json, fail, show
from identity_core.cli.remote import (
    api_key_option,
    keys_option,
    read_wallet,
    session,
    signer,
    url_option,
    write_wallet,
)


@click.group(name="did")
def command() -> None:
    """Create, resolve, update, rotate, recover and deactivate DIDs; read and check their logs."""


@command.command()
@url_option
@api_key_option
@click.option("--method", default="ids", show_default=True, help="DID method.")
@click.option("--key-type", default="Ed25519", show_default=True)
@click.option(
    "--key", "additional", nargs=2, multiple=True, metavar="TYPE PURPOSE", help="A further key, made for you."
)
@click.option("--service", "services", nargs=2, multiple=True, metavar="TYPE URL", help="A service endpoint.")
@click.option("--recovery-key/--no-recovery-key", default=True, show_default=True)
@click.option("--keys", "wallet", type=click.Path(path_type=Path), help="Write DID and keys to this new file (0600).")
@as_json
def create(
    url: str,
    api_key: str | None,
    method: str,
    key_type: str,
    additional: tuple[tuple[str, str], ...],
    services: tuple[tuple[str, str], ...],
    recovery_key: bool,
    wallet: Path | None,
    json_output: bool,
) -> None:
    """Create a DID. Its private keys are shown once, or written to a file with --keys."""
    if wallet is not None and wallet.exists():
        fail("the keys file exists", str(wallet), "name a new file: keys are not overwritten")
    options: dict[str, Any] = {"recoveryKey": recovery_key}
    if additional:
        options["additionalKeys"] = [{"type": kind, "purpose": [purpose]} for kind, purpose in additional]
    if services:
        options["serviceEndpoints"] = [{"type": kind, "serviceEndpoint": place} for kind, place in services]
    with session(url, api_key) as opened:
        created = opened.create({"method": method, "keyType": key_type, "options": options})
    if wallet is not None:
        write_wallet(wallet, {"did": created["did"], "keys": created["keys"]})
        for key in created["keys"].values():
            for one in key if isinstance(key, list) else [key]:
                one.pop("privateKey", None)
    note = f"\nkeys    {wallet}" if wallet else "\nThe private keys above are shown once and kept nowhere: store them."
    show(
        created,
        json_output=json_output or wallet is None,
        text=lambda body: f"{body['did']}\nblock   {body['blockNumber']}\ntx      {body['transactionHash']}{note}",
    )


@command.command()
@click.argument("did")
@url_option
@click.option("--version-id", type=int)
@click.option("--version-time", help="RFC 3339 time, such as 2026-01-01T00:00:00Z.")
@as_json
def resolve(did: str, url: str, version_id: int | None, version_time: str | None, json_output: bool) -> None:
    """Resolve a DID, now, at a version, or at a time."""
    with session(url) as opened:
        show(opened.resolve(did, versionId=version_id, versionTime=version_time), json_output=True)


@command.command()
@keys_option
@url_option
@click.option("--add-service", nargs=3, multiple=True, metavar="ID TYPE URL")
@click.option("--update-service", nargs=3, multiple=True, metavar="ID TYPE URL")
@click.option("--remove-service", multiple=True, metavar="ID")
@click.option("--add-key", nargs=3, multiple=True, metavar="TYPE MULTIBASE RELATIONSHIPS", help="Comma-separated.")
@click.option("--remove-key", multiple=True, metavar="KEY_ID")
@click.option("--also-known-as", multiple=True, metavar="URI", help="Replaces the whole list.")
@as_json
def update(
    wallet: Path,
    url: str,
    add_service: tuple[tuple[str, str, str], ...],
    update_service: tuple[tuple[str, str, str], ...],
    remove_service: tuple[str, ...],
    add_key: tuple[tuple[str, str, str], ...],
    remove_key: tuple[str, ...],
    also_known_as: tuple[str, ...],
    json_output: bool,
) -> None:
    """Change the document: one or several operations in one version."""
    operations: list[dict[str, Any]] = []
    for name, given in (("addService", add_service), ("updateService", update_service)):
        for identifier, kind, place in given:
            service = {"id": identifier, "type": kind, "serviceEndpoint": place}
            operations.append({"operation": name, "service": service})
    operations += [{"operation": "removeService", "serviceId": identifier} for identifier in remove_service]
    for kind, multibase, relationships in add_key:
        method = {"type": kind, "publicKeyMultibase": multibase}
        named = relationships.split(",")
        operations.append({"operation": "addVerificationMethod", "verificationMethod": method, "relationships": named})
    operations += [{"operation": "removeVerificationMethod", "keyId": key_id} for key_id in remove_key]
    if also_known_as:
        operations.append({"operation": "setAlsoKnownAs", "alsoKnownAs": list(also_known_as)})
    if not operations:
        fail("there is nothing to change", "identity did update", "name at least one operation, see --help")
    keys = read_wallet(wallet)
    body = operations[0] if len(operations) == 1 else {"operations": operations}
    with session(url) as opened:
        answer = opened.update(keys["did"], body, signer(keys, wallet))
    show(answer, json_output=json_output, text=_version)


def _version(body: dict[str, Any]) -> str:
    return (
        f"{body['did']}\nversion {body['versionId']}\nblock   {body['blockNumber']}\ntx      {body['transactionHash']}"
    )


@command.command()
@keys_option
@url_option
@click.option("--old-key", metavar="KEY_ID", help="Key to replace; the authentication key of the file by default.")
@click.option("--key-type", default="Ed25519", show_default=True)
@click.option("--purpose", multiple=True, help="Relationships of the new key; those of the old one by default.")
@click.option("--grace-hours", type=float, default=0, show_default=True, help="How long the old key stays valid.")
@as_json
def rotate(
    wallet: Path,
    url: str,
    old_key: str | None,
    key_type: str,
    purpose: tuple[str, ...],
    grace_hours: float,
    json_output: bool,
) -> None:
    """Replace a key. The new private key goes into the keys file."""
    keys = read_wallet(wallet)
    current = keys["keys"].get("authentication", {})
    body: dict[str, Any] = {"oldKeyId": old_key or current.get("keyId", ""), "newKeyType": key_type}
    if purpose:
        body["purpose"] = list(purpose)
    if grace_hours:
        end = datetime.now(UTC) + timedelta(hours=grace_hours)
        body["revokeOldAfter"] = end.strftime("%Y-%m-%dT%H:%M:%SZ")
    with session(url) as opened:
        answer = opened.rotate(keys["did"], body, signer(keys, wallet))
    if old_key in (None, current.get("keyId")):
        keys["keys"]["authentication"] = answer["newKey"]
        keys["keys"].setdefault("retired", []).append(current)
    else:
        keys["keys"].setdefault("additional", []).append(answer["newKey"])
    write_wallet(wallet, keys)
    answer["newKey"] = {name: value for name, value in answer["newKey"].items() if name != "privateKey"}
    show(
        answer,
        json_output=json_output,
        text=lambda body: f"new key {body['newKey']['keyId']}\nold key valid until {body['gracePeriodEnd']}",
    )


@command.command()
@keys_option
@url_option
@click.option("--revoke-all/--keep-keys", default=True, show_default=True, help="Drop every existing key.")
@as_json
def recover(wallet: Path, url: str, revoke_all: bool, json_output: bool) -> None:
    """Take the DID back with its recovery key. A new authentication key is made here and written to the keys file."""
    import os

    from identity_core.domain import keys as domain_keys

    keys = read_wallet(wallet)
    pair = domain_keys.generate("Ed25519", os.urandom)
    body = {
        "newAuthenticationKey": {"type": "Ed25519VerificationKey2020", "publicKeyMultibase": pair.public},
        "revokeAllExistingKeys": revoke_all,
    }
    fresh = {"keyId": f"{keys['did']}#{pair.public}", "publicKey": pair.public, "privateKey": pair.secret}
    # The new key is on disk before the service knows it: a crash in between must not lock the owner out.
    write_wallet(wallet, keys | {"keys": keys["keys"] | {"pending": fresh}})
    with session(url) as opened:
        answer = opened.recover(keys["did"], body, signer(keys, wallet, "recovery"))
    keys["keys"] = (keys["keys"] if not revoke_all else {}) | {
        "authentication": fresh,
        "recovery": answer["keys"]["recovery"],
    }
    write_wallet(wallet, keys)
    answer["keys"]["recovery"].pop("privateKey", None)
    show(answer, json_output=json_output, text=_version)


@command.command()
@keys_option
@url_option
@click.option("--confirm", is_flag=True, help="Deactivation is final: say that you mean it.")
@click.option("--reason", default="", help="Kept in the operator's audit log only.")
@as_json
def deactivate(wallet: Path, url: str, confirm: bool, reason: str, json_output: bool) -> None:
    """End a DID, for good."""
    keys = read_wallet(wallet)
    body: dict[str, Any] = {"confirm": confirm, "reason": reason}
    with session(url) as opened:
        answer = opened.deactivate(keys["did"], body, signer(keys, wallet))
    show(
        answer,
        json_output=json_output,
        text=lambda body: f"{body['did']} is deactivated\ntx      {body['transactionHash']}",
    )


@command.command()
@click.argument("did")
@url_option
@click.option("--limit", type=click.IntRange(1, 200), default=50, show_default=True)
@as_json
def history(did: str, url: str, limit: int, json_output: bool) -> None:
    """List the versions of a DID."""

    def text(body: dict[str, Any]) -> str:
        lines = [
            f"{item['versionId']:>4}  {item['effectiveAt']}  {item['operation']:<12} {'; '.join(item['changes'])}"
            for item in body["items"]
        ]
        return "\n".join(lines)

    with session(url) as opened:
        show(opened.history(did, limit=limit), json_output=json_output, text=text)


@command.group()
def log() -> None:
    """The hash-chained, signed log of a DID."""


@log.command(name="get")
@click.argument("did")
@url_option
def log_get(did: str, url: str) -> None:
    """Print the log as JSON lines."""
    with session(url) as opened:
        click.echo(opened.log(did), nl=False)


@log.command(name="verify")
@click.argument("file", type=click.File("rb"))
@as_json
def log_verify(file: Any, json_output: bool) -> None:
    """Check a log alone, without the service: FILE holds JSON lines, `-` is standard input."""
    from identity_core.domain.log import LogInvalid, verify

    try:
        checked = verify(file.read())
    except LogInvalid as error:
        fail(
            f"the log is not valid: {error}",
            f"{file.name}, {json.dumps(error.details)}",
            "do not trust this DID's history",
        )
    show(
        checked.summary(),
        json_output=json_output,
        text=lambda body: (
            f"{body['did']}\nvalid, {body['versions']} versions, {'deactivated' if body['deactivated'] else 'active'}"
        ),
    )
