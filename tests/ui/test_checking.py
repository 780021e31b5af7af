"""Logs that are pasted into the verify page: what the browser finds, and that nothing of them is sent."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from identity_commands.verify_log import unnamed_keys, verify
from identity_did_ids.entry import multihash, proof_config
from identity_did_ids.service_log import read as read_service_log
from identity_kit.conformance.controller import WalletSigner
from nacl.signing import SigningKey
from playwright.sync_api import Page, expect

from identity_client.data_integrity import proof_input
from identity_codec import jcs, multibase, multikey
from identity_codec.multibase import base58btc_encode
from identity_codec.times import printed
from identity_core.api.contract import load_document
from identity_core.domain.dids.changes import RetireLogKey, RotateLogKey
from identity_core.domain.dids.logs import check_not_retired, key_hash
from identity_core.domain.dids.state import LogInvalid
from identity_tlog.leaf import LogLeaf, verify_entry
from identity_tlog.note import WITNESS, Checkpoint, VerifierKey, cosignature_line, cosignature_message, sign_checkpoint
from identity_tlog.policy import WitnessPolicy
from identity_tlog.proofs import TlogProof, consistency_spans, inclusion_spans
from identity_tlog.tree import Malformed, Refuted, leaf_hash, node_hash
from tests.attack.log_forger import signed_by_no_key
from tests.client.mutated_logs import log_of, mutated_logs
from tests.client.own_logs import EVE, NEXT, SIGNER, RandomLife, is_good, own_logs, rewritten
from tests.client.webvh_cases import WEBVH, WEBVH_NOW, judged
from tests.ui.visiting import MARKUP, Open, Site, examine

Entry = dict[str, Any]
MALLORY = SigningKey(b"m" * 32)
HERS = multikey.encode_public(multikey.ED25519, bytes(MALLORY.verify_key))
OF_LOGS = ["form", "identifier", "order", "hash", "keys", "signature", "controller", "change"]
OF_WEBVH = [*OF_LOGS[:6], "witnesses"]
OF_PLACES = ["place", "path", "checkpoint"]


def shown_log() -> list[Entry]:
    """The log that the document shows: a creation and changes."""
    forms = load_document().value["paths"]["/dids/{did}/log"]["get"]["responses"]["200"]["content"]
    text = next(iter(forms["text/jsonl"]["examples"].values()))["value"]
    return [json.loads(line) for line in text.splitlines()]


def written(entries: list[Entry]) -> str:
    return "".join(jcs.canonicalize(entry).decode() + "\n" for entry in entries)


def changed(place: int, change: Callable[[Entry], object], *, signer: str | None = None) -> str:
    """The log with another entry; with ``signer`` the hash is the right one again, and Mallory's signature says to be by that key."""
    entries = shown_log()
    entry = entries[place]
    change(entry)
    if signer is not None:
        body = {name: entry[name] for name in entry if name != "proof"} | {"versionId": entries[place - 1]["versionId"]}
        digest = hashlib.sha256(jcs.canonicalize(body)).digest()
        entry["versionId"] = f"{place % len(entries) + 1}-{multibase.base58_encode(bytes([0x12, 0x20]) + digest)}"
        body["versionId"] = entry["versionId"]
        config = {name: value for name, value in entry["proof"][0].items() if name != "proofValue"}
        config["verificationMethod"] = f"did:key:{signer}#{signer}"
        data = b"".join(hashlib.sha256(jcs.canonicalize(part)).digest() for part in (config, body))
        entry["proof"] = [config | {"proofValue": multibase.base58btc_encode(MALLORY.sign(data).signature)}]
    return written(entries)


def renamed(entry: Entry) -> object:
    return entry["state"].update(alsoKnownAs=["https://eve.example"])


