"""C2SP tlog-policy: what is read, what is refused, and when a checkpoint is valid."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import combinations

import pytest

from identity_codec import ed25519
from identity_tlog import mldsa
from identity_tlog.note import (
    LOG,
    WITNESS,
    WITNESS_ML_DSA,
    Checkpoint,
    VerifierKey,
    cosignature_line,
    cosignature_message,
)
from identity_tlog.policy import MAX_LINES, MAX_POLICY, WitnessPolicy, label
from identity_tlog.tree import Malformed, Refuted

CHECKPOINT = Checkpoint("id.example/log", 7, bytes(range(32)))
NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)


def pair_of(number: int) -> ed25519.Ed25519KeyPair:
    return ed25519.generate(bytes([number]) * 32)


def key_of(number: int, kind: int = WITNESS, name: str = "") -> VerifierKey:
    return VerifierKey(name or f"w{number}.example", pair_of(number).public, kind)


LOG_KEY = key_of(100, LOG, CHECKPOINT.origin)
NEXT_KEY = key_of(101, LOG, CHECKPOINT.origin)
LINES = [f"witness X{number} {key_of(number)}" for number in (1, 2, 3)] + [
    f"witness Y{number} {key_of(number)} https://y.example/{number}" for number in (4, 5, 6)
]
# The example of the specification.
EXAMPLE = "\n".join(
    [
        f"log {LOG_KEY} https://id.example/api/v1/ledger",
        "# of one organization",
        *LINES[:3],
        "group X-witnesses 2 X1 X2 X3",
        "",
        *LINES[3:],
        " \tgroup  Y-witnesses\tany Y4 Y5 Y6 ",
        "group X-and-Y all X-witnesses Y-witnesses",
        "quorum X-and-Y",
        "",
    ]
)


def signed(*numbers: int, by: tuple[int, ...] = (100,), at: datetime = NOON) -> bytes:
    data = f"{CHECKPOINT.text}\n".encode()
    for number in by:
        key = key_of(number, LOG, CHECKPOINT.origin)
        data += key.line(pair_of(number).sign(CHECKPOINT.text.encode())).encode()
    for place, number in enumerate(numbers):
        seconds = int(at.timestamp()) + place
        signature = pair_of(number).sign(cosignature_message(CHECKPOINT.text, seconds))
        data += cosignature_line(key_of(number), seconds, signature).encode()
    return data


def test_the_example_of_the_specification() -> None:
    policy = WitnessPolicy.parse(EXAMPLE.encode())
    assert (len(policy.logs), len(policy.witnesses), policy.quorum) == (1, 6, "X-and-Y")
    assert [(one.name, one.threshold) for one in policy.groups] == [
        ("X-witnesses", 2),
        ("Y-witnesses", 1),
        ("X-and-Y", 2),
    ]
    assert policy.logs[0].url == "https://id.example/api/v1/ledger"
    assert [one.url for one in policy.witnesses[:4]] == [None, None, None, "https://y.example/4"]


def test_a_quorum_is_what_the_groups_say() -> None:
    policy = WitnessPolicy.parse(EXAMPLE.encode())
    names = [one.name for one in policy.witnesses]
    for count in range(7):
        for chosen in combinations(names, count):
            in_x, in_y = (sum(name[0] == letter for name in chosen) for letter in "XY")
            assert policy.is_met(chosen) == (in_x >= 2 and in_y >= 1)


def test_a_checkpoint_needs_its_log_and_the_quorum() -> None:
    policy = WitnessPolicy.parse(EXAMPLE.encode())
    opened = policy.open(signed(1, 3, 5))
    assert opened.checkpoint == CHECKPOINT
    assert set(opened.cosigned) == {"X1", "X3", "Y5"}
    for data, says in (
        (signed(1, 3), "not a quorum"),
        (signed(1, 4, 5), "not a quorum"),
        # Of a signer that is not in the policy.
        (signed(1, 9, 5), "not a quorum"),
        (signed(1, 3, 5, by=(102,)), "not signed by the key"),
        (signed(1, 3, 5).replace(b"id.example", b"no.example"), "knows no log"),
        (signed(1, 3, 5).replace(b"\n7\n", b"\n8\n"), "is wrong"),
        # The same line twice is one cosignature.
        (signed(1) + signed(1, 5)[len(signed()) :], "not a quorum"),
    ):
        with pytest.raises(Refuted, match=says):
            policy.open(data)


def test_a_log_that_changes_its_key_is_known_by_either() -> None:
    policy = WitnessPolicy.parse(f"log {LOG_KEY}\nlog {NEXT_KEY}\nquorum none\n".encode())
    for by in ((100,), (101,), (100, 101)):
        assert policy.open(signed(by=by)).checkpoint == CHECKPOINT
    spoilt = signed(by=(100,)) + NEXT_KEY.line(bytes(64)).encode()
    with pytest.raises(Refuted, match="is wrong"):
        policy.open(spoilt)
    # A log that is known from elsewhere needs no line.
    assert WitnessPolicy.parse(b"quorum none").open(signed(), logs=[LOG_KEY]).cosigned == {}


def test_the_time_is_that_of_the_last_whom_the_quorum_needed() -> None:
    policy = WitnessPolicy.parse(EXAMPLE.encode())
    times = {
        "Y6": NOON,
        "X1": NOON + timedelta(seconds=1),
        "X2": NOON + timedelta(seconds=2),
        "X3": NOON + timedelta(hours=1),
    }
    assert policy.met_at(times) == NOON + timedelta(seconds=2)
    assert policy.met_at({"Y6": NOON, "X1": NOON}) is None
    assert WitnessPolicy.parse(f"{LINES[0]}\nquorum none".encode()).met_at({"X1": NOON}) is None


def test_a_name_is_octets() -> None:
    kelvin = "\u212a".encode()
    text = b"witness K %b\nwitness %b %b http://\xff/\ngroup G\xfe all K %b\nquorum G\xfe\n"
    policy = WitnessPolicy.parse(text % (str(key_of(1)).encode(), kelvin, str(key_of(2)).encode(), kelvin))
    assert not policy.is_met(["K"])
    assert policy.is_met([one.name for one in policy.witnesses])
    odd = WitnessPolicy.parse(b"witness \xff %b\nquorum \xff" % str(key_of(1)).encode())
    assert label(odd.witnesses[0].name) == "\ufffd"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no quorum"),
        ("quorum none\nquorum none", "line 2 .*second quorum"),
        ("quorum X1", "not defined"),
        (f"quorum X1\n{LINES[0]}", "line 1 .*not defined"),
        ("quorum", "neither"),
        ("quorum none none", "neither"),
        ("Quorum none", "neither"),
        (f"witness none {key_of(1)}\nquorum none", "taken"),
        (f"{LINES[0]}\nwitness X1 {key_of(2)}\nquorum none", "taken"),
        (f"{LINES[0]}\nwitness X2 {key_of(1, name='other.example')}\nquorum none", "key was there"),
        (f"log {LOG_KEY}\nlog {key_of(100, LOG, 'else.example')}\nquorum none", "key was there"),
        (f"log {key_of(1)}\nquorum none", "kind"),
        (f"witness X1 {LOG_KEY}\nquorum none", "kind"),
        (f"{LINES[0]} a b\nquorum none", "neither"),
        ("witness X1\nquorum none", "neither"),
        ("witness X1 w+00000000+AAAA\nquorum none", "line 1"),
        (f"{LINES[0]}\ngroup G 0 X1\nquorum G", "threshold"),
        (f"{LINES[0]}\ngroup G 2 X1\nquorum G", "threshold"),
        (f"{LINES[0]}\ngroup G 01 X1\nquorum G", "threshold"),
        (f"{LINES[0]}\ngroup G \u0661 X1\nquorum G", "threshold"),
        (f"{LINES[0]}\ngroup G some X1\nquorum G", "threshold"),
        (f"{LINES[0]}\ngroup G all\nquorum G", "neither"),
        (f"{LINES[0]}\ngroup G any X1 X1\nquorum G", "twice"),
        (f"{LINES[0]}\ngroup G any X1\ngroup H any X1\nquorum H", "of two groups"),
        (f"{LINES[0]}\ngroup G any G\nquorum G", "not defined"),
        (f"{LINES[0]}\ngroup G any none\nquorum G", "not defined"),
        (f"{LINES[0]}\ngroup X1 any X1\nquorum X1", "taken"),
        ("quorum none\r\n", "control"),
        ("# \x00\nquorum none", "control"),
        ("quorum none\x7f", "control"),
        ("quorum\u00a0none", "neither"),
        ("#\n" * (MAX_LINES + 1) + "quorum none", "too large"),
        ("#" * MAX_POLICY + "\nquorum none", "too large"),
    ],
)
def test_malformed_policy_is_refused(text: str, says: str) -> None:
    with pytest.raises(Malformed, match=says):
        WitnessPolicy.parse(text.encode())


def test_limits_leave_room_for_what_others_write() -> None:
    """At least 32 of each (tlog-policy, "Implementation limits"); a chain of groups is not a recursion."""
    lines = [f"log {key_of(number, LOG)}" for number in range(64)]
    lines += [f"witness w{number} {key_of(number)}" for number in range(64)]
    lines += ["group g0 all w0", *(f"group g{number} all g{number - 1}" for number in range(1, 200)), "quorum g199"]
    policy = WitnessPolicy.parse("\n".join(lines).encode())
    assert policy.is_met(["w0"])
    assert not policy.is_met(["w1"])
    with pytest.raises(Malformed, match="more than"):
        WitnessPolicy.parse(
            "\n".join([*lines, *(f"group h{number} all w{number}" for number in range(1, 60))]).encode()
        )


needs_ml_dsa = pytest.mark.skipif(not mldsa.is_available(), reason="cryptography has no ML-DSA-44 here")


def ml_dsa_line(pair: mldsa.MlDsaKeyPair, key: VerifierKey, seconds: int, **other: object) -> bytes:
    """Built from C2SP tlog-cosignature, "ML-DSA-44 signed message", by hand."""
    said = {
        "name": key.name,
        "origin": CHECKPOINT.origin,
        "start": 0,
        "end": 7,
        "time": seconds,
        "root": CHECKPOINT.root,
    }
    said |= other
    name, origin = (str(said[one]).encode() for one in ("name", "origin"))
    message = b"subtree/v1\n\x00" + bytes([len(name)]) + name + int(str(said["time"])).to_bytes(8, "big")
    message += bytes([len(origin)]) + origin + int(str(said["start"])).to_bytes(8, "big")
    message += int(str(said["end"])).to_bytes(8, "big") + bytes(said["root"])  # type: ignore[call-overload]
    return key.line(seconds.to_bytes(8, "big") + pair.sign(message)).encode()


@needs_ml_dsa
def test_a_cosignature_with_ml_dsa_44_counts() -> None:
    pair = mldsa.generate(bytes(range(32)))
    key = VerifierKey("pq.example/w1", pair.public, WITNESS_ML_DSA)
    assert VerifierKey.parse(str(key)) == key
    policy = WitnessPolicy.parse(f"log {LOG_KEY}\nwitness PQ {key}\nquorum PQ".encode())
    seconds = int(NOON.timestamp())
    assert policy.open(signed() + ml_dsa_line(pair, key, seconds)).cosigned == {"PQ": NOON}
    wrong: list[dict[str, object]] = [
        {"name": "pq.example/w2"},
        {"origin": "else.example"},
        {"start": 1},
        {"end": 8},
        {"time": seconds + 1},
        {"root": bytes(32)},
    ]
    for other in wrong:
        with pytest.raises(Refuted, match="is wrong"):
            policy.open(signed() + ml_dsa_line(pair, key, seconds, **other))
    with pytest.raises(Refuted, match="another form"):
        policy.open(signed() + ml_dsa_line(pair, key, 0))
    with pytest.raises(Refuted, match="another form"):
        policy.open(signed() + key.line(seconds.to_bytes(8, "big") + bytes(64)).encode())


@needs_ml_dsa
def test_missing_ml_dsa_44_means_unknown_key(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = mldsa.generate(bytes(32))
    key = VerifierKey("pq.example/w1", pair.public, WITNESS_ML_DSA)
    data = signed(1) + ml_dsa_line(pair, key, int(NOON.timestamp()))
    monkeypatch.setattr(mldsa, "_implementation", lambda: None)
    policy = WitnessPolicy.parse(f"log {LOG_KEY}\n{LINES[0]}\nwitness PQ {key}\ngroup G any X1 PQ\nquorum G".encode())
    assert set(policy.open(data).cosigned) == {"X1"}
    with pytest.raises(Refuted, match="not a quorum"):
        WitnessPolicy.parse(f"log {LOG_KEY}\nwitness PQ {key}\nquorum PQ".encode()).open(data)


def test_a_key_of_ml_dsa_44_has_its_length() -> None:
    with pytest.raises(Malformed, match="not an ML-DSA-44"):
        VerifierKey("pq.example/w1", bytes(32), WITNESS_ML_DSA)
    with pytest.raises(Malformed, match="UTF-8"):
        VerifierKey("\udcff", pair_of(1).public)
