"""Figures of the prover: median CPU time of a proof and of its verification, sizes, set-up, throughput.

    python -m tools.bench.bench_prover [--runs 20] [--suite 1|2] [--backend pyblst ...] [--throughput] [--timing 10000]

Six messages: two hashed claims and two ordered ones with both slots. A size is that of BBS proof and sub-proofs together, before
base64. The time of a proof holds everything from the statement to the text; the credential was checked before. With
anoncreds 0.2.3 installed (the extra ``bench``) its figures for an age bound over six attributes follow, in the same run.

Targets (prove / verify, ms): 64-bit interval 3.5 / 3.5 on pyblst, 140 / 340 on py_ecc; date bound 2.2 / 2.6; set of
16, 256, 1024: 2.5, 3.5, 5 to prove. Bytes: 1,744, 1,072, 944 (age interval), 1,328 (set of 1024). Set-up 0.5 s and 64 MiB. 250 proofs
and verifications a second and core; a second process adds 70 %.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from identity_kit.conformance.prover_cases import NOW, BbsIssuer, context, statement

from identity_codec import jcs
from identity_codec.multibase import base64url_decode
from identity_codec.strict_json import loads
from identity_core.domain.credentials.attributes import Attribute, AttributeType
from identity_core.domain.credentials.schema import Schema
from identity_core.domain.proofs.proof import ZkProof
from tools.bench import presentations
from tools.bench.figures import note

SCHEMA = Schema(
    "https://schemas.example/bench/1",
    (
        Attribute("name", AttributeType.STRING),
        Attribute("country", AttributeType.STRING),
        Attribute("birthDate", AttributeType.DATE),
        Attribute("balance", AttributeType.INTEGER),
    ),
)
VALUES = {"name": "Hana", "country": "JP", "birthDate": "1990-02-03", "balance": 1000}
COUNTRIES = ["JP", *(f"country {number}" for number in range(1023))]
CASES: dict[str, list[tuple[str, str, Any]]] = {
    "64-bit bound": [("balance", "gte", 0)],
    "64-bit interval, two-sided": [
        ("balance", "gte", "-9223372036854775807"),
        ("balance", "lte", "9223372036854775806"),
    ],
    "date bound": [("birthDate", "lte", "2008-01-02")],
    "age interval 18 to 65": [("birthDate", "lte", "2008-01-02"), ("birthDate", "gt", "1960-01-02")],
    "equality, numeric slot": [("balance", "eq", 1000)],
    "equality by disclosure": [("country", "eq", "JP")],
    "set of 16": [("balance", "set_member", list(range(993, 1009)))],
    "set of 256": [("balance", "set_member", list(range(900, 1156)))],
    "set of 1024": [("balance", "set_member", list(range(1024)))],
    "set of 1024 texts": [("country", "set_member", COUNTRIES)],
    "date and 64-bit bound": [("birthDate", "lte", "2008-01-02"), ("balance", "gte", 0)],
    "date, 64-bit bound, set of 256": [
        ("birthDate", "lte", "2008-01-02"),
        ("balance", "gte", 0),
        ("country", "set_member", COUNTRIES[:256]),
    ],
}


def milliseconds(work: Callable[[], object]) -> float:
    """CPU time: what other processes do on the machine is not ours."""
    begun = time.process_time()
    work()
    return 1000 * (time.process_time() - begun)


def median(work: Callable[[], object], runs: int) -> float:
    return statistics.median(milliseconds(work) for _ in range(runs))


def octets_of(proof: ZkProof) -> int:
    body = loads(base64url_decode(proof.proof))
    return sum(len(base64url_decode(text)) for text in (body["bbsProof"], *body["predicateProofs"]))


class Bench:
    """One backend, with its tables built."""

    def __init__(self, backend: str) -> None:
        from identity_prover_bbs import BbsProver

        from identity_bbs.bls12381 import select

        curve = select(backend)
        self.prover = BbsProver(curve, os.urandom)
        self.issuer = BbsIssuer("bench", curve)
        self.witness = self.issuer.credential(SCHEMA, VALUES)

    def prove(self, asked: Any) -> ZkProof:
        return self.prover.prove(asked, self.witness, context=context())

    def verify(self, asked: Any, proof: ZkProof) -> None:
        self.prover.verify(asked, proof, context=context(), now=NOW)

    def case(self, name: str, runs: int) -> tuple[float, float, int, int]:
        """Prove and verify in milliseconds, bytes of the proofs, characters of the envelope."""
        asked = statement(self.issuer.key, *CASES[name], schema=SCHEMA)
        proof = self.prove(asked)
        self.verify(asked, proof)
        proving = median(lambda: self.prove(asked), runs)
        verifying = median(lambda: self.verify(asked, proof), runs)
        return proving, verifying, octets_of(proof), len(proof.proof)

    def warm(self) -> None:
        # The widest statement first, so that its generators get the tables.
        for name in ("64-bit interval, two-sided", "set of 16"):
            asked = statement(self.issuer.key, *CASES[name], schema=SCHEMA)
            self.verify(asked, self.prove(asked))


def resident_mebibytes() -> float:
    with open("/proc/self/status") as status:
        (line,) = (line for line in status if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024


def backend_figures(name: str, runs: int) -> None:
    from identity_bbs.bls12381 import BackendUnavailable

    before = resident_mebibytes()
    begun = time.process_time()
    try:
        bench = Bench(name)
    except BackendUnavailable as fault:
        print(f"{name}: {fault}")
        return
    loaded = time.process_time()
    bench.warm()
    warmed = time.process_time()
    print(
        f"\n{name}: import, self-test, key, credential {1000 * (loaded - begun):.0f} ms; generators, tables and two proofs"
        f" {1000 * (warmed - loaded):.0f} ms; {resident_mebibytes() - before:.0f} MiB more; medians of {runs}"
    )
    print(f"{'statement':34}{'prove ms':>10}{'verify ms':>11}{'bytes':>9}{'envelope':>10}")
    for case in CASES:
        proving, verifying, data, envelope = bench.case(case, runs)
        note(f"{name}, {case}", prove_ms=proving, verify_ms=verifying, bytes=data)
        print(f"{case:34}{proving:10.2f}{verifying:11.2f}{data:9,}{envelope:10,}", flush=True)


def worker(backend: str, seconds: float, what: str) -> None:
    """Prints how many 64-bit proofs or verifications it did a second of wall time."""
    bench = Bench(backend)
    bench.warm()
    asked = statement(bench.issuer.key, *CASES["64-bit bound"], schema=SCHEMA)
    proof = bench.prove(asked)
    work = partial(bench.prove, asked) if what == "prove" else partial(bench.verify, asked, proof)
    print("ready", flush=True)
    sys.stdin.readline()
    begun, count = time.perf_counter(), 0
    while time.perf_counter() - begun < seconds:
        work()
        count += 1
    print(count / (time.perf_counter() - begun), flush=True)


def throughput(backend: str, seconds: float = 5.0) -> None:
    """One and two pinned processes, started together once all are warm."""
    for what in ("prove", "verify"):
        rates = []
        for processes in (1, 2):
            command = [sys.executable, __file__, "--worker", what, "--backend", backend, "--seconds", str(seconds)]
            pipes = [
                subprocess.Popen(
                    ["taskset", "-c", str(core), *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
                )
                for core in range(processes)
            ]
            for pipe in pipes:
                assert pipe.stdout is not None
                pipe.stdout.readline()
            for pipe in pipes:
                assert pipe.stdin is not None
                pipe.stdin.write("go\n")
                pipe.stdin.flush()
            rates.append(sum(float(pipe.communicate()[0].strip()) for pipe in pipes))
        gain = 100 * (rates[1] / rates[0] - 1)
        print(f"{backend} {what}: {rates[0]:.0f} a second with one process, {rates[1]:.0f} with two (+{gain:.0f} %)")


def timing(backend: str, count: int) -> None:
    """Welch's t between proofs about values whose digits are all zero and all three; |t| < 4.5 is not a correlation."""
    bench = Bench(backend)
    bench.warm()
    asked = statement(bench.issuer.key, ("balance", "gte", 0), schema=SCHEMA)
    witnesses = [bench.issuer.credential(SCHEMA, {**VALUES, "balance": value}) for value in (0, "9223372036854775807")]
    times: list[list[float]] = [[], []]
    for number in range(count):
        kind = number % 2
        begun = time.perf_counter_ns()
        bench.prover.prove(asked, witnesses[kind], context=context())
        times[kind].append(float(time.perf_counter_ns() - begun))
    # The slowest tenth is the scheduler's.
    kept = [sorted(one)[: len(one) * 9 // 10] for one in times]
    means = [statistics.fmean(one) for one in kept]
    errors = [statistics.variance(one) / len(one) for one in kept]
    t = (means[0] - means[1]) / sum(errors) ** 0.5
    print(
        f"{backend}: {count} proofs, all digits zero {means[0] / 1e6:.3f} ms, all three {means[1] / 1e6:.3f} ms, t = {t:.2f}"
    )


def anoncreds_figures(runs: int) -> None:
    """CL credential of six attributes, age >= 18, by anoncreds (native Rust)."""
    try:
        import anoncreds
    except ImportError:
        print("\nanoncreds is not installed: pip install anoncreds==0.2.3")
        return
    names = ["name", "country", "birth", "balance", "age", "height"]
    schema = anoncreds.Schema.create("bench", "1.0", "mock:issuer", names)
    begun = time.process_time()
    public, private, correctness = anoncreds.CredentialDefinition.create(
        "mock:schema", schema, "mock:issuer", "tag", "CL", support_revocation=False
    )
    print(f"\nanoncreds: credential definition {time.process_time() - begun:.1f} s of CPU; medians of {runs}")
    secret = anoncreds.create_link_secret()
    offer = anoncreds.CredentialOffer.create("mock:schema", "mock:definition", correctness)
    request, metadata = anoncreds.CredentialRequest.create("entropy", None, public, secret, "default", offer)
    values = {"name": "Hana", "country": "JP", "birth": "19900203", "balance": "1000", "age": "35", "height": "168"}
    issued = anoncreds.Credential.create(public, private, offer, request, values)
    credential = issued.process(metadata, secret, public, None)
    for title, bounds in (("age >= 18", [(">=", 18)]), ("18 <= age <= 65", [(">=", 18), ("<=", 65)])):
        predicates = {
            f"p{n}": {"name": "age", "p_type": kind, "p_value": value} for n, (kind, value) in enumerate(bounds)
        }
        asked = anoncreds.PresentationRequest.load(
            {
                "name": "bench",
                "version": "1.0",
                "nonce": anoncreds.generate_nonce(),
                "requested_attributes": {},
                "requested_predicates": predicates,
            }
        )
        used = anoncreds.PresentCredentials()
        used.add_predicates(credential, *predicates)
        schemas, definitions = {"mock:schema": schema}, {"mock:definition": public}
        make = partial(anoncreds.Presentation.create, asked, used, {}, secret, schemas, definitions)
        made = make()
        check = partial(made.verify, asked, schemas, definitions, [], [], None)
        assert check()
        data = len(jcs.canonicalize(made.to_dict()))
        print(f"{title:34}{median(make, runs):10.2f}{median(check, runs):11.2f}{data:9,} bytes of JSON")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=20)
    options.add_argument("--suite", type=int, choices=[1, 2], help="one suite only; suite 2 has no throughput")
    options.add_argument("--backend", action="append", choices=["blst", "pyblst", "py_ecc"])
    options.add_argument(
        "--throughput", action="store_true", help="one and two pinned processes; needs a quiet machine"
    )
    options.add_argument("--timing", type=int, default=0, metavar="PROOFS", help="does the time depend on the digits?")
    options.add_argument("--skip-peers", action="store_true", help="leave anoncreds out")
    options.add_argument("--worker", choices=["prove", "verify"], help=argparse.SUPPRESS)
    options.add_argument("--seconds", type=float, default=5.0)
    given = options.parse_args()
    backends = given.backend or ["blst", "pyblst", "py_ecc"]
    if given.worker:
        worker(backends[0], given.seconds, given.worker)
        return
    for name in backends:
        if given.throughput:
            throughput(name, given.seconds)
        elif given.timing:
            if given.suite != 2:
                timing(name, given.timing)
            if given.suite != 1:
                presentations.welch(name, given.timing)
        else:
            if given.suite != 2:
                backend_figures(name, given.runs)
            if given.suite != 1:
                presentations.presentation_figures(name, given.runs)
    if not given.throughput and not given.timing and not given.skip_peers:
        anoncreds_figures(given.runs)


if __name__ == "__main__":
    main()
