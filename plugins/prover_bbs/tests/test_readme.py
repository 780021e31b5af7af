"""The examples of the README run, and say what they say."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from identity_kit.conformance.prover_cases import HANA, SCHEMA, BbsIssuer

ROOT = Path(__file__).parents[1]
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)


def run_examples(**changes):
    issuer = BbsIssuer()
    now = datetime.now(UTC).replace(microsecond=0)
    names = {
        "schema": SCHEMA,
        "attributes": HANA,
        "signature": issuer.credential(SCHEMA, HANA).signature,
        "issuer_public_key": issuer.key.public_key,
        "issuer_verification_method": issuer.key.verification_method,
        "nonce": bytes(range(32)),
        "issued_at": now,
        "expires_at": now + timedelta(minutes=5),
    }
    verify, prove = BLOCKS
    imports = verify[: verify.index("verified =")]
    exec(imports + prove, names)
    proof = names["proof"]
    names["zk_proof"] = {
        "proof": proof.proof,
        "publicSignals": list(proof.public_signals),
        "proofId": proof.proof_id,
    } | changes
    exec(verify, names)
    return names["verified"]


def test_the_examples_run():
    never = {"holder", "credentialValidity", "credentialStatus", "revocation"}
    found = run_examples()
    assert (found.verdict, set(found.unchecked)) == ("valid", {"schemaId", "schemaHeader"} | never)


def test_and_would_fail():
    assert run_examples(publicSignals=[]).verdict == "invalid"


def test_the_protocol_holds_every_equation_that_the_code_cites():
    page = (ROOT / "identity_prover_bbs" / "PROTOCOL.md").read_text()
    cited, sections = set(), set()
    for module in (ROOT / "identity_prover_bbs").glob("*.py"):
        for sentence in re.findall(r"Equations? ((?:\([0-9.]+\)(?:, )?)+)", module.read_text()):
            cited |= set(re.findall(r"\([0-9.]+\)", sentence))
        sections |= set(re.findall(r"PROTOCOL\.md §([0-9.]*[0-9])", module.read_text()))
    numbered = set(re.findall(r"(\([0-9]\.[0-9]+\))$", page, re.M))
    assert cited <= numbered
    assert len(cited) >= 15
    for section in sections:
        assert re.search(
            rf"^#+ {re.escape(section)}[. ]|^{re.escape(section.partition('.')[2] or '-')}\. \*\*", page, re.M
        ), section


def test_the_package_carries_its_protocol():
    assert '"*.md"' in (ROOT / "pyproject.toml").read_text()
    assert "Experimental" in (ROOT / "identity_prover_bbs" / "PROTOCOL.md").read_text()
