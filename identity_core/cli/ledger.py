"""``identity ledger``: the transparency log. Here the history of a DID is proven against a signed checkpoint, online or years later from
files; what checks a whole log, mends and witnesses stands in the modules beside.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from identity_tlog.note import Checkpoint, SignedCheckpoint, VerifierKey
from identity_tlog.proofs import TlogProof, verify_consistency
from identity_tlog.tree import Malformed, Refuted

from identity_core.cli.ledger_audit import audit, export
from identity_core.cli.ledger_checkpoint import checkpoint
from identity_core.cli.ledger_kept import kept_checkpoints
from identity_core.cli.ledger_prove import policy_option, prove, transactions_of, verify_file
from identity_core.cli.ledger_repair import accept_rollback, repair
from identity_core.cli.ledger_show import show_tree
from identity_core.cli.ledger_sources import (
    anchored_option,
    cosignatures_option,
    held_option,
    key_option,
    opened_checkpoint,
    service_did_option,
    url_option,
    verifier_key,
    witness_keys_option,
)
from identity_core.cli.ledger_witness import witness
from identity_core.cli.options import FILE, FILE_THERE, Number, counted
from identity_core.cli.output import fail, failing, progress, show
from identity_core.cli.plugin_commands import OpenGroup
from identity_core.cli.remote import add_command, session
from identity_core.client import Client, ServiceError
from identity_core.codec.multibase import base64url_decode
from identity_core.domain.ledger.checkpoint_keys import CheckpointKeys
from identity_core.domain.ledger.history import (
    LoggedHistory,
    Recorded,
    followed_keys,
    read_transaction,
    retired_keys,
    verify_history,
)
from identity_core.domain.ledger.leaf import LogLeaf
from identity_core.errors import IdentityError

_file = functools.partial(click.option, type=FILE_THERE)


@click.group(name="ledger", cls=OpenGroup)
def command() -> None:
    """The transparency log over the ledger: verify, audit, repair, export, witness."""


@command.command(name="verify")
@click.argument("subject", metavar="[DID|FILE]", required=False)
@url_option
@key_option
@held_option
@anchored_option
@witness_keys_option
@cosignatures_option
@_file(
    "--checkpoint",
    help="Prove it in this checkpoint, such as one that witnesses cosigned, and not in the newest of the service.",
)
@_file("--history", help="A history that --save wrote: nothing is fetched.")
@_file("--log", "log_file", help="The log of a DID (JSON lines), with --proof: nothing is fetched.")
@_file("--proof", "proofs", multiple=True, help="A tlog-proof for each line of --log, in its order.")
@service_did_option
@_file(
    "--service-history",
    help="A history that --save wrote: the service's own log in it counts too, such as a later one than --history brings. With --policy, "
    "it leads from keys of checkpoints to those after them.",
)
@click.option("--save", type=FILE, help="Keep the history for a later --history.")
@policy_option
@click.option(
    "--cosigned-within",
    "within",
    type=Number(0),
    help="With --policy: seconds between the entry's time and that of the witnesses.",
)
def verify(subject: str | None, key_text: str | None, policy: Path | None, within: float | None, **given: Any) -> None:
    """Prove the history of DID: every entry's signatures, and that each stands in the log that its key signed.

    Give a DID and --url, or --history FILE, or --log FILE with a --proof FILE for each of its lines. Or give --policy and the FILE that
    `identity ledger prove` wrote: that one entry stands in a log, as its witnesses saw it; nothing is fetched. What no such proof can show
    is that nothing newer exists.
    """
    if policy is not None:
        later = given["service_history"]
        with failing((Malformed, Refuted), str(later), "give a history that --save wrote"):
            service = None if later is None else _kept(later, None)
        verify_file(policy, subject, key_text, within, service, given["service_did"])
        return
    if within is not None:
        raise click.UsageError("--cosigned-within goes with --policy")
    did, key = subject, verifier_key(key_text)
    with contextlib.ExitStack() as stack:
        http = None if given["url"] is None else stack.enter_context(session(given["url"]))
        where = did or str(given["history"] or given["log_file"])
        remedy, said = "do not trust this history; the signer of the checkpoint can be held to it", list[LogLeaf]()
        with failing((Malformed, Refuted, IdentityError), where, remedy, what="the history is not proven"):
            if given["history"] is not None:
                kept = _kept(given["history"], did)
            elif given["log_file"] is not None:
                kept = _from_proofs(did, given["log_file"], given["proofs"])
            elif did is not None and http is not None:
                quorum = {} if given["cosignatures"] else {"quorum": "any"}
                kept, said = _fetched(http, did, key, given["checkpoint"], given["service_did"], quorum)
            else:
                raise click.UsageError("give a DID and --url, or --history, or --log with --proof")
            keys = _keys(key, kept, said, given["service_did"], given["service_history"])
            kept = _in_checkpoint(kept, keys, given["checkpoint"])
            source = str(given["checkpoint"] or given["history"] or given["log_file"] or given["url"])
            signed = opened_checkpoint(kept.checkpoint, keys, source, given["witness_texts"], given["cosignatures"])
            retired = _retired(kept, given["service_did"], given["service_history"], signed, keys)
            proven = verify_history(kept.did, kept.entries, signed, retired)
            for held in kept_checkpoints(given["held"], given["anchored"], keys):
                _check_growth(http, held, signed.checkpoint)
    if given["save"] is not None:
        given["save"].write_bytes(kept.encode())
    show(proven.summary(), text=_text)


def _keys(
    key: VerifierKey, kept: LoggedHistory, said: Sequence[LogLeaf], service_did: str | None, later: Path | None
) -> CheckpointKeys:
    """The keys of checkpoints to which the longest of the service's logs leads from ``key``: the one in the history, what the service has
    ``said`` since, the one in ``later``."""
    own, leaves = kept.service_did, max([one.leaf for one in kept.service], said, key=len)
    if later is not None:
        other = _kept(later, None)
        own, leaves = other.service_did or own, max(leaves, [one.leaf for one in other.service], key=len)
    return followed_keys(
        key, own if leaves else None, leaves, is_believed=service_did is not None and service_did == own
    )


def _retired(
    kept: LoggedHistory, service_did: str | None, later: Path | None, signed: SignedCheckpoint, keys: CheckpointKeys
) -> Mapping[str, int]:
    """The keys of logs that the service retired. Raises ``Refuted`` where the history has another service's log, or lacks it."""
    if service_did not in (None, kept.service_did):
        raise Refuted(f"the history comes without the log of {service_did}, which says which keys are retired")
    retired = {} if kept.service_did is None else dict(retired_keys(kept.service_did, kept.service, signed))
    if later is None:
        return retired
    other = _kept(later, None)
    if other.service_did is None or kept.service_did not in (None, other.service_did):
        raise Refuted(f"{later} has no log of this service's own")
    opened = opened_checkpoint(other.checkpoint, keys, str(later))
    for one, size in retired_keys(other.service_did, other.service, opened).items():
        retired[one] = min(size, retired.get(one, size))
    return retired


