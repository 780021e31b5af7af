"""``identity ledger``: the transparency log. This module proves the history of a DID against a signed checkpoint, online or years
later from files. Audit, repair and witnesses are in the modules beside it."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from identity_commands.log_policy import policy_option, verifier_key
from identity_commands.options import FILE_THERE, counted
from identity_commands.remote import add_command, session
from identity_commands.terminal import progress

from identity_client import Session
from identity_codec.multibase import base64url_decode
from identity_codec.values import replace
from identity_core.cli.options import FILE, Number
from identity_core.cli.output import fail, failing, show
from identity_core.cli.plugin_commands import OpenGroup
from identity_core.errors import IdentityError
from identity_tlog.leaf import LogLeaf, Recorded
from identity_tlog.note import SignedCheckpoint, VerifierKey
from identity_tlog.proofs import TlogProof
from identity_tlog.tree import Malformed, Refuted
from identity_transparency.cli.ledger_audit import audit, export
from identity_transparency.cli.ledger_checkpoint import checkpoint
from identity_transparency.cli.ledger_prove import prove, verify_file
from identity_transparency.cli.ledger_repair import accept_rollback, repair
from identity_transparency.cli.ledger_show import show_tree
from identity_transparency.cli.ledger_witness import witness
from identity_transparency.cli.sources import (
    anchored_option,
    cosignatures_option,
    fetched_growth,
    held_option,
    key_option,
    leaves_of,
    service_did_option,
    unverified,
    url_option,
    witness_keys_option,
)
from identity_transparency.cli.trust import (
    kept_checkpoints,
    kept_history,
    opened_checkpoint,
    refused_key,
    require_service_log_option,
    unchecked,
    unchecked_text,
)
from identity_transparency.domain.checkpoint_keys import TrustedLog, check_growth
from identity_transparency.domain.history import LoggedHistory, retired_keys, verify_history

_file = functools.partial(click.option, type=FILE_THERE)


@click.group(name="ledger", cls=OpenGroup)
def command() -> None:
    """Verify, audit, repair, export and witness the transparency log over the ledger."""


@command.command(name="verify")
@click.argument("subject", metavar="[DID|FILE]", required=False)
@url_option
@key_option
@held_option
@anchored_option
@witness_keys_option
@cosignatures_option
@_file("--checkpoint", help="Checkpoint to use, in place of the service's newest.")
@_file("--history", help="File that --save wrote. Nothing is fetched.")
@_file("--log", "log_file", help="Log of a DID (JSON lines), offline; it requires --proof.")
@_file("--proof", "proofs", multiple=True, help="tlog-proof for a line of --log, in that order; repeatable.")
@service_did_option
@_file(
    "--service-history",
    help="File that --save wrote, with a later log of the service than --history. With --policy it links successive checkpoint keys.",
)
@click.option("--save", type=FILE, help="File to which the history is written, for a later --history.")
@require_service_log_option
@policy_option
@click.option(
    "--cosigned-within",
    "within",
    type=Number(0),
    help="Maximum number of seconds between the entry's time and that of the witnesses. It requires --policy.",
)
def verify(subject: str | None, key_text: str | None, policy: Path | None, within: float | None, **given: Any) -> None:
    """Verify the history of DID: the signatures of each entry, and that the signed log contains it.

    Give a DID and --url, or --history FILE, or --log FILE with a --proof FILE for each line.

    Or give --policy and a FILE that `identity ledger prove` wrote. It shows that the log contained the entry when
    its witnesses cosigned it; nothing is fetched. No such proof shows that no newer entry exists.
    """
    if policy is not None:
        service = kept_history(given["service_history"])
        verify_file(policy, subject, key_text, within, service, given["service_did"], given["needs_service_log"])
        return
    if within is not None:
        raise click.UsageError("--cosigned-within goes with --policy")
    did, key, later = subject, verifier_key(key_text), kept_history(given["service_history"])
    with contextlib.ExitStack() as stack:
        http = None if given["url"] is None else stack.enter_context(session(given["url"]))
        where = did or str(given["history"] or given["log_file"])
        remedy, said = "do not trust this history; the signer of the checkpoint can be held to it", list[LogLeaf]()
        with failing((Malformed, Refuted, IdentityError), where, remedy, what="the history is not proven"):
            if given["history"] is not None:
                kept = _read_history(given["history"], did)
            elif given["log_file"] is not None:
                kept = _from_proofs(did, given["log_file"], given["proofs"])
            elif did is not None and http is not None:
                quorum = {} if given["cosignatures"] else {"quorum": "any"}
                kept, said = _fetched(http, did, key, given["checkpoint"], given["service_did"], quorum)
            else:
                raise click.UsageError("give a DID and --url, or --history, or --log with --proof")
            trusted = _trusted(http, key, given["service_did"], kept, said, later)
            kept = _in_checkpoint(kept, trusted, given["checkpoint"])
            source = str(given["checkpoint"] or given["history"] or given["log_file"] or given["url"])
            signed = opened_checkpoint(kept.checkpoint, trusted, source, given["witness_texts"], given["cosignatures"])
            retired = _retired(kept, given["service_did"], later, signed, trusted)
            missing = unchecked(given["service_did"] is not None, given["needs_service_log"], source)
            proven = verify_history(kept.did, kept.entries, signed, retired)
            for held in kept_checkpoints(given["held"], given["anchored"], trusted.keys):
                check_growth(trusted.growth, held, signed.checkpoint)
    if given["save"] is not None:
        given["save"].write_bytes(kept.encode())
    show(proven.summary() | {"unchecked": missing}, text=_text)


def _trusted(
    http: Session | None,
    key: VerifierKey,
    service_did: str | None,
    kept: LoggedHistory,
    said: Sequence[LogLeaf],
    later: LoggedHistory | None,
) -> TrustedLog:
    """Yield the log under the keys to which the longest of the service's logs leads from ``key``. These logs are the one in the
    history, the one that the service returned (``said``), and the one in ``later``."""

    def evidence() -> Iterator[tuple[bytes, Sequence[Recorded]]]:
        yield kept.checkpoint, kept.service
        if later is not None:
            yield later.checkpoint, later.service
        if http is not None:
            note = http.get_bytes("/ledger/checkpoint", query={"quorum": "any"})
            size = unverified(note).size
            yield note, [_recorded(http, leaf, size) for leaf in said if leaf.sequence <= size]

    own = (None if later is None else later.service_did) or kept.service_did
    known = [said, *([one.leaf for one in each.service] for each in (kept, later) if each is not None)]
    leaves = max(known, key=len)
    if any(one.entry != other.entry for each in known for one, other in zip(each, leaves, strict=False)):
        raise Refuted("the service's own log has two forms: one of them is forged")
    is_believed = service_did is not None and service_did == own
    growth = functools.partial(fetched_growth, http)
    with refused_key(kept.did):
        return TrustedLog.follow(key, own, leaves, evidence(), growth, is_believed=is_believed)


def _retired(
    kept: LoggedHistory, service_did: str | None, later: LoggedHistory | None, signed: SignedCheckpoint, log: TrustedLog
) -> Mapping[str, int]:
    """Return the keys of logs that the service retired. Raises ``Refuted`` when the history has another service's log, or none."""
    if service_did not in (None, kept.service_did or (later and later.service_did)):
        raise Refuted(f"the history comes without the log of {service_did}, which says which keys are retired")
    retired = {} if kept.service_did is None else dict(retired_keys(kept.service_did, kept.service, signed))
    if later is None:
        return retired
    if later.service_did is None or kept.service_did not in (None, later.service_did):
        raise Refuted("the history of --service-history has no log of this service's own")
    opened = opened_checkpoint(later.checkpoint, log, "--service-history")
    for one, size in retired_keys(later.service_did, later.service, opened).items():
        retired[one] = min(size, retired.get(one, size))
    return retired


