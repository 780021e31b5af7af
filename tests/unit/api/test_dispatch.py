import copy
from collections.abc import Awaitable, Callable

import pytest

from identity_core.api.request import Answer, Request
from tests.toy_document import DOCUMENT, KEY, ToyHandlers, ask, build_toy

DID_PATH = "/api/v1/dids/did:toy:a"


def test_a_request_runs_through() -> None:
    handlers = ToyHandlers()
    reply = ask(build_toy(handlers), target=DID_PATH + "?versionId=3")
    assert reply.json == {"path": {"did": "did:toy:a"}, "query": {"version_id": 3}, "body": None}
    assert reply.headers["content-type"] == "application/json"
    assert reply.headers["content-length"] == str(len(reply.body))
    assert reply.headers["ratelimit"] == '"key";r=1;t=1'
    (request,) = handlers.calls
    assert (request.operation_id, request.caller) == ("resolveDid", None)


def test_the_gate_is_asked_before_query_and_body_are_looked_at() -> None:
    app = build_toy()
    for headers, status in (([], 401), ([("x-api-key", KEY)], 400), ([("x-api-key", "flood")], 429)):
        assert ask(app, target="/api/v1/dids?limit=x", headers=headers).status == status


def test_refusals_of_the_gate() -> None:
    app = build_toy()
    unknown = ask(app, target="/api/v1/dids")
    assert (unknown.error["code"], unknown.headers["www-authenticate"]) == ("AUTH_REQUIRED", 'ApiKey realm="identity"')
    wrong = ask(app, target="/api/v1/dids", headers=[("x-api-key", "wrong")])
    assert (wrong.error["code"], wrong.headers["www-authenticate"]) == ("AUTH_FAILED", 'ApiKey realm="identity"')
    limited = ask(app, target=DID_PATH, headers=[("x-api-key", "flood")])
    assert (limited.status, limited.headers["retry-after"]) == (429, "2")
    assert "ratelimit" in limited.headers
    assert ask(app, "DELETE", DID_PATH).headers["www-authenticate"] == 'DIDAuth realm="identity"'


def test_head_is_get_without_a_body() -> None:
    app = build_toy()
    get, head = ask(app, target=DID_PATH), ask(app, "HEAD", DID_PATH)
    assert head.status == 200
    assert head.body == b""
    assert {**head.headers, "x-request-id": ""} == {**get.headers, "x-request-id": ""}
    missing = ask(app, "HEAD", DID_PATH + "missing")
    assert (missing.status, missing.body) == (404, b"")


@pytest.mark.parametrize(
    ("target", "allow"),
    [
        (DID_PATH, "DELETE, GET, HEAD, OPTIONS"),
        ("/api/v1/dids", "GET, HEAD, OPTIONS, POST"),
        ("/health", "GET, HEAD, OPTIONS"),
        ("/openapi.json", "GET, HEAD, OPTIONS"),
    ],
)
def test_allow_names_all_methods(target: str, allow: str) -> None:
    app = build_toy()
    options = ask(app, "OPTIONS", target)
    assert (options.status, options.body, options.headers["allow"]) == (204, b"", allow)
    assert "content-length" not in options.headers
    assert "content-type" not in options.headers
    for method in ("PUT", "TRACE", "CONNECT", "BREW", "get"):
        refused = ask(app, method, target)
        assert (refused.status, refused.error["code"], refused.headers["allow"]) == (405, "METHOD_NOT_ALLOWED", allow)


@pytest.mark.parametrize("target", ["/", "/api/v1", "/api/v1/", "/api/v1/dids/", "/api/v2/dids", "/dids", "/health/"])
def test_unknown_paths(target: str) -> None:
    for method in ("GET", "POST", "OPTIONS"):
        reply = ask(build_toy(), method, target)
        assert (reply.status, reply.error["code"]) == (404, "NOT_FOUND")


def test_a_did_that_is_none() -> None:
    for target in ("/api/v1/dids/%ff", "/api/v1/dids/%00", "/api/v1/dids/a%2Fb", "/api/v1/dids/did:toy:a%0a"):
        assert ask(build_toy(), target=target).error["code"] == "INVALID_DID"


