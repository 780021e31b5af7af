"""The compose files and the Dockerfile, held to the settings and the image; nightly, their processes without containers."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from deploy.image.build import CHECKPOINT, CONFIG, DATA, USER
from identity_core.settings import load
from tests.ports import free_port
from tests.postgres_server import postgres_server, postgres_url
from tests.servers import CHEAP_PASSPHRASE, PATIENT

# Fixtures.
__all__ = ["postgres_server", "postgres_url"]

ROOT = Path(__file__).resolve().parents[3]
ONE, REPLICAS = "compose.yaml", "compose.replicas.yaml"
DOCKERFILE = (ROOT / "Dockerfile").read_text()
VARIABLE = re.compile(r"\$\{(\w+):-([^}]*)\}")

Json = dict[str, Any]


def read(name: str) -> Json:
    """Return a compose file with the defaults of its variables."""
    text = VARIABLE.sub(lambda found: found[2], (ROOT / name).read_text())
    assert "${" not in text
    document: Json = yaml.safe_load(text)
    return document


def own_services(document: Json) -> dict[str, Json]:
    return {name: one for name, one in document["services"].items() if one["image"].startswith("identity-service:")}


@pytest.mark.parametrize("name", [ONE, REPLICAS])
def test_every_setting_of_a_service_exists(name: str, tmp_path: Path) -> None:
    services = own_services(read(name))
    assert len(services) == (1 if name == ONE else 2)
    for service in services.values():
        environment = {key: value for key, value in service["environment"].items() if "PLUGINS_SEALED" not in key}
        settings = load(environment=environment | {"IDENTITY_DATA_DIR": str(tmp_path)})
        assert str(settings.database_url).endswith("@database:5432/identity")
        assert settings.server.public_url == "http://127.0.0.1:8080"


@pytest.mark.parametrize("name", [ONE, REPLICAS])
def test_a_service_has_no_rights_and_a_read_only_root(name: str) -> None:
    for service in own_services(read(name)).values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        places = {volume.partition(":")[2] for volume in service["volumes"]}
        assert places == {f"/{DATA}", f"/{CHECKPOINT}"}


@pytest.mark.parametrize("name", [ONE, REPLICAS])
def test_every_name_of_a_compose_file_exists(name: str) -> None:
    document = read(name)
    services = document["services"]
    for service in services.values():
        assert service.get("depends_on", {}).keys() <= services.keys()
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            assert source in document["volumes"] or (ROOT / source).is_file(), source
        for port in service.get("ports", ()):
            assert port.startswith("127.0.0.1:8080:") or port in ("80:80", "443:443")
    assert services["database"]["environment"]["POSTGRES_DB"] == "identity"
    assert "ports" not in services["database"]


def test_replicas_trust_the_address_of_caddy() -> None:
    document = read(REPLICAS)
    caddy = document["services"]["caddy"]
    address = caddy["networks"]["default"]["ipv4_address"]
    replicas = own_services(document)
    assert {one["environment"]["IDENTITY_SERVER_TRUSTED_PROXIES"] for one in replicas.values()} == {f"{address}/32"}
    assert caddy["environment"]["IDENTITY_REPLICAS"].split() == [f"{name}:8080" for name in replicas]
    volumes = [volume for one in replicas.values() for volume in one["volumes"]]
    assert len(volumes) == len(set(volumes)) == 4


def test_dockerfile_agrees_with_the_image() -> None:
    """The image that is built without Docker has the same user, folders, settings and port."""
    for entry in CONFIG["Env"]:
        if entry.startswith(("IDENTITY_", "PYTHON")):
            assert entry in DOCKERFILE
    assert f"USER {USER}:{USER}" in DOCKERFILE
    assert f"VOLUME {str(list(CONFIG['Volumes'])).replace(chr(39), chr(34))}" in DOCKERFILE
    assert all(f"EXPOSE {port.partition('/')[0]}" in DOCKERFILE for port in CONFIG["ExposedPorts"])
    assert f"STOPSIGNAL {CONFIG['StopSignal']}" in DOCKERFILE
    assert 'ENTRYPOINT ["identity"]' in DOCKERFILE
    assert "HEALTHCHECK" in DOCKERFILE
    assert "/health'" in DOCKERFILE


def test_every_path_that_the_dockerfile_copies_is_sent() -> None:
    ignored = (ROOT / ".dockerignore").read_text().split()
    needed = ["pyproject.toml", "requirements.lock", "README.md", "identity_core", "packages", "plugins"]
    assert all((ROOT / name).exists() for name in needed)
    assert set(needed) & set(ignored) == set()


@pytest.mark.nightly
def test_processes_of_the_replicas_serve_without_containers(tmp_path: Path, postgres_url: str) -> None:
    """What the file starts in containers: two replicas with its settings on one PostgreSQL, and Caddy with its Caddyfile before them."""
    if shutil.which("caddy") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("caddy is not installed")
    document, port = read(REPLICAS), free_port()
    passphrase = tmp_path / "passphrase"
    passphrase.write_text("correct horse battery staple")
    passphrase.chmod(0o600)
    ours = {
        "IDENTITY_DATABASE_URL": postgres_url,
        "IDENTITY_SERVER_PUBLIC_URL": f"http://127.0.0.1:{port}",
        "IDENTITY_SERVER_TRUSTED_PROXIES": "127.0.0.1/32",
        "IDENTITY_PLUGINS_SEALED_PASSPHRASE_FILE": str(passphrase),
    }
    first, _ = own_services(document)
    assert document["services"][first]["environment"].keys() == ours.keys()
    key = secrets.token_urlsafe(32)
    environment = os.environ | ours | PATIENT | CHEAP_PASSPHRASE | {"API_KEY": key}
    caddy = dict(document["services"]["caddy"]["environment"])
    ports = [str(free_port()) for _ in range(2)]
    with contextlib.ExitStack() as stack:
        for each in ports:
            serve = [sys.executable, "-m", "identity_core", "serve", "--port", each, "--data-dir", str(tmp_path / each)]
            replica = stack.enter_context(subprocess.Popen(serve, env=environment, stderr=subprocess.DEVNULL))
            stack.callback(replica.terminate)
            _wait_until_ready(f"http://127.0.0.1:{each}")
        caddy["IDENTITY_SITE"] = f"http://:{port}"
        caddy["IDENTITY_REPLICAS"] = " ".join(f"127.0.0.1:{each}" for each in ports)
        caddyfile = tmp_path / "Caddyfile"
        shipped = (ROOT / "deploy/caddy/Caddyfile").read_text()
        caddyfile.write_text(shipped.replace("\tservers {", "\tadmin off\n\tservers {"))
        command = ["caddy", "run", "--adapter", "caddyfile", "--config", str(caddyfile)]
        folders = {"XDG_DATA_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "PATH": os.environ["PATH"]}
        with subprocess.Popen(command, env=caddy | folders, stderr=subprocess.DEVNULL) as process:
            try:
                _create_and_resolve(f"http://127.0.0.1:{port}", key)
            finally:
                process.terminate()


def _wait_until_ready(url: str) -> None:
    """Wait until the server at ``url`` is ready. Raises ``TimeoutError`` after 60 seconds."""
    for _ in range(300):
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{url}/ready").status_code == 200:
                return
        time.sleep(0.2)
    raise TimeoutError(url)


def _create_and_resolve(url: str, api_key: str) -> None:
    """Create a DID through the proxy, and resolve it so often that both replicas answer."""
    with httpx.Client(base_url=url, transport=httpx.HTTPTransport(retries=20), timeout=30) as http:
        created = http.post(
            "/api/v1/dids", json={"method": "ids", "keyType": "Ed25519", "options": {}}, headers={"X-API-Key": api_key}
        )
        assert created.status_code == 201, created.text
        did = created.json()["did"]
        for _ in range(4):
            assert http.get(f"/api/v1/dids/{did}").status_code == 200
