"""The clients verify proofs without a service, with the results of ``verifyProof``; the curve in TypeScript accepts the same points."""

from __future__ import annotations

import gzip
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from identity_bound_credentials.domain.presented import sign_as_agent

import identity_client
from identity_bbs.bls12381 import ORDER, InvalidPoint, select
from identity_bbs.suite import ciphersuite
from identity_client import Expectation
from identity_codec.multibase import base64url_encode
from identity_codec.structs import python_name
from identity_core.errors import ProofInvalid
from openapi import clients
from tests.client.node_application import run_node
from tests.client.package_cases import LOG, Run
from tests.client.proof_cases import (
    KINDS,
    Job,
    document,
    good_proofs,
    hostile_points,
    mutants,
    open_case,
    outside_points,
    packed,
    python_result,
)
from tests.made_once import once

MOST_COMPRESSED = 45_000
SEED = 7


def results(do: Run, jobs: list[Job]) -> list[Any]:
    """Return the results of the TypeScript client; an error is one too."""
    told = do({str(place): {"kind": "proof", **job} for place, job in enumerate(jobs)})
    return [told[str(place)] for place in range(len(jobs))]


def expected_results(jobs: list[Job]) -> list[Any]:
    found = [python_result(job) for job in jobs]
    return [{"value": {name: one[name] for name in one if name != "anchor"}} for one in found]


def sdk_result(job: Job) -> Any:
    """Return the result of the Python client."""
    expect = {python_name(name): value for name, value in job["expect"].items()}
    expected, now = Expectation(**expect, allow_unbound=True), datetime.fromtimestamp(job["now"], UTC)
    found = identity_client.verify(job["proof"], expect=expected, documents=job["documents"], now=now)
    return {"value": {name: found[name] for name in found if name != "anchor"}}


def check_agreement(do: Run, seed: int, proofs: int, mutated: int) -> None:
    good = good_proofs(seed, proofs)
    kinds, jobs = zip(*mutants(seed + 1, good, mutated), strict=True)
    own = expected_results([*good, *jobs])
    assert [one["value"]["verdict"] for one in own[:proofs]] == ["valid"] * proofs
    found = results(do, [*good, *jobs])
    named = [*["good"] * proofs, *kinds]
    assert [sdk_result(job) for job in (*good, *jobs)] == own
    differing = [(kind, a, b) for kind, a, b in zip(named, own, found, strict=True) if a != b]
    assert differing[:3] == []
    verdicts = [one["value"]["verdict"] for one in own[proofs:]]
    assert set(kinds) == set(KINDS)
    assert 0 < verdicts.count("valid") < mutated / 2


def test_results_are_those_of_python(do: Run) -> None:
    check_agreement(do, SEED, 6, 48)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(10))
def test_results_of_5500_proofs_are_those_of_python(do: Run, seed: int) -> None:
    """500 proofs and 5,000 mutants in ten parts."""
    check_agreement(do, 100 + 2 * seed, 50, 500)


def test_issuer_key_is_that_of_a_verified_log(do: Run) -> None:
    """Without a log, or with that of another DID, the key is a check that could not be made."""
    (job,) = good_proofs(SEED, 1)
    del job["documents"]
    for logs in ([], [LOG]):
        (found,) = results(do, [job | {"logs": logs}])
        checks = {one["check"]: (one["ok"], one["code"]) for one in found["value"]["checks"]}
        assert found["value"]["verdict"] == "invalid"
        assert checks["issuerKey"] == (None, "ISSUER_UNAVAILABLE")
        assert "proof" not in checks
    (found,) = results(do, [job | {"logs": [LOG.replace('"versionTime"', '"versiontime"', 1)]}])
    assert found["error"]["name"] == "LogInvalid"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"chalenge": "0123456789abcdef"}, "expect has no member chalenge"),
        ({"challenge": "short"}, "16 to 256 bytes"),
        ({"predicate": {"attributeName": "age", "type": "gte", "value": 18}}, "not both"),
        ({"agentKey": "z6Mk"}, "agentKey is an Ed25519 multikey"),
        ({"maxAge": -1}, "whole seconds"),
        ({"requires": ["revocation"]}, "requires names"),
        ({"same": []}, "same stands beside credentials"),
        ({"credentials": []}, "leave predicates out: credentials has it"),
    ],
)
def test_expectation_that_no_proof_can_meet_is_an_error(do: Run, change: dict[str, Any], message: str) -> None:
    (job,) = good_proofs(SEED, 1)
    (found,) = results(do, [job | {"expect": job["expect"] | change}])
    assert found["error"]["name"] == "TypeError"
    assert message in found["error"]["message"]


