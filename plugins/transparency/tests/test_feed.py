"""The feeder of witnesses: its requests, the quorum of a cosigned checkpoint, and the independence of witnesses from each other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from identity_transparency.cli.ledger_cosigner import Cosigner, CosigningKey, write_state
from identity_transparency.cosigned import StoredCosignedCheckpoints
from identity_transparency.extension import newest_note
from identity_transparency.use_cases.feed import (
    BUSY_SECONDS,
    LATE_SECONDS,
    ROUND_SECONDS,
    CosignedLog,
    FedWitness,
    WitnessFailed,
    WitnessFeeder,
)
from identity_transparency.use_cases.read import LedgerReads
from identity_transparency.wire import GetLedgerCheckpointQuery

from identity_codec import ed25519
from identity_core.errors import PluginUnavailable, StorageMismatch
from identity_tlog.note import WITNESS, VerifierKey
from identity_tlog.policy import WitnessPolicy
from identity_tlog.tree import Refuted
from identity_tlog.witness import Stale
from tests.transparency import LoggedLedger, run


class Told:
    """A witness in this process: an honest cosigner, and how it answers instead."""

    def __init__(self, folder: Path, number: int, log: VerifierKey, clock: Any) -> None:
        pair = ed25519.generate(bytes([number]) * 32)
        self.key = VerifierKey(f"w{number}.example", pair.public, WITNESS)
        state = folder / f"{number}.json"
        write_state(state, {})
        self.cosigner = Cosigner(
            [CosigningKey(self.key, pair)], lambda: [log], state, clock=lambda: clock.time.timestamp()
        )
        self.answers: Callable[[bytes], bytes] = lambda body: self.cosigner.add_checkpoint(body).encode()
        self.open = asyncio.Event()
        self.open.set()
        self.asked: list[bytes] = []
        self.answers_honestly = self.answers

    async def add_checkpoint(self, body: bytes) -> bytes:
        self.asked.append(body)
        await self.open.wait()
        try:
            return self.answers(body)
        except Stale:
            raise
        except Refuted as error:
            raise WitnessFailed(str(error)) from error


class Fed:
    """A log with four witnesses, of whom ``quorum`` must cosign; time moves when a test says so."""

    def __init__(self, folder: Path, quorum: int) -> None:
        self.logged = LoggedLedger(folder)
        self.clock = self.logged.clock
        self.told = [Told(folder, number, self.logged.key.verifier, self.clock) for number in range(1, 5)]
        lines = "".join(f"witness W{number} {one.key} http://w/\n" for number, one in enumerate(self.told, 1))
        self.policy = WitnessPolicy.parse(f"{lines}group G {quorum} W1 W2 W3 W4\nquorum G\n".encode())
        self.holds_turn = True
        self.feeder = self.another()

    def another(self) -> WitnessFeeder:
        logged = self.logged
        cosigned = CosignedLog(self.policy, logged.signer, StoredCosignedCheckpoints(logged.store.database))
        fed = [FedWitness(one, port) for one, port in zip(self.policy.witnesses, self.told, strict=True)]
        return WitnessFeeder(cosigned, fed, logged, self.clock, lambda: self.holds_turn)  # type: ignore[arg-type]

    async def turn(self, seconds: float = 1.0, *, feeder: WitnessFeeder | None = None) -> None:
        """A step of the feeder a moment later, and whatever answers at once."""
        self.clock.move(seconds=seconds)
        await (feeder or self.feeder).step()
        await self.settled(feeder)

    async def settled(self, feeder: WitnessFeeder | None = None) -> None:
        for _ in range(10_000):
            busy = [
                one
                for one, told in zip((feeder or self.feeder).fed, self.told, strict=True)
                if one.task is not None and not one.task.done() and told.open.is_set()
            ]
            if not busy:
                return
            await asyncio.sleep(0)
        pytest.fail("the witnesses are still busy")

    @property
    def size(self) -> int:
        last = self.feeder.cosigned.last
        return 0 if last is None else last.checkpoint.size

    @property
    def cosigners(self) -> set[str]:
        last = self.feeder.cosigned.last
        return set() if last is None else set(last.cosigned)


def play(scenario: Callable[[Fed], Any], folder: Path, quorum: int = 3) -> None:
    async def whole() -> None:
        it = Fed(folder, quorum)
        try:
            await scenario(it)
        finally:
            await it.feeder.close()
            await it.logged.close()

    run(whole())


@pytest.mark.parametrize("feeds", [True, False])
def test_a_feeder_rests_while_nothing_is_to_be_cosigned(tmp_path: Path, feeds: bool) -> None:
    """Guard against a fault: the feeder read the ledger each second, also that of a server. One that does not feed reads on until it
    knows what another has kept."""

    async def scenario(it: Fed) -> None:
        one = it.feeder if feeds else it.another()
        one.rest_seconds, it.holds_turn = 60.0, feeds
        assert await one.guarded() == 60.0
        await it.logged.append(1, "did:a:")
        it.told[3].open.clear()
        for _ in range(3):
            assert await one.guarded() == BUSY_SECONDS
            await it.settled()
        if not feeds:
            it.holds_turn = True
            await it.feeder.step()
            await it.settled()
            it.holds_turn = False
        it.told[3].open.set()
        await it.settled()
        await one.guarded()
        assert await one.guarded() == 60.0

    play(scenario, tmp_path)


def test_append_only_log_is_cosigned_and_verifiable(tmp_path: Path) -> None:
    async def scenario(it: Fed) -> None:
        await it.turn()
        assert (it.size, it.told[0].asked) == (0, [])
        for count, size in ((3, 3), (300, 303)):
            await it.logged.append(count, f"did:{count}:")
            await it.turn()
            assert (it.size, it.cosigners) == (size, {"W1", "W2", "W3", "W4"})
            last = it.feeder.cosigned.last
            assert last is not None
            opened = it.policy.open(last.encoded, logs=[it.logged.key.verifier])
            assert opened.checkpoint.root == (await it.logged.tree.frontier()).root
            assert it.feeder.lags() == {"W1": 0.0, "W2": 0.0, "W3": 0.0, "W4": 0.0}
        asked = len(it.told[0].asked)
        await it.turn()
        # Nothing is new, so there is no request.
        assert len(it.told[0].asked) == asked == 2
        serve = LedgerReads(it.logged, partial(newest_note, it.feeder), True).checkpoint  # type: ignore[arg-type]
        await it.logged.append(1, "did:new:")
        assert await serve(GetLedgerCheckpointQuery()) == last.encoded
        assert b"\n304\n" in await serve(GetLedgerCheckpointQuery(quorum="any"))

    play(scenario, tmp_path)


LIES: dict[str, Callable[[Told], Callable[[bytes], bytes]]] = {
    "bytes": lambda told: lambda body: b"\xff\x00" * 100,
    "nothing": lambda told: lambda body: b"",
    "another key": lambda told: lambda body: told.key.line(bytes(72)).replace("w1", "w9").encode(),
    "a wrong signature": lambda told: lambda body: told.key.line((1).to_bytes(8, "big") + bytes(64)).encode(),
    "no time": lambda told: lambda body: told.key.line(bytes(72)).encode(),
    "another text": lambda told: (
        lambda body: b"\n\nid.example/api/v1/ledger\n9\nAAAA\n\n" + told.answers_honestly(body)
    ),
    "a line too much": lambda told: lambda body: told.answers_honestly(body) + b"\nmore\n",
}


@pytest.mark.parametrize("lie", LIES)
def test_witness_that_lies_counts_for_nothing_and_spoils_nothing(tmp_path: Path, lie: str) -> None:
    async def scenario(it: Fed) -> None:
        liar = it.told[0]
        liar.answers = LIES[lie](liar)
        await it.logged.append(5)
        await it.turn()
        assert (it.size, it.cosigners) == (5, {"W2", "W3", "W4"})
        assert it.feeder.fed[0].reason
        await it.turn(3)
        assert it.feeder.lags()["W1"] == 3.0
        # It is asked again, and once it is honest it counts.
        liar.answers = liar.answers_honestly
        await it.turn(10)
        assert it.cosigners == {"W1", "W2", "W3", "W4"}
        assert (it.feeder.fed[0].reason, it.feeder.lags()["W1"]) == ("", 0.0)

    play(scenario, tmp_path)


def test_a_size_that_nobody_has_seen_is_asked_for_once(tmp_path: Path) -> None:
    async def scenario(it: Fed) -> None:
        await it.logged.append(5)
        sizes = iter([3, 2, 10**18, 4, 4])

        def stale(body: bytes) -> bytes:
            raise Stale(next(sizes))

        it.told[0].answers = stale
        await it.turn()
        assert [body.split(b"\n")[0] for body in it.told[0].asked] == [b"old 0", b"old 3"]
        assert "and then one from 2" in it.feeder.fed[0].reason
        await it.turn(10)
        # Of more entries than there are nothing can be proven.
        assert len(it.told[0].asked) == 3
        assert "it has seen 1000000000000000000 entries" in it.feeder.fed[0].reason
        assert it.cosigners == {"W2", "W3", "W4"}

    play(scenario, tmp_path)


def test_witness_that_knows_log_says_from_where_it_wants_proof(tmp_path: Path) -> None:
    async def scenario(it: Fed) -> None:
        await it.logged.append(5)
        await it.turn()
        # Another process knows of no witness how far it is.
        again = it.another()
        await it.logged.append(7, "did:more:")
        await it.turn(feeder=again)
        assert [body.split(b"\n")[0] for body in it.told[0].asked] == [b"old 0", b"old 0", b"old 5"]
        assert again.cosigned.last is not None
        assert again.cosigned.last.checkpoint.size == 12
        await again.close()

    play(scenario, tmp_path)


def test_slow_witness_blocks_no_other(tmp_path: Path) -> None:
    async def scenario(it: Fed) -> None:
        slow = it.told[3]
        slow.open.clear()
        for turn in range(4):
            await it.logged.append(1, f"did:{turn}:")
            await it.turn()
            assert (it.size, it.cosigners) == (turn + 1, {"W1", "W2", "W3"})
        assert len(slow.asked) == 1
        assert it.feeder.lags() == {"W1": 0.0, "W2": 0.0, "W3": 0.0, "W4": 3.0}
        slow.open.set()
        await it.settled()
        # It cosigned the first, which is late by now; it lags since the second was made.
        assert it.feeder.lags()["W4"] == 2.0
        await it.turn()
        assert (it.size, it.cosigners, it.feeder.lags()["W4"]) == (4, {"W1", "W2", "W3", "W4"}, 0.0)

    play(scenario, tmp_path)


def test_slow_witnesses_meet_at_one_checkpoint(tmp_path: Path) -> None:
    """Check that of four, three must cosign, one is gone, and two take their time, each another. If every second brought another
    checkpoint, no two of them would ever sign the same."""

    async def scenario(it: Fed) -> None:
        def fail(body: bytes) -> bytes:
            raise WitnessFailed("gone")

        it.told[3].answers = fail
        slow = it.told[1:3]
        slow[0].open.clear()
        slow[1].open.clear()
        await it.logged.append(1)
        await it.turn()
        slow[0].open.set()
        for turn in range(3):
            await it.logged.append(1, f"did:{turn}:")
            await it.turn()
        assert it.size == 0
        slow[1].open.set()
        await it.settled()
        assert (it.size, it.cosigners) == (1, {"W1", "W2", "W3"})
        await it.turn()
        assert it.size == 4

    play(scenario, tmp_path)


def test_without_a_quorum_the_last_one_stays_and_the_lag_grows(tmp_path: Path) -> None:
    async def scenario(it: Fed) -> None:
        await it.logged.append(1)
        await it.turn()
        kept = it.feeder.cosigned.last
        for told in it.told[:2]:
            told.open.clear()
        await it.logged.append(1, "did:more:")
        await it.turn()
        await it.turn(LATE_SECONDS)
        assert it.feeder.cosigned.last is kept
        assert it.feeder.quorum_lag() == LATE_SECONDS
        assert not it.feeder.is_late
        await it.turn()
        assert it.feeder.is_late
        # After its time the next checkpoint is asked for, with everything that has come since.
        await it.logged.append(1, "did:third:")
        await it.turn()
        for told in it.told[:2]:
            told.open.set()
        await it.settled()
        await it.turn(ROUND_SECONDS)
        assert (it.size, it.feeder.quorum_lag(), it.feeder.is_late) == (3, 0.0, False)

    play(scenario, tmp_path)


def test_another_process_reads_what_the_one_that_feeds_has_kept(tmp_path: Path) -> None:
    async def scenario(it: Fed) -> None:
        await it.logged.append(2)
        await it.turn()
        reader = it.another()
        it.holds_turn = False
        asked = len(it.told[0].asked)
        await it.turn(feeder=reader)
        assert reader.cosigned.last is not None
        assert reader.cosigned.last.encoded == it.feeder.cosigned.last.encoded  # type: ignore[union-attr]
        assert len(it.told[0].asked) == asked
        assert reader.lags()["W1"] == 0.0
        # When the one that feeds is gone, another takes its turn.
        it.holds_turn = True
        await it.logged.append(1, "did:more:")
        await it.turn(feeder=reader)
        assert reader.cosigned.last.checkpoint.size == 3
        await reader.close()

    play(scenario, tmp_path)


def test_feed_outside_the_policy_is_not_shown(tmp_path: Path) -> None:
    """Check that a process that can write the database cannot make a checkpoint out of nothing; nor does one of another policy count."""

    async def scenario(it: Fed) -> None:
        await it.logged.append(2)
        await it.turn()
        kept, last = it.feeder.cosigned.kept, it.feeder.cosigned.last
        assert last is not None
        for note in (b"junk", last.encoded.replace(b"\n2\n", b"\n3\n"), last.encoded.split(b"\n\n")[0] + b"\n\n"):
            await kept.keep(9, it.clock.time, note)
            assert await kept.newest() == note
            reader = it.another()
            await reader.cosigned.refresh()
            assert reader.cosigned.last is None

    play(scenario, tmp_path)


def test_the_earliest_that_covers_an_entry_tells_its_time(tmp_path: Path) -> None:
    async def scenario(it: Fed) -> None:
        times = {}
        for number in range(1, 6):
            await it.logged.append(1, f"did:{number}:")
            await it.turn(40)
            times[number] = it.clock.time.replace(microsecond=0)
        cosigned = it.feeder.cosigned
        found = [await cosigned.covering(index) for index in range(6)]
        assert found[5] is None
        sizes = [0 if one is None else one.checkpoint.size for one in found]
        # Of those at 40, 80, 120, 160 and 200 seconds one a minute stays, and the newest.
        assert sizes == [1, 3, 3, 5, 5, 0]
        for index, one in enumerate(found[:5]):
            assert one is not None
            at = it.policy.met_at(one.cosigned)
            assert at is not None
            assert at - times[index + 1] <= timedelta(minutes=2)

    play(scenario, tmp_path)


def test_nothing_is_submitted_while_the_databases_are_not_ours(tmp_path: Path) -> None:
    async def scenario(it: Fed) -> None:
        await it.logged.append(2)
        it.feeder.hindrance = StorageMismatch
        await it.feeder.guarded()
        assert (it.told[0].asked, bool(it.feeder.fault)) == ([], True)
        it.feeder.hindrance = lambda: None
        await it.feeder.guarded()
        await it.settled()
        assert it.size == 2

    play(scenario, tmp_path)


def test_feed_is_served_if_it_cannot_be_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refused(*_: object) -> None:
        raise PluginUnavailable

    async def scenario(it: Fed) -> None:
        monkeypatch.setattr(it.feeder.cosigned.kept, "keep", refused)
        await it.logged.append(2)
        await it.turn()
        assert (it.size, it.feeder.fed[0].reason) == (2, "")

    play(scenario, tmp_path)


def test_a_fault_of_ours_ends_the_task_with_an_alarm(tmp_path: Path) -> None:
    async def scenario(it: Fed) -> None:
        def broken(body: bytes) -> bytes:
            raise ZeroDivisionError

        it.told[0].answers = broken
        await it.logged.append(2)
        await it.turn()
        with pytest.raises(ZeroDivisionError):
            await it.turn()

    play(scenario, tmp_path)


def test_nobody_need_cosign(tmp_path: Path) -> None:
    async def scenario(it: Fed) -> None:
        it.feeder.cosigned.policy = WitnessPolicy.parse(b"quorum none")
        it.feeder.fed = ()
        await it.logged.append(2)
        it.clock.move(seconds=1)
        await it.feeder.step()
        assert (it.size, it.feeder.quorum_lag()) == (2, 0.0)

    play(scenario, tmp_path)
