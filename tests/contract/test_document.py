"""The document's own rules: it is fresh, valid OpenAPI 3.0, and every word of it is used, named and shown by an example."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from connexion.exceptions import InvalidSpecification
from identity_commands import verify_log as verifier
from jsonschema_rs import Draft202012Validator
from openapi_spec_validator import OpenAPIV30SpecValidator

from identity_codec.structs import Types, python_name
from identity_core import errors, wire
from identity_core.api.contract import dereference
from identity_core.api.schemas import Schemas
from openapi import build
from tests.reference import DOCUMENT

SCHEMES = {"BearerAuth", "ApiKeyHeader", "ApiKeyAuth", "DidAuth", "RecoveryKeyAuth"}

Json = dict[str, Any]


@pytest.fixture(scope="module")
def document() -> Json:
    return build.bundle(*build.extensions().values())


def operations(document: Json) -> Iterator[tuple[str, Json]]:
    """(METHOD path, operation object)."""
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield f"{method.upper()} {path}", operation


def references(part: Any) -> Iterator[str]:
    """Every ``$ref`` in ``part``."""
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"]
        for value in part.values():
            yield from references(value)
    elif isinstance(part, list):
        for value in part:
            yield from references(value)


def contents(document: Json) -> Iterator[tuple[str, str, Json]]:
    """(where, media type, media object) of every body of a request or an answer."""
    for where, operation in operations(document):
        for media, content in operation.get("requestBody", {}).get("content", {}).items():
            yield f"{where} request", media, content
        for status, reference in operation["responses"].items():
            for media, content in dereference(document, reference).get("content", {}).items():
                yield f"{where} {status}", media, content


def test_the_generated_files_are_fresh() -> None:
    for path, data in build.outputs().items():
        assert path.read_bytes() == data, f"{path.name} is not fresh: run python -m openapi.build"


def test_the_wire_types_are_those_of_the_bundle() -> None:
    assert set(orjson.loads(build.BUNDLE.read_bytes())["components"]["schemas"]) <= set(vars(wire))


def test_it_is_valid_openapi_3_0(document: Json) -> None:
    assert document["openapi"] == "3.0.3"
    assert document["info"]["version"] == "1.0.0"
    assert document["servers"] == [{"url": "/api/v1"}]
    assert [error.message for error in OpenAPIV30SpecValidator(document).iter_errors()] == []


def test_no_name_of_a_host_travels_with_it(document: Json) -> None:
    hosts = set(re.findall(r"https?://([^/\s\"]+)", json.dumps(document)))
    known = {"www.apache.org", "www.w3.org", "w3id.org", "didcomm.org", "identity.foundation"}
    assert {host for host in hosts if not host.endswith(".example")} == known


def test_operation_ids_are_camel_case_and_unique(document: Json) -> None:
    names = Counter(operation["operationId"] for _, operation in operations(document))
    assert [name for name, count in names.items() if count > 1] == []
    assert [name for name in names if re.fullmatch(r"[a-z]+([A-Z][a-z]+)+", name) is None] == []


def test_each_operation_has_one_declared_tag(document: Json) -> None:
    declared = {tag["name"] for tag in document["tags"]}
    for where, operation in operations(document):
        assert len(operation["tags"]) == 1, where
        assert set(operation["tags"]) <= declared, where
        assert operation["summary"], where
        assert operation["description"], where
    assert {tag for _, operation in operations(document) for tag in operation["tags"]} == declared


def test_parameters_belong_to_operations(document: Json) -> None:
    for path, item in document["paths"].items():
        assert set(item) <= {"get", "post", "put", "patch", "delete"}, path


def test_no_two_signed_operations_share_path_and_purpose(document: Json) -> None:
    """A challenge that is bound to purpose and target names no method, so these two must name the operation."""
    signed = [
        (path, operation["x-challenge-purpose"])
        for path, item in document["paths"].items()
        for operation in item.values()
        if "x-challenge-purpose" in operation
    ]
    assert len(signed) > 30
    assert len(signed) == len(set(signed))


def test_did_parameter_is_plain_string(document: Json) -> None:
    places = [
        dereference(document, parameter)
        for _, operation in operations(document)
        for parameter in operation.get("parameters", [])
    ]
    dids = [place for place in places if place["name"] == "did"]
    assert len(dids) >= 8
    assert all(place["schema"] == {"type": "string"} for place in dids)


def test_every_operation_names_known_schemes_one_at_a_time(document: Json) -> None:
    declared = document["components"]["securitySchemes"]
    assert set(declared) == SCHEMES
    for scheme in declared.values():
        assert (scheme["type"], scheme["in"]) == ("apiKey", "header")
    for where, operation in operations(document):
        # An empty requirement lets strangers in beside those whom the others name.
        assert operation["security"] != [{}], where
        for requirement in operation["security"]:
            assert len(requirement) <= 1, where
            assert set(requirement) <= SCHEMES, where


def test_every_component_is_used(document: Json) -> None:
    used = set(references(document))
    kinds = set(document["components"]) - {"securitySchemes"}
    idle = [
        f"#/components/{kind}/{name}"
        for kind in kinds
        for name in document["components"][kind]
        if f"#/components/{kind}/{name}" not in used
    ]
    assert idle == []


def test_every_reference_leads_somewhere(document: Json) -> None:
    for reference in set(references(document)):
        assert reference.startswith("#/components/"), reference
        dereference(document, {"$ref": reference})


def test_every_object_has_a_name(document: Json) -> None:
    """Generators invent names for inline objects, and no two invent the same."""

    def inline(schema: Any, where: str) -> Iterator[str]:
        for name, member in schema.get("properties", {}).items():
            if "properties" in member:
                yield f"{where}.{name}"
            yield from inline(member, f"{where}.{name}")
        if "items" in schema:
            if "properties" in schema["items"]:
                yield f"{where}[]"
            yield from inline(schema["items"], f"{where}[]")

    found = [each for name, schema in document["components"]["schemas"].items() for each in inline(schema, name)]
    for where, _, content in contents(document):
        schema = content["schema"]
        if "$ref" not in schema and schema not in ({"type": "string"}, {"type": "string", "format": "binary"}):
            found.append(where)
    assert found == []


def test_every_member_says_what_it_is(document: Json) -> None:
    """In its own words, or in those of the schema that it refers to: OpenAPI 3.0 ignores what stands beside a ``$ref``."""
    silent, asked = [], 0
    for name, schema in document["components"]["schemas"].items():
        for member, one in schema.get("properties", {}).items():
            said = dereference(document, one).get("description")
            if not isinstance(said, str) or not said.strip():
                silent.append(f"{name}.{member}")
            asked += 1
    assert silent == []
    assert asked > 800


def test_requests_refuse_unknown_members(document: Json) -> None:
    def closed(schema: Any, seen: set[str]) -> Iterator[str]:
        for reference in references(schema):
            name = reference.rpartition("/")[2]
            if name not in seen:
                seen.add(name)
                target = dereference(document, {"$ref": reference})
                # The rules of documents tell what is unknown in one.
                # A map by name has members of one closed type each.
                is_open = target.get("additionalProperties") is not False and name not in (
                    "RegistrationDocument",
                    "SigningResponses",
                )
                if target.get("type") == "object" and is_open:
                    yield name
                yield from closed(target, seen)

    bodies = [operation["requestBody"] for _, operation in operations(document) if "requestBody" in operation]
    assert [name for body in bodies for name in closed(body, set())] == []


# A bad DID is INVALID_DID, whatever is wrong with it; the request line has at most 8 KiB.
WITHOUT_A_BOUND = {"did"}


def unbounded(document: Json, schema: Json, where: str, seen: set[str]) -> Iterator[str]:
    """Each string, array and map that ``schema`` reaches and that may be as long as it likes.

    What has no type may be any of them. What stands inside of it is bounded by the number of values of a body.
    """
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name not in seen:
            seen.add(name)
            yield from unbounded(document, dereference(document, schema), name, seen)
        return
    wanted = {
        "string": {"maxLength"},
        "array": {"maxItems"},
        "object": set() if schema.get("additionalProperties") is False else {"maxProperties"},
        None: {"maxLength", "maxItems", "maxProperties"},
    }.get(schema.get("type"), set())
    if "enum" not in schema:
        yield from (f"{where}: {missing}" for missing in sorted(wanted - schema.keys()))
    inner = dict(schema.get("properties", {}))
    if schema.get("type") == "array":
        inner["[]"] = schema["items"]
    if wanted == {"maxProperties"}:
        more = schema.get("additionalProperties", True)
        inner["*"] = more if isinstance(more, dict) else {}
    for name, member in inner.items():
        yield from unbounded(document, member, f"{where}.{name}", seen)


def test_everything_that_a_request_may_bring_is_bounded(document: Json) -> None:
    """Generously: the strict rules are the domain's."""
    found: list[str] = []
    seen: set[str] = set()
    for where, operation in operations(document):
        for reference in operation.get("parameters", []):
            parameter = dereference(document, reference)
            if parameter["name"] not in WITHOUT_A_BOUND:
                found += unbounded(document, parameter["schema"], f"{where} {parameter['name']}", seen)
        for content in operation.get("requestBody", {}).get("content", {}).values():
            found += unbounded(document, content["schema"], where, seen)
    assert found == []


