"""The values that the plugin reads from a chain: blocks, receipts, events of the one contract."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from identity_ledger_evm.contract import artifact, call, word
from identity_ledger_evm.node import Node, NodeAway, NodeRefused, decode_hex, hexed, listed, member, quantity

WORDS = {"Recorded": 4, "Refused": 3, "Anchored": 2, "Revoked": 1, "OwnershipOffered": 1, "OwnershipTaken": 2}


class Block(Struct, frozen=True):
    """``base_fee`` is wei per gas; ``timestamp`` seconds since 1970."""

    number: int
    hash: bytes
    timestamp: int
    base_fee: int


class Event(Struct, frozen=True):
    """An event of the contract. ``words`` are its 32-byte values: the indexed one first."""

    name: str
    words: tuple[bytes, ...]
    block_number: int
    block_hash: bytes
    transaction_hash: bytes
    log_index: int

    def number(self, place: int) -> int:
        """Return one value as a number."""
        return int.from_bytes(self.words[place], "big")


class Mined(Struct, frozen=True):
    """The receipt of a transaction that is in a block; ``succeeded`` is False when it was reverted there,
    ``contract`` the address that it made, if it made one."""

    hash: bytes
    block_number: int
    block_hash: bytes
    succeeded: bool
    gas_used: int
    contract: str | None


class Chain:
    """One contract on the chain of one node. Every method may raise ``NodeAway`` and ``NodeRefused``."""

    def __init__(self, node: Node, contract: str) -> None:
        self._node = node
        self._contract = contract

    async def chain_id(self) -> int:
        """Return the chain's number."""
        return quantity(await self._node.call("eth_chainId"))

    async def runtime(self) -> bytes:
        """Return the code at the contract's address; empty when there is none."""
        return decode_hex(await self._node.call("eth_getCode", self._contract, "latest"))

    async def head(self) -> Block:
        """Return the newest block."""
        found = await self._block("latest")
        if found is None:
            raise NodeAway("the node has no newest block")
        return found

    async def block(self, number: int) -> Block | None:
        """Return the block of this number, if there is one."""
        return await self._block(hex(number))

    async def _block(self, tag: str) -> Block | None:
        value = await self._node.call("eth_getBlockByNumber", tag, False)
        if value is None:
            return None
        base_fee = value.get("baseFeePerGas", "0x0") if isinstance(value, dict) else None
        return Block(
            quantity(member(value, "number")),
            decode_hex(member(value, "hash"), 32),
            quantity(member(value, "timestamp")),
            quantity(base_fee),
        )

    async def nonce(self, address: str, number: int | None = None) -> int:
        """Return how many transactions of the address are in blocks up to this one, or in all."""
        tag = "latest" if number is None else hex(number)
        return quantity(await self._node.call("eth_getTransactionCount", address, tag))

    async def balance(self, address: str) -> int:
        """Return the balance in wei."""
        return quantity(await self._node.call("eth_getBalance", address, "latest"), bits=256)

    async def mined(self, transaction_hash: bytes) -> Mined | None:
        """Return the receipt; None while the transaction is in no block."""
        value = await self._node.call("eth_getTransactionReceipt", hexed(transaction_hash))
        # Some nodes give a receipt without a block to a transaction that waits.
        if value is None or member(value, "blockNumber") is None:
            return None
        if decode_hex(member(value, "transactionHash"), 32) != transaction_hash:
            raise NodeAway("the node gives the receipt of another transaction")
        made = value.get("contractAddress")
        return Mined(
            transaction_hash,
            quantity(member(value, "blockNumber")),
            decode_hex(member(value, "blockHash"), 32),
            quantity(member(value, "status")) == 1,
            quantity(member(value, "gasUsed")),
            None if made is None else hexed(decode_hex(made, 20)),
        )

    async def input(self, transaction_hash: bytes) -> bytes:
        """Return the input of a transaction."""
        return decode_hex(member(await self._node.call("eth_getTransactionByHash", hexed(transaction_hash)), "input"))

    async def send(self, raw: bytes) -> None:
        """Send a signed transaction to the node."""
        await self._node.call("eth_sendRawTransaction", hexed(raw))

    async def events(self, first: int, last: int) -> Sequence[Event]:
        """Return all events of the contract in these blocks, in the chain's order."""
        where = {"address": self._contract, "fromBlock": hex(first), "toBlock": hex(last)}
        found = [self._event(one) for one in listed(await self._node.call("eth_getLogs", where))]
        events = [one for one in found if one is not None and first <= one.block_number <= last]
        return sorted(events, key=lambda one: (one.block_number, one.log_index))

    def _event(self, log: object) -> Event | None:
        topics = [decode_hex(one, 32) for one in listed(member(log, "topics"))]
        data = decode_hex(member(log, "data"))
        names = {topic: name for name, topic in artifact().topics.items()}
        if decode_hex(member(log, "address"), 20) != decode_hex(self._contract) or not topics or topics[0] not in names:
            return None
        name = names[topics[0]]
        words = (*topics[1:], *(data[at : at + 32] for at in range(0, len(data), 32)))
        if len(words) != WORDS[name]:
            raise NodeAway("the node gives an event in another form")
        return Event(
            name,
            words,
            quantity(member(log, "blockNumber")),
            decode_hex(member(log, "blockHash"), 32),
            decode_hex(member(log, "transactionHash"), 32),
            quantity(member(log, "logIndex")),
        )

    async def count(self, number: int) -> int:
        """Return how many entries the contract has after this block."""
        return await self._read(call("count"), number)

    async def owner(self) -> str:
        """Return the address that the contract obeys."""
        return hexed(word(await self._read(call("owner")))[12:])

    async def refusal(self, sender: str, data: bytes) -> str:
        """Return the reason for which the contract refuses a call, in the node's words; empty when it would go through now."""
        try:
            await self._node.call("eth_call", {"from": sender, "to": self._contract, "data": hexed(data)}, "latest")
        except NodeRefused as error:
            return str(error)
        return ""

    async def _read(self, data: bytes, number: int | None = None) -> int:
        tag = "latest" if number is None else hex(number)
        what = {"to": self._contract, "data": hexed(data)}
        return int.from_bytes(decode_hex(await self._node.call("eth_call", what, tag), 32), "big")
