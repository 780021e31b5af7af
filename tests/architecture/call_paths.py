"""The call path of one request in the server's process: modules and functions of this repository, and the
statements that it sends to the database.

A whole installation is opened in this process, over SQLite, with real plugins and prover processes; a profile hook counts while a
request is under way, on the event loop and on the threads of the database. Each request is made four times: the first fills the
caches, and of the others only the calls that all three made count.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, reduce
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import httpx

from identity_client import Signer, ibct
from identity_client.challenge import hash_body
from identity_codec.times import printed
from identity_core.bootstrap.installation import open_installation
from identity_core.bootstrap.ports import SystemClock
from identity_core.database import sqlite_connection
from identity_core.settings import load
from identity_core.use_cases.background import Repeating
from tests.architecture.sizes import Size, size_of_functions

ROUNDS = 3
# Copies of values are not a step of a request. The client of this test looks for a module that is not installed with each request, which
# every finder of modules then looks for.
NOT_COUNTED = {"identity_codec.values", "identity_core.old_names"}
# A busy machine must not end a call that works.
LONG_DEADLINES = {
    "IDENTITY_CUSTODIAN_DEADLINE_SECONDS": "60",
    "IDENTITY_LEDGER_DEADLINE_SECONDS": "60",
    "IDENTITY_PLUGINS_DEADLINE_SECONDS": "60",
    "IDENTITY_PROVER_DEADLINE_SECONDS": "60",
}
Call = tuple[str, str]
Send = Callable[..., Any]


@dataclass(frozen=True)
class CallPath:
    """The call path of one request.

    Counts of the core: modules and functions. ``size`` is of all entered functions, those of packages and
    plugins among them. ``statements`` are those of the database, BEGIN, COMMIT and PRAGMA among them.
    """

    files: int
    functions: int
    statements: int
    commits: int
    plugin_files: int
    plugin_functions: int
    size: Size
    called: frozenset[Call]


class Recorder:
    """A profile hook that records the calls of functions of this repository while it is on."""

    def __init__(self) -> None:
        self.on = False
        self.calls: list[Call] = []
        self.places: dict[Call, tuple[str, int]] = {}

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if self.on and event == "call":
            module = frame.f_globals.get("__name__", "")
            name = frame.f_code.co_qualname
            # Whether a comprehension is a call depends on the version of Python.
            if (
                module.startswith("identity_")
                and module not in NOT_COUNTED
                and not frame.f_code.co_name.startswith("<")
            ):
                call = (module, self._name_constructor(frame) or name)
                self.calls.append(call)
                self.places[call] = (frame.f_code.co_filename, frame.f_code.co_firstlineno)

    @staticmethod
    def _name_constructor(frame: FrameType) -> str | None:
        """Return the name of an ``__init__`` with its class: one that is generated has none in its name."""
        if frame.f_code.co_name != "__init__":
            return None
        return f"{type(frame.f_locals[frame.f_code.co_varnames[0]]).__name__}.__init__"


class Statements:
    """The statements that every connection to SQLite executes while it is on. Use ``with`` before any is opened."""

    def __init__(self) -> None:
        self.on = False
        self.noted: list[str] = []

    def note(self, sql: str) -> None:
        if self.on:
            self.noted.append(sql)

    @contextmanager
    def listening(self) -> Iterator[None]:
        honest = sqlite_connection.Connection
        note = self.note

        class Noted(honest):  # type: ignore[misc, valid-type]
            def __init__(self, *given: Any, **named: Any) -> None:
                super().__init__(*given, **named)
                self.set_trace_callback(note)

        sqlite_connection.Connection = Noted  # type: ignore[misc]
        try:
            yield
        finally:
            sqlite_connection.Connection = honest  # type: ignore[misc]


def _call_path(rounds: list[list[Call]], asked: list[list[str]], places: Mapping[Call, tuple[str, int]]) -> CallPath:
    called = reduce(frozenset.intersection, map(frozenset, rounds))
    core = {call for call in called if call[0].startswith("identity_core.")}
    return CallPath(
        files=len({module for module, _ in core}),
        functions=len(core),
        statements=min(map(len, asked)),
        commits=min(sum(sql == "COMMIT" for sql in one) for one in asked),
        plugin_files=len({module for module, _ in called - core}),
        plugin_functions=len(called - core),
        size=size_of_calls(called, places),
        called=called,
    )


def size_of_calls(called: Iterable[Call], places: Mapping[Call, tuple[str, int]]) -> Size:
    """Return code lines and statements of the called functions, and the number of modules that they are in.

    A generated function has no code: its module counts, its lines do not.
    """
    beginnings: defaultdict[Path, set[int]] = defaultdict(set)
    for call in called:
        file, line = places[call]
        if Path(file).is_file():
            beginnings[Path(file)].add(line)
    return size_of_functions(beginnings)._replace(files=len({module for module, _ in called}))


@cache
def call_paths() -> dict[str, CallPath]:
    """The call paths of createDid, of generateDelegatedProof with a credential of each suite and under a token of the agent, and of
    verifyStoredProof."""
    statements = Statements()
    with tempfile.TemporaryDirectory() as folder, statements.listening():
        return asyncio.run(_measure_in(Path(folder), statements))


async def _measure_in(folder: Path, statements: Statements) -> dict[str, CallPath]:
    recorder = Recorder()
    threading.setprofile(recorder)
    try:
        settings = load(
            environment=LONG_DEADLINES | {"IDENTITY_PROOF_DISCLOSURES": str(2 + ROUNDS)}, overrides={"data_dir": folder}
        )
        async with open_installation(settings) as installation:
            key = await installation.first_key()
            transport = httpx.ASGITransport(app=installation.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost/api/v1") as client:
                return await _measured(MeasuredInstallation(client, str(key), recorder, statements))
    finally:
        threading.setprofile(None)  # type: ignore[arg-type]


@contextmanager
def nothing_beside() -> Iterator[None]:
    """No background work begins, and what was looked up stays fresh: under a profile hook and on a busy machine each request may take
    the second after which both come."""
    clock, step, now, over = SystemClock.monotonic, Repeating.guarded, time.monotonic(), asyncio.Event()

    async def later(self: Repeating) -> float:
        await over.wait()
        return await step(self)

    SystemClock.monotonic = lambda _: now  # type: ignore[method-assign]
    Repeating.guarded = later  # type: ignore[method-assign]
    try:
        yield
    finally:
        SystemClock.monotonic, Repeating.guarded = clock, step  # type: ignore[method-assign]
        over.set()


@dataclass(frozen=True)
class MeasuredInstallation:
    client: httpx.AsyncClient
    key: str
    recorder: Recorder
    statements: Statements

    async def post(self, path: str, body: Any, headers: Mapping[str, str] | None = None) -> Any:
        answer = await self.client.post(path, json=body, headers=headers or {"X-API-Key": self.key})
        assert answer.is_success, answer.text
        return answer.json()

    async def token(self, signer: Signer) -> dict[str, str]:
        """The headers of a DID that has signed in."""
        digest = hash_body({})
        wanted = {"did": signer.did, "purpose": "token", "bodyHash": digest, "named": "true"}
        challenge = (await self.client.get("/auth/challenge", params=wanted)).json()["challenge"]
        signed = signer.header(challenge, purpose="token", digest=digest, named=True)
        answer = await self.post("/auth/token", {}, {"Authorization": signed})
        return {"Authorization": f"Bearer {answer['access_token']}"}

    async def measure(self, request: Callable[[], tuple[Any, ...]]) -> CallPath:
        rounds, asked = [], []
        with nothing_beside():
            await self.post(*request())
            for _ in range(ROUNDS):
                made = request()
                self.recorder.calls, self.statements.noted = [], []
                self.recorder.on = self.statements.on = True
                sys.setprofile(self.recorder)
                try:
                    await self.post(*made)
                finally:
                    sys.setprofile(None)
                    self.recorder.on = self.statements.on = False
                rounds.append(self.recorder.calls)
                asked.append(self.statements.noted)
        return _call_path(rounds, asked, self.recorder.places)


async def _measured(installation: MeasuredInstallation) -> dict[str, CallPath]:
    create = await installation.measure(lambda: ("/dids", {"method": "ids"}))
    requests = {suite: await proof_requests(installation, suite) for suite in (1, 2)}
    proofs = {suite: await installation.measure(request) for suite, request in requests.items()}
    by_agent = await installation.measure(await proof_requests(installation, 1, by_agent=True))
    made = await installation.post(*requests[1]())
    verify = await installation.measure(lambda: (f"/zkp/proofs/{made['proof']['proofId']}/verify", {}))
    return {
        "createDid": create,
        "generateDelegatedProof of suite 1": proofs[1],
        "generateDelegatedProof under a token": by_agent,
        "generateDelegatedProof": proofs[2],
        "verifyStoredProof": verify,
    }


async def proof_requests(
    installation: MeasuredInstallation, suite: int = 2, *, by_agent: bool = False
) -> Callable[[], tuple[Any, ...]]:
    """Return a function that makes requests for proofs: each has a new IBCT and a new question.

    ``by_agent`` sends them with an access token of the agent, else with the API key of the operator.
    """
    bls = {"type": "Bls12381G2Key2020", "purpose": ["assertionMethod"]}
    ivo = await installation.post(
        "/dids", {"method": "ids", "options": {"storeSecrets": True, "additionalKeys": [bls]}}
    )
    hana, aki = [await installation.post("/dids", {"method": "ids"}) for _ in range(2)]
    schema = {
        "id": f"https://schemas.example/path/{suite}/{by_agent}",
        "attributes": [{"name": "age", "type": "integer"}],
    }
    await installation.post("/credential-schemas", schema)
    claims = {"issuerDid": ivo["did"], "holderDid": hana["did"], "schemaId": schema["id"], "attributes": {"age": 37}}
    credential = await installation.post("/credentials", claims | {"suite": suite})
    action = ibct.action_text("age", "gte")
    terms = {
        "holderDid": hana["did"],
        "agentDid": aki["did"],
        "actions": [action],
        "autonomyLevel": 4,
        "maxThresholds": None,
    }
    bounds = count(18)
    expires = {"expiresAt": printed(datetime.now(UTC) + timedelta(days=1))}
    delegation = await installation.post("/delegations", terms | expires)
    signer = Signer.from_keys(hana)
    headers = await installation.token(Signer.from_keys(aki)) if by_agent else None

    def request() -> tuple[Any, ...]:
        wish = ibct.IbctTemplate(aki["did"], action, delegation["id"], timedelta(hours=1))
        body = ibct.proof_request(ibct.sign_token(signer, wish), credential["id"], value=next(bounds))
        return "/zkp/delegated-proofs", json.loads(json.dumps(body)), headers

    return request