def _text(body: dict[str, Any]) -> str:
    state = "deactivated" if body["deactivated"] else "active"
    by = "".join(f"\ncosigned by {name} at {at}" for name, at in body["cosigned"].items())
    return (
        f"{body['did']}\nproven: {counted(body['versions'], 'version')}, {state}, the last recorded {body['lastRecorded']} as entry "
        f"{body['sequence']}\nin {body['origin']} of {body['treeSize']} entries{by}{unchecked_text(body)}"
    )


def _read_history(path: Path, did: str | None) -> LoggedHistory:
    kept = LoggedHistory.parse(path.read_bytes())
    if did not in (None, kept.did):
        raise Refuted(f"the file is the history of {kept.did}")
    return kept


def _from_proofs(did: str | None, log_file: Path, proofs: Sequence[Path]) -> LoggedHistory:
    """Return the history from the plain formats. All proofs must have one checkpoint, as they do if nothing was recorded between
    the requests."""
    from identity_commands import verify_log

    from identity_core.domain.dids.state import UnknownLogMethod

    lines = log_file.read_bytes().removesuffix(b"\n").split(b"\n")
    if len(lines) != len(proofs):
        raise Refuted(f"{len(proofs)} proofs for {len(lines)} lines")
    with failing(UnknownLogMethod, str(log_file), "give the DID too: a did:key is its own document"):
        did = did or verify_log.verify(log_file.read_bytes(), approved=False).did
    recorded, newest = list[Recorded](), b""
    for version, (line, path) in enumerate(zip(lines, proofs, strict=True), 1):
        proof = TlogProof.parse(path.read_bytes())
        leaf = LogLeaf.from_receipt(proof.extra or b"", index=proof.index, did=did, version=version, entry=line)
        recorded.append(Recorded(leaf, proof.hashes))
        if newest not in (b"", proof.checkpoint):
            raise Refuted("the proofs have different checkpoints; fetch them anew, or use --save")
        newest = proof.checkpoint
    return LoggedHistory(did, newest, tuple(recorded))