def _text(body: dict[str, Any]) -> str:
    state = "deactivated" if body["deactivated"] else "active"
    by = "".join(f"\ncosigned by {name} at {at}" for name, at in body["cosigned"].items())
    return (
        f"{body['did']}\nproven: {counted(body['versions'], 'version')}, {state}, the last recorded {body['lastRecorded']} as entry "
        f"{body['sequence']}\nin {body['origin']} of {body['treeSize']} entries{by}"
    )


def _kept(path: Path, did: str | None) -> LoggedHistory:
    kept = LoggedHistory.parse(path.read_bytes())
    if did not in (None, kept.did):
        raise Refuted(f"the file is the history of {kept.did}")
    return kept


def _from_proofs(did: str | None, log_file: Path, proofs: Sequence[Path]) -> LoggedHistory:
    """From the plain formats. All proofs have one checkpoint, as those have that were fetched while nothing was recorded."""
    from identity_core.domain.dids import log

    lines = log_file.read_bytes().removesuffix(b"\n").split(b"\n")
    if len(lines) != len(proofs):
        raise Refuted(f"{len(proofs)} proofs for {len(lines)} lines")
    did = did or log.verify(log_file.read_bytes(), approved=False).did
    recorded: list[Recorded] = []
    newest = b""
    for version, (line, path) in enumerate(zip(lines, proofs, strict=True), 1):
        proof = TlogProof.parse(path.read_bytes())
        leaf = LogLeaf.from_receipt(proof.extra or b"", index=proof.index, did=did, version=version, entry=line)
        recorded.append(Recorded(leaf, proof.hashes))
        if newest not in (b"", proof.checkpoint):
            raise Refuted("the proofs have different checkpoints; fetch them anew, or use --save")
        newest = proof.checkpoint
    return LoggedHistory(did, newest, tuple(recorded))


