"""What the gate refuses without waiting: what it would refuse anyway, for the same price; and of everything else it takes nothing."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import dataclass
from typing import Any

import pytest

from identity_core.api.request import Operation, Request
from identity_core.api.security import Gate
from identity_core.domain.callers import Caller
from identity_core.domain.dids import challenge
from identity_core.domain.dids.did import Did
from identity_core.errors import DidDeactivated, DidNotFound, IdentityError, StorageMismatch
from identity_core.throttle.memory import TokenBucketMemoryStorage
from identity_core.throttle.policy import Limit, Policy
from identity_core.throttle.token_bucket import TokenBucketSupport
from tests.unit.throttle.promises import Ticking

HANA, ENDED, COLD, NOBODY = (f"did:toy:{name}" for name in ("hana", "ended", "cold", "nobody"))
UPDATE = Operation("updateDid", "PATCH", "/dids/{did}", frozenset({"DIDAuth", "RecoveryKey"}), "DIDAuth")
PROVE = Operation("verifyProof", "POST", "/proofs/verify", frozenset({"ApiKey", "Bearer", "DIDAuth"}), "ApiKey")
KEYS = Operation("listApiKeys", "GET", "/api-keys", frozenset({"ApiKey"}), "ApiKey")
EITHER = Operation("getProof", "GET", "/proofs/{id}", frozenset({"ApiKey", "DIDAuth"}), "ApiKey", optional=True)
OPERATIONS = {"update": UPDATE, "prove": PROVE, "keys": KEYS, "either": EITHER}


def signed(did: str, scheme: str = "DIDAuth") -> str:
    return f"{scheme} {challenge.build_header(did, bytes(64))}"


class Reader:
    """Knows HANA and, deactivated, ENDED; COLD only when somebody is asked."""

    def parse(self, text: str) -> Did:
        return Did.parse(text)

    async def active(self, did: Did) -> None:
        await asyncio.sleep(0)
        if did.text == ENDED:
            raise DidDeactivated(details={"did": ENDED})
        if did.text not in (HANA, COLD):
            raise DidNotFound(details={"did": did.shown})

    def known_active(self, did: Did, turn: object | None) -> object | None:
        if did.text == ENDED:
            raise DidDeactivated(details={"did": ENDED})
        return object() if did.text == HANA else None


class Keys:
    async def __call__(self, text: str) -> None:
        raise AssertionError("nobody looks for a key here")

    def has_been_good(self, text: str) -> bool:
        return False


class Signatures:
    async def __call__(self, *_: Any, **__: Any) -> None:
        raise ConnectionError("asked")


@dataclass
class Outcome:
    """The refusal, what the answer says of the bucket, and how many tokens are left."""

    refusal: IdentityError | None
    headers: list[tuple[str, str]]
    paid: bool
    left: int

    def told(self) -> tuple[Any, ...]:
        error = self.refusal
        about = None if error is None else (type(error), str(error), error.details)
        return about, self.headers, self.paid, self.left


BURST = 40


class World:
    def __init__(self, *, empty: bool = False, mismatch: bool = False, waits: bool = False) -> None:
        self.kept = TokenBucketMemoryStorage(monotonic=Ticking())
        policy = Policy(Waiting(self.kept) if waits else self.kept, address=Limit("address", 0.001, BURST))
        parts: Any = {"reader": Reader(), "api_keys": Keys(), "bearers": Keys(), "signatures": Signatures()}
        self.gate = Gate(
            policy=policy,
            trusted_proxies=(),
            mismatch=lambda: StorageMismatch() if mismatch else None,
            **parts,
        )
        if empty:
            self.kept.spend_at_once("address:192.0.2.7", 0.001, BURST, BURST)

    def request(self, operation: Operation, did: str, fields: dict[str, list[str]], body: int) -> Request:
        request = Request(
            request_id="r",
            method=operation.method,
            operation_id=operation.operation_id,
            path={"did": did},
            client_address="192.0.2.7",
            headers={name: ", ".join(values) for name, values in fields.items()},
            body_octets=bytes(body),
        )
        request.operation = operation
        request.repeated = {name: values for name, values in fields.items() if len(values) > 1}
        return request

    def left(self) -> int:
        return self.kept.spend_at_once("address:192.0.2.7", 0.001, BURST, 0).remaining

    def admitted(self, operation: Operation, request: Request) -> Outcome:
        try:
            caller, headers = asyncio.run(self.gate.admit(operation, request))
        except IdentityError as error:
            return Outcome(error, [*request.answer_headers], request.paid, self.left())
        assert caller is None or isinstance(caller, Caller)
        return Outcome(None, [*headers], request.paid, self.left())

    def at_once(self, operation: Operation, request: Request) -> Outcome:
        error = None
        try:
            self.gate.refuse_at_once(operation, request)
        except IdentityError as refusal:
            error = refusal
        return Outcome(error, [*request.answer_headers], request.paid, self.left())


class Waiting(TokenBucketSupport):
    """Buckets that are elsewhere."""

    def __init__(self, inner: TokenBucketMemoryStorage) -> None:
        self.inner = inner

    async def acquire_token_bucket(self, key: str, rate: float, burst: int, cost: int = 1) -> Any:
        return await self.inner.acquire_token_bucket(key, rate, burst, cost)


NONE: dict[str, list[str]] = {}
NOT_BASE64, NO_SIGNATURE = "DIDAuth (((", f"DIDAuth {base64.b64encode(b'not a signature').decode()}"
# The credential, the operation, the DID of the path; and whether the answer is known without waiting.
CASES = [
    (NONE, "update", HANA, True),
    (NONE, "update", ENDED, True),
    (NONE, "update", "did:toy:a:", True),
    (NONE, "update", "no did", True),
    (NONE, "update", COLD, False),
    (NONE, "update", NOBODY, False),
    (NONE, "prove", HANA, True),
    (NONE, "keys", HANA, True),
    (NONE, "either", HANA, False),
    ({"authorization": [NOT_BASE64]}, "update", HANA, True),
    ({"authorization": [NO_SIGNATURE]}, "update", HANA, True),
    ({"authorization": [NO_SIGNATURE]}, "update", COLD, True),
    ({"authorization": [NO_SIGNATURE]}, "update", ENDED, True),
    ({"authorization": [NO_SIGNATURE]}, "update", "no did", True),
    ({"authorization": [NO_SIGNATURE]}, "prove", HANA, True),
    ({"authorization": [NO_SIGNATURE]}, "either", HANA, True),
    ({"authorization": [NO_SIGNATURE]}, "keys", HANA, True),
    ({"authorization": ["RecoveryKey x"]}, "update", HANA, True),
    ({"authorization": ["RecoveryKey x"]}, "prove", HANA, True),
    ({"authorization": [signed(HANA, "RecoveryKey")]}, "keys", HANA, True),
    ({"authorization": [signed(NOBODY)]}, "update", HANA, True),
    ({"authorization": [signed(HANA)]}, "update", ENDED, True),
    ({"authorization": [signed(HANA)]}, "update", COLD, False),
    ({"authorization": [signed(HANA)]}, "update", HANA, False),
    ({"authorization": [signed(HANA)]}, "prove", HANA, False),
    ({"authorization": [signed(HANA)]}, "keys", HANA, True),
    ({"authorization": ["Basic YTpi"]}, "update", HANA, True),
    ({"authorization": ["Basic YTpi"]}, "update", COLD, False),
    ({"authorization": ["Basic YTpi"]}, "prove", HANA, True),
    ({"authorization": ["Basic YTpi"]}, "either", HANA, True),
    ({"authorization": [""]}, "prove", HANA, True),
    ({"authorization": ["DIDAuth"]}, "prove", HANA, True),
    ({"authorization": [NO_SIGNATURE, NOT_BASE64]}, "update", HANA, True),
    ({"authorization": [NO_SIGNATURE, NO_SIGNATURE]}, "update", HANA, True),
    ({"authorization": [NO_SIGNATURE], "x-api-key": ["k"]}, "prove", HANA, True),
    ({"authorization": [signed(HANA), "Bearer t"]}, "prove", HANA, True),
    ({"x-api-key": ["a", "b"]}, "prove", HANA, True),
    ({"x-api-key": [""]}, "prove", HANA, True),
]


@pytest.mark.parametrize("body", [0, 9_000])
@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize(("fields", "operation", "did", "known"), CASES, ids=str)
def test_a_refusal_at_once_is_that_of_admit(
    fields: dict[str, list[str]], operation: str, did: str, known: bool, empty: bool, body: int
) -> None:
    asked = OPERATIONS[operation]
    world, slow = World(empty=empty), World(empty=empty)
    found = world.at_once(asked, world.request(asked, did, fields, body))
    if not known:
        assert found.told() == (None, [], False, 0 if empty else BURST)
        return
    assert found.refusal is not None
    assert found.told() == slow.admitted(asked, slow.request(asked, did, fields, body)).told()
    assert found.paid


@pytest.mark.parametrize(
    "fields", [{"x-api-key": ["k"]}, {"authorization": ["Bearer t"]}, {"authorization": ["ApiKey k"]}]
)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_key_and_a_token_are_looked_for(fields: dict[str, list[str]], operation: str) -> None:
    world, asked = World(), OPERATIONS[operation]
    assert world.at_once(asked, world.request(asked, HANA, fields, 0)).told() == (None, [], False, BURST)


def test_where_databases_are_not_ours_only_reads_are_refused_at_once() -> None:
    world = World(mismatch=True)
    for asked, known in ((UPDATE, False), (PROVE, False), (KEYS, True)):
        assert (world.at_once(asked, world.request(asked, HANA, NONE, 0)).refusal is not None) is known


def test_where_the_bucket_is_elsewhere_nothing_is_refused_at_once() -> None:
    world = World(waits=True)
    assert world.at_once(KEYS, world.request(KEYS, HANA, NONE, 0)).told() == (None, [], False, BURST)
