"""The hooks. Each hands over one object, once, at start-up; settings choose by name, never registration order."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from identity_core.domain.callers import Caller
    from identity_core.extension.declaration import Extension
    from identity_core.plugin.provider import Provider
    from identity_core.ports.custodian import Custodian
    from identity_core.ports.did_method import DidMethod
    from identity_core.ports.key_store import KeyStore
    from identity_core.ports.ledger import LedgerBackend
    from identity_core.ports.panel import OperatorPanel
    from identity_core.ports.prover import Prover
    from identity_core.ports.securing import SecuringFormat

hookspec = pluggy.HookspecMarker("identity")


@hookspec
def identity_provide_did_method() -> Provider[DidMethod]:  # type: ignore[empty-body]
    """Hand over a DID method. Called once at start-up; all methods of all plugins are installed side by side, and two
    with one name stop the start-up."""


@hookspec
def identity_provide_ledger_backend() -> Provider[LedgerBackend]:  # type: ignore[empty-body]
    """Hand over a ledger. Called once at start-up; the setting ``ledger.backend`` chooses exactly one by its name."""


@hookspec
def identity_provide_prover() -> Provider[Prover]:  # type: ignore[empty-body]
    """Hand over a prover. Called once at start-up; the setting ``prover.backend`` chooses by name."""


@hookspec
def identity_provide_key_store() -> Provider[KeyStore]:  # type: ignore[empty-body]
    """Hand over a store of API keys. Called once at start-up; the setting ``key_stores`` lists the stores in the order
    in which they are asked."""


@hookspec
def identity_provide_custodian() -> Provider[Custodian]:  # type: ignore[empty-body]
    """Hand over a custodian of private keys. Called once at start-up; the setting ``custodian.backend`` chooses by
    name."""


@hookspec
def identity_provide_panel() -> Provider[OperatorPanel]:  # type: ignore[empty-body]
    """Hand over a panel of the operator's pages. Called once at start-up; all panels of all plugins are shown side by side at
    ``/ui/operator/panels``, and two with one name stop the start-up. One that cannot be built is listed as failed and stops
    nothing."""


@hookspec
def identity_provide_securing() -> Provider[SecuringFormat]:  # type: ignore[empty-body]
    """Hand over a format that secures credentials. Called once at start-up; all formats of all plugins are installed side by side, and
    two with one name stop the start-up."""


@hookspec
def identity_extend() -> Extension:  # type: ignore[empty-body]
    """Return the extension that this distribution provides. Called once at startup, before anything is opened; all extensions of all
    plugins are installed side by side. Must not do I/O."""


@hookspec(firstresult=True)
def identity_verify_bearer(token: str, now: datetime) -> Caller | None:
    """Verify a bearer token. Called for each request that carries one, until a plugin answers (first result).

    Return None for a token that is not yours, raise ``AuthFailed`` for one that is yours and bad: asking stops there.
    Must not be used for API keys; those come from key stores.
    """
