"""What one attempt to sign in may cost, what a challenge is good for, and that no honest signature pays for a flood."""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import sys
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from identity_did_ids import evidence

from identity_client.challenge import Challenge, hash_body, origin_field
from identity_codec import ed25519, multibase
from identity_codec.values import replace
from identity_core.domain.dids import challenge, keys
from identity_core.domain.dids.challenge import ChallengeKey, ChallengeScope, SignedHeader
from identity_core.domain.dids.changes import AddVerificationMethod, Deactivate, SetAlsoKnownAs, Update
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.keys import Key
from identity_core.errors import AuthFailed, DidNotFound, InvalidRequest, RateLimited
from identity_core.store import Store
from identity_core.use_cases.auth.challenge import UNNAMED, USED, GetDidAuthChallenge, Payer
from identity_core.use_cases.dids.create import Created
from identity_core.wire import GetDidAuthChallengeQuery
from tests.did_use_cases import PAYER, Rooms, own_key, update_of

BODY = hash_body({"operation": "addKey"})
TARGET = "/delegations/urn%3Auuid%3A1/revoke?dry=1&why=a%20b"
OTHER_BODY = hash_body({"operation": "removeKey"})
KINDS = ((None, None), (None, BODY), ("update", BODY))
# As many as one attempt may cost; written here, because a limit that is imported cannot be wrong.
MOST = 64


def run(folder: Path, scenario: Callable[[Rooms], Coroutine[Any, Any, None]]) -> None:
    async def inside() -> None:
        rooms = Rooms(folder)
        try:
            await scenario(rooms)
        finally:
            await rooms.close()

    asyncio.run(inside())


