"""The promises of a ledger that anchors digests, as tests (``AnchoringLedger`` in ``ports/ledger.py``).

An author subclasses it beside ``LedgerConformance``, with the same fixtures ``ledger`` and ``reopen``. A ledger with slow
confirmations sets ``patience_seconds``::

    class TestMyLedger(LedgerConformance, AnchoringLedgerConformance):
        patience_seconds = 300.0
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable
from typing import ClassVar

import pytest

from identity_core.errors import LedgerUnavailable
from identity_core.ports.ledger import AnchoringLedger, AnchorTransaction
from identity_kit.conformance.ledger_examined import DID, ExaminedLedger, check_lines, whole
from identity_kit.conformance.loops import close, expect_error, own_loop_per_test

ROOT = bytes(range(32))
NASTY_DIGESTS = (bytes(32), b"\xff" * 32, b"\0" * 31 + b"\1", b"'; DROP TABLE x; --" + bytes(13), b"\n" * 32)


def check_transaction(transaction: AnchorTransaction | None) -> AnchorTransaction:
    """Check the form of a status, which is the same at every moment, and return it."""
    assert transaction is not None, "what was submitted is not known"
    assert transaction.state in ("submitted", "mined", "confirmed", "failed")
    if transaction.transaction_hash is not None:
        assert re.fullmatch(r"[0-9a-f]{64}", transaction.transaction_hash), "not 32 bytes in lower-case hex"
    if transaction.state in ("mined", "confirmed"):
        assert transaction.transaction_hash is not None, "in a block, and no transaction"
        assert transaction.block_number is not None, "in a block, and none is named"
        assert transaction.block_number >= 1
    if transaction.state == "failed":
        assert transaction.reason, "failed for no reason"
    return transaction


@own_loop_per_test
class AnchoringLedgerConformance(ExaminedLedger):
    """The promises of every ledger that anchors."""

    patience_seconds: ClassVar[float] = 60.0

    async def confirmed(self, status: Callable[[], Awaitable[AnchorTransaction | None]]) -> AnchorTransaction:
        """Return the answer of ``status`` after the confirmation."""
        deadline = asyncio.get_running_loop().time() + self.patience_seconds
        while (found := check_transaction(await status())).state != "confirmed":
            assert found.state != "failed", f"failed: {found.reason}"
            assert asyncio.get_running_loop().time() < deadline, f"still {found.state}: {found.reason}"
            await asyncio.sleep(0.02)
        return found

    def test_it_anchors(self, ledger: AnchoringLedger) -> None:
        """The object has the methods of the port, and a name."""
        assert isinstance(ledger, AnchoringLedger)
        assert ledger.anchor_ledger_name
        assert ledger.anchor_ledger_name.isprintable()

    async def test_unsubmitted_anchor_is_unknown(self, ledger: AnchoringLedger) -> None:
        """None, for anchors and for revocations; one is not the other."""
        assert await ledger.anchor_status(ROOT) is None
        assert await ledger.revocation_status(ROOT) is None
        await ledger.submit_anchor(ROOT, 3)
        assert await ledger.revocation_status(ROOT) is None
        await ledger.revoke_leaf(ROOT[::-1])
        assert await ledger.anchor_status(ROOT[::-1]) is None

    async def test_an_anchor_is_confirmed(self, ledger: AnchoringLedger) -> None:
        """Check that it is known as soon as it was submitted, and confirmed in the end, with a transaction and a block."""
        check_transaction(await ledger.submit_anchor(ROOT, 1000))
        first = await self.confirmed(lambda: ledger.anchor_status(ROOT))
        assert await ledger.anchor_status(ROOT) == first, "what is final changed"

    async def test_the_same_root_again_is_the_same_anchor(self, ledger: AnchoringLedger) -> None:
        """Also when many submit it at once: one transaction."""
        submissions = (ledger.submit_anchor(ROOT, 7) for _ in range(16))
        for told in await asyncio.gather(*submissions):
            check_transaction(told)
        first = await self.confirmed(lambda: ledger.anchor_status(ROOT))
        assert await ledger.submit_anchor(ROOT, 7) == first

    async def test_different_digests_are_different_anchors(self, ledger: AnchoringLedger) -> None:
        """Whatever their bytes; blocks do not go back."""
        digests = (*NASTY_DIGESTS, os.urandom(32))
        for digest in digests:
            await ledger.submit_anchor(digest, 1)
        found = [await self.confirmed(lambda root=digest: ledger.anchor_status(root)) for digest in digests]  # type: ignore[misc]
        assert len({one.transaction_hash for one in found}) == len(digests)
        blocks = [one.block_number or 0 for one in found]
        assert blocks == sorted(blocks), "block numbers go back"

    async def test_a_leaf_is_revoked_alone(self, ledger: AnchoringLedger) -> None:
        """Once, and neither its batch nor another leaf is touched."""
        await ledger.submit_anchor(ROOT, 2)
        anchored = await self.confirmed(lambda: ledger.anchor_status(ROOT))
        leaf, other = os.urandom(32), os.urandom(32)
        check_transaction(await ledger.revoke_leaf(leaf))
        revoked = await self.confirmed(lambda: ledger.revocation_status(leaf))
        assert await ledger.revoke_leaf(leaf) == revoked, "revoked twice"
        assert await ledger.revocation_status(other) is None
        assert await ledger.anchor_status(ROOT) == anchored
        assert (revoked.block_number or 0) >= (anchored.block_number or 0)

    async def test_anchors_are_no_entries(self, ledger: AnchoringLedger) -> None:
        """Entries and anchors side by side: sequences have no gap, and every entry is there."""
        for n in range(3):
            await ledger.append(DID, b"%d" % n, expected_version=n)
            await ledger.submit_anchor(bytes([n]) * 32, 1)
            await self.confirmed(lambda root=bytes([n]) * 32: ledger.anchor_status(root))  # type: ignore[misc]
        lines = await whole(ledger)
        assert [line.entry for line in lines] == [b"0", b"1", b"2"]
        check_lines(lines, shared_chain=True)
        head = await ledger.head()
        assert head.sequence == 3
        assert head.block_number >= lines[-1].receipt.block_number

    async def test_closing_ends_anchoring(self, ledger: AnchoringLedger) -> None:
        """After ``close``, if there is one, nothing more is taken over."""
        await ledger.submit_anchor(ROOT, 1)
        await close(ledger)
        await close(ledger)
        if hasattr(ledger, "close"):
            await expect_error(LedgerUnavailable, ledger.submit_anchor(ROOT[::-1], 1))
            await expect_error(LedgerUnavailable, ledger.revoke_leaf(ROOT))

    async def test_anchors_outlive_their_process(
        self, ledger: AnchoringLedger, reopen: Callable[[], AnchoringLedger] | None
    ) -> None:
        """Check that what was submitted is confirmed after a restart, under the same name, and once."""
        if reopen is None:
            pytest.skip("this ledger gives no fixture 'reopen'")

        name, leaf = ledger.anchor_ledger_name, os.urandom(32)
        await ledger.submit_anchor(ROOT, 5)
        await ledger.revoke_leaf(leaf)
        await close(ledger)
        again = reopen()
        try:
            assert again.anchor_ledger_name == name
            anchored = await self.confirmed(lambda: again.anchor_status(ROOT))
            revoked = await self.confirmed(lambda: again.revocation_status(leaf))
            assert await again.submit_anchor(ROOT, 5) == anchored
            assert await again.revoke_leaf(leaf) == revoked
        finally:
            await close(again)
