"""One entry has one form (did-lifecycle 5.4): whatever two readers could understand in two ways is refused, hash or no hash."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity_core.domain.dids.changes import Create, NewService
from identity_core.domain.dids.state import LogInvalid
from identity_core.errors import InvalidDocument
from tests.attack.log_forger import LOG_KEY, METHOD, new_life, parsed, reminted, whole_life

LIFE = whole_life()
FIRST = LIFE.entries[0]


REWRITTEN = {
    "blanks": json.dumps(json.loads(FIRST)).encode(),
    "another order": json.dumps(dict(reversed(json.loads(FIRST).items())), separators=(",", ":")).encode(),
    "escapes": FIRST.replace(b"https://w3id.org", b"https:\\/\\/w3id.org", 1),
    "unicode escapes": FIRST.replace(b'"create"', b'"\\u0063reate"', 1),
    "a name twice, same value": FIRST.replace(b'"operation":"create"', b'"operation":"create","operation":"create"', 1),
    "a name twice, the last wins": FIRST.replace(
        b'"operation":"create"', b'"operation":"update","operation":"create"', 1
    ),
    "a name twice, the first wins": FIRST.replace(
        b'"operation":"create"', b'"operation":"create","operation":"update"', 1
    ),
    "a name twice by escape": FIRST.replace(
        b'"operation":"create"', b'"operation":"create","\\u006fperation":"create"', 1
    ),
    "a tail": FIRST + b" ",
    "a head": b" " + FIRST,
    "a byte order mark": b"\xef\xbb\xbf" + FIRST,
    "a comment": FIRST + b"//",
    "a comma": FIRST[:-1] + b",}",
    "NaN": FIRST.replace(b'"create"', b"NaN", 1),
    "a lone surrogate": FIRST.replace(b'"create"', b'"\\ud800"', 1),
    "bytes that are no UTF-8": FIRST.replace(b"create", b"cre\xffte", 1),
}


@pytest.mark.parametrize("data", REWRITTEN.values(), ids=REWRITTEN)
def test_the_same_entry_in_another_form(data: bytes) -> None:
    assert data != FIRST
    with pytest.raises(LogInvalid):
        METHOD.apply(None, data)


@pytest.mark.parametrize("place", range(len(LIFE.entries)))
def test_each_kind_of_entry_has_one_form(place: int) -> None:
    state = LIFE.states[place - 1] if place else None
    METHOD.apply(state, LIFE.entries[place])
    with pytest.raises(LogInvalid):
        METHOD.apply(state, json.dumps(json.loads(LIFE.entries[place])).encode())


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=8,
    ),
    st.sampled_from(["versionId", "versionTime", "parameters", "state", "proof", "x"]),
)
def test_any_json_in_any_member(value: object, member: str) -> None:
    item = parsed(FIRST)
    item[member] = value
    with pytest.raises(LogInvalid):
        METHOD.apply(None, json.dumps(item).encode())


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=8,
    ),
    st.sampled_from(["operation", "authorization", "operations", "recoveryKey", "proofBy", "x", "newKey", "oldKeyId"]),
)
def test_any_json_in_any_part_of_a_change_with_a_proof_that_fits(value: object, member: str) -> None:
    item = parsed(FIRST)
    if item["parameters"]["change"].get(member) == value:
        return
    item["parameters"]["change"][member] = value
    try:
        entry = reminted(item)
    except LogInvalid:
        return
    with pytest.raises(LogInvalid):
        METHOD.apply(None, entry)


@pytest.mark.parametrize(
    "service",
    [
        NewService("A", "https://a.example/{SCID}"),
        NewService("{SCID}", "https://a.example/"),
        NewService("A", "https://a.example/", "{SCID}"),
    ],
)
def test_the_placeholder_does_not_come_in_with_the_content(service: NewService) -> None:
    good = new_life().creation
    creation = Create(good.keys, good.update_keys, (service,))
    with pytest.raises(InvalidDocument):
        METHOD.draft(None, creation, LIFE.states[0].created_at, signer=LOG_KEY.multikey)
    creation = Create(good.keys, good.update_keys, (), ("urn:{SCID}",))
    with pytest.raises(InvalidDocument):
        METHOD.draft(None, creation, LIFE.states[0].created_at, signer=LOG_KEY.multikey)
