"""The application: authentication, costs, measurements, and every tag's handlers behind one guard."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from functools import partial
from typing import Any

from identity_core.api.access_log import RequestLog, observe_with
from identity_core.api.app import build_app
from identity_core.api.auth import AuthHandlers
from identity_core.api.contract import load_document
from identity_core.api.dispatch import Wiring
from identity_core.api.guard import Guard, Observe, request_ids
from identity_core.api.idempotency import Idempotency
from identity_core.api.security import DOCUMENT_SCHEMES, Gate
from identity_core.api.service import bounded
from identity_core.api.transport import Origins, Run
from identity_core.api.writing import AuditRefusals, QuotaLimits, Quotas
from identity_core.bootstrap.handlers import page_tags
from identity_core.bootstrap.ports import autonomy_of, consents_secret, did_hashes, open_sealed_credentials, origin_of
from identity_core.bootstrap.probes import installation_state, own_parts, service_handlers
from identity_core.bootstrap.runtime import Runtime, unserved_resources
from identity_core.database import Database
from identity_core.domain.dids.challenge import ChallengeKey
from identity_core.extension.choice import InstalledExtension, documents_of
from identity_core.extension.declaration import Contribution, Gauge, TokenGrants, TokenResources
from identity_core.extension.opening import OpenKernel, joined, open_extensions
from identity_core.ports.credentials import CopyStatus, UnknownCopyStatus
from identity_core.ports.custodian import Custodian
from identity_core.ports.proofs import Anchoring
from identity_core.ports.prover import AnonymousProvers, ProofWorkers
from identity_core.ports.retention import RecordErasure, RetentionRule
from identity_core.ports.suites import HolderKeeper, ProofSuite
from identity_core.settings import Settings, SettingsError
from identity_core.store.events import OpenSink
from identity_core.throttle.memory import TokenBucketStorage
from identity_core.throttle.policy import Limit, Policy, TokenBucketRateLimiter, parse_proxies
from identity_core.use_cases.auth.authenticate import AuthenticateApiKey, AuthenticateBearer, OwnTokens
from identity_core.use_cases.auth.challenge import AuthenticateDid, ChallengeBook, GetDidAuthChallenge
from identity_core.use_cases.dids.log_keys import Generations
from identity_core.use_cases.proofs.suite_1 import NoSuite
from identity_core.use_cases.record import Record
from identity_core.use_cases.service import Dependencies
from identity_core.use_cases.transparency import LogPlaces, WitnessApprovals


def challenge_book(opened: Runtime) -> ChallengeBook:
    """Return the challenges of this installation, which all its processes share."""
    chosen = opened.settings.challenge
    return ChallengeBook(
        ChallengeKey(opened.challenge_secret),
        opened.store.spent_challenges,
        secrets.token_bytes,
        origin_of(opened.settings),
        timedelta(seconds=chosen.lifetime_seconds),
        chosen.cap,
    )


def gate_of(opened: Runtime, challenges: ChallengeBook, own_tokens: Callable[[], OwnTokens | None]) -> Gate:
    """Return the gate that authenticates and limits every request."""
    reader, clock = opened.reader, opened.clock
    api_keys = AuthenticateApiKey(opened.key_stores, opened.known_keys, clock, opened.fingerprint)
    return Gate(
        reader=reader,
        api_keys=api_keys,
        signatures=AuthenticateDid(reader, challenges, clock),
        bearers=AuthenticateBearer(reader, clock, own_tokens, opened.plugins.verify_bearer),
        policy=_policy(opened),
        trusted_proxies=parse_proxies(opened.settings.server.trusted_proxies),
        mismatch=opened.mismatch,
        answers=Idempotency(opened.store.idempotency, clock, opened.answers_secret, secrets.token_bytes),
        places=max(1, opened.settings.prover.anonymous_waiting // 4),
    )


def _policy(opened: Runtime) -> Policy:
    throttle = opened.settings.throttle
    return Policy(
        TokenBucketRateLimiter(opened.buckets),
        key=Limit("key", throttle.key_per_second, throttle.key_burst),
        address=Limit("address", throttle.address_per_second, throttle.address_burst),
        challenge=Limit("challenge", throttle.challenge_per_second, throttle.challenge_burst),
        did=Limit("did", throttle.did_per_second, throttle.did_burst),
    )


def quotas_of(opened: Runtime) -> Quotas:
    """Return the quotas of DIDs."""
    quota = opened.settings.quota
    limits = QuotaLimits(
        quota.did_records or None, quota.did_octets or None, quota.day_records or None, quota.day_octets or None
    )
    proxies = parse_proxies(opened.settings.server.trusted_proxies)
    return Quotas(opened.store.usage, opened.clock, limits, proxies)


async def _observer(opened: Runtime, added: Sequence[Contribution]) -> Observe:
    """Return the observer of every answered request."""
    chosen, observers = opened.settings.log, [observe for each in added for observe in each.observers]
    if chosen.requests:
        observers.append(RequestLog(await did_hashes(opened.custodian), success_share=chosen.success_share))
    return observe_with(observers)


async def _services(opened: Runtime, early: Mapping[type[Any], Any]) -> dict[type[Any], Any]:
    """Return the shared services, by type. ``early``: the services of the parts that were opened before, which are
    included."""
    challenges = challenge_book(opened)
    await opened.plugins.proof_workers_settled()
    sealed_credentials = await open_sealed_credentials(opened.custodian, opened.store)
    tags = page_tags(opened, early, sealed_credentials, autonomy_of(opened.settings))
    refusals = AuditRefusals(Record(opened.store.activity), opened.clock, quotas_of(opened))
    dependencies = Dependencies({})
    gate = gate_of(opened, challenges, lambda: early.get(OwnTokens))
    challenge = GetDidAuthChallenge(opened.reader, challenges, opened.clock)
    shared = (
        *(opened.store, tags.dids, tags.delegations, tags.credentials, tags.proofs),
        *(challenges, sealed_credentials, tags, dependencies),
        *(AuthHandlers(challenge, gate.trusted_proxies), refusals, gate, service_handlers(opened, dependencies)),
        *(tags.credentials.get.access, opened.plugins, opened.jobs.suspicions, opened.key_watch),
        *(TokenGrants(), TokenResources(opened.resources)),
        installation_state(opened, early[LogPlaces], early[Anchoring], early[ProofSuite]),
    )
    return {type(each): each for each in shared} | {
        TokenBucketStorage: opened.buckets,
        Generations: opened.signer.generations,
    }


def _ports(opened: Runtime) -> dict[type[Any], Any]:
    """Return the resources of an extension that is opened before the handlers of the kernel, with the default
    services that do nothing."""
    store, jobs = opened.store, opened.jobs
    ports = (jobs.watch, Record(store.activity), store.documents, store.activity)
    idle = (LogPlaces(), WitnessApprovals(), Anchoring(), AnonymousProvers(opened.anonymous_verifier))
    own: dict[type[Any], Any] = {Custodian: opened.custodian, Database: store.database, CopyStatus: UnknownCopyStatus()}
    own |= {ProofSuite: NoSuite(), ProofWorkers: opened.provers, HolderKeeper: HolderKeeper(opened.keeper)}
    return {type(each): each for each in (*ports, *idle)} | own


def _require_erasure(settings: Settings, rules: Sequence[RetentionRule], services: Mapping[type[Any], Any]) -> None:
    """Raise ``SettingsError`` when the settings limit the retention of records and no open part erases any."""
    for rule in rules if RecordErasure not in services else ():
        key = f"retention.{rule.kind}_days"
        if getattr(settings.retention, key.partition(".")[2], None) is not None:
            what, where = (
                f"{key} is set, and no extension that is open erases records.",
                f"{settings.origin(key)} ({key})",
            )
            raise SettingsError(what, where, f"Install or enable one (plugins/README.md lists them), or unset {key}.")


async def _open_parts(
    opened: Runtime,
    on: Sequence[InstalledExtension],
    services: dict[type[Any], Any],
    kernel: Callable[[str], OpenKernel],
    stack: AsyncExitStack,
) -> list[Contribution]:
    """Open the early extensions, the kernel's own parts over their ``services``, and the other extensions."""
    early, late = [[one for one in on if one.declared.early is is_early] for is_early in (True, False)]
    added = await open_extensions(early, kernel, stack)
    services |= await _services(opened, services)
    parts = [*own_parts(opened), *late]
    added += await open_extensions(parts, kernel, stack)
    for one, each in zip([*early, *parts], added, strict=True):
        if each.events is not None:
            opened.store.activity.sinks.append(OpenSink(one.declared.name, each.events, is_vital=one.declared.vital))
    return added