LOG = shown_log()
LAST = len(LOG) - 1
FIRST, *LATER = written(LOG).splitlines(keepends=True)
KEY = LOG[0]["parameters"]["updateKeys"][0]
VALUE = LOG[0]["proof"][0]["proofValue"]
WRONG = {
    "with a blank": (written(LOG).replace('{"parameters"', '{ "parameters"', 1), "form"),
    "with two members of one name": (FIRST.replace('"parameters":', '"parameters":{},"parameters":', 1), "form"),
    "of no objects": ("[]", "form"),
    "of no JSON": (MARKUP, "form"),
    "too long": ("9" * 20_000, "form"),
    "deep": ("[" * 16_000, "form"),
    "with half a character": (
        changed(0, lambda one: one["state"].update(id="half")).replace("half", "\\ud800"),
        "form",
    ),
    "of another method": (changed(0, lambda one: one["parameters"].update(method="did:webvh:1.0:x")), "method"),
    "of another DID": (changed(0, lambda one: one["state"].update(id="did:ids:" + "Qm" + "1" * 44)), "identifier"),
    "with another first document": (changed(0, renamed), "identifier"),
    "without its first entry": ("".join(LATER), "order"),
    "with an entry twice": (FIRST + FIRST, "order"),
    "of an earlier time": (
        changed(LAST, lambda one: one.update(versionTime="2020-01-01T00:00:00.000000Z"), signer=KEY),
        "order",
    ),
    "with another later document": (changed(LAST, renamed), "hash"),
    "signed by a stranger": (changed(LAST, renamed, signer=HERS), "keys"),
    "signed in the name of its key": (changed(LAST, renamed, signer=KEY), "signature"),
    "with another signature": (FIRST.replace(VALUE, "z" + "2" * 87), "signature"),
    "with a signature in another form": (FIRST.replace(VALUE, "z1" + VALUE[1:]), "signature"),
    "with two proofs": (changed(0, lambda one: one["proof"].append(one["proof"][0])), "signature"),
}


def committed(parameters: Entry, signer: WalletSigner) -> str:
    """Two entries: the first commits to the keys of the log and of its successor, the second says ``parameters`` and is by ``signer``."""
    first, now = RandomLife(1).entries[0], "2026-02-02T03:04:05.000000Z"
    body = {"versionTime": now, "parameters": parameters, "state": json.loads(first)["state"]}
    body["versionId"] = json.loads(first)["versionId"]
    body["versionId"] = f"2-{multihash(jcs.canonicalize(body))}"
    config = proof_config(signer.multikey, now)
    value = base58btc_encode(signer._pair.sign(proof_input(config, body)))
    return f"{first.decode()}\n{jcs.canonicalize(body | {'proof': [config | {'proofValue': value}]}).decode()}\n"


WRONG |= {
    "handed to a key without a commitment": (
        committed({"updateKeys": [EVE.multikey], "nextKeyHashes": [key_hash(EVE.multikey)]}, EVE),
        "keys",
    ),
    "with a key more than was committed to": (
        committed({"updateKeys": [SIGNER.multikey, EVE.multikey], "nextKeyHashes": [key_hash(EVE.multikey)]}, SIGNER),
        "keys",
    ),
    "that commits to nothing any more": (committed({"updateKeys": [SIGNER.multikey]}, SIGNER), "keys"),
    "that says no keys any more": (committed({}, SIGNER), "keys"),
}
WRONG = {
    "unsigned under a key of small order": (signed_by_no_key(shown_log()[0]).decode(), "keys"),
    **WRONG,
}

LOG_KEY = SigningKey(b"k" * 32)
VERIFIER = VerifierKey("ledger.example", bytes(LOG_KEY.verify_key))


def leaf(number: int, entry: bytes) -> bytes:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return LogLeaf(number, f"{number:064x}", number, at, "did:ids:x", 1, entry).encode()


LEAVES = [leaf(number, b"{}") for number in range(1, 8)]


def root(first: int, end: int, leaves: list[bytes] = LEAVES) -> bytes:
    if end - first == 1:
        return leaf_hash(leaves[first])
    split = first + (1 << ((end - first - 1).bit_length() - 1))
    return node_hash(root(first, split, leaves), root(split, end, leaves))


def place(
    index: int,
    *,
    size: int | None = None,
    proven: int | None = None,
    signer: SigningKey = LOG_KEY,
    leaves: list[bytes] = LEAVES,
) -> str:
    """As ``identity ledger prove`` writes it; ``proven`` is another place that it claims."""
    size = size or len(leaves)
    checkpoint = Checkpoint(VERIFIER.name, size, root(0, size, leaves))
    note = sign_checkpoint(checkpoint, VERIFIER, signer.sign(checkpoint.text.encode()).signature)
    hashes = tuple(root(*span, leaves) for span in inclusion_spans(index, size))
    return TlogProof(index if proven is None else proven, hashes, note, leaves[index]).encode().decode()


