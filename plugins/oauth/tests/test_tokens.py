"""Issuing and authenticating tokens on a real ledger, a real store and the real custodian.

Hostile tokens are built by hand and signed with the service's own key, so that nothing but the check under test can
refuse them.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import logging
import os
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import identity_custodian_sealed
import pytest
from identity_oauth.domain import tokens as token
from identity_oauth.use_cases.token_keys import TokenKeys
from identity_oauth.use_cases.tokens import AuthenticateToken, IssuedToken, IssueToken
from identity_oauth.wire import IssueTokenRequest
from identity_records.audit import audit_of

from identity_codec.structs import UNSET
from identity_codec.values import replace
from identity_core.domain.activity import RequestContext
from identity_core.domain.callers import ApiKey, Caller
from identity_core.domain.dids.changes import Authorization
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.keys import generate
from identity_core.errors import AuthFailed, AuthRequired, DidDeactivated, DidNotFound, Forbidden, InvalidRequest
from identity_core.plugin.sockets import BuildContext
from identity_core.use_cases.auth.authenticate import ApiKeyCache, AuthenticateApiKey, AuthenticateBearer
from identity_core.use_cases.record import Record
from identity_core.wire import DeactivateDidRequest
from tests.did_use_cases import ORIGIN, START, Rooms, recovery_of, rotation_of, secret_of
from tests.events import audit_rows

MINE = IssueTokenRequest()


def wish_for(scopes: frozenset[str] | None, subject: Did | None) -> IssueTokenRequest:
    scope = UNSET if scopes is None else " ".join(sorted(scopes))
    return IssueTokenRequest(scope=scope, subject=UNSET if subject is None else str(subject))


ABSENT = Did.parse("did:ids:QmPvhbZpVZBeJcTVUcMJgfSDgxs8ymKZJzSYhkXmiNUNhS")


class OneStore:
    """A key store of the keys that the test puts in."""

    def __init__(self) -> None:
        self.keys: dict[str, ApiKey] = {}

    async def find(self, digest: str) -> ApiKey | None:
        return self.keys.get(digest)


class Desk:
    """The rooms, the token use cases, and short ways to call them."""

    def __init__(self, rooms: Rooms, custodian: Any, keys: TokenKeys) -> None:
        self.rooms, self.custodian, self.keys = rooms, custodian, keys
        self.store = OneStore()
        self.known = ApiKeyCache(rooms.clock)
        self.asked: list[str] = []
        self.foreign: Caller | None = None
        self.api_keys = AuthenticateApiKey((self.store,), self.known, rooms.clock, lambda digest: f"of {digest[:4]}")
        self.issue = IssueToken(rooms.reader, keys, Record(rooms.store.activity), rooms.clock, os.urandom, ORIGIN, 600)
        self.own = AuthenticateToken(
            rooms.reader, self.api_keys, keys, rooms.clock, ORIGIN, rooms.store.spent_challenges
        )
        self.bearer = AuthenticateBearer(rooms.reader, rooms.clock, lambda: self.own, self.plugins)

    def plugins(self, text: str, now: object) -> Caller | None:
        self.asked.append(text)
        return self.foreign

    def operator(self, name: str = "olu", **fields: Any) -> ApiKey:
        """An API key that the store knows."""
        digest = hashlib.sha256(name.encode()).hexdigest()
        key = ApiKey(name, name, digest, None, None, None, None, START, fingerprint=f"of {digest[:4]}")
        return self.store_key(replace(key, **fields))

    def store_key(self, key: ApiKey) -> ApiKey:
        self.store.keys[key.digest] = key
        self.known.forget(key.digest)
        return key

    async def of_key(self, key: ApiKey, wish: IssueTokenRequest = MINE) -> IssuedToken:
        return await self.issue(wish, RequestContext("issueToken", Caller(api_key=key), "r-1"))

    async def of_did(self, did: Did, secret: str, wish: IssueTokenRequest = MINE) -> IssuedToken:
        signed = await self.rooms.signed(did, secret, "token")
        return await self.issue(wish, RequestContext("issueToken", Caller(did=did, authorization=signed), "r-1"))

    async def forge(self, header: Any = None, claims: Any = None) -> str:
        """A token of this header and these claims with a good signature of the key in use."""
        header = {"alg": "EdDSA", "typ": "at+jwt", "kid": self.keys.signing.kid} if header is None else header
        parts = [part if isinstance(part, bytes) else json.dumps(part).encode() for part in (header, claims)]
        text = ".".join(encoded(part) for part in parts)
        return f"{text}.{encoded(await self.custodian.sign(self.keys.name, text.encode()))}"


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def claims_of(text: str) -> dict[str, Any]:
    part = text.split(".")[1]
    claims: dict[str, Any] = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return claims


def on_desk(test: Callable[[Desk], Awaitable[None]]) -> Callable[[Path], None]:
    def run(tmp_path: Path) -> None:
        async def story() -> None:
            rooms = Rooms(tmp_path)
            context = BuildContext(rooms.clock, logging.getLogger("test"), tmp_path, None)
            custodian = identity_custodian_sealed.build(identity_custodian_sealed.SealedSettings(), context)
            try:
                await test(Desk(rooms, custodian, await TokenKeys.open(custodian, 1, rooms.clock, 600)))
            finally:
                await custodian.close()
                await rooms.close()

        asyncio.run(story())

    run.__name__ = test.__name__
    return run


async def refused(desk: Desk, text: str) -> None:
    with pytest.raises(AuthFailed) as refusal:
        await desk.bearer(text)
    assert text not in f"{refusal.value} {refusal.value.details}"


@on_desk
async def test_a_did_gets_a_token_and_is_its_subject(desk: Desk) -> None:
    created = await desk.rooms.new_did()
    did = created.version.state.did
    issued = await desk.of_did(did, secret_of(created))
    claims = claims_of(issued.text)
    assert claims["iss"] == claims["aud"] == ORIGIN
    assert claims["sub"] == claims["client_id"] == str(did)
    assert claims["exp"] - claims["iat"] == 600
    assert "scope" not in claims
    assert await desk.bearer(issued.text) == Caller(subject=did)
    assert desk.asked == []


@on_desk
async def test_a_token_may_be_narrower_than_its_did(desk: Desk) -> None:
    created = await desk.rooms.new_did()
    wish = wish_for(frozenset({"zkp:prove"}), None)
    issued = await desk.of_did(created.version.state.did, secret_of(created), wish)
    caller = await desk.bearer(issued.text)
    caller.require_scope("zkp:prove")
    with pytest.raises(Forbidden):
        caller.require_scope("delegations:write")


@on_desk
async def test_a_did_gets_no_token_of_another(desk: Desk) -> None:
    one, two = await desk.rooms.new_did(), await desk.rooms.new_did()
    wish = wish_for(None, two.version.state.did)
    with pytest.raises(Forbidden):
        await desk.of_did(one.version.state.did, secret_of(one), wish)


@on_desk
async def test_a_key_gets_a_token_that_is_the_key(desk: Desk) -> None:
    key = desk.operator()
    issued = await desk.of_key(key)
    caller = await desk.bearer(issued.text)
    assert caller == Caller(api_key=key)
    assert caller.identity == Caller(api_key=key).identity
    caller.require_admin()
    # The digest of a short key could be searched for: it travels sealed.
    assert key.digest not in json.dumps(claims_of(issued.text))
    assert encoded(bytes.fromhex(key.digest)) not in json.dumps(claims_of(issued.text))


@on_desk
async def test_a_key_gives_what_it_has_and_no_more(desk: Desk) -> None:
    key = desk.operator(scopes=frozenset({"dids:list", "dids:create", "odd one"}))
    whole = await desk.of_key(key)
    assert claims_of(whole.text)["scope"] == "dids:create dids:list"
    some = await desk.bearer((await desk.of_key(key, wish_for(frozenset({"dids:list"}), None))).text)
    assert some.api_key is not None
    assert some.api_key.scopes == {"dids:list"}
    some.require_key("dids:list")
    with pytest.raises(Forbidden):
        some.require_key("dids:create")
    for scopes in ({"keys:admin"}, {"dids:list", "keys:admin"}):
        with pytest.raises(Forbidden):
            await desk.of_key(key, wish_for(frozenset(scopes), None))


@on_desk
async def test_an_admin_key_may_give_a_token_that_is_no_admin(desk: Desk) -> None:
    issued = await desk.of_key(desk.operator(), wish_for(frozenset({"dids:list"}), None))
    caller = await desk.bearer(issued.text)
    with pytest.raises(Forbidden):
        caller.require_admin()
    nothing = await desk.bearer((await desk.of_key(desk.operator(scopes=frozenset()))).text)
    with pytest.raises(Forbidden):
        nothing.require_key("dids:list")


@on_desk
async def test_more_scopes_than_a_token_can_carry_must_be_chosen_from(desk: Desk) -> None:
    key = desk.operator(scopes=frozenset(f"scope-{number:03}-{'x' * 40}" for number in range(64)))
    with pytest.raises(InvalidRequest):
        await desk.of_key(key)
    some = frozenset(sorted(key.scopes or ())[:3])
    await desk.bearer((await desk.of_key(key, wish_for(some, None))).text)


@on_desk
async def test_a_token_gets_no_other_rights_when_its_key_does(desk: Desk) -> None:
    key = desk.operator(scopes=frozenset({"dids:list"}))
    issued = await desk.of_key(key)
    desk.store_key(replace(key, scopes=None))
    caller = await desk.bearer(issued.text)
    assert caller.api_key is not None
    assert caller.api_key.scopes == {"dids:list"}
    desk.store_key(replace(key, scopes=frozenset({"dids:create"})))
    caller = await desk.bearer(issued.text)
    assert caller.api_key is not None
    assert caller.api_key.scopes == frozenset()


@on_desk
async def test_an_operator_acts_for_a_did_of_its_allowlist(desk: Desk) -> None:
    created = await desk.rooms.new_did()
    did = created.version.state.did
    key = desk.operator(scopes=frozenset({"dids:operate", "zkp:prove"}), allowed_targets=frozenset({str(did)}))
    issued = await desk.of_key(key, wish_for(frozenset({"zkp:prove"}), did))
    claims = claims_of(issued.text)
    assert (claims["sub"], claims["act"], claims["client_id"]) == (str(did), {"sub": "key:olu"}, "key:olu")
    caller = await desk.bearer(issued.text)
    assert caller.subject == did
    assert caller.operator is not None
    assert caller.operator.fingerprint == key.fingerprint
    assert caller.identity == f"key:olu for {did}"
    caller.require_scope("zkp:prove")
    with pytest.raises(Forbidden):
        caller.require_scope("dids:operate")
    with pytest.raises(Forbidden):
        caller.require_key("zkp:prove")
    rows = [
        row
        for _, row in await audit_rows(audit_of(desk.rooms.store), after=0, limit=100)
        if row.operation == "issueToken"
    ]
    assert [(row.caller, row.fingerprint, row.target) for row in rows] == [("key:olu", key.fingerprint, str(did))]


@on_desk
async def test_an_operator_acts_for_nobody_else(desk: Desk) -> None:
    created, other = await desk.rooms.new_did(), await desk.rooms.new_did()
    did = created.version.state.did
    wish = wish_for(None, did)
    listed = frozenset({str(other.version.state.did)})
    for key in (
        desk.operator("a", scopes=frozenset({"dids:list"})),
        desk.operator("b", allowed_targets=listed),
        desk.operator("c", allowed_targets=frozenset()),
    ):
        with pytest.raises(Forbidden):
            await desk.of_key(key, wish)
    with pytest.raises(DidNotFound):
        await desk.of_key(desk.operator(), wish_for(None, ABSENT))


@on_desk
async def test_allowlist_change_ends_tokens_of_removed_clients(desk: Desk) -> None:
    did = (await desk.rooms.new_did()).version.state.did
    key = desk.operator()
    issued = await desk.of_key(key, wish_for(None, did))
    desk.store_key(replace(key, allowed_targets=frozenset()))
    await refused(desk, issued.text)
    desk.store_key(replace(key, scopes=frozenset({"zkp:prove"})))
    await refused(desk, issued.text)
    desk.store_key(key)
    assert (await desk.bearer(issued.text)).subject == did


@on_desk
async def test_tokens_end_with_their_key(desk: Desk) -> None:
    did = (await desk.rooms.new_did()).version.state.did
    key = desk.operator()
    tokens = [await desk.of_key(key), await desk.of_key(key, wish_for(None, did))]
    desk.store_key(replace(key, revoked_at=desk.rooms.clock.now() + timedelta(seconds=30)))
    for issued in tokens:
        await desk.bearer(issued.text)
    desk.rooms.clock.move(seconds=30)
    for issued in tokens:
        await refused(desk, issued.text)


@on_desk
async def test_tokens_end_with_their_did(desk: Desk) -> None:
    created = await desk.rooms.new_did()
    did, secret = created.version.state.did, secret_of(created)
    tokens = [await desk.of_did(did, secret), await desk.of_key(desk.operator(), wish_for(None, did))]
    signed = await desk.rooms.signed(did, secret, "deactivate")
    await desk.rooms.deactivate(
        did,
        DeactivateDidRequest(confirm=True),
        authorization=signed,
        context=desk.rooms.context(did, signed),
        if_match=None,
    )
    for issued in tokens:
        await refused(desk, issued.text)
    with pytest.raises(DidDeactivated):
        await desk.of_key(desk.operator(), wish_for(None, did))


@on_desk
async def test_a_recovery_ends_what_a_thief_has_fetched(desk: Desk) -> None:
    rooms = desk.rooms
    created = await rooms.new_did()
    did = created.version.state.did
    stolen = await desk.of_did(did, secret_of(created))
    pair = generate("Ed25519", os.urandom)
    signed = await rooms.signed(did, secret_of(created, "recovery"), "recover", scheme="RecoveryKey")
    await rooms.recover(did, recovery_of(pair.public, revoke_all=True), signed, rooms.context(did, signed))
    await refused(desk, stolen.text)
    assert (await desk.bearer((await desk.of_did(did, pair.secret)).text)).subject == did


@on_desk
async def test_a_token_lives_for_its_time(desk: Desk) -> None:
    created = await desk.rooms.new_did()
    issued = await desk.of_did(created.version.state.did, secret_of(created))
    desk.rooms.clock.move(seconds=599)
    await desk.bearer(issued.text)
    desk.rooms.clock.move(seconds=1)
    await refused(desk, issued.text)


@on_desk
async def test_caller_without_signature_or_key_gets_no_token(desk: Desk) -> None:
    did = (await desk.rooms.new_did()).version.state.did
    for caller in (Caller(subject=did), Caller(did=did), Caller()):
        with pytest.raises(AuthRequired):
            await desk.issue(MINE, RequestContext("issueToken", caller, "r-1"))


@on_desk
async def test_plugins_are_asked_about_tokens_of_others_only(desk: Desk) -> None:
    created = await desk.rooms.new_did()
    did = created.version.state.did
    issued = await desk.of_did(did, secret_of(created))
    await refused(desk, issued.text[:-4] + "AAAA")
    assert desk.asked == []
    foreign = await desk.forge(claims=claims_of(issued.text) | {"iss": "https://other.example"})
    await refused(desk, foreign)
    await refused(desk, "no token at all")
    assert desk.asked == [foreign, "no token at all"]
    desk.foreign = Caller(subject=did)
    assert await desk.bearer("theirs") == desk.foreign
    for subject in (ABSENT, Did.parse("did:ids:of-no-form"), Did.parse("did:web:elsewhere.example")):
        desk.foreign = Caller(subject=subject)
        await refused(desk, "theirs")


@on_desk
async def test_rotation_by_one_keeps_everybody_and_by_two_nobody(desk: Desk) -> None:
    issued = await desk.of_key(desk.operator())
    for number, lives in ((1, True), (2, True), (3, False)):
        keys = await TokenKeys.open(desk.custodian, number, desk.rooms.clock, 600)
        later = replace(desk.own, keys=keys)
        if lives:
            await later(issued.text, "")
        else:
            with pytest.raises(AuthFailed):
                await later(issued.text, "")
    assert len(desk.keys.verification_keys) == 2
    second = await TokenKeys.open(desk.custodian, 2, desk.rooms.clock, 600)
    assert next(iter(second.verification_keys)) == second.signing.kid
    assert second.signing.kid in desk.keys.verification_keys
    # What the next key signs is good before it is the one in use, as in the middle of a rolling restart.
    ahead = await replace(desk.issue, keys=second)(
        MINE, RequestContext("issueToken", Caller(api_key=desk.operator()), "r-1")
    )
    await desk.bearer(ahead.text)


HEADERS: dict[str, Callable[[str], Any]] = {
    "no kid": lambda kid: {"alg": "EdDSA", "typ": "at+jwt"},
    "unknown kid": lambda kid: {"alg": "EdDSA", "typ": "at+jwt", "kid": "token-1"},
    "typ JWT": lambda kid: {"alg": "EdDSA", "typ": "JWT", "kid": kid},
    "no typ": lambda kid: {"alg": "EdDSA", "kid": kid},
    "alg none": lambda kid: {"alg": "none", "typ": "at+jwt", "kid": kid},
    "jku": lambda kid: {"alg": "EdDSA", "typ": "at+jwt", "kid": kid, "jku": "https://evil.example/"},
    "crit": lambda kid: {"alg": "EdDSA", "typ": "at+jwt", "kid": kid, "crit": ["exp"]},
    "twice": lambda kid: f'{{"alg":"EdDSA","typ":"at+jwt","kid":"x","kid":"{kid}"}}'.encode(),
}


@pytest.mark.parametrize("name", sorted(HEADERS))
def test_a_good_signature_does_not_help_a_bad_header(name: str, tmp_path: Path) -> None:
    @on_desk
    async def story(desk: Desk) -> None:
        claims = claims_of((await desk.of_key(desk.operator())).text)
        await desk.bearer(await desk.forge(claims=claims))
        await refused(desk, await desk.forge(HEADERS[name](desk.keys.signing.kid), claims))

    story(tmp_path)


@on_desk
async def test_a_good_signature_does_not_help_bad_claims(desk: Desk) -> None:
    claims = claims_of((await desk.of_key(desk.operator())).text)
    at = claims["iat"]
    for changed in (
        {"exp": at},
        {"exp": str(at + 600)},
        {"iat": at + 61, "exp": at + 600},
        {"aud": "https://other.example"},
        {"aud": [ORIGIN, "https://other.example"]},
        {"key": "AAAA"},
        {"key": token.seal_key(os.urandom(32), "ab" * 32, claims["jti"], random=os.urandom)},
        {"jti": "another"},
        {"sub": "key:another"},
        {"sub": str(ABSENT)},
        {"client_id": str(ABSENT), "sub": str(ABSENT)},
        {"client_id": "did:", "sub": "did:"},
        {"surprise": 1},
    ):
        await refused(desk, await desk.forge(claims=claims | changed))
    twice = json.dumps(claims)[:-1] + f', "exp": {at + 500}}}'
    await refused(desk, await desk.forge(claims=twice.encode()))


@on_desk
async def test_a_did_token_names_a_key_that_may_sign_in_now(desk: Desk) -> None:
    rooms = desk.rooms
    created = await rooms.new_did()
    did, secret = created.version.state.did, secret_of(created)
    issued = await desk.of_did(did, secret)
    signed = await rooms.signed(did, secret, "rotate")
    grace = rooms.clock.now() + timedelta(seconds=60)
    rotation = rotation_of(f"{did}#{created.keys[0].public}", grace)
    await rooms.rotate(did, rotation, signed, rooms.context(did, signed), if_match=None)
    await desk.bearer(issued.text)
    rooms.clock.move(seconds=60)
    await refused(desk, issued.text)
    pair = generate("Ed25519", os.urandom)
    other = Authorization("DIDAuth", pair.public, "-", bytes(64))
    strange = await desk.issue(MINE, RequestContext("issueToken", Caller(did=did, authorization=other), "r-1"))
    await refused(desk, strange.text)


@on_desk
async def test_a_token_that_was_accepted_vouches_for_no_other_text(desk: Desk) -> None:
    created = await desk.rooms.new_did()
    text = (await desk.of_did(created.version.state.did, secret_of(created))).text
    await desk.bearer(text)
    header, claims, signature = text.split(".")
    longer = encoded(json.dumps(claims_of(text) | {"exp": claims_of(text)["exp"] + 60}).encode())
    await refused(desk, f"{header}.{longer}.{signature}")
    await refused(desk, f"{header}.{claims}.{signature[:-4]}AAAA")
    await refused(desk, f"{header}.{claims}.")
    assert (await desk.bearer(text)).subject == created.version.state.did


@on_desk
async def test_token_ends_with_service_key(desk: Desk) -> None:
    created = await desk.rooms.new_did()
    did, secret = created.version.state.did, secret_of(created)
    first, second = [(await desk.of_did(did, secret)).text for _ in range(2)]
    for text in (first, second):
        await desk.bearer(text)
    without = await TokenKeys.open(desk.custodian, 7, desk.rooms.clock, 600)
    with pytest.raises(AuthFailed):
        await replace(desk.own, keys=without)(first, "")
    desk.rooms.clock.move(seconds=600)
    await refused(desk, second)


@on_desk
async def test_only_so_many_genuine_tokens_are_remembered(desk: Desk) -> None:
    created = await desk.rooms.new_did()
    text = (await desk.of_did(created.version.state.did, secret_of(created))).text
    for number in range(1_024):
        desk.own.genuine.store(number.to_bytes(32), token.Envelope({}, {}, b"", b""))
    await desk.bearer(text)
    assert len(desk.own.genuine.values()) == 1_024
    assert hashlib.sha256(text.encode()).digest() in desk.own.genuine
