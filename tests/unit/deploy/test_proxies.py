"""The examples for nginx and Caddy, run before a service: TLS, addresses, compression, entity tags, what is not for the world.

Where a proxy is not installed (Debian: ``nginx-light``, ``caddy``) its tests skip and say so.
"""

from __future__ import annotations

import os
import shutil
import ssl
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from identity_core.client import Signer, hash_body
from tests import servers
from tests.fault import service_process
from tests.fault.service_process import API_KEY, eventually, kept_port

DEPLOY = Path(__file__).parents[3] / "deploy"


@dataclass
class Site:
    """A folder with a certificate for 127.0.0.1, and the port that the proxy takes."""

    folder: Path
    port: int
    upstream: str

    def certify(self) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
        now = datetime.now(UTC)
        builder = x509.CertificateBuilder(
            name, name, key.public_key(), 1, now - timedelta(days=1), now + timedelta(days=1)
        )
        addresses = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
        certificate = builder.add_extension(addresses, critical=False).sign(key, hashes.SHA256())
        pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
        (self.folder / "site.pem").write_bytes(certificate.public_bytes(pem))
        (self.folder / "site.key").write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))

    def nginx(self) -> list[str]:
        text = (DEPLOY / "nginx/identity.conf").read_text()
        for theirs, ours in (
            ("127.0.0.1:8080", self.upstream),
            ("listen 443 ssl", f"listen 127.0.0.1:{self.port} ssl"),
            ("/etc/ssl/id.example.org.pem", f"{self.folder}/site.pem"),
            ("/etc/ssl/private/id.example.org.key", f"{self.folder}/site.key"),
        ):
            assert text.count(theirs) == 1, theirs
            text = text.replace(theirs, ours)
        places = "".join(
            f"{each}_temp_path {self.folder}/{each};\n" for each in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        http = f"access_log off;\n{places}{text}"
        whole = f"daemon off; master_process off; pid {self.folder}/pid; error_log stderr;\nevents {{}}\nhttp {{\n{http}}}\n"
        (self.folder / "nginx.conf").write_text(whole)
        return ["nginx", "-p", str(self.folder), "-c", str(self.folder / "nginx.conf")]

    def caddy(self) -> list[str]:
        text = (DEPLOY / "caddy/Caddyfile").read_text()
        for theirs, ours in (
            ("127.0.0.1:8080", self.upstream),
            (
                "\nid.example.org {",
                f"\nhttps://127.0.0.1:{self.port} {{\n\ttls {self.folder}/site.pem {self.folder}/site.key",
            ),
        ):
            assert text.count(theirs) == 1, theirs
            text = text.replace(theirs, ours)
        (self.folder / "Caddyfile").write_text("{\n\tadmin off\n\tauto_https off\n}\n" + text)
        return ["caddy", "run", "--adapter", "caddyfile", "--config", str(self.folder / "Caddyfile")]


@contextmanager
def proxied(kind: str, folder: Path, *, is_unix: bool = False) -> Iterator[httpx.Client]:
    if shutil.which(kind) is None:
        give_up = pytest.fail if os.environ.get("CI") else pytest.skip
        give_up(f"{kind} is not installed")
    with kept_port() as port:
        environment = {
            "IDENTITY_SERVER_PUBLIC_URL": f"https://127.0.0.1:{port}",
            "IDENTITY_SERVER_TRUSTED_PROXIES": "127.0.0.1/32",
            "IDENTITY_THROTTLE_CHALLENGE_PER_SECOND": "0.001",
            "IDENTITY_THROTTLE_CHALLENGE_BURST": "3",
        }
        if is_unix:
            environment |= {"IDENTITY_SERVER_TRUSTED_PROXIES": "unix", "IDENTITY_SERVER_ADMIN_PORT": "0"}
            with on_unix_socket(folder, environment) as place:
                yield from _before(kind, folder, port, place)
            return
        with (
            kept_port() as inner,
            service_process.service(folder / "data", "--port", str(inner), environment=environment) as running,
        ):
            yield from _before(kind, folder, port, running.wire.url.removeprefix("http://"))


@contextmanager
def on_unix_socket(folder: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """A service that listens on no port; nginx gets an answer when there is one."""
    path = folder / "identity.sock"
    words = [sys.executable, "-m", "identity_core", "serve", "--uds", str(path), "--data-dir", str(folder / "data")]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("IDENTITY_")}
    inherited |= {"API_KEY": API_KEY} | servers.PATIENT | environment
    with (folder / "service.log").open("w") as log:
        process = servers.popen(words, env=inherited, stdout=log, stderr=log)
    try:
        yield f"unix:{path}"
        process.terminate()
        assert process.wait(60) == 0, (folder / "service.log").read_text()
        assert not path.exists()
    finally:
        process.kill()
        process.wait()


def _before(kind: str, folder: Path, port: int, upstream: str) -> Iterator[httpx.Client]:
    site = Site(folder, port, upstream)
    site.certify()
    command = site.nginx() if kind == "nginx" else site.caddy()
    with (folder / "proxy.log").open("w") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=log, env={"HOME": str(folder), "PATH": os.environ["PATH"]}
        )
    try:
        with httpx.Client(
            base_url=f"https://127.0.0.1:{port}",
            verify=ssl.create_default_context(cafile=folder / "site.pem"),
            trust_env=False,
        ) as client:
            eventually(lambda: answers(client), f"{kind} answers: {(folder / 'proxy.log').read_text()}")
            yield client
    finally:
        process.terminate()
        process.wait(30)