@pytest.mark.parametrize("name", ["predicate", "challenge", "domain", "issuerDid"])
def test_loose_expectation_is_refused_unless_allowed(do: Run, name: str) -> None:
    """As in Python. Allowed, the verdict is ``unbound``, and ``missing`` has what was not compared."""
    (job,) = good_proofs(SEED, 1)
    left_out = "predicates" if name == "predicate" else name
    loose = {member: value for member, value in job["expect"].items() if member != left_out}
    assert len(loose) == len(job["expect"]) - 1
    strict, allowed = results(do, [job | {"expect": loose | {"allowUnbound": False}}, job | {"expect": loose}])
    assert strict["error"]["name"] == "TypeError"
    assert f"could be a replay: expect {name}, or set allowUnbound" in strict["error"]["message"]
    assert (allowed["value"]["verdict"], allowed["value"]["missing"]) == ("unbound", [name])
    expect = {python_name(member): value for member, value in loose.items()}
    with pytest.raises(ValueError, match=f"could be a replay: expect {name}"):
        identity_client.verify(job["proof"], expect=Expectation(**expect), documents=job["documents"])


def test_agent_must_sign_what_names_its_key(do: Run) -> None:
    """A signature by another key, or over another challenge, is invalid."""
    signed = next(job for job in good_proofs(SEED, 60) if "agentKey" in job["expect"])
    wrong = sign_as_agent(signed["proof"], lambda message: bytes(64))
    found = results(do, [signed, signed | {"proof": wrong}])
    assert [one["value"]["verdict"] for one in found] == ["valid", "invalid"]
    assert found == expected_results([signed, signed | {"proof": wrong}])
    with pytest.raises(ProofInvalid):
        sign_as_agent(good_proofs(SEED, 1)[0]["proof"]["proof"], lambda message: bytes(64))


def test_pseudonym_that_was_not_asked_for_is_invalid(do: Run) -> None:
    """Also in the service: its prover is not taken for a faulty one."""
    plain = next(
        job
        for job in good_proofs(SEED, 60)
        if open_case(job).get("pseudonym", "") is None and "pseudonym" not in job["expect"]
    )
    value = open_case(plain)
    value["pseudonym"] = base64url_encode(outside_points()[0])
    changed = plain | {"proof": packed(value)}
    (found,) = results(do, [changed])
    assert found["value"]["verdict"] == "invalid"
    assert [found] == expected_results([changed])


def test_bundle_is_small_and_imports_nothing_else(application: Path) -> None:
    bundle = application / "node_modules" / "identity-service-client" / clients.PROOF_BUNDLE
    text = bundle.read_text("utf-8")
    assert len(gzip.compress(text.encode(), 9, mtime=0)) <= MOST_COMPRESSED
    assert sorted(set(re.findall(r'(?:from|import)\s*\(?"([^"]+)"', text))) == ["../codec.js", "../log.js"]
    assert 'from "./codec.js"' in bundle.parents[1].joinpath("log.js").read_text("utf-8"), (
        "it is loaded for logs anyhow"
    )
    assert "MIT" in bundle.with_name(clients.CURVE_LICENSE).read_text("utf-8")


CURVE_JOBS = """
import { decodeKeyPoint, decodePoint, encodePoints, hashToPoint, modulo, pairingsAgree, sum } from "./curve.mjs";
const fromHex = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));
const hex = (one) => Buffer.from(one).toString("hex");
const attempt = (work) => { try { return work(); } catch (error) { return error.constructor.name === "TypeError" ? "broken" : null; } };
let text = "";
for await (const part of process.stdin) text += part;
const { points, keys, sums, messages } = JSON.parse(text);
console.log(JSON.stringify({
  points: points.map((one) => attempt(() => hex(encodePoints([decodePoint(fromHex(one))])[0]))),
  keys: keys.map((one) => attempt(() => (decodeKeyPoint(fromHex(one)), one))),
  sums: sums.map((terms) => hex(encodePoints([sum(terms.map(([point, scalar]) => [decodePoint(fromHex(point)), BigInt(scalar)]))])[0])),
  messages: messages.map((one) => hex(encodePoints([hashToPoint(fromHex(one), "a tag of the test")])[0])),
}));
"""


