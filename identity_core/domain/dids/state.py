"""The state of a DID, and the versions that follow from it without a request.

The DID method determines the state after a change; ``logs.fold`` folds the entries of a log into states. A key in its grace period
stays in the document with ``revoked``. At that time the version without it exists by definition, even if it is not written yet. So
every reader computes ``find_grace_end`` and ``expired`` in the same way (openapi/DECISIONS.md §2.10).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, cast

import orjson
from msgspec import Struct

from identity_codec import multibase, times
from identity_codec.values import replace
from identity_core.domain.dids import keys
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.document import DidDocument, VerificationMethod
from identity_core.errors import IdentityError

CREATE: Final = "create"
UPDATE: Final = "update"
KEY_ROTATED: Final = "keyRotated"
KEY_EXPIRED: Final = "keyExpired"
RECOVERED: Final = "recovered"
DEACTIVATED: Final = "deactivated"
LOG_KEY_ROTATED: Final = "logKeyRotated"
LOG_KEY_RETIRED: Final = "logKeyRetired"

RECOVERY_WINDOW: Final = timedelta(hours=72)
"""The recovery window of a log whose first entry does not state one."""
MAX_RECOVERY_WINDOW: Final = timedelta(days=30)


class LogInvalid(IdentityError):
    """Error: a log entry does not follow from the entries before it."""

    code = "LOG_INVALID"
    message = "The log of the DID is not valid."


class UnknownLogMethod(LogInvalid):
    """Error: the verifier does not support the logs of the method, so the entries are neither valid nor invalid."""


class HistoryNeeded(LogInvalid):
    """Error: an entry restores an earlier version, and the state is not ``remembering``; the whole log must be folded."""

    message = "The entry restores a version that only the whole log tells."


class PastVersion(Struct, frozen=True):
    """A version that a recovery may restore: the end of its validity, its document, and its BBS keys with a proof of possession."""

    version_id: int
    until: datetime
    document: DidDocument
    proven_keys: tuple[str, ...] | None


class SpentChallenge(Struct, frozen=True):
    """The challenge of an entry, stored until its expiry so that the fold can refuse a second use."""

    digest: str
    expires_at: datetime


@dataclass(slots=True, unsafe_hash=True)
class DidState:
    """The state of a DID after the first ``version_id`` entries of its log.

    Times are aware UTC with microseconds. ``entry_hash`` is the hash part of the entry's webvh versionId, empty while no entry was
    written; ``operation`` the kind of the last change (create, update, keyRotated, keyExpired, recovered, deactivated,
    logKeyRotated, logKeyRetired).
    ``recovery_key`` is a multikey or None, ``update_keys`` are the multikeys that may sign entries.
    ``key_id`` is the absolute id of the key that authorised the last change (None for create and expiry; the recovery key's for recover).
    ``retired_keys`` are digests of the keys that were removed, rotated or used up: none of them may be added again. ``strict_grace``
    forbids key changes by keys in their grace period. It is fixed at creation, so that the log has one meaning under every setting.
    ``strict_evidence``, from creation or a later entry on, requires that the challenge of every change names its purpose and body, and
    that the entry has that body. ``unbound_changes`` is the number of changes that were recorded without it. It is None if the log has
    no evidence, or an older index row does not state it.
    ``recovery_window``, fixed at creation: a recovery may restore versions that were replaced within this time. ``past`` are these
    versions, oldest first; None if they are not loaded, as in a state from an index. ``restored`` is the version that the last change
    restored. Both are not part of the DID's state, so they are not compared.
    ``proven_keys`` are the multikeys of the BBS keys with a proof of possession, None while the log does not require it.
    ``next_key_hashes`` are the values of ``logs.key_hash`` to which the newest entry commits, none while the log does not pre-rotate.
    ``witness_version`` is the last version that changed the witnesses of the log, None if no version after the first did.
    ``unread`` (the text of the DID, and the metadata): the source of fields that a state from an index parses only when they are read.
    """

    did: Did
    version_id: int
    created_at: datetime
    updated_at: datetime
    operation: str
    entry_hash: str
    previous_hash: str | None
    document: DidDocument
    deactivated: bool = False
    recovery_key: str | None = None
    update_keys: tuple[str, ...] = ()
    key_id: str | None = None
    spent_challenges: tuple[SpentChallenge, ...] = ()
    retired_keys: tuple[str, ...] = ()
    strict_grace: bool = True
    proven_keys: tuple[str, ...] | None = None
    next_key_hashes: tuple[str, ...] = ()
    strict_evidence: bool = False
    unbound_changes: int | None = field(default=None, compare=False)
    recovery_window: timedelta = RECOVERY_WINDOW
    witness_version: int | None = None
    past: tuple[PastVersion, ...] | None = field(default=None, compare=False, repr=False)
    restored: int | None = field(default=None, compare=False, repr=False)
    unread: tuple[str, bytes] = field(init=False, compare=False, repr=False)

    def __getattr__(self, name: str) -> Any:
        """Parse the unread fields when Python reads an empty slot."""
        if name == "unread" or name not in DidState.__slots__:
            raise AttributeError(name)
        for field_name, value in _rest(*self.unread).items():
            object.__setattr__(self, field_name, value)
        return object.__getattribute__(self, name)


def digest(text: str) -> str:
    """Return eleven characters that identify a key or a challenge that must not be used again. They have 64 bits: a collision
    could only refuse a client's own fresh random value."""
    return multibase.base64url_encode(hashlib.sha256(text.encode()).digest()[:8])


def find_grace_end(state: DidState) -> datetime | None:
    """Return the end of the next grace period, or None."""
    # Most documents have no key in a grace period. Their bytes, which this service wrote, show it without parsing.
    if b'"revoked"' not in state.document.encoded:
        return None
    return min([method.revoked for method in state.document.methods if method.revoked is not None], default=None)


def expire(state: DidState, at: datetime) -> DidState:
    """Return the version without the keys whose grace period ends at ``at``; its entry is not written yet."""
    gone = [method for method in state.document.methods if method.revoked == at]
    return replace(
        state,
        version_id=state.version_id + 1,
        updated_at=at,
        operation=KEY_EXPIRED,
        entry_hash="",
        previous_hash=state.entry_hash or None,
        document=state.document.remove_keys({method.id for method in gone}),
        key_id=None,
        spent_challenges=unexpired(state.spent_challenges, at),
        retired_keys=state.retired_keys + tuple(digest(method.multibase) for method in gone),
        proven_keys=_remove_keys(state.proven_keys, gone),
        past=followed(state, at),
        restored=None,
    )


def remembering(first: DidState) -> DidState:
    """Return a first state whose successors have their past."""
    return replace(first, past=())


def followed(state: DidState, at: datetime) -> tuple[PastVersion, ...] | None:
    """Return the past of the state that replaces ``state`` at ``at``: ``state``, and past versions within the recovery window."""
    if state.past is None:
        return None
    now = PastVersion(state.version_id, at, state.document, state.proven_keys)
    return (*(known for known in state.past if at - known.until <= state.recovery_window), now)


def _remove_keys(proven: tuple[str, ...] | None, gone: Sequence[VerificationMethod]) -> tuple[str, ...] | None:
    names = {method.multibase for method in gone}
    return None if proven is None else tuple(key for key in proven if key not in names)


def expired(state: DidState, now: datetime) -> tuple[DidState, ...]:
    """Return the versions that exist by definition at ``now`` and follow ``state``, oldest first."""
    states = []
    while (at := find_grace_end(state)) is not None and at <= now:
        state = expire(state, at)
        states.append(state)
    return tuple(states)


def unexpired(spent: tuple[SpentChallenge, ...], at: datetime) -> tuple[SpentChallenge, ...]:
    """Return the challenges that could still be used."""
    return tuple(challenge for challenge in spent if challenge.expires_at > at)


def authentication_keys(state: DidState, at: datetime) -> tuple[str, ...]:
    """Return the multikeys that may sign a DIDAuth challenge at ``at``: those in ``authentication``, also in their grace period."""
    related = state.document.related(keys.AUTHENTICATION)
    methods = [method for method in state.document.methods if method.id in related]
    return tuple([each.multibase for each in methods if each.revoked is None or at < each.revoked])


FORM: Final = 2
"""The number of the form that ``state_to_json`` writes. Increase it when a member is added or changes its meaning, and list an added one
in ``_ADDED``. Form 1, and earlier forms, have no number."""
_MARK: Final = b'"form":%d,' % FORM
_ADDED: Final = {"proven", "next", "evidence", "window", "witness", "form", "unbound"}


def state_to_json(state: DidState) -> bytes:
    """Return the state without the document as JSON, for an index that stores the document's ``data`` separately."""
    # Omitted for logs without evidence, and for logs in which every change must be bound and all are.
    count = state.unbound_changes
    unbound = {} if count is None or (count == 0 and state.strict_evidence) else {"unbound": count}
    return orjson.dumps(
        {
            "form": FORM,
            "v": state.version_id,
            "created": times.micros(state.created_at),
            "updated": times.micros(state.updated_at),
            "operation": state.operation,
            "hash": state.entry_hash,
            "previous": state.previous_hash,
            "deactivated": state.deactivated,
            "recovery": state.recovery_key,
            "updateKeys": state.update_keys,
            "keyId": state.key_id,
            "spent": [(spent.digest, times.micros(spent.expires_at)) for spent in state.spent_challenges],
            "retired": state.retired_keys,
            "strict": state.strict_grace,
            "proven": state.proven_keys,
            "next": state.next_key_hashes,
            "evidence": state.strict_evidence,
            "window": state.recovery_window // timedelta(seconds=1),
            "witness": state.witness_version,
        }
        | unbound
    )


def counted(metadata: dict[str, Any]) -> int | None:
    """Return ``DidState.unbound_changes`` from the JSON of ``state_to_json``."""
    found: int | None = metadata.get("unbound", 0 if metadata.get("evidence") else None)
    return found


def has_present_form(metadata: bytes) -> bool:
    """Return whether the bytes, which are ours, are of form ``FORM``."""
    return _MARK in metadata


def is_earlier_form(metadata: bytes, present: bytes) -> bool:
    """Return whether the bytes, which are ours, are the form that an earlier release made of the entries of ``present``: no member
    differs, and only members that were added later are missing."""
    earlier: dict[str, Any] = orjson.loads(metadata)
    whole: dict[str, Any] = orjson.loads(present)
    earlier.pop("form", None)
    is_whole = whole.keys() - earlier.keys() <= _ADDED
    return is_whole and earlier.items() <= whole.items() and not has_present_form(metadata)


def state_from_json(did: str, metadata: bytes, document: bytes) -> DidState:
    """Return the state of ``did`` from the bytes of ``state_to_json`` and ``DidDocument.encoded``. They must come from this service's
    store: nothing is checked."""
    read = orjson.loads(metadata)
    # Any, because this function creates the value and is the only one that may assign its fields.
    state: Any = object.__new__(DidState)
    state.version_id, state.operation, state.deactivated = read["v"], read["operation"], read["deactivated"]
    state.created_at, state.updated_at = times.moment(read["created"]), times.moment(read["updated"])
    state.entry_hash, state.previous_hash, state.key_id = read["hash"], read["previous"], read["keyId"]
    state.unbound_changes = counted(read)
    state.document, state.unread = DidDocument.load(document), (did, metadata)
    return cast(DidState, state)


def _rest(did: str, metadata: bytes) -> dict[str, Any]:
    """Return the fields that are parsed on first use."""
    read = orjson.loads(metadata)
    _, method, identifier = did.split(":", 2)
    # Rows from before proofs of possession, pre-rotation, bound evidence, recovery windows and witnesses have no such members.
    proven = read.get("proven")
    return {
        "did": Did(did, method, identifier),
        "recovery_key": read["recovery"],
        "update_keys": tuple(read["updateKeys"]),
        "spent_challenges": tuple(SpentChallenge(name, times.moment(end)) for name, end in read["spent"]),
        "retired_keys": tuple(read["retired"]),
        "strict_grace": read["strict"],
        "proven_keys": None if proven is None else tuple(proven),
        "next_key_hashes": tuple(read.get("next", ())),
        "strict_evidence": read.get("evidence", False),
        "recovery_window": RECOVERY_WINDOW if "window" not in read else timedelta(seconds=read["window"]),
        "witness_version": read.get("witness"),
        **dict.fromkeys(("past", "restored")),
    }
