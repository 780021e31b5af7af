"""The place of a DID's document, and the addresses that may be fetched."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from identity_did_web.addresses import Addresses, NoSuchHost, is_public
from identity_did_web.location import Location, locate

from identity_core.domain.dids.did import Did
from identity_core.errors import InvalidDid


@pytest.mark.parametrize(
    ("identifier", "location"),
    [
        ("example.com", Location("example.com", 443, "/.well-known/did.json")),
        ("example.com%3A8443", Location("example.com", 8443, "/.well-known/did.json")),
        ("example.com:users:hana", Location("example.com", 443, "/users/hana/did.json")),
        ("a-b.example.co%3A1:x%20y", Location("a-b.example.co", 1, "/x%20y/did.json")),
        ("xn--bcher-kva.example", Location("xn--bcher-kva.example", 443, "/.well-known/did.json")),
    ],
)
def test_places(identifier: str, location: Location) -> None:
    assert locate(Did.parse(f"did:web:{identifier}")) == location


@pytest.mark.parametrize(
    "identifier",
    [
        *("localhost", "127.0.0.1", "0x7f.1", "1.2.3", "example.0x7f", "EXAMPLE.com", "example.com.", ".example.com"),
        *("example..com", "-a.example", "a-.example", "example.com%3a8443", "example.com%3A", "example.com%3A0"),
        *("example.com%3A65536", "example.com%3A08", "example.com%3A8443%3A1", "example.com%2Fx", "user%40example.com"),
        *("example.com:..", "example.com:%2e%2e:x", "example.com:a%2Fb", "example.com:a%5Cb", "example.com:a%3Fb"),
        *("example.com:a%23b", "example.com:a%00b", "example.com:a%0Ab", "example.com:%252e%252e", "example.com:%FFb"),
        *("example.com::x", "example%2Ecom", "%31%32%37.0.0.1", f"{'a' * 64}.example", f"{'a.' * 130}example"),
    ],
)
def test_places_that_are_refused(identifier: str) -> None:
    with pytest.raises(InvalidDid):
        locate(Did.parse(f"did:web:{identifier}"))


@pytest.mark.parametrize("address", ["93.184.215.14", "1.1.1.1", "2606:4700:4700::1111", "::ffff:1.1.1.1"])
def test_public_addresses(address: str) -> None:
    assert is_public(ipaddress.ip_address(address), ())


@pytest.mark.parametrize(
    "address",
    [
        *(
            "127.0.0.1",
            "127.1.2.3",
            "0.0.0.0",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
        ),
        *("100.100.100.200", "168.63.129.16", "192.0.0.192", "198.18.0.1", "224.0.0.1", "239.255.255.250", "240.0.0.1"),
        *("255.255.255.255", "192.0.2.1", "192.88.99.1", "::", "::1", "fe80::1", "fc00::1", "fd00:ec2::254", "fec0::1"),
        *("ff02::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1"),
        *("2002:7f00:1::", "2001::1", "2001:db8::1", "100::1", "fe80::1%1"),
    ],
)
def test_addresses_that_are_not_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address), ())


def test_an_operator_opens_networks() -> None:
    ten = (ipaddress.ip_network("10.1.0.0/16"),)
    assert is_public(ipaddress.ip_address("10.1.2.3"), ten)
    assert is_public(ipaddress.ip_address("::ffff:10.1.2.3"), ten)
    assert not is_public(ipaddress.ip_address("10.2.0.1"), ten)


def build_addresses(*answers: str, error: Exception | None = None) -> tuple[Addresses, list[str]]:
    calls: list[str] = []

    def look_up(name: str, port: int, *_: Any) -> list[Any]:
        calls.append(name)
        if error is not None:
            raise error
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (answer, port)) for answer in answers]

    return Addresses(ThreadPoolExecutor(1), (), look_up), calls


def test_a_name_is_looked_up_once_and_the_first_address_taken() -> None:
    addresses, calls = build_addresses("1.1.1.1", "1.0.0.1")
    assert asyncio.run(addresses.resolve("example.com", 443)) == "1.1.1.1"
    assert calls == ["example.com"]
    addresses.close()


@pytest.mark.parametrize("answers", [("10.0.0.1",), ("1.1.1.1", "10.0.0.1"), ("1.1.1.1", "::1"), ()])
def test_one_address_that_is_not_public_refuses_the_host(answers: tuple[str, ...]) -> None:
    with pytest.raises(NoSuchHost):
        asyncio.run(build_addresses(*answers)[0].resolve("example.com", 443))


def test_missing_name_differs_from_failed_lookup() -> None:
    with pytest.raises(NoSuchHost):
        asyncio.run(build_addresses(error=socket.gaierror(socket.EAI_NONAME, "x"))[0].resolve("example.com", 443))
    with pytest.raises(OSError, match="later"):
        asyncio.run(build_addresses(error=socket.gaierror(socket.EAI_AGAIN, "later"))[0].resolve("example.com", 443))
