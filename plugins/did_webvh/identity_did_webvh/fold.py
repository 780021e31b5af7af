"""The content of a plain did:webvh entry: from document to document, where our own logs go from change to change.

A did:webvh log has no member for evidence or for the kind of a change, and strict readers refuse members that the standard does
not know. So the kind is concluded from what has changed, and what no entry shows (whose signature asked for it, which
challenges were used) is not in the state either. Drafting and applying both go through here, so they cannot disagree.

Where a log pre-rotates, ``updateKeys`` is the log key alone, and the last of ``nextKeyHashes`` is the hash of the recovery key: its
holder can carry on the log alone. The proof of the entry that brings a recovery key names it (``RECOVERY_KEY``), which its hash does not
reveal. In logs of before, the recovery key is the second of ``updateKeys``. All errors are ``LogInvalid`` or ``InvalidDocument``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from identity_did_ids import change_json, evolution, log_keys, past
from identity_did_ids.entry import PLACEHOLDER

from identity_codec.values import replace
from identity_core.domain.dids import state as history
from identity_core.domain.dids.changes import Change, Create, Deactivate, Recover
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.document import DidDocument
from identity_core.domain.dids.logs import NEXT_KEY_HASHES, LogKeys, key_hash
from identity_core.domain.dids.state import DidState, LogInvalid
from identity_core.errors import InvalidDocument
from identity_did_webvh import log as webvh
from identity_did_webvh import witnesses
from identity_did_webvh.conclusion import concluded

RECOVERY_KEY: Final = "recoveryKey"
RULES: Final = evolution.Rules(strict_grace=True)
"""The log has no room to say others: keys in grace are held back, and a recovery reaches back 72 hours."""

Parameters = Mapping[str, Any]


def parameters(before: DidState | None, change: Change, next_keys: LogKeys | None) -> dict[str, Any]:
    """Return the ``parameters`` of the entry of ``change``; ``before`` is None for a creation, ``next_keys`` as for the
    method's ``draft``."""
    keys = _build_key_parameters(before, change, next_keys)
    match change:
        case Create():
            first = {"method": webvh.VERSION, "scid": PLACEHOLDER} | witnesses.parameter(change)
            return first | (keys or {"updateKeys": _update_keys(change.update_keys, change.recovery_key)})
        case Deactivate():
            return {"deactivated": True, "updateKeys": []} | keys
        case Recover() if before is not None and not keys:
            return {"updateKeys": _update_keys(before.update_keys, change.recovery_key)}
        case _:
            return witnesses.parameter(change) | keys


def recovery_key_of(change: Change, said: Parameters) -> str | None:
    """Return the recovery key that the proof of the entry names. Its parameters, ``said``, contain only the hash."""
    if isinstance(change, Create | Recover) and NEXT_KEY_HASHES in said:
        return change.recovery_key
    return None


def _build_key_parameters(before: DidState | None, change: Change, next_keys: LogKeys | None) -> dict[str, Any]:
    """Return the keys of a log that pre-rotates or begins to; nothing for one of before."""
    pre_rotates = before is not None and bool(before.next_key_hashes)
    if before is not None and pre_rotates and next_keys is None:
        next_keys = LogKeys(before.update_keys, _of_log_keys(before))
    if next_keys is None:
        return {}
    if isinstance(change, Deactivate):
        # A log that never pre-rotated ends without it; one that does still names the key that ends it.
        return LogKeys(next_keys.update_keys).parameters() if pre_rotates else {}
    recovery_key = None if before is None else before.recovery_key
    if isinstance(change, Create | Recover):
        recovery_key = change.recovery_key
    recovery = () if recovery_key is None else (key_hash(recovery_key),)
    return LogKeys(next_keys.update_keys, (*next_keys.next_key_hashes, *recovery)).parameters()


def _of_log_keys(state: DidState) -> tuple[str, ...]:
    """Return the hashes of the next keys without that of the recovery key."""
    return state.next_key_hashes if state.recovery_key is None else state.next_key_hashes[:-1]


def _update_keys(signers: tuple[str, ...], recovery_key: str | None) -> list[str]:
    return [*signers, *(() if recovery_key is None else (recovery_key,))]


