"""The draft's fixtures, all of them, on every backend: byte-identical and not merely accepted."""

from __future__ import annotations

import pytest

from identity_bbs import core, disclosure, encoding, interface
from identity_bbs.bls12381 import ORDER, keys
from identity_bbs.bls12381.keys import expand_message_xmd, hash_to_scalar
from identity_bbs.suite import (
    API_ID,
    MAP_MESSAGE_DST,
    P1,
    BbsProofInvalid,
    BbsSignatureInvalid,
)


def unhexed(*texts: str) -> list[bytes]:
    return [bytes.fromhex(text) for text in texts]


def mocked_scalars(seed: str, dst: bytes, count: int) -> list[int]:
    """mocked_calculate_random_scalars of the draft; it exists in tests only."""
    expanded = expand_message_xmd(bytes.fromhex(seed), dst, 48 * count)
    return [int.from_bytes(expanded[48 * i : 48 * i + 48], "big") % ORDER for i in range(count)]


PI_SEED = "332e313431353932363533353839373933323338343632363433333833323739"
MOCK_DST = API_ID + b"MOCK_RANDOM_SCALARS_DST_"


def test_key_pair(suite, vector):
    pair = vector("keypair")
    secret = keys.generate_secret(*unhexed(pair["keyMaterial"], pair["keyInfo"]))
    assert keys.KEY_DST.hex() == pair["keyDst"]
    assert secret.hex() == pair["keyPair"]["secretKey"]
    point = suite.curve.g2_mul(suite.curve.g2_generator(), keys.secret_scalar(secret))
    assert suite.curve.g2_to_octets(point).hex() == pair["keyPair"]["publicKey"]


def test_generators(suite, vector):
    expected = vector("generators")
    assert P1.hex() == expected["P1"]
    assert suite.generator_octets(10).hex() == expected["Q1"] + "".join(expected["MsgGenerators"])


def test_p1_is_hashed_like_the_others(suite):
    seed_dst, dst = API_ID + b"SIG_GENERATOR_SEED_", API_ID + b"SIG_GENERATOR_DST_"
    value = expand_message_xmd(API_ID + b"BP_MESSAGE_GENERATOR_SEED", seed_dst, 48)
    value = expand_message_xmd(value + (1).to_bytes(8, "big"), seed_dst, 48)
    assert suite.curve.g1_to_octets(suite.curve.hash_to_g1(value, dst)) == P1


def test_hash_to_scalar(vector):
    case = vector("h2s")
    assert hash_to_scalar(*unhexed(case["message"], case["dst"])) == int(case["scalar"], 16)


def test_message_mapping(vector):
    mapping = vector("MapMessageToScalarAsHash")
    assert mapping["dst"] == MAP_MESSAGE_DST.hex()
    scalars = encoding.messages_to_scalars([bytes.fromhex(case["message"]) for case in mapping["cases"]])
    assert scalars == [int(case["scalar"], 16) for case in mapping["cases"]]


def test_mocked_random_scalars(vector):
    case = vector("mockedRng")
    assert (case["seed"], case["dst"]) == (PI_SEED, MOCK_DST.hex())
    assert mocked_scalars(PI_SEED, MOCK_DST, 10) == [int(scalar, 16) for scalar in case["mockedScalars"]]


@pytest.mark.parametrize("number", range(1, 11))
def test_signature(suite, vector, number):
    case = vector(f"signature/signature{number:03}")
    secret, public, header, signature = unhexed(
        case["signerKeyPair"]["secretKey"],
        case["signerKeyPair"]["publicKey"],
        case.get("header", ""),
        case["signature"],
    )
    messages = unhexed(*case["messages"])
    if not case["result"]["valid"]:
        with pytest.raises(BbsSignatureInvalid):
            interface.verify(suite, public, signature, header, messages)
        return
    interface.verify(suite, public, signature, header, messages)
    assert interface.sign(suite, secret, public, header, messages) == signature
    key = encoding.octets_to_public_key(suite, public)
    domain = encoding.calculate_domain(suite, key, len(messages), header)
    assert domain == int(case["trace"]["domain"], 16)
    b = suite.commitment(domain, encoding.messages_to_scalars(messages))
    assert suite.curve.g1_to_octets(b).hex() == case["trace"]["B"]


@pytest.mark.parametrize("number", range(1, 16))
def test_proof_is_judged(suite, vector, number):
    case = vector(f"proof/proof{number:03}")
    public, proof, header, presentation_header = unhexed(
        case["signerPublicKey"], case["proof"], case.get("header", ""), case.get("presentationHeader", "")
    )
    indexes = case["disclosedIndexes"]
    shown = unhexed(*(case["messages"][index] for index in indexes))
    if case["result"]["valid"]:
        disclosure.proof_verify(suite, public, proof, header, presentation_header, shown, indexes)
    else:
        with pytest.raises(BbsProofInvalid):
            disclosure.proof_verify(suite, public, proof, header, presentation_header, shown, indexes)


@pytest.mark.parametrize("number", [1, 2, 3, 14, 15])
def test_proof_is_made_again(suite, vector, number):
    case = vector(f"proof/proof{number:03}")
    public, signature, header, presentation_header = unhexed(
        case["signerPublicKey"], case["signature"], case.get("header", ""), case.get("presentationHeader", "")
    )
    messages, indexes = unhexed(*case["messages"]), case["disclosedIndexes"]
    proof = disclosure.proof_gen(
        suite, public, signature, header, presentation_header, messages, indexes,
        lambda count: mocked_scalars(PI_SEED, MOCK_DST, count),
    )  # fmt: skip
    assert proof.hex() == case["proof"]


@pytest.mark.parametrize("number", [1, 2, 3, 14, 15])
def test_trace_of_a_proof(suite, vector, number):
    case = vector(f"proof/proof{number:03}")
    trace, indexes = case["trace"], case["disclosedIndexes"]
    public, signature, header, presentation_header = unhexed(
        case["signerPublicKey"], case["signature"], case.get("header", ""), case.get("presentationHeader", "")
    )
    scalars = encoding.messages_to_scalars(unhexed(*case["messages"]))
    given = trace["random_scalars"]
    names = ("r1", "r2", "e_tilde", "r1_tilde", "r3_tilde")
    dice = disclosure.named([int(text, 16) for text in (*(given[name] for name in names), *given["m_tilde_scalars"])])
    key = encoding.octets_to_public_key(suite, public)
    signed = encoding.octets_to_signature(suite, signature)
    init = core.proof_init(suite, key, signed, header, scalars, indexes, dice)
    assert init.points_octets.hex() == "".join(trace[name] for name in ("A_bar", "B_bar", "D", "T1", "T2"))
    assert init.domain == int(trace["domain"], 16)
    shown = {index: scalars[index] for index in indexes}
    assert encoding.calculate_challenge(init, shown, presentation_header) == int(trace["challenge"], 16)
    proof = encoding.octets_to_proof(suite, bytes.fromhex(case["proof"]))
    assert core.proof_verify_init(suite, key, proof, header, shown).points_octets == init.points_octets
