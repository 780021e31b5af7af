"""A machine of its own for the operator's guide: private files, processes and network, in which its commands are run as they stand.

    unshare --mount --pid --fork --kill-child --mount-proc python tests/guide/machine.py [--install] GUIDE

/etc, /opt, /root, /run, /srv, /usr/local and /var are overlays that end with it, its loopback is its own, and so ports and paths of
the guide are meant literally. What it lacks of a machine is systemd (``systemctl.py`` starts units instead) and a network: packages of
Debian are only looked up, and without ``--install`` the environment of the tests stands in for the one that ``pip install`` would fill.
"""

from __future__ import annotations

import os
import pwd
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# Where a test is not about what a passphrase costs: the default is a second at each command.
CHEAP_PASSPHRASE = {"IDENTITY_PLUGINS_SEALED_ARGON2_MEMORY_MIB": "8", "IDENTITY_PLUGINS_SEALED_ARGON2_OPERATIONS": "1"}
ROOT = Path(__file__).resolve().parents[2]
OVERLAID = ("etc", "opt", "root", "srv", "usr/local", "var", "run")
CHECKOUT = Path("/opt/identity-service")
PREFIX = Path("/opt/identity")
MARK = "@@ line "
# Somebody who asks all the while that replicas are restarted must always be answered.
ASKED = "https://id.example.org/1.0/methods"
WATCH = f"while curl --silent --fail --output /dev/null {ASKED}; do echo >> /run/answered; sleep 0.1; done; touch /run/refused"
WATCHED_BEGIN = f"({WATCH}) & watcher=$!"
WATCHED_END = 'kill "$watcher"; test ! -e /run/refused; test "$(wc -l < /run/answered)" -gt 10'
CERTIFICATES = re.compile(r"PIP_|SSL_CERT_|.*_CA_BUNDLE$")
# The version after the one that was installed has one more step, which does nothing that later commands could see.
NEWER = """
steps=$(cd / && /opt/identity/bin/python -c 'import identity_core.store.migrations as steps; print(steps.__path__[0])')
cp -r "$steps" /run/steps
last=$(ls /run/steps | sed -n 's/^0*\\([0-9]*\\)_.*\\.sql$/\\1/p' | sort -n | tail -n 1)
echo 'DROP INDEX IF EXISTS ix_of_a_version_before;' > "/run/steps/$(printf %04d $((last + 1)))_of_the_next_version.sql"
mount --bind /run/steps "$steps"
"""


@dataclass(frozen=True)
class Block:
    line: int
    text: str

    @property
    def is_installation(self) -> bool:
        return "pip install" in self.text

    @property
    def is_upgrade(self) -> bool:
        return "upgrade check" in self.text

    @property
    def is_rolling(self) -> bool:
        return "systemctl restart identity@" in self.text


def blocks(guide: str) -> Iterator[Block]:
    """What is indented by four spaces: the commands, and what they are given to read."""
    lines = guide.splitlines()
    begin: int | None = None
    for number, line in enumerate([*lines, "end"]):
        if line.startswith("    ") and begin is None and (number == 0 or not lines[number - 1].strip()):
            begin = number
        elif begin is not None and line.strip() and not line.startswith("    "):
            text = "\n".join(each[4:] for each in lines[begin:number]).rstrip("\n")
            yield Block(begin + 1, text + "\n")
            begin = None


def script(found: list[Block], *, installs: bool) -> str:
    """One terminal for all: what one block exports or where it goes holds for the next."""
    parts = ["set -euo pipefail"]
    for block in found:
        if block.is_installation and not installs:
            continue
        parts.append(f'echo "{MARK}{block.line} after $SECONDS s" >&2')
        if block.is_installation:
            # The one thing that needs the world.
            reached = " ".join(
                f"{name}={shlex.quote(value)}" for name, value in os.environ.items() if CERTIFICATES.match(name)
            )
            outside = f"nsenter --net=/proc/{os.getpid()}/ns/net env {reached} bash -eu"
            parts.append(f"{outside} <<'INSTALLATION'\n{block.text}INSTALLATION")
        elif block.is_upgrade:
            parts.append(NEWER + block.text)
        elif block.is_rolling:
            parts.append(f"{WATCHED_BEGIN}\n{block.text}{WATCHED_END}")
        else:
            parts.append(block.text)
    return "\n".join(parts)