@pytest.mark.parametrize(
    ("schema", "missing"),
    [
        ({"type": "string"}, ["x: maxLength"]),
        ({"type": "string", "format": "date-time"}, ["x: maxLength"]),
        ({"type": "string", "pattern": "^a{3}$"}, ["x: maxLength"]),
        ({"type": "string", "enum": ["a"]}, []),
        ({"type": "array", "maxItems": 2, "items": {"type": "string"}}, ["x.[]: maxLength"]),
        ({"type": "array", "items": {"type": "integer"}}, ["x: maxItems"]),
        ({"type": "object", "additionalProperties": False, "properties": {"a": {}}}, [
            "x.a: maxItems", "x.a: maxLength", "x.a: maxProperties"
        ]),
        ({"type": "object", "maxProperties": 2}, ["x.*: maxItems", "x.*: maxLength", "x.*: maxProperties"]),
        ({"type": "object", "additionalProperties": {"type": "boolean"}}, ["x: maxProperties"]),
        ({"$ref": "#/components/schemas/ErrorResponse"}, ["ErrorResponse: maxProperties"]),
    ],
)  # fmt: skip
def test_the_search_finds_what_is_unbounded(document: Json, schema: Json, missing: list[str]) -> None:
    found = list(unbounded(document, schema, "x", set()))
    assert found[: len(missing)] == missing
    assert bool(found) == bool(missing)


