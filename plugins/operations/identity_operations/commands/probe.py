"""``identity probe``: check a service from end to end, for cron and monitoring."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar
from urllib.parse import quote

import click
from identity_commands.profiles import profile_option, required_url, signed_in
from identity_commands.remote import CALL_ERRORS, TokenCaller, api_key_option, explained, require_address
from identity_commands.verify_log import verify as verify_log
from msgspec import Struct, field

from identity_client import Session, Signer, ibct
from identity_codec.times import printed
from identity_core.cli.options import Number
from identity_core.cli.output import Command, fail, prints_json, show
from identity_core.domain.dids.state import LogInvalid

T = TypeVar("T")

_BBS_KEY: Final = {"type": "Bls12381G2Key2020", "purpose": ["assertionMethod"]}
_HOLDER: Final = {"method": "ids", "options": {"additionalKeys": [_BBS_KEY], "storeSecrets": True}}
_AGENT: Final = {"method": "ids"}
_SCHEMA: Final = {"attributes": [{"name": "level", "type": "integer", "minimum": 0, "maximum": 9}]}
_AUDIENCE: Final = "https://probe.invalid"
_VERIFY: Final = "/zkp/proofs/verify"
_GOOD_FOR: Final = timedelta(minutes=10)
_END: Final = {"confirm": True, "reason": "the end of a probe"}
_REVOKED: Final = {"purpose": "revocation", "value": True, "reason": "the end of a probe"}


class Disproved(ValueError):
    """A wrong answer of the service."""


class Probe(Struct):
    """One run: its steps in order, each with its milliseconds, the DIDs to deactivate, and the credential of the first of them, to
    revoke."""

    client: Session
    steps: dict[str, float] = field(default_factory=dict)
    step: str = ""
    people: list[TokenCaller] = field(default_factory=list)
    credential: str | None = None

    def run(self) -> None:
        """Run every step. Raises an error at the first failure (``_tried`` has the list); ``step`` names it."""
        self.time("ready", lambda: self.client.call("GET", "/ready", signed_in=False))
        holder, agent = self.time("create", lambda: (self._person(_HOLDER), self._person(_AGENT)))
        self.time("resolve", lambda: self._check_log(holder.did))
        credential = self.credential = self.time("issue", lambda: _issued(holder))
        request = self.time("delegate", lambda: _delegated(holder, agent, credential))
        proved = self.time("prove", lambda: agent.ask("POST", "/zkp/delegated-proofs", request))
        self.time("verify", lambda: _check_verdicts(holder, proved["proof"], request["challenge"]))

    def end(self) -> None:
        """Revoke the credential, about which `identity doctor` would warn, and deactivate the DIDs, as far as they were created.
        Raises as ``run``."""
        try:
            if self.credential is not None:
                self.people[0].ask("POST", f"/credentials/{quote(self.credential, safe='')}/status", _REVOKED)
        finally:
            while self.people:
                person = self.people[-1]
                self.client.deactivate(person.did, _END, person.signer)
                self.people.pop()

    def time(self, step: str, act: Callable[[], T]) -> T:
        """Return the result of ``act``, and record its duration under ``step``."""
        self.step = step
        started = time.perf_counter()
        answer = act()
        self.steps[step] = round((time.perf_counter() - started) * 1000, 1)
        return answer

    def _person(self, wanted: dict[str, Any]) -> TokenCaller:
        made = self.client.create(wanted)
        person = TokenCaller(self.client, Signer(made["did"], made["keys"]["authentication"]["privateKey"]))
        self.people.append(person)
        return person

    def _check_log(self, did: str) -> None:
        resolved = self.client.resolve(did)["didDocument"]
        try:
            document: Any = verify_log(self.client.log(did).encode(), now=datetime.now(UTC)).document
        except LogInvalid as invalid:
            raise Disproved(f"the log of the DID is not valid: {invalid}") from None
        methods = [one["publicKeyMultibase"] for one in document["verificationMethod"]]
        if document["id"] != did or methods != [one["publicKeyMultibase"] for one in resolved["verificationMethod"]]:
            raise Disproved("the document that the service resolves is not the one of the DID's log")


def _check_verdicts(holder: TokenCaller, proof: dict[str, Any], challenge: str) -> None:
    text = proof["proof"]
    middle = len(text) // 2
    forged = text[:middle] + ("A" if text[middle] != "A" else "B") + text[middle + 1 :]
    predicate = {"attributeName": "level", "type": "gte", "value": 5}
    expected = {"domain": _AUDIENCE, "issuerDid": holder.did, "predicate": predicate}
    if holder.ask("POST", _VERIFY, proof | {"proof": forged} | expected)["verified"]:
        raise Disproved("a forged proof is verified")
    # A challenge is spent by who took it, with the first proof that is shown for it.
    verdict = holder.ask("POST", _VERIFY, proof | {"challenge": challenge} | expected)
    if verdict["verdict"] != "valid":
        raise Disproved(f"the proof is {verdict['verdict']}: {', '.join(verdict['errors'])}")


def _issued(holder: TokenCaller) -> str:
    schema = holder.ask("POST", "/credential-schemas", _SCHEMA)["id"]
    # Suite 2 would begin a list of signed gaps for each probe, which the service then publishes every day.
    claims = {"issuerDid": holder.did, "holderDid": holder.did, "schemaId": schema, "suite": 1}
    claims["validUntil"] = printed(datetime.now(UTC) + _GOOD_FOR)
    answer = holder.ask("POST", "/credentials", claims | {"attributes": {"level": 5}})
    return str(answer["id"])


def _delegated(holder: TokenCaller, agent: TokenCaller, credential: str) -> dict[str, Any]:
    """Return the request of a proof that the agent may send once."""
    terms = {
        "holderDid": holder.did,
        "agentDid": agent.did,
        "predicates": [{"attributeName": "level", "type": "gte", "values": [5]}],
        "credentialIds": [credential],
        "verifiers": [_AUDIENCE],
        "autonomyLevel": 2,
        "maxUses": 1,
        "expiresAt": printed(datetime.now(UTC) + _GOOD_FOR),
        "purpose": "probe",
    }
    delegation = holder.ask("POST", "/delegations", terms)["id"]
    action = ibct.action_text("level", "gte", pin=5)
    token = ibct.sign_token(holder.signer, ibct.IbctTemplate(agent.did, action, delegation, _GOOD_FOR))
    challenge = holder.ask("POST", "/challenges", {"domain": _AUDIENCE})["challenge"]
    return ibct.proof_request(token, credential, value=5, challenge=challenge, domain=_AUDIENCE)


@click.command(name="probe", cls=Command)
@profile_option
@click.argument("url", envvar="IDENTITY_URL", required=False, callback=required_url)
@api_key_option
@click.option("--timeout", type=Number(min=0.1), default=10.0, help="Timeout of each request, in seconds.")
@click.option("--within", type=Number(min=0.1), help="Maximum seconds for all steps.  [default: no limit]")
def command(url: str, api_key: str | None, timeout: float, within: float | None) -> None:
    """Create, prove and verify at the service at URL (default: that of the profile), as two DIDs that are deactivated at
    the end.

    Exit code 0: all steps succeeded. 1: a step failed; the first is named. 2: invalid options. Each run adds four
    entries to the ledger, and a schema, a credential and a proof, which stay as long as `retention` defines. The API key
    needs the scope to create DIDs. For cron:

    \b
        */5 * * * * identity probe https://id.example --api-key /etc/identity/probe.key --within 10
    """
    require_address(url)
    with Session(
        url, **signed_in(url, api_key), timeout_seconds=timeout, origin=os.environ.get("IDENTITY_ORIGIN")
    ) as client:
        probe = Probe(client)
        failures = [
            failure for act in (probe.run, lambda: probe.time("end", probe.end)) if (failure := _tried(probe, act))
        ]
    took = sum(probe.steps.values()) / 1000
    if within is not None and took > within and not failures:
        failures.append(("within", f"the steps took {took:.1f} s", url, "see `milliseconds` of the log's requests"))
    left = [person.did for person in probe.people]
    if not failures or prints_json():
        failed = failures[0][0] if failures else None
        report = {"healthy": not failures, "failed": failed, "milliseconds": probe.steps, "left": left}
        show(report, text=lambda _: f"{len(probe.steps)} steps in {took:.2f} s: {_durations(probe.steps)}")
    if failures:
        step, what, where, remedy = failures[0]
        fail(f"{step}: {what}" + (f" (not deactivated: {', '.join(left)})" if left else ""), where, remedy)


def _tried(probe: Probe, act: Callable[[], None]) -> tuple[str, str, str, str] | None:
    """Return the step that failed, and its three lines; None if none did."""
    try:
        act()
    except CALL_ERRORS as error:
        return probe.step, *explained(error, probe.client.url)
    except Disproved as error:
        return probe.step, str(error), probe.client.url, "do not rely on this service; see its log"
    except (LookupError, TypeError, ValueError) as error:
        says = f"an answer is not of the form that the document says: {type(error).__name__} {error}"
        return probe.step, says, probe.client.url, "check that URL is this service and of this version"
    return None


def _durations(steps: dict[str, float]) -> str:
    return ", ".join(f"{name} {milliseconds:.0f} ms" for name, milliseconds in steps.items())