SHORT = place(0).split("\n")
WRONG_PLACES = {
    "another place": (place(2, proven=3), "", "path"),
    "a path that is too short": ("\n".join(SHORT[:3] + SHORT[4:]), "", "path"),
    "a path that is too long": ("\n".join([*SHORT[:3], SHORT[3], *SHORT[3:]]), "", "path"),
    "no entry": ("\n".join(SHORT[:1] + SHORT[2:]), "", "place"),
    "base64 in another form": (place(0).replace("\nindex", "=\nindex", 1), "", "place"),
    "an entry behind a mark": (place(0, leaves=[b"\xef\xbb\xbf" + LEAVES[0]]), "", "place"),
    "a DID that is not text": (place(0, leaves=[LEAVES[0].replace(b"did:ids:x", b"did:ids:\xff")]), "", "place"),
    "no checkpoint": (place(0).partition("\n\n")[0] + "\n\nnothing\n", "", "checkpoint"),
    "a checkpoint that another has signed": (place(0, signer=MALLORY), str(VERIFIER), "signed"),
    "a checkpoint of another log": (place(0), str(VerifierKey("eve.example", VERIFIER.public)), "signed"),
    "a key that is none": (place(0), str(VERIFIER)[:-2], "key"),
}

WITNESSES = [SigningKey(bytes([number]) * 32) for number in (1, 2, 3)]
NAMED = [VerifierKey(f"w{number}.example", bytes(one.verify_key), WITNESS) for number, one in enumerate(WITNESSES)]
SEEN = datetime(2026, 1, 2, tzinfo=UTC)
LINES = [f"log {VERIFIER}", *(f"witness W{number} {key} https://w.example" for number, key in enumerate(NAMED))]


def policy(*more: str, lines: list[str] = LINES) -> str:
    return "\n".join([*lines, *more]) + "\n"


TWO = policy("# any two", "group two 2 W0 W1 W2", "quorum two")
BOTH = policy("group inner any W0 W1", "group outer all inner W2", "quorum outer")


def cosigned(
    *numbers: int, seconds: int = int(SEEN.timestamp()), signer: SigningKey | None = None, text: str | None = None
) -> str:
    """A place whose checkpoint those witnesses have seen, each a minute after the other."""
    found = place(3)
    note = found.split("\n\n")[1] + "\n" if text is None else text
    for minute, number in enumerate(numbers):
        at = seconds + 60 * minute
        message = cosignature_message(note, at)
        found += cosignature_line(NAMED[number], at, (signer or WITNESSES[number]).sign(message).signature)
    return found