async def open_app(opened: Runtime, stack: AsyncExitStack) -> Guard:
    """Return the application; ``stack`` ends its background jobs. Raises ``StartError``: when handlers and document
    differ."""
    settings, services, clock = opened.settings, _ports(opened), opened.clock
    chosen, operations = opened.extensions, dict[str, Run]()
    retention = chosen.retention_rules()
    around = (settings, origin_of(settings), opened.mismatch, clock, opened.reader, opened.store.spent_challenges)
    shared = (opened.challenge_secret, opened.plugins, services, operations)
    roots = dict.fromkeys(("agents", "consents"), await consents_secret(opened.custodian))
    kernel = partial(OpenKernel, *around, *shared, gauges=list[Gauge](), retention=retention, roots=roots)
    added = await _open_parts(opened, chosen.on, services, kernel, stack)
    services[TokenGrants] |= joined(added, "grants")
    probes = joined(added, "probes")
    services[Dependencies].probes.update({name: bounded(name, probe) for name, probe in probes.items()})
    _require_erasure(settings, retention, services)
    wiring = Wiring(
        gate=services[Gate],
        around=services[Gate].answers,
        refusals=services[AuditRefusals],
        schemes=DOCUMENT_SCHEMES,
        pages=joined(added, "pages"),
        people=joined(added, "people"),
        forms=joined(added, "forms"),
        endpoints=joined(added, "endpoints"),
        max_body=settings.server.max_body_bytes,
        origins=Origins(settings.server.cors_origins),
        apart=settings.server.admin_port,
        resource_metadata=services[OwnTokens].resource_metadata if OwnTokens in services else "",
        operations=operations,
        error_shapes=joined(added, "error_shapes"),
        off=documents_of(chosen.off),
        unserved=unserved_resources(chosen, settings),
    )
    return build_app(
        load_document(documents_of(chosen.on)),
        [handlers for each in added for handlers in each.handlers],
        wiring,
        observe=await _observer(opened, added),
        identify=request_ids(secrets.token_hex(4)),
        monotonic=clock.monotonic,
        limit=settings.server.max_requests_in_flight,
        validate=False,
    )
