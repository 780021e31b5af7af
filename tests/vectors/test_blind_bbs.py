"""The vectors of the Blind BBS draft of February 2025, as far as they say something about what stands here.

Blind issue of suite 2 is not that interface (PROTOCOL-2.md §3): it has two fixed slots instead of its own list of generators,
and its challenge binds holder, header and nonce. The parts are the same, and these vectors hold them: expanding, hashing to
points and scalars, the commitment and the equation of its proof, the signature on a point, the domain, and the verifier's equations
of a proof over two lists of generators. What differs: the interface and so every tag, Q_2 for the blind, e without the domain. The text of
the draft was put into another order in June 2026, for which there are no vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from identity_bbs import core
from identity_bbs.bls12381 import ORDER, Curve, select
from identity_bbs.bls12381.keys import expand_message_xmd, hash_to_scalar, secret_scalar
from identity_bbs.encoding import (
    octets_to_proof,
    octets_to_public_key,
    octets_to_signature,
    signature_to_octets,
)
from identity_bbs.frames import number, scalar
from identity_bbs.suite import CIPHERSUITE_ID, P1, BbsProofInvalid, ciphersuite
from tests.vectors.files import match_paths, vector_json

FOLDER = "bbs-blind-2025-02/bls12-381-sha-256"
API_ID = CIPHERSUITE_ID + b"BLIND_H2G_HM2S_"
BACKENDS = ["blst", "pyblst"]


def generators(curve: Curve, count: int, api_id: bytes) -> list[bytes]:
    """create_generators of the draft, under any interface."""
    seed = expand_message_xmd(api_id + b"MESSAGE_GENERATOR_SEED", api_id + b"SIG_GENERATOR_SEED_", 48)
    made = []
    for index in range(1, count + 1):
        seed = expand_message_xmd(seed + number(index), api_id + b"SIG_GENERATOR_SEED_", 48)
        made.append(curve.g1_to_octets(curve.hash_to_g1(seed, api_id + b"SIG_GENERATOR_DST_")))
    return made


@dataclass
class Lists:
    """Q_1, H_1 … of the signer, Q_2, J_1 … of who commits."""

    curve: Curve
    signer: list[bytes]
    prover: list[bytes]

    @classmethod
    def build(cls, curve: Curve, messages: int, committed: int) -> Lists:
        return cls(curve, generators(curve, 1 + messages, API_ID), generators(curve, 1 + committed, b"BLIND_" + API_ID))

    def domain(self, key: bytes, header: bytes) -> int:
        points = [*self.signer, *self.prover]
        data = key + number(len(points) - 1) + b"".join(points) + API_ID + number(len(header)) + header
        return to_scalar(data)

    def sum(self, terms: list[tuple[bytes, int]]) -> Any:
        points = [self.curve.octets_to_g1(data) for data, _ in terms]
        return self.curve.g1_msm(points, [factor for _, factor in terms])


def to_scalar(data: bytes) -> int:
    return hash_to_scalar(data, API_ID + b"H2S_")


def mapped(messages: list[str]) -> list[int]:
    return [hash_to_scalar(bytes.fromhex(one), API_ID + b"MAP_MSG_TO_SCALAR_AS_HASH_") for one in messages]


def split(data: bytes) -> list[int]:
    return [int.from_bytes(data[at : at + 32], "big") for at in range(0, len(data), 32)]


@pytest.mark.parametrize("backend", BACKENDS)
def test_both_lists_of_generators(backend):
    given = vector_json(f"{FOLDER}/generators.json")
    for own, api_id in ((given["generators"], API_ID), (given["blindGenerators"], b"BLIND_" + API_ID)):
        assert (own["api_id"], own["P1"]) == (api_id.decode(), P1.hex())
        made = generators(select(backend), 1 + len(own["MsgGenerators"]), api_id)
        assert [one.hex() for one in made] == [own["Q1"], *own["MsgGenerators"]]


@pytest.mark.parametrize("path", match_paths(f"{FOLDER}/commit/*.json"))
def test_a_commitment_and_its_proof(path):
    """C = blind·Q_2 + the messages in J, and the responses to a challenge over generators, C and its masked twin."""
    given = vector_json(path)
    curve, data = select(), bytes.fromhex(given["commitmentWithProof"])
    lists = Lists.build(curve, 0, len(given["committedMessages"]))
    secrets = [int(given["proverBlind"], 16), *mapped(given["committedMessages"])]
    trace = given["trace"]["random_scalars"]
    masks = [int(one, 16) for one in (trace["s_tilde"], *trace["m_tildes"])]
    point, masked = (
        curve.g1_to_octets(lists.sum([*zip(lists.prover, each, strict=True)])) for each in (secrets, masks)
    )
    c = to_scalar(number(len(secrets) - 1) + b"".join(lists.prover) + point + masked)
    responses = [(mask + c * secret) % ORDER for mask, secret in zip(masks, secrets, strict=True)]
    assert point + b"".join(map(scalar, (*responses, c))) == data
    *sent, challenge = split(data[48:])
    again = lists.sum([*zip(lists.prover, sent, strict=True), (data[:48], -challenge)])
    assert curve.g1_to_octets(again) == masked


@pytest.mark.parametrize("path", match_paths(f"{FOLDER}/signature/*.json"))
def test_a_signature_on_a_commitment(path):
    """B, domain, and the signature on B. Here e is hashed from key and B alone; PROTOCOL-2.md (3.4) hashes the domain as well."""
    given = vector_json(path)
    curve = select()
    suite, key = ciphersuite(curve), given["signerKeyPair"]
    public, header = bytes.fromhex(key["publicKey"]), bytes.fromhex(given["header"])
    messages, committed = mapped(given["messages"]), mapped(given["committedMessages"] or [])
    commitment = given.get("commitmentWithProof")
    lists = Lists.build(curve, len(messages), len(committed))
    domain = lists.domain(public, header)
    trace = given["trace"]
    if len(trace["domain"]) == 64:
        assert domain == int(trace["domain"], 16)
    else:
        # One file has B as the domain, and another point as B.
        trace = {"B": trace["domain"]}
    terms = [(P1, 1), (lists.signer[0], domain), *zip(lists.signer[1:], messages, strict=True)]
    if commitment:
        terms.append((bytes.fromhex(commitment)[:48], 1))
    b = lists.sum(terms)
    assert curve.g1_to_octets(b).hex() == trace["B"]
    secret = secret_scalar(bytes.fromhex(key["secretKey"]))
    e = to_scalar(scalar(secret) + curve.g1_to_octets(b))
    made = core.sign_point(suite, secret, b, e)
    assert signature_to_octets(suite, made).hex() == given["signature"]
    core.verify_point(
        suite, octets_to_public_key(suite, public), octets_to_signature(suite, bytes.fromhex(given["signature"])), b
    )


@pytest.mark.parametrize("path", match_paths(f"{FOLDER}/proof/*.json"))
def test_a_proof_over_both_lists(path):
    """The verifier's T1 and T2, the challenge and the pairings; with another presentation header the challenge differs."""
    given = vector_json(path)
    curve = select()
    suite, public = ciphersuite(curve), bytes.fromhex(given["signerPublicKey"])
    proof = octets_to_proof(suite, bytes.fromhex(given["proof"]))
    shown = {int(at): one for at, one in given["revealedMessages"].items()}
    committed = {int(at) + given["L"] + 1: one for at, one in (given["revealedCommittedMessages"] or {}).items()}
    disclosed = dict(zip((*shown, *committed), mapped([*shown.values(), *committed.values()]), strict=True))
    count = len(disclosed) + len(proof.m_hats)
    lists = Lists.build(curve, given["L"], count - given["L"] - 1)
    domain = lists.domain(public, bytes.fromhex(given["header"]))
    bases = [*lists.signer[1:], *lists.prover]
    hidden = [at for at in range(count) if at not in disclosed]
    c = proof.challenge
    t1 = curve.g1_msm([proof.b_bar, proof.a_bar, proof.d], [c, proof.e_hat, proof.r1_hat])
    t2 = lists.sum(
        [
            (P1, c),
            (lists.signer[0], domain * c),
            (curve.g1_to_octets(proof.d), proof.r3_hat),
            *((bases[at], message * c) for at, message in disclosed.items()),
            *((bases[at], m_hat) for at, m_hat in zip(hidden, proof.m_hats, strict=True)),
        ]
    )
    init = core.InitResult(
        proof.a_bar,
        proof.b_bar,
        proof.d,
        t1,
        t2,
        domain,
        proof.points_octets + curve.g1_to_octets(t1) + curve.g1_to_octets(t2),
    )
    header = bytes.fromhex(given["presentationHeader"])
    assert challenge(init, disclosed, header) == c
    assert challenge(init, disclosed, header + b"x") != c
    key = octets_to_public_key(suite, public)
    core.check_pairing(suite, key, proof)
    with pytest.raises(BbsProofInvalid):
        core.check_pairing(suite, key, proof._replace(b_bar=proof.a_bar))


def challenge(init: core.InitResult, disclosed: dict[int, int], header: bytes) -> int:
    """ProofChallengeCalculate under the interface of the vectors."""
    data = number(len(disclosed)) + b"".join(number(at) + scalar(disclosed[at]) for at in sorted(disclosed))
    data += init.points_octets + scalar(init.domain) + number(len(header)) + header
    return to_scalar(data)
