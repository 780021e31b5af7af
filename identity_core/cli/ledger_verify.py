"""``identity ledger verify``: the history of a DID against a signed checkpoint, online or years later from files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from identity_core.cli.ledger_sources import (
    cosignatures_option,
    held_option,
    key_option,
    opened_checkpoint,
    progress,
    url_option,
    verifier_key,
    witness_keys_option,
)
from identity_core.cli.output import as_json, fail, show
from identity_core.cli.remote import session
from identity_core.client import Session
from identity_core.codec.multibase import base64url_decode
from identity_core.domain.errors import IdentityError
from identity_core.domain.merkle.checkpoint import Checkpoint, SignedCheckpoint
from identity_core.domain.merkle.history import History, ProvenHistory, Recorded, read_transaction, verify_history
from identity_core.domain.merkle.leaf import Leaf
from identity_core.domain.merkle.note import VerifierKey
from identity_core.domain.merkle.proof_text import TlogProof
from identity_core.domain.merkle.proofs import verify_consistency
from identity_core.domain.merkle.refusals import Malformed, Refuted

_file = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command(name="verify")
@click.argument("did", required=False)
@url_option
@key_option
@held_option
@witness_keys_option
@cosignatures_option
@click.option("--history", type=_file, help="A history that --save wrote: nothing is fetched.")
@click.option("--log", "log_file", type=_file, help="The log of a DID (JSON lines), with --proof: nothing is fetched.")
@click.option("--proof", "proofs", type=_file, multiple=True, help="A tlog-proof for each line of --log, in its order.")
@click.option("--save", type=click.Path(path_type=Path, dir_okay=False), help="Keep the history for a later --history.")
@as_json
def verify(did: str | None, key_text: str | None, json_output: bool, **given: Any) -> None:
    """Prove the history of DID: every entry's signatures, and that each stands in the log that its key signed.

    Give a DID and --url, or --history FILE, or --log FILE with a --proof FILE for each of its lines. What no such proof can show
    is that nothing newer exists.
    """
    key = verifier_key(key_text)
    try:
        if given["history"] is not None:
            kept = _kept(given["history"], did)
            proven = _proven(kept, key, given, str(given["history"]))
        elif given["log_file"] is not None:
            kept = _from_proofs(did, given["log_file"], given["proofs"], key, given)
            proven = _proven(kept, key, given, str(given["log_file"]))
        elif did is not None and given["url"] is not None:
            with session(given["url"]) as http:
                kept = _fetched(http, did, key, given)
                proven = _proven(kept, key, given, given["url"])
                for path in given["held"]:
                    _check_growth(http, opened_checkpoint(path.read_bytes(), key, str(path)).checkpoint, proven.signed)
        else:
            raise click.UsageError("give a DID and --url, or --history, or --log with --proof")
    except (Malformed, Refuted, IdentityError) as error:
        remedy = "do not trust this history; whoever signed the checkpoint can be held to it"
        fail(f"the history is not proven: {error}", did or str(given["history"] or given["log_file"]), remedy)
    if given["save"] is not None:
        given["save"].write_bytes(kept.encode())
    show(proven.summary(), json_output=json_output, text=_told)


def _told(body: dict[str, Any]) -> str:
    state = "deactivated" if body["deactivated"] else "active"
    by = "".join(f"\ncosigned by {name} at {at}" for name, at in body["cosigned"].items())
    return (
        f"{body['did']}\nproven: {body['versions']} versions, {state}, the last recorded {body['lastRecorded']} as entry "
        f"{body['sequence']}\nin {body['origin']} of {body['treeSize']} entries{by}"
    )


def _proven(kept: History, key: VerifierKey, given: dict[str, Any], where: str) -> ProvenHistory:
    witnesses, cosignatures = given["witness_texts"], given["cosignatures"]
    signed = opened_checkpoint(kept.checkpoint, key, where, witnesses, cosignatures)
    return verify_history(kept.did, kept.entries, signed)


def _kept(path: Path, did: str | None) -> History:
    kept = History.parse(path.read_bytes())
    if did not in (None, kept.did):
        raise Refuted(f"the file is the history of {kept.did}")
    return kept


def _from_proofs(
    did: str | None, log_file: Path, proofs: Sequence[Path], key: VerifierKey, given: dict[str, Any]
) -> History:
    """From the plain formats. Each proof may have a checkpoint of its own; all but the last are checked here."""
    from identity_core.domain import log

    lines = log_file.read_bytes().removesuffix(b"\n").split(b"\n")
    if len(lines) != len(proofs):
        raise Refuted(f"{len(proofs)} proofs for {len(lines)} lines")
    did = did or log.verify(log_file.read_bytes()).did
    recorded: list[Recorded] = []
    newest = b""
    for version, (line, path) in enumerate(zip(lines, proofs, strict=True), 1):
        proof = TlogProof.parse(path.read_bytes())
        leaf = Leaf.from_receipt(proof.extra or b"", index=proof.index, did=did, version=version, entry=line)
        recorded.append(Recorded(leaf, proof.hashes))
        if newest not in (b"", proof.checkpoint):
            raise Refuted("the proofs have different checkpoints; fetch them anew, or use --save")
        newest = proof.checkpoint
    return History(did, newest, tuple(recorded))


def _fetched(http: Session, did: str, key: VerifierKey, given: dict[str, Any]) -> History:
    # The checkpoint comes second, so that it covers whatever the history names.
    transactions = list(_transactions(http, did))
    note = http.octets("/ledger/checkpoint")
    size = opened_checkpoint(note, key, http.url, given["witness_texts"], given["cosignatures"]).checkpoint.size
    entries = []
    with progress(transactions, "entries") as bar:
        for transaction in bar:
            leaf = read_transaction(http.call("GET", f"/ledger/transactions/{transaction}", signed_in=False))
            query = {"transaction": transaction, "size": size}
            proof = http.call("GET", "/ledger/proof/inclusion", query=query, signed_in=False)
            entries.append(Recorded(leaf, tuple(base64url_decode(one) for one in proof["hashes"])))
    return History(did, note, tuple(entries))


def _transactions(http: Session, did: str) -> Iterator[str]:
    """The transaction hashes of the recorded versions, oldest first."""
    cursor = None
    while True:
        page = http.history(did, limit=200, cursor=cursor)
        yield from (item["transactionHash"] for item in page["items"] if item["transactionHash"] is not None)
        cursor = page["nextCursor"]
        if cursor is None:
            return


def _check_growth(http: Session, held: Checkpoint, now: SignedCheckpoint) -> None:
    """Raises ``Refuted`` unless the log grew from ``held``."""
    new = now.checkpoint
    if held.size > new.size:
        raise Refuted(f"a kept checkpoint has {held.size} entries, the log says {new.size}: it was cut")
    query = {"first": held.size, "second": new.size}
    proof = http.call("GET", "/ledger/proof/consistency", query=query, signed_in=False)
    hashes = [base64url_decode(one) for one in proof["hashes"]]
    try:
        verify_consistency(held.size, held.root, new.size, new.root, hashes)
    except Refuted as error:
        raise Refuted(f"the log does not continue a kept checkpoint: {error}") from error
