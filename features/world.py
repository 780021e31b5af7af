"""What one scenario knows: the server it talks to, its people and their keys, and the last answer."""

from __future__ import annotations

import importlib
import itertools
import ssl
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any
from urllib.parse import quote

import httpx

from features.document import Operation, operation
from features.formats import DID_AUTH, RECOVERY_KEY, new_key
from features.servers import Server, Servers
from identity_client import Signer, hash_body

PREFIX = "/api/v1"
PURPOSES = {
    "updateDid": "update",
    "deactivateDid": "deactivate",
    "rotateDidKey": "rotate",
    "recoverDid": "recover",
    "resetDisclosures": "disclosures",
    "rotateHolderSecret": "holder-secret",
    "listLabels": "read",
    "setLabel": "label",
    "deleteLabel": "erase",
    "createConsentRequest": "prove",
    "listConsentRequests": "read",
    "getConsentRequest": "read",
    "answerConsentRequest": "delegate",
}
TOKEN_PURPOSE = "token"
PATIENCE_SECONDS = 60.0
ATTEMPTS = 5
# The servers of the stories speak plain HTTP. A client that is told nothing reads the trust store of the machine when it is made,
# which takes longer than what it then asks for.
TRUSTS_NOBODY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
_addresses = itertools.count(1)


def bound_to(body: Any) -> dict[str, str]:
    """Return the query of a challenge that is bound to ``body``; None is not a body."""
    return {} if body is None else {"body_hash": hash_body(body)}


@dataclass
class Person:
    """A persona with a DID: the answer that made it, and the current secrets by purpose."""

    did: str
    secrets: dict[str, str]
    created: dict[str, Any]

    def signer(self, purpose: str = "authentication") -> Signer:
        return Signer(self.did, self.secrets[purpose])


@dataclass
class Draft:
    """A request that would be answered well if it were sent as it is."""

    operation: Operation
    path: str
    query: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None


DRAFTS: dict[str, Callable[[World, Operation], Draft]] = {}
"""Makers of good requests, by operation; those of a noun stand beside its steps."""