def test_only_what_generators_understand(document: Json) -> None:
    """No unions and no discriminators; a null only beside a type (elsewhere OpenAPI 3.0.3 gives the word no meaning); no
    defaults but those of the specification, because nothing fills them in on the way."""

    def strange(part: Any, where: str) -> Iterator[str]:
        if isinstance(part, dict):
            if {"oneOf", "anyOf", "not", "discriminator", "const", "default"} & part.keys() and not where.endswith(
                ("/anchor", "/syncWaitMs")
            ):
                yield where
            if "nullable" in part and ("type" not in part or "allOf" in part):
                yield where
            for name, value in part.items():
                yield from strange(value, f"{where}/{name}")
        elif isinstance(part, list):
            for value in part:
                yield from strange(value, where)

    assert list(strange(document["components"]["schemas"], "")) == []


def test_no_path_parameter_has_a_control_character(document: Json) -> None:
    """But for a DID, see above."""
    found = {}
    for path, item in document["paths"].items():
        listed = [
            one for part in (item, *item.values()) if isinstance(part, dict) for one in part.get("parameters", [])
        ]
        for parameter in (dereference(document, one) for one in listed):
            if parameter["in"] == "path" and parameter["name"] != "did":
                found[path, parameter["name"]] = re.compile(dereference(document, parameter["schema"])["pattern"])
    assert len(found) > 20
    for place, pattern in found.items():
        assert not any(pattern.fullmatch(f"a{character}b") for character in "\x00\t\n\r\x1f\x7f"), place


