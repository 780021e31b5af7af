"""``identity_client.Client``: its README, a life of a DID, and the answers of a server that means harm."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from identity_commands.local_server import LocalServer

import identity_client
from identity_client import AsyncClient, CallLimits, Client, ServiceError, ServiceUnreachable, Signer
from identity_codec.values import replace
from identity_core.domain.dids import keys
from tests.client import hostile_service
from tests.client.hostile_service import CASES, DID, ELSEWHERE, MOST_OCTETS, MOST_PAGES, Case, Hostile
from tests.servers import local_server

ROOT = Path(__file__).parents[2]
LIMITS = CallLimits(max_answer_octets=MOST_OCTETS, max_pages=MOST_PAGES)
SIGNER = Signer(DID, keys.generate("Ed25519", os.urandom).secret)


@pytest.fixture(scope="module")
def served() -> Iterator[LocalServer]:
    with local_server() as server:
        yield server


@pytest.fixture(scope="module")
def hostile() -> Iterator[Hostile]:
    with hostile_service.hostile_service() as server:
        yield server


@pytest.fixture(scope="module")
def first_screen(served: LocalServer) -> dict[str, Any]:
    return run_first_screen(served)


def run_first_screen(served: LocalServer) -> dict[str, Any]:
    """Return the variables and the output (``printed``) of the README's program, with this address and key."""
    text = (ROOT / "packages" / "identity_client" / "README.md").read_text("utf-8")
    program = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0]
    assert program.count("http://127.0.0.1:8080") == program.count("idk_…") == 1
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(program.replace("http://127.0.0.1:8080", served.url).replace("idk_…", served.api_key), names)
    return names | {"printed": printed.getvalue(), "lines": program.strip().splitlines()}


def test_the_readme_proves_something_in_15_lines(first_screen: dict[str, Any]) -> None:
    """Imports are not counted."""
    assert first_screen["printed"] == "True\n"
    assert sum(bool(line) and not line.startswith(("import ", "from ")) for line in first_screen["lines"]) <= 15


def test_the_project_readme_example_ends_with_valid(first_screen: dict[str, Any], served: LocalServer) -> None:
    """The example continues the program of the client's README: the same parties, a new challenge."""
    (program,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert program.count("http://127.0.0.1:8080") == program.count("idk_…") == 1
    names = first_screen | {"challenge": "order 4711 of today"}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(program.replace("http://127.0.0.1:8080", served.url).replace("idk_…", served.api_key), names)
    assert printed.getvalue() == "valid\n"


def test_loose_expectation_is_refused(first_screen: dict[str, Any]) -> None:
    """A proof that was not compared with a challenge could be a replay."""
    proof, loose = first_screen["proof"], replace(first_screen["expect"], challenge=None)
    with pytest.raises(ValueError, match="replay: expect challenge"):
        first_screen["client"].verify(proof, expect=loose)
    loose = replace(loose, allow_unbound=True)
    for one in (proof, proof["proof"], proof["proof"]["proof"]):
        assert first_screen["client"].verify(one, expect=loose)["verdict"] == "unbound"


def test_proof_of_the_readme_is_verified_offline(first_screen: dict[str, Any], served: LocalServer) -> None:
    """By the rules of the service: the answers are equal but for what only the service knows."""
    log = first_screen["client"].call("getDidLog", did=first_screen["ivo"]["did"])
    proof, expect = first_screen["proof"], first_screen["expect"]
    for one in (proof, proof["proof"], proof["proof"]["proof"]):
        assert identity_client.verify(one, expect=expect, logs=[log])["verdict"] == "valid"
    other = replace(expect, challenge="another challenge")
    with Client(served.url) as anyone:
        for asked in (expect, other):
            answer, found = anyone.verify(proof, expect=asked), identity_client.verify(proof, expect=asked, logs=[log])
            known = [one for one in answer["checks"] if one["check"] != "schemaHeader"]
            unchecked = [*answer["unchecked"], "schemaHeader"]
            assert found == answer | {"checks": known, "unchecked": unchecked}
    assert found["verdict"] == "invalid"
    found = identity_client.verify(proof, expect=expect)
    assert (found["verdict"], found["errors"]) == ("invalid", ["ISSUER_UNAVAILABLE"])


def test_offline_verification_is_strict(first_screen: dict[str, Any]) -> None:
    proof, expect = first_screen["proof"], first_screen["expect"]
    log = first_screen["client"].call("getDidLog", did=first_screen["ivo"]["did"])
    with pytest.raises(ValueError, match="replay: expect challenge"):
        identity_client.verify(proof, expect=replace(expect, challenge=None), logs=[log])
    loose = replace(expect, challenge=None, allow_unbound=True)
    assert identity_client.verify(proof, expect=loose, logs=[log])["verdict"] == "unbound"
    broken = log.replace("versionTime", "versiontime", 1)
    for wrong in (
        {"logs": [broken]},
        {"expect": replace(expect, challenge="short")},
        {"expect": replace(expect, max_age=-1)},
    ):
        with pytest.raises(ValueError, match=r"members of an entry|16 to 256 bytes|>= 0"):
            identity_client.verify(proof, **({"expect": expect, "logs": [log]} | wrong))


def test_log_is_verified_by_the_client(first_screen: dict[str, Any]) -> None:
    log = first_screen["client"].call("getDidLog", did=first_screen["ivo"]["did"])
    found = identity_client.verify_log(log)
    assert (found.did, found.deactivated) == (first_screen["ivo"]["did"], False)
    assert list(found.update_keys) == json.loads(log.splitlines()[-1])["parameters"]["updateKeys"]
    assert identity_client.verify_log(log.encode()) == found
    with pytest.raises(ValueError, match="of the future"):
        identity_client.verify_log(log, now=datetime(2020, 1, 1, tzinfo=UTC))


def test_missing_verifier_has_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: ())
    with pytest.raises(ModuleNotFoundError, match=r"in the checkout, pip install \. \./packages/\*/ \./plugins/\*/$"):
        identity_client.verify("x", expect=identity_client.Expectation(allow_unbound=True))


