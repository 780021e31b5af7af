"""``identity demo``: the lifecycle of a DID, told step by step against an own or a running server."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import click
import orjson

from identity_core.cli.local_server import local_server
from identity_core.cli.output import as_json, fail, show
from identity_core.cli.remote import session as connected
from identity_core.client import Exchange, Refused, Session, Signer
from identity_core.domain.log import verify


@dataclass(slots=True)
class Story:
    """Tells steps as they happen, and remembers them for ``--json``. Private keys are masked, also those of a demo."""

    session: Session
    exchanges: list[Exchange]
    quiet: bool
    verbose: bool
    steps: list[dict[str, Any]] = field(default_factory=list)

    def tell(self, title: str, act: Callable[[], Any], point: Callable[[Any], str]) -> Any:
        """Runs one step and says in a line what it showed."""
        self.exchanges.clear()
        started = time.perf_counter()
        answer = act()
        milliseconds = (time.perf_counter() - started) * 1000
        shown = point(answer)
        step = {"step": title, "shows": shown, "milliseconds": round(milliseconds, 1), "answer": _masked(answer)}
        if self.verbose:
            step["exchanges"] = [_recorded(one) for one in self.exchanges]
        self.steps.append(step)
        if not self.quiet:
            click.echo(f"{len(self.steps):>3}. {title}\n     {shown}  ({milliseconds:.0f} ms)")
            for one in self.exchanges if self.verbose else ():
                click.echo(_told(one))
        return answer

    def refused(self, title: str, act: Callable[[], Any], code: str) -> None:
        """Runs a step that must be refused with ``code``; anything else ends the demo."""

        def attempt() -> dict[str, Any]:
            try:
                act()
            except Refused as error:
                return {"status": error.status, "code": error.code}
            return {"status": 200, "code": "none"}

        answer = self.tell(title, attempt, lambda said: f"refused: {said['status']} {said['code']}")
        if answer["code"] != code:
            fail(
                f"expected a refusal {code}, got {answer['code']}",
                title,
                "report this: the service is not what it promises",
            )


def _masked(value: Any) -> Any:
    """``value`` with the private keys in it shortened beyond use."""
    if isinstance(value, dict):
        return {name: f"{str(inner)[:4]}…" if name == "privateKey" else _masked(inner) for name, inner in value.items()}
    return [_masked(inner) for inner in value] if isinstance(value, list) else value


def _recorded(exchange: Exchange) -> dict[str, Any]:
    return {
        "method": exchange.method,
        "path": exchange.path,
        "body": _masked(exchange.sent),
        "status": exchange.status,
        "answer": _masked(exchange.answer),
        "milliseconds": round(exchange.milliseconds, 1),
    }


def _told(exchange: Exchange) -> str:
    lines = [f"     > {exchange.method} {exchange.path}"]
    lines += _indented(exchange.sent)
    lines.append(f"     < {exchange.status}  ({exchange.milliseconds:.0f} ms)")
    return "\n".join(lines + _indented(exchange.answer))


def _indented(body: Any) -> list[str]:
    if body is None:
        return []
    text = body if isinstance(body, str) else orjson.dumps(_masked(body), option=orjson.OPT_INDENT_2).decode()
    return ["       " + line for line in text.splitlines()]


@contextlib.contextmanager
def _somewhere(url: str | None, api_key: str | None, exchanges: list[Exchange]) -> Iterator[Session]:
    with contextlib.ExitStack() as stack:
        if url is None:
            server = stack.enter_context(local_server())
            url, api_key = server.url, server.api_key
        yield stack.enter_context(connected(url, api_key, on_exchange=exchanges.append))


@click.command(name="demo")
@click.option("--url", help="Use this running service instead of an own one.")
@click.option("--api-key", envvar="IDENTITY_API_KEY", help="API key for --url.")
@click.option("--verbose", "-v", is_flag=True, help="Show every request and its answer.")
@as_json
def command(url: str | None, api_key: str | None, verbose: bool, json_output: bool) -> None:
    """Tell the life of a DID: create, resolve, change, rotate, recover, deactivate, and check it all offline."""
    started = time.perf_counter()
    exchanges: list[Exchange] = []
    with _somewhere(url, api_key, exchanges) as session:
        story = Story(session, exchanges, quiet=json_output, verbose=verbose)
        if not json_output:
            click.echo(f"A service listens at {session.url}. Hana wants a DID.\n")
        lifecycle(story)
    seconds = time.perf_counter() - started
    summary = {"steps": story.steps, "seconds": round(seconds, 2)}
    show(
        summary,
        json_output=json_output,
        text=lambda _: f"\n{len(story.steps)} steps in {seconds:.1f} s, all as promised.",
    )


def lifecycle(story: Story) -> None:
    """The DID lifecycle of the specification, with the refusals that matter."""
    session = story.session
    wish = {
        "method": "ids",
        "keyType": "Ed25519",
        "options": {
            "additionalKeys": [
                {"type": "X25519KeyAgreementKey2020", "purpose": ["keyAgreement"]},
                {"type": "Bls12381G2Key2020", "purpose": ["assertionMethod"]},
            ],
            "serviceEndpoints": [{"type": "DIDCommMessaging", "serviceEndpoint": "https://agent.example/didcomm"}],
            "recoveryKey": True,
        },
    }
    created = story.tell(
        "Create a DID with three keys, a service and a recovery key",
        lambda: session.create(wish),
        lambda body: f"{body['did']}, block {body['blockNumber']}",
    )
    did = created["did"]
    hana = Signer(did, created["keys"]["authentication"]["privateKey"])
    recovery = Signer(did, created["keys"]["recovery"]["privateKey"])
    story.tell("Anybody resolves it", lambda: session.resolve(did), _version_of)
    service = {"id": "files", "type": "LinkedDomains", "serviceEndpoint": "https://hana.example/"}
    story.tell(
        "Hana adds a service; her signature is bound to exactly this body",
        lambda: session.update(did, {"operation": "addService", "service": service}, hana),
        lambda body: f"version {body['versionId']}, transaction {body['transactionHash'][:16]}…",
    )
    _replay(story, did, hana)
    end = (datetime.now(UTC) + timedelta(days=7)).strftime("%Y-%m-%dT%H:%M:%SZ")
    rotation = {"oldKeyId": created["keys"]["authentication"]["keyId"], "newKeyType": "Ed25519", "revokeOldAfter": end}
    rotated = story.tell(
        "Hana rotates her key; the old one stays for a week of grace",
        lambda: session.rotate(did, rotation, hana),
        lambda body: f"old key valid until {body['gracePeriodEnd']}",
    )
    story.refused(
        "The old key may not end the DID any more",
        lambda: session.deactivate(did, {"confirm": True, "reason": "stolen"}, hana),
        "FORBIDDEN",
    )
    hana = Signer(did, rotated["newKey"]["privateKey"])
    story.tell("Version 1 is still there", lambda: session.resolve(did, versionId=1), _version_of)
    hana = _recover(story, did, recovery)
    story.tell(
        "Hana ends her DID",
        lambda: session.deactivate(did, {"confirm": True, "reason": "the end of the demo"}, hana),
        lambda body: f"deactivated, block {body['blockNumber']}",
    )
    story.refused("It resolves to 410 from now on", lambda: session.resolve(did), "DID_DEACTIVATED")
    story.tell(
        "Its history stays readable",
        lambda: session.history(did),
        lambda body: ", ".join(item["operation"] for item in body["items"]),
    )
    log = story.tell("So does its log", lambda: session.log(did), lambda text: f"{len(text.splitlines())} entries")
    story.tell(
        "And the log verifies offline, without the service",
        lambda: verify(log.encode()).summary(),
        lambda body: f"{body['versions']} versions, every hash and signature checked",
    )


def _version_of(body: dict[str, Any]) -> str:
    document = body["didDocument"]
    version = body["didDocumentMetadata"]["versionId"]
    return f"version {version}: {len(document['verificationMethod'])} keys, {len(document.get('service', []))} services"


def _replay(story: Story, did: str, hana: Signer) -> None:
    offer = story.session.challenge(did)
    header = {"Authorization": hana.header(offer["challenge"])}
    body = {"operation": "removeService", "serviceId": "files"}
    path = f"/dids/{did}"
    story.tell(
        "She removes it again, with a challenge that binds nothing",
        lambda: story.session.call("PATCH", path, body=body, headers=header),
        lambda answer: f"version {answer['versionId']}",
    )
    story.refused(
        "Mallory replays her header",
        lambda: story.session.call("PATCH", path, body=body, headers=header),
        "AUTH_FAILED",
    )


def _recover(story: Story, did: str, recovery: Signer) -> Signer:
    from identity_core.domain import keys

    pair = keys.generate("Ed25519", os.urandom)
    body = {
        "newAuthenticationKey": {"type": "Ed25519VerificationKey2020", "publicKeyMultibase": pair.public},
        "revokeAllExistingKeys": True,
    }
    story.tell(
        "Her laptop is stolen: the recovery key brings the DID back and drops every other key",
        lambda: story.session.recover(did, body, recovery),
        lambda answer: f"version {answer['versionId']}, a new recovery key was issued",
    )
    return Signer(did, pair.secret)
