"""``resolve_reference``: RFC 3986 §5.4, without the references that have a scheme or an authority."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from identity_universal.did_url import DidUrl, endpoint, resolve_reference, secondary_resource

from identity_core.domain.dids.did import Did
from identity_core.errors import DidUrlNotFound, InvalidDidUrl

BASE = "http://a/b/c/d;p?q"


@pytest.mark.parametrize(
    ("reference", "resolved"),
    [
        # RFC 3986 §5.4.1
        ("g", "http://a/b/c/g"),
        ("./g", "http://a/b/c/g"),
        ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"),
        ("?y", "http://a/b/c/d;p?y"),
        ("g?y", "http://a/b/c/g?y"),
        ("#s", "http://a/b/c/d;p?q#s"),
        ("g#s", "http://a/b/c/g#s"),
        ("g?y#s", "http://a/b/c/g?y#s"),
        (";x", "http://a/b/c/;x"),
        ("g;x", "http://a/b/c/g;x"),
        ("g;x?y#s", "http://a/b/c/g;x?y#s"),
        ("", "http://a/b/c/d;p?q"),
        (".", "http://a/b/c/"),
        ("./", "http://a/b/c/"),
        ("..", "http://a/b/"),
        ("../", "http://a/b/"),
        ("../g", "http://a/b/g"),
        ("../..", "http://a/"),
        ("../../", "http://a/"),
        ("../../g", "http://a/g"),
        # RFC 3986 §5.4.2
        ("../../../g", "http://a/g"),
        ("../../../../g", "http://a/g"),
        ("/./g", "http://a/g"),
        ("/../g", "http://a/g"),
        ("g.", "http://a/b/c/g."),
        (".g", "http://a/b/c/.g"),
        ("g..", "http://a/b/c/g.."),
        ("..g", "http://a/b/c/..g"),
        ("./../g", "http://a/b/g"),
        ("./g/.", "http://a/b/c/g/"),
        ("g/./h", "http://a/b/c/g/h"),
        ("g/../h", "http://a/b/c/h"),
        ("g;x=1/./y", "http://a/b/c/g;x=1/y"),
        ("g;x=1/../y", "http://a/b/c/y"),
        ("g?y/./x", "http://a/b/c/g?y/./x"),
        ("g?y/../x", "http://a/b/c/g?y/../x"),
        ("g#s/./x", "http://a/b/c/g#s/./x"),
        ("g#s/../x", "http://a/b/c/g#s/../x"),
        # RFC 3987 §3.1
        ("/r\u00e9sum\u00e9.pdf", "http://a/r%C3%A9sum%C3%A9.pdf"),
    ],
)
def test_reference_resolves_as_the_rfc_says(reference: str, resolved: str) -> None:
    assert resolve_reference(BASE, reference) == resolved


@pytest.mark.parametrize(
    ("base", "reference", "resolved"),
    [
        ("http://a", "g", "http://a/g"),
        ("http://a?q", "", "http://a?q"),
        ("http://a?q", "g", "http://a/g"),
    ],
)
def test_reference_resolves_against_other_bases(base: str, reference: str, resolved: str) -> None:
    assert resolve_reference(base, reference) == resolved


@pytest.mark.parametrize("base", ["x:/a", "mailto:support@shop.example", "urn:isbn", "did:ids:abc#x"])
@pytest.mark.parametrize("reference", ["/.//thief.example", "eve%40evil.example", "../c", "?a=b", ""])
def test_base_without_authority_has_no_references(base: str, reference: str) -> None:
    with pytest.raises(InvalidDidUrl):
        resolve_reference(base, reference)


@given(st.text(alphabet=st.sampled_from("/\\.:?#@%[]a20\t\n\r \x00\u202e\u00e9")))
def test_no_reference_changes_the_origin(reference: str) -> None:
    try:
        resolved = resolve_reference("https://hana.example/b/c", reference)
    except InvalidDidUrl:
        return
    assert resolved.startswith("https://hana.example/")
    assert resolved.isascii()
    assert resolved.isprintable()
    assert " " not in resolved


DID = "did:web:hana.example"
MAP = {"uri": "https://map.example/", "accept": ["didcomm/v2"]}
FIRST, SECOND = "https://one.example/a/", "https://two.example/"


def document(said: object) -> bytes:
    """A document of did:web; those of the service's own methods have one URI for each service."""
    return json.dumps({"id": DID, "service": [{"id": f"{DID}#s", "type": "X", "serviceEndpoint": said}]}).encode()


@pytest.mark.parametrize("said", [FIRST, [FIRST], [FIRST, SECOND], [MAP, FIRST], [MAP, FIRST, SECOND, MAP]])
def test_the_first_uri_of_a_set_is_the_endpoint(said: object) -> None:
    """DID Core §5.4: an endpoint is a URI, a map, or a set of these. DID Resolution §6.1: maps are left out."""
    url = DidUrl.parse(f"{DID}?service=s&relativeRef=b#c")
    assert endpoint(Did.parse(DID), document(said), url) == "https://one.example/a/b#c"


@pytest.mark.parametrize("said", [MAP, [MAP], [], [[FIRST]], 7])
def test_an_endpoint_without_a_uri_is_named_as_such(said: object) -> None:
    with pytest.raises(DidUrlNotFound) as refused:
        endpoint(Did.parse(DID), document(said), DidUrl.parse(f"{DID}?service=s"))
    assert "by its fragment" in str(refused.value.details["reason"])
    with pytest.raises(DidUrlNotFound) as absent:
        endpoint(Did.parse(DID), document(said), DidUrl.parse(f"{DID}?service=t"))
    assert "reason" not in absent.value.details
    assert secondary_resource(Did.parse(DID), document(said), "s")["serviceEndpoint"] == said