def test_old_name_of_the_client_warns() -> None:
    with pytest.warns(DeprecationWarning, match="use Client"):
        assert identity_client.Identity is Client


def test_a_served_list_tells_whether_a_credential_is_revoked(served: LocalServer) -> None:
    """The key is one that may continue the issuer's log. The credential is of this test alone, which revokes it."""
    first_screen = run_first_screen(served)
    identity, credential = first_screen["client"], first_screen["credential"]
    hers = identity.as_(first_screen["hana"])
    log = identity.call("getDidLog", did=first_screen["ivo"]["did"])
    keys = identity_client.verify_log(log).update_keys

    shown = hers.call("getCredential", credential_id=credential["id"])["credential"]["credentialStatus"]
    entries = {one["statusPurpose"]: one for one in shown if one["type"] == "BitstringStatusListEntry"}

    def read_statuses() -> dict[str, bool]:
        names = {purpose: one["statusListCredential"].rpartition("/")[2] for purpose, one in entries.items()}
        lists = {purpose: identity.call("getStatusList", status_list_id=name) for purpose, name in names.items()}
        return {purpose: identity_client.read_status(lists[purpose], one, keys) for purpose, one in entries.items()}

    assert read_statuses() == {"revocation": False, "suspension": False}
    identity.call("setCredentialStatus", {"purpose": "suspension", "value": True}, credential_id=credential["id"])
    assert read_statuses() == {"revocation": False, "suspension": True}
    identity.call("setCredentialStatus", {"purpose": "revocation", "value": True}, credential_id=credential["id"])
    assert read_statuses()["revocation"] is True


def service(name: str) -> dict[str, Any]:
    endpoint = {"id": name, "type": "LinkedDomains", "serviceEndpoint": "https://hana.example/"}
    return {"operation": "addService", "service": endpoint}


