"""``identity did create``: keys that are made on this machine, and are on disk before the request is sent.

With ``--store-secrets`` the service makes them, because its custodian keeps them too; the file gets them from the answer.

A key that signs credentials joins in a second version, because its proof of possession names the DID.

To finish an interrupted creation, run the same command again. The keys file has the request and its Idempotency-Key, so the service
returns the DID that it may have created already.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import click

from identity_client import ServiceError, ServiceUnreachable, Session
from identity_codec.multikey import BLS12381G2
from identity_commands.did_update import Triples, Wishes, change, witness_list, witness_threshold_option
from identity_commands.options import several
from identity_commands.profiles import signed_in
from identity_commands.remote import api_key_option, session, url_option
from identity_commands.terminal import ids_option, show_table
from identity_commands.wallet import ADDITIONAL, RECOVERY, STANDARD_INPUT, FiledKeys, Wallet, make_key, public_half
from identity_core.cli.output import Command, fail, misused

METHODS_THAT_NEVER_CHANGE = ("key",)

PARTS = ("publicKey", "privateKey")
TEXT = "{did}\nblock   {blockNumber}\ntx      {transactionHash}"


@click.command(cls=Command)
@url_option
@ids_option
@api_key_option
@click.option("--method", default="ids", help="DID method.")
@click.option("--key-type", default="Ed25519", help="Type of the first key.")
@several("--key", "TYPE PURPOSE", "Additional key, generated here; repeatable.", into="additional")
@several(
    "--public-key", "TYPE MULTIBASE PURPOSE", "Existing public key; none is generated. Repeatable.", into="foreign"
)
@several("--service", "TYPE URL", "Service endpoint of the document; repeatable.", into="services")
@click.option(
    "--recovery-key/--no-recovery-key", default=None, help="Generate a recovery key.  [default: if supported]"
)
@click.option(
    "--strict-evidence/--no-strict-evidence",
    default=None,
    help="Require a signature over a challenge for exactly each change.  [default: yes, if the method supports it]",
)
@click.option(
    "--witness", "witnesses", multiple=True, metavar="DID", help="did:key to approve each version; repeatable."
)
@witness_threshold_option
@click.option("--keys", "path", type=click.Path(path_type=Path), help="New file for DID and keys (mode 0600).")
@click.option("--show-secrets", is_flag=True, help="Print the private keys and write no file.")
@click.option(
    "--store-secrets",
    is_flag=True,
    help="Let the service generate the keys and store them in its custodian, so that it can issue credentials as this DID.",
)
def create(
    url: str,
    api_key: str | None,
    method: str,
    key_type: str,
    additional: Wishes,
    foreign: Triples,
    services: Sequence[tuple[str, str]],
    recovery_key: bool | None,
    strict_evidence: bool | None,
    witnesses: Sequence[str],
    witness_threshold: int | None,
    path: Path | None,
    show_secrets: bool,
    store_secrets: bool,
) -> None:
    """Create a DID with keys that are generated on this machine. --keys FILE or --show-secrets is required."""
    if sum((path is not None, show_secrets, bool(foreign))) != 1:
        misused("say where the private keys shall go", "--keys FILE, --show-secrets, or your own with --public-key")
    if foreign and store_secrets:
        remedy = "leave out --public-key or --store-secrets"
        fail("a key of your own stays with you", "--store-secrets", remedy, status=2)
    wants_recovery = method not in METHODS_THAT_NEVER_CHANGE if recovery_key is None else recovery_key
    later: Wishes = ()
    if not store_secrets and method not in METHODS_THAT_NEVER_CHANGE:
        # Such a key proves itself to the DID that lists it, and that is known only when it is made.
        later = [wish for wish in additional if wish[0] == BLS12381G2]
        additional = [wish for wish in additional if wish[0] != BLS12381G2]
    if later and path is None:
        fail("this key joins in a second step", BLS12381G2, "say --keys FILE, or add it with `did update`", status=2)
    first_type, options, made = _wish(key_type, additional, foreign, with_recovery=wants_recovery, stored=store_secrets)
    options |= _chosen_options(services, strict_evidence, witnesses, witness_threshold)
    body = {"method": method, "keyType": first_type, "options": options}
    with session(url, **signed_in(url, api_key)) as opened:
        if path is not None:
            created = _create_and_keep(opened, body, made, path, later)
        else:
            created = opened.create(body, idempotency_key=secrets.token_urlsafe(16))
    if show_secrets:
        created["keys"] = _named(made or _returned(created["keys"]), created["did"])
    note = f"\nkeys    {path}" if path is not None else ""
    show_table(created, text=None if show_secrets else lambda body: TEXT.format_map(body) + note)


def _chosen_options(
    services: Sequence[tuple[str, str]], strict_evidence: bool | None, witnesses: Sequence[str], threshold: int | None
) -> dict[str, Any]:
    """Return the chosen options of the first entry besides the keys."""
    said: dict[str, Any] = {}
    if services:
        said["serviceEndpoints"] = [{"type": kind, "serviceEndpoint": place} for kind, place in services]
    if strict_evidence is not None:
        said["strictEvidence"] = strict_evidence
    if witnesses or threshold is not None:
        said["witness"] = witness_list(witnesses, threshold)
    return said


def _wish(
    key_type: str, additional: Wishes, foreign: Triples, *, with_recovery: bool, stored: bool
) -> tuple[str, dict[str, Any], FiledKeys]:
    """Return the type of the first key, the options of the request, and the keys that were made here for it."""
    from identity_core.domain.dids import keys

    if stored:
        wished = [{"type": kind, "purpose": [purpose]} for kind, purpose in additional]
        return key_type, {"storeSecrets": True, "recoveryKey": with_recovery, "additionalKeys": wished}, []
    if foreign:
        own = [{"type": kind, "publicKeyMultibase": key, "purpose": [use]} for kind, key, use in foreign]
        return foreign[0][0], {"publicKeys": own}, []
    first = make_key(key_type, signs_in=True)
    made: FiledKeys = [([*keys.default_purposes(first["type"], primary=True)], first)]
    made += [([purpose], make_key(kind)) for kind, purpose in additional]
    made += [([RECOVERY], make_key("Ed25519"))] if with_recovery else []
    public = [public_half(key) | {"purpose": purposes} for purposes, key in made]
    return first["type"], {"publicKeys": public}, made


def _returned(keys: dict[str, Any]) -> FiledKeys:
    """Return the keys that the service made, from its answer."""
    from identity_codec.multikey import decode_public

    named = [(purpose, key) for purpose, key in keys.items() if purpose != ADDITIONAL]
    named += [(key["purpose"], key) for key in keys.get(ADDITIONAL, ())]
    return [
        ([purpose], {"type": decode_public(key["publicKey"])[0]} | {part: key[part] for part in PARTS})
        for purpose, key in named
    ]


def _named(made: FiledKeys, did: str) -> dict[str, Any]:
    """Return the keys of a DID by purpose, in the form of a keys file."""
    wallet = Wallet(STANDARD_INPUT, "", {})
    wallet.file_all(made)
    wallet.name(did)
    return wallet.keys


def _create_and_keep(
    opened: Session, body: dict[str, Any], made: FiledKeys, path: Path, later: Wishes
) -> dict[str, Any]:
    wallet = _begun(body, made, path, later)
    begun = wallet.pending or {}
    try:
        created = cast(dict[str, Any], opened.create(begun["body"], idempotency_key=begun["idempotencyKey"]))
    except ServiceError as error:
        if error.status < 500 and error.code != "REQUEST_IN_PROGRESS":
            # Nothing was made for these keys.
            path.unlink()
        raise
    except ServiceUnreachable as error:
        fail(str(error), opened.url, "run the same command again when it answers: it finishes what it began")
    if not wallet.keys:
        wallet.file_all(_returned(created["keys"]))
    wallet.name(created["did"])
    wallet.pending = None
    wallet.save()
    if begun.get("later"):
        created |= _join(opened, wallet, begun["later"])
    keys = created["keys"] | {name: filed for name, filed in wallet.keys.items() if name not in created["keys"]}
    return created | {"keys": {purpose: _without_secrets(filed) for purpose, filed in keys.items()}}


def _begun(body: dict[str, Any], made: FiledKeys, path: Path, later: Wishes) -> Wallet:
    """Return the keys file of a creation that is not finished: a new one, or that of an interrupted run."""
    if path.exists():
        wallet = Wallet.read(path)
        if wallet.did or wallet.pending is None:
            fail("the keys file exists", str(path), "name a new file: keys are not overwritten")
        click.echo(f"Finishing the creation that {path} began; other options do not count.", err=True)
        return wallet
    key = secrets.token_urlsafe(32)
    wallet = Wallet(path, "", {}, {"operation": "create", "body": body, "idempotencyKey": key, "later": [*later]})
    wallet.file_all(made)
    wallet.save(new=True)
    return wallet


def _join(opened: Session, wallet: Wallet, wishes: Wishes) -> dict[str, Any]:
    """Add the keys that sign credentials. Return the document with them. The DID exists even if this fails."""
    try:
        answer = change(opened, wallet, [], wishes)
    except (ServiceError, ServiceUnreachable) as error:
        again = " ".join(f"--new-key {kind} {purpose}" for kind, purpose in wishes)
        remedy = f"identity did update --keys {wallet.path} {again}"
        fail(f"the DID is made, and its further keys are not: {error}", wallet.did, remedy)
    return {"didDocument": answer["didDocument"]}


def _without_secrets(filed: Any) -> Any:
    if isinstance(filed, list):
        return [_without_secrets(key) for key in filed]
    return {name: value for name, value in filed.items() if name != "privateKey"}
