"""What may happen to a DID: one frozen value a kind of change.

A change says what is wanted; ``history.evolve`` decides whether it is allowed and what the next state is. Keys are
given by their multikey, without the DID, because a self-certifying DID is known only after its first entry is drafted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from identity_core.domain.possession import Possession


@dataclass(frozen=True, slots=True)
class NewKey:
    """A public key to be added: ``type`` is a verification method type, ``multibase`` its multikey. ``possession`` is for BBS keys;
    it is no part of what is changed, and an entry that is read has it beside the change."""

    type: str
    multibase: str
    purposes: tuple[str, ...]
    possession: Possession | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class NewService:
    """A service to be added. ``fragment`` is given without ``#``; None means "derive it from the type"."""

    type: str
    endpoint: str
    fragment: str | None = None


@dataclass(frozen=True, slots=True)
class Authorization:
    """Evidence that the controller wanted a change: the challenge text and the signature over its UTF-8 bytes.

    ``scheme`` is ``DIDAuth`` or ``RecoveryKey``; ``key`` the multikey that verifies ``signature`` (64 bytes).
    """

    scheme: str
    key: str
    challenge: str
    signature: bytes


@dataclass(frozen=True, slots=True)
class Create:
    """The first entry. ``keys`` are in document order, the primary key first; ``update_keys`` may sign entries."""

    keys: tuple[NewKey, ...]
    update_keys: tuple[str, ...]
    services: tuple[NewService, ...] = ()
    also_known_as: tuple[str, ...] = ()
    recovery_key: str | None = None


@dataclass(frozen=True, slots=True)
class AddService:
    """A service whose fragment is new to the document."""

    service: NewService


@dataclass(frozen=True, slots=True)
class UpdateService:
    """Replaces type and endpoint of the service named by its fragment."""

    service: NewService


@dataclass(frozen=True, slots=True)
class RemoveService:
    """The service goes."""

    fragment: str


@dataclass(frozen=True, slots=True)
class AddVerificationMethod:
    """A key that the DID has never had."""

    key: NewKey


@dataclass(frozen=True, slots=True)
class RemoveVerificationMethod:
    """``key_id`` is the absolute DID URL of the key."""

    key_id: str


@dataclass(frozen=True, slots=True)
class SetAlsoKnownAs:
    """Replaces the whole list."""

    also_known_as: tuple[str, ...]


Operation = (
    AddService | UpdateService | RemoveService | AddVerificationMethod | RemoveVerificationMethod | SetAlsoKnownAs
)


@dataclass(frozen=True, slots=True)
class Update:
    """Several operations in one atomic version."""

    operations: tuple[Operation, ...]
    authorization: Authorization


@dataclass(frozen=True, slots=True)
class Rotate:
    """Replaces ``old_key_id`` (absolute). ``revoke_at`` is None for "at once", else the end of the grace period."""

    old_key_id: str
    new_key: NewKey
    revoke_at: datetime | None
    authorization: Authorization


@dataclass(frozen=True, slots=True)
class Expire:
    """The end of one or several grace periods, due at the entry's own time. It follows from an earlier rotation."""


@dataclass(frozen=True, slots=True)
class Recover:
    """A new authentication key under the recovery key, which is spent; ``recovery_key`` is its successor."""

    new_key: NewKey
    revoke_all: bool
    recovery_key: str
    authorization: Authorization


@dataclass(frozen=True, slots=True)
class Deactivate:
    """The end of the DID, for good."""

    authorization: Authorization


Change = Create | Update | Rotate | Expire | Recover | Deactivate


def possessions(change: Change) -> dict[str, Possession]:
    """The proofs of possession that come with the keys of a change, by multikey."""
    new_keys: tuple[NewKey, ...] = ()
    match change:
        case Create():
            new_keys = change.keys
        case Update():
            new_keys = tuple(step.key for step in change.operations if isinstance(step, AddVerificationMethod))
        case Rotate() | Recover():
            new_keys = (change.new_key,)
    return {key.multibase: key.possession for key in new_keys if key.possession is not None}