def answers(client: httpx.Client) -> bool:
    try:
        return client.get("/health").status_code == 200
    except httpx.TransportError:
        return False


@pytest.mark.parametrize(("kind", "is_unix"), [("nginx", False), ("nginx", True), ("caddy", False)])
def test_a_service_behind_a_proxy(kind: str, is_unix: bool, tmp_path: Path) -> None:
    with proxied(kind, tmp_path, is_unix=is_unix) as client:
        key = {"X-API-Key": API_KEY}
        made = client.post("/api/v1/dids", json={"method": "ids"}, headers=key)
        assert made.status_code == 201, made.text
        assert made.headers["strict-transport-security"]
        did = made.json()["did"]
        # A client that asks for a challenge and signs it, with the origin of the proxy in it.
        body = {"operation": "setAlsoKnownAs", "alsoKnownAs": ["https://a.example/"]}
        read = client.get(f"/api/v1/dids/{did}", headers={"Accept-Encoding": "gzip"})
        assert read.status_code == 200
        tag = read.headers["etag"]
        digest = hash_body(body)
        asked = {"did": did, "purpose": "update", "bodyHash": digest}
        text = client.get("/auth/challenge", params=asked).json()["challenge"]
        assert f"https://127.0.0.1:{client.base_url.port} " in text
        signer = Signer(did, made.json()["keys"]["authentication"]["privateKey"])
        headers = {
            "Authorization": signer.header(text, purpose="update", digest=digest),
            "If-Match": f"W/{tag.removeprefix('W/')}",
        }
        changed = client.patch(f"/api/v1/dids/{did}", json=body, headers=headers)
        assert changed.status_code == 200, changed.text
        assert client.get(f"/api/v1/dids/{did}", headers={"If-None-Match": tag}).status_code == 200, "it is newer"
        history = client.get(f"/api/v1/dids/{did}/log", headers={"Accept-Encoding": "gzip"})
        assert (history.headers["content-type"].split(";")[0], history.headers["content-encoding"]) == (
            "text/jsonl",
            "gzip",
        )
        assert len(history.text.splitlines()) == 2
        assert [client.get(path, headers=key).status_code for path in ("/metrics", "/api/v1/metrics")] == [404, 404]
        large = key | {"Content-Type": "application/json"}
        assert client.post("/api/v1/dids", content=b" " * 300_000, headers=large).status_code == 413
        # Who makes an address up has the bucket of his own.
        spoofed = [
            client.get("/auth/challenge", params=asked, headers={"X-Forwarded-For": f"192.0.2.{n}"}) for n in range(4)
        ]
        assert 429 in [answer.status_code for answer in spoofed]
