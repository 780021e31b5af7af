"""The check, before anything is sent, that the chain is the configured one and has the contract, which the key must own."""

from __future__ import annotations

from identity_ledger_evm.chain import Chain
from identity_ledger_evm.contract import artifact
from identity_ledger_evm.station import Station


class WrongChain(Exception):
    """The node is of another chain, or the address has another contract or another owner; nothing is sent there."""


async def verify(station: Station, chain: Chain) -> None:
    """Raise ``WrongChain``."""
    found = await chain.chain_id()
    if found != station.chain_id:
        raise WrongChain(f"the node is of chain {found}, plugins.evm.chain_id is {station.chain_id}")
    fault = code_fault(await chain.runtime())
    if fault:
        raise WrongChain(f"{station.contract} on chain {station.chain_id}: {fault}")
    owner = await chain.owner()
    if owner != station.sender:
        raise WrongChain(f"the contract {station.contract} belongs to {owner}, and the key is that of {station.sender}")


def code_fault(code: bytes) -> str:
    """Return what is wrong with the code at the contract's address, or nothing."""
    if not code:
        return "there is no contract at this address"
    return "" if code == artifact().runtime else "the contract is not the one that this version of the plugin speaks to"