def test_no_integer_is_larger_than_every_reader_holds(document: Json) -> None:
    """2^53 - 1: beyond it readers that keep numbers as IEEE 754 doubles round (RFC 8259 §6)."""

    def bounds(part: Any) -> Iterator[Any]:
        if isinstance(part, dict):
            if part.get("format") == "int64":
                yield part.get("maximum")
            part = [*part.values()]
        for inner in part if isinstance(part, list) else ():
            yield from bounds(inner)

    found = list(bounds(document))
    assert len(found) > 50
    assert all(bound is not None and bound <= 9_007_199_254_740_991 for bound in found), found


def test_names_are_told_apart_in_every_language(document: Json) -> None:
    """Constants and constructors share one scope in Go (``NewThing`` makes a ``Thing``), and Python's generated readers have a typed
    variable for each member that is an object beside one for the whole."""
    schemas = document["components"]["schemas"]
    enumerations = {name: schema for name, schema in schemas.items() if "enum" in schema}
    assert {name: len(schema["enum"]) for name, schema in enumerations.items()} == {
        name: len(schema["x-enum-varnames"]) for name, schema in enumerations.items()
    }
    members = Counter(name for schema in enumerations.values() for name in schema["x-enum-varnames"])
    assert {
        name: count for name, count in members.items() if count > 1 or not re.fullmatch("[A-Z][A-Z0-9_]*", name)
    } == {}
    assert [name for name in schemas if f"New{name}" in schemas] == []
    parts = {
        name: [member for member, part in schema.get("properties", {}).items() if "$ref" in part]
        for name, schema in schemas.items()
    }
    assert [name for name, members in parts.items() if python_name(name) in map(python_name, members)] == []


def test_the_wire_types_refuse_what_they_cannot_say() -> None:
    with pytest.raises(ValueError, match="oneOf"):
        Types({"components": {"schemas": {"Thing": {"oneOf": [{"type": "string"}]}}}})


# Errors


def test_every_refusal_names_its_codes_and_has_example_of_each(document: Json) -> None:
    catalogue = document[build.CATALOGUE]
    for where, operation in operations(document):
        for status, reference in operation["responses"].items():
            response = dereference(document, reference)
            if status < "4":
                assert "x-error-codes" not in response, where
                continue
            for code in response["x-error-codes"]:
                assert str(catalogue[code]["status"]) == status, f"{where} {code}"
                assert f"`{code}`" in response["description"], f"{where} {code}"
            shown = {
                dereference(document, example)["value"]["error"]["code"]
                for content in response["content"].values()
                for example in content["examples"].values()
                if "error" in dereference(document, example)["value"]
            }
            assert shown == set(response["x-error-codes"]), f"{where} {status}"


def test_the_catalogue_says_what_the_service_says(document: Json) -> None:
    said = {
        each.code: each.message for each in vars(errors).values() if isinstance(each, type) and hasattr(each, "code")
    }
    catalogue = document[build.CATALOGUE]
    assert {code: entry["message"] for code, entry in catalogue.items()} == {code: said[code] for code in catalogue}


def test_every_error_shows_its_request_id(document: Json) -> None:
    for example in document["components"]["examples"].values():
        assert example["value"]["error"]["details"]["requestId"]


def test_catalogue_has_targets_and_call_paths(document: Json) -> None:
    promised = {
        code
        for _, operation in operations(document)
        for reference in operation["responses"].values()
        for code in dereference(document, reference).get("x-error-codes", [])
    }
    assert promised | {"NOT_FOUND"} == set(document[build.CATALOGUE])