RIGHT_POLICIES = {
    "no witness asked": (place(3), policy("quorum none"), ["signed"], None),
    "a witness outside the policy": (cosigned(0), policy("quorum none"), ["signed", "cosigned"], None),
    "two of three": (cosigned(2, 0), TWO, ["signed", "cosigned", "quorum"], "2026-01-02T00:01:00Z"),
    "groups of groups": (cosigned(1, 0, 2), BOTH, ["signed", "cosigned", "quorum"], "2026-01-02T00:02:00Z"),
    "another log beside it": (
        cosigned(0, 1),
        f"log {VerifierKey('eve.example', bytes(MALLORY.verify_key))}\n{TWO}",
        ["signed", "cosigned", "quorum"],
        "2026-01-02T00:01:00Z",
    ),
}
WRONG_POLICIES = {
    "fewer than the quorum": (cosigned(1), TWO, "quorum"),
    "none": (place(3), TWO, "quorum"),
    "one of the wrong group": (cosigned(0, 1), BOTH, "quorum"),
    "the same witness twice": (cosigned(1, 1), TWO, "quorum"),
    "the signature of another": (cosigned(0, 1, signer=MALLORY), TWO, "cosigned"),
    "a wrong one beside a quorum": (
        cosigned(0, 1) + cosigned(2, signer=MALLORY).splitlines()[-1] + "\n",
        TWO,
        "cosigned",
    ),
    "of another checkpoint": (cosigned(0, 1, text="ledger.example\n8\nAAAA\n"), TWO, "cosigned"),
    "of no time": (cosigned(0, 1, seconds=0), TWO, "cosigned"),
    "of a time that no calendar has": (cosigned(0, 1, seconds=253_402_300_800), TWO, "cosigned"),
    "cut short": (cosigned(0) + NAMED[1].line(bytes(71)), TWO, "cosigned"),
    "of a log that the policy does not know": (
        cosigned(0, 1),
        policy("group two 2 W0 W1 W2", "quorum two", lines=LINES[1:]),
        "signed",
    ),
    "signed by another in the log's name": (place(3, signer=MALLORY), policy("quorum none"), "signed"),
    "with a control character": (cosigned(0, 1) + "\u2014 x AAAAAAAA\x01\n", TWO, "checkpoint"),
    "without a quorum line": (cosigned(0, 1), policy("group two 2 W0 W1 W2"), "policy"),
    "with two quorums": (cosigned(0, 1), policy("quorum none", "quorum none"), "policy"),
    "with an undefined quorum": (cosigned(0, 1), policy("quorum all-of-them"), "policy"),
    "with a group of strangers": (cosigned(0, 1), policy("group g 1 W9", "quorum g"), "policy"),
    "with a witness in two groups": (cosigned(0, 1), policy("group g 1 W0", "group h 1 W0", "quorum g"), "policy"),
    "with a witness twice in one": (cosigned(0), policy("group g 2 W0 W0", "quorum g"), "policy"),
    "with one key under two names": (
        cosigned(0),
        policy(f"witness W3 {NAMED[0]}", "group g 2 W0 W3", "quorum g"),
        "policy",
    ),
    "with a threshold of zero": (place(3), policy("group g 0 W0", "quorum g"), "policy"),
    "with a threshold out of reach": (cosigned(0), policy("group g 2 W0", "quorum g"), "policy"),
    "with a threshold that is a name": (place(3), policy("group g constructor W0", "quorum g"), "policy"),
    "with an empty group": (place(3), policy("group g all none", "quorum g"), "policy"),
    "with a witness called none": (place(3), policy(f"witness none {NAMED[0]}", "quorum none"), "policy"),
    "with the key of a log as a witness": (cosigned(0), policy(f"witness L {VERIFIER}", "quorum none"), "policy"),
    "with another word": (cosigned(0), policy("trust everyone", "quorum none"), "policy"),
    "with a key that is none": (cosigned(0), policy("quorum none").replace("+", "-", 1), "policy"),
}


GROWTH = re.compile(r'\{\s*"(?:first|second|hashes)')
"""Files that the page accepts as a proof of growth; each kind has a tab with its own fields."""


def paste(page: Page, text: str, key: str = "", *, beside: str = "", service_did: str = "") -> list[str]:
    """The verdict about a log, and the requirements that the page then names."""
    kind = "place" if text.startswith("c2sp.org/") else "growth" if GROWTH.match(text) else "log"
    if page.locator("#check-log").get_attribute("data-kind") != kind:
        page.locator(f".tabs a[href$='{'check-log' if kind == 'log' else kind}']").click()
        expect(page.locator("#check-log")).to_have_attribute("data-kind", kind)
        page.wait_for_load_state()
    # A verdict takes the place of the one before: what is waited for is the next.
    page.evaluate("document.querySelector('#log-result').hidden = true")
    page.evaluate("document.querySelectorAll('#log-more-fields').forEach((one) => { one.open = true; })")
    page.fill("#log", text)
    for name, value in {"#log-key": key, "#log-beside": beside, "#log-service-did": service_did}.items():
        if value or page.locator(name).count():
            page.fill(name, value)
    page.click("#check-log button")
    expect(page.locator("#log-result")).to_be_visible()
    page.evaluate("document.querySelector('#log-checks').open = true")
    return [
        *page.locator("#log-result > [data-verdict]:visible").evaluate_all(
            "(all) => all.map((one) => one.dataset.verdict)"
        ),
        *page.locator("#log-result [data-requirement]:visible").evaluate_all(
            "(all) => all.map((one) => one.dataset.requirement)"
        ),
    ]


