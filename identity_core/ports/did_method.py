"""The socket for DID methods: pure and deterministic, without I/O.

A method drafts the next log entry of a DID, applies entries to states, and expands identifiers that say everything
themselves. It never signs and never stores: the use case obtains the signature between ``draft`` and the ledger's
append, and the ledger stores the sealed entry as opaque bytes.
``ResolvingDidMethod`` is the optional Protocol beside it for methods whose DIDs are published elsewhere; it alone does I/O.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from datetime import datetime
from typing import Final, Protocol, runtime_checkable

from identity_core.domain.dids.changes import Change
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.logs import LogKeys
from identity_core.domain.dids.state import DidState

# The address of the client whose request is worked on, for methods that bound the work for one of them; empty outside of a request.
CLIENT: Final = ContextVar("address of the client", default="")


class UnsignedEntry(Protocol):
    """A drafted log entry that lacks its signature."""

    @property
    def did(self) -> Did:
        """The DID that the entry belongs to; for a first entry the one that it mints."""

    @property
    def signing_input(self) -> bytes:
        """The bytes that the signer's Ed25519 key signs."""

    def sealed(self, signature: bytes) -> bytes:
        """The finished entry, with the 64-byte ``signature`` of ``signing_input`` in it."""

    def after(self, signature: bytes) -> DidState:
        """The state that ``apply`` gives for the sealed entry; a method whose draft knows it need not read the entry again.

        Raises ``LogInvalid`` unless ``signature`` is the signer's.
        """


@runtime_checkable
class DidMethod(Protocol):
    """One DID method. ``name`` is the method name of DID Core §3.1 (lower-case letters and digits)."""

    @property
    def name(self) -> str:
        """The method name: lower-case letters and digits."""

    @property
    def mutable(self) -> bool:
        """False when a registered DID can never change (did:key); its changes are then refused with INVALID_DOCUMENT."""

    def check(self, did: Did) -> None:
        """Raises ``InvalidDid`` when the method-specific identifier cannot belong to this method."""

    def draft(self, state: DidState | None, change: Change, at: datetime, *, signer: str) -> UnsignedEntry:
        """The entry for ``change`` at the time ``at`` (aware UTC, microseconds, later than the state's).

        ``state`` is None for a ``Create``, which mints the DID. ``signer`` is the Ed25519 multikey that will sign. A method whose
        entries tell times more coarsely records its own next step.
        Raises ``InvalidDocument`` when a rule forbids the change, ``Forbidden`` or ``AuthFailed`` when the key that authorised it
        may not do this, ``DidDeactivated`` after a deactivation, ``VersionConflict`` when a grace period has ended by then and its
        version is not written, ``DidNotFound`` for a version to restore that there is not, ``RateLimited`` where its entries would run
        too far ahead of the clock. The state of a recovery that restores a version
        knows its past.
        """

    def apply(self, state: DidState | None, entry: bytes) -> DidState:
        """The state after ``entry``. Checks hash chain, signature, evidence, order and rules.

        Raises ``LogInvalid`` (``domain.dids.state``) when anything is wrong; ``HistoryNeeded`` for a recovery that restores a version,
        where the state does not know its past. It is then applied to one that was folded from a ``remembering`` first state.
        """

    def expand(self, did: Did) -> DidState | None:
        """Return the state that follows from the identifier alone (did:key: everything), or None."""


@runtime_checkable
class PreRotatingDidMethod(DidMethod, Protocol):
    """A method whose entries commit to the keys that may sign the next one, by the rules of did:webvh 1.0 ("Pre-Rotation")."""

    @property
    def pre_rotates(self) -> bool:
        """Whether ``draft`` takes ``next_keys``."""

    def draft(
        self, state: DidState | None, change: Change, at: datetime, *, signer: str, next_keys: LogKeys | None = None
    ) -> UnsignedEntry:
        """As ``DidMethod.draft``. ``next_keys`` is what the entry says of the keys of the log: a first entry, or one of a DID that did not
        pre-rotate, begins with it; for one that does its ``update_keys`` were committed to. None: what was said before is said
        again, where anything was. Raises ``InvalidDocument`` for keys that were not committed to.
        """


@runtime_checkable
class PublishingDidMethod(DidMethod, Protocol):
    """A method whose readers fetch the log of a DID over HTTP, from a place that the identifier names. The service answers there, below
    its own origin, with the log as ``text/jsonl``."""

    @property
    def log_path(self) -> str | None:
        """Return the path of the log, as ``/dids/{did}/did.jsonl``: one segment is ``{did}``, which stands for what
        ``published`` is asked. None where the place does not tell which DID is meant; then others publish the logs."""

    def published(self, name: str) -> Did | None:
        """The DID whose log lies there under ``name``, or None where there can be none."""


@runtime_checkable
class DescribedDidMethod(DidMethod, Protocol):
    """A method that tells readers about itself. Of one that does not is told what ``mutable`` says."""

    @property
    def traits(self) -> Mapping[str, bool]:
        """Return the traits of the method by the names of DID Traits 1.0 (https://identity.foundation/did-traits/),
        such as ``supportsUpdate``; without ``name``."""

    @property
    def test_identifiers(self) -> Sequence[str]:
        """DIDs that resolve in every installation; empty where there can be none."""


@runtime_checkable
class ResolvingDidMethod(DidMethod, Protocol):
    """A method that also resolves DIDs over the network. It is called only for a DID that is not recorded here, and only to resolve
    it: a DID that it finds cannot sign in."""

    async def resolve(self, did: Did) -> DidState | None:
        """Return the published state of ``did`` (``foreign.found`` of the method ids makes it), or None if there is none.

        Raises ``PluginUnavailable`` when that could not be learnt, ``InvalidDocument`` for a document that cannot be shown.
        """
