"""The order of checks is public: of two things that are wrong, the one that comes first in the document is the answer."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from identity_core.domain.callers import Caller
from identity_core.domain.credentials.credential import CredentialStatus
from identity_core.domain.delegations.delegation import Suspension
from identity_core.errors import (
    IbctReplayed,
    IdentityError,
    InternalError,
    LedgerUnavailable,
    Overloaded,
    PluginTimeout,
    PluginUnavailable,
)
from identity_core.ports.proofs import RefusedInvocation
from identity_core.use_cases.credentials.sealed import CredentialSeal
from identity_core.wire import DeactivateDidRequest
from tests.proving import Proving, run

Break = Callable[["Case"], None]
Event = Callable[[Proving], Awaitable[None]]


@dataclass
class Case:
    """A good request, until breaks change it: ``happened`` runs when everything is there, ``meanwhile`` while proving."""

    rooms: Proving
    delegation: dict[str, Any] = field(default_factory=dict)
    grant: str = "zkp.prove.*.*"
    credential: dict[str, Any] = field(default_factory=dict)
    token: dict[str, Any] = field(default_factory=dict)
    predicate: dict[str, Any] = field(default_factory=lambda: {"attributeName": "age", "type": "gte", "value": 18})
    body: dict[str, Any] = field(default_factory=dict)
    forged: bool = False
    mallory: bool = False
    happened: list[Event] = field(default_factory=list)
    used: bool = False
    meanwhile: Event | None = None
    sent: dict[str, Any] = field(default_factory=dict)

    async def code(self) -> str:
        """What the request is answered with: a code, and the reason where one code has several steps."""
        rooms = self.rooms
        rooms.hana, rooms.aki = await rooms.new_did(), await rooms.new_did()
        mallory = await rooms.new_did()
        rooms.credential = await rooms.issue(rooms.did(mallory if "foreign" in self.credential else rooms.hana))
        rooms.delegation = await rooms.delegate(self.grant, **self.delegation)
        action = f"zkp.prove.{self.predicate['attributeName']}.{self.predicate['type']}"
        token = rooms.token(**{"action": action} | self.token)
        if self.forged:
            token["action"] += ".18"
        body = rooms.body(token=token, predicate=self.predicate, **self.body)
        if self.used:
            await use_nonce(rooms, token["nonce"])
        for event in self.happened:
            await event(rooms)
        meanwhile = self.meanwhile
        rooms.workers.before = None if meanwhile is None else lambda: meanwhile(rooms)
        try:
            caller = Caller(did=rooms.did(mallory)) if self.mallory else None
            self.sent = body
            outcome = (await rooms.answered(body, caller=caller)).outcome
        except IdentityError as error:
            reason = str(error.details.get("reason", "")) if error.code == "IBCT_INVALID" else ""
            return f"{error.code} {reason}".strip()
        return outcome.code if isinstance(outcome, RefusedInvocation) else "proven"


async def use_nonce(rooms: Proving, nonce: str) -> None:
    """Record another holder's request with this nonce."""
    import hashlib

    row = {
        "invoker": str(rooms.did(rooms.hana)),
        "nonce": hashlib.sha256(nonce.encode()).digest(),
        "other": bytes(32),
        "until": 2**60,
    }
    await rooms.store.database.write(
        lambda transaction: (
            transaction.execute(
                "INSERT INTO invocations (invoker, nonce_digest, id_digest, request_digest, lease, lease_until, delete_after) "
                "VALUES (:invoker, :nonce, :other, :other, :other, :until, :until)",
                row,
            ).rowcount
        )
    )


async def deactivate(rooms: Proving) -> None:
    did, created = rooms.did(rooms.hana), rooms.hana
    from tests.did_use_cases import secret_of

    authorization = await rooms.signed(did, secret_of(created), "deactivate")
    await rooms.deactivate(
        did,
        DeactivateDidRequest(confirm=True),
        authorization=authorization,
        context=rooms.context(did, authorization),
        if_match=None,
    )


async def revoke_delegation(rooms: Proving) -> None:
    await rooms.store.delegations.revoke(rooms.delegation.id, "test", None, rooms.clock.now())


async def suspend(rooms: Proving) -> None:
    await rooms.store.delegations.suspend(rooms.delegation.id, rooms.clock.now())


async def revoke_credential(rooms: Proving) -> None:
    await rooms.store.credentials.set_status(rooms.credential, CredentialStatus.REVOKED, None, rooms.clock.now())


def revoke_token(case: Case) -> None:
    async def revoke(rooms: Proving) -> None:
        now = rooms.clock.now()
        did = rooms.did(rooms.hana)
        await rooms.store.delegations.revoke_ibct(did, "nonce", case.token["nonce"], keep_until=now, now=now)

    case.token["nonce"] = "a nonce that is called back"
    case.happened.append(revoke)