def test_a_did_lives(served: LocalServer) -> None:
    with Client(served.url, served.api_key) as identity:
        created = identity.call("createDid", {"method": "ids", "options": {"recoveryKey": True}})
        did, hana = created["did"], identity.as_(Signer.from_keys(created))
        assert hana.call("updateDid", service("files"), did=did, if_match='"1"')["versionId"] == 2
        with pytest.raises(ServiceError, match="VERSION_CONFLICT"):
            hana.call("updateDid", service("notes"), did=did, if_match='"1"')
        with pytest.raises(ServiceError, match="AUTH_REQUIRED"):
            identity.call("updateDid", service("notes"), did=did)
        resolved = identity.call("resolveIdentifier", identifier=did, version_id=2)
        assert resolved["didDocumentMetadata"]["versionId"] == "2"
        spare = identity.call("createDid", {"method": "ids"})["keys"]["authentication"]
        key = {"type": "Ed25519VerificationKey2020", "publicKeyMultibase": spare["publicKey"]}
        recovery = identity.as_(Signer.from_keys(created, "recovery"))
        recovery.call("recoverDid", {"newAuthenticationKey": key, "revokeAllExistingKeys": True}, did=did)
        assert len(list(identity.each("listDidHistory", did=did, limit=1))) == 3
        assert len(list(identity.each("listDidHistory", did=did, limit=1, include_document=True))) == 3
        identity.as_(Signer(did, spare["privateKey"])).call("deactivateDid", {"confirm": True, "reason": "☂"}, did=did)
        found = identity_client.verify_log(identity.call("getDidLog", did=did))
        assert (found.did, found.versions, found.deactivated) == (did, 4, True)


@pytest.mark.parametrize(
    ("options", "expected"), [({}, True), ({"strictEvidence": False}, None), ({"strictEvidence": True}, True)]
)
def test_create_prefers_strict_evidence(served: LocalServer, options: dict[str, Any], expected: bool | None) -> None:
    """A plain signature for any use lets the holder of the log key record any change, unless the DID has ``strictEvidence``."""
    with Client(served.url, served.api_key) as identity:
        did = identity.call("createDid", {"method": "ids", "options": options})["did"]
        first = json.loads(identity.call("getDidLog", did=did).splitlines()[0])
        assert first["parameters"]["change"].get("strictEvidence") is expected


def test_create_sends_request_as_to_method_without_evidence(served: LocalServer) -> None:
    """The retry under the same Idempotency-Key gets the DID that the first one made."""
    with Client(served.url, served.api_key) as identity:
        key = {"type": "Ed25519VerificationKey2020", "publicKeyMultibase": keys.generate("Ed25519", os.urandom).public}
        body: dict[str, Any] = {"method": "key", "options": {"publicKeys": [key | {"purpose": ["authentication"]}]}}
        made = [identity.call("createDid", body, idempotency_key="one-of-mine")["did"] for _ in range(2)]
        assert made == [f"did:key:{key['publicKeyMultibase']}"] * 2
        with pytest.raises(ServiceError, match="INVALID_DOCUMENT"):
            identity.call("createDid", body | {"options": body["options"] | {"strictEvidence": True}})


@pytest.mark.parametrize(
    ("operation", "parameters", "error"),
    [
        ("resolveNobody", {}, KeyError),
        ("resolveDid", {}, TypeError),
        ("resolveDid", {"did": "x", "versionId": 1}, TypeError),
    ],
)
def test_missing_part_is_not_requested(operation: str, parameters: dict[str, Any], error: type[Exception]) -> None:
    with Client("http://127.0.0.1:1") as identity, pytest.raises(error):
        identity.call(operation, **parameters)


def test_hooks_see_each_request_and_each_answer() -> None:
    """Hooks also see retries and requests for challenges; a header that a hook adds arrives."""
    sent, came = list[str](), list[int]()

    def on_request(request: httpx.Request) -> None:
        sent.append(request.url.path.partition("/api/v1")[2])
        request.headers["traceparent"] = f"number {len(sent)}"

    hooks: dict[str, Any] = {"on_request": on_request, "on_response": lambda answer: came.append(answer.status_code)}
    again, challenged = "limited and then not", "a challenge for any body"
    with hostile_service.hostile_service() as server:
        with Client(server.build_url(again), wait=lambda _: None, **hooks) as identity:
            assert identity.call("getHealth") == {"status": "ok"}
        with Client(server.build_url(challenged), signer=SIGNER, **hooks) as identity, pytest.raises(ValueError):
            identity.call("updateDid", CASES[challenged].given["body"], did=DID)
        requests = [*server.requests[hostile_service.place(again)], *server.requests[hostile_service.place(challenged)]]
    assert (sent, came) == (["/health"] * 3 + ["/auth/challenge"], [429, 429, 200, 200])
    assert [b"traceparent: number %d\r\n" % (number + 1) in each for number, each in enumerate(requests)] == [True] * 4


