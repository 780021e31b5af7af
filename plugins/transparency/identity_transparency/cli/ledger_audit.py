"""``identity ledger audit`` and ``export``: check or store everything that a log holds."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import click
from identity_commands import verify_log
from identity_commands.terminal import progress
from identity_did_ids import service_log
from msgspec import structs

from identity_core.cli.output import Command, failing, show
from identity_core.domain.dids.logs import check_not_retired
from identity_core.domain.dids.state import LogInvalid
from identity_core.errors import LedgerUnavailable, StorageMismatch
from identity_tlog.leaf import read_head
from identity_tlog.note import Checkpoint
from identity_tlog.tiles import WIDTH, Tile, levels_of, tiles_of, unbundled
from identity_tlog.tree import Malformed, Refuted
from identity_transparency.cli.ledger_repair import compared
from identity_transparency.cli.sources import (
    LocalSource,
    LogSource,
    Missing,
    anchored_option,
    held_option,
    key_option,
    open_source,
    service_did_option,
    service_history_option,
    settings_of,
    source_options,
    unverified,
)
from identity_transparency.cli.trust import (
    FOLLOW,
    PRESENT,
    kept_checkpoints,
    kept_history,
    opened_checkpoint,
    require_service_log_option,
    trusted_log,
    unchecked,
    unchecked_text,
)
from identity_transparency.domain import gap_record
from identity_transparency.domain.audit import Audit, LogFault
from identity_transparency.domain.checkpoint_keys import ReplacedKeyAlone, TrustedLog
from identity_transparency.domain.history import IMMUTABLE, LoggedHistory, retired_keys

SHOWN = 20


@click.command(name="audit", cls=Command)
@source_options
@key_option
@held_option
@anchored_option
@service_did_option
@service_history_option
@require_service_log_option
@click.option("--logs", is_flag=True, help="Verify each signature of the log of every DID too.")
@click.option("--index/--no-index", default=True, help="Compare the index of this installation with the ledger.")
def audit(
    key_text: str | None,
    held: Sequence[Path],
    anchored: Sequence[Path],
    logs: bool,
    index: bool,
    service_did: str | None,
    service_history: Path | None,
    needs_service_log: bool,
    **where: Any,
) -> None:
    """Verify each entry, block, tile and checkpoint of a log: of a service, an exported directory, or this
    installation.

    For this installation, each row of the document index is compared with the ledger too. The exit code is 1 if
    there is a fault; each has a kind and a place. Only a stored checkpoint (--held) shows a log that was cut or
    rewritten.
    """
    started, later = time.monotonic(), kept_history(service_history)
    with open_source(**where) as source:
        first: list[LogFault] = []
        trusted, checkpoint = _checkpoint(source, (key_text, service_did, later), first)
        kept = kept_checkpoints(held, anchored, trusted.keys)
        known = None if later is None else _proven(later, trusted)
        dids: dict[bytes, list[tuple[int, bytes]]] | None = {} if logs or needs_service_log else None
        with progress(range(checkpoint.size), "entries") as bar:
            findings = first + examine(source, checkpoint, kept, bar.update, dids)
        own = service_did or source.service_did() or (None if later is None else later.service_did)
        has_log = service_did is not None and (later is not None or service_did.encode() in (dids or {}))
        missing = unchecked(has_log or isinstance(source, LocalSource), needs_service_log, source.place)
        if dids is not None:
            retired, unread = _retired(dids, own, known)
            findings += unread + (_logs_findings(dids, retired) if logs else [])
    indexed = None
    if index and isinstance(source, LocalSource):
        with progress(range(checkpoint.size), "DIDs") as bar:
            indexed, differing = compared(settings_of(**where), lambda: bar.update(1))
        findings += differing
    body = {
        "sound": not findings,
        "log": checkpoint.origin,
        "entries": checkpoint.size,
        "held": len(kept),
        "dids": len(dids) if logs and dids is not None else None,
        "indexed": indexed,
        "unchecked": missing if logs else [],
        "findings": [structs.asdict(one) for one in findings],
        "seconds": round(time.monotonic() - started, 3),
    }
    show(body, text=lambda _: _report(source.place, body, findings))
    if findings:
        raise SystemExit(1)


def examine(
    source: LogSource,
    checkpoint: Checkpoint,
    held: Sequence[Checkpoint],
    advance: Callable[[int], None],
    dids: dict[bytes, list[tuple[int, bytes]]] | None = None,
) -> list[LogFault]:
    """Feed the auditor. ``dids`` receives the entries of each DID."""
    auditor = Audit(checkpoint, held)
    for tile, bundle in zip(tiles_of(checkpoint.size, 0), tiles_of(checkpoint.size, None), strict=True):
        try:
            entries = unbundled(source.tile(bundle))
        except (Missing, Malformed) as error:
            auditor.missing(bundle, str(error))
            break
        auditor.feed(entries, _fetched(source, tile, auditor) or b"")
        if dids is not None:
            _collect(dids, entries)
        advance(len(entries))
        if len(entries) != tile.width:
            break
    if auditor.size == checkpoint.size:
        for level in range(1, levels_of(checkpoint.size)):
            for tile in tiles_of(checkpoint.size, level):
                if (data := _fetched(source, tile, auditor)) is not None:
                    auditor.compare_tile(tile, data)
    auditor.close()
    return auditor.findings


def _fetched(source: LogSource, tile: Tile, auditor: Audit) -> bytes | None:
    try:
        return source.tile(tile)
    except Missing as error:
        auditor.missing(tile, str(error))
        return None


def _checkpoint(
    source: LogSource, known: tuple[str | None, str | None, LoggedHistory | None], findings: list[LogFault]
) -> tuple[TrustedLog, Checkpoint]:
    """Return the log, and the checkpoint to audit against. An untrusted one is a finding and still states what to read."""
    if isinstance(source, LocalSource):
        # What the database holds is the question; that its custodian can sign it is none.
        try:
            source.bring_up()
        except (LedgerUnavailable, StorageMismatch) as error:
            findings.append(LogFault("contradiction", f"log of {source.stored().size}", str(error)))
        return trusted_log(source, b"", *known), source.stored()
    data = source.note()
    with failing(Malformed, source.place, "name a log with --url, --dir or --data-dir", what="there is no checkpoint"):
        trusted, checkpoint = trusted_log(source, data, *known), unverified(data)
        try:
            trusted.open(data)
        except ReplacedKeyAlone as error:
            findings.append(LogFault("signature", "checkpoint", f"{error}; {PRESENT}"))
        except Refuted as error:
            findings.append(LogFault("signature", "checkpoint", f"{error}; {FOLLOW}"))
    return trusted, checkpoint


def _collect(dids: dict[bytes, list[tuple[int, bytes]]], entries: Sequence[bytes]) -> None:
    for entry in entries:
        try:
            head = read_head(entry)
        except Malformed:
            # The auditor has a finding for it.
            continue
        if not head.did.startswith(gap_record.SUBJECT.encode()):
            dids.setdefault(head.did, []).append((head.sequence - 1, entry[head.entry_at :]))


def _retired(
    dids: Mapping[bytes, Sequence[tuple[int, bytes]]], service_did: str | None, later: Mapping[str, int] | None
) -> tuple[Mapping[str, int], list[LogFault]]:
    """Return the keys that the log of the service's own DID retires, with those of a ``later`` one, and the faults of that log."""
    known = dict(later or {})
    lines = [entry for _, entry in dids.get((service_did or "").encode(), ())]
    if service_did is None or (later is not None and not lines):
        return known, []
    try:
        here = service_log.read(lines).retired
    except LogInvalid as error:
        return known, [LogFault("log", service_did, f"the service log does not hold: {error}")]
    return known | {one: min(size, known.get(one, size)) for one, size in here.items()}, []