def counters(**values: Any) -> Event:
    """Sets columns of the delegation, as earlier requests would have."""

    async def happen(rooms: Proving) -> None:
        names = ", ".join(f"{name} = :{name}" for name in values)
        sql = f"UPDATE delegations SET {names} WHERE id = :id"
        parameters = values | {"id": rooms.delegation.id}
        await rooms.store.database.write(lambda transaction: transaction.execute(sql, parameters).rowcount)

    return happen


def nothing(case: Case) -> None:
    """All is well."""


STEPS: list[tuple[str, Break]] = [
    ("ANCHORING_DISABLED", lambda case: case.body.update(anchor=True)),
    ("FORBIDDEN", lambda case: setattr(case, "mallory", True)),
    ("IBCT_INVALID type is not InvocationBoundCapabilityToken", lambda case: case.token.update(type="Ticket")),
    ("DID_DEACTIVATED", lambda case: case.happened.append(deactivate)),
    (
        "IBCT_INVALID the signature is not one of a current authentication key of the invoker",
        lambda case: setattr(case, "forged", True),
    ),
    (
        "IBCT_EXPIRED",
        lambda case: case.token.update(issuedAt="2025-12-31T00:00:00Z", expiresAt="2026-01-01T00:00:00Z"),
    ),
    ("IBCT_REPLAYED", lambda case: setattr(case, "used", True)),
    ("IBCT_REVOKED", revoke_token),
    ("DELEGATION_INVALID", lambda case: case.token.update(delegationRef="https://elsewhere.example/delegations/1")),
    ("DELEGATION_REVOKED", lambda case: case.happened.append(revoke_delegation)),
    ("DELEGATION_EXPIRED", lambda case: case.happened.append(counters(expires_at=1))),
    ("DELEGATION_NOT_ACTIVE", lambda case: case.happened.append(counters(suspended_reason=Suspension.MANUAL.value))),
    ("SCOPE_MISMATCH", lambda case: setattr(case, "grant", "zkp.prove.income.lt")),
    ("AUTONOMY_TOO_LOW", lambda case: case.delegation.update(autonomy_level=2)),
    ("CREDENTIAL_NOT_FOUND", lambda case: case.credential.update(foreign=True)),
    ("CREDENTIAL_REVOKED", lambda case: case.happened.append(revoke_credential)),
    ("PREDICATE_UNSUPPORTED", lambda case: case.predicate.update(attributeName="country")),
    ("DELEGATION_EXHAUSTED", lambda case: case.happened.append(counters(max_uses=3, uses=3))),
    (
        "DELEGATION_SUSPENDED",
        lambda case: case.happened.append(counters(suspended_reason=Suspension.REFUSALS.value)),
    ),
    ("DISCLOSURE_LIMIT", lambda case: case.happened.append(counters(max_thresholds=0))),
    ("PREDICATE_NOT_SATISFIED", lambda case: case.predicate.update(value=38)),
    ("CREDENTIAL_REVOKED", lambda case: setattr(case, "meanwhile", revoke_credential)),
]

# One column holds both reasons for which a delegation may be suspended.
EXCLUSIVE = {("DELEGATION_NOT_ACTIVE", "DELEGATION_SUSPENDED")}


def test_a_request_with_nothing_wrong_is_proven(tmp_path: Path) -> None:
    async def story(rooms: Proving) -> None:
        assert await Case(rooms).code() == "proven"

    run(tmp_path, story)


def test_earlier_of_two_faults_is_reported(tmp_path: Path) -> None:
    """Every pair of steps, neighbours or not, and every step alone."""

    async def story(rooms: Proving) -> None:
        wrong = {}
        alone = [((code, break_), ("", nothing)) for code, break_ in STEPS]
        for (first, break_first), (second, break_second) in [*alone, *itertools.combinations(STEPS, 2)]:
            if (first, second) in EXCLUSIVE:
                continue
            case = Case(rooms)
            break_first(case)
            break_second(case)
            answer = await case.code()
            if answer != first:
                wrong[(first, second)] = answer
        assert wrong == {}

    run(tmp_path, story)


LEFT_OUT = ("INVALID_REQUEST", lambda case: case.predicate.pop("value"))
REPLAYED = next(place for place, (code, _) in enumerate(STEPS) if code == "IBCT_REPLAYED")
# The last of them is told by a prover that was asked, after the use was counted.
# Steps 12 and 13 need only the request and the delegation.
FREE = [*(one for one in STEPS if one[0] in ("SCOPE_MISMATCH", "AUTONOMY_TOO_LOW")), LEFT_OUT]
SPENDING = [one for one in STEPS[REPLAYED + 1 :] if one not in FREE]
NOT_SATISFIED = "PREDICATE_NOT_SATISFIED"


