from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity_core.domain.callers import ApiKey
from identity_core.errors import RateLimited
from identity_core.throttle.memory import Decision, TokenBucketMemoryStorage
from identity_core.throttle.policy import (
    BucketEmpty,
    Limit,
    Policy,
    TokenBucketRateLimiter,
    _own_limit,
    bucket_address,
    client_address,
    limit_fields,
    parse_proxies,
)
from tests.unit.throttle.promises import Ticking, run


def api_key(key_id: str = "key_1", rate: float | None = None, burst: int | None = None, lineage: str | None = None):
    created = datetime(2026, 1, 2, tzinfo=UTC)
    return ApiKey(key_id, key_id, "0" * 64, None, None, rate, burst, created, lineage=lineage)


def policy(**limits) -> Policy:
    return Policy(TokenBucketRateLimiter(TokenBucketMemoryStorage(monotonic=Ticking())), **limits)


async def spend(action, times: int) -> int:
    """How many of ``times`` calls pass."""
    passed = 0
    for _ in range(times):
        try:
            await action()
        except RateLimited:
            continue
        passed += 1
    return passed


def test_the_defaults_are_those_of_the_contract():
    async def scenario():
        made = policy()
        return (
            await spend(lambda: made.spend_key(api_key()), 300),
            await spend(lambda: made.spend_address("192.0.2.1"), 300),
            await spend(lambda: made.spend_challenge("192.0.2.1"), 300),
        )

    assert run(scenario()) == (200, 100, 20)
    assert (policy().key.rate, policy().address.rate, policy().challenge.rate) == (100, 50, 5)


def test_costly_request_takes_at_most_full_bucket():
    async def scenario():
        made = policy()
        return (
            await spend(lambda: made.spend_key(api_key(), 40), 300),
            await spend(lambda: made.spend_address("192.0.2.1", 40), 300),
            await spend(lambda: made.spend_address("192.0.2.2", 100_000), 300),
            await spend(lambda: made.spend_address("192.0.2.1"), 300),
        )

    assert run(scenario()) == (5, 2, 1, 20)


def test_every_did_has_its_own_bucket():
    async def scenario():
        made = policy(did=Limit("did", 0.001, 3))
        first = await spend(lambda: made.spend_did("did:did:ids:hana"), 5)
        other = await spend(lambda: made.spend_did("did:did:ids:aki", 2), 5)
        fields = await policy().spend_did("did:did:ids:hana")
        return first, other, fields

    assert run(scenario()) == (
        3,
        1,
        [("RateLimit-Policy", '"did";q=200;w=2'), ("RateLimit", '"did";r=199;t=1')],
    )


def test_an_empty_bucket_of_challenges_names_the_way_out():
    async def scenario():
        made, found = policy(), []
        for _ in range(21):
            try:
                await made.spend_challenge("192.0.2.1")
            except BucketEmpty as error:
                found.append(error.details)
        return found

    [details] = run(scenario())
    assert "X-API-Key" in details["remedy"]
    assert details["retryAfter"] == 1


def test_a_challenge_costs_one_token_of_the_address():
    async def scenario():
        made = policy()
        fields = await made.spend_challenge("192.0.2.1")
        left = await spend(lambda: made.spend_challenge("192.0.2.1"), 50)
        return fields, left, await spend(lambda: made.spend_address("192.0.2.1"), 300)

    assert run(scenario()) == (
        [("RateLimit-Policy", '"challenge";q=20;w=4'), ("RateLimit", '"challenge";r=19;t=1')],
        19,
        100,
    )


def test_a_key_with_limits_of_its_own():
    async def scenario():
        made = policy()
        return [
            await spend(lambda: made.spend_key(api_key("both", 1.0, 7)), 50),
            await spend(lambda: made.spend_key(api_key("burst", None, 9)), 50),
            await spend(lambda: made.spend_key(api_key("rate", 2.0, None)), 50),
            await spend(lambda: made.spend_key(api_key("tiny", 0.001, None)), 50),
        ]

    assert run(scenario()) == [7, 9, 4, 1]


def test_each_key_has_its_own_bucket():
    async def scenario():
        made = policy(key=Limit("key", 0.001, 3))
        first = await spend(lambda: made.spend_key(api_key("key_1")), 5)
        other = await spend(lambda: made.spend_key(api_key("key_2")), 5)
        successor = await spend(lambda: made.spend_key(api_key("key_3", lineage="key_1")), 5)
        return first, other, successor

    assert run(scenario()) == (3, 3, 0)


def test_a_hot_key_costs_nobody_else():
    async def scenario():
        made = policy()
        await spend(lambda: made.spend_key(api_key("hot")), 1_000)
        return await spend(lambda: made.spend_key(api_key("cold")), 200), await spend(
            lambda: made.spend_address("192.0.2.1"), 100
        )

    assert run(scenario()) == (200, 100)


def test_a_refusal_says_when_to_come_back():
    async def scenario():
        made = policy(key=Limit("key", 0.4, 1))
        await made.spend_key(api_key())
        await made.spend_key(api_key())

    with pytest.raises(BucketEmpty) as refused:
        run(scenario())
    assert refused.value.code == "RATE_LIMITED"
    assert refused.value.details == {"retryAfter": 3}
    assert refused.value.headers == [("RateLimit-Policy", '"key";q=1;w=3'), ("RateLimit", '"key";r=0;t=3')]