def begin(did: Did, said: Parameters, document: DidDocument, at: datetime, named: str | None = None) -> DidState:
    """Return the first state. ``said`` are the entry's parameters, ``named`` is the recovery key that its proof names."""
    keys = log_keys.read(None, said)
    if keys is None:
        raise LogInvalid("The first entry lacks updateKeys.")
    update_keys, recovery_key = keys.update_keys, named
    if not keys.next_key_hashes:
        update_keys, recovery_key = keys.update_keys[:1], keys.update_keys[1] if len(keys.update_keys) == 2 else None
    first = {"method": webvh.VERSION, "scid": did.identifier.partition(":")[0]}
    first |= witnesses.read(said, first=True)
    expected = keys.parameters() if keys.next_key_hashes else {"updateKeys": list(keys.update_keys)}
    if (
        not 1 <= len(keys.update_keys) <= 2
        or said != first | expected
        or (named is not None and not keys.next_key_hashes)
    ):
        raise LogInvalid("The parameters are not those of a first entry of ours.")
    creation = change_json.read_creation(document, update_keys, recovery_key)
    _require_two(keys.update_keys)
    state = evolution.create(did, creation, at, replace(RULES, contexts=document.contexts))
    # Its entries hold no evidence, so there is none to count.
    state = replace(state, unbound_changes=None)
    if state.document != document:
        raise LogInvalid("The document is not one that a creation makes.")
    return _keyed(None, state, keys) if keys.next_key_hashes else state


def _keyed(before: DidState | None, after: DidState, keys: LogKeys) -> DidState:
    """Return the state of a log that pre-rotates. One key signs, its own hash and that of the recovery key are among those of the
    next."""
    log_keys.require_committed(before, keys)
    recovery = None if after.recovery_key is None else key_hash(after.recovery_key)
    if len(keys.update_keys) != 1 or keys.update_keys == (after.recovery_key,):
        raise LogInvalid("One key signs the log, and it is not the recovery key.")
    if recovery is not None and keys.next_key_hashes[-1:] != (recovery,):
        raise LogInvalid("The last hash of nextKeyHashes is not that of the recovery key.")
    after = replace(after, update_keys=keys.update_keys, next_key_hashes=keys.next_key_hashes)
    if not _of_log_keys(after):
        raise LogInvalid("nextKeyHashes names no log key.")
    return after


def proceed(
    before: DidState, said: Parameters, document: DidDocument, at: datetime, named: str | None = None
) -> DidState:
    """Return the state after a later entry, without its hash; ``said`` and ``named`` as for ``begin``."""
    if before.deactivated:
        raise LogInvalid("The DID was deactivated before this entry.")
    if at <= before.updated_at:
        raise LogInvalid("The entry is not later than the one before.")
    if document.did != str(before.did):
        raise LogInvalid("The document is of another DID.")
    ends = history.find_grace_end(before)
    if ends is not None and ends <= at:
        return _expired(before, said, document, at)
    if said.get("deactivated") is True:
        return _ended(before, said, document, at)
    witness, said = witnesses.read(said, first=False), {name: said[name] for name in said if name != witnesses.WITNESS}
    keys = log_keys.read(before, said) if NEXT_KEY_HASHES in said else None
    recovery_key = _recovery_key(before, said, keys, named)
    recovers = recovery_key != before.recovery_key
    operation, restored = _outcome(before, document, at, keys, recovers=recovers, says_witnesses=bool(witness))
    if recovery_key is not None:
        evolution.check_recovery_key(recovery_key, document)
    after = replace(
        before,
        version_id=before.version_id + 1,
        updated_at=at,
        operation=operation,
        entry_hash="",
        previous_hash=before.entry_hash or None,
        document=document,
        recovery_key=recovery_key,
        key_id=None,
        retired_keys=_retired(before, document) + evolution.retired(before, document, recovery_key),
        witness_version=before.version_id + 1 if witness else before.witness_version,
        past=history.followed(before, at),
        restored=restored,
    )
    return after if keys is None else _keyed(before, after, keys)


def _outcome(
    before: DidState, document: DidDocument, at: datetime, keys: LogKeys | None, *, recovers: bool, says_witnesses: bool
) -> tuple[str, int | None]:
    """Return the kind of the change, and the version that it has restored."""
    if recovers and says_witnesses:
        raise LogInvalid("A recovery leaves the witnesses as they are.")
    if recovers:
        return history.RECOVERED, _recovered(before, document, at)
    operation = concluded(before, document, at)
    moved = keys is not None and bool(before.next_key_hashes) and not set(keys.update_keys) & set(before.update_keys)
    if says_witnesses:
        operation = history.UPDATE
    elif moved and document == before.document:
        operation = history.LOG_KEY_ROTATED
    return operation, None


