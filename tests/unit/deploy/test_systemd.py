"""The unit for systemd: it is one, it exposes little, and what it starts serves with the settings and the credential that it gives."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests import servers
from tests.fault.service_process import eventually, kept_port

UNIT = Path(__file__).parents[3] / "deploy/systemd/identity.service"
PROGRAM = "/opt/identity/bin/identity"
MOST_EXPOSED = 15  # tenths


def analyzed(*arguments: str | Path) -> str:
    program = shutil.which("systemd-analyze")
    if program is None:
        give_up = pytest.fail if os.environ.get("CI") else pytest.skip
        give_up("systemd-analyze is not installed (Debian: systemd)")
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stderr


def test_it_is_a_unit(tmp_path: Path) -> None:
    copy = tmp_path / "identity.service"
    copy.write_text(UNIT.read_text().replace(PROGRAM, sys.executable))
    assert analyzed("verify", copy) == ""


def test_its_socket_is_a_unit(tmp_path: Path) -> None:
    (tmp_path / "identity.service").write_text(UNIT.read_text().replace(PROGRAM, sys.executable))
    copy = tmp_path / "identity.socket"
    shutil.copyfile(UNIT.with_suffix(".socket"), copy)
    assert analyzed("verify", copy) == ""


@pytest.mark.parametrize(
    ("name", "program"), [("etcd", "/usr/bin/etcd"), ("patroni", "/opt/patroni/bin/patroni")], ids=["etcd", "patroni"]
)
def test_database_server_units_exist(name: str, program: str, tmp_path: Path) -> None:
    text = UNIT.with_name(f"{name}@.service").read_text()
    assert f"ExecStart={program} " in text
    copy = tmp_path / f"{name}@1.service"
    copy.write_text(text.replace(program, sys.executable))
    assert analyzed("verify", copy) == ""


def test_it_exposes_little() -> None:
    analyzed("security", "--offline=true", f"--threshold={MOST_EXPOSED}", UNIT)


def test_started_unit_serves(tmp_path: Path) -> None:
    """As systemd would start it: the specifiers are folders, /etc/identity is one of the test's."""
    text = UNIT.read_text().replace("/etc/identity", str(tmp_path / "etc")).replace(PROGRAM, "identity")
    for specifier, folder in (("%S", "state"), ("%d", "credentials"), ("", "etc")):
        (tmp_path / folder).mkdir()
        text = text.replace(specifier or "\0", str(tmp_path / folder))
    for name in re.findall(r"^StateDirectory=(.*)$", text, re.MULTILINE)[0].split():
        (tmp_path / "state" / name).mkdir(mode=0o700)
    (tmp_path / "credentials/passphrase").write_text("p" * 40)
    (tmp_path / "credentials/passphrase").chmod(0o400)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("IDENTITY_")}
    environment |= dict(pair.split("=", 1) for pair in re.findall(r"^Environment=(.*)$", text, re.MULTILINE))
    command = shlex.split(re.findall(r"^ExecStart=(.*)$", text, re.MULTILINE)[0])
    with kept_port() as port, (tmp_path / "log").open("w") as log:
        (tmp_path / "etc/identity.toml").write_text(f"[server]\nport = {port}\n")
        words = [sys.executable, "-m", "identity_core", *command[1:]]
        process = servers.popen(words, env=environment, stdout=log, stderr=log)
        try:
            eventually(lambda: is_ready(port), "it serves")
        finally:
            process.terminate()
            assert process.wait(60) == 0, (tmp_path / "log").read_text()
    assert (tmp_path / "state/identity-checkpoint/data.checkpoint").is_file()
    assert (tmp_path / "state/identity/identity.sqlite").is_file()
    assert not list((tmp_path / "state/identity").glob("custodian.key")), (
        "the master key is sealed under the credential"
    )


def is_ready(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/ready", trust_env=False).status_code == 200
    except httpx.TransportError:
        return False
