"""Changes of a DID, with one frozen class for each kind of change.

A change states what is requested; the DID method decides whether it is allowed and what the next state is. Keys are
given by their multikey, without the DID, because a self-certifying DID is known only after its first entry is drafted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from msgspec import Struct

from identity_codec.strict_json import JsonValue
from identity_codec.values import Hidden
from identity_core.domain.dids.keys import Key


class NewService(Struct, frozen=True):
    """A service to add. ``fragment`` has no ``#``; None derives it from the type."""

    type: str
    endpoint: str
    fragment: str | None = None


@dataclass(slots=True, unsafe_hash=True, repr=False)
class Authorization(Hidden):
    """Evidence that the controller wanted a change: the challenge text and the signature over its UTF-8 bytes.

    ``scheme`` is ``DIDAuth`` or ``RecoveryKey``; ``key`` the multikey that verifies ``signature`` (64 bytes). ``body`` is the request
    that came with it, whose hash the challenge may name; None if there was none, or if a log does not store it. ``body_hash`` is the
    hash of ``body`` if the check of the signature computed it; else None, as in entries read from a log. ``is_former``: the key is not
    in force any more. It authorises only the repetition of the request that it signed while it was in force.
    """

    scheme: str
    key: str
    challenge: str
    signature: bytes
    body: JsonValue = None
    body_hash: str | None = field(default=None, compare=False)
    is_former: bool = field(default=False, compare=False)


class WitnessList(Struct, frozen=True):
    """The witnesses that must approve the entries of a did:webvh: ``threshold`` of the witnesses with these ``ids``
    (did:key)."""

    threshold: int
    ids: tuple[str, ...]

    def parameter(self) -> dict[str, JsonValue]:
        """Return the parameter of a log entry (did:webvh 1.0, "DID Witnesses")."""
        return {"threshold": self.threshold, "witnesses": [{"id": one} for one in self.ids]}


class Create(Struct, frozen=True):
    """The first entry. ``keys`` are in document order, the primary key first; ``update_keys`` may sign entries. If ``strict_evidence``
    or ``recovery_window`` is None, the rules of the method decide. ``witnesses`` is for methods whose logs are published."""

    keys: tuple[Key, ...]
    update_keys: tuple[str, ...]
    services: tuple[NewService, ...] = ()
    also_known_as: tuple[str, ...] = ()
    recovery_key: str | None = None
    strict_evidence: bool | None = None
    recovery_window: timedelta | None = None
    witnesses: WitnessList | None = None


class AddService(Struct, frozen=True):
    """The addition of a service, whose fragment must be new to the document."""

    service: NewService


class UpdateService(Struct, frozen=True):
    """The replacement of type and endpoint of the service with this fragment."""

    service: NewService


class RemoveService(Struct, frozen=True):
    """The removal of a service."""

    fragment: str


class AddVerificationMethod(Struct, frozen=True):
    """The addition of a key that the DID has never had."""

    key: Key


class RemoveVerificationMethod(Struct, frozen=True):
    """The removal of a key. ``key_id`` is the absolute DID URL of the key."""

    key_id: str


class SetAlsoKnownAs(Struct, frozen=True):
    """The replacement of the whole list ``alsoKnownAs``."""

    also_known_as: tuple[str, ...]


class SetWitnesses(Struct, frozen=True):
    """A change of the witnesses that must approve later entries; None for no witness. The previous witnesses must still
    approve this entry. For methods whose logs are published."""

    witnesses: WitnessList | None


class SetStrictEvidence(Struct, frozen=True):
    """From this entry on, the evidence of every change must be bound to its purpose and body. No change undoes it."""


Operation = (
    AddService
    | UpdateService
    | RemoveService
    | AddVerificationMethod
    | RemoveVerificationMethod
    | SetAlsoKnownAs
    | SetWitnesses
    | SetStrictEvidence
)


class Update(Struct, frozen=True):
    """Several operations in one atomic version."""

    operations: tuple[Operation, ...]
    authorization: Authorization


class Rotate(Struct, frozen=True):
    """The replacement of the key ``old_key_id`` (absolute). ``revoke_at`` is the end of the grace period, None for none."""

    old_key_id: str
    new_key: Key
    revoke_at: datetime | None
    authorization: Authorization


class Expire(Struct, frozen=True):
    """The end of one or several grace periods, due at the entry's own time. It follows from an earlier rotation."""


class Recover(Struct, frozen=True):
    """A new authentication key, authorised by the recovery key, which is used up; ``recovery_key`` is its successor. With
    ``restore_version`` the document is first reset to that version, so that later changes are undone."""

    new_key: Key
    revoke_all: bool
    recovery_key: str
    authorization: Authorization
    restore_version: int | None = None


class Deactivate(Struct, frozen=True):
    """The permanent end of the DID."""

    authorization: Authorization


class RotateLogKey(Struct, frozen=True):
    """A change of the log key to the committed next key; the DID stays as it is. It needs no controller: no other key can take over."""


class RetireLogKey(Struct, frozen=True):
    """The retirement of the log key ``multikey``, signed by the key that took over. An entry signed with ``multikey`` counts only if
    its index in the service's transparency log is below ``tree_size``. ``compromised``: another person may have the key."""

    multikey: str
    tree_size: int
    compromised: bool


OfLogKey = RotateLogKey | RetireLogKey
"""The changes of the keys of a log, which do not change the document."""

Change = Create | Update | Rotate | Expire | Recover | Deactivate | RotateLogKey | RetireLogKey


def has_step(change: Change, kind: type[SetWitnesses | SetStrictEvidence]) -> bool:
    """Return whether the change is an update with an operation of this kind."""
    return isinstance(change, Update) and any(isinstance(step, kind) for step in change.operations)
