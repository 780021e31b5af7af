"""What a plain did:webvh entry tells: from document to document, where our own logs go from change to change.

A did:webvh log has no member for evidence or for the kind of a change, and strict readers refuse members that the standard does
not know. So the kind is concluded from what has changed, and what no entry shows (whose signature asked for it, which
challenges were used) is not in the state either. Drafting and applying both go through here, so they cannot disagree.

The recovery key is the second of ``updateKeys``: there every reader sees it, and its holder can carry on the log alone.
All errors are ``LogInvalid`` or ``InvalidDocument``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from identity_core.domain.dids import evolution
from identity_core.domain.dids import state as history
from identity_core.domain.dids.changes import Change, Create, Deactivate, NewService, Recover
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.document import DidDocument
from identity_core.domain.dids.keys import Key
from identity_core.domain.dids.log import webvh
from identity_core.domain.dids.log.entry import PLACEHOLDER
from identity_core.domain.dids.state import DidState, LogInvalid

STRICT_GRACE: Final = True

Parameters = Mapping[str, Any]


def parameters(before: DidState | None, change: Change) -> dict[str, Any]:
    """What the entry of ``change`` says under ``parameters``; ``before`` is None for a creation."""
    match change:
        case Create():
            return {
                "method": webvh.VERSION,
                "scid": PLACEHOLDER,
                "updateKeys": _update_keys(change.update_keys, change.recovery_key),
            }
        case Recover() if before is not None:
            return {"updateKeys": _update_keys(before.update_keys, change.recovery_key)}
        case Deactivate():
            return {"deactivated": True, "updateKeys": []}
        case _:
            return {}


def _update_keys(signers: tuple[str, ...], recovery_key: str | None) -> list[str]:
    return [*signers, *(() if recovery_key is None else (recovery_key,))]


def begin(did: Did, said: Parameters, document: DidDocument, at: datetime) -> DidState:
    """The first state. ``said`` are the entry's parameters."""
    update_keys = _texts(said.get("updateKeys"))
    scid = did.identifier.partition(":")[0]
    if not 1 <= len(update_keys) <= 2 or said != {"method": webvh.VERSION, "scid": scid, "updateKeys": update_keys}:
        raise LogInvalid("The parameters are not those of a first entry of ours.")
    creation = Create(
        keys=tuple(Key(m.type, m.multibase, document.purposes(m.id)) for m in document.methods),
        update_keys=(update_keys[0],),
        services=tuple(NewService(s.type, s.endpoint, s.fragment) for s in document.services),
        also_known_as=document.also_known_as,
        recovery_key=update_keys[1] if len(update_keys) == 2 else None,
    )
    _require_two(update_keys)
    state = evolution.create(did, creation, at, strict_grace=STRICT_GRACE)
    if state.document != document:
        raise LogInvalid("The document is not one that a creation makes.")
    return state


def proceed(before: DidState, said: Parameters, document: DidDocument, at: datetime) -> DidState:
    """The state after a later entry, without its hash."""
    if before.deactivated:
        raise LogInvalid("The DID was deactivated before this entry.")
    if at <= before.updated_at:
        raise LogInvalid("The entry is not later than the one before.")
    if document.did != str(before.did):
        raise LogInvalid("The document is of another DID.")
    ends = history.due(before)
    if ends is not None and ends <= at:
        return _expired(before, said, document, at)
    if said.get("deactivated") is True:
        return _ended(before, said, document, at)
    recovery_key = _recovery_key(before, said)
    operation = _operation(before, document, at)
    if recovery_key is not None:
        evolution.check_recovery_key(recovery_key, document)
    return replace(
        before,
        version_id=before.version_id + 1,
        updated_at=at,
        operation=operation if recovery_key == before.recovery_key else history.RECOVERED,
        entry_hash="",
        previous_hash=before.entry_hash or None,
        document=document,
        recovery_key=recovery_key,
        key_id=None,
        retired_keys=before.retired_keys + evolution.retired(before, document, recovery_key),
    )


def _expired(before: DidState, said: Parameters, document: DidDocument, at: datetime) -> DidState:
    after = history.expire(before, at)
    if at != history.due(before) or said or document != after.document:
        raise LogInvalid("A grace period has ended, and the entry does not say so.")
    return after


def _ended(before: DidState, said: Parameters, document: DidDocument, at: datetime) -> DidState:
    if said != {"deactivated": True, "updateKeys": []} or document != DidDocument(str(before.did), (), ()):
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
        key_id=None,
        retired_keys=(),
    )


def _recovery_key(before: DidState, said: Parameters) -> str | None:
    """The recovery key in force after the entry: another one when it was used, else the same."""
    if not said:
        return before.recovery_key
    update_keys = _texts(said.get("updateKeys"))
    if before.recovery_key is None or said.keys() != {"updateKeys"} or update_keys[:-1] != [before.update_keys[0]]:
        raise LogInvalid("The parameters are not those of a recovery.")
    evolution.require_new(before, update_keys[-1])
    _require_two(update_keys)
    return update_keys[-1]


def _texts(value: object) -> list[str]:
    if type(value) is not list or not all(type(text) is str for text in value):
        raise LogInvalid("updateKeys is not a list of texts.")
    return value


def _require_two(update_keys: list[str]) -> None:
    if len(set(update_keys)) != len(update_keys):
        raise LogInvalid("The recovery key is the key that signs the log.")


def _operation(before: DidState, document: DidDocument, at: datetime) -> str:
    """What was done, concluded from the documents: a rotation is one key for another, and nothing else.

    Keys that are gone never come back, a grace period neither begins without a rotation nor changes, and somebody is left who
    controls the DID.
    """
    evolution.check(document)
    known = {method.id: method for method in before.document.methods}
    added, fading = [], []
    for method in document.methods:
        old = known.get(method.id)
        if old is None and method.revoked is None:
            evolution.require_new(before, method.multibase)
            added.append(method.id)
        elif old is not None and old.revoked is None and method.revoked is not None and method.revoked > at:
            fading.append(method.id)
        elif method != old:
            raise LogInvalid("A grace period begins or ends otherwise than by a rotation.")
    gone = [name for name in known if document.method(name) is None]
    if fading and (len(fading) > 1 or len(added) != 1):
        raise LogInvalid("A grace period begins otherwise than by a rotation.")
    kept = (document.services, document.also_known_as) == (before.document.services, before.document.also_known_as)
    swapped = len(added) == 1 and len(gone) + len(fading) == 1 and all(known[name].revoked is None for name in gone)
    return history.KEY_ROTATED if kept and swapped else history.UPDATE
