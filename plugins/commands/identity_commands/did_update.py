"""``identity did update``, and new keys of a document: those that sign credentials need a proof of possession."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from identity_client import Session
from identity_client.possession import proof_of_possession
from identity_codec import multikey
from identity_commands.json_input import name_of
from identity_commands.options import several
from identity_commands.remote import keys_option, settled, url_option
from identity_commands.wallet import Wallet, make_key
from identity_core.cli.options import Whole
from identity_core.cli.output import Command, fail, failing, misused, show

Wishes = Sequence[tuple[str, str]]
"""(type, relationships separated by commas) of keys that are made here."""
Triples = Sequence[tuple[str, str, str]]
VERSION = "{did}\nversion {versionId}\nblock   {blockNumber}\ntx      {transactionHash}"


witness_threshold_option = click.option(
    "--witness-threshold", type=Whole(1), help="Number of witnesses that must approve.  [default: all]"
)


@click.command(cls=Command)
@keys_option
@url_option
@several("--add-service", "ID TYPE URL", "Service endpoint to add; repeatable.")
@several("--update-service", "ID TYPE URL", "Service endpoint that replaces the one with this id; repeatable.")
@several("--remove-service", "ID", "Service endpoint to remove; repeatable.")
@several("--new-key", "TYPE RELATIONSHIPS", "Key to generate here. Relationships are separated by commas.")
@several("--add-key", "TYPE MULTIBASE RELATIONSHIPS", "Public key to add. Relationships are separated by commas.")
@several("--possession", "MULTIBASE PROOF", "Proof of possession of an added Bls12381G2Key2020 key.")
@several("--remove-key", "KEY_ID", "Key to remove; repeatable.")
@several("--also-known-as", "URI", "Entry of the list that replaces alsoKnownAs; repeatable.")
@several("--witness", "DID", "A did:key that must approve later versions. The list is replaced; repeatable.")
@witness_threshold_option
@click.option("--no-witness", is_flag=True, help="Remove all witnesses: later versions need no approval.")
@click.option("--strict-evidence", is_flag=True, help="Require bound signatures from this change on, for good.")
def update(
    wallet: Path,
    url: str,
    add_service: Triples,
    update_service: Triples,
    remove_service: Sequence[str],
    new_key: Wishes,
    add_key: Triples,
    possession: Sequence[tuple[str, str]],
    remove_key: Sequence[str],
    also_known_as: Sequence[str],
    witness: Sequence[str],
    witness_threshold: int | None,
    no_witness: bool,
    strict_evidence: bool,
) -> None:
    """Change the document, by one or several operations in one version."""
    operations = [_service("addService", *given) for given in add_service]
    operations += [_service("updateService", *given) for given in update_service]
    operations += [{"operation": "removeService", "serviceId": identifier} for identifier in remove_service]
    proofs = dict(possession)
    operations += [_added(*key, proofs.pop(key[1], None)) for key in add_key]
    if proofs:
        fail("this key is not added", next(iter(proofs)), "name it with --add-key as well", status=2)
    operations += [{"operation": "removeVerificationMethod", "keyId": key_id} for key_id in remove_key]
    if also_known_as:
        operations.append({"operation": "setAlsoKnownAs", "alsoKnownAs": list(also_known_as)})
    if no_witness and (witness or witness_threshold is not None):
        misused("there are witnesses or there are none", "leave out --no-witness, or --witness and --witness-threshold")
    if witness or witness_threshold is not None or no_witness:
        asked = {} if no_witness else witness_list(witness, witness_threshold)
        operations.append({"operation": "setWitness", "witness": asked})
    if strict_evidence:
        operations.append({"operation": "setStrictEvidence", "strictEvidence": True})
    if not operations and not new_key:
        misused("there is nothing to change", "name at least one operation, see --help")
    with settled(wallet, url) as (opened, holder):
        answer = change(opened, holder, operations, new_key)
    show(answer, text=VERSION)


def witness_list(witnesses: Sequence[str], threshold: int | None) -> dict[str, Any]:
    """Return the required witnesses of a log, in the form of a request."""
    listed = [{"id": one} for one in witnesses]
    return {"threshold": threshold or len(listed), "witnesses": listed}


def change(opened: Session, holder: Wallet, operations: list[dict[str, Any]], wishes: Wishes = ()) -> dict[str, Any]:
    """Send the operations, with keys that are made here for ``wishes``. The keys are on disk before, and become current afterwards."""
    did = holder.did
    fresh = [make_key(kind, did) for kind, _ in wishes]
    for (_, relationships), key in zip(wishes, fresh, strict=True):
        proof = proof_of_possession(did, key["privateKey"]) if key["type"] == multikey.BLS12381G2 else None
        operations = [*operations, _added(key["type"], key["publicKey"], relationships, proof)]
    body = operations[0] if len(operations) == 1 else {"operations": operations}
    purposes = [relationships.split(",")[0] for _, relationships in wishes]
    with holder.sending("add", {str(place): key for place, key in enumerate(fresh)}, purposes=purposes):
        answer: dict[str, Any] = opened.update(did, body, holder.signer())
    return answer


@click.command(cls=Command)
@click.argument("did")
@click.argument("file", type=click.File("r"))
def possession(did: str, file: Any) -> None:
    """Print the proof of possession of a Bls12381G2Key2020 key for the document of DID.

    FILE contains its private multikey; - is standard input. Nothing is sent.
    """
    with failing(ValueError, name_of(file), "give the private multikey of a Bls12381G2Key2020 key"):
        proof = proof_of_possession(did, file.read().strip())
    show({"proofOfPossession": proof}, text="{proofOfPossession}")


def _service(operation: str, identifier: str, kind: str, place: str) -> dict[str, Any]:
    return {"operation": operation, "service": {"id": identifier, "type": kind, "serviceEndpoint": place}}


def _added(kind: str, multibase: str, relationships: str, proof: str | None) -> dict[str, Any]:
    method = {"type": kind, "publicKeyMultibase": multibase}
    if proof is not None:
        method["proofOfPossession"] = proof
    named = relationships.split(",")
    return {"operation": "addVerificationMethod", "verificationMethod": method, "relationships": named}