def _in_checkpoint(kept: LoggedHistory, keys: CheckpointKeys, path: Path | None) -> LoggedHistory:
    """The history with the checkpoint in ``path``, where there is one, in the place of its own."""
    if path is None:
        return kept
    own = opened_checkpoint(kept.checkpoint, keys, kept.did).checkpoint
    note = path.read_bytes()
    given = opened_checkpoint(note, keys, str(path)).checkpoint
    if given.size != own.size:
        says = f"the checkpoint covers {given.size} entries, the history was proven in a log of {own.size}"
        fail(says, str(path), "prove it anew in this checkpoint, with the DID and --url")
    if given.root != own.root:
        raise Refuted(f"two trees of {own.size} entries have different roots")
    return dataclasses.replace(kept, checkpoint=note)


def _fetched(
    http: Client, did: str, key: VerifierKey, path: Path | None, service_did: str | None, quorum: dict[str, str]
) -> tuple[LoggedHistory, list[LogLeaf]]:
    """The history of ``did`` and of the service's own DID, with proofs to the checkpoint in ``path``, or to the newest of the
    service: that of its quorum, or any. And the leaves of the service's own DID, whether or not they are in it."""
    is_believed = service_did is not None
    service_did = service_did or http.call("GET", "/ledger/key", signed_in=False).get("serviceDid")
    # The checkpoint comes second, so that it covers whatever the history names.
    transactions = transactions_of(http, did).values()
    of_service = [] if service_did is None else transactions_of(http, service_did).values()
    leaves = [_leaf(http, transaction) for transaction in of_service]
    keys = followed_keys(key, service_did if leaves else None, leaves, is_believed=is_believed)
    note = http.octets("/ledger/checkpoint", query=quorum) if path is None else path.read_bytes()
    size = opened_checkpoint(note, keys, str(path or http.url)).checkpoint.size
    entries = []
    with progress(transactions, "entries") as bar:
        for transaction in bar:
            leaf = _leaf(http, transaction)
            if leaf.sequence > size:
                says = f"version {leaf.version} is entry {leaf.sequence}, the checkpoint covers {size}"
                fail(
                    says,
                    str(path or http.url),
                    "have a newer one cosigned: `identity ledger checkpoint --witness … --save …`",
                )
            entries.append(_recorded(http, leaf, size))
    # What the service said after a checkpoint that somebody kept is not in it.
    service = tuple(_recorded(http, leaf, size) for leaf in leaves if leaf.sequence <= size)
    return LoggedHistory(did, note, tuple(entries), service_did if service else None, service), leaves


def _leaf(http: Client, transaction: str) -> LogLeaf:
    return read_transaction(http.call("GET", f"/ledger/transactions/{transaction}", signed_in=False))


def _recorded(http: Client, leaf: LogLeaf, size: int) -> Recorded:
    """The leaf with its proof to the tree of ``size`` entries."""
    query = {"transaction": leaf.transaction_hash, "size": size}
    proof = http.call("GET", "/ledger/proof/inclusion", query=query, signed_in=False)
    return Recorded(leaf, tuple(base64url_decode(one) for one in proof["hashes"]))


def _check_growth(http: Client | None, held: Checkpoint, proven: Checkpoint) -> None:
    """Raises ``Refuted`` unless the log of the later of the two grew from the earlier. A kept history may be the earlier."""
    earlier, later = sorted((held, proven), key=lambda one: one.size)
    hashes = [] if earlier.size == later.size else _growth(http, earlier.size, later.size)
    try:
        verify_consistency(earlier.size, earlier.root, later.size, later.root, hashes)
    except Refuted as error:
        raise Refuted(f"the log does not continue a kept checkpoint: {error}") from error


def _growth(http: Client | None, first: int, second: int) -> list[bytes]:
    """The log's proof that it grew from ``first`` to ``second`` entries."""
    if http is None:
        raise click.UsageError(f"--held needs --url: the log has to prove how it grew from {first} to {second} entries")
    query = {"first": first, "second": second}
    try:
        proof = http.call("GET", "/ledger/proof/consistency", query=query, signed_in=False)
    except ServiceError as error:
        if error.code == "LOG_RANGE_INVALID":
            raise Refuted(f"a checkpoint has {second} entries, the log does not have as many: it was cut") from error
        raise
    return [base64url_decode(one) for one in proof["hashes"]]


for one in (audit, checkpoint, prove, repair, export, witness, accept_rollback, show_tree):
    command.add_command(one)
add_command(
    command,
    "key",
    "getLedgerKey",
    "Show the key that the log's checkpoints are verified with. Compare it with what others were shown.",
    text="{verifierKey}",
    anonymous=True,
)