def test_other_path_parameters_fit_their_schema() -> None:
    app = build_toy()
    assert ask(app, target="/api/v1/keys/ab1").json["path"] == {"keyId": "ab1"}
    assert ask(app, target="/api/v1/keys/A").error["details"]["parameter"] == "keyId"


def test_an_alias_is_the_operation() -> None:
    observed: list[tuple[str, int]] = []
    assert ask(build_toy(observed=observed), target="/health").json == {"status": "ok"}
    assert observed == [("getHealth", 200)]


def test_answers_of_every_kind() -> None:
    class Kinds(ToyHandlers):
        async def resolve_did(self, request: Request) -> Answer:
            kinds = {
                "bytes": Answer(200, b"{}", "application/did+json", [("ETag", '"1"')]),
                "unchanged": Answer(304, b"", headers=[("ETag", '"1"'), ("Vary", "Accept")]),
                "empty": Answer(204),
                "array": Answer(200, [1]),
                "null": Answer(200),
            }
            return kinds[request.path["did"]]

    app = build_toy(Kinds())
    data = ask(app, target="/api/v1/dids/bytes")
    assert (data.headers["content-type"], data.headers["etag"], data.body) == (
        "application/did+json",
        '"1"',
        b"{}",
    )
    unchanged = ask(app, target="/api/v1/dids/unchanged")
    assert (unchanged.status, unchanged.body, unchanged.headers["vary"]) == (304, b"", "Accept")
    assert not {"content-type", "content-length"} & set(unchanged.headers)
    assert "content-length" not in ask(app, target="/api/v1/dids/empty").headers
    assert ask(app, target="/api/v1/dids/array").json == [1]
    assert ask(app, target="/api/v1/dids/null").headers["content-length"] == "0"


def test_a_shared_answer_is_not_changed_by_being_sent() -> None:
    shared = Answer(200, b"{}", headers=[("ETag", '"1"')])

    class Shared(ToyHandlers):
        async def resolve_did(self, request: Request) -> Answer:
            return shared

    app = build_toy(Shared())
    first, second = ask(app, target=DID_PATH), ask(app, target=DID_PATH)
    assert len(first.raw_headers) == len(second.raw_headers)
    assert first.headers["x-request-id"] != second.headers["x-request-id"]


def test_around_stands_around_what_takes_a_key() -> None:
    seen: list[str] = []

    async def around(request: Request, run: Callable[[], Awaitable[Answer]]) -> Answer:
        seen.append(request.operation_id)
        answer = await run()
        return Answer(answer.status, answer.body, headers=[*answer.headers, ("Idempotent-Replayed", "true")])

    app = build_toy(around=around)
    headers = [("x-api-key", KEY), ("content-type", "application/json")]
    body = b'{"method":"toy"}'
    plain = ask(app, "POST", "/api/v1/dids", headers=headers, body=body)
    keyed = ask(app, "POST", "/api/v1/dids", headers=[*headers, ("idempotency-key", "k")], body=body)
    ask(app, target=DID_PATH, headers=[("idempotency-key", "k")])
    assert "idempotent-replayed" not in plain.headers
    assert keyed.headers["idempotent-replayed"] == "true"
    assert seen == ["createDid"]


def test_a_broken_document_stops_the_start() -> None:
    from connexion.exceptions import InvalidSpecification

    document = copy.deepcopy(DOCUMENT)
    del document["info"]["title"]
    with pytest.raises(InvalidSpecification):
        build_toy(document=document)


def test_references_to_parameters_and_bodies() -> None:
    document = copy.deepcopy(DOCUMENT)
    create, resolve = document["paths"]["/dids"]["post"], document["paths"]["/dids/{did}"]["get"]
    document["components"]["requestBodies"] = {"Create": create["requestBody"]}
    document["components"]["parameters"] = {"Did": resolve["parameters"][0], "Version": resolve["parameters"][1]}
    create["requestBody"] = {"$ref": "#/components/requestBodies/Create"}
    resolve["parameters"][0] = {"$ref": "#/components/parameters/Did"}
    resolve["parameters"][1] = {"$ref": "#/components/parameters/Version"}
    app = build_toy(document=document)
    assert ask(app, target=DID_PATH + "?versionId=2").json["query"] == {"version_id": 2}
    headers = [("x-api-key", KEY), ("content-type", "application/json")]
    assert ask(app, "POST", "/api/v1/dids", headers=headers, body=b"{}").status == 400