def test_operations_that_change_something_take_idempotency_key(document: Json) -> None:
    # A token changes nothing, and one that is given out again from a store may have expired there.
    changes_nothing = {"POST /auth/token", "POST /credentials/verify"}
    # A challenge serves as well as another. A verification uses one up.
    changes_nothing |= {"POST /challenges"}
    # The nonce of the IBCT is one already.
    changes_nothing |= {"POST /zkp/delegated-proofs", "POST /zkp/delegated-presentations"}
    # Nor does an offer to a wallet, or a request to one: another is as good, and one that is given out again may have ended.
    changes_nothing |= {"POST /credentials/{credentialId}/offers", "POST /presentation-requests"}
    # What would be refused is only told.
    changes_nothing |= {"POST /zkp/delegated-proofs/check"}
    # The same approval of a witness again is one.
    changes_nothing |= {"POST /dids/{did}/approvals"}
    # DID Resolution reads by POST, too.
    changes_nothing |= {"POST /identifiers/{identifier}"}
    # A job of DID Registration works once, and what is so already is refused.
    changes_nothing |= {"POST /registrar/update", "POST /registrar/deactivate"}
    # Verifiers of VCALM read; a challenge is stored when it is spent.
    changes_nothing |= {"POST /vcalm/credentials/verify", "POST /vcalm/presentations/verify", "POST /vcalm/challenges"}
    # A second answer is refused.
    changes_nothing |= {"POST /consents/{consentId}/answer", "POST /verifier-requests/{requestId}/proof"}
    # A read whose DIDs do not fit into a query.
    changes_nothing |= {"POST /dids/describe"}
    # What is suspended is not suspended again.
    changes_nothing |= {"POST /delegations/suspend"}
    for where, operation in operations(document):
        names = {dereference(document, each)["name"] for each in operation.get("parameters", [])}
        changes = where.startswith(("POST", "PATCH")) and where not in changes_nothing
        assert ("Idempotency-Key" in names) == changes, where


@pytest.mark.parametrize(
    ("status", "header"),
    [
        ("401", "WWW-Authenticate"),
        ("405", "Allow"),
        ("429", "Retry-After"),
        ("429", "RateLimit"),
        ("200", "X-Request-Id"),
    ],
)
def test_a_status_documents_its_headers(document: Json, status: str, header: str) -> None:
    for where, operation in operations(document):
        if status in operation["responses"]:
            assert header in dereference(document, operation["responses"][status])["headers"], where


def test_code_with_a_wait_documents_its_header(document: Json) -> None:
    """A request in progress is 409 with ``Retry-After``, which tells the client when to repeat it."""
    shown = {code: one["value"]["error"]["details"] for code, one in document["components"]["examples"].items()}
    waits = {code for code, details in shown.items() if "retryAfter" in details}
    assert {"REQUEST_IN_PROGRESS", "OVERLOADED", "RATE_LIMITED"} <= waits
    for where, operation in operations(document):
        for response in (dereference(document, each) for each in operation["responses"].values()):
            if waits & {*response.get("x-error-codes", ())}:
                assert "Retry-After" in response["headers"], where


# Examples


def test_every_body_has_an_example(document: Json) -> None:
    assert [f"{where} {media}" for where, media, content in contents(document) if not content.get("examples")] == []


def test_every_example_fits_its_schema(document: Json) -> None:
    schemas = Schemas(document)
    wrong = []
    for where, _, content in contents(document):
        validator = schemas.compile(content["schema"])
        for name, reference in content["examples"].items():
            value = dereference(document, reference)["value"]
            wrong += [f"{where} {name}: {error.message}" for error in validator.iter_errors(value)]
    assert wrong == []


def test_every_operation_that_takes_a_signature_says_for_what(document: Json) -> None:
    silent = [
        where
        for where, operation in operations(document)
        if any(scheme.keys() & {"DidAuth", "RecoveryKeyAuth"} for scheme in operation["security"])
        and f"A challenge with a purpose must say `{operation['x-challenge-purpose']}`." not in operation["description"]
    ]
    assert silent == []