class World:
    """One scenario."""

    def __init__(self, client: ModuleType, servers: Servers) -> None:
        self.package = client.__name__
        self._servers = servers
        self.kind = "ordinary"
        self.people: dict[str, Person] = {}
        self.answer: httpx.Response | Any = None
        self.answers: list[Any] = []
        self.notes: dict[str, Any] = {}
        self._http: dict[str, httpx.Client] = {}
        self._threads: list[threading.Thread] = []

    @property
    def server(self) -> Server:
        return self._servers[self.kind]

    def close(self) -> None:
        if self.kind in ("faulty", "hanging", "busy"):
            self.server.fault.unlink(missing_ok=True)
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS)
        for http in self._http.values():
            http.close()

    # Through the generated client.

    def model(self, name: str, value: Any) -> Any:
        """A model of the client from plain JSON."""
        return getattr(importlib.import_module(f"{self.package}.models"), name).from_dict(value)

    def call(self, operation_id: str, *, headers: dict[str, str] | None = None, **arguments: Any) -> Any:
        """Calls the client's function for the operation and keeps its detailed answer."""
        module = importlib.import_module(f"{self.package}.{operation(operation_id).module}")
        made = importlib.import_module(f"{self.package}.client").Client(
            base_url=self.server.url + PREFIX,
            headers=self.around(headers or {}),
            timeout=httpx.Timeout(PATIENCE_SECONDS),
            verify_ssl=TRUSTS_NOBODY,
        )
        with made:
            self.answer = module.sync_detailed(client=made, **arguments)
        self.answers.append(self.answer)
        return self.answer

    def around(self, headers: dict[str, str]) -> dict[str, str]:
        """Where addresses are counted every request comes from one of its own, unless the story wants one again."""
        if self.kind in ("strict", "frugal"):
            return {"X-Forwarded-For": self.notes.get("address") or fresh_address()} | headers
        return headers

    # Past the client, for what it cannot send.

    def http(self) -> httpx.Client:
        if self.kind not in self._http:
            self._http[self.kind] = httpx.Client(
                base_url=self.server.url, verify=TRUSTS_NOBODY, timeout=PATIENCE_SECONDS, trust_env=False
            )
        return self._http[self.kind]

    def send(self, draft: Draft, *, method: str | None = None, content: bytes | None = None) -> Any:
        """Sends a draft as it stands; ``method`` and ``content`` replace its own."""
        headers = self.around(draft.headers)
        arguments: dict[str, Any] = {"params": draft.query, "headers": headers}
        if content is not None:
            arguments["content"] = content
        elif draft.body is not None:
            arguments["json"] = draft.body
        self.answer = self.http().request(method or draft.operation.method, PREFIX + draft.path, **arguments)
        self.answers.append(self.answer)
        return self.answer

    def in_background(self, draft: Draft) -> None:
        """Sends a draft from another thread and leaves it."""
        thread = threading.Thread(target=self._request, args=(draft,), daemon=True)
        thread.start()
        self._threads.append(thread)

    def send_meanwhile(self, one: Draft, other: Draft) -> None:
        """Sends two at once while the fault holds up the answer to one. Whichever of them comes second is answered first."""
        held = self.server.fault.with_name("held")
        held.unlink(missing_ok=True)
        self.server.fault.write_text(self.notes["fault"])
        with ThreadPoolExecutor(2) as senders:
            try:
                sent = [senders.submit(self._request, draft) for draft in (one, other)]
                wait(sent, timeout=PATIENCE_SECONDS / 2, return_when=FIRST_COMPLETED)
                # The second may be answered before the first is where it is held up.
                while not held.exists() and not all(one.done() for one in sent):
                    time.sleep(0.01)
                done = [one for one in sent if one.done()]
            finally:
                self.server.fault.unlink()
        assert held.exists(), "nothing held up the answer to the first"
        assert len(done) == 1, f"{len(done)} of two were answered"
        self.answer = done[0].result()
        self.answers.append(self.answer)

    def _request(self, draft: Draft) -> httpx.Response:
        url, headers = self.server.url + PREFIX + draft.path, self.around(draft.headers)
        common: dict[str, Any] = {"timeout": PATIENCE_SECONDS, "trust_env": False, "verify": TRUSTS_NOBODY}
        return httpx.request(draft.operation.method, url, json=draft.body, headers=headers, **common)

    # People and their keys.

    def key_header(self) -> dict[str, str]:
        return {"Authorization": f"ApiKey {self.server.api_key}"}

    def new_person(self, name: str, options: dict[str, Any] | None = None, method: str = "ids") -> Person:
        body = {"method": method, "keyType": "Ed25519", "options": {"recoveryKey": True} | (options or {})}
        answer = self.call("createDid", headers=self.key_header(), body=self.model("CreateDidRequest", body))
        if answer.status_code != 201:
            raise RuntimeError(f"no DID for {name}: {answer.content!r}")
        created = answer.parsed.to_dict()
        secrets = {
            purpose: key["privateKey"]
            for purpose, key in created["keys"].items()
            if isinstance(key, dict) and "privateKey" in key
        }
        self.people[name] = Person(created["did"], secrets, created)
        return self.people[name]

    def person(self, name: str) -> Person:
        return self.people.get(name) or self.new_person(name)

    def challenge(self, did: str, **bound: Any) -> str:
        answer = self.call("getDidAuthChallenge", did=did, **bound)
        if answer.status_code != 200:
            raise RuntimeError(f"no challenge: {answer.content!r}")
        text: str = answer.parsed.challenge
        return text

    def signed(self, person: Person, operation_id: str, body: Any, *, key: str = "authentication") -> dict[str, str]:
        """The Authorization header for exactly this operation and body."""
        purpose, bound = PURPOSES.get(operation_id, TOKEN_PURPOSE), bound_to(body)
        digest = bound.get("body_hash")
        text = self.challenge(person.did, purpose=purpose, **bound)
        scheme = RECOVERY_KEY if operation_id == "recoverDid" else DID_AUTH
        return {"Authorization": person.signer(key).header(text, purpose=purpose, digest=digest, scheme=scheme)}

    # A good request for every operation.

    def prepared(self, operation_id: str) -> Draft:
        """A good request. Where calls are soon given up, so is one that a stalled machine holds up, and is made anew."""
        for _ in range(ATTEMPTS):
            try:
                return self.draft(operation_id)
            except (AssertionError, AttributeError, RuntimeError):
                if self.kind != "hanging" or self.answer.status_code != 504:
                    raise
        return self.draft(operation_id)

    def draft(self, operation_id: str) -> Draft:
        """A request that the service would answer well."""
        found = operation(operation_id)
        if operation_id in DRAFTS:
            return DRAFTS[operation_id](self, found)
        draft = Draft(found, found.path)
        if "{did}" in found.path or "did" in found.parameters:
            person = self.new_person("Hana")
            draft.path = found.path.replace("{did}", quote(person.did, safe=""))
            if operation_id == "getDidAuthChallenge":
                draft.query["did"] = person.did
            if operation_id in PURPOSES:
                draft.body = self.body_for(operation_id, person)
                key = "recovery" if operation_id == "recoverDid" else "authentication"
                draft.headers = self.signed(person, operation_id, draft.body, key=key)
            return draft
        if found.schemes:
            draft.headers = self.key_header()
        if found.has_body:
            story = {"name": "story", "scopes": ["dids:create"]}
            draft.body = {"createDid": {"method": "ids"}, "issueToken": {}}.get(operation_id, story)
        if "{keyId}" in found.path:
            made = self.call(
                "createApiKey",
                headers=self.key_header(),
                body=self.model("CreateApiKeyRequest", {"name": "story", "scopes": ["dids:create"]}),
            )
            draft.path = found.path.replace("{keyId}", made.parsed.record.id)
            if found.has_body:
                draft.body = {"name": "renamed"} if operation_id == "updateApiKey" else {"graceSeconds": 0}
        return draft

    @staticmethod
    def body_for(operation_id: str, person: Person) -> Any:
        if operation_id == "updateDid":
            service = {"id": "files", "type": "LinkedDomains", "serviceEndpoint": "https://hana.example/"}
            return {"operation": "addService", "service": service}
        if operation_id == "deactivateDid":
            return {"confirm": True, "reason": "the end of a story"}
        if operation_id == "rotateDidKey":
            return {"oldKeyId": person.created["keys"]["authentication"]["keyId"], "newKeyType": "Ed25519"}
        if operation_id == "resolveIdentifierWithOptions":
            return {}
        pair = new_key()
        person.secrets["next"] = pair.secret
        key = {"type": "Ed25519VerificationKey2020", "publicKeyMultibase": pair.public}
        return {"newAuthenticationKey": key, "revokeAllExistingKeys": True}


def fresh_address() -> str:
    """An address (of the documentation range) that no request of this session has come from."""
    return f"2001:db8:{next(_addresses):x}::1"