def _retired(before: DidState, document: DidDocument) -> tuple[str, ...]:
    """Return the keys of before that stay retired: those that a recovery has brought back do not."""
    back = {history.digest(method.multibase) for method in document.methods}
    return tuple(known for known in before.retired_keys if known not in back)


def _recovered(before: DidState, document: DidDocument, at: datetime) -> int | None:
    """Return the version that a recovery restored, None if it continued from the document before it. It is found by the keys that remain
    and by whether the services are unchanged; where both could be, it is no restoration."""
    try:
        concluded(before, document, at)
        return None
    except (LogInvalid, InvalidDocument):
        if before.past is None:
            raise history.HistoryNeeded from None
        for known in reversed(before.past):
            if at - known.until <= before.recovery_window and _restores(before, known.version_id, document, at):
                return known.version_id
        raise


def _restores(before: DidState, version_id: int, document: DidDocument, at: datetime) -> bool:
    """Return whether the document is that of the version and one new key."""
    base = past.restorable(before, version_id, at).document
    kept = [method for method in document.methods if base.method(method.id) is not None]
    new = [method for method in document.methods if base.method(method.id) is None]
    if kept != list(base.methods) or len(new) != 1 or new[0].revoked is not None:
        return False
    evolution.require_new(before, new[0].multibase)
    return (document.services, document.also_known_as) == (base.services, base.also_known_as)


def _expired(before: DidState, said: Parameters, document: DidDocument, at: datetime) -> DidState:
    after = history.expire(before, at)
    keys = log_keys.read(before, said) if before.next_key_hashes else None
    stated = {} if keys is None else keys.parameters()
    if at != history.find_grace_end(before) or said != stated or document != after.document:
        raise LogInvalid("A grace period has ended, and the entry does not say so.")
    return after if keys is None else _keyed(before, after, keys)


def _ended(before: DidState, said: Parameters, document: DidDocument, at: datetime) -> DidState:
    keys = log_keys.read(before, said) if before.next_key_hashes else LogKeys(())
    expected = LogKeys(() if keys is None else keys.update_keys)
    log_keys.require_committed(before, expected)
    ending = expected.parameters() if before.next_key_hashes else {"updateKeys": []}
    one_key = len(expected.update_keys) == (1 if before.next_key_hashes else 0)
    if not one_key or said != {"deactivated": True} | ending or document != DidDocument(str(before.did), (), ()):
        raise LogInvalid("A deactivation leaves nothing but the DID.")
    return replace(
        before,
        version_id=before.version_id + 1,
        updated_at=at,
        operation=history.DEACTIVATED,
        entry_hash="",
        previous_hash=before.entry_hash or None,
        document=document,
        deactivated=True,
        recovery_key=None,
        update_keys=(),
        next_key_hashes=(),
        key_id=None,
        retired_keys=(),
        past=history.followed(before, at),
        restored=None,
    )


def _recovery_key(before: DidState, said: Parameters, keys: LogKeys | None, named: str | None) -> str | None:
    """Return the recovery key in force after the entry: another one when it was used, else the same."""
    if keys is not None:
        if said != keys.parameters() or (named is not None and before.recovery_key is None):
            raise LogInvalid("The parameters are not those of an entry of ours.")
        if named is not None:
            evolution.require_new(before, named)
        return named or before.recovery_key
    if before.next_key_hashes or named is not None:
        raise LogInvalid("With pre-rotation every entry says updateKeys and nextKeyHashes.")
    if not said:
        return before.recovery_key
    update_keys = log_keys.read_texts(said, "updateKeys")
    if before.recovery_key is None or said.keys() != {"updateKeys"} or update_keys[:-1] != before.update_keys[:1]:
        raise LogInvalid("The parameters are not those of a recovery.")
    evolution.require_new(before, update_keys[-1])
    _require_two(update_keys)
    return update_keys[-1]


def _require_two(update_keys: tuple[str, ...]) -> None:
    if len(set(update_keys)) != len(update_keys):
        raise LogInvalid("The recovery key is the key that signs the log.")