def test_error_of_a_hook_ends_the_call(hostile: Hostile) -> None:
    def refuse(_: httpx.Request) -> None:
        raise PermissionError("not from here")

    with Client(hostile.build_url("hook"), on_request=refuse) as identity, pytest.raises(PermissionError):
        identity.call("getHealth")
    assert hostile.requests["hook"] == []


def run(case: Case, url: str, waited: list[float], *, is_async: bool = False) -> Any:
    if is_async:
        return asyncio.run(run_async(case, url, waited))
    with Client(url, "secret", limits=LIMITS, wait=waited.append) as identity:
        caller = identity.as_(SIGNER) if case.signed else identity
        given = dict(case.given)
        if case.paged:
            return list(caller.each(case.operation, **given))
        return caller.call(case.operation, given.pop("body", None), **given)


async def run_async(case: Case, url: str, waited: list[float]) -> Any:
    async def wait(seconds: float) -> None:
        waited.append(seconds)

    async with AsyncClient(url, "secret", limits=LIMITS, wait=wait) as identity:
        caller = identity.as_(SIGNER) if case.signed else identity
        given = dict(case.given)
        if case.paged:
            return [item async for item in caller.each(case.operation, **given)]
        return await caller.call(case.operation, given.pop("body", None), **given)


@pytest.mark.parametrize("is_async", [False, True], ids=["Client", "AsyncClient"])
@pytest.mark.parametrize("name", CASES)
def test_a_hostile_answer(hostile: Hostile, name: str, is_async: bool) -> None:
    case, code, waited = CASES[name], None, list[float]()
    hostile.requests.pop(hostile_service.place(name), None)
    try:
        run(case, hostile.build_url(name), waited, is_async=is_async)
    except ServiceError as error:
        code = error.code
    except ServiceUnreachable:
        code = "UNREACHABLE"
    except ValueError:
        code = "REFUSED"
    assert code == case.code
    requests = hostile.requests[hostile_service.place(name)]
    assert len(requests) == case.requests
    tags = [line for each in requests for line in each.lower().split(b"\r\n") if line.startswith(b"idempotency-key")]
    assert len(tags) == (case.requests if case.operation == "createDid" else 0)
    assert len(set(tags)) <= 1, "one change has one key"
    assert waited == [] or case.requests > 1


def test_how_long_to_wait_is_told_and_done(hostile: Hostile) -> None:
    name = "told to wait for days"
    with pytest.raises(ServiceError) as caught:
        run(CASES[name], hostile.build_url(name), [])
    assert caught.value.retry_after_seconds == 999_999
    waited: list[float] = []
    with pytest.raises(ServiceError):
        run(Case("getHealth", (), None, 0), hostile.build_url(hostile_service.PATIENT), waited)
    assert waited == [30.0, 30.0]


def test_no_one_is_led_elsewhere(hostile: Hostile) -> None:
    with pytest.raises(ServiceError, match="302 UNREADABLE"):
        run(Case("getHealth", (), None, 0), hostile.build_url(ELSEWHERE), [])
    assert hostile.requests["caught"] == []


def test_async_client_has_the_jobs_of_the_client(served: LocalServer) -> None:
    """Two calls at once over one client, signed ones, and the pages of a history."""

    async def story() -> list[Any]:
        async with AsyncClient(served.url, api_key=served.api_key) as identity:
            made = await asyncio.gather(*(identity.call("createDid", {"method": "ids"}) for _ in range(2)))
            signer = Signer.from_keys(made[0])
            await identity.as_(signer).call("updateDid", service("#one"), did=signer.did)
            terms = {"actions": ["zkp.prove.age.gte.18"], "autonomy_level": 2, "expires_at": "2099-01-01T00:00:00Z"}
            with pytest.raises(ServiceError, match="90 days ahead"):
                await identity.delegate(signer, agent_did=made[1]["did"], **terms)
            expires = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
            await identity.delegate(signer, agent_did=made[1]["did"], **terms | {"expires_at": expires})
            return [item["operation"] async for item in identity.each("listDidHistory", did=signer.did, limit=1)]

    assert asyncio.run(story()) == ["create", "update"]


def test_an_octet_now_and_then_is_no_answer(hostile: Hostile) -> None:
    limits = CallLimits(retries=0, timeout_seconds=0.3)
    with (
        Client(hostile.build_url(hostile_service.DRIPPING), limits=limits) as identity,
        pytest.raises(ServiceUnreachable),
    ):
        identity.call("getHealth")
