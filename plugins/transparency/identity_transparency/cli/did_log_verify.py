"""The command ``identity did log verify``: check a log of a DID alone, or with the places of its entries in the transparency log.
Only these places show whether a retired key signed before or after its retirement."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import click
from identity_commands.json_input import input_argument, name_of
from identity_commands.log_policy import read_policy, verifier_key
from identity_commands.options import FILE_THERE, counted

from identity_core.cli.output import Command, fail, failing, show
from identity_core.domain.inputs import member_time
from identity_tlog.tree import Malformed, Refuted
from identity_transparency.cli.sources import key_option, service_did_option
from identity_transparency.cli.trust import (
    opened_checkpoint,
    refused_key,
    require_service_log_option,
    unchecked,
    unchecked_text,
)

CLOCK_ALLOWANCE: Final = timedelta(minutes=5)
"""How far the clock of a log's writer may be ahead (did:webvh 1.0, "DID Log File": ``versionTime`` is not in the future)."""

NO_LOG: Final = (
    "the document of a did:key follows from the DID; `identity ledger verify DID` proves when its entry was recorded"
)

_EMPTY = "give what `identity did log get` wrote; where that failed, it has said why"


@click.command(name="verify", cls=Command)
@input_argument
@click.option("--witness-file", type=FILE_THERE, help="File did-witness.json of a did:webvh log with witnesses.")
@click.option("--did", help="DID to which the log must belong.")
@click.option(
    "--service-history",
    type=FILE_THERE,
    help="File that `identity ledger verify --save` wrote. The service's own log in it names the retired keys.",
)
@click.option(
    "--proof",
    "proofs",
    type=FILE_THERE,
    multiple=True,
    help="File that `identity ledger prove` wrote: the place of an entry of the log. It requires --service-history.",
)
@click.option("--require-named-keys", is_flag=True, help="Refuse keys that the service generated for the controller.")
@service_did_option
@require_service_log_option
@click.option("--at", metavar="TIME", help="RFC 3339 time at which the log is verified.  [default: now]")
@key_option
@click.option("--policy", type=FILE_THERE, help="File (tlog-policy) whose quorum must have cosigned the --proof.")
def verify(
    file: Any,
    witness_file: Path | None,
    did: str | None,
    service_history: Path | None,
    proofs: Sequence[Path],
    require_named_keys: bool,
    service_did: str | None,
    needs_service_log: bool,
    at: str | None,
    key_text: str | None,
    policy: Path | None,
) -> None:
    """Verify a log without the service: FILE contains JSON lines; - is standard input.

    An entry more than five minutes later than now (or than --at) is refused.

    A log does not show that its signing key was stolen and retired. With --service-history, --service-did and
    --key, an entry of a retired key is refused unless a --proof places it before the retirement.

    Changes without bound evidence are counted (unboundChanges). For such changes one signature of the controller is
    enough for the holder of the log key to record others. `identity did update --strict-evidence` ends this.

    A key that the service generated at a rotation or recovery is in no signature of the controller. The holder of
    the log key could replace it. Such keys are listed, and refused with --require-named-keys.
    """
    from identity_commands import verify_log

    from identity_core.domain.dids.state import LogInvalid, UnknownLogMethod

    if service_history is None and (proofs or policy is not None):
        raise click.UsageError("--proof and --policy go with --service-history")
    now = datetime.now(UTC) if at is None else member_time(at, "--at")
    missing = unchecked(service_history is not None and service_did is not None, needs_service_log, name_of(file))
    data = file.read()
    if not data.strip():
        fail("there is no log in it: it is empty", name_of(file), _EMPTY)
    try:
        approvals = None if witness_file is None else witness_file.read_bytes()
        checked = verify_log.verify(data, now=now + CLOCK_ALLOWANCE, witness_file=approvals)
        if did not in (None, checked.did):
            raise LogInvalid("It is the log of another DID.", details={"did": checked.did})
        lines = data.removesuffix(b"\n").split(b"\n")
        unnamed = verify_log.unnamed_keys(lines)
        if require_named_keys and unnamed is None:
            raise LogInvalid("Its entries do not show which keys the controller asked for.")
        if require_named_keys and unnamed:
            raise LogInvalid("The controller asked for no such key.", details={"line": unnamed[0].version})
        if service_history is not None:
            _require_places(checked.did, lines, service_history, service_did, proofs, key_text, policy)
    except UnknownLogMethod as error:
        fail(str(error), name_of(file), NO_LOG)
    except LogInvalid as error:
        where = f"{name_of(file)}, {json.dumps(error.details)}" if error.details else name_of(file)
        fail(f"the log is not valid: {error}", where, "do not trust this DID's history")
    told = None if unnamed is None else [{"version": one.version, "multikey": one.multikey} for one in unnamed]
    show(checked.summary() | {"unnamedKeys": told, "unchecked": missing}, text=_verdict)


def _require_places(
    did: str,
    lines: Sequence[bytes],
    service_history: Path,
    service_did: str | None,
    proofs: Sequence[Path],
    key_text: str | None,
    policy: Path | None,
) -> None:
    """Refuse entries of retired keys. Raises ``LogInvalid``: for such an entry. A missing proof ends the command."""
    from identity_tlog.leaf import verify_entry
    from identity_tlog.policy import NONE, WitnessPolicy
    from identity_tlog.proofs import TlogProof
    from identity_transparency.domain.history import LoggedHistory, require_places, retired_keys

    key = verifier_key(key_text)
    known = WitnessPolicy((), (), (), NONE) if policy is None else read_policy(policy)
    remedy = "do not trust it; the signer of the checkpoint can be held to it"
    place, what = str(service_history), "the service's own log is not proven"
    with failing((Malformed, Refuted), place, remedy, what=what), refused_key(place):
        kept = LoggedHistory.parse(service_history.read_bytes())
        trusted = kept.followed(key, service_did)
        signed = opened_checkpoint(kept.checkpoint, trusted, place)
        retired = retired_keys(kept.service_did or "", kept.service, signed)
    placed = []
    for path in proofs:
        with failing((Malformed, Refuted), str(path), remedy, what="the entry is not proven"):
            proof = TlogProof.parse(path.read_bytes())
            size = trusted.open(proof.checkpoint).checkpoint.size
            placed.append(verify_entry(proof, known, logs=trusted.keys.counting(size)).leaf)
    with failing(Refuted, ", ".join(map(str, proofs)), remedy, what="the proofs are not those of this log"):
        require_places(did, lines, placed, retired)


def _verdict(checked: dict[str, Any]) -> str:
    state = "deactivated" if checked["deactivated"] else "active"
    lines = [checked["did"], f"valid, {counted(checked['versions'], 'version')}, {state}"]
    if unbound := checked["unboundChanges"]:
        lines.append(f"unbound: {counted(unbound, 'change')}, see `identity did log verify --help`")
    for key in checked["unnamedKeys"] or ():
        lines.append(
            f"version {key['version']}: {key['multikey']} was made by the service, the controller has not named it"
        )
    return "\n".join(lines) + unchecked_text(checked)
