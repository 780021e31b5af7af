"""The key of access tokens is replaced while tokens are issued and shown."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from identity_commands.verify_log import verify
from identity_did_ids import service_log
from identity_did_ids.method import DidIds, DidIdsSettings
from identity_did_ids.service_keys import TYPE, Replacement, token_key_name
from identity_oauth.use_cases.token_keys import GetJwks, TokenKeys
from identity_oauth.use_cases.tokens import AuthenticateToken, IssueToken
from identity_oauth.wire import IssueTokenRequest
from identity_transparency.tree import TransparencyTree
from identity_transparency.use_cases.replace_key import MOST_LISTED, ReplacedKey, ReplaceServiceKey, no_succession

from identity_codec import ed25519, multikey
from identity_codec.values import replace
from identity_core.domain.activity import RequestContext
from identity_core.domain.callers import ApiKey, Caller
from identity_core.domain.dids import requests
from identity_core.domain.dids.changes import Authorization, Update
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.document import ServiceEntry
from identity_core.domain.dids.logs import fold
from identity_core.domain.dids.state import LogInvalid
from identity_core.errors import AuthFailed, PluginUnavailable, StorageMismatch
from identity_core.use_cases.auth.authenticate import ApiKeyCache, AuthenticateApiKey
from identity_core.use_cases.dids.log_keys import SERVICE_KEY
from identity_core.use_cases.record import Record
from plugins.transparency.tests.test_rotate_log_key import Service, run
from tests.did_use_cases import ORIGIN, START

KEY = ApiKey("k_1", "ops", "ab" * 32, None, None, None, None, START, fingerprint="of ab")
LIFETIME = 600


class OneKey:
    """A key store of one key."""

    async def find(self, digest: str) -> ApiKey | None:
        return KEY if digest == KEY.digest else None


class Process:
    """One process of the service: it issues tokens, and reads the service log once a second."""

    def __init__(self, service: Service, keys: TokenKeys, follow: Any) -> None:
        rooms = service.rooms
        self.keys, self.follow = keys, follow
        self.issue = IssueToken(rooms.reader, keys, Record(rooms.store.activity), rooms.clock, os.urandom, ORIGIN, 600)
        api_keys = AuthenticateApiKey((OneKey(),), ApiKeyCache(rooms.clock), rooms.clock, lambda _: "of ab")
        self.own = AuthenticateToken(rooms.reader, api_keys, keys, rooms.clock, ORIGIN, rooms.store.spent_challenges)

    async def bearer(self, text: str) -> Caller | None:
        return await self.own(text, "")

    @classmethod
    async def open_on(cls, service: Service, number: int = 1) -> Process:
        follow = service.follow_of(replace(service.signer), {})
        await follow.now()
        keys = await TokenKeys.open(
            service.custodian,  # type: ignore[arg-type]
            number,
            service.rooms.clock,
            LIFETIME,
            () if follow.history is None else follow.history.replaced,
        )
        keys.renew = follow.now
        await follow.tell(keys.hear)
        return cls(service, keys, follow)

    async def token(self) -> str:
        issued = await self.issue(IssueTokenRequest(), RequestContext("issueToken", Caller(api_key=KEY), "r-1"))
        return issued.text

    async def jwks(self) -> list[str]:
        return [str(key.kid) for key in (await GetJwks(self.keys)()).keys]


async def replaced(service: Service, first: int = 1, **how: Any) -> ReplacedKey:
    """By the command beside, which is another process."""
    log = await service.service_log()
    keep = timedelta(seconds=LIFETIME + 60)
    job = ReplaceServiceKey(log, "token", token_key_name, first, 1, keep, no_succession, os.urandom, service._sleep)
    return await job(**how)


def test_token_rotation_keeps_old_tokens(tmp_path: Path) -> None:
    async def story(service: Service) -> None:
        one, other = await Process.open_on(service), await Process.open_on(service)
        old = await one.token()
        first, second = await one.jwks()
        done = await replaced(service)
        assert (done.number, done.multikey) == (2, await service.custodian.public_key("token-2"))
        assert done.destroyed == ()
        await one.follow.step()
        # The one that has not read it yet takes the next key's tokens, which it has published.
        new = await one.token()
        await other.bearer(new)
        assert await other.jwks() == [first, second]
        jwks = await one.jwks()
        assert (jwks[0], jwks[2], len(jwks)) == (second, first, 3)
        assert (await one.token()).split(".")[0] != old.split(".")[0]
        service.rooms.clock.move(seconds=LIFETIME - 5)
        await other.follow.step()
        for process in (one, other, await Process.open_on(service)):
            await process.bearer(old)
            await process.bearer(new)
        service.rooms.clock.move(seconds=66)
        assert first not in await one.jwks()
        again = await replaced(service)
        assert (again.number, again.destroyed) == (3, (1,))
        assert "token-1" not in service.custodian.secrets

    run(tmp_path, story)


def test_tokens_of_compromised_key_end_at_once(tmp_path: Path) -> None:
    async def story(service: Service) -> None:
        one, stale = await Process.open_on(service), await Process.open_on(service)
        old, first = await one.token(), (await one.jwks())[0]
        done = await replaced(service, compromised=True)
        assert (done.compromised, done.destroyed) == (True, (1,))
        await one.follow.step()
        with pytest.raises(AuthFailed):
            await one.bearer(old)
        # A process that has not heard of it finds the key gone, reads the log, and signs all the same.
        await one.bearer(await stale.token())
        with pytest.raises(AuthFailed):
            await stale.bearer(old)
        later = await Process.open_on(service)
        assert first not in await later.jwks()
        assert "token-1" not in service.custodian.secrets
        with pytest.raises(AuthFailed):
            await later.bearer(old)

    run(tmp_path, story)


def test_tokens_of_exposed_key_end(tmp_path: Path) -> None:
    async def story(service: Service) -> None:
        one = await Process.open_on(service)
        old = await one.token()
        await replaced(service)
        await one.follow.step()
        stolen = await one.token()
        await one.bearer(old)
        assert (await replaced(service, compromised=True)).destroyed == (1, 2)
        await one.follow.step()
        for process in (one, await Process.open_on(service)):
            for token in (old, stolen):
                with pytest.raises(AuthFailed):
                    await process.bearer(token)
            await process.bearer(await process.token())

    run(tmp_path, story)


def test_service_log_lists_it_and_every_reader_checks_who_asked(tmp_path: Path) -> None:
    async def story(service: Service) -> None:
        done = await replaced(service)
        await service.rotate()
        last = await replaced(service, compromised=True)
        lines = await service.lines(Did.parse(done.service_did))
        assert verify(b"\n".join(lines)).versions == 5
        history = service_log.read(lines)
        assert [(one.number, one.multikey, one.compromised) for one in history.replaced] == [
            (2, done.multikey, False),
            (3, last.multikey, True),
        ]
        assert history.replaced[1].replaces == done.multikey
        said = json.loads(lines[1])["parameters"]["change"]
        own = await service.custodian.public_key(SERVICE_KEY)
        assert (said["operation"], said["authorization"]["key"]) == ("update", own)
        assert " update " in said["authorization"]["challenge"]

    run(tmp_path, story)


def test_crash_before_entry_changes_nothing(
    tmp_path: Path,
) -> None:
    async def story(service: Service) -> None:
        await replaced(service)
        process = await Process.open_on(service)
        before = await process.jwks()
        append = service.rooms.ledger.append

        async def crash(*_: Any, **__: Any) -> Any:
            raise PluginUnavailable("The process is killed here.")

        service.rooms.ledger.append = crash
        with pytest.raises(PluginUnavailable):
            await replaced(service)
        service.rooms.ledger.append = append
        made = await service.custodian.public_key("token-4")
        await process.follow.step()
        assert await process.jwks() == before
        await replaced(service)
        assert (await replaced(service)).multikey == made
        await process.follow.step()
        assert process.keys.name == "token-4"

    run(tmp_path, story)


def test_service_log_is_found_after_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(service: Service) -> None:
        async def crash(_: TransparencyTree, __: str) -> str:
            raise PluginUnavailable("The process is killed here.")

        with monkeypatch.context() as killed:
            killed.setattr(TransparencyTree, "begin_service", crash)
            with pytest.raises(PluginUnavailable):
                await replaced(service)
        done = await replaced(service)
        assert done.number == 2
        assert len({line.did for line in await service.rooms.ledger.entries_after(0, 10)}) == 1

    run(tmp_path, story)


def test_a_thief_of_the_log_key_lists_no_key_of_his_own(tmp_path: Path) -> None:
    """Every reader runs the rules by which the entry is drafted here."""

    async def story(service: Service) -> None:
        done = await replaced(service)
        lines = await service.lines(Did.parse(done.service_did))
        states = list(fold(DidIds(DidIdsSettings()).apply, lines))
        said = json.loads(lines[1])["parameters"]["change"]["authorization"]
        genuine = ed25519.sign(service.custodian.secrets[SERVICE_KEY], said["challenge"].encode())
        stolen, log_key = ed25519.generate(os.urandom(32)), await service.custodian.public_key("log")
        own = multikey.encode_public(multikey.ED25519, stolen.public)
        body = json.loads(json.dumps(said["body"]).replace(done.multikey, own))
        assert body != said["body"]
        steps = requests.operations(body, done.service_did)
        for authorization in (
            Authorization("DIDAuth", own, said["challenge"], stolen.sign(said["challenge"].encode()), body),
            Authorization("DIDAuth", said["key"], said["challenge"], genuine, body),
            Authorization("DIDAuth", said["key"], said["challenge"], genuine, said["body"]),
        ):
            # Instead of the existing entry, so that its challenge is still unused.
            with pytest.raises(AuthFailed):
                service.rooms.methods["ids"].draft(
                    states[0], Update(steps, authorization), states[1].updated_at, signer=log_key
                )

    run(tmp_path, story)


def test_the_setting_and_the_log_go_on_from_the_later_of_the_two(tmp_path: Path) -> None:
    async def story(service: Service) -> None:
        third = await Process.open_on(service, number=3)
        assert third.keys.name == "token-3"
        done = await replaced(service, first=3)
        assert done.number == 4
        await third.follow.step()
        assert third.keys.name == "token-4"
        raised = await Process.open_on(service, number=6)
        assert raised.keys.name == "token-6"

    run(tmp_path, story)


def test_the_document_keeps_the_newest_and_its_log_all(tmp_path: Path) -> None:
    async def story(service: Service) -> None:
        for _ in range(MOST_LISTED + 2):
            done = await replaced(service)
        lines = await service.lines(Did.parse(done.service_did))
        listed = json.loads(lines[-1])["state"]["service"]
        assert len(listed) == MOST_LISTED
        assert len(service_log.read(lines).replaced) == MOST_LISTED + 2
        assert (await Process.open_on(service)).keys.name == f"token-{MOST_LISTED + 3}"

    run(tmp_path, story)


def test_a_custodian_with_another_key_of_the_number_is_refused(tmp_path: Path) -> None:
    async def story(service: Service) -> None:
        process = await Process.open_on(service)
        service.custodian.secrets["token-2"] = os.urandom(32)
        await replaced(service)
        service.custodian.secrets["token-2"] = os.urandom(32)
        with pytest.raises(StorageMismatch, match="token keys"):
            await process.follow.step()
        # It is refused as often as it is read.
        with pytest.raises(StorageMismatch, match="token keys"):
            await process.follow.step()
        with pytest.raises(StorageMismatch):
            await Process.open_on(service)

    run(tmp_path, story)


def entry(endpoint: str, fragment: str = "token-2") -> ServiceEntry:
    return ServiceEntry(f"did:ids:x#{fragment}", TYPE, endpoint)


A, B = "z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp", "z6MkjchhfUsD6mmvni8mCdXHw216Xrm9bQe2mBH1P5RDjVJG"
GOOD = Replacement("token", 2, B, A, 7, False, START, b"note")


def test_listed_key_is_read_as_written() -> None:
    assert Replacement.read(entry(GOOD.endpoint), START) == GOOD
    bare = replace(GOOD, succession=None, compromised=True)
    assert Replacement.read(entry(bare.endpoint), START) == bare


@pytest.mark.parametrize(
    "listed",
    [
        entry(GOOD.endpoint, "token-1"),
        entry(GOOD.endpoint, "token-02"),
        entry(GOOD.endpoint, "token"),
        entry(GOOD.endpoint, "log-2"),
        entry(GOOD.endpoint.replace("did:key:", "")),
        entry(GOOD.endpoint + "&more=1"),
        entry(GOOD.endpoint + "&treeSize=9"),
        entry(GOOD.endpoint.replace("treeSize=7", "treeSize=07")),
        entry(GOOD.endpoint.replace("treeSize=7", "treeSize=seven")),
        entry(GOOD.endpoint.replace("compromised=false", "compromised=no")),
        entry(GOOD.endpoint.replace(A, "z6Mk")),
        entry(GOOD.endpoint.replace(f"{B}?", "?")),
        entry("https://thief.example/"),
    ],
)
def test_malformed_list_is_no_service_log(listed: ServiceEntry) -> None:
    with pytest.raises(LogInvalid):
        Replacement.read(listed, START)