def _in_checkpoint(kept: LoggedHistory, log: TrustedLog, path: Path | None) -> LoggedHistory:
    """Return the history with the checkpoint in ``path``, if given, instead of its own."""
    if path is None:
        return kept
    own = opened_checkpoint(kept.checkpoint, log, kept.did).checkpoint
    note = path.read_bytes()
    given = opened_checkpoint(note, log, str(path)).checkpoint
    if given.size != own.size:
        says = f"the checkpoint covers {given.size} entries, the history was proven in a log of {own.size}"
        fail(says, str(path), "prove it anew in this checkpoint, with the DID and --url")
    if given.root != own.root:
        raise Refuted(f"two trees of {own.size} entries have different roots")
    return replace(kept, checkpoint=note)


def _fetched(
    http: Session, did: str, key: VerifierKey, path: Path | None, service_did: str | None, quorum: dict[str, str]
) -> tuple[LoggedHistory, list[LogLeaf]]:
    """Return the history of ``did`` and of the service's own DID, with proofs to the checkpoint in ``path``, or to the newest of
    the service: that of its quorum, or any. Also return the leaves of the service's own DID, in the checkpoint or not."""
    known = service_did
    service_did = known or http.call("GET", "/ledger/key", signed_in=False).get("serviceDid")
    # The checkpoint comes second, so that it covers whatever the history names.
    recorded = leaves_of(http, did)
    leaves = [] if service_did is None else leaves_of(http, service_did)
    note = http.get_bytes("/ledger/checkpoint", query=quorum) if path is None else path.read_bytes()
    where = str(path or http.url)
    log = _trusted(http, key, known, LoggedHistory(did, note, (), service_did), leaves, None)
    size = opened_checkpoint(note, log, where).checkpoint.size
    entries = []
    with progress(recorded, "entries") as bar:
        for leaf in bar:
            if leaf.sequence > size:
                says = f"version {leaf.version} is entry {leaf.sequence}, the checkpoint covers {size}"
                fail(says, where, "have a newer one cosigned: `identity ledger checkpoint --witness … --save …`")
            entries.append(_recorded(http, leaf, size))
    # Records after the stored checkpoint are not in it.
    service = tuple(_recorded(http, leaf, size) for leaf in leaves if leaf.sequence <= size)
    return LoggedHistory(did, note, tuple(entries), service_did if service else None, service), leaves


def _recorded(http: Session, leaf: LogLeaf, size: int) -> Recorded:
    """Return the leaf with its proof to the tree of ``size`` entries."""
    query = {"transaction": leaf.transaction_hash, "size": size}
    proof = http.call("GET", "/ledger/proof/inclusion", query=query, signed_in=False)
    return Recorded(leaf, tuple(base64url_decode(one) for one in proof["hashes"]))


for one in (audit, checkpoint, prove, repair, export, witness, accept_rollback, show_tree):
    command.add_command(one)
add_command(
    command,
    "key",
    "getLedgerKey",
    "Show the verifier key of the log's checkpoints. Compare it with the key that other readers got.",
    text="{verifierKey}",
    anonymous=True,
)