@pytest.fixture(scope="module")
def curve(node_tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the curve alone, bundled from its source."""

    def make(folder: Path) -> None:
        source = clients.TYPESCRIPT / "src" / "proofs" / "curve.ts"
        named = [f"--alias:@noble/{name}={node_tools.parent / '@noble' / name}" for name in ("curves", "hashes")]
        out = folder / "curve.mjs"
        clients.run_node_tool(node_tools, "esbuild", source, "--bundle", "--format=esm", f"--outfile={out}", *named)
        (folder / "jobs.mjs").write_text(CURVE_JOBS)

    return once(tmp_path_factory, "curve", make)


def test_curve_is_that_of_the_python_package(curve: Path) -> None:
    """Points outside of the subgroup, of small order, off the curve and in another form are refused; sums with every special case agree."""
    own, random = select(), Random(3)
    suite = ciphersuite(own)
    good = [own.g1_to_octets(suite.generator(slot)) for slot in range(6)]
    key = own.g2_to_octets(own.g2_mul(own.g2_generator(), 5))
    infinite, cut = bytes([0xC0]) + bytes(95), key[:-1]
    bad_keys = [infinite, cut, bytes(96), key[:95] + bytes([key[95] ^ 1]), bytes([key[0] ^ 0x80]) + key[1:]]
    points = [*good, *hostile_points(), good[0][:-1], good[0] + b"\x00", b""]
    scalars = [0, 1, 2, 3, ORDER - 1, 2**128 - 1, 0xD201000000010000**2, 0xD201000000010000**2 - 1, ORDER // 2]
    sums = [[(good[0], one)] for one in scalars]
    sums += [[(good[0], 5), (good[0], ORDER - 5)], [(good[0], 5), (good[0], 5)], [(good[1], 0), (good[0], 0)], []]
    sums += [
        [(point, random.randrange(ORDER)) for point in random.sample(good, size)]
        for size in (1, 2, 3, 6)
        for _ in range(6)
    ]
    messages = [b"", b"x", bytes(200)]
    asked = {
        "points": [one.hex() for one in points],
        "keys": [one.hex() for one in (key, *bad_keys)],
        "sums": [[(point.hex(), str(scalar)) for point, scalar in terms] for terms in sums],
        "messages": [one.hex() for one in messages],
    }
    found = json.loads(run_node(curve, "jobs.mjs", said=json.dumps(asked)))

    def decoded(data: bytes) -> str | None:
        try:
            return own.g1_to_octets(own.octets_to_g1(data)).hex()
        except InvalidPoint:
            return None

    assert found["points"] == [decoded(one) for one in points]
    assert found["points"][6:] == [None] * (len(points) - 6)
    assert len(outside_points()) >= 10
    assert found["keys"] == [key.hex(), *[None] * len(bad_keys)]
    totals = [own.g1_msm([own.octets_to_g1(point) for point, _ in terms], [one for _, one in terms]) for terms in sums]
    assert found["sums"] == [own.g1_to_octets(one).hex() for one in totals]
    hashed = [own.g1_to_octets(own.hash_to_g1(one, b"a tag of the test")).hex() for one in messages]
    assert found["messages"] == hashed


def test_hostile_input_takes_bounded_time(do: Run) -> None:
    """The longest texts, the deepest JSON and the largest statement end within seconds, in the result of Python."""
    (job,) = good_proofs(SEED, 1)
    texts = ["A" * 131_072, "A" * 131_073, "W" * 100_000, ""]
    jobs = [job | {"proof": text} for text in texts]
    jobs += [job | {"documents": [document(job["documents"][0]["assertionMethod"][0], b"\xff" * 96)]}]
    assert results(do, jobs) == expected_results(jobs)
