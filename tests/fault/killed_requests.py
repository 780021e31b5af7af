"""Requests with an ``Idempotency-Key`` whose process is killed (SIGKILL) before one line of the write path, and their retries.

    python -m tests.fault.killed_requests

reads orders from standard input, one JSON object a line, and answers each with one: what the request was answered, as far as it was, and
what a retry in a new process was answered. One process forks for each run, so that nothing is imported twice.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import threading
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import FrameType
from typing import Any

import httpx
import identity_api_keys
import identity_ledger_sql
import identity_postgresql
from nacl.signing import SigningKey

import identity_core
from identity_client import ibct
from identity_client.challenge import hash_body
from identity_codec.times import printed
from identity_core.bootstrap.installation import open_installation
from identity_core.plugin.manager import PluginManager
from identity_core.settings import load
from identity_core.store.requests import StoredIdempotencyKeys
from tests.architecture.call_paths import LONG_DEADLINES
from tests.attack.stranger import ACTS, LEAVE, header, public, recovery_body, rotation, service, signing_key
from tests.fault.killed_before_a_line import KilledBeforeALine

ROOT, LEDGER, POSTGRESQL, KEYS = (
    Path(one.__file__).parent for one in (identity_core, identity_ledger_sql, identity_postgresql, identity_api_keys)
)
WRITE_PATH = {
    str(ROOT / name)
    for name in (
        *("api/idempotency.py", "api/writing.py", "store/requests.py", "store/documents.py", "store/events.py"),
        *("store/credentials.py", "store/delegations.py", "store/row_mac.py", "database/group_commit.py"),
        *("database/sqlite.py", "use_cases/dids/commit.py", "use_cases/dids/create.py"),
        *("use_cases/dids/change.py", "use_cases/auth/tagged.py"),
        *("use_cases/credentials/issue.py", "use_cases/credentials/status.py", "use_cases/delegations/create.py"),
        "use_cases/delegations/change.py",
    )
} | {
    str(LEDGER / "ledger.py"),
    str(POSTGRESQL / "database.py"),
    str(KEYS / "manage.py"),
    str(KEYS / "stored_changes.py"),
}
if missing := [path for path in WRITE_PATH if not Path(path).is_file()]:
    raise FileNotFoundError(f"no kill point can be in {missing}")
NEW_KEY, NEW_RECOVERY = SigningKey(bytes(range(32))), SigningKey(bytes(range(1, 33)))


# What is called, by file and function, when the change has been made and nothing of it was answered: the index of DIDs and the audit log.
AFTER_CHANGE = {("documents.py", "record"), ("record.py", "__call__")}


class KilledWhenArmed(KilledBeforeALine):
    """Counts lines only while ``armed``, and with ``late`` from the end of the change on."""

    armed = False
    late = False

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        if not self.armed:
            return self if event != "call" else None
        if self.late and (Path(frame.f_code.co_filename).name, frame.f_code.co_name) in AFTER_CHANGE:
            self.late = False
        return self if self.late else super().__call__(frame, event, argument)


@dataclass
class World:
    """The contents of a base installation that requests refer to."""

    key: str = ""
    other_key_id: str = ""
    did: str = ""
    old_secret: str = ""
    recovery_secret: str = ""
    issuer: str = ""
    schema: str = "https://schemas.example/killed"
    credential: str = ""
    delegation: str = ""


@dataclass
class Requester:
    """Sends requests to an installation in this process."""

    client: httpx.AsyncClient
    world: World
    headers: dict[str, str] = field(default_factory=dict)

    async def send(self, method: str, path: str, body: Any, headers: Mapping[str, str] | None = None) -> httpx.Response:
        data = b"" if body is None else json.dumps(body).encode()
        given = (
            ({} if body is None else {"Content-Type": "application/json"})
            | dict(headers or {"X-API-Key": self.world.key})
            | self.headers
        )
        return await self.client.request(method, path, content=data, headers=given)

    async def signed(self, act: str, body: Any, *secrets: SigningKey) -> httpx.Response:
        """Signs with the first key, and where that is not in force any more with the next."""
        method, place = ACTS[act]
        for secret in secrets:
            asked = {"did": self.world.did, "purpose": act, "bodyHash": hash_body(body)}
            challenge = (await self.client.get("/auth/challenge", params=asked)).json().get("challenge", "none")
            scheme = "RecoveryKey" if act == "recover" else "DIDAuth"
            value = header(self.world.did, secret.sign(challenge.encode()).signature, scheme)
            answer = await self.send(method, f"/dids/{self.world.did}{place}", body, {"Authorization": value})
            if answer.status_code != 401:
                break
        return answer

    async def create(self, path: str, body: Any) -> Any:
        answer = await self.send("POST", path, body)
        assert answer.is_success, answer.text
        return answer.json()

    async def count(self) -> dict[str, int]:
        """Return the number of objects of each kind."""

        async def items(path: str) -> list[Any]:
            answer = await self.client.get(path, headers={"X-API-Key": self.world.key})
            return list(answer.json()["items"]) if answer.is_success else []

        # The history of a deactivated DID is 410; its log stays visible.
        log = await self.client.get(f"/dids/{self.world.did}/log")
        assert log.is_success, log.text
        credentials = await items(f"/credentials?limit=200&holderDid={self.world.did}")
        delegations = await items("/delegations?limit=200")
        return {
            "dids": len(await items("/dids?limit=200")),
            # Also those whose creator is not known.
            "entries": len(await items("/events?after=0&limit=200")),
            "versions": len(log.text.splitlines()),
            "credentials": len(credentials),
            "credentialVersion": sum(one["version"] for one in credentials if one["id"] == self.world.credential),
            "delegations": len(delegations),
            "delegationVersion": sum(one["version"] for one in delegations if one["id"] == self.world.delegation),
            "schemas": len(await items("/credential-schemas?limit=200")),
            "keys": len(await items("/admin/api-keys?limit=200")),
        }


Act = Callable[[Requester], Awaitable[httpx.Response]]


def _old(requester: Requester) -> SigningKey:
    return signing_key(requester.world.old_secret)


_NOW = int(datetime.now(UTC).timestamp())


def _rotation(world: World) -> dict[str, Any]:
    # A grace, so that a retry can be signed with the key that was rotated.
    until = printed(datetime.fromtimestamp(_NOW, UTC) + timedelta(hours=12))
    return rotation(_old_key_id(world)) | {"revokeOldAfter": until}


def _old_key_id(world: World) -> str:
    return f"{world.did}#{public(signing_key(world.old_secret))}"


ACTIONS: dict[str, Act] = {
    "create": lambda one: one.send("POST", "/dids", {"method": "ids", "options": {"recoveryKey": True}}),
    "update": lambda one: one.signed("update", service("killed"), _old(one)),
    "rotate": lambda one: one.signed("rotate", _rotation(one.world), _old(one)),
    "recover": lambda one: one.signed(
        "recover",
        recovery_body(
            public(NEW_KEY),
            newRecoveryKey={"type": "Ed25519VerificationKey2020", "publicKeyMultibase": public(NEW_RECOVERY)},
        ),
        signing_key(one.world.recovery_secret),
        NEW_RECOVERY,
    ),
    # These end the key that signs them, and the answer holds the only copy of a new one.
    "rotateAtOnce": lambda one: one.signed("rotate", rotation(_old_key_id(one.world)), _old(one)),
    "recoverAtOnce": lambda one: one.signed(
        "recover", recovery_body(public(NEW_KEY)), signing_key(one.world.recovery_secret)
    ),
    "deactivate": lambda one: one.signed("deactivate", LEAVE, _old(one)),
    "issue": lambda one: one.send("POST", "/credentials", _claims(one.world)),
    "suspendCredential": lambda one: one.send(
        "POST", f"/credentials/{one.world.credential}/status", {"purpose": "suspension", "value": True}
    ),
    "schema": lambda one: one.send("POST", "/credential-schemas", {"attributes": [{"name": "age", "type": "integer"}]}),
    "delegate": lambda one: one.send("POST", "/delegations", _terms(one.world)),
    "suspendDelegation": lambda one: one.send("POST", f"/delegations/{one.world.delegation}/suspend", None),
    "createKey": lambda one: one.send("POST", "/admin/api-keys", {"name": "new", "admin": True}),
    "rotateKey": lambda one: one.send("POST", f"/admin/api-keys/{one.world.other_key_id}/rotate", {}),
    "updateKey": lambda one: one.send("PATCH", f"/admin/api-keys/{one.world.other_key_id}", {"name": "renamed"}),
}


def _claims(world: World) -> dict[str, Any]:
    about = {"issuerDid": world.issuer, "holderDid": world.did, "schemaId": world.schema}
    return about | {"attributes": {"age": 37}, "suite": 1}


def _terms(world: World) -> dict[str, Any]:
    until = printed(datetime.fromtimestamp(_NOW, UTC) + timedelta(days=1))
    about = {"holderDid": world.did, "agentDid": world.issuer, "actions": [ibct.action_text("age", "gte")]}
    return about | {"autonomyLevel": 4, "expiresAt": until}


def _settings(folder: Path, url: str | None) -> Any:
    environment = LONG_DEADLINES | {"IDENTITY_LEDGER_CHECKPOINT_PATH": str(folder / "checkpoint")}
    database = {} if url is None else {"IDENTITY_DATABASE_URL": url}
    return load(environment=environment | database, overrides={"data_dir": folder})


async def _open_service(folder: Path, url: str | None, use: Callable[[httpx.AsyncClient, Any], Awaitable[Any]]) -> Any:
    async with open_installation(_settings(folder, url)) as installation:
        transport = httpx.ASGITransport(app=installation.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost/api/v1", timeout=120) as client:
            return await use(client, installation)


async def build(folder: Path, url: str | None) -> dict[str, Any]:
    """Makes the base installation; returns its ``World``."""

    async def use(client: httpx.AsyncClient, installation: Any) -> dict[str, Any]:
        world = World(key=str(await installation.first_key()))
        one = Requester(client, world)
        bls = {"type": "Bls12381G2Key2020", "purpose": ["assertionMethod"]}
        wanted = {"method": "ids", "options": {"storeSecrets": True, "additionalKeys": [bls]}}
        world.issuer = (await one.create("/dids", wanted))["did"]
        hana = await one.create("/dids", {"method": "ids", "options": {"recoveryKey": True}})
        world.did, keys = hana["did"], hana["keys"]
        world.old_secret = keys["authentication"]["privateKey"]
        world.recovery_secret = keys["recovery"]["privateKey"]
        await one.create(
            "/credential-schemas", {"id": world.schema, "attributes": [{"name": "age", "type": "integer"}]}
        )
        world.credential = (await one.create("/credentials", _claims(world)))["id"]
        world.delegation = (await one.create("/delegations", _terms(world)))["id"]
        world.other_key_id = (await one.create("/admin/api-keys", {"name": "other", "admin": True}))["record"]["id"]
        return vars(world) | {"count": await one.count()}

    return dict(await _open_service(folder, url, use))


async def first(order: Mapping[str, Any], world: World) -> dict[str, Any]:
    """Sends the request, and ends before its line ``killAt``."""
    trace = KilledWhenArmed(WRITE_PATH, order["killAt"])
    trace.late = order.get("late", False)
    threading.settrace(trace)

    async def use(client: httpx.AsyncClient, _: Any) -> dict[str, Any]:
        one = Requester(client, world, {"Idempotency-Key": order["name"]})
        trace.armed = True
        sys.settrace(trace)
        answer = await ACTIONS[order["act"]](one)
        trace.armed = False
        sys.settrace(None)
        return {"status": answer.status_code, "body": answer.json(), "lines": trace.seen}

    return dict(await _open_service(Path(order["folder"]), order["url"], use))


async def again(order: Mapping[str, Any], world: World) -> dict[str, Any]:
    """Sends it again, twice, and counts what there is. On a server the lease of the first ends before; on files a new process ends it."""
    defaults = StoredIdempotencyKeys.__init__.__kwdefaults__
    assert defaults is not None
    if order["url"] is not None:
        defaults["lease"] = timedelta(0)

    async def use(client: httpx.AsyncClient, _: Any) -> dict[str, Any]:
        one = Requester(client, world, {"Idempotency-Key": order["name"]})
        answers = [await ACTIONS[order["act"]](one) for _ in range(2)]
        one.headers = {}
        return {
            "statuses": [answer.status_code for answer in answers],
            "bodies": [answer.json() for answer in answers],
            "count": await one.count(),
        }

    return dict(await _open_service(Path(order["folder"]), order["url"], use))


def forked(step: Callable[[], Coroutine[Any, Any, dict[str, Any]]]) -> dict[str, Any]:
    """Return the result of the step in a separate process; nothing if the process was killed."""
    reading, writing = os.pipe()
    process = os.fork()
    if not process:
        os.setsid()
        os.close(reading)
        random.seed()
        try:
            said = asyncio.run(step())
        except BaseException as error:
            said = {"failed": repr(error)}
        os.write(writing, json.dumps(said).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as report:
        text = report.read()
    os.waitpid(process, 0)
    return dict(json.loads(text)) if text else {}


def main() -> None:
    """Answers orders until there are no more."""
    # Proofs are not among the requests, and their processes would take longer to start than all else.
    PluginManager.proof_workers = lambda *_, **__: None  # type: ignore[method-assign]
    PluginManager.anonymous_verifier = lambda *_, **__: None  # type: ignore[method-assign]
    world = World()
    for line in sys.stdin:
        order = json.loads(line)
        folder, url = Path(order["folder"]), order["url"]
        if order["do"] == "build":
            said = forked(lambda: build(folder, url))  # noqa: B023
            world = World(**{name: value for name, value in said.items() if name != "count"})
        else:
            order["name"] = str(uuid.uuid4())
            said = {"first": forked(lambda: first(order, world))}  # noqa: B023
            said["again"] = forked(lambda: again(order, world)) if order["killAt"] is not None else {}  # noqa: B023
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
