"""Trust in checkpoints of a log: they must be signed by its keys, and agree with stored checkpoints and histories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final

import click
from identity_commands.log_policy import verifier_key

from identity_core.cli.output import fail, failing
from identity_core.errors import IdentityError
from identity_tlog.anchored import AnchoredCheckpoint
from identity_tlog.leaf import Recorded
from identity_tlog.note import Checkpoint, SignedCheckpoint, VerifierKey
from identity_tlog.tree import Malformed, Refuted
from identity_transparency.cli.sources import LocalSource, LogSource, Missing
from identity_transparency.domain.checkpoint_keys import CheckpointKeys, KeyReplaced, ReplacedKeyAlone, TrustedLog
from identity_transparency.domain.history import LoggedHistory

PRESENT: Final = (
    "fetch it anew, or give --url and a --service-history of now: who stole a replaced key signs any tree with it"
)
FOLLOW: Final = "if its key was replaced, name the service's DID with --service-did, or give the new key as --key"

UNCHECKED: Final = "retiredKeys"
require_service_log_option = click.option(
    "--require-service-log",
    "needs_service_log",
    is_flag=True,
    help="Fail if the log of the DID in --service-did is missing.",
)


def unchecked(has_service_log: bool, needs_service_log: bool, where: str) -> list[str]:
    """Return the checks that need a log of a DID known to be the service's own, because the log of any DID has the same form.
    Without it, end the command if it is required."""
    if needs_service_log and not has_service_log:
        remedy = "name the service's DID with --service-did; without --url, give its log with --service-history too"
        fail("the service's own log is missing, or its DID was not named: retired keys are unchecked", where, remedy)
    return [] if has_service_log else [UNCHECKED]


def unchecked_text(body: Mapping[str, Any]) -> str:
    """Return the line about what was not checked; empty if everything was checked."""
    return f"\nunchecked: {', '.join(body['unchecked'])}" if body["unchecked"] else ""


def trusted_log(
    source: LogSource, note: bytes, text: str | None, service_did: str | None = None, later: LoggedHistory | None = None
) -> TrustedLog:
    """Return the log of the ``note`` under the key of the option and those to which the service's own log leads from it: that of a
    service, that of ``service_did`` in a directory, or the one in ``later``. Without the option, return this installation's own. Ends the
    command without a key."""
    if isinstance(source, LocalSource) and not text:
        return TrustedLog(source.keys, None, source.growth)
    key, remedy = verifier_key(text), "do not trust this log until you know why"
    errors = (Malformed, Refuted, Missing, IdentityError)
    with failing(errors, source.place, remedy, what="no log leads from the key"), refused_key(source.place):
        if later is not None:
            if later.service_did is None or service_did not in (None, later.service_did):
                raise Refuted("the history of --service-history has no log of this service's own")
            own, leaves = later.service_did, [one.leaf for one in later.service]
        else:
            own = service_did or source.service_did() or ""
            leaves = source.leaves_of(own) if own else []
            if service_did is not None and not leaves:
                raise Refuted(f"there is no entry of {service_did}")
        evidence = _evidence(source, note, later)
        return TrustedLog.follow(key, own, leaves, evidence, source.growth, is_believed=service_did is not None)


def refused_key(where: str) -> AbstractContextManager[None]:
    """End the command where a service log names a replacement of the key that cannot be followed."""
    return failing(KeyReplaced, where, f"do not trust what the old key signed; {FOLLOW}")


def _evidence(
    source: LogSource, note: bytes, later: LoggedHistory | None
) -> Iterator[tuple[bytes, Sequence[Recorded]]]:
    yield note, ()
    if later is not None:
        yield later.checkpoint, later.service
    # The key can be replaced between the note and the leaves.
    yield source.note(), ()


def opened_checkpoint(
    data: bytes, log: TrustedLog | CheckpointKeys, where: str, witnesses: Sequence[str] = (), cosignatures: int = 0
) -> SignedCheckpoint:
    """Return the verified checkpoint. Any other ends the command."""
    known = [verifier_key(text) for text in witnesses]
    remedy = f"do not trust this log until you know why; {FOLLOW}"
    invalid = failing((Malformed, Refuted), where, remedy, what="the checkpoint is not valid")
    with invalid, failing(ReplacedKeyAlone, where, PRESENT):
        return log.open(data, known, cosignatures=cosignatures)


def kept_history(path: Path | None) -> LoggedHistory | None:
    """Read the file that --service-history names. An invalid history ends the command."""
    if path is None:
        return None
    with failing(Malformed, str(path), "give a history that `identity ledger verify --save` wrote"):
        return LoggedHistory.parse(path.read_bytes())


def kept_checkpoints(held: Sequence[Path], anchored: Sequence[Path], keys: CheckpointKeys) -> list[Checkpoint]:
    """Read the files of --held and --anchored. A malformed one ends the command. The caller proves that the log grew from them."""
    signed = [opened_checkpoint(path.read_bytes(), keys, str(path)).checkpoint for path in held]
    return signed + [_anchored(path, keys.present) for path in anchored]


def _anchored(path: Path, key: VerifierKey) -> Checkpoint:
    remedy = "fetch it anew from the operator of the log"
    with failing((Malformed, Refuted), str(path), remedy, what="the anchored checkpoint is not valid"):
        found = AnchoredCheckpoint.parse(path.read_bytes())
        found.verify()
        if found.checkpoint.origin != key.name:
            raise Refuted(f"the checkpoint is of another log, {found.checkpoint.origin}")
    transaction = f", transaction {found.tx_hash} in block {found.block_number}"
    click.echo(f"{path}: on {found.path.ledger} there must be the root {found.path.root.hex()}{transaction}", err=True)
    return found.checkpoint
