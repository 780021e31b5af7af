"""Hooks and their ports: the setting that chooses among the providers, and the errors that a port lets through.

A row here, a hook and a Protocol in ``ports`` make a socket; the rest of the core works with any number of them. Each
hook returns one object, once, at startup. Settings choose by name, never registration order. ``Provider`` and
``BuildContext`` connect a hook with the service.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import pluggy
from msgspec import Struct

from identity_core.domain.callers import Caller
from identity_core.domain.dids.state import LogInvalid
from identity_core.domain.proofs.proof import WitnessInvalid
from identity_core.errors import (
    ApiKeyNotFound,
    AuthFailed,
    DidDeactivated,
    DidNotFound,
    Forbidden,
    InvalidCredential,
    InvalidDid,
    InvalidDocument,
    InvalidRequest,
    LedgerUnavailable,
    Overloaded,
    PluginTimeout,
    PluginUnavailable,
    PredicateNotSatisfied,
    PredicateUnsupported,
    ProofInvalid,
    RateLimited,
    RequestInProgress,
    StorageMismatch,
    VersionConflict,
)
from identity_core.plugin.border import Contract
from identity_core.ports.clock import Clock
from identity_core.ports.custodian import (
    AttendedCustodian,
    Custodian,
    HolderCustodian,
    KeepingCustodian,
    KeyNameTaken,
    KeyNotHeld,
    KeyRefused,
    RenewingCustodian,
    ResealingCustodian,
)
from identity_core.ports.did_method import (
    DescribedDidMethod,
    DidMethod,
    PreRotatingDidMethod,
    PublishingDidMethod,
    ResolvingDidMethod,
)
from identity_core.ports.key_store import KeyStore, PreparedKeyStore, WritableKeyStore
from identity_core.ports.ledger import (
    AnchoringLedger,
    ExaminableLedger,
    LedgerBackend,
    NewestAnchoringLedger,
    NewestLedger,
)
from identity_core.ports.panel import OperatorPanel
from identity_core.ports.prover import BatchVerifier, Prover
from identity_core.ports.securing import DerivingFormat, IssuingFormat, SecuringFormat
from identity_core.settings import StartError

if TYPE_CHECKING:
    from identity_core.database import Database

hookimpl = pluggy.HookimplMarker("identity")

T = TypeVar("T")


class PluginError(StartError):
    """A plugin that stops the startup. ``build`` raises it with a reason for the operator, such as a wrong
    passphrase. The manager adds the plugin's name."""


class NotConfigured(PluginError):
    """A plugin that is installed and lacks required settings. Unless a chosen plugin needs it, that is not a fault:
    it is listed with the settings that it lacks."""


@dataclass(frozen=True, slots=True)
class NoSettings:
    """The settings of a plugin without settings."""


class BuildContext(Struct, frozen=True):
    """All objects that a plugin gets from the core. There is no global. Randomness comes from the operating system.

    ``data_dir``: the directory for files; start a file's name with the plugin's name.
    ``database_url``: the server database that the operator named, or None for the embedded default. It is always None
    in a prover's worker process, because it may contain a password.
    ``workers``: the number of server processes that build the same object.
    ``read_only``: set if the command must not change the installation (`identity doctor`). Then nothing may be
    created or changed, neither file nor row, and a missing database is ``DatabaseAbsent``. It is set only for
    providers that declare ``looks``.
    ``public_url``: the origin that callers use, if one is set or served; None in a prover's worker process.
    ``mapped_mebibytes``: the MiB of an SQLite file that a connection may map into memory.
    ``database``: the store's own object on ``database_url``, which the store closes, for a ledger in its transactions.
    ``database_readers``: the number of connections that a database on ``database_url`` may open for reading.
    """

    clock: Clock
    logger: logging.Logger
    data_dir: Path
    database_url: str | None
    workers: int = 1
    read_only: bool = False
    public_url: str | None = None
    mapped_mebibytes: int = 0
    database: Database | None = None
    database_readers: int = 3

    @property
    def opening(self) -> dict[str, Any]:
        """Return the named arguments of ``open_database`` for a database of the plugin."""
        sizes = {"mapped_mebibytes": self.mapped_mebibytes, "readers": self.database_readers}
        return {"processes": self.workers, "read_only": self.read_only, **sizes}


class Provider(Struct, Generic[T], frozen=True):
    """An object that a plugin provides, and how to build it.

    ``build(settings, context)``: builds the object, once.
    ``settings``: a frozen dataclass whose fields are the keys of the plugin's own table.
    ``looks``: declares that ``build`` obeys ``context.read_only``. Without it, a read-only command builds the object
    in a temporary directory.

    If the object has ``close()``, it is called at shutdown (awaited when async).
    """

    name: str
    build: Callable[[Any, BuildContext], T]
    settings: type[Any] = NoSettings
    summary: str = ""
    looks: bool = False


_AWAY = (PluginUnavailable, PluginTimeout, Overloaded)
_OF_DIDS = (InvalidDid, InvalidDocument, DidDeactivated, DidNotFound, VersionConflict, LogInvalid)


class Socket(Struct, Generic[T], frozen=True):
    """A hook and the port that its providers fill.

    ``hook``: the hook that returns the provider. ``setting``: the setting that chooses one.
    ``protocols``: the forms of the port. The last is required; a plugin has each of the others if it has all its
    members.
    ``table``: the settings table that contains its deadline.
    """

    hook: str
    kind: str
    setting: str
    protocols: tuple[type[T], ...]
    contract: Contract
    table: str = "plugins"

    @property
    def port(self) -> type[T]:
        """Return the Protocol that every provider must implement."""
        return self.protocols[-1]