def test_delegated_proof_request_is_that_of_the_specification(document: Json) -> None:
    """Five required members, ``anchor`` false and ``syncWaitMs`` 0 by default, the types of predicates and of the IBCT, its times."""
    schemas = document["components"]["schemas"]
    request, token = schemas["DelegatedProofRequest"], schemas["IBCT"]
    assert set(request["required"]) == {"holderDid", "agentDid", "credentialId", "predicate", "ibct"}
    assert set(request["properties"]) - set(request["required"]) == {"anchor", "syncWaitMs", "challenge", "domain"}
    assert request["properties"]["anchor"]["default"] is False
    assert request["properties"]["syncWaitMs"]["default"] == 0
    assert schemas["PredicateType"]["enum"] == ["gte", "gt", "lte", "lt", "eq", "set_member"]
    assert schemas["PredicateType"]["x-enum-varnames"] == ["GTE", "GT", "LTE", "LT", "EQ", "SET_MEMBER"]
    assert dereference(document, token["properties"]["type"])["enum"] == ["InvocationBoundCapabilityToken"]
    assert [token["properties"][name]["format"] for name in ("issuedAt", "expiresAt")] == ["date-time", "date-time"]


def test_check_takes_the_members_of_both_requests(document: Json) -> None:
    schemas = document["components"]["schemas"]
    both = [schemas[name]["properties"] for name in ("DelegatedProofRequest", "DelegatedPresentationRequest")]
    assert schemas["DelegatedProofCheckRequest"]["properties"].keys() == both[0].keys() | both[1].keys()


def test_keywords_left_to_later_checks_refuse_no_body(document: Json) -> None:
    """A wrong type or time of an IBCT is 403 ``IBCT_INVALID`` of a later step, and no body that does not fit."""
    token = dict.fromkeys(document["components"]["schemas"]["IBCT"]["required"], "x")
    predicate = {"attributeName": "age", "type": "gte", "value": 18}
    body = {"holderDid": "h", "agentDid": "a", "credentialId": "c", "predicate": predicate, "ibct": token}
    schema = {"$ref": "#/components/schemas/DelegatedProofRequest"}
    validator = Schemas(document).compile(schema)
    assert validator.is_valid(body)
    assert Types(document).say_all(schema)
    for name in ("credentialId", "predicate"):
        assert not validator.is_valid({member: value for member, value in body.items() if member != name})


def test_no_text_under_a_signature_is_called_a_time(document: Json) -> None:
    """Generated clients read a `date-time` and write it anew in another form, which is another body than the signed one. The exception is
    the IBCT, whose times the specification calls `date-time`: its description says to send the text that was signed."""
    signed = {
        reference.rpartition("/")[2]
        for _, operation in operations(document)
        if any(scheme.keys() & {"DidAuth", "RecoveryKeyAuth"} for scheme in operation["security"])
        for reference in references(operation.get("requestBody", {}))
    } | {"VerifiableCredential", "StatusListCredential"}

    def walk_schema(part: Any) -> Iterator[Any]:
        yield part
        for value in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
            yield from walk_schema(value)
        if isinstance(part, dict) and "$ref" in part and not part["$ref"].endswith("/IBCT"):
            yield from walk_schema(dereference(document, part))

    assert "send the text that was signed" in document["components"]["schemas"]["IBCT"]["description"]

    schemas = document["components"]["schemas"]
    assert signed <= schemas.keys()
    times = {
        name
        for name in signed
        for part in walk_schema(schemas[name])
        if isinstance(part, dict) and part.get("format") == "date-time"
    }
    assert times == set()


def test_no_sentence_is_cut_off(document: Json) -> None:
    """YAML takes what follows a blank and a number sign for a comment."""

    def texts(part: Any) -> Iterator[str]:
        if isinstance(part, dict):
            for name, value in part.items():
                if name == "description" and isinstance(value, str):
                    yield value
                yield from texts(value)
        elif isinstance(part, list):
            for value in part:
                yield from texts(value)

    assert [text for text in texts(document) if text.count("`") % 2] == []


