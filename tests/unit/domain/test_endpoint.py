from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity_core.domain.dids import did as endpoint
from identity_core.errors import InvalidDocument

GOOD = (
    "https://agent.example/didcomm",
    "https://agent.example:8443/a/b;c?d=e&f=%20#g",
    "wss://agent.example",
    "http://127.0.0.1/",
    "http://[::1]:8080/",
    "did:example:mediator",
    "did:ids:Qm#service",
    "mailto:hana@example.org",
    "urn:uuid:6e8bc430-9c3a-11d9-9669-0800200c9a66",
    "ipfs://bafy/x",
    "tel:+81-3-1234-5678",
    "https://h/" + "a" * 2_038,
)
BAD = (
    "",
    "x",
    "not a url",
    "/path",
    "//host/path",
    "https:",
    "https:/",
    "https://",
    "https:///path",
    "https:host",
    "https://user:pass@host/",
    "https://user@host/",
    "https://@host/",
    "https://host:99999/",
    "https://host:/x:y:z@/ ",
    "https://ho st/",
    "https://host/é",
    "https://h\u00f6st/",
    "https://host/\n",
    "https://host/%zz",
    "https://host/%2",
    "https://host/<x>",
    "https://host/{SCID}",
    "https://host/\x00",
    "https://host/\\..",
    "https://[::1/",
    "javascript:alert(1)",
    "JavaScript:alert(1)",
    "vbscript:x",
    "data:text/html,x",
    "file:///etc/passwd",
    "blob:https://x/y",
    "view-source:https://x/",
    "about:blank",
    "urn:",
    "1https://host/",
    "https://h/" + "a" * 2_039,
)


@pytest.mark.parametrize("text", GOOD, ids=lambda text: text[:40])
def test_good(text: str) -> None:
    endpoint.check_uri(text, "serviceEndpoint")


@pytest.mark.parametrize("text", BAD, ids=lambda text: ascii(text[:40]))
def test_bad(text: str) -> None:
    with pytest.raises(InvalidDocument) as refusal:
        endpoint.check_uri(text, "serviceEndpoint")
    assert len(str(refusal.value.details)) < 2000


@given(st.text(max_size=60))
def test_any_text_is_checked_or_refused_and_what_passes_is_ascii(text: str) -> None:
    try:
        endpoint.check_uri(text, "serviceEndpoint")
    except InvalidDocument:
        return
    assert text.isascii()
    assert text.isprintable()
    assert not set(text) & set(' {}<>"\\^`|')


def test_a_long_hostile_text_is_refused_at_once() -> None:
    for text in ("https://" + "a" * 10**6, "%" * 2000, "a:" + "%2" * 1000, "https://" + "%41" * 600 + "@"):
        with pytest.raises(InvalidDocument):
            endpoint.check_uri(text, "serviceEndpoint")


@pytest.mark.parametrize("fragment", ["a", "didcomm-1", "A.b_c~d", "x" * 64])
def test_fragments(fragment: str) -> None:
    endpoint.check_fragment(fragment)


@pytest.mark.parametrize("fragment", ["", "#a", "a b", "a/b", "é", "a\n", "a%20", "{SCID}", "x" * 65, "a?b", "a:b"])
def test_invalid_service_name_is_refused(fragment: str) -> None:
    with pytest.raises(InvalidDocument):
        endpoint.check_fragment(fragment)


@pytest.mark.parametrize("name", ["", " ", "a b", "é", "-x", "a\n", "{SCID}", "x" * 257, "<script>"])
def test_malformed_service_type_is_refused(name: str) -> None:
    with pytest.raises(InvalidDocument):
        endpoint.check_type(name)
