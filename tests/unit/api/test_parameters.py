import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity_core.api.decode import Query
from identity_core.api.schemas import Schemas
from identity_core.errors import InvalidRequest

DECLARED = [
    {"name": "versionId", "in": "query", "schema": {"type": "integer", "minimum": 1}},
    {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 200}},
    {"name": "versionTime", "in": "query", "schema": {"type": "string", "format": "date-time"}},
    {"name": "includeDocument", "in": "query", "schema": {"type": "boolean"}},
    {"name": "order", "in": "query", "schema": {"type": "string", "enum": ["asc", "desc"]}},
    {"name": "cursor", "in": "query", "schema": {"type": "string", "maxLength": 16}},
]


def query(declared: list[dict[str, object]] = DECLARED) -> Query:
    return Query(declared, Schemas({}), lambda part: part, dict)


@pytest.mark.parametrize(
    ("data", "values"),
    [
        (b"", {}),
        (b"versionId=7", {"version_id": 7}),
        (b"versionId=9007199254740991", {"version_id": 2**53 - 1}),
        (b"limit=200&order=desc", {"limit": 200, "order": "desc"}),
        (b"includeDocument=true", {"include_document": True}),
        # Generated clients of Python and PHP.
        (b"includeDocument=True", {"include_document": True}),
        (b"includeDocument=False", {"include_document": False}),
        (b"includeDocument=1", {"include_document": True}),
        (b"includeDocument=0", {"include_document": False}),
        (b"versionTime=2030-01-01T00:00:00%2B01:00", {"version_time": "2030-01-01T00:00:00+01:00"}),
        (b"versionTime=2030-01-01T00:00:00+01:00", {"version_time": "2030-01-01T00:00:00 01:00"}),
        (b"%76ersionId=%37", {"version_id": 7}),
        (b"cursor=", {"cursor": ""}),
        (b"cursor=a=b", {"cursor": "a=b"}),
    ],
)
def test_good_queries(data: bytes, values: dict[str, object]) -> None:
    assert query().parse(data) == values


@pytest.mark.parametrize(
    "data",
    [
        b"limit=201",
        b"includeDocument=TRUE",
        b"includeDocument=2",
        b"includeDocument=01",
        b"includeDocument=yes",
        b"includeDocument",
        b"order=up",
        b"cursor=12345678901234567",
        b"cursor=%",
        b"&",
        b"versionId=1&",
        b"=1",
    ],
)
def test_bad_queries(data: bytes) -> None:
    """Refuse malformed query strings. The corpus of ``tests/attack/raw_http.py`` has malformed integers."""
    with pytest.raises(InvalidRequest):
        query().parse(data)


def test_a_required_parameter() -> None:
    required = query([{"name": "did", "in": "query", "required": True, "schema": {"type": "string"}}])
    assert required.parse(b"did=x") == {"did": "x"}
    with pytest.raises(InvalidRequest, match="did is missing"):
        required.parse(b"")


def test_values_are_never_quoted() -> None:
    for data in (b"versionId=SECRET", b"cursor=SECRET-SECRET-SECRET-SECRET", b"order=SECRET"):
        with pytest.raises(InvalidRequest) as refused:
            query().parse(data)
        assert "SECRET" not in f"{refused.value}{refused.value.details}"


@given(st.binary())
def test_any_query_is_parsed_or_refused(data: bytes) -> None:
    with contextlib.suppress(InvalidRequest):
        query().parse(data)


@given(st.integers())
def test_integers_have_one_spelling(number: int) -> None:
    if 1 <= number < 2**53:
        assert query().parse(f"versionId={number}".encode())["version_id"] == number
    else:
        with pytest.raises(InvalidRequest):
            query().parse(f"versionId={number}".encode())
