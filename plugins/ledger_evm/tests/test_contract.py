"""The contract: what is shipped is what the source says, and what stands on the chain."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import time
from pathlib import Path
from typing import Any

import pytest
from identity_ledger_evm.contract import CallUnreadable, Item, append_call, artifact, call, read_append, word
from identity_ledger_evm.fees import Fees
from identity_ledger_evm.sender import Sender

HERE = Path(__file__).resolve().parent


def test_the_shipped_code_is_what_the_compiler_makes() -> None:
    if importlib.util.find_spec("vyper") is None:
        reason = "vyper is not installed, so the contract cannot be compiled again"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    spec = importlib.util.spec_from_file_location("compile_contract", HERE.parent / "compile.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.compiled() == module.RESULT.read_text("utf-8")


def test_deployed_code_is_the_runtime(site: Any) -> None:
    code = site.server.call("eth_getCode", site.settings.contract, "latest")
    assert bytes.fromhex(code[2:]) == artifact().runtime


def test_an_append_can_be_read_back_from_its_octets() -> None:
    items = [Item("did:x:é\0", 0, b""), Item("did:x:2", 7, bytes(range(256)) * 64)]
    assert read_append(append_call(items)) == items
    assert read_append(append_call([])) == []


def test_the_digest_covers_did_version_and_entry() -> None:
    said = b"identity-ledger-evm entry v1\n" + b"\0\0\0\3" + b"a:b" + b"\0" * 7 + b"\2" + b"entry"
    assert Item("a:b", 1, b"entry").digest == hashlib.sha256(said).digest()
    assert len({Item(*one).digest for one in (("a", 0, b"b"), ("ab", 0, b""), ("a", 1, b"b"))}) == 3


@pytest.mark.parametrize("place", [0, 5, 40, 70, 100, 133, 164, 168, 200, -1])
def test_other_octets_are_refused(place: int) -> None:
    data = bytearray(append_call([Item("did:x:1", 3, b"entry" * 9)]))
    data[place] ^= 1
    with pytest.raises(CallUnreadable):
        read_append(bytes(data))


@pytest.mark.parametrize("cut", [1, 4, 30, 60, 100])
def test_octets_that_end_early_are_refused(cut: int) -> None:
    data = append_call([Item("did:x:1", 3, b"entry")])
    with pytest.raises(CallUnreadable):
        read_append(data[:-cut])


def test_octets_behind_the_last_item_are_nobodys() -> None:
    items = [Item("did:x:1", 3, b"entry")]
    assert read_append(append_call(items) + b"more") == items


class Caller:
    """Calls the contract directly, as anybody can."""

    def __init__(self, site: Any, key: str | None = None) -> None:
        self.site = site
        self.sender = Sender(key or site.settings.private_key, site.settings.chain_id)

    def __call__(self, data: bytes) -> Any:
        nonce = int(self.site.server.call("eth_getTransactionCount", self.sender.address, "latest"), 16)
        fees = Fees(10**11, 10**9)
        signed = self.sender.sign(self.site.settings.contract, data, nonce=nonce, gas=3_000_000, fees=fees)
        sent = self.site.server.call("eth_sendRawTransaction", "0x" + signed.raw.hex())
        deadline = time.monotonic() + 60
        while (receipt := self.site.server.call("eth_getTransactionReceipt", sent)) is None:
            assert time.monotonic() < deadline, "the transaction is in no block"
            time.sleep(0.01)
        return receipt

    def read(self, function: str, *arguments: bytes) -> int:
        what = {"to": self.site.settings.contract, "data": "0x" + call(function, *arguments).hex()}
        return int(self.site.server.call("eth_call", what, "latest"), 16)


def names(receipt: Any) -> list[str]:
    topics = {"0x" + topic.hex(): name for name, topic in artifact().topics.items()}
    return [topics[log["topics"][0]] for log in receipt["logs"]]


def test_no_version_is_recorded_twice_whatever_is_sent(site: Any) -> None:
    owner = Caller(site)
    a, b, again = Item("did:x:a", 0, b"1"), Item("did:x:b", 5, b"early"), Item("did:x:a", 0, b"fork")
    receipt = owner(append_call([a, b, again, Item("did:x:a", 1, b"2")]))
    assert names(receipt) == ["Recorded", "Refused", "Refused", "Recorded"]
    assert names(owner(append_call([again, a]))) == ["Refused", "Refused"]
    assert (owner.read("count"), owner.read("versions", a.key), owner.read("versions", b.key)) == (2, 2, 0)


@pytest.mark.parametrize(
    "data",
    [
        append_call([Item("did:x:a", 0, b"1")]),
        call("anchor", bytes(32), word(1)),
        call("revoke", bytes(32)),
        call("offer_ownership", bytes(32)),
        call("take_ownership"),
    ],
    ids=["append", "anchor", "revoke", "offer", "take"],
)
def test_a_stranger_may_do_nothing(site: Any, data: bytes) -> None:
    stranger = Caller(site, site.server.new_key())
    assert stranger(data)["status"] == "0x0"
    assert stranger.read("count") == 0
    assert stranger.read("owner") == int(Caller(site).sender.address, 16)


def test_a_root_and_a_leaf_are_recorded_once(site: Any) -> None:
    owner = Caller(site)
    root = b"\7" * 32
    first = owner(call("anchor", root, word(9)))
    assert (first["status"], names(first)) == ("0x1", ["Anchored"])
    assert owner(call("anchor", root, word(9)))["status"] == "0x0"
    assert owner(call("revoke", root))["status"] == "0x1"
    assert owner(call("revoke", root))["status"] == "0x0"
    assert owner.read("anchored", root) == int(first["blockNumber"], 16)
    assert owner.read("revoked", bytes(32)) == 0


def test_ownership_changes_in_two_steps(site: Any) -> None:
    old, new = Caller(site), Caller(site, site.server.new_key())
    to = word(int(new.sender.address, 16))
    assert old(call("offer_ownership", to))["status"] == "0x1"
    assert new(call("anchor", bytes(32), word(1)))["status"] == "0x0"
    assert old(call("anchor", bytes(32), word(1)))["status"] == "0x1"
    assert names(new(call("take_ownership"))) == ["OwnershipTaken"]
    assert old(call("anchor", b"\1" * 32, word(1)))["status"] == "0x0"
    assert new(call("anchor", b"\1" * 32, word(1)))["status"] == "0x1"
    assert new(call("take_ownership"))["status"] == "0x0"


def test_too_many_items_are_refused_whole(site: Any) -> None:
    owner = Caller(site)
    assert owner(append_call([Item(f"did:x:{n}", 0, b"") for n in range(129)]))["status"] == "0x0"
    assert owner.read("count") == 0