def _proven(later: LoggedHistory, trusted: TrustedLog) -> dict[str, int]:
    """Return the keys that the service log in ``later`` retires, proven in its own checkpoint. A missing proof ends the command."""
    place = "--service-history"
    signed = opened_checkpoint(later.checkpoint, trusted, place)
    with failing((Malformed, Refuted, LogInvalid), place, "do not trust it", what="the service log is not proven"):
        return dict(retired_keys(later.service_did or "", later.service, signed))


def _logs_findings(dids: Mapping[bytes, Sequence[tuple[int, bytes]]], retired: Mapping[str, int]) -> list[LogFault]:
    """Return the faults in the log of each DID."""
    with progress(dids.items(), "logs") as lines:
        return [found for did, entries in lines for found in _log_findings(did, entries, retired)]


def _log_findings(did: bytes, entries: Sequence[tuple[int, bytes]], retired: Mapping[str, int]) -> list[LogFault]:
    name = did.decode("utf-8", "replace")
    if name.startswith(IMMUTABLE):
        return []
    try:
        if verify_log.verify(b"\n".join(entry for _, entry in entries), approved=False).did != name:
            return [LogFault("log", name, "its entries are those of another DID")]
        for index, entry in entries:
            check_not_retired(retired, entry, index)
    except LogInvalid as error:
        return [LogFault("log", name, f"{error} {dict(error.details)}")]
    return []


def _report(place: str, body: dict[str, Any], findings: Sequence[LogFault]) -> str:
    logs = "not checked (--logs)" if body["dids"] is None else f"{body['dids']} DIDs"
    logs += "" if body["indexed"] is None else f"; index: {body['indexed']} DIDs"
    held = f"; {body['held']} kept checkpoints" if body["held"] else ""
    head = f"{body['log']} at {place}: {body['entries']} entries in {body['seconds']} s; logs: {logs}{held}"
    if not findings:
        return f"{head}\nsound{unchecked_text(body)}"
    lines = [f"  {one.kind:<13} {one.where}: {one.says}" for one in findings[:SHOWN]]
    more = [f"  … and {len(findings) - SHOWN} more (--json shows all)"] if len(findings) > SHOWN else []
    return "\n".join([head, f"{len(findings)} findings", *lines, *more])


@click.command(name="export", cls=Command)
@click.argument("target", type=click.Path(path_type=Path, file_okay=False))
@source_options
def export(target: Path, **where: Any) -> None:
    """Write a log to the directory TARGET in the layout of C2SP tlog-tiles, the input of `audit --dir`.

    Existing files stay, so a second export fetches only new ones. The checkpoint is written last.
    """
    with open_source(**where) as source, failing((Missing, Malformed), source.place, "name a complete source"):
        note = source.note()
        size = unverified(note).size
        levels: list[int | None] = [None, *range(levels_of(size))]
        # Counted, not listed: the size is not verified.
        count = sum(-(-(size // WIDTH ** (level or 0)) // WIDTH) for level in levels)
        with progress(range(count), "tiles") as bar:
            for tile in chain.from_iterable(tiles_of(size, level) for level in levels):
                path = target / "tile" / tile.path
                if not path.exists():
                    _write(path, source.tile(tile))
                bar.update(1)
    _write(target / "checkpoint", note)
    body = {"directory": str(target), "entries": size, "files": count + 1}
    show(body, text="{entries} entries in {directory}, {files} files")


def _write(path: Path, data: bytes) -> None:
    """Write a file completely or not at all, so that an interrupted export can continue."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_bytes(data)
    part.replace(path)
