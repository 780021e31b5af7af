"""The rules of openapi/DECISIONS.md §2 as one pure function from state and change to the next state.

Every change passes through this module: the use cases draft with it, and the fold of a log runs it again and compares. It signs and
hashes nothing, so the state that it returns has no entry hash yet."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from identity_codec.values import replace
from identity_core.domain.dids import document as documents
from identity_core.domain.dids import keys
from identity_core.domain.dids import state as history
from identity_core.domain.dids.changes import (
    AddService,
    AddVerificationMethod,
    Change,
    Create,
    Deactivate,
    Expire,
    OfLogKey,
    Operation,
    Recover,
    RemoveService,
    RemoveVerificationMethod,
    RetireLogKey,
    Rotate,
    RotateLogKey,
    SetAlsoKnownAs,
    SetStrictEvidence,
    SetWitnesses,
    Update,
    UpdateService,
    has_step,
)
from identity_core.domain.dids.did import SERVICE_CONTEXTS, Did
from identity_core.domain.dids.document import DidDocument
from identity_core.domain.dids.keys import Key, PublicKey
from identity_core.domain.dids.state import DidState, digest
from identity_core.errors import DidDeactivated, DidExists, DidNotFound, InvalidDocument, VersionConflict
from identity_did_ids import evidence, past
from identity_did_ids.evidence import Authorized
from identity_did_ids.revision import Revision

MAX_UPDATE_KEYS: Final = 10
MAX_OPERATIONS: Final = 50


class Rules(Struct, frozen=True):
    """The rules that an operator sets: ``max_grace`` is the longest grace period; the next three are initial rules of new DIDs
    (``DidState``).

    ``witnesses``: entries of the method can name witnesses. ``contexts``: service contexts that a document may list in addition to
    those of the one before; of an entry that is read, those of its own document.
    """

    max_grace: timedelta = timedelta(days=90)
    strict_grace: bool = True
    strict_evidence: bool = False
    recovery_window: timedelta = history.RECOVERY_WINDOW
    witnesses: bool = False
    contexts: Collection[str] = SERVICE_CONTEXTS


def create(did: Did, change: Create, at: datetime, rules: Rules) -> DidState:
    """Return the first state of ``did``. Raises ``InvalidDocument``."""
    if not timedelta(0) <= rules.recovery_window <= history.MAX_RECOVERY_WINDOW:
        raise InvalidDocument("recoveryWindow is 0 to 2592000 seconds.", details={"member": "recoveryWindow"})
    revision = Revision(str(did), [], {}, [], change.also_known_as, rules.contexts)
    for key in change.keys:
        revision.add_key(key)
    for service in change.services:
        revision.add_service(service)
    document = _finished(revision)
    if change.recovery_key is not None:
        check_recovery_key(change.recovery_key, document)
    if not 0 < len(change.update_keys) <= MAX_UPDATE_KEYS or len(set(change.update_keys)) != len(change.update_keys):
        raise InvalidDocument("The keys that may sign entries are missing, too many, or there twice.")
    for key_text in change.update_keys:
        PublicKey.parse(keys.ED25519.name, key_text)
    return DidState(
        did=did,
        version_id=1,
        created_at=at,
        updated_at=at,
        operation=history.CREATE,
        entry_hash="",
        previous_hash=None,
        document=document,
        recovery_key=change.recovery_key,
        update_keys=change.update_keys,
        strict_grace=rules.strict_grace,
        strict_evidence=rules.strict_evidence,
        recovery_window=rules.recovery_window,
        unbound_changes=0,
    )


def evolve(state: DidState | None, change: Change, at: datetime, *, rules: Rules, did: Did | None = None) -> DidState:
    """Return the state after ``change`` at the time ``at``; for a ``Create`` the first state of ``did``. A recovery that restores a
    version needs a state with its past (``state.remembering``).

    Raises ``InvalidDocument``; ``DidNotFound`` for an unknown version to restore; ``DidDeactivated`` after the end; ``AuthFailed``
    and ``Forbidden`` when the authorization is insufficient; ``VersionConflict`` when a grace period has ended by ``at`` and its
    version is not recorded yet.
    """
    if isinstance(change, Create):
        if state is not None or did is None:
            raise DidExists
        return create(did, change, at, rules)
    if state is None:
        raise DidNotFound
    if state.deactivated:
        raise DidDeactivated(details={"did": str(state.did)})
    if at <= state.updated_at:
        raise InvalidDocument("The time of a version is later than that of the version before.")
    ends = history.find_grace_end(state)
    if isinstance(change, Expire):
        if ends is None or at != ends:
            raise InvalidDocument("No grace period ends at this time.")
        return history.expire(state, at)
    if ends is not None and ends <= at:
        raise VersionConflict(details={"did": str(state.did), "versionId": state.version_id + 1})
    if isinstance(change, RotateLogKey | RetireLogKey):
        return _of_log_key(state, change, at)
    return _authorized(state, change, at, rules)


def _of_log_key(state: DidState, change: OfLogKey, at: datetime) -> DidState:
    """Return the state with the same document. ``log_keys`` decides which key signs."""
    if isinstance(change, RetireLogKey):
        PublicKey.parse(keys.ED25519.name, change.multikey)
        if digest(change.multikey) not in state.retired_keys or change.multikey in state.update_keys:
            raise InvalidDocument("A key is retired after another has taken the log over from it.")
        if not 0 < change.tree_size < 2**53:
            raise InvalidDocument("A tree has at least the entries of this log.")
    return replace(
        state,
        version_id=state.version_id + 1,
        updated_at=at,
        operation=history.LOG_KEY_ROTATED if isinstance(change, RotateLogKey) else history.LOG_KEY_RETIRED,
        entry_hash="",
        previous_hash=state.entry_hash or None,
        key_id=None,
        spent_challenges=history.unexpired(state.spent_challenges, at),
    )


def _authorized(state: DidState, change: Authorized, at: datetime, rules: Rules) -> DidState:
    spent = evidence.admit(state, change, at, strict=state.strict_grace)
    recovery_key, restored, retired_keys, proven = state.recovery_key, None, state.retired_keys, state.proven_keys
    match change:
        case Update():
            operation, document = history.UPDATE, _update(state, change, rules)
        case Rotate():
            operation, document = history.KEY_ROTATED, _rotate(state, change, at, rules)
        case Recover():
            restored, recovery_key = change.restore_version, change.recovery_key
            start = past.restorable(state, state.version_id if restored is None else restored, at)
            operation, document = history.RECOVERED, _recover(state, change, start.document, rules)
            if restored is not None:
                back = {digest(method.multibase) for method in document.methods}
                retired_keys = tuple(known for known in retired_keys if known not in back)
                proven = None if proven is None else (*proven, *(start.proven_keys or ()))
        case Deactivate():
            operation, document, recovery_key = history.DEACTIVATED, DidDocument(str(state.did), (), ()), None
    over = operation == history.DEACTIVATED
    return replace(
        state,
        version_id=state.version_id + 1,
        updated_at=at,
        operation=operation,
        entry_hash="",
        previous_hash=state.entry_hash or None,
        document=document,
        deactivated=over,
        recovery_key=recovery_key,
        update_keys=() if over else state.update_keys,
        key_id=f"{state.did}#{change.authorization.key}",
        # Nothing follows a deactivation, so nothing needs to be remembered.
        spent_challenges=() if over else (*history.unexpired(state.spent_challenges, at), spent),
        retired_keys=() if over else retired_keys + retired(state, document, recovery_key),
        proven_keys=proven,
        strict_evidence=evidence.is_strict(state, change),
        unbound_changes=evidence.unbound_changes(state, change),
        witness_version=state.version_id + 1 if has_step(change, SetWitnesses) else state.witness_version,
        past=history.followed(state, at),
        restored=restored,
    )


def _update(state: DidState, change: Update, rules: Rules) -> DidDocument:
    if has_step(change, SetWitnesses) and not rules.witnesses:
        raise InvalidDocument("Entries of this method have no place for witnesses.", details={"member": "witness"})
    if sum(isinstance(step, SetWitnesses) for step in change.operations) > 1:
        raise InvalidDocument("One version says once who its witnesses are.", details={"member": "witness"})
    if state.strict_evidence and has_step(change, SetStrictEvidence):
        raise InvalidDocument("This DID has strictEvidence already.", details={"member": "strictEvidence"})
    if not 0 < len(change.operations) <= MAX_OPERATIONS:
        raise InvalidDocument(f"One version holds 1 to {MAX_OPERATIONS} operations.")
    revision = Revision.from_document(state.document, rules.contexts)
    for operation in change.operations:
        _apply(state, revision, operation)
    return _finished(revision)


def _apply(state: DidState, revision: Revision, operation: Operation) -> None:
    match operation:
        case AddService(service):
            revision.add_service(service)
        case UpdateService(service):
            revision.update_service(service)
        case RemoveService(fragment):
            revision.remove_service(fragment)
        case AddVerificationMethod(key):
            require_new(state, key.public)
            revision.add_key(key)
        case RemoveVerificationMethod(key_id):
            revision.remove_key(key_id)
        case SetAlsoKnownAs(names):
            revision.also_known_as = names
        case SetWitnesses() | SetStrictEvidence():
            # Both are stated by entries, not by the document.
            pass


def _rotate(state: DidState, change: Rotate, at: datetime, rules: Rules) -> DidDocument:
    revision = Revision.from_document(state.document, rules.contexts)
    old = revision.key(change.old_key_id)
    if old.revoked is not None:
        raise InvalidDocument("The key is in its grace period: it has been rotated already.", details={"keyId": old.id})
    require_new(state, change.new_key.public)
    purposes = change.new_key.purposes or revision.purposes(old.id)
    revision.add_key(Key(change.new_key.type, change.new_key.public, purposes), before=old.id)
    end = None if change.revoke_at is None else change.revoke_at.replace(microsecond=0)
    if end is None or end <= at:
        revision.remove_key(old.id)
    elif end - at > rules.max_grace:
        raise InvalidDocument(
            "The grace period is too long.", details={"maxDays": rules.max_grace / timedelta(days=1), "keyId": old.id}
        )
    else:
        revision.revoke_key(old.id, end)
    return _finished(revision)


def _recover(state: DidState, change: Recover, start: DidDocument, rules: Rules) -> DidDocument:
    revision = Revision.from_document(start, rules.contexts)
    require_new(state, change.new_key.public)
    if change.revoke_all:
        for method in start.methods:
            revision.remove_key(method.id)
    revision.add_key(change.new_key)
    document = _finished(revision)
    require_new(state, change.recovery_key)
    check_recovery_key(change.recovery_key, document)
    return document


def _finished(revision: Revision) -> DidDocument:
    document = revision.document()
    check(document)
    return document


def check(document: DidDocument) -> None:
    """Check the rules of a document and require an authentication key that is not in grace. Raises ``InvalidDocument``."""
    documents.check(document)
    related = document.related(keys.AUTHENTICATION)
    if not any(method.id in related and method.revoked is None for method in document.methods):
        raise InvalidDocument("The document needs an Ed25519 authentication key; to replace the last one, rotate it.")


def require_new(state: DidState, multibase: str) -> None:
    """Refuse a key that is or was in the document, or that is or was the recovery key (forward security)."""
    known = [method.multibase for method in state.document.methods]
    if multibase in known or multibase == state.recovery_key or digest(multibase) in state.retired_keys:
        raise InvalidDocument(
            "The key is or has been one of this DID; use a new one.", details={"publicKeyMultibase": multibase[:160]}
        )


def check_recovery_key(multibase: str, document: DidDocument) -> None:
    """Raise ``InvalidDocument`` unless the key is an Ed25519 multikey that is not in the document."""
    PublicKey.parse(keys.ED25519.name, multibase)
    if any(method.multibase == multibase for method in document.methods):
        raise InvalidDocument("The recovery key must not be in the document.")


def retired(before: DidState, document: DidDocument, recovery_key: str | None) -> tuple[str, ...]:
    """Return digests of the keys that left the document, and of a used recovery key."""
    left = {method.multibase for method in document.methods}
    gone = [method.multibase for method in before.document.methods if method.multibase not in left]
    if before.recovery_key is not None and before.recovery_key != recovery_key:
        gone.append(before.recovery_key)
    return tuple(digest(multibase) for multibase in gone)
