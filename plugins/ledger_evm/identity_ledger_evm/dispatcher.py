"""The dispatcher of transactions: it signs queued ones, stores them, sends them, and repeats that until the chain has them.

Nothing is sent that is not stored, so a process that dies at any point leaves behind all that the next one needs. Sending the same
bytes twice is harmless, and so is a second transaction for the same entries or root, because the contract records nothing twice;
that is why this file never has to know whether something was sent.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from msgspec import Struct, field

from identity_core.database import ConstraintViolated, Transaction
from identity_ledger_evm import anchors, appends, outgoing
from identity_ledger_evm.chain import Block, Chain
from identity_ledger_evm.contract import MOST_ITEMS, append_call, call, word
from identity_ledger_evm.fees import GWEI, FeeRule, Fees, gas_for
from identity_ledger_evm.node import NodeRefused
from identity_ledger_evm.outgoing import Attempt, Kind, Outgoing
from identity_ledger_evm.sender import Sender
from identity_ledger_evm.station import Station

# Nodes take 128 KiB.
MOST_OCTETS = 96 * 1024
# How many may be under way at once; nodes keep no more than 16 of a sender that is new to them.
WINDOW = 16
GAP_LOOKS = 3
SEND_AGAIN_SECONDS = 2.0
# How long the chain's word on balance and nonce is taken for granted. It can be out of date anyway, and nothing depends on it:
# a nonce that is used after all is exchanged, and what cannot be paid is not mined.
LASTING_SECONDS = 2.0

Then = Callable[[Transaction, int], None]

_HAVE = ("already known", "already imported", "known transaction", "nonce too low", "already exists")
_POOR = ("insufficient funds", "insufficient balance")
_CHEAP = ("underpriced", "less than block base fee", "fee cap", "fee too low", "max fee per gas")


class Memory(Struct):
    """The record of a process of its own sending; its loss costs a repetition and nothing else."""

    sent: dict[bytes, tuple[bytes, float]] = field(default_factory=dict)
    cheap: set[int] = field(default_factory=set)
    poor: bool = False
    gap: tuple[int, int] = (-1, 0)
    funds: tuple[int, float] = (0, 0.0)
    nonce: tuple[int, float] = (0, -LASTING_SECONDS)


class Dispatcher:
    """Sends for one contract. Only the holder of the lease may call it."""

    def __init__(self, station: Station, chain: Chain, sender: Sender, logger: logging.Logger) -> None:
        settings = station.settings
        cap = None if settings.max_fee_gwei is None else int(settings.max_fee_gwei * GWEI)
        self._rule = FeeRule(int(settings.priority_fee_gwei * GWEI), cap)
        self._station = station
        self._chain = chain
        self._sender = sender
        self._logger = logger
        self._memory = Memory()
        self._trouble = ""

    async def dispatch(self, head: Block) -> bool:
        """Send what should be on its way; whether anything new was signed. The obstacle is in the station's
        ``trouble``."""
        self._trouble = ""
        try:
            return await self._dispatch(head)
        finally:
            # In one step: a reader in between reads how it was at the last look.
            self._station.trouble = self._trouble

    async def _dispatch(self, head: Block) -> bool:
        open_ones = await self._station.database.read(outgoing.open_ones)
        unmined = [one for one in open_ones if one.state == "submitted"]
        if unmined:
            await self._tend(unmined, head)
        if self._trouble or len(open_ones) >= WINDOW:
            return False
        return await self._sign_new(head, WINDOW - len(open_ones))

    # What is under way

    async def _tend(self, unmined: Sequence[Outgoing], head: Block) -> None:
        final = head.number - self._station.settings.confirmations + 1
        taken = await self._chain.nonce(self._sender.address, max(final, 0))
        lowest = min(one.nonce for one in unmined)
        for one in unmined:
            if one.nonce < taken:
                await self._move(one, head)
            elif self._is_too_cheap(one, one.nonce == lowest, head):
                await self._bump(one, head)
        await self._fill_gap(lowest, head)
        for one in unmined:
            await self._send_again(one, head)

    def _is_too_cheap(self, one: Outgoing, holds_up_the_others: bool, head: Block) -> bool:
        """Return whether the fee is too low, as the node reports or the blocks show that passed it by. A low balance does not
        count."""
        if self._memory.poor or head.number <= one.signed_in:
            return False
        waited = head.number - one.signed_in >= self._station.settings.bump_blocks
        return one.id in self._memory.cheap or (holds_up_the_others and waited)

    async def _move(self, one: Outgoing, head: Block) -> None:
        """Send the same call with another nonce: another process with the same key has used this one for good."""
        attempts = await self._station.database.read(lambda transaction: outgoing.attempts(transaction, one.id))
        # Requested after the count of nonces, so that a block that came in between is not taken for another process's.
        if any([await self._chain.mined(attempt.hash) for attempt in attempts]):
            return
        self._memory.nonce = (0, -LASTING_SECONDS)
        self._logger.warning("nonce %d was used by another transaction of the same key", one.nonce)
        if one.kind == "filler":
            await self._station.write(lambda transaction: outgoing.set_state(transaction, one.id, "failed"))
            return
        fees = self._rule.first(head.base_fee)
        if fees is not None:
            attempt = self._sign(one.kind, one.data, one.gas, await self._next_nonce(), fees)
            await self._sign_again(one, attempt, head)

    async def _bump(self, one: Outgoing, head: Block) -> None:
        attempts = await self._station.database.read(lambda transaction: outgoing.attempts(transaction, one.id))
        fees = self._rule.replacement(attempts[0].fees, head.base_fee)
        if fees is None:
            self._trouble = "the fees of the chain are above plugins.evm.max_fee_gwei"
            return
        self._memory.cheap.discard(one.id)
        await self._sign_again(one, self._sign(one.kind, one.data, one.gas, one.nonce, fees), head)

    async def _sign_again(self, one: Outgoing, attempt: Attempt, head: Block) -> None:
        await self._station.write(lambda transaction: outgoing.sign_again(transaction, one.id, head.number, attempt))

    async def _fill_gap(self, lowest: int, head: Block) -> None:
        """Fill a nonce that the chain waits for: what used it was undone. An empty transaction takes its place."""
        due = await self._chain.nonce(self._sender.address)
        looks = self._memory.gap[1] + 1 if self._memory.gap[0] == due < lowest else 0
        self._memory.gap = (due, looks)
        if looks < GAP_LOOKS:
            return
        fees = self._rule.first(head.base_fee)
        if fees is not None:
            filled = await self._store("filler", b"", 21_000, head, fees, due, lambda transaction, number: None)
            if filled:
                self._logger.warning("nonce %d is missing on the chain; an empty transaction fills the gap", due)

    async def _send_again(self, one: Outgoing, head: Block) -> None:
        attempts = await self._station.database.read(lambda transaction: outgoing.attempts(transaction, one.id))
        newest = next((attempt for attempt in attempts if attempt.nonce == one.nonce), attempts[0])
        sent_in, at = self._memory.sent.get(newest.hash, (b"", 0.0))
        if sent_in == head.hash and self._station.clock.monotonic() - at < SEND_AGAIN_SECONDS:
            return
        await self._send(one.id, newest, head)

    async def _send(self, number: int, attempt: Attempt, head: Block) -> None:
        if len(self._memory.sent) > 64 * WINDOW:
            self._memory.sent.clear()
        self._memory.sent[attempt.hash] = (head.hash, self._station.clock.monotonic())
        self._memory.poor = False
        try:
            await self._chain.send(attempt.raw)
        except NodeRefused as error:
            said = str(error).lower()
            if any(words in said for words in _HAVE):
                return
            del self._memory.sent[attempt.hash]
            if any(words in said for words in _POOR):
                self._memory.poor = True
                self._trouble = f"the account {self._sender.address} has not enough funds"
            elif any(words in said for words in _CHEAP):
                self._memory.cheap.add(number)
            else:
                self._trouble = f"the node refuses transactions: {error}"

    # What is new

    async def _sign_new(self, head: Block, room: int) -> bool:
        signed = False
        await self._refuse_stale()
        while room > 0 and not self._trouble:
            rows = await self._station.database.read(
                lambda transaction: appends.sendable(transaction, most=MOST_ITEMS, most_octets=MOST_OCTETS)
            )
            if not rows or not await self._send_appends(rows, head):
                break
            signed, room = True, room - 1
        for one in await self._station.database.read(lambda transaction: anchors.waiting(transaction, room)):
            if self._trouble:
                break
            signed = await self._send_anchor(one, head) or signed
        return signed

    async def _refuse_stale(self) -> None:
        if await self._station.database.read(appends.has_stale):
            await self._station.write(appends.refuse_stale)

    async def _send_appends(self, rows: Sequence[appends.Queued], head: Block) -> bool:
        # Signed by whom it is: the same items at the same nonce, from another process with the same key, would be the very
        # same transaction, and both would call it theirs.
        data = append_call([row.item for row in rows]) + bytes.fromhex(self._station.holder)
        return await self._first(
            "append", data, len(rows), head, lambda transaction, number: appends.sent(transaction, rows, number)
        )

    async def _send_anchor(self, one: anchors.Waiting, head: Block) -> bool:
        if one.kind == "anchor":
            data = call("anchor", one.digest, word(one.size))
        else:
            data = call("revoke", one.digest)
        return await self._first(
            one.kind, data, 1, head, lambda transaction, number: anchors.sent(transaction, one, number)
        )

    async def _first(self, kind: Kind, data: bytes, items: int, head: Block, then: Then) -> bool:
        """Signs, stores and sends a new transaction, if it can be paid. False when it has to wait."""
        fees = self._rule.first(head.base_fee)
        if fees is None:
            self._trouble = "the fees of the chain are above plugins.evm.max_fee_gwei"
            return False
        gas = gas_for(data, items)
        if not await self._can_pay(gas * fees.most):
            self._trouble = f"the account {self._sender.address} has not enough funds"
            return False
        return await self._store(kind, data, gas, head, fees, await self._next_nonce(), then)

    async def _store(self, kind: Kind, data: bytes, gas: int, head: Block, fees: Fees, nonce: int, then: Then) -> bool:
        attempt = self._sign(kind, data, gas, nonce, fees)

        def job(transaction: Transaction) -> int:
            number = outgoing.add(transaction, kind, data, gas, head.number, attempt)
            then(transaction, number)
            return number

        try:
            number = await self._station.write(job)
        except (appends.Withdrawn, ConstraintViolated):
            # The caller no longer waits, or the nonce is in use: the next check sees that.
            return False
        await self._send(number, attempt, head)
        return True

    async def _can_pay(self, wei: int) -> bool:
        now = self._station.clock.monotonic()
        balance, at = self._memory.funds
        if balance < wei or now - at > LASTING_SECONDS:
            balance = await self._chain.balance(self._sender.address)
        # What is granted now is gone for the next one, until the chain is asked again.
        self._memory.funds = (balance - wei, at if now - at <= LASTING_SECONDS else now)
        return balance >= wei

    async def _next_nonce(self) -> int:
        own = await self._station.database.read(outgoing.next_nonce)
        used, at = self._memory.nonce
        if self._station.clock.monotonic() - at > LASTING_SECONDS:
            used = await self._chain.nonce(self._sender.address)
            self._memory.nonce = (used, self._station.clock.monotonic())
        return max(own, used)

    def _sign(self, kind: Kind, data: bytes, gas: int, nonce: int, fees: Fees) -> Attempt:
        to = self._sender.address if kind == "filler" else self._station.contract
        signed = self._sender.sign(to, data, nonce=nonce, gas=gas, fees=fees)
        return Attempt(signed.hash, nonce, signed.raw, fees)