@pytest.fixture
def verifying(site: Site, open_window: Open) -> Page:
    page, _ = open_window()
    page.goto(f"{site.url}/ui/check-log")
    return page


def test_the_browser_finds_of_a_log_what_the_command_line_finds(site: Site, open_window: Open) -> None:
    page, watched = open_window()
    page.goto(f"{site.url}/ui/check-log")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    checked = verify(written(LOG).encode())
    assert paste(page, written(LOG)) == ["holds", *OF_LOGS]
    for said in (checked.did, checked.head, str(checked.versions)):
        expect(page.locator("#log-result dl")).to_contain_text(said)
    watched.look(page)
    examine(page)
    found = {name: paste(page, text) for name, (text, _) in WRONG.items()}
    assert found == {name: ["fails", requirement] for name, (_, requirement) in WRONG.items()}
    expect(page.locator("#log-line")).to_have_text("Line 2:")
    examine(page)
    # The icon of the page may come late.
    assert [url for url in sent if not url.endswith("/icon.svg")] == []


def test_the_browser_finds_where_an_entry_stands(verifying: Page) -> None:
    for index in range(7):
        assert paste(verifying, place(index), str(VERIFIER)) == ["holds", *OF_PLACES, "signed"]
    assert paste(verifying, place(0, size=1)) == ["holds", *OF_PLACES]
    expect(verifying.locator("[data-unchecked=signed]")).to_be_visible()
    expect(verifying.locator("#log-result dl")).to_contain_text("ledger.example")
    found = {name: paste(verifying, text, key) for name, (text, key, _) in WRONG_PLACES.items()}
    assert found == {name: ["fails", requirement] for name, (_, _, requirement) in WRONG_PLACES.items()}
    expect(verifying.locator("[data-unchecked=signed]")).to_be_hidden()


def of_command_line(text: str, given: str) -> str | None:
    """When the quorum was there, as ``identity ledger verify --policy`` says. Raises ``Malformed``, ``Refuted``."""
    at = verify_entry(TlogProof.parse(text.encode()), WitnessPolicy.parse(given.encode())).cosigned_at
    return None if at is None else printed(at)


def test_the_browser_asks_for_the_witnesses_that_a_policy_names(verifying: Page) -> None:
    """What the command line refuses the browser refuses, and the other way round."""
    for name, (text, given, checked, at) in RIGHT_POLICIES.items():
        assert of_command_line(text, given) == at, name
        assert paste(verifying, text, given) == ["holds", *OF_PLACES, *checked], name
        if at is not None:
            expect(verifying.locator("[data-found=cosignedAt] dd")).to_have_text(at)
    expect(verifying.locator("[data-found=witnesses] dd")).to_have_text("W0, W1")
    expect(verifying.locator("[data-unchecked=quorum]")).to_be_hidden()
    assert paste(verifying, place(3), str(VERIFIER))[0] == "holds"
    expect(verifying.locator("[data-unchecked=quorum]")).to_be_visible()
    for text, given, _ in WRONG_POLICIES.values():
        with pytest.raises((Malformed, Refuted)):
            of_command_line(text, given)
    found = {name: paste(verifying, text, given) for name, (text, given, _) in WRONG_POLICIES.items()}
    assert found == {name: ["fails", requirement] for name, (_, _, requirement) in WRONG_POLICIES.items()}
    examine(verifying)


JUDGE = """async ([address, jobs]) => {
  const { verifyLog } = await import(address), told = {};
  for (const [name, { log, witnesses, now }] of Object.entries(jobs)) {
    try {
      const expected = { witnesses: witnesses ?? undefined, now: now && new Date(now) };
      const { did, versions, versionId, deactivated, didDocument } = await verifyLog(log, expected);
      told[name] = { did, versions, versionId, deactivated, didDocument };
    } catch (error) {
      told[name] = error.name === "LogInvalid" ? null : String(error);
    }
  }
  return told;
}"""


def module(page: Page) -> str:
    """The address of what reads logs, as the page imports it."""
    return str(page.evaluate("document.querySelector('link[href$=\"client/log.js\"]').href"))


