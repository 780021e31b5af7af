"""The examples for nginx and Caddy, run before a service: TLS, addresses, compression, entity tags, what is not for the world.

Where a proxy is not installed (Debian: ``nginx-light``, ``caddy``) its tests skip and say so.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
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

from identity_client import Signer, hash_body
from tests import servers
from tests.attack import test_smuggling
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
            ("listen 80;", f"listen unix:{self.folder}/plain;"),
            ("listen [::]:80;", ""),
            ("listen 443 ssl", f"listen 127.0.0.1:{self.port} ssl"),
            ("listen [::]:443 ssl http2;", ""),
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
            ("\tservers {", "\tadmin off\n\tauto_https off\n\tservers {"),
            (
                "\n{$IDENTITY_SITE:id.example.org} {",
                f"\nhttps://127.0.0.1:{self.port} {{\n\ttls {self.folder}/site.pem {self.folder}/site.key",
            ),
        ):
            assert text.count(theirs) == 1, theirs
            text = text.replace(theirs, ours)
        (self.folder / "Caddyfile").write_text(text)
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
            "IDENTITY_THROTTLE_ADDRESS_PER_SECOND": "10000",
            "IDENTITY_THROTTLE_ADDRESS_BURST": "10000",
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


@contextmanager
def tls(client: httpx.Client, folder: Path) -> Iterator[ssl.SSLSocket]:
    """A raw HTTP/1.1 connection to the proxy."""
    context = ssl.create_default_context(cafile=folder / "site.pem")
    with (
        socket.create_connection(("127.0.0.1", client.base_url.port or 443), timeout=60) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as connection,
    ):
        yield connection


@pytest.mark.parametrize("kind", ["nginx", "caddy"])
def test_no_request_is_read_twice_behind_a_proxy(kind: str, tmp_path: Path) -> None:
    """RFC 9112 §11.2, CWE-444: neither the sender nor the next client of the proxy gets the answer to bytes of a body."""
    with proxied(kind, tmp_path) as client:
        for number, (is_valid, message) in enumerate(test_smuggling.messages(["POST"])):
            with tls(client, tmp_path) as connection:
                connection.sendall(message.replace(b"Host: localhost", b"Host: 127.0.0.1"))
                found = test_smuggling.statuses(test_smuggling.read_to_end(connection))
            if is_valid:
                assert found[:1] in ([204], [404]), (found, message)
                assert found[1:] in ([], [200]), (found, message)
            victim = client.get("/health", headers={"X-Request-Id": f"victim-{number}"})
            assert (victim.status_code, victim.headers["x-request-id"]) == (200, f"victim-{number}"), message


@pytest.mark.parametrize("kind", ["nginx", "caddy"])
def test_an_offer_to_upgrade_is_not_forwarded(kind: str, tmp_path: Path) -> None:
    seen: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as upstream:
        thread = threading.Thread(target=answer_requests, args=(upstream, seen), daemon=True)
        thread.start()
        with (
            kept_port() as port,
            contextlib.contextmanager(_before)(
                kind, tmp_path, port, f"127.0.0.1:{upstream.getsockname()[1]}"
            ) as client,
            tls(client, tmp_path) as connection,
        ):
            connection.sendall(
                b"GET /offered HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade, close\r\nUpgrade: h2c\r\n\r\n"
            )
            assert connection.recv(65536).startswith(b"HTTP/1.1 200")
    offered = [head.lower() for head in seen if b"/offered" in head]
    assert offered
    assert all(b"upgrade" not in head for head in offered)


@pytest.mark.parametrize("kind", ["nginx", "caddy"])
@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT", "DELETE"])
def test_a_change_is_sent_to_one_replica(kind: str, method: str, tmp_path: Path) -> None:
    """The first replica reads it and goes away: whether it made the change is unknown."""
    seen: list[bytes] = []
    replicas = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    for one in replicas:
        threading.Thread(target=answer_health_alone, args=(one, seen), daemon=True).start()
    first, second = (f"127.0.0.1:{one.getsockname()[1]}" for one in replicas)
    both = f"{first}; server {second}" if kind == "nginx" else f"{first} {second}"
    with kept_port() as port, contextlib.contextmanager(_before)(kind, tmp_path, port, both) as client:
        answer = client.request(method, "/api/v1/dids/x", headers={"Content-Length": "0"})
    for one in replicas:
        one.close()
    assert answer.status_code == 502
    assert len([head for head in seen if head.startswith(method.encode())]) == 1


def answer_health_alone(upstream: socket.socket, seen: list[bytes]) -> None:
    with contextlib.suppress(OSError):
        while True:
            connection = upstream.accept()[0]
            with connection:
                seen.append(connection.recv(65536))
                if seen[-1].startswith(b"GET"):
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


def answer_requests(upstream: socket.socket, seen: list[bytes]) -> None:
    """Note the head of each connection's request and answer 200, until the socket is closed."""
    with contextlib.suppress(OSError):
        while True:
            connection = upstream.accept()[0]
            with connection:
                seen.append(connection.recv(65536))
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


