"""What an attack on delegated proofs starts from: Hana's credential from Ivo, her delegation to Aki, and tokens that anybody could sign.

An adversary does not run our minting code: tokens and requests are plain dicts and bytes, canonical by the standard library,
signed by nacl. Mallory has a DID, the same API as everybody, and whatever the test gives her.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import sqlite3
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from nacl.signing import SigningKey

from tests.attack.conftest import Target
from tests.attack.stranger import GENEROUS, PREFIX, Answer, Holder, Stranger, Wire, base58, body_hash, header
from tests.servers import local_server

PROOFS = f"{PREFIX}/zkp/delegated-proofs"
PRESENTATIONS = f"{PREFIX}/zkp/delegated-presentations"
HOUR = 3600
ANY = "zkp.prove.*.*"
ATTRIBUTES: list[dict[str, Any]] = [
    {"name": "age", "type": "integer", "minimum": 0, "maximum": 150},
    {"name": "income", "type": "integer"},
    {"name": "country", "type": "string"},
    {"name": "birthDate", "type": "date"},
    {"name": "member", "type": "boolean"},
]
VALUES: dict[str, Any] = {
    "age": 37,
    "income": 5_213_774,
    "country": "Wakanda",
    "birthDate": "1988-02-29",
    "member": True,
}
AGE = {"attributeName": "age", "type": "gte", "value": 18}
ISSUER = {
    "additionalKeys": [{"type": "Bls12381G2Key2020", "purpose": ["assertionMethod"]}],
    "storeSecrets": True,
}
# What differs between two answers that say the same.
VARIABLE = {"x-request-id", "date", "ratelimit", "content-length"}

Json = dict[str, Any]


def later(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


def in_two_minutes() -> datetime:
    """A whole second that is far enough for everything that has to be done before, and near enough for access tokens."""
    return datetime.now(UTC).replace(microsecond=0) + timedelta(minutes=2)


def printed(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def canonical(value: Any) -> bytes:
    """RFC 8785 of what these tests hold: text, integers of 53 bits, and names of ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def proof_value(token: Mapping[str, str], key: SigningKey) -> str:
    return base58(key.sign(canonical({name: token[name] for name in token if name != "proofValue"})).signature)


def signed(token: Mapping[str, str], key: SigningKey) -> dict[str, str]:
    return {**token, "proofValue": proof_value(token, key)}


def envelope_of(proof: Mapping[str, Any]) -> Json:
    """The envelope of a proof."""
    text = proof["proof"]
    envelope: Json = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    return envelope


def stable_refusal(answer: Answer) -> tuple[int, Any, dict[str, str]]:
    """A refusal without what differs from one request to the next."""
    body = answer.json
    body["error"]["details"].pop("requestId")
    return answer.status, body, {name: value for name, value in answer.headers.items() if name not in VARIABLE}


@dataclass
class People:
    """Those of one service. They stay; what they give each other is made anew for each test."""

    target: Target
    hana: Holder
    aki: Holder
    ivo: Holder
    mallory: Holder
    schema_id: str
    _tokens: dict[str, tuple[str, float]] = field(default_factory=dict)

    @classmethod
    @contextlib.contextmanager
    def served(cls, **environment: str) -> Iterator[People]:
        """Those of a service of their own."""
        with local_server(environment=GENEROUS | environment) as server:
            wire = Wire(server.url)
            yield cls.create(Target(wire, Stranger(wire, server.api_key), server.data_dir, 1))
            wire.close()

    @classmethod
    def create(cls, target: Target) -> People:
        hana, aki, mallory = (target.stranger.holder() for _ in range(3))
        ivo = target.stranger.holder(**ISSUER)
        people = cls(target, hana, aki, ivo, mallory, f"https://schemas.example/{uuid.uuid4()}")
        people.operate("POST", "/credential-schemas", {"id": people.schema_id, "attributes": ATTRIBUTES})
        return people

    def operate(self, method: str, path: str, body: Any = None) -> Any:
        """Something that an operator may do, with the API key that may do everything."""
        answer = self.target.wire.call(method, PREFIX + path, body, {"X-API-Key": self.target.stranger.api_key})
        if answer.status not in (200, 201):
            raise RuntimeError(f"{method} {path}: {answer.body!r}")
        return answer.json

    def bearer(self, who: Holder) -> str:
        """Return an access token of a holder, obtained by a signature and renewed before it expires."""
        token, at = self._tokens.get(who.did, ("", float("-inf")))
        if time.monotonic() - at > 300:
            answer = who.wire.call("POST", f"{PREFIX}/auth/token", {}, {"Authorization": who.signed("token", {})})
            token = answer.json["access_token"]
            self._tokens[who.did] = token, time.monotonic()
        return token

    def forget_tokens(self) -> None:
        """After a start at another origin, which is another issuer."""
        self._tokens.clear()
        self.bearer(self.aki)

    def issue(self, holder: Holder, *, suite: int | None = None, **values: Any) -> str:
        """A credential of ``VALUES``, changed; of the suite that is issued where none is named."""
        # One person has a wallet, the custodian's secret, and stories in any order.
        claims = {"newHolderSecret": True} | ({} if suite is None else {"suite": suite})
        claims |= {
            "issuerDid": self.ivo.did,
            "holderDid": holder.did,
            "schemaId": self.schema_id,
            "attributes": VALUES | values,
        }
        return str(self.operate("POST", "/credentials", claims)["id"])

    def delegate(self, holder: Holder, agent: Holder, **more: Any) -> str:
        """For any question and without limits, unless said otherwise."""
        terms = {
            "holderDid": holder.did,
            "agentDid": agent.did,
            "actions": [ANY],
            "autonomyLevel": 4,
            "maxUses": None,
            "maxRefusals": None,
            "maxThresholds": None,
            "expiresAt": later(24 * HOUR),
        }
        return str(self.operate("POST", "/delegations", terms | more)["id"])