def mount(*arguments: str | Path) -> None:
    subprocess.run(["mount", *map(str, arguments)], check=True)


def be_empty(*, installs: bool) -> None:
    """The folders as they are, what is written to them gone at the end."""
    scratch = Path("/mnt")
    mount("-t", "tmpfs", "-o", "mode=755", "none", scratch)
    source, environment = scratch / "source", scratch / "environment"
    for place, held in ((ROOT, source), (Path(sys.prefix), environment)):
        held.mkdir()
        mount("--bind", place, held)
    for name in OVERLAID:
        upper, work = scratch / name / "upper", scratch / name / "work"
        upper.mkdir(parents=True)
        work.mkdir()
        # The mode of an overlay is that of its upper folder.
        upper.chmod(0o755)
        mount("-t", "overlay", "overlay", "-o", f"lowerdir=/{name},upperdir={upper},workdir={work}", f"/{name}")
    CHECKOUT.mkdir()
    if installs:
        listed = subprocess.run(["git", "-C", source, "ls-files", "-z"], check=True, capture_output=True).stdout
        pack = ["tar", "-C", source, "--null", "-T", "-", "-cf", scratch / "checkout.tar"]
        subprocess.run(pack, input=listed, check=True)
        subprocess.run(["tar", "-xf", scratch / "checkout.tar", "-C", CHECKOUT], check=True)
    else:
        mount("--bind", "-o", "ro", source, CHECKOUT)
        PREFIX.mkdir(exist_ok=True)
        mount("--bind", "-o", "ro", environment, PREFIX)


def stand_in() -> None:
    """systemd, and an apt-get that looks whether there is such a package."""
    programs = Path("/usr/local/sbin")
    programs.mkdir(exist_ok=True)
    for name in ("systemctl", "journalctl"):
        (programs / name).write_text(
            f"#!{sys.executable} -IS\n" + (Path(__file__).with_name("systemctl.py")).read_text()
        )
        (programs / name).chmod(0o755)
    (programs / "apt-get").write_text(
        '#!/bin/sh -eu\nshift 2\nfor each; do dpkg-query -W "$each" >/dev/null 2>&1 || apt-cache show "$each" >/dev/null; done\n'
    )
    (programs / "apt-get").chmod(0o755)


def give_server(folder: str, user: str) -> None:
    """A folder that the package of a server makes."""
    account = pwd.getpwnam(user)
    Path(folder).mkdir(parents=True, exist_ok=True)
    os.chown(folder, account.pw_uid, account.pw_gid)


def debian_servers() -> str:
    """What the packages of nginx and PostgreSQL leave running."""
    give_server("/var/lib/prometheus/metrics2", "prometheus")
    give_server("/run/postgresql", "postgres")
    give_server("/var/lib/postgresql/machine", "postgres")
    programs = max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    as_postgres = "cd / && runuser -u postgres --"
    data = "/var/lib/postgresql/machine/data"
    return "\n".join(
        [
            f"({as_postgres} {programs}/initdb -D {data} -A peer --auth-host scram-sha-256 -E UTF8 --no-sync --locale=C) >/dev/null",
            f"({as_postgres} {programs}/pg_ctl -D {data} -w -l {data}/log start -o '-k /run/postgresql -c fsync=off') >/dev/null",
            "systemctl start nginx",
        ]
    )


def main(guide: Path, *, installs: bool) -> int:
    text = guide.read_text()
    be_empty(installs=installs)
    stand_in()
    environment = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/root",
        "LANG": "C.UTF-8",
    }
    environment |= CHEAP_PASSPHRASE
    whole = "\n".join(["ip link set lo up", debian_servers(), script(list(blocks(text)), installs=installs)])
    command = ["unshare", "--net", "bash", "-c", whole]
    return subprocess.run(command, env=environment, cwd=CHECKOUT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[-1]).resolve(), installs="--install" in sys.argv))