def test_the_browser_judges_every_log_as_the_service_does(site: Site, open_window: Open) -> None:
    """With the module that the page imports: of the logs that the TypeScript client judges, whose the module is, every fifth."""
    page, _ = open_window(bypass_csp=True)
    page.goto(f"{site.url}/ui/check-log")
    own = {name: (log, is_good(log)) for name, log in [*own_logs().items()][::5]} | dict([*mutated_logs().items()][::5])
    webvh = dict([*WEBVH.items()][::5])
    jobs: dict[str, Entry] = {name: {"log": log} for name, (log, _) in own.items()}
    now = WEBVH_NOW.isoformat()
    jobs |= {f"webvh {name}": {"log": log, "witnesses": file, "now": now} for name, (log, file) in webvh.items()}
    told = page.evaluate(JUDGE, [module(page), jobs])
    good = {name: isinstance(told[name], dict) for name in own}
    assert {name: told[name] for name, (_, verdict) in own.items() if good[name] != verdict} == {}
    theirs = {name: judged(*files) for name, files in webvh.items()}
    assert {name: told[f"webvh {name}"] for name in theirs if told[f"webvh {name}"] != theirs[name]} == {}
    assert sum(good.values()) > 8
    assert sum(value is not None for value in theirs.values()) > 4


def test_each_entry_has_a_verdict_in_words(site: Site, open_window: Open) -> None:
    page, watched = open_window(bypass_csp=True)
    page.goto(f"{site.url}/ui/check-log")
    rows, bound = page.locator("#log-entries li"), page.locator("[data-unchecked=bound]")
    for seed in (0, 1):
        life = RandomLife(seed)
        while len(life.entries) < 9 and not life.state.deactivated:
            life.grow()
        assert paste(page, log_of(life.entries)) == ["holds", *OF_LOGS]
        assert rows.count() == len(life.entries)
        expect(rows.first.get_by_label("holds", exact=True)).to_be_visible()
        expect(rows.first).to_contain_text("created")
        words = {"keyRotated": "a key rotated", "recovered": "recovered", "keyExpired": "a grace period ended"}
        for place, state in enumerate(life.states):
            expect(rows.nth(place)).to_contain_text(words.get(state.operation, ""))
            by_itself = state.operation in ("create", "keyExpired", "logKeyRotated")
            expect(rows.nth(place).locator("[data-part=asked]")).to_be_visible(visible=not by_itself)
        unbound = life.state.unbound_changes
        expect(bound).to_be_visible(visible=bool(unbound))
        expect(page.locator("[data-found=unbound]")).to_be_visible(visible=bool(unbound))
        if unbound:
            expect(page.locator("[data-found=unbound] dd")).to_have_text(str(unbound))
    watched.look(page)
    examine(page)
    expect(page.locator("[data-found=unnamed]")).to_be_hidden()
    life.rotate_to_a_key_of_the_service()
    assert paste(page, log_of(life.entries))[0] == "holds"
    (unnamed,) = unnamed_keys(life.entries) or ()
    expect(page.locator("[data-found=unnamed] dd")).to_have_text(f"{unnamed.multikey} ({unnamed.version})")
    spoilt = [*life.entries[:4], rewritten(life.entries[4], life.entries[3], renamed, SIGNER)]
    assert paste(page, log_of(spoilt))[0] == "fails"
    assert [row.is_visible() for row in rows.all()] == [True] * 5
    assert rows.nth(4).get_attribute("value") == "5"
    expect(rows.nth(4).get_by_label("does not hold")).to_be_visible()
    expect(page.locator("#log-line")).to_have_text("Line 5:")
    expect(page.locator("#log-reason")).not_to_be_empty()
    # A verdict is of the text that stands there: the slower one of before comes to nothing.
    page.evaluate(
        """async ([address, log]) => {
          const form = document.querySelector("#check-log"), field = form.querySelector("#log");
          for (const text of [log, "[]"]) {
            field.value = text;
            field.dispatchEvent(new InputEvent("input", { bubbles: true }));
            form.requestSubmit();
          }
          const { verifyLog } = await import(address);
          for (let count = 0; count < 2; count++) await verifyLog(log);
        }""",
        [module(page), log_of(life.entries)],
    )
    expect(page.locator("#log-result > [data-verdict=fails]")).to_be_visible()
    page.fill("#log", "another")
    expect(page.locator("#log-result")).to_be_hidden()


