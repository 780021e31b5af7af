"""The syntax of DIDs, beside its grammar read slowly (DID Core §3.1)."""

from __future__ import annotations

import itertools
import string

import pytest

from identity_core.domain.dids.did import Did
from identity_core.errors import InvalidDid

ID_CHARS = frozenset(string.ascii_letters + string.digits + "._-")


def is_did(text: str) -> bool:
    """``did:`` 1*methodchar ``:`` *( *idchar ":" ) 1*idchar."""
    scheme, _, rest = text.partition(":")
    method, _, identifier = rest.partition(":")
    if scheme != "did" or not method or not set(method) <= set(string.ascii_lowercase + string.digits):
        return False
    parts = identifier.split(":")
    return bool(parts[-1]) and all(map(is_part, parts))


def is_part(part: str) -> bool:
    while part:
        if part[0] in ID_CHARS:
            part = part[1:]
        elif part[0] == "%" and len(part) > 2 and set(part[1:3]) <= set(string.hexdigits):
            part = part[3:]
        else:
            return False
    return True


def parsed(text: str) -> tuple[str, str] | None:
    try:
        did = Did.parse(text)
    except InvalidDid:
        return None
    assert did.text == text
    return did.method, did.identifier


def test_every_short_identifier_is_judged_as_the_grammar_does() -> None:
    for length in range(7):
        for characters in itertools.product("g4:%", repeat=length):
            identifier = "".join(characters)
            text = f"did:x:{identifier}"
            assert parsed(text) == (("x", identifier) if is_did(text) else None), text


@pytest.mark.parametrize("code", range(0x180))
def test_every_character_is_judged_as_the_grammar_does(code: int) -> None:
    for text in (f"did:x:a{chr(code)}", f"did:x:{chr(code)}a", f"did:x{chr(code)}:a", f"d{chr(code)}d:x:a"):
        assert (parsed(text) is not None) == is_did(text), ascii(text)


@pytest.mark.parametrize("tail", [":", "%", "%4", "\n", "\0", "é", "/"])
def test_the_longest_that_are_refused_at_their_end(tail: str) -> None:
    for unit in ("a", ":", "%41", "a:", "%41:"):
        text = "did:x:" + unit * ((512 - 7) // len(unit)) + tail
        assert parsed(text) is None