def test_nginx_redirects_from_port_80(tmp_path: Path) -> None:
    with proxied("nginx", tmp_path), socket.socket(socket.AF_UNIX) as plain:
        plain.connect(f"{tmp_path}/plain")
        plain.sendall(b"GET /health?a=b HTTP/1.1\r\nHost: elsewhere\r\nConnection: close\r\n\r\n")
        answer = test_smuggling.read_to_end(plain)
    assert answer.startswith(b"HTTP/1.1 308 ")
    assert b"\r\nLocation: https://id.example.org/health?a=b\r\n" in answer


JAVA = """
import java.net.URI;
import java.net.http.*;
public class Post {
    public static void main(String[] words) throws Exception {
        var client = HttpClient.newHttpClient();
        for (int i = 0; i < 3; i++) {
            var request = HttpRequest.newBuilder(URI.create(words[0] + "/api/v1/dids")).header("X-API-Key", words[1])
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString("{\\"method\\":\\"ids\\"}")).build();
            System.out.println(client.send(request, HttpResponse.BodyHandlers.ofString()).statusCode());
        }
    }
}
"""
GO = """
package main
import ("fmt"; "net/http"; "os"; "strings")
func main() {
    for i := 0; i < 3; i++ {
        request, _ := http.NewRequest("POST", os.Args[1] + "/api/v1/dids", strings.NewReader(`{"method":"ids"}`))
        request.Header.Set("X-API-Key", os.Args[2])
        request.Header.Set("Content-Type", "application/json")
        answer, err := http.DefaultClient.Do(request)
        if err != nil { panic(err) }
        fmt.Println(answer.StatusCode)
    }
}
"""


def post_with(program: str, url: str, folder: Path, certificate: Path | None) -> list[str]:
    """Create three DIDs with a client that offers HTTP/2 where it can, and return the statuses."""
    if shutil.which(program) is None:
        give_up = pytest.fail if os.environ.get("CI") else pytest.skip
        give_up(f"{program} is not installed")
    words = {
        "java": ["java", *_java_trust(folder, certificate), str(folder / "Post.java"), url, API_KEY],
        "go": ["go", "run", str(folder / "post.go"), url, API_KEY],
        "curl": [
            *(
                "curl",
                "--silent",
                "--http2",
                "--max-time",
                "60",
                *(["--cacert", str(certificate)] if certificate else []),
            ),
            *("--header", f"X-API-Key: {API_KEY}", "--json", '{"method":"ids"}', "--write-out", "%{http_code}\\n"),
            *[word for number in range(3) for word in ("--output", str(folder / str(number)), f"{url}/api/v1/dids")],
        ],
    }[program]
    (folder / "Post.java").write_text(JAVA)
    (folder / "post.go").write_text(GO)
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "GOFLAGS": "-mod=mod", "GO111MODULE": "off"}
    if certificate is not None:
        environment["SSL_CERT_FILE"] = str(certificate)
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def _java_trust(folder: Path, certificate: Path | None) -> list[str]:
    if certificate is None:
        return []
    store = folder / "trust.p12"
    words = [
        "keytool",
        "-importcert",
        "-noprompt",
        "-alias",
        "site",
        "-file",
        str(certificate),
        "-keystore",
        str(store),
    ]
    subprocess.run([*words, "-storepass", "changeit"], check=True, capture_output=True, timeout=120)
    return [f"-Djavax.net.ssl.trustStore={store}", "-Djavax.net.ssl.trustStorePassword=changeit"]


@pytest.mark.parametrize("program", ["java", "curl", "go"])
@pytest.mark.parametrize("kind", ["nginx", "caddy"])
def test_clients_of_http_2_create_dids_behind_a_proxy(kind: str, program: str, tmp_path: Path) -> None:
    with proxied(kind, tmp_path) as client:
        url = f"https://127.0.0.1:{client.base_url.port}"
        assert post_with(program, url, tmp_path, tmp_path / "site.pem") == ["201"] * 3


@pytest.mark.parametrize("program", ["java", "curl", "go"])
def test_clients_that_offer_an_upgrade_create_dids(program: str, tmp_path: Path) -> None:
    """Java's HttpClient and ``curl --http2`` offer h2c in each request over plain HTTP."""
    with kept_port() as port, service_process.service(tmp_path / "data", "--port", str(port)) as running:
        assert post_with(program, running.wire.url, tmp_path, None) == ["201"] * 3
