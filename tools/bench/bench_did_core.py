"""What the DID core costs: drafting, signing and applying a create, an update, one state for the index, strict JSON.

Run it with ``python tools/bench/bench_did_core.py``; it prints medians in microseconds of CPU time.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from identity_did_ids.chain import Chain
from identity_did_ids.evolution import Rules
from identity_kit.conformance.controller import Controller, WalletSigner

from identity_codec import jcs, strict_json
from identity_core.domain.dids import state as history
from identity_core.domain.dids.changes import AddService, Create, NewService, Update

AT = datetime(2026, 1, 1, tzinfo=UTC)
ROUNDS = 400


def median(work: Callable[[int], object], rounds: int = ROUNDS) -> float:
    times = []
    for place in range(rounds):
        started = time.process_time_ns()
        work(place)
        times.append((time.process_time_ns() - started) / 1000)
    return statistics.median(times)


def report(name: str, microseconds: float) -> None:
    print(f"{name:46s} {microseconds:9.1f} us")


def creations(controller: Controller, signer: WalletSigner, types: Sequence[str]) -> list[Create]:
    service = NewService("DIDCommMessaging", "https://agent.example/didcomm")
    return [
        Create(tuple(controller.new_key(name) for name in types), (signer.multikey,), (service,)) for _ in range(ROUNDS)
    ]


def report_creation(chain: Chain, controller: Controller, signer: WalletSigner, types: Sequence[str]) -> None:
    def whole(change: Create) -> history.DidState:
        return chain.apply(None, signer.seal(chain.draft(None, change, AT, signer=signer.multikey)))

    name = f"create, {len(types)} keys"
    report(f"keys made: {len(types)}", median(lambda _: [controller.key(kind) for kind in types]))
    first, second, third = (creations(controller, signer, types) for _ in range(3))
    drafts = [chain.draft(None, change, AT, signer=signer.multikey) for change in first]
    entries = [signer.seal(draft) for draft in drafts]
    report(f"{name}: draft", median(lambda n: chain.draft(None, second[n], AT, signer=signer.multikey)))
    report(f"{name}: sign and seal", median(lambda n: signer.seal(drafts[n])))
    report(f"{name}: apply", median(lambda n: chain.apply(None, entries[n])))
    report(f"{name}: all three", median(lambda n: whole(third[n])))


def main() -> None:
    chain, controller, signer = Chain("ids", Rules()), Controller("bench"), WalletSigner("bench")

    def create(change: Create) -> history.DidState:
        return chain.apply(None, signer.seal(chain.draft(None, change, AT, signer=signer.multikey)))

    for types in (
        ["Ed25519", "X25519KeyAgreementKey2020"],
        ["Ed25519", "X25519KeyAgreementKey2020", "Bls12381G2Key2020"],
    ):
        report_creation(chain, controller, signer, types)

    states = [create(change) for change in creations(controller, signer, ["Ed25519", "X25519KeyAgreementKey2020"])]
    at = AT + timedelta(minutes=1)
    changes = [
        Update(
            (AddService(NewService("LinkedDomains", "https://hana.example/")),),
            controller.authorize(str(state.did), history.authentication_keys(state, at)[0], at),
        )
        for state in states
    ]

    def update(place: int) -> history.DidState:
        draft = chain.draft(states[place], changes[place], at, signer=signer.multikey)
        return chain.apply(states[place], signer.seal(draft))

    report("update: draft, sign, apply", median(update))
    state = states[0]
    metadata, document = history.state_to_json(state), state.document.encoded
    report("state to bytes", median(lambda _: (history.state_to_json(state), state.document.encoded)))
    report("state from bytes", median(lambda _: history.state_from_json(state.did.text, metadata, document)))

    body = json.dumps({"method": "ids", "keys": [{"type": "Ed25519", "purpose": ["authentication"]}] * 14}).encode()
    report(f"strict JSON, {len(body)} bytes", median(lambda _: strict_json.loads(body)))
    value = state.document.to_json()
    report(f"JCS, {len(document)} bytes", median(lambda _: jcs.canonicalize(value)))


if __name__ == "__main__":
    main()