@dataclass
class Scene:
    """One credential of Hana's and one delegation to Aki."""

    people: People
    credential_id: str
    delegation_id: str
    holder: Holder
    agent: Holder

    @classmethod
    def create(
        cls,
        people: People,
        holder: Holder | None = None,
        agent: Holder | None = None,
        *,
        suite: int | None = None,
        **terms: Any,
    ) -> Scene:
        holder, agent = holder or people.hana, agent or people.aki
        # Before many threads want it at once.
        people.bearer(agent)
        return cls(people, people.issue(holder, suite=suite), people.delegate(holder, agent, **terms), holder, agent)

    @property
    def target(self) -> Target:
        return self.people.target

    def unsigned(self, **change: str) -> dict[str, str]:
        token = {
            "id": f"urn:uuid:{uuid.uuid4()}",
            "type": "InvocationBoundCapabilityToken",
            "invoker": self.holder.did,
            "target": self.agent.did,
            "action": "zkp.prove.age.gte",
            "delegationRef": self.delegation_id,
            "nonce": os.urandom(16).hex(),
            "issuedAt": later(0),
            "expiresAt": later(HOUR),
        }
        return token | change

    def token(self, *, key: SigningKey | None = None, **change: str) -> dict[str, str]:
        """A token of the holder's, signed with ``change`` in it, whatever that makes of it."""
        return self.signed(self.unsigned(**change), key)

    def signed(self, token: Mapping[str, str], key: SigningKey | None = None) -> dict[str, str]:
        """Signed by the holder, or with another key."""
        return signed(token, key or self.holder.key)

    def body(self, **change: Any) -> Json:
        """A good request; members, ``value`` and ``ibct`` may be changed. ``about`` is (attribute, type, value)."""
        attribute, kind, value = change.pop("about", ("age", "gte", change.pop("value", 18)))
        body = {
            "holderDid": self.holder.did,
            "agentDid": self.agent.did,
            "credentialId": self.credential_id,
            "predicate": {"attributeName": attribute, "type": kind, "value": value},
            "ibct": change.pop("ibct", None) or self.token(action=f"zkp.prove.{attribute}.{kind}"),
        }
        return body | change

    def ask(self, body: Any = None, *, headers: Mapping[str, str] | None = None, fresh: bool = False) -> Answer:
        """Send a body (a good one of its own, if none is given) to its operation as the agent, unless ``headers`` say otherwise."""
        sent = self.body() if body is None else body
        credential = headers or {"Authorization": f"Bearer {self.people.bearer(self.agent)}"}
        path = PRESENTATIONS if isinstance(sent, dict) and "predicate" not in sent else PROOFS
        return self.target.wire.call("POST", path, sent, credential, fresh=fresh)

    def authorize(self, who: Holder) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.people.bearer(who)}"}

    def delegation(self, delegation_id: str | None = None) -> Json:
        shown: Json = self.people.operate("GET", f"/delegations/{delegation_id or self.delegation_id}")
        return shown

    @property
    def uses(self) -> int:
        """How many evaluations were counted."""
        return int(self.delegation()["uses"])

    def proofs(self) -> int:
        """How many proofs are kept of this delegation."""
        with closing(sqlite3.connect(self.target.data_dir / "identity.sqlite", timeout=60)) as connection:
            found = connection.execute("SELECT count(*) FROM proofs WHERE delegation_id = ?", (self.delegation_id,))
            return int(found.fetchone()[0])

    def revoke(self) -> None:
        self.people.operate("POST", f"/delegations/{self.delegation_id}/revoke", {})

    def act(
        self,
        who: Holder,
        method: str,
        path: str,
        purpose: str,
        body: Any = None,
        beside: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send an operation under a holder's signature for exactly this request."""
        text = who.challenge(purpose, None if body is None else body_hash(body))
        value = header(who.did, who.key.sign(text.encode()).signature)
        return who.wire.call(method, PREFIX + path, body, {"Authorization": value, **(beside or {})})


def written(target: Target, sql: str, *values: Any) -> None:
    """Writes past the service."""
    with closing(sqlite3.connect(target.data_dir / "identity.sqlite", timeout=60)) as connection, connection:
        if connection.execute(sql, values).rowcount < 1:
            raise RuntimeError("nothing was written")