def test_the_browser_asks_for_the_witnesses_of_a_did_webvh(verifying: Page) -> None:
    log, approvals = WEBVH["witness one, an approval"]
    assert approvals is not None
    assert paste(verifying, log, beside=approvals) == ["holds", *OF_WEBVH]
    expect(verifying.locator("[data-unchecked=site]")).to_be_visible()
    assert paste(verifying, log) == ["fails", "witnesses"]
    assert paste(verifying, log, beside=WEBVH["witness one, an early approval"][1] or "") == ["fails", "witnesses"]
    examine(verifying)


def checkpoint(
    size: int, *, name: str = VERIFIER.name, signer: SigningKey = LOG_KEY, other: bytes | None = None
) -> str:
    found = Checkpoint(name, size, other or root(0, size))
    verifier = VerifierKey(name, bytes(signer.verify_key))
    return sign_checkpoint(found, verifier, signer.sign(found.text.encode()).signature).decode()


def growth(first: int, second: int, /, **said: Any) -> str:
    """As getLedgerConsistencyProof answers."""
    roots = {"firstRootHash": root(0, first), "secondRootHash": root(0, second)}
    hashes = [multibase.base64url_encode(root(*span)) for span in consistency_spans(first, second)]
    found = {name: multibase.base64url_encode(value) for name, value in roots.items()}
    return json.dumps({"first": first, "second": second, **found, "hashes": hashes} | said, indent=2)


FOREIGN = multibase.base64url_encode(bytes(32))
THREE, SEVEN = checkpoint(3), checkpoint(7)
WRONG_GROWTHS = {
    "a hash too few": (growth(3, 7, hashes=json.loads(growth(3, 7))["hashes"][:-1]), THREE + SEVEN, "growth"),
    "a hash too many": (growth(3, 7, hashes=[*json.loads(growth(3, 7))["hashes"], FOREIGN]), THREE + SEVEN, "growth"),
    "another hash": (growth(3, 7, hashes=[*json.loads(growth(3, 7))["hashes"][:-1], FOREIGN]), THREE + SEVEN, "growth"),
    "hashes of the same size": (growth(7, 7, hashes=[FOREIGN]), SEVEN + SEVEN, "growth"),
    "two trees of one size": (growth(7, 7, firstRootHash=FOREIGN), checkpoint(7, other=bytes(32)) + SEVEN, "growth"),
    "another beginning": (growth(3, 7, firstRootHash=FOREIGN), checkpoint(3, other=bytes(32)) + SEVEN, "growth"),
    "a beginning of nothing": (
        growth(3, 7, first=0, firstRootHash=FOREIGN, hashes=[]), checkpoint(0, other=bytes(32)) + SEVEN, "growth",
    ),
    "a log that went back": (growth(3, 7, first=7, second=3, firstRootHash=json.loads(growth(3, 7))["secondRootHash"],
                                    secondRootHash=json.loads(growth(3, 7))["firstRootHash"]), SEVEN + THREE, "growth"),
    "no checkpoints": (growth(3, 7), "", "checkpoints"),
    "one checkpoint": (growth(3, 7), THREE, "checkpoints"),
    "three": (growth(3, 7), THREE + SEVEN + SEVEN, "checkpoints"),
    "the newer first": (growth(3, 7), SEVEN + THREE, "checkpoints"),
    "something between them": (growth(3, 7), THREE + "and\n" + SEVEN, "checkpoints"),
    "checkpoints of two logs": (growth(3, 7), checkpoint(3, name="eve.example") + SEVEN, "checkpoints"),
    "a checkpoint of another root": (growth(3, 7), checkpoint(3, other=bytes(32)) + SEVEN, "checkpoints"),
    "an older one by another": (growth(3, 7), checkpoint(3, signer=MALLORY) + SEVEN, "signed"),
    "a newer one by another": (growth(3, 7), THREE + checkpoint(7, signer=MALLORY), "signed"),
    "a member twice": (growth(3, 7).replace('"first"', '"first": 3, "first"', 1), THREE + SEVEN, "answer"),
    "another member": (growth(3, 7, more=1), THREE + SEVEN, "answer"),
    "a size that is text": (growth(3, 7, first="3"), THREE + SEVEN, "answer"),
    "a size beyond all numbers": (growth(3, 7).replace(": 7", ": 9007199254740993", 1), THREE + SEVEN, "answer"),
    "hashes without end": (growth(3, 7, hashes=[FOREIGN] * 200), THREE + SEVEN, "answer"),
    "a hash in another form": (growth(3, 7, hashes=[f"{FOREIGN[:-1]}B"]), THREE + SEVEN, "answer"),
    "no hashes": (growth(3, 7, hashes={"length": 1}), THREE + SEVEN, "answer"),
}  # fmt: skip


