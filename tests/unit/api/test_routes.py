import contextlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity_core.api.contract import Routes, percent_decode
from identity_core.errors import IdentityError, InvalidDid, InvalidRequest, NotFound


@pytest.fixture
def routes() -> Routes[str]:
    routes: Routes[str] = Routes()
    for template in (
        "/v1/dids",
        "/v1/dids/{did}",
        "/v1/dids/{did}/history",
        "/v1/dids/{did}/keys/rotate",
        "/v1/keys/{keyId}",
    ):
        routes.add(template, {"GET": template})
    return routes


@pytest.mark.parametrize(
    ("path", "template", "values"),
    [
        (b"/v1/dids", "/v1/dids", {}),
        (b"/v1/%64ids", "/v1/dids", {}),
        (b"/v1/dids/did:ex:a", "/v1/dids/{did}", {"did": "did:ex:a"}),
        (b"/v1/dids/did%3Aex%3Aa", "/v1/dids/{did}", {"did": "did:ex:a"}),
        (b"/v1/dids/did%3aex%3aa/history", "/v1/dids/{did}/history", {"did": "did:ex:a"}),
        (b"/v1/dids/did:web:host%253A3000", "/v1/dids/{did}", {"did": "did:web:host%3A3000"}),
        (b"/v1/dids/a%2Fhistory", "/v1/dids/{did}", {"did": "a/history"}),
        (b"/v1/dids/%2e%2e", "/v1/dids/{did}", {"did": ".."}),
        (b"/v1/dids/../keys/x", None, {}),
        (b"/v1/dids/history", "/v1/dids/{did}", {"did": "history"}),
        (b"/v1/dids/did:ex:a/keys/rotate", "/v1/dids/{did}/keys/rotate", {"did": "did:ex:a"}),
        (b"/v1/keys/%C3%A9", "/v1/keys/{keyId}", {"keyId": "é"}),
        (b"/v1/dids/", None, {}),
        (b"/v1/dids//history", None, {}),
        (b"/v1//dids", None, {}),
        (b"//v1/dids", None, {}),
        (b"/V1/dids", None, {}),
        (b"/v1/dids/did:ex:a/", None, {}),
        (b"/v1%2Fdids", None, {}),
        (b"/v1/dids/a/hist%6Fry", "/v1/dids/{did}/history", {"did": "a"}),
        (b"/v1/dids/a/%zz", None, {}),
        (b"/v1", None, {}),
        (b"/", None, {}),
        (b"", None, {}),
        (b"*", None, {}),
        (b"http://host/v1/dids", None, {}),
    ],
)
def test_paths(routes: Routes[str], path: bytes, template: str | None, values: dict[str, str]) -> None:
    if template is None:
        with pytest.raises(NotFound):
            routes.find(path)
    else:
        targets, found = routes.find(path)
        assert targets == {"GET": template}
        assert dict(found) == values


@pytest.mark.parametrize(
    "segment", [b"%", b"%4", b"%zz", b"%00", b"%0a", b"did:ex:a%0a", b"%ff", b"%c3", b"%7f", b"%ed%a0%80"]
)
def test_value_that_is_no_text_is_no_did(routes: Routes[str], segment: bytes) -> None:
    for path in (b"/v1/dids/" + segment, b"/v1/dids/" + segment + b"/history"):
        with pytest.raises(InvalidDid):
            routes.find(path)
    with pytest.raises(InvalidRequest):
        routes.find(b"/v1/keys/" + segment)
    with pytest.raises(NotFound):
        routes.find(b"/v1/dids/" + segment + b"/nowhere")


@pytest.mark.parametrize("byte", [*range(32), 127])
def test_invalid_text_before_a_path_is_refused(routes: Routes[str], byte: int) -> None:
    routes.add("/v1/tile/{level}/{tile:path}", {"GET": "tile"})
    routes.add("/v1/files/{did}/{name:path}", {"GET": "file"})
    with pytest.raises(InvalidRequest) as refused:
        routes.find(b"/v1/tile/%%%02x/x" % byte)
    assert refused.value.details == {"parameter": "level"}
    with pytest.raises(InvalidDid):
        routes.find(b"/v1/files/%%%02x/x/y" % byte)
    assert routes.find(b"/v1/tile/0/x/y") == ({"GET": "tile"}, {"level": "0", "tile": "x/y"})


