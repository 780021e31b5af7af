"""Writes the frozen installation of an earlier commit: 100 DIDs and every kind of record that its API can leave.

Run it with the Python of an environment in which that commit is installed; see README.md beside it::

    PYTHON make.py --out data.tar.xz --people 61
    PYTHON make.py --out data.tar.xz --people 61 --postgresql postgresql://...   # pg_dump must be on the PATH

It uses ``identity_client`` of the commit, whose calls have not changed since the first frozen one, and the command line. The
archive contains the data directory, the checkpoint beside it, a dump for PostgreSQL, and what is expected: for each DID the
answers of the service before it was stopped, and the private keys with which a later version changes it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import orjson

from identity_client import ServiceError, Session, Signer, ibct

API_KEY = "frozen-installation-key-0123456789"
PASSPHRASE = "one for all"
SERVICE = {"type": "LinkedDomains", "serviceEndpoint": "https://example.com/"}
BLS = {"type": "Bls12381G2Key2020", "purpose": ["assertionMethod"]}
X25519 = {"type": "X25519KeyAgreementKey2020", "purpose": ["keyAgreement"]}
UNLIMITED = {
    f"IDENTITY_THROTTLE_{bucket}_{name}": "1000000"
    for bucket in ("KEY", "ADDRESS", "CHALLENGE")
    for name in ("PER_SECOND", "BURST")
}


@contextlib.contextmanager
def service(folder: Path, database_url: str | None) -> Iterator[str]:
    """Run ``identity serve`` over ``folder`` and yield its URL."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("IDENTITY_")}
    environment |= {"API_KEY": API_KEY, **UNLIMITED}
    command = [sys.executable, "-m", "identity_core", "serve", "--port", "0", "--data-dir", str(folder)]
    if database_url is not None:
        environment |= {"IDENTITY_DATABASE_URL": database_url, "IDENTITY_PLUGINS_SEALED_PASSPHRASE": PASSPHRASE}
        environment |= {"IDENTITY_PLUGINS_SEALED_ARGON2_MEMORY_MIB": "8"}
        environment |= {"IDENTITY_PLUGINS_SEALED_ARGON2_OPERATIONS": "1"}
    log = folder.parent / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
        try:
            yield ready(process, log)
        finally:
            process.terminate()
            process.wait(60)


def ready(process: subprocess.Popen[bytes], log: Path) -> str:
    """Return the URL of the server when it is ready."""
    for _ in range(600):
        if found := re.search(r"^Listening at (\S+)", log.read_text(errors="replace"), re.MULTILINE):
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(f"{found[1]}/ready", trust_env=False).status_code == 200:
                    return found[1]
        if process.poll() is not None:
            break
        time.sleep(0.1)
    raise RuntimeError(log.read_text(errors="replace"))


