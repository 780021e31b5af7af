"""The socket for DID methods: pure and deterministic, without I/O.

A method drafts the next log entry of a DID, applies entries to states, and expands identifiers that contain the whole
state. It never signs and never stores: the use case obtains the signature between ``draft`` and the ledger's
append, and the ledger stores the sealed entry as opaque bytes.
``ResolvingDidMethod`` is an optional Protocol for methods whose DIDs are published elsewhere; only this Protocol does I/O.
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

# The client address of the current request, for methods that limit the work per client; empty outside of a request.
CLIENT: Final = ContextVar("address of the client", default="")


class UnsignedEntry(Protocol):
    """A drafted log entry that lacks its signature."""

    @property
    def did(self) -> Did:
        """The DID to which the entry belongs; for a first entry the DID that it creates."""

    @property
    def signing_input(self) -> bytes:
        """The bytes that the signer's Ed25519 key signs."""

    def sealed(self, signature: bytes) -> bytes:
        """Return the finished entry, with the 64-byte ``signature`` of ``signing_input`` in it."""

    def after(self, signature: bytes) -> DidState:
        """Return the state that ``apply`` returns for the sealed entry. A draft that has this state need not parse the entry again.

        Raises ``LogInvalid``: when ``signature`` is not the signer's.
        """


@runtime_checkable
class DidMethod(Protocol):
    """One DID method. ``name`` is the method name of DID Core §3.1 (lower-case letters and digits)."""

    @property
    def name(self) -> str:
        """The method name: lower-case letters and digits."""

    @property
    def mutable(self) -> bool:
        """Return False if a registered DID can never change (did:key). Changes are then refused with INVALID_DOCUMENT."""

    def check(self, did: Did) -> None:
        """Check the syntax of the DID. Raises ``InvalidDid``: when the method-specific identifier cannot belong to this method."""

    def draft(self, state: DidState | None, change: Change, at: datetime, *, signer: str) -> UnsignedEntry:
        """Return the entry for ``change`` at the time ``at`` (aware UTC, microseconds, later than the state's).

        ``state`` is None for a ``Create``, which creates the DID. If a recovery restores a version, ``state`` has its past.
        ``signer`` is the Ed25519 multikey that will sign. A method with a coarser time resolution records its own next step.

        Raises ``InvalidDocument``: when a rule forbids the change. Raises ``Forbidden`` or ``AuthFailed``: when the authorising key
        may not make it. Raises ``DidDeactivated``: after a deactivation. Raises ``VersionConflict``: when a grace period has ended by
        then and its version is not written. Raises ``DidNotFound``: when the version to restore does not exist. Raises
        ``RateLimited``: when the entries would be too far ahead of the clock.
        """

    def apply(self, state: DidState | None, entry: bytes) -> DidState:
        """Return the state after ``entry``. Check hash chain, signature, evidence, order and rules.

        Raises ``LogInvalid`` (``domain.dids.state``): when a check fails. Raises ``HistoryNeeded``: when a recovery restores a version
        and the state does not have its past. The caller then applies it to a state that was folded from a ``remembering`` first state.
        """

    def expand(self, did: Did) -> DidState | None:
        """Return the state that the identifier alone determines (did:key: everything), or None."""


@runtime_checkable
class PreRotatingDidMethod(DidMethod, Protocol):
    """A method whose entries commit to the keys that may sign the next one, by the rules of did:webvh 1.0 ("Pre-Rotation")."""

    @property
    def pre_rotates(self) -> bool:
        """Return whether ``draft`` takes ``next_keys``."""

    def draft(
        self, state: DidState | None, change: Change, at: datetime, *, signer: str, next_keys: LogKeys | None = None
    ) -> UnsignedEntry:
        """Draft an entry, as ``DidMethod.draft`` does. ``next_keys`` are the log keys that the entry states. With them, a first entry or
        an entry of a DID without pre-rotation begins pre-rotation. For a DID that pre-rotates, the entry before must have committed to
        their ``update_keys``. None repeats the previous log keys, if there are any.
        Raises ``InvalidDocument``: when the keys were not committed to.
        """


@runtime_checkable
class PublishingDidMethod(DidMethod, Protocol):
    """A method whose readers fetch the log of a DID over HTTP, from a URL that the identifier determines. The service serves the log
    there, below its own origin, as ``text/jsonl``."""

    @property
    def log_path(self) -> str | None:
        """Return the path of the log, such as ``/dids/{did}/did.jsonl``. One segment is ``{did}``; its value is the argument of
        ``published``. Return None if the path does not identify the DID; this service then does not publish the logs."""

    def published(self, name: str) -> Did | None:
        """Return the DID whose log is published under ``name``, or None if there can be none."""


@runtime_checkable
class DescribedDidMethod(DidMethod, Protocol):
    """A method that describes its traits. For other methods the service derives the traits from ``mutable``."""

    @property
    def traits(self) -> Mapping[str, bool]:
        """Return the traits of the method by the names of DID Traits 1.0 (https://identity.foundation/did-traits/),
        such as ``supportsUpdate``; without ``name``."""

    @property
    def test_identifiers(self) -> Sequence[str]:
        """DIDs that resolve in every installation; empty if there can be none."""


@runtime_checkable
class ResolvingDidMethod(DidMethod, Protocol):
    """A method that also resolves DIDs over the network. It is called only for a DID that is not recorded here, and only to resolve
    it: a DID that it finds cannot sign in."""

    async def resolve(self, did: Did) -> DidState | None:
        """Return the published state of ``did`` (``foreign.build_foreign_state`` of the method ids makes it), or None if there is none.

        Raises ``PluginUnavailable``: when the network did not answer. Raises ``InvalidDocument``: when the document cannot be shown.
        """