DID_METHOD: Socket[DidMethod] = Socket(
    "identity_provide_did_method",
    "DID method",
    "did.method",
    (ResolvingDidMethod, PreRotatingDidMethod, PublishingDidMethod, DescribedDidMethod, DidMethod),
    Contract((*_OF_DIDS, AuthFailed, Forbidden, InvalidRequest, RateLimited, *_AWAY)),
)
LEDGER: Socket[LedgerBackend] = Socket(
    "identity_provide_ledger_backend",
    "ledger",
    "ledger.backend",
    (ExaminableLedger, NewestAnchoringLedger, AnchoringLedger, NewestLedger, LedgerBackend),
    # The address of a node or of a server is often a credential, and exceptions of their clients contain it.
    Contract(
        (VersionConflict, LedgerUnavailable, StorageMismatch, RequestInProgress, *_AWAY),
        LedgerUnavailable,
        secretive=True,
    ),
    table="ledger",
)
KEY_STORE: Socket[KeyStore] = Socket(
    "identity_provide_key_store",
    "key store",
    "key_stores",
    (WritableKeyStore, PreparedKeyStore, KeyStore),
    Contract((ApiKeyNotFound, VersionConflict, *_AWAY), secretive=True),
)
CUSTODIAN: Socket[Custodian] = Socket(
    "identity_provide_custodian",
    "custodian",
    "custodian.backend",
    (AttendedCustodian, ResealingCustodian, HolderCustodian, RenewingCustodian, KeepingCustodian, Custodian),
    Contract((KeyNotHeld, KeyNameTaken, KeyRefused, *_AWAY), secretive=True),
    table="custodian",
)
PROVER: Socket[Prover] = Socket(
    "identity_provide_prover",
    "prover",
    "prover.backend",
    (BatchVerifier, Prover),
    Contract((ProofInvalid, PredicateUnsupported, PredicateNotSatisfied, WitnessInvalid, *_AWAY), secretive=True),
)
PANEL: Socket[OperatorPanel] = Socket(
    "identity_provide_panel", "panel", "plugins.disabled", (OperatorPanel,), Contract(_AWAY, secretive=True)
)
SECURING: Socket[SecuringFormat] = Socket(
    "identity_provide_securing",
    "securing format",
    "plugins.disabled",
    (IssuingFormat, DerivingFormat, SecuringFormat),
    # An exception of a parser contains the text that it could not parse: the claims of a person.
    Contract((InvalidCredential, ProofInvalid, *_AWAY), secretive=True),
)
SOCKETS: Final[tuple[Socket[Any], ...]] = (DID_METHOD, LEDGER, PROVER, KEY_STORE, CUSTODIAN, SECURING, PANEL)

BEARER_HOOK = "identity_verify_bearer"
BEARER_CONTRACT = Contract((AuthFailed, PluginUnavailable), secretive=True)
BEARER_RESULT = Caller | None

EXTEND_HOOK = "identity_extend"

PROVIDE_HOOKS = {socket.hook: socket.kind for socket in SOCKETS}

hookspec = pluggy.HookspecMarker("identity")


@hookspec
def identity_provide_did_method() -> Provider[DidMethod]:  # type: ignore[empty-body]
    """Return the provider of a DID method. Called once at startup. All methods of all plugins are installed side by
    side; two with one name stop the startup."""


@hookspec
def identity_provide_ledger_backend() -> Provider[LedgerBackend]:  # type: ignore[empty-body]
    """Return the provider of a ledger. Called once at startup. The setting ``ledger.backend`` chooses exactly one by
    its name."""


@hookspec
def identity_provide_prover() -> Provider[Prover]:  # type: ignore[empty-body]
    """Return the provider of a prover. Called once at startup. The setting ``prover.backend`` chooses by name."""


@hookspec
def identity_provide_key_store() -> Provider[KeyStore]:  # type: ignore[empty-body]
    """Return the provider of a store of API keys. Called once at startup. The setting ``key_stores`` lists the stores
    in the order in which they are queried."""


@hookspec
def identity_provide_custodian() -> Provider[Custodian]:  # type: ignore[empty-body]
    """Return the provider of a custodian of private keys. Called once at startup. The setting ``custodian.backend``
    chooses by name."""


@hookspec
def identity_provide_panel() -> Provider[OperatorPanel]:  # type: ignore[empty-body]
    """Return the provider of a panel of the operator's pages. Called once at startup. All panels of all plugins are
    shown side by side at ``/ui/operator/panels``; two with one name stop the startup. A panel that cannot be built is
    listed as failed and does not stop the startup."""


@hookspec
def identity_provide_securing() -> Provider[SecuringFormat]:  # type: ignore[empty-body]
    """Return the provider of a format that secures credentials. Called once at startup. All formats of all plugins
    are installed side by side; two with one name stop the startup."""


@hookspec
def identity_extend() -> object:
    """Return the ``Extension`` (``identity_core.extension.declaration``) that this distribution provides. Called once at
    startup, before anything is opened. All extensions of all plugins are installed side by side. Must not do I/O."""


@hookspec(firstresult=True)
def identity_verify_bearer(token: str, now: datetime) -> Caller | None:
    """Verify a bearer token. Called for each request that carries one, until a plugin answers (first result).

    Return None for an unknown token. Raise ``AuthFailed`` for an invalid token of this plugin: then no other plugin
    is called. Must not be used for API keys, which come from key stores.
    """
