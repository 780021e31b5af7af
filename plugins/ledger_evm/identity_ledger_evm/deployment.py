"""Deploy the contract on a chain, and report the state of it and its transactions: what ``commands`` shows."""

from __future__ import annotations

import asyncio
from decimal import Decimal

from msgspec import Struct

from identity_core.errors import LedgerUnavailable
from identity_core.plugin import BuildContext
from identity_ledger_evm.chain import Chain
from identity_ledger_evm.contract import artifact
from identity_ledger_evm.fees import GWEI, FeeRule, gas_for
from identity_ledger_evm.ledger import EvmLedger
from identity_ledger_evm.node import Node, NodeError, NodeRefused
from identity_ledger_evm.right_chain import WrongChain, code_fault
from identity_ledger_evm.sender import KeyUnusable, Sender, sender_of
from identity_ledger_evm.settings import EvmSettings

# What is wrong with the settings, as opposed to the node.
REFUSALS = (WrongChain, KeyUnusable)
POLL_SECONDS = 0.1
# The contract's code in storage costs 200 gas per byte, beside what any transaction costs.
GAS_PER_OCTET = 260


class Deployment(Struct, frozen=True):
    """A contract that is on the chain; the first three are settings of the plugin."""

    chain_id: int
    contract: str
    from_block: int
    owner: str
    transaction_hash: str
    gas_used: int


class ChainStatus(Struct, frozen=True):
    """How the chain sees it. ``fault`` is the fault of the contract's code, or empty; the balance is the sender's,
    ``transactions`` how many it has sent."""

    chain_id: int
    head_block: int
    contract: str
    fault: str
    owner: str
    entries: int
    sender: str
    balance_ether: str
    transactions: int


async def deploy(settings: EvmSettings, *, wait_seconds: float) -> Deployment:
    """Deploy the contract with the key of the settings, which then owns it. Wait for the block.

    Raises ``LedgerUnavailable`` when the node refuses, is away, or has not mined it in time; then ``details`` hold the hash.
    """
    async with _node(settings) as node:
        try:
            return await _deploy(node, settings, wait_seconds)
        except NodeError as error:
            raise LedgerUnavailable(f"The contract could not be deployed: {error}.") from error


async def _deploy(node: Node, settings: EvmSettings, wait_seconds: float) -> Deployment:
    chain = Chain(node, "0x" + "0" * 40)
    chain_id = await chain.chain_id()
    if settings.chain_id not in (None, chain_id):
        raise WrongChain(f"the node is of chain {chain_id}, plugins.evm.chain_id is {settings.chain_id}")
    sender = sender_of(settings, chain_id)
    head = await chain.head()
    cap = None if settings.max_fee_gwei is None else int(settings.max_fee_gwei * GWEI)
    fees = FeeRule(int(settings.priority_fee_gwei * GWEI), cap).first(head.base_fee)
    if fees is None:
        raise LedgerUnavailable("The fees of the chain are above plugins.evm.max_fee_gwei.")
    code = artifact().code
    gas = gas_for(code, 0) + GAS_PER_OCTET * len(code)
    signed = sender.sign(None, code, nonce=await chain.nonce(sender.address), gas=gas, fees=fees)
    await chain.send(signed.raw)
    deadline = asyncio.get_running_loop().time() + wait_seconds
    while (mined := await chain.mined(signed.hash)) is None:
        if asyncio.get_running_loop().time() > deadline:
            raise LedgerUnavailable(
                "The contract is not in a block yet.", details={"transactionHash": signed.hash.hex()}
            )
        await asyncio.sleep(POLL_SECONDS)
    if not mined.succeeded or mined.contract is None:
        raise LedgerUnavailable("The chain refused the contract.", details={"transactionHash": signed.hash.hex()})
    return Deployment(chain_id, mined.contract, mined.block_number, sender.address, signed.hash.hex(), mined.gas_used)


async def status(settings: EvmSettings) -> ChainStatus:
    """Return the answer of the node. Raises ``LedgerUnavailable``."""
    configured = settings.configured()
    sender: Sender = sender_of(settings, configured.chain_id)
    async with _node(settings) as node:
        chain = Chain(node, configured.contract)
        try:
            head = await chain.head()
            fault = code_fault(await chain.runtime())
            owner, entries = ("", 0) if fault else (await chain.owner(), await chain.count(head.number))
            return ChainStatus(
                await chain.chain_id(),
                head.number,
                configured.contract,
                fault,
                owner,
                entries,
                sender.address,
                f"{Decimal(await chain.balance(sender.address)) / 10**18:f}",
                await chain.nonce(sender.address),
            )
        except NodeRefused as error:
            raise LedgerUnavailable(f"The node refuses to answer: {error}.") from error
        except NodeError as error:
            raise LedgerUnavailable(f"The node cannot be asked: {error}.") from error


class KnownTransaction(Struct, frozen=True):
    """The state of a transaction. ``transaction_hash`` is the one that is mined, or the one that was requested."""

    kind: str
    state: str
    nonce: int
    transaction_hash: str
    block_number: int | None
    reason: str


async def find_transaction(
    settings: EvmSettings, context: BuildContext, transaction_hash: bytes
) -> KnownTransaction | None:
    """Find a transaction in the plugin's own tables by any hash that it ever had. The node is not queried. None when it is not
    ours. Raises ``LedgerUnavailable``."""
    ledger = EvmLedger.open(settings, context)
    try:
        found = await ledger.find_transaction(transaction_hash)
    finally:
        await ledger.close()
    if found is None:
        return None
    shown = (found.hash or transaction_hash).hex()
    return KnownTransaction(found.kind, found.state, found.nonce, shown, found.block_number, found.reason)


def _node(settings: EvmSettings) -> Node:
    if settings.rpc_url is None:
        raise LedgerUnavailable("plugins.evm.rpc_url is not set.")
    return Node(settings.rpc_url, settings.rpc_seconds)
