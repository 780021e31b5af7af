"""The ledger ``evm``: entries and anchors in a contract on an EVM chain.

Nothing of a chain is imported before ``build``: an installation that has no chain pays nothing for this plugin.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from identity_core.files import install_command
from identity_core.plugin import BuildContext, NotConfigured, PluginError, Provider, hookimpl
from identity_core.ports.ledger import LedgerBackend
from identity_ledger_evm.settings import EvmSettings

if TYPE_CHECKING:
    from identity_ledger_evm.ledger import EvmLedger

__all__ = ["EvmSettings", "identity_provide_ledger_backend"]


def build(settings: EvmSettings, context: BuildContext) -> EvmLedger:
    """Open the index, check the chain, and read what the index lacks.

    Raises ``NotConfigured`` without a node, a contract and a key, ``PluginError`` for another chain or another contract, and for a
    node that is away before the chain was ever read. Later it may be away: what is indexed can be read without it.
    """
    settings.configured()
    for library in ("eth_account", "coincurve"):
        if importlib.util.find_spec(library) is None:
            raise NotConfigured(f"{library} is not installed: {install_command('identity-ledger-evm[chain]')}")
    from identity_ledger_evm.ledger import EvmLedger
    from identity_ledger_evm.right_chain import WrongChain
    from identity_ledger_evm.sender import KeyUnusable
    from identity_ledger_evm.worker import NeverRead

    try:
        ledger = EvmLedger.open(settings, context)
        ledger.prepare()
    except (KeyUnusable, NeverRead, WrongChain) as error:
        raise PluginError(str(error)) from error
    return ledger


@hookimpl
def identity_provide_ledger_backend() -> Provider[LedgerBackend]:
    """See the hook's specification."""
    return Provider("evm", build, EvmSettings, "Entries and anchors in a contract on an EVM chain")