def test_every_scope_that_an_operation_asks_for_is_listed(document: Json) -> None:
    wanted = set(re.findall(r"scope\s+`([a-z]+:[a-z]+)`", json.dumps(document["paths"]).replace("\\n", " ")))
    listed = re.findall(r"`([a-z]+:[a-z]+)`", document["components"]["schemas"]["Scopes"]["description"])
    assert wanted | {"dids:operate"} == set(listed)


def test_the_examples_show_every_member_of_an_answer(document: Json) -> None:
    """An answer that is described and never shown is not reviewed."""
    shown: dict[str, set[str]] = {}

    def walk(schema: Json, value: Any) -> None:
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            schema = dereference(document, schema)
            if isinstance(value, dict):
                shown.setdefault(name, set()).update(value)
        for part in schema.get("allOf", []):
            walk(part, value)
        if isinstance(value, dict):
            for name, member in schema.get("properties", {}).items():
                if name in value:
                    walk(member, value[name])
            if isinstance(others := schema.get("additionalProperties"), dict):
                for name in value.keys() - schema.get("properties", {}).keys():
                    walk(others, value[name])
        if isinstance(value, list):
            for item in value:
                walk(schema.get("items", {}), item)

    for _, _, content in contents(document):
        for reference in content["examples"].values():
            walk(content["schema"], dereference(document, reference)["value"])
    never = {
        f"{name}.{member}"
        for name, schema in document["components"]["schemas"].items()
        for member in schema.get("properties", {})
        if member not in shown.get(name, set())
    }
    assert never == set()


def test_the_log_of_the_example_verifies(document: Json) -> None:
    operation = document["paths"]["/dids/{did}/log"]["get"]
    (example,) = operation["responses"]["200"]["content"]["text/jsonl"]["examples"].values()
    checked = verifier.verify(example["value"].encode())
    assert checked.did.startswith("did:ids:Qm")


@pytest.mark.parametrize(
    ("name", "member", "fits"),
    [
        ("CreateDidRequest", {"method": "ids", "extra": 1}, False),
        ("CreateDidRequest", {"method": 1}, False),
        ("CreateDidRequest", {"method": "ids", "keyType": "Unknown2030"}, True),
        ("UpdateDidRequest", {}, False),
        ("UpdateDidRequest", {"operations": []}, True),
        ("UpdateDidRequest", {"operation": "unknown"}, True),
        ("DeactivateDidRequest", {"confirm": "true"}, False),
        ("DeactivateDidRequest", {"confirm": False}, True),
        ("RotateDidKeyRequest", {"oldKeyId": "#a", "newKeyType": "Ed25519", "revokeOldAfter": 1}, False),
        ("CreateApiKeyRequest", {"name": "a", "admin": True, "requestsPerSecond": 0}, False),
        ("CreateApiKeyRequest", {"name": "a", "admin": True, "requestsPerSecond": 5e-324}, False),
        ("UpdateApiKeyRequest", {"requestsPerSecond": 1e-300}, False),
        ("UpdateApiKeyRequest", {"requestsPerSecond": 0.001}, True),
        ("UpdateApiKeyRequest", {}, False),
        ("UpdateApiKeyRequest", {"burst": None}, True),
        ("RotateApiKeyRequest", {"graceSeconds": 7_776_001}, False),
    ],
)
def test_schemas_refuse_invalid_values(document: Json, name: str, member: Json, fits: bool) -> None:
    validator: Draft202012Validator = Schemas(document).compile({"$ref": f"#/components/schemas/{name}"})
    assert validator.is_valid(member) is fits


def test_the_document_is_openapi_by_connexions_own_check() -> None:
    """The service does not ask at its start: the check costs a second, and the document does not change on the way."""
    from connexion.spec import OpenAPISpecification

    OpenAPISpecification.from_dict(DOCUMENT)
    broken = {**DOCUMENT, "paths": {"/x": {"get": {"responses": 1}}}}
    with pytest.raises(InvalidSpecification):
        OpenAPISpecification.from_dict(broken)
