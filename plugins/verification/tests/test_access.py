"""Reading and revocation of a stored proof: callers that may, and the rows that remain."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from identity_records.audit import audit_of
from identity_records.queries import TimelineQuery
from identity_records.store import StoredTimeline
from identity_verification.domain.checks import CheckCode
from identity_verification.wire import RevokeProofRequest

from identity_codec.values import replace
from identity_core.domain.activity import RequestContext
from identity_core.domain.callers import Caller
from identity_core.domain.proofs.stored import Anchor, AnchorStatus, StoredProof
from identity_core.errors import Forbidden, ProofNotFound
from tests.events import audit_rows
from tests.proving import Ledger
from tests.verifying import OPERATOR, Verifying

PENDING = Anchor(AnchorStatus.PENDING, "0xab", None, None)


def tell(folder: Path, story: object, **wish: object) -> None:
    async def tell_status() -> None:
        rooms = Verifying(folder, **wish)
        try:
            await rooms.begin()
            await story(rooms)  # type: ignore[operator]
        finally:
            await rooms.close()

    asyncio.run(tell_status())


def key(scopes: set[str] | None, targets: set[str] | None) -> Caller:
    assert OPERATOR.api_key is not None
    narrowed = replace(
        OPERATOR.api_key,
        scopes=None if scopes is None else frozenset(scopes),
        allowed_targets=None if targets is None else frozenset(targets),
    )
    return Caller(api_key=narrowed)


def read(caller: Caller) -> RequestContext:
    return RequestContext("getProof", caller, "r-6")


def test_readers_of_a_proof_are_limited(tmp_path: Path) -> None:
    async def story(rooms: Verifying) -> None:
        made = await rooms.create_proof()
        for caller in (
            rooms.caller(rooms.hana),
            rooms.caller(rooms.aki),
            Caller(subject=rooms.did(rooms.hana)),
            OPERATOR,
            key({"zkp:verify"}, {made.holder}),
        ):
            assert await rooms.get(made.id, read(caller)) == made
        strangers = (
            rooms.caller(rooms.vera),
            rooms.caller(rooms.ivo),
            rooms.caller(rooms.mallory),
            key({"zkp:verify"}, set()),
            key(None, {made.agent}),
        )
        for caller in strangers:
            with pytest.raises(ProofNotFound) as foreign:
                await rooms.get(made.id, read(caller))
            with pytest.raises(ProofNotFound) as absent:
                await rooms.get("6f9619ff-8b86-d011-b42d-00c04fc964ff", read(caller))
            assert (str(foreign.value), foreign.value.details) == (str(absent.value), absent.value.details)
        for scopeless in (key({"audit:read"}, None), Caller(subject=rooms.did(rooms.hana), scopes=frozenset({"x"}))):
            for proof_id in (made.id, "absent"):
                with pytest.raises(Forbidden):
                    await rooms.get(proof_id, read(scopeless))

    tell(tmp_path, story)


def test_revoking(tmp_path: Path) -> None:
    async def story(rooms: Verifying) -> None:
        made = await rooms.create_proof()
        for caller in (rooms.caller(rooms.mallory), rooms.caller(rooms.vera)):
            with pytest.raises(ProofNotFound):
                await rooms.revoke(made.id, RevokeProofRequest(), RequestContext("revokeProof", caller, "r-7"))
        with pytest.raises(Forbidden):
            await rooms.revoke(
                made.id, RevokeProofRequest(), RequestContext("revokeProof", key({"zkp:verify"}, None), "r-7")
            )
        assert (await rooms.verify_stored(made)).verified
        hana = RequestContext("revokeProof", rooms.caller(rooms.hana), "r-8")
        revoked = await rooms.revoke(made.id, RevokeProofRequest(reason="lost my phone"), hana)
        assert revoked.revocation is not None
        assert (revoked.revocation.by, revoked.revocation.reason) == (f"did:{made.holder}", "lost my phone")
        verdict = await rooms.verify_stored(made)
        assert verdict.errors == (CheckCode.PROOF_REVOKED,)
        rooms.clock.move(minutes=1)
        again = await rooms.revoke(
            made.id, RevokeProofRequest(reason="another reason"), RequestContext("revokeProof", OPERATOR, "r-9")
        )
        assert again == revoked
        told = await StoredTimeline(rooms.store.database).list(
            TimelineQuery(frozenset({made.agent}), kind="proof.revoked")
        )
        assert [(row.entry.actor, row.entry.proof_id) for row in told] == [(f"did:{made.holder}", made.id)]
        lines = [
            row
            for _, row in await audit_rows(audit_of(rooms.store), after=0, limit=1000)
            if row.operation == "revokeProof"
        ]
        assert [(row.request_id, row.target) for row in lines] == [("r-8", made.holder)]

    tell(tmp_path, story)


class Revoker:
    """Revokes anchors of proofs, or has none."""

    def __init__(self, receipt: Anchor | None) -> None:
        self.receipt, self.asked = receipt, []

    async def revoke(self, proof: StoredProof, wait_ms: int) -> Anchor | None:
        self.asked.append((proof.id, wait_ms))
        return self.receipt


def test_an_anchor_is_revoked_with_its_proof(tmp_path: Path) -> None:
    async def story(rooms: Verifying) -> None:
        gone = Anchor(AnchorStatus.REVOKED, "0xab", 7, 9)
        revoker = Revoker(gone)
        rooms.revoke = replace(rooms.revoke, anchoring=revoker)
        made, plain = await rooms.create_proof(anchor=True), await rooms.create_proof()
        context = RequestContext("revokeProof", rooms.caller(rooms.aki), "r-8")
        assert (await rooms.revoke(made.id, RevokeProofRequest(sync_wait_ms=250), context)).anchor == gone
        assert (await rooms.revoke(plain.id, RevokeProofRequest(sync_wait_ms=250), context)).anchor is None
        assert revoker.asked == [(made.id, 250)]

    tell(tmp_path, story, anchoring=Ledger(PENDING))


def test_a_failed_anchor_is_a_warning(tmp_path: Path) -> None:
    async def story(rooms: Verifying) -> None:
        made = await rooms.create_proof(anchor=True)
        await rooms.store.database.write(lambda tx: tx.execute("UPDATE proofs SET anchor_status = 'failed'"))
        verdict = await rooms.verify_stored(made)
        assert verdict.verified
        assert verdict.warnings == (CheckCode.ANCHOR_FAILED,)
        (row,) = await StoredTimeline(rooms.store.database).list(TimelineQuery(None, kind="proof.generated"))
        assert row.anchor == Anchor(AnchorStatus.FAILED, None, None, None)

    tell(tmp_path, story, anchoring=Ledger(PENDING))
