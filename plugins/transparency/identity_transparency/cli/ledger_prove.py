"""The commands ``identity ledger prove`` and ``identity ledger verify --policy``: store the proof that one entry is in a log in a
file (C2SP tlog-proof), and check it without a network. ``extra`` is the leaf (`packages/identity_tlog/README.md`), so any reader of
the format can check it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import click
from identity_commands.log_policy import policy_option, read_policy, verifier_key
from identity_commands.remote import session, url_option

from identity_client import Session
from identity_codec import times
from identity_codec.multibase import base64url_decode, base64url_encode
from identity_core.cli.options import Whole
from identity_core.cli.output import Command, fail, failing, prints_json, show
from identity_core.domain.dids.logs import check_not_retired
from identity_core.domain.dids.state import LogInvalid
from identity_tlog.leaf import LogLeaf, ProvenEntry, verify_entry
from identity_tlog.note import Checkpoint, Note, VerifierKey
from identity_tlog.policy import WitnessPolicy, label
from identity_tlog.proofs import TlogProof, verify_inclusion
from identity_tlog.tree import Malformed, Refuted, leaf_hash
from identity_transparency.cli.sources import transactions_of, unverified
from identity_transparency.cli.trust import refused_key, unchecked, unchecked_text
from identity_transparency.domain.history import LoggedHistory, read_transaction, retired_keys

_TRANSACTION: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)


@click.command(name="prove", cls=Command)
@click.argument("subject", metavar="DID|TRANSACTION")
@url_option
@click.option("--version-id", type=Whole(1), help="Number of the version of the DID.  [default: the newest]")
@policy_option
def prove(subject: str, url: str, version_id: int | None, policy: Path | None) -> None:
    """Print the proof that an entry is in the log. `identity ledger verify --policy` verifies it offline.

    Write the output to a file such as x.tlog-proof. It contains the served checkpoint: with witnesses, the last
    that they cosigned.
    """
    known = None if policy is None else read_policy(policy)
    with session(url) as http, failing((Malformed, Refuted), url, "do not trust this log until you know why"):
        leaf, note, checkpoint, hashes = fetched_proof(http, subject, version_id, known)
    kept = TlogProof(leaf.index, hashes, note, leaf.encode()).encode()
    if prints_json():
        body = {"did": leaf.did, "versionId": leaf.version, "index": leaf.index, "treeSize": checkpoint.size}
        show({**body, "proof": kept.decode()})
    else:
        click.echo(kept, nl=False)


def fetched_proof(
    http: Session, subject: str, version_id: int | None, known: WitnessPolicy | None
) -> tuple[LogLeaf, bytes, Checkpoint, tuple[bytes, ...]]:
    """Return the leaf of a DID's version or of a transaction, the note and the checkpoint of the service, and the verified hashes
    between leaf and checkpoint. Raises ``Malformed`` and ``Refuted``; an entry that is not there ends the command."""
    leaf = _leaf_of(http, subject, version_id)
    note = http.get_bytes("/ledger/checkpoint")
    checkpoint = (
        Checkpoint.parse(Note.parse(note).text) if known is None else known.open(note, logs=_own_keys(http)).checkpoint
    )
    _require_covered(leaf, checkpoint, http.url)
    query = {"transaction": leaf.transaction_hash, "size": checkpoint.size}
    found = http.call("GET", "/ledger/proof/inclusion", query=query, signed_in=False)
    hashes = tuple(base64url_decode(one) for one in found["hashes"])
    # What the service answers is not yet a proof.
    verify_inclusion(leaf_hash(leaf.encode()), leaf.index, checkpoint.size, hashes, checkpoint.root)
    return leaf, note, checkpoint, hashes


def _leaf_of(http: Session, subject: str, version_id: int | None) -> LogLeaf:
    transaction = subject
    if _TRANSACTION.fullmatch(subject) is None:
        transaction = _transaction_of(http, subject, version_id)
    elif version_id is not None:
        raise click.UsageError("--version-id goes with a DID")
    return read_transaction(http.call("GET", f"/ledger/transactions/{transaction}", signed_in=False))


def _transaction_of(http: Session, did: str, version_id: int | None) -> str:
    """Return the transaction hash of a version, or of the newest that is recorded."""
    found = transactions_of(http, did)
    number = max(found, default=0) if version_id is None else version_id
    if number not in found:
        fail(f"the ledger has no version {number} of this DID", did, f"choose from {', '.join(map(str, found))}")
    return found[number]


def _require_covered(leaf: LogLeaf, checkpoint: Checkpoint, url: str) -> None:
    if leaf.index >= checkpoint.size:
        says = f"the checkpoint covers {checkpoint.size} entries, and this is entry {leaf.sequence}"
        fail(says, url, "wait until the witnesses have cosigned a newer one; `identity doctor` says what holds them up")


def _own_keys(http: Session) -> Sequence[VerifierKey]:
    """Return the keys that the service states it signs with, or has signed with. The reader of the proof decides which of them to
    trust."""
    answer = http.call("GET", "/ledger/key", signed_in=False)
    return [VerifierKey.parse(one["verifierKey"]) for one in (answer, *answer.get("earlierKeys", ()))]


def verify_file(
    policy: Path,
    subject: str | None,
    key_text: str | None,
    within: float | None,
    service: LoggedHistory | None = None,
    service_did: str | None = None,
    needs_service_log: bool = False,
) -> None:
    """Check the proof in the file ``subject`` and show what it proves. An invalid proof ends the command.

    ``within`` is in seconds. The service log in ``service`` leads from known keys to later ones; all of it is trusted if it is that
    of ``service_did``.
    """
    if subject is None or not Path(subject).is_file():
        raise click.UsageError("--policy goes with a file that `identity ledger prove` wrote")
    known, logs = read_policy(policy), [verifier_key(key_text)] if key_text else []
    remedy = "do not trust this entry; the signer of the checkpoint can be held to it"
    missing = unchecked(service is not None and service_did is not None, needs_service_log, subject)
    errors = (Malformed, Refuted, LogInvalid)
    with failing(errors, subject, remedy, what="the entry is not proven"), refused_key(subject):
        proof = TlogProof.parse(Path(subject).read_bytes())
        retired: Mapping[str, int] = {}
        if service is not None:
            logs, retired = _followed(proof, [*logs, *(one.key for one in known.logs)], service, service_did)
        proven = verify_entry(proof, known, logs=logs)
        check_not_retired(retired, proven.leaf.entry, proven.leaf.index)
        if within is not None:
            proven.require_time(timedelta(seconds=within))
    show(_summary(proven) | {"unchecked": missing}, text=_text)


def _followed(
    proof: TlogProof, given: Sequence[VerifierKey], service: LoggedHistory, service_did: str | None
) -> tuple[list[VerifierKey], Mapping[str, int]]:
    """Return the trusted keys for the checkpoint of the proof, and the tree sizes from which on keys of logs are retired.

    Raises ``Refuted``: when none of these keys signed it, because its key was replaced before.
    """
    checkpoint, refusal = unverified(proof.checkpoint), Refuted("no log of this name is known")
    for key in (one for one in given if one.name == checkpoint.origin):
        try:
            log = service.followed(key, service_did)
            log.open(proof.checkpoint)
            retired = retired_keys(service.service_did or "", service.service, log.open(service.checkpoint))
        except Refuted as error:
            refusal = error
        else:
            return [*log.keys.counting(checkpoint.size)], retired
    raise refusal


def entry_summary(leaf: LogLeaf) -> dict[str, Any]:
    """Return the members that identify the entry."""
    return {
        "did": leaf.did,
        "versionId": leaf.version,
        "transactionHash": leaf.transaction_hash,
        "recordedAt": times.printed(leaf.recorded_at),
    }


def _summary(proven: ProvenEntry) -> dict[str, Any]:
    leaf, checkpoint = proven.leaf, proven.signed.checkpoint
    return entry_summary(leaf) | {
        "origin": checkpoint.origin,
        "index": leaf.index,
        "treeSize": checkpoint.size,
        "rootHash": base64url_encode(checkpoint.root),
        "cosigned": {label(name): times.printed(at) for name, at in proven.signed.cosigned.items()},
        "cosignedAt": None if proven.cosigned_at is None else times.printed(proven.cosigned_at),
        "entry": base64url_encode(leaf.entry),
    }


def _text(body: dict[str, Any]) -> str:
    by = "".join(f"\ncosigned by {name} at {at}" for name, at in body["cosigned"].items())
    return (
        f"{body['did']}\nproven: version {body['versionId']}, recorded {body['recordedAt']}\n"
        f"entry {body['index'] + 1} of {body['treeSize']} in {body['origin']}{by}{unchecked_text(body)}"
    )
