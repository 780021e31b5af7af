"""did:webvh logs made here, for the rules that no vector breaks alone."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from identity_did_ids import entry
from identity_did_webvh import log as webvh
from identity_did_webvh.approvals import Witnesses, read_witnesses
from identity_kit.conformance.controller import Controller

from identity_client import data_integrity
from identity_codec.multibase import base58btc_encode
from identity_core.domain.dids.state import LogInvalid
from identity_core.errors import InvalidDid
from tests.webvh_logs import KEY, NEXT, WITNESS, approval, first, following, moved

X25519 = Controller("x").key("X25519KeyAgreementKey2020").public


def verify(*entries: dict[str, Any], witness_file: bytes | None = None) -> tuple[webvh.WebvhState, ...]:
    lines = [json.dumps(item).encode() for item in entries]
    return webvh.verify_entries(lines, now=datetime(2026, 6, 1, tzinfo=UTC), witness_file=witness_file)


def test_a_log_of_ours_verifies() -> None:
    one = first(portable=True)
    two = following(one, state=moved(one), updateKeys=[NEXT.multikey])
    states = verify(one, two, following(two, (NEXT,), deactivated=True, updateKeys=[]))
    assert [state.number for state in states] == [1, 2, 3]
    assert str(states[-1].did) == moved(one)["id"]
    assert states[-1].deactivated


def test_only_a_portable_did_moves_and_it_says_where_from() -> None:
    one = first()
    with pytest.raises(LogInvalid, match="moved"):
        verify(one, following(one, state=moved(one)))
    one = first(portable=True)
    for state in (moved(one, alsoKnownAs=[]), moved(one, alsoKnownAs="x"), {"id": moved(one)["id"]}):
        with pytest.raises(LogInvalid, match="moved"):
            verify(one, following(one, state=state))
    stopped = following(one, portable=False)
    with pytest.raises(LogInvalid, match="moved"):
        verify(one, stopped, following(stopped, state=moved(stopped)))
    with pytest.raises(LogInvalid, match="portable"):
        verify(one, stopped, following(stopped, portable=True))


def test_rotated_update_keys_count_from_the_next_entry_on() -> None:
    one = first()
    two = following(one, updateKeys=[NEXT.multikey])
    verify(one, two, following(two, (NEXT,)))
    for wrong in (following(two, (KEY,)), following(two, (WITNESS,))):
        with pytest.raises(LogInvalid, match="may not sign"):
            verify(one, two, wrong)
    with pytest.raises(LogInvalid, match="may not sign"):
        verify(one, following(one, (NEXT,), updateKeys=[NEXT.multikey]))


def test_with_pre_rotation_the_committed_keys_sign() -> None:
    committed = entry.multihash(NEXT.multikey.encode())
    one = first(nextKeyHashes=[committed])
    verify(one, following(one, (NEXT,), updateKeys=[NEXT.multikey], nextKeyHashes=[]))
    for wrong in (
        following(one, (KEY,), updateKeys=[NEXT.multikey], nextKeyHashes=[]),
        following(one, (KEY,), updateKeys=[KEY.multikey], nextKeyHashes=[]),
        following(one, (NEXT,), updateKeys=[NEXT.multikey, KEY.multikey], nextKeyHashes=[]),
        following(one, (NEXT,), updateKeys=[NEXT.multikey]),
        following(one, (KEY,)),
    ):
        with pytest.raises(LogInvalid):
            verify(one, wrong)


def test_every_proof_of_an_entry_must_be_good() -> None:
    one = first(signers=(KEY, NEXT), updateKeys=[KEY.multikey, NEXT.multikey])
    verify(one)
    with pytest.raises(LogInvalid):
        verify(first(signers=(KEY, WITNESS)))


def test_an_entry_without_proofs_is_refused() -> None:
    one = first()
    for proofs in ([], {}, None, "", one["proof"][0], [one["proof"]], [*one["proof"], 1]):
        for entries in ([one | {"proof": proofs}], [one, following(one) | {"proof": proofs}]):
            with pytest.raises(LogInvalid, match="The entry has no proof") as refused:
                verify(*entries)
            assert refused.value.details == {"line": len(entries)}
    with pytest.raises(LogInvalid, match="The entry has no proof"):
        verify(first(signers=()))


@pytest.mark.parametrize(("other", "reason"), [(X25519, "not of type Ed25519"), ("z6Mk", "not a multikey")])
def test_an_update_key_that_does_not_sign_is_an_ed25519_key_too(other: str, reason: str) -> None:
    with pytest.raises(LogInvalid, match=reason):
        verify(first(updateKeys=[KEY.multikey, other]))
    one = first()
    two = following(one, updateKeys=[KEY.multikey, other])
    with pytest.raises(LogInvalid, match=reason):
        verify(one, two, following(two))


def test_the_signed_hash_of_an_entry_covers_its_predecessor() -> None:
    one = first()
    verify(one, following(one))
    for hash_ in ("Qm" + "a" * 44, entry.multihash(b"another entry")):
        with pytest.raises(LogInvalid, match="does not fit its content and predecessor"):
            verify(one, following(one | {"versionId": f"1-{hash_}"}))


@pytest.mark.parametrize(
    "text", ["did:web:{scid}:example.com", "did:webvh:{scid}x:example.com", "did:webvh:{scid}:com"]
)
def test_method_scid_and_host_each_count(text: str) -> None:
    scid = "Qm" + "a" * 44
    assert str(webvh.parse_did(f"did:webvh:{scid}:example.com")) == f"did:webvh:{scid}:example.com"
    with pytest.raises(InvalidDid) as refused:
        webvh.parse_did(text.format(scid=scid))
    assert refused.value.details == {"did": text.format(scid=scid)}


def test_a_line_has_at_most_256_kib_and_a_ttl_is_at_most_2_to_31() -> None:
    for ttl in (0, 2**31):
        line = json.dumps(first(ttl=ttl)).encode()
        full = line + b" " * (256 * 1024 - len(line))
        assert len(webvh.verify_entries([full], now=None, witness_file=None)) == 1
        with pytest.raises(LogInvalid, match="too large"):
            webvh.verify_entries([full + b" "], now=None, witness_file=None)


@pytest.mark.parametrize("member", ["type", "cryptosuite", "proofPurpose"])
@pytest.mark.parametrize("other", ["", "A", "~", None, 5])
def test_proof_of_another_kind_is_refused(member: str, other: object) -> None:
    one = first()
    body = {name: value for name, value in one.items() if name != "proof"}
    config = entry.proof_config(KEY.multikey, body["versionTime"]) | {member: other}
    value = base58btc_encode(KEY._pair.sign(data_integrity.proof_input(config, body)))
    with pytest.raises(LogInvalid, match="another type, cryptosuite or purpose"):
        verify(body | {"proof": [config | {"proofValue": value}]})


@pytest.mark.parametrize("member", ["parameters", "state"])
@pytest.mark.parametrize("other", [None, [], "x", 1])
def test_parameters_and_state_are_objects_each(member: str, other: object) -> None:
    with pytest.raises(LogInvalid, match="Parameters and state are objects"):
        verify(first() | {member: other})


def test_an_unknown_parameter_is_named_in_64_characters() -> None:
    with pytest.raises(LogInvalid) as refused:
        verify(first(**{"x" * 65: 1}))
    assert str(refused.value) == f"The parameter '{'x' * 64}' is unknown."


@pytest.mark.parametrize(
    "parameters",
    [
        {"updateKeys": "z"}, {"updateKeys": [1]}, {"updateKeys": ["z6Mk"]}, {"updateKeys": [KEY.multikey] * 2}, {"updateKeys": []},
        {"watchers": [1]}, {"portable": 1}, {"deactivated": "x"}, {"ttl": True}, {"ttl": -1}, {"ttl": 2**31 + 1}, {"ttl": 1.5},
        {"method": "did:webvh:1.1"}, {"method": None}, {"scid": None}, {"unknown": 1},
        {"witness": []}, {"witness": {"threshold": 1}}, {"witness": {"threshold": 1, "witnesses": []}},
        {"witness": {"threshold": True, "witnesses": [{"id": WITNESS.multikey}]}},
        {"witness": {"threshold": 2, "witnesses": [{"id": WITNESS.multikey}]}},
        {"witness": {"threshold": 1, "witnesses": [{"id": "did:web:x"}]}},
        {"witness": {"threshold": 1, "witnesses": ["x"]}},
        {"witness": {"threshold": 2, "witnesses": [{"id": WITNESS.multikey}, {"id": f"did:key:{WITNESS.multikey}"}]}},
        {"witness": {"threshold": 1, "witnesses": [{"id": WITNESS.multikey}, {"id": f"did:key:{WITNESS.multikey}"}]}},
        {"witness": {"threshold": 0, "witnesses": [{"id": WITNESS.multikey}]}},
        {"witness": {"threshold": 1, "witnesses": [{"id": X25519}]}},
    ],
    ids=str,
)  # fmt: skip
def test_malformed_parameters(parameters: dict[str, Any]) -> None:
    with pytest.raises(LogInvalid):
        verify(first(**parameters))


@given(
    st.sampled_from(
        [
            "updateKeys",
            "nextKeyHashes",
            "witness",
            "watchers",
            "portable",
            "deactivated",
            "ttl",
            "method",
            "scid",
            "state",
            "proof",
        ]
    ),
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**52), 2**52) | st.text(max_size=4),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["id", "threshold", "witnesses", "alsoKnownAs"]), inner)
        ),
        max_leaves=6,
    ),
)
def test_any_json_is_accepted_or_log_invalid(member: str, value: Any) -> None:
    one = first()
    two = following(one, **{member: value}) if member not in ("state", "proof") else following(one) | {member: value}
    for entries in ([one, two], [first(**{member: value})] if member != "scid" else [two]):
        try:
            verify(*entries)
        except LogInvalid:
            continue


def test_null_is_the_default_value() -> None:
    one = first(witness=None, watchers=None, nextKeyHashes=None, ttl=None, portable=None)
    assert verify(one)[0].witnesses is None


def test_approval_covers_earlier_entries_only() -> None:
    one = first(witness={"threshold": 1, "witnesses": [{"id": f"did:key:{WITNESS.multikey}"}]})
    two = following(one)
    verify(one, two, witness_file=json.dumps([approval(two)]).encode())
    verify(one, witness_file=json.dumps([approval(two), approval(one)]).encode())
    for approvals in ([approval(one)], [approval(two, NEXT)], []):
        with pytest.raises(LogInvalid, match="witnesses"):
            verify(one, two, witness_file=json.dumps(approvals).encode())
    with pytest.raises(LogInvalid, match="witnesses"):
        verify(one, witness_file=json.dumps([approval(two)]).encode())


def test_a_witness_counts_once() -> None:
    twice = [{"id": WITNESS.multikey}, {"id": f"did:key:{WITNESS.multikey}"}]
    for threshold in (1, 2):
        with pytest.raises(LogInvalid, match="listed twice"):
            read_witnesses({"threshold": threshold, "witnesses": twice})
    other = [{"id": WITNESS.multikey}, {"id": f"did:key:{NEXT.multikey}"}]
    assert read_witnesses({"threshold": 1, "witnesses": other}) == Witnesses(
        1, frozenset({WITNESS.multikey, NEXT.multikey})
    )


def test_as_many_approve_as_the_threshold_says() -> None:
    witnesses = [{"id": signer.multikey} for signer in (WITNESS, NEXT, KEY)]
    one = first(witness={"threshold": 2, "witnesses": witnesses})
    two = following(one)
    both = [approval(two), approval(two, NEXT)]
    verify(one, two, witness_file=json.dumps(both).encode())
    verify(one, two, witness_file=json.dumps([approval(one), *both]).encode())
    for approvals, line in (([approval(two), approval(two)], 2), ([approval(one), approval(two, NEXT)], 2), ([], 2)):
        with pytest.raises(LogInvalid, match="Too few witnesses") as refused:
            verify(one, two, witness_file=json.dumps(approvals).encode())
        assert refused.value.details == {"line": line}
    three = following(two, witness={})
    with pytest.raises(LogInvalid, match="without their"):
        verify(one, two, three)


@pytest.mark.parametrize(
    "value", [{}, None, 1, [1], [{}], [{"versionId": "1-x"}], [{"versionId": 1, "proof": []}], [{"proof": []}]]
)
def test_a_witness_file_is_a_list_of_approvals(value: object) -> None:
    one = first(witness={"threshold": 1, "witnesses": [{"id": WITNESS.multikey}]})
    with pytest.raises(LogInvalid, match=r"did-witness\.json"):
        verify(one, witness_file=json.dumps(value).encode())
    with pytest.raises(LogInvalid, match=r"did-witness\.json"):
        verify(one, witness_file=b"[")


def test_a_bad_approval_spoils_no_good_one() -> None:
    one = first(witness={"threshold": 1, "witnesses": [{"id": WITNESS.multikey}]})
    good = approval(one)
    bad = {"versionId": good["versionId"], "proof": [1, {}, good["proof"][0] | {"proofValue": "z1"}]}
    verify(one, witness_file=json.dumps([bad, good]).encode())
    with pytest.raises(LogInvalid, match="Too few witnesses"):
        verify(one, witness_file=json.dumps([bad]).encode())


def test_witnesses_approve_own_dismissal_and_appointment() -> None:
    guarded = {"threshold": 1, "witnesses": [{"id": f"did:key:{WITNESS.multikey}"}]}
    one = first(witness=guarded)
    two = following(one, witness={})
    three = following(two)
    with pytest.raises(LogInvalid, match="witnesses"):
        verify(one, two, three, witness_file=json.dumps([approval(one)]).encode())
    verify(one, two, three, witness_file=json.dumps([approval(two)]).encode())
    plain = first()
    appointed = following(plain, witness=guarded)
    with pytest.raises(LogInvalid, match="witness"):
        verify(plain, appointed)
    verify(plain, appointed, witness_file=json.dumps([approval(appointed)]).encode())