def test_rest_takes_what_no_longer_template_matches(routes: Routes[str]) -> None:
    """A literal on the way does not hide the rest above it: every unknown address has the same page."""
    routes.add("/v1/{page:path}", {"GET": "unknown"})
    for path in ("nope", "nope/nope", "dids/a/nope", "dids/a/keys", "dids/a/keys/rotate/", "keys", "keys/a/b"):
        found, values = routes.find(f"/v1/{path}".encode())
        assert (found, values["page"]) == ({"GET": "unknown"}, path)
    assert routes.find(b"/v1/dids/a/history")[0] == {"GET": "/v1/dids/{did}/history"}
    assert routes.find(b"/v1/keys/a")[0] == {"GET": "/v1/keys/{keyId}"}


def test_a_rest_has_every_method_that_was_added(routes: Routes[str]) -> None:
    routes.add("/v1/files/{name:path}", {"GET": "read"})
    routes.add("/v1/files/{name:path}", {"POST": "ask"})
    assert routes.find(b"/v1/files/x/y") == ({"GET": "read", "POST": "ask"}, {"name": "x/y"})


def test_one_name_for_one_place(routes: Routes[str]) -> None:
    with pytest.raises(ValueError, match="identifier is called did"):
        routes.add("/v1/dids/{identifier}/log", {"GET": "x"})


@given(st.binary(max_size=40))
def test_any_path_ends_in_a_route_or_a_refusal(path: bytes) -> None:
    routes: Routes[str] = Routes()
    routes.add("/{did}/{b}", {"GET": "x"})
    try:
        targets, values = routes.find(b"/" + path)
    except IdentityError:
        return
    assert targets == {"GET": "x"}
    assert path.count(b"/") == 1
    assert all((value and value.isprintable()) or not value.isascii() for value in values.values())


@given(
    st.lists(st.lists(st.sampled_from(["a", "b", "c", "{x}", "{x:path}"]), min_size=1, max_size=4), max_size=6),
    st.lists(
        st.lists(
            st.sampled_from([b"a", b"b", b"c", b"d", b"", b"%61", b"%6", b"%00", b"%ff", b"\xc3\xa9"]), max_size=5
        ),
        max_size=20,
    ),
)
def test_the_short_way_finds_what_the_walk_finds(templates: list[list[str]], paths: list[list[bytes]]) -> None:
    routes: Routes[str] = Routes()
    for segments in templates:
        with contextlib.suppress(ValueError):
            routes.add("/" + "/".join(segments), {"GET": "/".join(segments)})

    def outcome(path: bytes, find: Callable[[bytes], object]) -> object:
        try:
            return find(path)
        except IdentityError as refusal:
            return type(refusal), refusal.details

    for segments_of_path in paths:
        path = b"/" + b"/".join(segments_of_path)
        if path not in routes._static:
            assert outcome(path, routes.find) == outcome(path, routes._walked)


@given(st.text(alphabet=st.characters(exclude_categories=["Cc", "Cs"]), min_size=1))
def test_decoding_is_the_inverse_of_encoding(text: str) -> None:
    from urllib.parse import quote

    assert percent_decode(quote(text, safe="").encode()) == text


@pytest.fixture
def tiles() -> Routes[str]:
    routes: Routes[str] = Routes()
    routes.add("/v1/tile/{level}/{tile:path}", {"GET": "tile"})
    routes.add("/v1/tile/{level}", {"GET": "level"})
    return routes


@pytest.mark.parametrize(
    ("path", "values"),
    [
        (b"/v1/tile/0/000", {"level": "0", "tile": "000"}),
        (b"/v1/tile/0/x001/000.p/3", {"level": "0", "tile": "x001/000.p/3"}),
        (b"/v1/tile/0/x001%2F000.p%2f3", {"level": "0", "tile": "x001/000.p/3"}),
        (b"/v1/tile/a%2Fb/000", {"level": "a/b", "tile": "000"}),
        (b"/v1/tile/0/../x", {"level": "0", "tile": "../x"}),
        (b"/v1/tile/0/", {"level": "0", "tile": ""}),
        (b"/v1/tile/0/a//b", {"level": "0", "tile": "a//b"}),
        (b"/v1/tile/0/%2561", {"level": "0", "tile": "%61"}),
    ],
)
def test_the_rest_of_a_path_is_one_parameter(tiles: Routes[str], path: bytes, values: dict[str, str]) -> None:
    assert tiles.find(path) == ({"GET": "tile"}, values)


def test_the_rest_of_a_path_takes_nothing_from_others(tiles: Routes[str]) -> None:
    assert tiles.find(b"/v1/tile/0") == ({"GET": "level"}, {"level": "0"})
    for path in (b"/v1/tile", b"/v1/tile//000", b"/v1/else/0/000"):
        with pytest.raises(NotFound):
            tiles.find(path)
    for path in (b"/v1/tile/0/%", b"/v1/tile/0/a/%ff", b"/v1/tile/0/%00"):
        with pytest.raises(InvalidRequest):
            tiles.find(path)