def test_an_answer_says_what_is_left():
    async def scenario():
        made = policy()
        return await made.spend_key(api_key()), await made.spend_address("192.0.2.1")

    key, address = run(scenario())
    assert key == [("RateLimit-Policy", '"key";q=200;w=2'), ("RateLimit", '"key";r=199;t=1')]
    assert address == [("RateLimit-Policy", '"address";q=100;w=2'), ("RateLimit", '"address";r=99;t=1')]


@given(
    st.floats(0.001, 1e6),
    st.integers(1, 10**6),
    st.floats(0, 1),
    st.booleans(),
)
def test_the_fields_are_always_structured_fields(rate, burst, fill, allowed):
    remaining = int(burst * fill)
    decision = Decision(allowed, remaining, 0.0 if allowed else 0.3, (burst - remaining) / rate)
    fields = dict(limit_fields(Limit("key", rate, burst), decision))
    assert re.fullmatch(r'"key";q=[1-9][0-9]{0,14};w=[1-9][0-9]{0,14}', fields["RateLimit-Policy"])
    match = re.fullmatch(r'"key";r=([0-9]{1,15});t=([0-9]{1,15})', fields["RateLimit"])
    assert match
    assert int(match[1]) <= burst


@pytest.mark.parametrize(("rate", "burst"), [(0, 1), (-1, 1), (1, 0), (float("nan"), 1)])
def test_a_limit_that_lets_nothing_through_is_refused(rate, burst):
    with pytest.raises(ValueError, match="key"):
        Limit("key", rate, burst)


@pytest.mark.parametrize(
    ("address", "bucket"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("fe80::1%eth0", "fe80::/64"),
        (None, "unknown"),
        ("", "unknown"),
        ("/run/identity.sock", "unknown"),
        ("192.0.2.01", "unknown"),
    ],
)
def test_the_bucket_of_an_address(address, bucket):
    assert bucket_address(address) == bucket


PROXIES = parse_proxies(["10.0.0.0/8", "2001:db8:ff::/48", "192.0.2.7"])


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("198.51.100.1", None, "198.51.100.1"),
        ("198.51.100.1", "203.0.113.9", "198.51.100.1"),
        ("10.0.0.1", None, "10.0.0.1"),
        ("10.0.0.1", "203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", " 203.0.113.9 ", "203.0.113.9"),
        ("10.0.0.1", "1.1.1.1, 203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", "1.1.1.1, 203.0.113.9, 10.9.9.9, 192.0.2.7", "203.0.113.9"),
        ("10.0.0.1", "10.0.0.2, 10.0.0.3", "10.0.0.2"),
        ("10.0.0.1", "203.0.113.9, nonsense", "10.0.0.1"),
        ("10.0.0.1", "nonsense, 203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", "203.0.113.9, nonsense, 10.0.0.2", "10.0.0.2"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", ",", "10.0.0.1"),
        ("10.0.0.1", "203.0.113.9:4711", "203.0.113.9"),
        ("10.0.0.1", "[2001:db8::1]:4711", "2001:db8::1"),
        ("10.0.0.1", "[2001:db8::1]", "2001:db8::1"),
        ("10.0.0.1", "2001:db8::1", "2001:db8::1"),
        ("2001:db8:ff::1", "203.0.113.9", "203.0.113.9"),
        ("::ffff:10.0.0.1", "203.0.113.9", "203.0.113.9"),
        (None, "203.0.113.9", None),
    ],
)
def test_client_address_behind_proxies(peer, forwarded, client):
    assert client_address(peer, forwarded, PROXIES) == client


def test_without_proxies_the_header_is_not_read():
    assert client_address("10.0.0.1", "203.0.113.9", ()) == "10.0.0.1"


@given(st.text(max_size=60))
def test_no_header_gives_a_client_an_address_that_is_none(forwarded):
    assert bucket_address(client_address("10.0.0.1", forwarded, PROXIES)) != "unknown"


@pytest.mark.parametrize("entry", ["nonsense", "10.0.0.0/33", "", "10.0.0.1:80"])
def test_a_proxy_that_is_no_network_stops_the_start(entry):
    with pytest.raises(ValueError):
        parse_proxies([entry])


def test_addresses_and_own_limits_are_worked_out_once():
    assert bucket_address("2001:db8::1") is bucket_address("2001:db8::1")
    assert _own_limit(5.0, None, Limit("key", 100.0, 200)) is _own_limit(5.0, None, Limit("key", 100.0, 200))


@pytest.mark.parametrize(("rate", "window"), [(100.0, 1), (50.0, 1), (49.0, 2), (1.0, 50), (float("inf"), 1)])
def test_window_fills_bucket_in_at_least_a_second(rate, window):
    assert Limit("key", rate, 50).field == f'"key";q=50;w={window}'


@pytest.mark.parametrize("rate", [5e-324, 1e-300])
def test_a_key_of_a_tiny_rate_is_answered(rate: float) -> None:
    """Each request with such a key, of before there was a least rate, answered 500 or an integer of 300 digits (RFC 9651: 15)."""
    limit = _own_limit(rate, 1_000_000, Limit("key", 100.0, 200))
    assert max(map(len, re.findall(r"[0-9]+", limit.field))) <= 15