async def rows(rooms: Proving) -> int:
    found = await rooms.store.database.read(
        lambda transaction: transaction.execute("SELECT count(*) FROM invocations").fetchone()
    )
    return int(found[0])


@pytest.mark.parametrize(("code", "break_"), STEPS[:REPLAYED], ids=[code for code, _ in STEPS[:REPLAYED]])
def test_refusal_without_valid_token_consumes_nothing(tmp_path: Path, code: str, break_: Break) -> None:
    """An expired one is among them: whatever is asked with it, it has expired."""

    async def story(rooms: Proving) -> None:
        case = Case(rooms)
        break_(case)
        assert await case.code() == code
        assert (await rooms.uses(), rooms.workers.proofs, await rows(rooms)) == (0, 0, 0)

    run(tmp_path, story)


@pytest.mark.parametrize(
    ("code", "break_"), SPENDING, ids=[f"{place}-{code}" for place, (code, _) in enumerate(SPENDING)]
)
def test_every_refusal_of_a_genuine_token_spends_it(tmp_path: Path, code: str, break_: Break) -> None:
    """The identical request gets the identical refusal, also when its cause is gone; another one is a replay."""

    async def story(rooms: Proving) -> None:
        case = Case(rooms)
        break_(case)
        assert await case.code() == code
        uses = await rooms.uses()
        first = await rooms.answered(case.sent)
        assert isinstance(first.outcome, RefusedInvocation)
        assert (first.outcome.code, first.is_replay) == (code, True)
        with pytest.raises(IbctReplayed):
            await rooms.answered(case.sent | {"challenge": "another verifier's"})
        await counters(revoked_at=None, expires_at=2**52, suspended_reason=None, max_uses=None, max_thresholds=None)(
            rooms
        )
        await rooms.store.database.write(
            lambda transaction: transaction.execute("UPDATE credentials SET status = 'active'").rowcount
        )
        assert await rooms.answered(case.sent) == first
        assert await rooms.uses() == uses
        assert await rows(rooms) == 1

    run(tmp_path, story)


@pytest.mark.parametrize(("code", "break_"), FREE, ids=[code for code, _ in FREE])
def test_refusal_of_scope_or_autonomy_spends_nothing(tmp_path: Path, code: str, break_: Break) -> None:
    """Another request with the same token is one for the steps, and no replay."""

    async def story(rooms: Proving) -> None:
        case = Case(rooms)
        break_(case)
        assert await case.code() == code
        assert (await rooms.uses(), rooms.workers.proofs, await rows(rooms)) == (0, 0, 0)
        with pytest.raises(IdentityError) as refused:
            await rooms.answered(case.sent | {"challenge": "another verifier's"})
        assert refused.value.code == code

    run(tmp_path, story)


FAILURES = [InternalError, Overloaded, PluginUnavailable, PluginTimeout, LedgerUnavailable]


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failure_spends_nothing(
    tmp_path: Path, failure: type[IdentityError], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was found out about the request: it may come again, and so may another one with that token."""

    async def story(rooms: Proving) -> None:
        async def fail(*_: object) -> None:
            raise failure

        body = rooms.body()
        with monkeypatch.context() as broken:
            broken.setattr(rooms.store.credentials, "get", fail)
            with pytest.raises(failure):
                await rooms.answered(body)
        assert await rows(rooms) == 0
        await rooms.proven(body)

    run(tmp_path, story)


# What is refused after the credential was opened: a no, and what was revoked while a proof of a yes was made.
UNTOLD = [(code, break_) for code, break_ in [*FREE, *SPENDING] if code != NOT_SATISFIED and break_ is not STEPS[-1][1]]


@pytest.mark.parametrize("value", [18, 90], ids=["a yes", "a no"])
@pytest.mark.parametrize(("code", "break_"), UNTOLD, ids=[code for code, _ in UNTOLD])
def test_early_refusal_does_not_open_credential(
    tmp_path: Path, code: str, break_: Break, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    async def story(rooms: Proving) -> None:
        open_box, sealed = CredentialSeal.open, rooms.store.credentials.sealed

        def spy(seal: CredentialSeal, credential: Any, box: bytes) -> Any:
            opened.append("opened")
            return open_box(seal, credential, box)

        async def spy_on_read(credential_id: str) -> bytes | None:
            opened.append("read")
            return await sealed(credential_id)

        monkeypatch.setattr(CredentialSeal, "open", spy)
        monkeypatch.setattr(rooms.store.credentials, "sealed", spy_on_read)
        case = Case(rooms)
        case.predicate["value"] = value
        break_(case)
        assert await case.code() == code
        assert opened == []
        # Else the spies would see nothing ever.
        good = Case(rooms)
        good.predicate["value"] = value
        assert await good.code() == ("proven" if value == 18 else NOT_SATISFIED)
        assert opened[0] == "opened"

    run(tmp_path, story)
