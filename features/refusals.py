"""The refusal table: what every operation refuses alike, because the request path is compiled from the document.

A row is a change of a good request, the state of the service, and the status and code that it leads to. Its operations are those whose
document names the pair. The default run takes three operations of each shape, other ones for each row; the nightly run takes all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from features.document import Operation, operation, operations
from features.steps import delegation_life, faults, quotas, requests
from features.steps.answers import refused
from features.world import World

Step = Callable[[World], None]
PER_SHAPE = 3


def by_request(operation: Operation) -> Hashable:
    """Return the shape of what is decided by the request alone."""
    return operation.method == "GET", operation.has_body


def by_caller(operation: Operation) -> Hashable:
    """Return the shape of what is decided by who calls."""
    api_key, did = "ApiKeyAuth" in operation.schemes, {"DidAuth", "RecoveryKeyAuth"} & {*operation.schemes}
    return by_request(operation), api_key, bool(did), 401 in operation.refusals


def by_write(operation: Operation) -> Hashable:
    """Return the shape of what is decided for all that write, and by each operation that reads."""
    return operation.operation_id if operation.method == "GET" else operation.has_body


def by_operation(operation: Operation) -> Hashable:
    """Return the shape of what each operation does for itself."""
    return operation.operation_id


def every(operation: Operation) -> bool:
    """Return True."""
    return True


def has_credential(operation: Operation) -> bool:
    """Return whether the operation takes a credential."""
    return bool(operation.schemes)


def takes_any_signature(operation: Operation) -> bool:
    """Return whether any DID may sign; the DID of the others is in their path, and they have scenarios of their own."""
    own = ("updateDid", "deactivateDid", "rotateDidKey")
    return "DidAuth" in operation.schemes and operation.operation_id not in own


def finds_signer(operation: Operation) -> bool:
    """Return whether an unusable DID of the signature is named; a token endpoint answers otherwise."""
    return takes_any_signature(operation) and operation.operation_id != "issueToken"


def calls_no_prover(operation: Operation) -> bool:
    """Return whether no prover or signer is the first plugin that the operation needs; the others have scenarios of their own."""
    own = ("answerVerifierRequest", "createDelegatedPresentation", "generateDelegatedProof", "getStatusList")
    return operation.operation_id not in own


def calls_key_store_or_method(operation: Operation) -> bool:
    """Return whether the operation fails with the key store or the DID method; the others have scenarios of their own."""
    own = (
        "getLedgerCheckpoint",
        "getLedgerInclusionProof",
        "getStatusGapsProof",
        "resetDisclosures",
        "rotateHolderSecret",
    )
    return calls_no_prover(operation) and operation.operation_id not in own


@dataclass(frozen=True)
class Row:
    """A refusal of the operations that ``where`` selects from those whose document names it."""

    status: int
    code: str
    change: Step
    shape: Callable[[Operation], Hashable]
    state: Step | None = None
    where: Callable[[Operation], bool] = every

    def __str__(self) -> str:
        return f"{self.code}-{self.change.__name__}"

    def operations(self) -> list[Operation]:
        """Return the operations that refuse so."""
        return [one for one in operations() if self.code in one.refusals.get(self.status, ()) and self.where(one)]

    def check(self, world: World, operation_id: str) -> None:
        """Send a good request with the change to the service in its state, and compare the answer."""
        if self.state is not None:
            self.state(world)
        requests.good(world, operation_id)
        self.change(world)
        refused(world, str(self.status), self.code)
        if self.status == 405:
            assert operation(operation_id).method in world.answer.headers["allow"].split(", ")


TABLE = (
    Row(400, "INVALID_REQUEST", requests.surplus, by_request),
    Row(400, "AUTH_AMBIGUOUS", requests.ambiguous, by_caller),
    Row(401, "AUTH_REQUIRED", requests.anonymous, by_caller),
    Row(401, "AUTH_FAILED", requests.forged, by_caller, where=has_credential),
    Row(404, "DID_NOT_FOUND", delegation_life.signed_by_an_unregistered_did, by_caller, where=finds_signer),
    Row(405, "METHOD_NOT_ALLOWED", requests.method, by_request),
    Row(410, "DID_DEACTIVATED", delegation_life.signed_by_the_dead, by_caller, where=finds_signer),
    Row(413, "PAYLOAD_TOO_LARGE", requests.huge, by_request),
    Row(415, "UNSUPPORTED_MEDIA_TYPE", requests.plain, by_request),
    Row(422, "IDEMPOTENCY_MISMATCH", requests.mismatched, by_request),
    Row(429, "RATE_LIMITED", requests.twice, by_caller, requests.strict),
    Row(429, "QUOTA_EXCEEDED", quotas.by_a_full_one, by_caller, quotas.frugal),
    Row(431, "HEADERS_TOO_LARGE", requests.headers, by_request),
    Row(500, "INTERNAL_ERROR", faults.struck, by_request, faults.core),
    Row(500, "BLOCKCHAIN_ERROR", faults.struck, by_operation, faults.ledger),
    Row(503, "OVERLOADED", faults.crowded, by_request, faults.busy),
    Row(503, "PLUGIN_UNAVAILABLE", faults.struck, by_caller, faults.raising, calls_key_store_or_method),
    Row(
        503,
        "DID_QUARANTINED",
        delegation_life.signed_by_the_changed,
        by_caller,
        faults.changed,
        takes_any_signature,
    ),
    Row(503, "STORAGE_MISMATCH", faults.noticed, by_write, faults.rolled_back),
    Row(504, "PLUGIN_TIMEOUT", faults.struck, by_caller, faults.hanging, calls_no_prover),
)


def sampled() -> list[tuple[Row, str]]:
    """Return each row with three operations of each shape."""
    found = []
    for number, row in enumerate(TABLE):
        shapes: defaultdict[Hashable, list[str]] = defaultdict(list)
        for one in row.operations():
            shapes[row.shape(one)].append(one.operation_id)
        for alike in shapes.values():
            start = number * PER_SHAPE % len(alike)
            found += [(row, name) for name in (alike[start:] + alike[:start])[:PER_SHAPE]]
    return found