def test_the_browser_finds_whether_a_log_only_grew(verifying: Page) -> None:
    holds = ["holds", "answer", "checkpoints", "growth", "checkpoint"]
    for first, second in ((1, 1), (1, 2), (2, 3), *((first, 7) for first in range(1, 8))):
        beside = checkpoint(first) + checkpoint(second)
        assert paste(verifying, growth(first, second), beside=beside) == holds, (first, second)
    expect(verifying.locator("[data-unchecked=signed]")).to_be_visible()
    assert paste(verifying, growth(3, 7), str(VERIFIER), beside=THREE + "\n" + SEVEN) == [*holds, "signed"]
    expect(verifying.locator("[data-unchecked=signed]")).to_be_hidden()
    examine(verifying)
    found = {name: paste(verifying, text, str(VERIFIER), beside=two) for name, (text, two, _) in WRONG_GROWTHS.items()}
    assert found == {name: ["fails", requirement] for name, (_, _, requirement) in WRONG_GROWTHS.items()}


def service_life(*sizes: int) -> RandomLife:
    """The log of a service whose first log key was retired at these sizes of the tree, each said in an entry."""
    life = RandomLife(1)
    life.signer = NEXT
    life.change(RotateLogKey(), life.later(), life.keys(NEXT))
    for size in sizes:
        life.change(RetireLogKey(SIGNER.multikey, size, False), life.later(), life.keys(NEXT))
    return life


def test_the_browser_takes_no_entry_of_a_retired_key(verifying: Page) -> None:
    """As the reader of the service's log does; it says of an earlier and a later retirement that the earlier holds."""
    by_old = [leaf(number, RandomLife(0).entries[0]) for number in range(1, 5)]
    for sizes in ((), (4, 3)):
        life = service_life(*sizes)
        history = read_service_log(life.entries)
        beside, named = log_of(life.entries), str(life.state.did)
        for index, one in enumerate(by_old):
            taken = paste(verifying, place(index, leaves=by_old), beside=beside, service_did=named)
            try:
                check_not_retired(history.retired, LogLeaf.parse(one).entry, index)
                assert taken == ["holds", "place", "path", "service", "retired", "checkpoint"], (sizes, index)
            except LogInvalid:
                assert taken == ["fails", "retired"], (sizes, index)
    assert paste(verifying, place(3, leaves=by_old))[0] == "holds"
    expect(verifying.locator("[data-unchecked=retired]")).to_be_visible()
    # The log of any DID looks like that of the service.
    assert paste(verifying, place(0), beside=beside) == ["holds", *OF_PLACES]
    expect(verifying.locator("[data-unchecked=retired]")).to_be_visible()
    assert paste(verifying, place(0), beside=beside, service_did="did:ids:another") == ["fails", "service"]
    assert paste(verifying, place(0), service_did=named) == ["fails", "service"]
    # An entry that no log of ours has belongs to no service log; one with two readings is not a service log.
    assert paste(verifying, place(0), beside=beside, service_did=named)[0] == "holds"
    expect(verifying.locator("[data-found=serviceDid] dd")).to_have_text(str(life.state.did))
    for beside in (written(LOG), log_of(life.entries[:-1])[:-9], "[]", WEBVH["updated"][0]):
        assert paste(verifying, place(0), beside=beside) == ["fails", "service"]