@pytest.fixture
def verifications(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The messages on which a signature was tried."""
    tried: list[bytes] = []
    verify = ed25519.verify

    def counted(public: bytes, message: bytes, signature: bytes) -> None:
        tried.append(message)
        verify(public, message, signature)

    monkeypatch.setattr(ed25519, "verify", counted)
    return tried


async def with_keys(rooms: Rooms, number: int) -> tuple[Did, list[keys.Key]]:
    """A DID with this many authentication keys, and they in the document's order."""
    pairs = [keys.generate("Ed25519", os.urandom) for _ in range(number)]
    wishes = tuple(own_key("Ed25519", "authentication", pair.public) for pair in pairs)
    created: Created = await rooms.new_did(recovery_key=False, public_keys=wishes)
    return created.version.state.did, pairs


async def tried(
    rooms: Rooms,
    did: Did,
    signature: bytes,
    *,
    purpose: str = "update",
    named: Challenge | None = None,
    payer: Payer = PAYER,
    target: str = TARGET,
) -> None:
    signed = SignedHeader(did, signature, named)
    bound: Any = {"purpose": purpose, "body_hash": BODY, "target": target}
    await rooms.authenticate(signed, scheme="DIDAuth", payer=payer, **bound)


def signed_by(pair: keys.Key, text: str) -> bytes:
    return ed25519.sign(pair.secret_raw, text.encode())


async def charge(total: list[int], tokens: int) -> None:
    total.append(tokens)


def payer(address: str, required: list[int] | None = None, paid: list[int] | None = None) -> Payer:
    """A client address whose tokens are listed."""
    return Payer(
        address, partial(charge, [] if required is None else required), partial(charge, [] if paid is None else paid)
    )


@pytest.mark.parametrize("number", [1, 2, 4, 5, 12, 19])
def test_failed_signature_costs_at_most_64_verifications(
    tmp_path: Path, verifications: list[bytes], number: int
) -> None:
    """Challenges of all kinds, of the same address and of others, used and open. The request's own token pays for eight verifications."""

    async def scenario(rooms: Rooms) -> None:
        did, pairs = await with_keys(rooms, number)
        used = await rooms.challenge(did, purpose=None, body_hash=None)
        await tried(rooms, did, signed_by(pairs[0], used.text))
        for turn in range(40):
            for purpose, body_hash in KINDS:
                await rooms.challenge(did, purpose=purpose, body_hash=body_hash, address=f"192.0.2.{turn % 4}")
        verifications.clear()
        required, paid = list[int](), list[int]()
        with pytest.raises(AuthFailed):
            await tried(rooms, did, bytes(64), payer=payer("192.0.2.1", required, paid))
        assert MOST - number < len(verifications) <= MOST
        assert paid == [-(-len(verifications) // 8) - 1] == [max(required)]

    run(tmp_path, scenario)


def test_search_stops_before_it_costs_what_cannot_be_paid(tmp_path: Path, verifications: list[bytes]) -> None:
    async def refuse(tokens: int) -> None:
        raise RateLimited(details={"tokens": tokens})

    async def scenario(rooms: Rooms) -> None:
        did, _ = await with_keys(rooms, 1)
        for _ in range(64):
            await rooms.challenge(did, purpose=None, body_hash=None)
        verifications.clear()
        with pytest.raises(RateLimited):
            await tried(rooms, did, bytes(64), payer=Payer(PAYER.name, refuse, refuse))
        assert verifications == []

    run(tmp_path, scenario)


@pytest.mark.parametrize("number", [1, 7, 19])
def test_newest_challenge_is_tried_first(tmp_path: Path, verifications: list[bytes], number: int) -> None:
    async def scenario(rooms: Rooms) -> None:
        did, pairs = await with_keys(rooms, number)
        for purpose, body_hash in KINDS:
            await rooms.challenge(did, purpose=purpose, body_hash=body_hash)
            rooms.clock.move(seconds=1)
            mine = await rooms.challenge(did, purpose=purpose, body_hash=body_hash)
            verifications.clear()
            await tried(rooms, did, signed_by(pairs[-1], mine.text))
            assert verifications == [mine.text.encode()] * number

    run(tmp_path, scenario)


def test_challenges_of_other_addresses_refuse_controller_nothing(tmp_path: Path, verifications: list[bytes]) -> None:
    """64 of the controller, fetched among 10,240 of others, all of which a signature could be over, and used in any order."""

    async def scenario(rooms: Rooms) -> None:
        did, (pair,) = await with_keys(rooms, 1)
        mine = []
        for _ in range(64):
            others = (
                rooms.challenge(did, purpose=purpose, body_hash=body_hash, address=f"198.51.100.{turn}")
                for turn, (purpose, body_hash) in enumerate(KINDS * 40)
            )
            await asyncio.gather(*others)
            mine.append(await rooms.challenge(did, purpose=None, body_hash=None))
        assert len({one.text for one in mine}) == 64
        random.Random(7).shuffle(mine)
        for one in mine:
            verifications.clear()
            await tried(rooms, did, signed_by(pair, one.text))
            assert len(verifications) <= MOST
        first = await rooms.challenge(did, purpose="update", body_hash=BODY)
        await tried(rooms, did, signed_by(pair, first.text))

    run(tmp_path, scenario)


def test_challenge_may_be_used_from_another_address(tmp_path: Path) -> None:
    async def scenario(rooms: Rooms) -> None:
        did, (pair,) = await with_keys(rooms, 1)
        mine = [await rooms.challenge(did, purpose=None, body_hash=None) for _ in range(64)]
        for one in mine:
            await tried(rooms, did, signed_by(pair, one.text), payer=payer("2001:db8::/64"))

    run(tmp_path, scenario)


def test_changed_address_finds_its_challenge_among_others(tmp_path: Path) -> None:
    """Challenges of a few other addresses, however many, do not displace that of a controller whose address changed."""

    async def scenario(rooms: Rooms) -> None:
        did, (pair,) = await with_keys(rooms, 1)
        for purpose, body_hash in KINDS:
            mine = await rooms.challenge(did, purpose=purpose, body_hash=body_hash)
            for turn in range(200):
                await rooms.challenge(did, purpose=purpose, body_hash=body_hash, address=f"198.51.100.{turn % 9}")
            await tried(rooms, did, signed_by(pair, mine.text), payer=payer("2001:db8::/64"))

    run(tmp_path, scenario)


def test_bound_challenge_outlives_plain_ones_of_its_address(tmp_path: Path) -> None:
    """Many clients behind one proxy have one address."""

    async def scenario(rooms: Rooms) -> None:
        did, (pair,) = await with_keys(rooms, 1)
        mine = await rooms.challenge(did, purpose="update", body_hash=BODY)
        rooms.clock.move(seconds=1)
        for _ in range(70):
            await rooms.challenge(did, purpose=None, body_hash=None)
        await tried(rooms, did, signed_by(pair, mine.text))

    run(tmp_path, scenario)


def test_refusal_of_an_unnamed_challenge_has_the_way_out(tmp_path: Path) -> None:
    """A challenge that more than 64 of its address followed is not tried. The same challenge works if the header names it."""

    async def scenario(rooms: Rooms) -> None:
        did, (pair,) = await with_keys(rooms, 1)
        mine = await rooms.challenge(did, purpose=None, body_hash=None)
        for _ in range(66):
            await rooms.challenge(did, purpose=None, body_hash=None)
        with pytest.raises(AuthFailed) as refusal:
            await tried(rooms, did, signed_by(pair, mine.text))
        assert refusal.value.details["reason"] == UNNAMED
        assert "name the challenge in the header" in refusal.value.find_remedy()
        await tried(rooms, did, signed_by(pair, mine.text), named=mine)

    run(tmp_path, scenario)


@pytest.mark.parametrize("named", [False, True])
def test_used_challenge_is_refused_with_reason_and_remedy(tmp_path: Path, named: bool) -> None:
    async def scenario(rooms: Rooms) -> None:
        did, (pair,) = await with_keys(rooms, 1)
        mine = await rooms.challenge(did, purpose=None, body_hash=None)
        await tried(rooms, did, signed_by(pair, mine.text), named=mine if named else None)
        with pytest.raises(AuthFailed) as refusal:
            await tried(rooms, did, signed_by(pair, mine.text), named=mine if named else None)
        assert refusal.value.details["reason"] == str(refusal.value) == USED
        assert "Fetch another" in USED

    run(tmp_path, scenario)


def test_replicas_never_hand_out_the_same_challenge(tmp_path: Path) -> None:
    """Two stores on one database stand for two processes; a signature for a challenge of one is taken by the other."""

    async def scenario(rooms: Rooms) -> None:
        did, (pair,) = await with_keys(rooms, 1)
        other = Store.open(tmp_path)
        try:
            book = replace(rooms.challenges, spent=other.spent_challenges)
            replica = GetDidAuthChallenge(rooms.reader, book, rooms.clock)
            query = GetDidAuthChallengeQuery(did=str(did))
            both = [await replica(query, PAYER.name) for _ in range(32)]
            both += [await rooms.challenge(did, purpose=None, body_hash=None) for _ in range(32)]
            assert len({one.text for one in both}) == 64
            for one in both:
                await tried(rooms, did, signed_by(pair, one.text))
        finally:
            await other.close()

    run(tmp_path, scenario)


def test_signature_found_at_once_schedules_nothing(tmp_path: Path) -> None:
    """A generator of ours that is left half-way is closed by a task that the event loop makes for it."""

    async def scenario(rooms: Rooms) -> None:
        did, (pair,) = await with_keys(rooms, 1)
        mine = await rooms.challenge(did, purpose="update", body_hash=BODY)
        made: list[object] = []
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(firstiter=made.append, finalizer=hooks.finalizer)
        try:
            await tried(rooms, did, signed_by(pair, mine.text))
        finally:
            sys.set_asyncgen_hooks(*hooks)
        assert made == []

    run(tmp_path, scenario)


@pytest.mark.parametrize("hashed", [True, False])
def test_body_hash_is_computed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hashed: bool) -> None:
    """When its signature is checked, where that is known; who reads it from a log makes it anew."""

    async def scenario(rooms: Rooms) -> None:
        did, (pair,) = await with_keys(rooms, 1)
        state = replace((await rooms.reader.active(did)).head.state, strict_evidence=True)
        body = {"operation": "setAlsoKnownAs", "alsoKnownAs": ["https://a.example"]}
        authorization = await rooms.signed(did, str(pair.secret), "update", body=body)
        if not hashed:
            authorization = replace(authorization, body_hash=None)
        made: list[Any] = []
        honest = hash_body
        monkeypatch.setattr("identity_client.challenge.hash_body", lambda value: made.append(value) or honest(value))
        change = Update((SetAlsoKnownAs(("https://a.example",)),), authorization)
        evidence.admit(state, change, rooms.clock.now(), strict=True)
        assert made == ([] if hashed else [body])
        for wrong in ({"body": {**body, "alsoKnownAs": ["https://b.example"]}}, {"body_hash": BODY}, {"body": None}):
            other = replace(change, authorization=replace(authorization, **wrong))
            with pytest.raises(AuthFailed):
                evidence.admit(state, other, rooms.clock.now(), strict=True)

    run(tmp_path, scenario)


def test_a_signature_without_a_body_has_no_hash_of_one(tmp_path: Path) -> None:
    async def scenario(rooms: Rooms) -> None:
        did, (pair,) = await with_keys(rooms, 1)
        assert (await rooms.signed(did, str(pair.secret), "update")).body_hash is None
        kept = await rooms.signed(did, str(pair.secret), "deactivate", body={"confirm": True})
        assert kept.body_hash == hash_body({"confirm": True})
        change = evidence.strip_body((await rooms.reader.active(did)).head.state, Deactivate(kept))
        assert isinstance(change, Deactivate)
        assert (change.authorization.body, change.authorization.body_hash) == (None, None)

    run(tmp_path, scenario)


def test_failed_named_challenge_costs_one_verification_per_key(tmp_path: Path, verifications: list[bytes]) -> None:
    async def scenario(rooms: Rooms) -> None:
        did, _ = await with_keys(rooms, 3)
        mine = await rooms.challenge(did, purpose="update", body_hash=BODY, named=True)
        verifications.clear()
        with pytest.raises(AuthFailed):
            await tried(rooms, did, bytes(64), named=mine)
        assert len(verifications) == 3

    run(tmp_path, scenario)


@pytest.mark.parametrize(("purpose", "body_hash"), KINDS)
@pytest.mark.parametrize("number", [1, 19])
def test_every_challenge_that_was_handed_out_is_good_to_its_end(
    tmp_path: Path, purpose: str | None, body_hash: str | None, number: int
) -> None:
    """However many were asked for before and after, and by whomever: the last of the keys signs, in the last second."""

    async def scenario(rooms: Rooms) -> None:
        did, pairs = await with_keys(rooms, number)
        for turn in range(40):
            await rooms.challenge(did, purpose=purpose, body_hash=body_hash, address=f"198.51.100.{turn}")
        mine = await rooms.challenge(did, purpose=purpose, body_hash=body_hash)
        for turn in range(40):
            await rooms.challenge(did, purpose=purpose, body_hash=body_hash, address=f"198.51.100.{turn}")
        rooms.clock.move(seconds=(mine.expires_at - rooms.clock.now()).total_seconds() - 1)
        await tried(rooms, did, signed_by(pairs[-1], mine.text))
        with pytest.raises(AuthFailed):
            await tried(rooms, did, signed_by(pairs[-1], mine.text))

    run(tmp_path, scenario)


@pytest.mark.parametrize("named", [False, True])
def test_purpose_without_a_hash_serves_no_body(tmp_path: Path, named: bool) -> None:
    async def scenario(rooms: Rooms) -> None:
        did, (pair,) = await with_keys(rooms, 1)
        mine = await rooms.challenge(did, purpose="update", body_hash=None, named=named)
        with pytest.raises(AuthFailed):
            await tried(rooms, did, signed_by(pair, mine.text), named=mine if named else None)

    run(tmp_path, scenario)


@pytest.mark.parametrize("named", [False, True])
def test_it_ends_at_its_end(tmp_path: Path, named: bool) -> None:
    async def scenario(rooms: Rooms) -> None:
        did, (pair,) = await with_keys(rooms, 1)
        mine = await rooms.challenge(did, purpose="update", body_hash=BODY, named=named)
        rooms.clock.move(seconds=(mine.expires_at - rooms.clock.now()).total_seconds())
        with pytest.raises(AuthFailed):
            await tried(rooms, did, signed_by(pair, mine.text), named=mine if named else None)

    run(tmp_path, scenario)


def test_named_challenge_is_not_stored(tmp_path: Path) -> None:
    async def scenario(rooms: Rooms) -> None:
        did, _ = await with_keys(rooms, 1)
        unknown = Did.parse("did:ids:QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG")
        # Changes whenever another connection has committed.
        other = sqlite3.connect(tmp_path / "identity.sqlite")
        before = other.execute("PRAGMA data_version").fetchone()
        await rooms.challenge(did, purpose=None, body_hash=BODY, named=True)
        with pytest.raises(DidNotFound):
            await rooms.challenge(unknown, purpose=None, body_hash=None)
        assert other.execute("PRAGMA data_version").fetchone() == before
        other.close()

    run(tmp_path, scenario)


def test_one_after_the_other_any_number_that_say_the_same(tmp_path: Path) -> None:
    """A caller who spends a challenge gets another one, as often as wanted within one lifetime."""

    async def scenario(rooms: Rooms) -> None:
        did, (pair,) = await with_keys(rooms, 1)
        seen = set()
        for _ in range(100):
            mine = await rooms.challenge(did, purpose=None, body_hash=None)
            seen.add(mine.text)
            await tried(rooms, did, signed_by(pair, mine.text))
        assert len(seen) == 100

    run(tmp_path, scenario)


def test_64_open_challenges_work_and_any_number_by_name(tmp_path: Path) -> None:
    async def scenario(rooms: Rooms) -> None:
        did, (pair,) = await with_keys(rooms, 1)
        offered = [await rooms.challenge(did, purpose=None, body_hash=None) for _ in range(64)]
        by_name = [await rooms.challenge(did, purpose=None, body_hash=None, named=True) for _ in range(100)]
        assert len({one.text for one in (*offered, *by_name)}) == 164
        for one in offered:
            await tried(rooms, did, signed_by(pair, one.text))
        for one in by_name:
            await tried(rooms, did, signed_by(pair, one.text), named=one)
        with pytest.raises(AuthFailed):
            await tried(rooms, did, signed_by(pair, by_name[0].text), named=by_name[0])

    run(tmp_path, scenario)


def test_signature_is_used_once_named_or_not(tmp_path: Path) -> None:
    async def scenario(rooms: Rooms) -> None:
        did, (pair,) = await with_keys(rooms, 1)
        for names in ((None, "named"), ("named", None), ("named", "named")):
            mine = await rooms.challenge(did, purpose="update", body_hash=BODY)
            signature = signed_by(pair, mine.text)
            await tried(rooms, did, signature, named=mine if names[0] else None)
            with pytest.raises(AuthFailed):
                await tried(rooms, did, signature, named=mine if names[1] else None)

    run(tmp_path, scenario)


FOREIGN = {
    "another did": {"did": "did:ids:QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG"},
    "another origin": {"origin": "https://id.example.org"},
    "another purpose": {"purpose": "rotate"},
    "another body": {"body_hash": OTHER_BODY},
    "another target": {"target": "/delegations/urn%3Auuid%3A2/revoke"},
}


@pytest.mark.parametrize("changes", FOREIGN.values(), ids=FOREIGN)
def test_a_named_challenge_is_good_for_what_it_says(tmp_path: Path, changes: dict[str, str]) -> None:
    """Written with the key of the service itself, so that nothing but what it says speaks against it."""

    async def scenario(rooms: Rooms) -> None:
        did, (pair,) = await with_keys(rooms, 1)
        mine = await rooms.challenge(did, purpose="update", body_hash=BODY, named=True)
        said = {"origin": mine.origin, "did": mine.did, "purpose": mine.purpose, "body_hash": mine.body_hash} | changes
        if "target" in said:
            said["origin"] = origin_field(mine.origin, said.pop("target"))
        text = rooms.challenges.key.text(ChallengeScope(**said, expires_at=mine.expires_at).around, bytes(16))
        named = Challenge.parse(text)
        with pytest.raises(AuthFailed):
            await tried(rooms, did, signed_by(pair, text), named=named)

    run(tmp_path, scenario)


@pytest.mark.parametrize(
    "spelling",
    [
        TARGET,
        "/delegations/urn:uuid:1/revoke?dry=1&why=a+b",
        "/api/v1/delegations/urn%3auuid:1/revoke?why=a%20b&dry=1",
    ],
)
def test_a_challenge_serves_for_its_target_alone(tmp_path: Path, spelling: str) -> None:
    async def scenario(rooms: Rooms) -> None:
        did, (pair,) = await with_keys(rooms, 1)
        bound = {"purpose": "update", "body_hash": BODY, "named": True, "target": spelling}
        for other in ("/delegations/urn%3Auuid%3A2/revoke?dry=1&why=a%20b", TARGET.replace("dry=1", "dry=0")):
            mine = await rooms.challenge(did, **bound)
            with pytest.raises(AuthFailed) as refusal:
                await tried(rooms, did, signed_by(pair, mine.text), named=mine, target=other)
            assert refusal.value.details == {"purpose": "update", "bodyHash": BODY, "target": other}
            await tried(rooms, did, signed_by(pair, mine.text), named=mine)

    run(tmp_path, scenario)


def test_a_target_needs_a_named_challenge(tmp_path: Path) -> None:
    async def scenario(rooms: Rooms) -> None:
        did, _ = await with_keys(rooms, 1)
        with pytest.raises(InvalidRequest, match="must be named") as refusal:
            await rooms.challenge(did, purpose="update", body_hash=BODY, target=TARGET)
        assert refusal.value.details == {"remedy": "Add named=true."}

    run(tmp_path, scenario)


def test_a_version_without_targets_finds_another_origin(tmp_path: Path) -> None:
    """A replica of an earlier version compares the first field with its origin, so it refuses a challenge that is bound to a target."""

    async def scenario(rooms: Rooms) -> None:
        did, _ = await with_keys(rooms, 1)
        mine = await rooms.challenge(did, purpose="update", body_hash=BODY, named=True, target=TARGET)
        assert mine.origin == origin_field(rooms.challenges.origin, TARGET) != rooms.challenges.origin
        assert not mine.fits(rooms.challenges.origin, "update", BODY)

    run(tmp_path, scenario)


def test_challenge_of_other_installation_is_invalid(tmp_path: Path) -> None:
    async def scenario(rooms: Rooms) -> None:
        did, (pair,) = await with_keys(rooms, 1)
        mine = await rooms.challenge(did, purpose="update", body_hash=BODY, named=True)
        number = multibase.base64url_decode(mine.nonce)[:16]
        theirs = Challenge.parse(ChallengeKey(os.urandom(32)).text(challenge.around(mine.text), number))
        for named in (None, theirs):
            with pytest.raises(AuthFailed):
                await tried(rooms, did, signed_by(pair, theirs.text), named=named)
        await tried(rooms, did, signed_by(pair, mine.text), named=mine)

    run(tmp_path, scenario)


def test_keys_that_came_later_do_not_raise_the_cost(tmp_path: Path, verifications: list[bytes]) -> None:
    """When eighteen keys are added the bound holds, and who asks anew signs in."""

    async def scenario(rooms: Rooms) -> None:
        did, (first,) = await with_keys(rooms, 1)
        for _ in range(18):
            new = keys.generate("Ed25519", os.urandom)
            authorization = await rooms.signed(did, first.secret, "update", body={"key": new.public})
            context = rooms.context(did, authorization)
            added = Key(new.type, new.public, ("authentication",))
            await rooms.update(did, update_of(AddVerificationMethod(added)), authorization, context, if_match=None)
        verifications.clear()
        with pytest.raises(AuthFailed):
            await tried(rooms, did, bytes(64))
        assert len(verifications) <= MOST
        mine = await rooms.challenge(did, purpose=None, body_hash=None)
        await tried(rooms, did, signed_by(first, mine.text))

    run(tmp_path, scenario)


def test_unregistered_did_cannot_sign_in(tmp_path: Path) -> None:
    from identity_did_key.method import DidKey, DidKeySettings

    async def scenario(rooms: Rooms) -> None:
        pair = keys.generate("Ed25519", os.urandom)
        did = Did.parse(f"did:key:{pair.public}")
        rooms.methods["key"] = DidKey(DidKeySettings())
        assert (await rooms.reader.active(did)).head.state.document.did == str(did)
        with pytest.raises(DidNotFound):
            await rooms.challenge(did, purpose=None, body_hash=None)
        with pytest.raises(DidNotFound):
            await tried(rooms, did, bytes(64))

    run(tmp_path, scenario)


FORMER = keys.generate("Ed25519", os.urandom)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize(
    ("earlier", "is_admitted"),
    [
        (("DIDAuth", FORMER.public), True),
        (("RecoveryKey", FORMER.public), False),
        (("DIDAuth", keys.generate("Ed25519", os.urandom).public), False),
        (None, False),
    ],
)
def test_former_key_needs_an_earlier_attempt(
    tmp_path: Path, verifications: list[bytes], earlier: tuple[str, str] | None, is_admitted: bool, named: bool
) -> None:
    """The refusal costs the same verifications and tokens, whether an attempt is recorded or not."""

    async def former() -> tuple[str, str] | None:
        return earlier

    async def scenario(rooms: Rooms) -> None:
        did, _ = await with_keys(rooms, 2)
        for _ in range(20):
            await rooms.challenge(did, purpose="update", body_hash=BODY)
        mine = await rooms.challenge(did, purpose="update", body_hash=BODY, named=named)
        paid = list[int]()
        signed = SignedHeader(did, signed_by(FORMER, mine.text), mine if named else None)
        ask = partial(rooms.authenticate, signed, scheme="DIDAuth", purpose="update", body_hash=BODY, target=TARGET)
        address = payer(PAYER.name, paid=paid)
        verifications.clear()
        if is_admitted:
            authorization = await ask(payer=address, former=former)
            assert (authorization.key, authorization.is_former) == (FORMER.public, True)
            with pytest.raises(AuthFailed) as refusal:
                await ask(payer=PAYER, former=former)
            assert refusal.value.details["reason"] == USED
        else:
            with pytest.raises(AuthFailed) as refusal:
                await ask(payer=address, former=former)
            reason = {} if named else {"reason": UNNAMED}
            assert refusal.value.details == {"purpose": "update", "bodyHash": BODY, "target": TARGET} | reason
            assert (len(verifications), paid) == ((3, []) if named else (3 * 21, [5, 2]))

    run(tmp_path, scenario)


def test_key_in_force_is_not_former(tmp_path: Path) -> None:
    async def former() -> tuple[str, str] | None:
        raise AssertionError("not needed")

    async def scenario(rooms: Rooms) -> None:
        did, (pair,) = await with_keys(rooms, 1)
        mine = await rooms.challenge(did, purpose="update", body_hash=BODY)
        signed = SignedHeader(did, signed_by(pair, mine.text))
        ask = partial(
            rooms.authenticate, signed, scheme="DIDAuth", purpose="update", body_hash=BODY, target=TARGET, payer=PAYER
        )
        assert not (await ask(former=former)).is_former

    run(tmp_path, scenario)