class People:
    """The DIDs that are made, each with its private keys and with what a later version may still do with it."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.made: list[dict[str, Any]] = []

    def create(self, kind: str, method: str = "ids", **options: Any) -> dict[str, Any]:
        """Create a DID; the first ones with an Idempotency-Key."""
        body = {"method": method, "keyType": "Ed25519", "options": options}
        # Stored answers are sealed, so they do not compress.
        number = len(self.made)
        answer = self.session.create(body, idempotency_key=f"frozen-{number:04}" if number < 4 else None)
        keys = {name: key["privateKey"] for name, key in answer["keys"].items() if key and "privateKey" in key}
        person = {"did": answer["did"], "kind": kind, "keys": keys, "key_id": answer["keys"]["authentication"]["keyId"]}
        self.made.append(person)
        return person

    def signer(self, person: dict[str, Any], key: str = "authentication") -> Signer:
        return Signer(person["did"], person["keys"][key])

    def update(self, person: dict[str, Any], number: int = 0) -> None:
        body = {"operation": "addService", "service": {"id": f"#service-{number}", **SERVICE}}
        self.session.update(person["did"], body, self.signer(person))

    def rotate(self, person: dict[str, Any], after: timedelta | None) -> None:
        """Rotate the authentication key; ``after`` is the grace period."""
        body: dict[str, Any] = {"oldKeyId": person["key_id"], "newKeyType": "Ed25519", "purpose": ["authentication"]}
        if after is not None:
            body["revokeOldAfter"] = text(datetime.now(UTC) + after)
        new = self.session.rotate(person["did"], body, self.signer(person))["newKey"]
        person["keys"]["authentication"], person["key_id"] = new["privateKey"], new["keyId"]

    def recover(self, person: dict[str, Any]) -> None:
        """Recover with an authentication key that another DID has shown: only its public key is needed."""
        other = self.session.create({"method": "key", "keyType": "Ed25519"})
        key = other["keys"]["authentication"]
        new = {"type": "Ed25519VerificationKey2020", "publicKeyMultibase": key["publicKey"]}
        body = {"newAuthenticationKey": new, "revokeAllExistingKeys": True}
        self.session.recover(person["did"], body, self.signer(person, "recovery"))
        person["keys"] = {"authentication": key["privateKey"]}
        document = self.session.resolve(person["did"])["didDocument"]
        person["key_id"] = first(document["authentication"])

    def deactivate(self, person: dict[str, Any]) -> None:
        self.session.deactivate(person["did"], {"confirm": True, "reason": "no longer used"}, self.signer(person))


def text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def first(relationship: list[Any]) -> str:
    """Return the id of the first key of a verification relationship."""
    return str(relationship[0]["id"] if isinstance(relationship[0], dict) else relationship[0])


def dids(people: People, count: int) -> None:
    """Create ``count`` DIDs in turns of every kind of history."""
    while len(people.made) < count:
        for name in ("updated", "keys", "rotated", "ended-grace", "grace", "recovered", "deactivated", "many"):
            for kind in ("plain", "plain", name):
                if len(people.made) < count:
                    one_did(people, kind)


def one_did(people: People, name: str) -> None:
    options: dict[str, Any] = {}
    if name in ("keys", "many"):
        options["additionalKeys"] = [X25519, BLS]
    if name in ("recovered", "keys", "grace"):
        options["recoveryKey"] = True
    if name in ("updated", "deactivated"):
        options["serviceEndpoints"] = [{"type": "DIDCommMessaging", "serviceEndpoint": "https://example.com/didcomm"}]
    person = people.create(name, **options)
    if name in ("updated", "deactivated", "many"):
        people.update(person)
    if name == "many":
        people.update(person, 1)
        people.session.update(
            person["did"], {"operation": "removeService", "serviceId": "#service-0"}, people.signer(person)
        )
    if name in ("rotated", "many"):
        people.rotate(person, timedelta(0))
    if name == "ended-grace":
        people.rotate(person, timedelta(seconds=2))
    if name == "grace":
        people.rotate(person, timedelta(days=29))
    if name == "recovered":
        people.recover(person)
    if name == "deactivated":
        people.deactivate(person)


def records(people: People, suites: list[int]) -> dict[str, Any]:
    """Leave credentials, delegations, proofs and API keys."""
    session = people.session
    ivo = people.create("issuer", storeSecrets=True, additionalKeys=[BLS], recoveryKey=True)
    hana, aki = people.create("holder"), people.create("agent")
    attributes = [
        {"name": "age", "type": "integer", "minimum": 0, "maximum": 150},
        {"name": "country", "type": "string"},
    ]
    schema = session.call("POST", "/credential-schemas", body={"id": "urn:example:frozen", "attributes": attributes})
    made: dict[str, Any] = {"credentials": [], "proofs": [], "delegations": []}
    terms = {
        "actions": [ibct.action_text("age", "gte"), ibct.action_text("country", "eq")],
        "autonomyLevel": 4,
        "expiresAt": text(datetime.now(UTC) + timedelta(days=80)),
    }
    delegation = session.call("POST", "/delegations", body={"holderDid": hana["did"], "agentDid": aki["did"], **terms})
    made["delegations"].append(delegation["id"])
    for number in range(6):
        body: dict[str, Any] = {"issuerDid": ivo["did"], "holderDid": hana["did"], "schemaId": schema["id"]}
        body["attributes"] = {"age": 20 + number, "country": "CH"}
        if len(suites) > 1:
            body["suite"] = suites[number % len(suites)]
        credential = session.call("POST", "/credentials", body=body)["id"]
        purpose = (None, "suspension", "revocation")[max(0, number - 3)]
        if purpose is not None:
            path = f"/credentials/{quote(credential, safe='')}/status"
            session.call("POST", path, body={"purpose": purpose, "value": True, "reason": "for the record"})
        made["credentials"].append({"id": credential, "status": purpose, "age": 20 + number})
    token = session.token(people.signer(aki))["access_token"]
    for number in range(4):
        credential = made["credentials"][number % 2]
        template = ibct.IbctTemplate(aki["did"], ibct.action_text("age", "gte"), delegation["id"], timedelta(hours=1))
        body = ibct.proof_request(
            ibct.sign_token(people.signer(hana), template), credential["id"], value=18, anchor=number != 3
        )
        answer = session.call("POST", "/zkp/delegated-proofs", body=body, headers={"Authorization": f"Bearer {token}"})
        made["proofs"].append({"id": answer["proofId"], "proof": answer["proof"], "state": "kept"})
        session.call("POST", f"/zkp/proofs/{answer['proofId']}/verify", body={}, signed_in=True)
    session.call("POST", f"/zkp/proofs/{made['proofs'][3]['id']}/revoke", body={"reason": "for the record"})
    made["proofs"][3]["state"] = "revoked"
    refused = ibct.proof_request(
        ibct.sign_token(people.signer(hana), template), made["credentials"][0]["id"], value=140, anchor=False
    )
    with contextlib.suppress(ServiceError):
        session.call("POST", "/zkp/delegated-proofs", body=refused, headers={"Authorization": f"Bearer {token}"})
    for number in range(3):
        other = session.call("POST", "/delegations", body={"holderDid": hana["did"], "agentDid": aki["did"], **terms})
        action, body = (("revoke", {"reason": "for the record"}), ("suspend", None), ("suspend", None))[number]
        session.call("POST", f"/delegations/{other['id']}/{action}", body=body)
        made["delegations"].append(other["id"])
    for number in range(3):
        key = session.call("POST", "/admin/api-keys", body={"name": f"key-{number}", "admin": True})
        made.setdefault("keys", []).append({"id": key["record"]["id"], "key": key["apiKey"]})
    session.call("POST", f"/admin/api-keys/{made['keys'][1]['id']}/rotate", body={})
    session.call("DELETE", f"/admin/api-keys/{made['keys'][2]['id']}")
    made |= {"issuer": ivo["did"], "holder": hana["did"], "agent": aki["did"], "schema": schema["id"]}
    return made


def answers(session: Session, person: dict[str, Any]) -> None:
    """Note what the service answers about a DID now."""
    try:
        found = session.resolve(person["did"])
    except ServiceError as error:
        person["status"] = error.status
        return
    person["status"], person["document"] = 200, found["didDocument"]
    person["metadata"] = found["didDocumentMetadata"]
    person["history"] = list(session.history(person["did"], limit=200)["items"])


def dump(url: str) -> str:
    """Return the database as statements that need no program to restore them."""
    command = ["pg_dump", "--no-owner", "--inserts", "--rows-per-insert=500", url]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return "\n".join(line for line in lines if line and not line.startswith(("\\", "--"))) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--people", type=int, required=True, help="How many DIDs, besides those of the demo.")
    parser.add_argument("--suites", type=int, nargs="+", default=[1])
    parser.add_argument("--postgresql", help="The URL of an empty database.")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "data")
        with service(folder, arguments.postgresql) as url, Session(url, api_key=API_KEY) as session:
            people = People(session)
            made = records(people, arguments.suites)
            dids(people, arguments.people)
            demo = [sys.executable, "-m", "identity_core", "demo", "--url", url]
            subprocess.run(demo, check=True, stdout=subprocess.DEVNULL, env=os.environ | {"IDENTITY_API_KEY": API_KEY})
            # Grace periods end, and proofs are anchored.
            time.sleep(6)
            for person in people.made:
                answers(session, person)
            expected = {"made": text(datetime.now(UTC)), "people": people.made, **made}
            time.sleep(12)
        Path(scratch, "expected.json").write_bytes(orjson.dumps(expected, option=orjson.OPT_INDENT_2))
        names = [*sorted(folder.rglob("*")), *sorted(Path(scratch).glob("data.*")), Path(scratch, "expected.json")]
        if arguments.postgresql:
            Path(scratch, "dump.sql").write_text(dump(arguments.postgresql))
            names.append(Path(scratch, "dump.sql"))
        with tarfile.open(arguments.out, "w:xz", preset=9) as archive:
            for path in names:
                if path.is_file() and path.suffix not in (".lock", ".sock"):
                    archive.add(path, path.relative_to(scratch), filter=anonymous)
    print(json.dumps({"out": str(arguments.out), "bytes": arguments.out.stat().st_size}))


def anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


if __name__ == "__main__":
    main()
