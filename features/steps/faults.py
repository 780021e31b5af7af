"""Services that break, and what they answer then."""

from __future__ import annotations

import time

from pytest_bdd import given, when

from features.world import PATIENCE_SECONDS, World


def core(world: World) -> None:
    world.kind, world.notes["fault"] = "faulty", "core:raise"


def ledger(world: World) -> None:
    world.kind, world.notes["fault"] = "faulty", "ledger:raise"


def raising(world: World) -> None:
    world.kind, world.notes["fault"] = "faulty", "keys:raise method:raise securing:raise"


@given("a service whose plugins hang")
def hanging(world: World) -> None:
    world.kind, world.notes["fault"] = "hanging", "keys:hang ledger:hang securing:hang"


@given("a service whose custodian raises")
def custodian_raises(world: World) -> None:
    world.kind, world.notes["fault"] = "faulty", "custodian:raise"


@given("a service whose custodian hangs")
def custodian_hangs(world: World) -> None:
    world.kind, world.notes["fault"] = "hanging", "custodian:hang"


@given("a service whose prover raises")
def prover_raises(world: World) -> None:
    world.kind, world.notes["fault"] = "faulty", "prover:raise"


@given("a service whose prover hangs")
def prover_hangs(world: World) -> None:
    world.kind, world.notes["fault"] = "hanging", "prover:hang"


@given("a service whose proofs take a while")
def prover_slow(world: World) -> None:
    world.kind, world.notes["fault"] = "slow", "prover:hang"


def rolled_back(world: World) -> None:
    world.kind, world.notes["fault"] = "rolled back", "ledger:rolled-back"
    # A ledger without an entry cannot be older, and neither can one of which the tree has none yet.
    world.new_person("Olu")
    world.call("getLedgerCheckpoint")


def noticed(world: World) -> None:
    world.server.fault.write_text(world.notes["fault"])
    try:
        _await_ready(world, 503)
        world.send(world.notes["draft"])
    finally:
        world.server.fault.unlink()
    _await_ready(world, 200)


def _await_ready(world: World, status: int) -> None:
    """A service looks at its databases once a second."""
    deadline = time.monotonic() + PATIENCE_SECONDS / 2
    while world.http().get("/ready").status_code != status:
        assert time.monotonic() < deadline, f"the service is not {status}"
        time.sleep(0.02)


def busy(world: World) -> None:
    world.kind = "busy"
    world.notes["other"] = world.draft("createDid")


@when("the fault strikes and it is sent")
def struck(world: World) -> None:
    # Keys are cached for two seconds; a fault of their store is visible with a key that was not requested before.
    draft = world.notes["draft"]
    if "keys:" in world.notes["fault"] and any(scheme.startswith("ApiKey") for scheme in draft.operation.schemes):
        draft.headers["Authorization"] = f"ApiKey unknown-{time.monotonic_ns()}"
    world.server.fault.write_text(world.notes["fault"])
    try:
        world.send(draft)
    finally:
        world.server.fault.unlink()


def crowded(world: World) -> None:
    world.server.fault.write_text("ledger:hang")
    world.in_background(world.notes["other"])
    deadline = time.monotonic() + PATIENCE_SECONDS / 2
    # The health of a busy server can be read at any time; the key of its log cannot.
    while world.http().get("/ledger/key").status_code != 503:
        assert time.monotonic() < deadline, "the other request has not begun"
        time.sleep(0.01)
    world.send(world.notes["draft"])
    world.server.fault.unlink()


@given("a service whose answers take a while")
def slow(world: World) -> None:
    world.kind, world.notes["fault"] = "slow", "ledger:hang store:hang audit:hang secrets:hang reserved:hang"


@given("a service whose index was changed by another program")
def changed(world: World) -> None:
    world.kind, world.notes["fault"] = "faulty", "index:changed"


@given("a service that hides what is deactivated and whose index was changed by another program")
def changed_and_hidden(world: World) -> None:
    world.kind, world.notes["fault"] = "hidden", "index:changed"
