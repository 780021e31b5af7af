"""What a client package of any language is asked to do: values, actions, tokens, challenges and logs, and what must come of each.

A package's tests hand all of it to one process of that language, as jobs by name, and read the outcomes: ``{"value": …}`` or
``{"error": …}``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from identity_commands.verify_log import verify

from identity_client import ibct
from identity_codec import jcs, multikey
from identity_core.domain.dids import keys
from identity_core.domain.dids.challenge import parse_header
from openapi import clients
from tests.attack.log_forger import signed_by_no_key
from tests.client import hostile_service
from tests.client.hostile_service import CASES, DID, ELSEWHERE, MOST_OCTETS, MOST_PAGES, PATIENT, Case, Hostile
from tests.client.mutated_logs import mutated_logs
from tests.client.own_logs import BEGUN, TIMES, is_good, own_logs, timed_logs
from tests.client.status_cases import status_cases
from tests.client.webvh_cases import WEBVH, WEBVH_NOW, judged
from tests.vectors import checkpoints

Json = dict[str, Any]


PAIR = keys.generate("Ed25519", os.urandom)
ISSUED = {"did": DID, "keys": {"authentication": {"privateKey": PAIR.secret}}}
PUBLIC = multikey.decode_public(PAIR.public)[1]


def shown_log() -> str:
    """The log that the document shows: creation, changes, and a key that takes the place of another."""
    document = json.loads(clients.DOCUMENT.read_bytes())
    forms = document["paths"]["/dids/{did}/log"]["get"]["responses"]["200"]["content"]
    log: str = next(iter(forms["text/jsonl"]["examples"].values()))["value"]
    return log


def changed(line: int, change: Callable[[Json], object]) -> str:
    lines = [json.loads(each) for each in LOG.splitlines()]
    change(lines[line])
    return "".join(jcs.canonicalize(each).decode() + "\n" for each in lines)


LOG = shown_log()
FIRST, *LATER = LOG.splitlines(keepends=True)
WRONG = {
    "without its first entry": "".join(LATER),
    "with an entry left out": FIRST + "".join(LATER[1:]) if len(LATER) > 1 else "".join(LATER),
    "with an entry twice": FIRST + FIRST,
    "in another order": "".join((*LATER, FIRST)),
    "of nothing": "",
    "of no objects": "[]\n",
    "of no JSON": "{\n",
    "with a blank": LOG.replace('{"parameters"', '{ "parameters"', 1),
    "with two members of one name": LOG.replace('"parameters":', '"parameters":{},"parameters":', 1),
    "with another document": changed(0, lambda entry: entry["state"].update(alsoKnownAs=["https://eve.example"])),
    "with another later document": changed(-1, lambda entry: entry["state"].update(alsoKnownAs=["https://eve.example"])),
    "with another time": changed(0, lambda entry: entry.update(versionTime="2020-01-01T00:00:00.000000Z")),
    "with another number": changed(-1, lambda entry: entry.update(versionId="9" + entry["versionId"])),
    "with another hash": changed(-1, lambda entry: entry.update(versionId=entry["versionId"][:-3] + "abc")),
    "with another key": changed(0, lambda entry: entry["parameters"].update(updateKeys=[PAIR.public])),
    "with no proof": changed(0, lambda entry: entry.update(proof=[])),
    "with two proofs": changed(0, lambda entry: entry["proof"].append(entry["proof"][0])),
    "with another signature": changed(-1, lambda entry: entry["proof"][0].update(proofValue="z" + "2" * 87)),
    "with a signature of no length": changed(-1, lambda entry: entry["proof"][0].update(proofValue="z")),
    "with a proof of another purpose": changed(-1, lambda entry: entry["proof"][0].update(proofPurpose="authentication")),
    "with a proof by another": changed(
        -1, lambda entry: entry["proof"][0].update(verificationMethod=f"did:key:{PAIR.public}#{PAIR.public}")
    ),
    "by a key of small order": signed_by_no_key(json.loads(FIRST)).decode() + "\n",
    "of another method": changed(0, lambda entry: entry["parameters"].update(method="did:webvh:1.0")),
    "of many brackets": "[" * 10_000 + "\n",
    "of a line without end": '{"a":"' + "a" * 100_000 + '"}\n',
}  # fmt: skip
LOGS = {"good": LOG, **WRONG}
# Line and requirement that a client names, of one log for each.
UNMET = {
    "log without its first entry": (1, "order"),
    "log with a blank": (1, "form"),
    "log with another document": (1, "identifier"),
    "webvh another method": (2, "method"),
    "log with another later document": (2, "hash"),
    "log with another signature": (2, "signature"),
    "own life 0, entry 2 with another signature": (2, "controller"),
    "own life 0, entry 2 with another alias": (2, "change"),
    "webvh keys twice": (2, "keys"),
    "webvh witness one, no file": (2, "witnesses"),
}


VALUES: list[Any] = [
    {"b": 1, "a": [True, None, 1e21, 1e-7, 333333333.3333333, -0.0, "\u2028\x7f\x1f"]},
    {"\ufb33": 1, "\U0001f600": 2, "\u20ac": 3, "1": 4, "10": 5, "2": 6, "": 7, "__proto__": 8},
    "é and é",
    ["\\ud800", "\\\\ud83d\\", "\\ufffd", "\\\U0001f600\\udc00"],
]
HALVES = {
    "half": "\ud800",
    "wrong order": "\ude00\ud83d",
    "second half": "\\\udc00",
    "half behind a pair": "\U0001f600\ud83d",
}
# Unicode 16.0 composes it, Unicode 14.0 assigns neither: programs pin it in different forms.
NEW_TEXT = "\U000105d2\u0307"
PREDICATES = [
    *[("age", "gte", value) for value in (0, 18, (1 << 53) - 1, -5)],
    *[
        ("país/x y.z%", "eq", value)
        for value in ("18", "é", "9007199254740993", "09007199254740993", True, "9007199254740991")
    ],
    *[("price", "gte", value) for value in (18.0, 7.25, -0.5, 1e-7, 123456.789, 0.05)],
    ("c", "set_member", ["JP", "FR", "JP", "\ufb33", "\U0001f600", 18, False, 1.5]),
    ("c", "set_member", []),
]


# A signature over one of these serves for every change of a DID without strictEvidence.
UNBOUND = {
    "bound to nothing": ("-", "-"),
    "bound to a body alone": ("-", "A" * 43),
    **{f"to {purpose}, without a body": (purpose, "-") for purpose in ("update", "rotate", "recover", "deactivate")},
}


TARGETS: list[dict[str, str]] = json.loads((Path(__file__).parents[1] / "vectors/challenge_targets.json").read_text())
# Whether it is signed, the target that is asked for, and what the challenge has behind its origin.
TARGETED: list[tuple[str, str | None, str]] = [
    *(("signed", case["target"], f"#{case['hash']}") for case in TARGETS),
    ("refused", TARGETS[0]["target"], ""),
    ("refused", TARGETS[0]["target"], "#"),
    ("refused", TARGETS[0]["target"], f"#{TARGETS[1]['hash']}"),
    ("refused", TARGETS[0]["target"], f"#{TARGETS[0]['hash']}#"),
    ("refused", None, f"#{TARGETS[0]['hash']}"),
]


CHECKPOINTS: Json = json.loads(checkpoints.FILE.read_text("utf-8"))


def offline_jobs() -> dict[str, Json]:
    """Everything that needs no server."""
    jobs: dict[str, Json] = {f"value {n}": {"kind": "canonicalize", "value": value} for n, value in enumerate(VALUES)}
    for name, text in HALVES.items():
        jobs[name] = {"kind": "canonicalize", "value": text}
    for number, (attribute, type_, value) in enumerate(PREDICATES[:-1]):
        jobs[f"action {number}"] = {"kind": "action", "attribute": attribute, "type": type_, "value": value}
    for name, value in (
        ("17 digits", 0.1 + 0.2),
        ("past 2^53", 1e300),
        ("null", None),
        ("object", {}),
        ("new text", NEW_TEXT),
    ):
        jobs[name] = {"kind": "action", "attribute": "a", "type": "eq", "value": value}
    wish = {"target": DID[:-1] + "Q", "action": "zkp.prove.age.gte.18", "delegationRef": "urn:uuid:1", "expiresIn": 60}
    jobs["token"] = {"kind": "ibct", "issued": ISSUED, "wish": wish}
    no_key = {"did": DID, "keys": {"authentication": {"privateKey": PAIR.public}}}
    jobs["no key"] = {"kind": "ibct", "issued": no_key, "wish": wish}
    said = f"https://id.example {DID} read - {'A' * 43} 2099-01-01T00:00:00Z"
    wanted = {"origin": "https://id.example/below", "purpose": "read"}
    for name, text in (
        ("good", f"didauth:v1 {said}"),
        ("label", f"didauth:v2 {said}"),
        ("longer", f"didauth:v1 {said} x"),
    ):
        jobs[f"challenge {name}"] = {"kind": "sign", "issued": ISSUED, "challenge": text, "wanted": wanted}
    for number, (name, asked, bound) in enumerate(TARGETED):
        text = f"didauth:v1 https://id.example{bound} {DID} read - {'A' * 43} 2099-01-01T00:00:00Z"
        wanted = {"origin": "https://id.example", "purpose": "read"} | ({} if asked is None else {"target": asked})
        jobs[f"target {number} {name}"] = {"kind": "sign", "issued": ISSUED, "challenge": text, "wanted": wanted}
    for name, (purpose, digest) in UNBOUND.items():
        text = f"didauth:v1 https://id.example {DID} {purpose} {digest} {'A' * 43} 2099-01-01T00:00:00Z"
        wanted = {"origin": "https://id.example", "purpose": purpose, "bodyHash": digest}
        jobs[f"challenge {name}"] = {"kind": "sign", "issued": ISSUED, "challenge": text, "wanted": wanted}
    for name, log in LOGS.items():
        jobs[f"log {name}"] = {"kind": "log", "log": log}
    for name, (log, witnesses) in WEBVH.items():
        jobs[f"webvh {name}"] = {"kind": "log", "log": log, "witnesses": witnesses, "now": WEBVH_NOW.isoformat()}
    for name, log in own_logs().items():
        jobs[f"own {name}"] = {"kind": "log", "log": log}
    for text, log in timed_logs().items():
        jobs[f"time {text}"] = {"kind": "log", "log": log}
    for name, (list_, entry, signers, _) in status_cases().items():
        jobs[f"status {name}"] = {"kind": "status", "list": list_, "entry": entry, "signers": signers}
    for one in CHECKPOINTS["notes"]:
        jobs[f"note {one['name']}"] = {"kind": "checkpoint", **one}
    for kind in ("inclusion", "consistency"):
        jobs |= {f"{kind} {number}": {"kind": kind, **one} for number, one in enumerate(CHECKPOINTS[kind])}
    jobs["other origin"] = {"kind": "other origin", **CHECKPOINTS["consistency"][0]}
    jobs["another's log"] = {"kind": "log", "log": LOG, "did": DID[:-1] + "Q"}
    return jobs


def job(case: Case, url: str) -> Json:
    options = {"url": url, "apiKey": "secret", "maxAnswerOctets": MOST_OCTETS, "maxPages": MOST_PAGES}
    # What a program leaves unset is the default.
    options |= {"retries": None, "timeoutMs": None}
    asked = {"operation": case.operation, "given": case.given, "options": options}
    return {"kind": "each" if case.paged else "call", **asked} | ({"issued": ISSUED} if case.signed else {})


def check_flow(told: Json) -> None:
    changes = ["addService", "keyRotated", "addService", "recovered"]
    assert told["versions"] == len(changes) + 2
    assert len(told["history"]) == len(changes) + 1, "the history was read before the deactivation"
    first = json.loads(told["log"].splitlines()[0])
    assert first["parameters"]["change"]["strictEvidence"] is True, (
        "the client asks for it where the program says nothing"
    )
    assert told["plain"].startswith("did:key:"), "a method without evidence gets the request as it is"
    assert told["deactivated"] is True
    assert told["rotation"] == "3"
    assert told["refused"] == [401, "AUTH_FAILED", "seen-by-the-hook"], "the key was rotated away"
    assert told["unsigned"] == [401, "AUTH_REQUIRED", "seen-by-the-hook"]
    assert verify(told["log"].encode()).did == told["did"]
    sent, answered = told["hooks"]
    assert sent == answered >= 18, "each request, those for challenges too, is shown to the hooks"


def check_story(told: Json) -> None:
    """Jobs over a network that loses the first answer to two changes, and then hands out challenges that are bound to nothing."""
    assert told["verdicts"] == ["valid", "invalid", "unbound"]
    assert (told["delegations"], told["credentials"]) == (1, 1), "a lost answer repeats no change"
    for path in ("/credentials", "/delegations"):
        first, again, *others = told["keys"][path]
        assert first == again
        assert all(key != first for key in others)
    status, code, remedy, request_id = told["refused"]
    assert (status, code) == (400, "INVALID_REQUEST"), told["refused"]
    assert remedy
    assert request_id
    assert "not bound to a purpose and a body" in told["unsigned"]
    assert told["changes"] == 0, "what is not signed is not sent"
    assert told["ledger"] == [True, 1], "one entry was added"


EXPECTED: Json = {
    "predicate": {"attributeName": "age", "type": "gte", "value": 18},
    "challenge": "order 4711 of today",
    "domain": "https://shop.example",
    "issuerDid": DID,
}
LOOSE = {"nothing": {}, **{name: {each: EXPECTED[each] for each in EXPECTED if each != name} for name in EXPECTED}}
"""Expectations by the member that they leave out."""


Run = Callable[[dict[str, Json]], dict[str, Json]]
"""Does jobs in a process of the language, and gives what came of each."""


class PackageCases:
    """What every package must do. A subclass stands in a module with a fixture ``do`` (a ``Run``)."""

    @pytest.fixture(scope="class")
    @classmethod
    def hostile(cls) -> Iterator[Hostile]:
        with hostile_service.hostile_service() as server:
            yield server

    @pytest.fixture(scope="class")
    @classmethod
    def signed(cls, do: Run) -> dict[str, Json]:
        """Return the outcomes of the offline jobs, from one process."""
        return do(offline_jobs())

    @pytest.mark.parametrize("number", range(len(VALUES)))
    def test_the_canonical_form_is_the_services(self, signed: dict[str, Json], number: int) -> None:
        assert signed[f"value {number}"]["value"].encode() == jcs.canonicalize(VALUES[number])

    @pytest.mark.parametrize("number", range(len(PREDICATES) - 1))
    def test_an_action_is_the_services(self, signed: dict[str, Json], number: int) -> None:
        attribute, type_, value = PREDICATES[number]
        assert signed[f"action {number}"] == {"value": ibct.action_text(attribute, type_, pin=value)}

    @pytest.mark.parametrize(
        "name",
        [
            *HALVES,
            "17 digits",
            "past 2^53",
            "null",
            "object",
            "new text",
            "no key",
            "challenge label",
            "challenge longer",
        ]
        + [f"challenge {name}" for name in UNBOUND],
    )
    def test_nothing_else_is_signed(self, signed: dict[str, Json], name: str) -> None:
        assert signed[name]["error"]["name"] == "TypeError"

    def test_a_token_is_one_of_the_services(self, signed: dict[str, Json]) -> None:
        token = signed["token"]["value"]
        capability = ibct.verify(token, [PUBLIC], datetime.now(UTC))
        assert (capability.invoker, capability.action) == (DID, "zkp.prove.age.gte.18")
        assert (capability.expires_at - capability.issued_at).total_seconds() == 60

    @pytest.mark.parametrize("number", range(len(TARGETED)))
    def test_a_challenge_is_signed_for_its_target_alone(self, signed: dict[str, Json], number: int) -> None:
        name = TARGETED[number][0]
        outcome = signed[f"target {number} {name}"]
        assert ("value" in outcome) == (name == "signed"), outcome
        assert name == "signed" or outcome["error"]["name"] == "TypeError"

    def test_a_signed_challenge_is_named(self, signed: dict[str, Json]) -> None:
        header = parse_header(signed["challenge good"]["value"])
        assert (str(header.did), header.named is not None) == (DID, True)

    def test_a_log_proves_what_it_proves_to_the_service(self, signed: dict[str, Json]) -> None:
        told, ours = signed["log good"]["value"], verify(LOG.encode())
        assert (told["did"], told["versions"], told["versionId"]) == (ours.did, ours.versions, ours.head)
        assert (told["didDocument"], told["deactivated"]) == (ours.document, ours.deactivated)

    @pytest.mark.parametrize("name", WRONG)
    def test_a_wrong_log_is_refused(self, signed: dict[str, Json], name: str) -> None:
        assert signed[f"log {name}"]["error"]["name"] == "LogInvalid", signed[f"log {name}"]

    def test_each_entry_that_holds_is_told(self, signed: dict[str, Json]) -> None:
        changes = [(line["versionId"], line["parameters"]["change"]) for line in map(json.loads, LOG.splitlines())]
        assert signed["log good"]["value"]["entries"] == [
            [number, name, change["operation"], "authorization" in change]
            for number, (name, change) in enumerate(changes, start=1)
        ]

    @pytest.mark.parametrize("name", UNMET)
    def test_the_requirement_that_is_not_met_is_told(self, signed: dict[str, Json], name: str) -> None:
        refused = signed[name]["error"]
        assert (refused["line"], refused["requirement"]) == UNMET[name]

    @pytest.mark.parametrize("name", WEBVH)
    def test_a_log_of_did_webvh_is_judged_as_the_service_does(self, signed: dict[str, Json], name: str) -> None:
        ours, told = judged(*WEBVH[name]), signed[f"webvh {name}"]
        if ours is None:
            assert told["error"]["name"] == "LogInvalid", told
        else:
            assert {member: told["value"][member] for member in ours} == ours, told

    def test_a_log_of_ours_is_judged_as_the_service_does(self, signed: dict[str, Json]) -> None:
        ours = {name: is_good(log) for name, log in own_logs().items()}
        assert 10 < sum(ours.values()) < len(ours), "both are judged"
        told = {name: "value" in signed[f"own {name}"] for name in ours}
        assert {name: (good, signed[f"own {name}"]) for name, good in ours.items() if told[name] != good} == {}

    def test_unbound_changes_are_counted_as_the_service_does(self, signed: dict[str, Json]) -> None:
        """Logs with strictEvidence from the first entry (0), without it, and with an entry that begins it."""
        ours = {name: verify(log.encode()).unbound_changes for name, log in own_logs().items() if is_good(log)}
        assert len(set(ours.values())) > 3
        assert any(BEGUN in log and ours.get(name) for name, log in own_logs().items()), (
            "one begins it after other changes"
        )
        assert {name: signed[f"own {name}"]["value"]["unboundChanges"] for name in ours} == ours

    @pytest.mark.parametrize("case", TIMES, ids=[case["text"].strip() or "nothing" for case in TIMES])
    def test_a_time_is_read_as_the_service_reads_it(self, signed: dict[str, Json], case: Json) -> None:
        told, is_time = signed[f"time {case['text']}"], case["microseconds"] is not None
        assert ("value" in told) == is_time == is_good(timed_logs()[case["text"]]), told

    @pytest.fixture(scope="class")
    @classmethod
    def mutated(cls, do: Run) -> dict[str, Json]:
        return do({name: {"kind": "log", "log": log} for name, (log, _) in mutated_logs().items()})

    def test_mutated_log_gets_verdict_of_service(self, mutated: dict[str, Json]) -> None:
        judged = {name: good for name, (_, good) in mutated_logs().items()}
        assert 10 < sum(judged.values()) < len(judged) - 150, "both are judged"
        wrong = {name: mutated[name] for name, good in judged.items() if ("value" in mutated[name]) != good}
        assert not wrong, wrong
        ours = {name: verify(log.encode()).unbound_changes for name, (log, good) in mutated_logs().items() if good}
        assert {name: mutated[name]["value"]["unboundChanges"] for name in ours} == ours
        assert {each["error"]["name"] for each in mutated.values() if "error" in each} == {"LogInvalid"}

    @pytest.mark.nightly
    @pytest.mark.parametrize("part", range(1, 14))
    def test_13_000_mutated_logs_get_verdict_of_service(self, do: Run, part: int) -> None:
        logs = mutated_logs(part, 1_000)
        told = do({name: {"kind": "log", "log": log} for name, (log, _) in logs.items()})
        wrong = {name: (log, told[name]) for name, (log, good) in logs.items() if ("value" in told[name]) != good}
        assert not wrong, wrong
        assert 30 < sum(good for _, good in logs.values()) < len(logs) - 500, "both are judged"

    def test_both_are_judged(self) -> None:
        good = [name for name in WEBVH if judged(*WEBVH[name]) is not None]
        assert 20 < len(good) < len(WEBVH) - 60

    @pytest.mark.parametrize("name", status_cases())
    def test_a_status_is_read_from_the_right_list_alone(self, signed: dict[str, Json], name: str) -> None:
        told, expected = signed[f"status {name}"], status_cases()[name][3]
        if expected is None:
            assert told["error"]["name"] == "TypeError", told
        else:
            assert told == {"value": expected}

    @pytest.mark.parametrize("one", CHECKPOINTS["notes"], ids=lambda one: one["name"])
    def test_note_proves_what_the_vectors_state(self, signed: dict[str, Json], one: Json) -> None:
        told = signed[f"note {one['name']}"]
        if one["proven"] is None:
            assert told["error"]["name"] == "TypeError", told
        else:
            assert told == {"value": one["proven"]}

    @pytest.mark.parametrize("kind", ["inclusion", "consistency"])
    def test_proof_of_a_tree_has_the_verdict_of_the_vectors(self, signed: dict[str, Json], kind: str) -> None:
        told = [signed[f"{kind} {number}"] for number in range(len(CHECKPOINTS[kind]))]
        assert ["value" in one for one in told] == [one["good"] for one in CHECKPOINTS[kind]]
        assert {one["error"]["name"] for one in told if "error" in one} == {"TypeError"}

    def test_checkpoint_of_another_log_follows_none(self, signed: dict[str, Json]) -> None:
        assert "of another log, b" in signed["other origin"]["error"]["message"]

    def test_a_log_tells_who_may_go_on_with_it(self, signed: dict[str, Json]) -> None:
        said = [keys for line in LOG.splitlines() if (keys := json.loads(line)["parameters"].get("updateKeys"))]
        assert signed["log good"]["value"]["updateKeys"] == said[-1]

    def test_the_log_of_another_is_refused(self, signed: dict[str, Json]) -> None:
        assert "the log is one of" in signed["another's log"]["error"]["message"]

    @pytest.fixture(scope="class")
    @classmethod
    def outcomes(cls, do: Run, hostile: Hostile) -> dict[str, Json]:
        jobs = {name: job(case, hostile.build_url(name)) for name, case in CASES.items()}
        health = Case("getHealth", (), None, 0)
        jobs[ELSEWHERE] = job(health, hostile.build_url(ELSEWHERE))
        jobs["aborted"] = job(health, hostile.build_url(PATIENT)) | {"kind": "aborted"}
        return do(jobs)

    @pytest.mark.parametrize("name", CASES)
    def test_a_hostile_answer(self, outcomes: dict[str, Json], hostile: Hostile, name: str) -> None:
        case, outcome = CASES[name], outcomes[name]
        code = outcome["error"].get("code", "REFUSED") if "error" in outcome else None
        assert code == case.code, outcome
        requests = hostile.requests[hostile_service.place(name)]
        assert len(requests) == case.requests
        tags = [
            line for each in requests for line in each.lower().split(b"\r\n") if line.startswith(b"idempotency-key")
        ]
        assert len(set(tags)) == (1 if case.operation == "createDid" else 0), "one change has one key"
        assert len(tags) == (case.requests if case.operation == "createDid" else 0)

    def test_no_one_is_led_elsewhere(self, outcomes: dict[str, Json], hostile: Hostile) -> None:
        assert "error" in outcomes[ELSEWHERE]
        assert hostile.requests["caught"] == []

    def test_how_long_to_wait_is_told(self, outcomes: dict[str, Json]) -> None:
        assert outcomes["told to wait for days"]["error"]["retryAfterMs"] == 999_999_000

    def test_waiting_caller_can_stop(self, outcomes: dict[str, Json]) -> None:
        """The server asks for half a minute."""
        assert outcomes["aborted"]["error"]["name"] == "AbortError"

    @pytest.fixture(scope="class")
    @classmethod
    def verified(cls, do: Run, hostile: Hostile) -> dict[str, Json]:
        jobs = {}
        for name, expect in {**LOOSE, "all": EXPECTED}.items():
            for kind in ("verify", "verify loosely"):
                options = {"url": hostile.build_url(f"{kind} {name}")}
                jobs[f"{kind} {name}"] = {"kind": kind, "value": expect, "options": options}
        return do(jobs)

    @pytest.mark.parametrize("name", LOOSE)
    def test_loose_expectation_is_refused(self, verified: dict[str, Json], hostile: Hostile, name: str) -> None:
        refused = verified[f"verify {name}"]["error"]
        missing = ", ".join(EXPECTED) if name == "nothing" else name
        assert refused["name"] == "TypeError"
        assert f"could be a replay: expect {missing}, or set " in refused["message"]
        assert hostile.requests[hostile_service.place(f"verify {name}")] == []

    @pytest.mark.parametrize("name", ["verify all", *(f"verify loosely {name}" for name in LOOSE)])
    def test_expectation_is_sent_as_it_is(self, verified: dict[str, Json], hostile: Hostile, name: str) -> None:
        """``allowUnbound`` is a word of the client, not of the request."""
        assert "value" in verified[name], verified[name]
        (request,) = hostile.requests[hostile_service.place(name)]
        expect = EXPECTED if name == "verify all" else LOOSE[name.removeprefix("verify loosely ")]
        assert json.loads(request.partition(b"\r\n\r\n")[2]) == {**expect, "proof": "e30"}
