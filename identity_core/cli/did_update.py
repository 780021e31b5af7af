"""``identity did update``, and the keys that join a document: those that sign credentials bring a proof of possession."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from identity_core.cli.output import as_json, fail, show
from identity_core.cli.remote import keys_option, settled, url_option
from identity_core.cli.wallet import Wallet, make_key
from identity_core.client import Client
from identity_core.client.possession import proof_of_possession
from identity_core.codec import multikey

Wishes = Sequence[tuple[str, str]]
"""(type, relationships separated by commas) of keys that are made here."""


@click.command()
@keys_option
@url_option
@click.option("--add-service", nargs=3, multiple=True, metavar="ID TYPE URL", help="A new service endpoint.")
@click.option(
    "--update-service", nargs=3, multiple=True, metavar="ID TYPE URL", help="In place of the one with this id."
)
@click.option("--remove-service", multiple=True, metavar="ID", help="Service to drop.")
@click.option(
    "--new-key",
    nargs=2,
    multiple=True,
    metavar="TYPE RELATIONSHIPS",
    help="A key that is made here and kept in the keys file. Relationships comma-separated.",
)
@click.option(
    "--add-key", nargs=3, multiple=True, metavar="TYPE MULTIBASE RELATIONSHIPS", help="A public key from elsewhere."
)
@click.option(
    "--possession",
    nargs=2,
    multiple=True,
    metavar="MULTIBASE PROOF",
    help="The proof of possession of a Bls12381G2Key2020 key that --add-key names: `identity did possession` prints it.",
)
@click.option("--remove-key", multiple=True, metavar="KEY_ID", help="Key to drop.")
@click.option("--also-known-as", multiple=True, metavar="URI", help="Replaces the whole list.")
@as_json
def update(
    wallet: Path,
    url: str,
    add_service: tuple[tuple[str, str, str], ...],
    update_service: tuple[tuple[str, str, str], ...],
    remove_service: tuple[str, ...],
    new_key: Wishes,
    add_key: tuple[tuple[str, str, str], ...],
    possession: tuple[tuple[str, str], ...],
    remove_key: tuple[str, ...],
    also_known_as: tuple[str, ...],
) -> None:
    """Change the document: one or several operations in one version."""
    operations: list[dict[str, Any]] = []
    for name, given in (("addService", add_service), ("updateService", update_service)):
        for identifier, kind, place in given:
            service = {"id": identifier, "type": kind, "serviceEndpoint": place}
            operations.append({"operation": name, "service": service})
    operations += [{"operation": "removeService", "serviceId": identifier} for identifier in remove_service]
    proofs = dict(possession)
    for kind, multibase, relationships in add_key:
        operations.append(_added(kind, multibase, relationships, proofs.pop(multibase, None)))
    if proofs:
        fail("this key is not added", next(iter(proofs)), "name it with --add-key as well", status=2)
    operations += [{"operation": "removeVerificationMethod", "keyId": key_id} for key_id in remove_key]
    if also_known_as:
        operations.append({"operation": "setAlsoKnownAs", "alsoKnownAs": list(also_known_as)})
    if not operations and not new_key:
        fail("there is nothing to change", "identity did update", "name at least one operation, see --help", status=2)
    with settled(wallet, url) as (opened, holder):
        answer = change(opened, holder, operations, new_key)
    show(answer, text=version)


def change(opened: Client, holder: Wallet, operations: list[dict[str, Any]], wishes: Wishes = ()) -> dict[str, Any]:
    """Sends the operations, and with them keys that are made here for ``wishes``: on disk first, in their places afterwards."""
    did = holder.named_did()
    fresh = [make_key(kind, did) for kind, _ in wishes]
    for (_, relationships), key in zip(wishes, fresh, strict=True):
        proof = proof_of_possession(did, key["privateKey"]) if key["type"] == multikey.BLS12381G2 else None
        operations = [*operations, _added(key["type"], key["publicKey"], relationships, proof)]
    body = operations[0] if len(operations) == 1 else {"operations": operations}
    purposes = [relationships.split(",")[0] for _, relationships in wishes]
    with holder.sending("add", {str(place): key for place, key in enumerate(fresh)}, purposes=purposes):
        answer: dict[str, Any] = opened.update(did, body, holder.signer())
    return answer


def version(body: dict[str, Any]) -> str:
    """A new version, for people."""
    return (
        f"{body['did']}\nversion {body['versionId']}\nblock   {body['blockNumber']}\ntx      {body['transactionHash']}"
    )


@click.command()
@click.argument("did")
@click.argument("file", type=click.File("r"))
@as_json
def possession(did: str, file: Any) -> None:
    """Print the proof of possession of a Bls12381G2Key2020 key that was made elsewhere, for the document of DID. FILE holds its private
    multikey; `-` is standard input. Nothing is sent."""
    try:
        proof = proof_of_possession(did, file.read().strip())
    except ValueError as error:
        where = getattr(file, "name", "standard input")
        fail(str(error), where, "give the private multikey of a Bls12381G2Key2020 key")
    show({"proofOfPossession": proof}, text=lambda body: str(body["proofOfPossession"]))


def _added(kind: str, multibase: str, relationships: str, proof: str | None) -> dict[str, Any]:
    method = {"type": kind, "publicKeyMultibase": multibase}
    if proof is not None:
        method["proofOfPossession"] = proof
    named = relationships.split(",")
    return {"operation": "addVerificationMethod", "verificationMethod": method, "relationships": named}
