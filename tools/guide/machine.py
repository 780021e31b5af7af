"""A machine of its own for the operator's guide: private files, processes and network, in which its commands are run as they stand.

    unshare --mount --pid --fork --kill-child --mount-proc python tools/guide/machine.py [--install] [--chapters 1,2,3] GUIDE

/etc, /opt, /root, /run, /srv, /usr/local and /var are overlays that end with it, its loopback is its own, and so ports and paths of
the guide are meant literally. What it lacks of a machine is systemd (``systemctl.py`` starts units instead) and a network: packages of
Debian are only looked up, what fetches packages is run outside of its network, and without ``--install`` the environment of the tests
stands in for the one that ``pip install`` would fill.
"""

from __future__ import annotations

import argparse
import os
import pwd
import re
import shlex
import subprocess
import sys
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

# Where a test is not about what a passphrase costs: the default is a second at each command.
CHEAP_PASSPHRASE = {"IDENTITY_PLUGINS_SEALED_ARGON2_MEMORY_MIB": "8", "IDENTITY_PLUGINS_SEALED_ARGON2_OPERATIONS": "1"}
ROOT = Path(__file__).resolve().parents[2]
OVERLAID = ("etc", "opt", "root", "srv", "usr/local", "var", "run")
CHECKOUT = Path("/opt/identity-service")
PREFIX = Path("/opt/identity")
MARK = "@@ line "
POSTGRESQL_PID = "/run/postgresql/machine.pid"
# Clients of the replicas for as long as something is done to them: nothing that they were told is lost, and nothing is done twice.
LOAD_BEGIN = """
IDENTITY_CONFIG=/etc/identity/replicas.toml identity-as-service keys create --name load --scopes dids:create,dids:list --any-target \\
    --requests-per-second 100000 --burst 100000 --json | sed -n 's/.*"apiKey": "\\(.*\\)".*/\\1/p' > /run/load.key
rm -f /run/load.begun
{python} -I {checkout}/tools/guide/load.py {options} https://id.example.org /run/load.key /run/load.begun \\
    http://127.0.0.1:8081 http://127.0.0.1:8082 & load=$!
timeout 60 sh -c 'until test -e /run/load.begun; do sleep 0.1; done'
"""
LOAD_END = 'kill "$load"; wait "$load"'
CERTIFICATES = re.compile(r"PIP_|SSL_CERT_|.*_CA_BUNDLE$")
HEADING = re.compile(r"## (\d+)\. ")
VENV = re.compile(r"python3 -m venv (\S+)")
# The version after the one that runs has one more step, which does nothing that later commands could see.
NEWER = """
steps_of() {{ (cd / && "$1/bin/python" -c 'import identity_core.store.migrations as steps; print(steps.__path__[0])'); }}
newer=$(mktemp -d /run/steps.XXXX)
chmod 755 "$newer"
cp -r "$(steps_of /opt/identity)/." "$newer"
last=$(ls "$newer" | sed -n 's/^0*\\([0-9]*\\)_.*\\.sql$/\\1/p' | sort -n | tail -n 1)
echo 'DROP INDEX IF EXISTS ix_of_a_version_before;' > "$newer/$(printf %04d $((last + 1)))_of_the_next_version.sql"
mount --bind "$newer" "$(steps_of {prefix})"
"""
# The next image has it, too: each container from then on.
NEWER_IMAGE = """
inside=$(podman exec identity /usr/bin/python3.11 -Ic 'import identity_core.store.migrations as steps; print(steps.__path__[0])')
sed -i "s#podman run#podman run --volume $newer:$inside:ro#" /usr/local/sbin/identity-container
"""
# The program of the tests that holds manifests to the schemas of Kubernetes.
VALIDATED = """
{python} -c 'import sys, yaml, kubernetes_validate
for file in sys.argv[1:]:
    for document in yaml.safe_load_all(open(file)):
        kubernetes_validate.validate(document, "1.30", strict=True)
        print("valid:", file, document["kind"])' {files}
"""
# For the guide; mmdebstrap asks for the real one.
APT_GET = """#!/bin/sh -eu
[ "$1" = install ] || exec /usr/bin/apt-get "$@"
shift 2
for each; do dpkg-query -W "$each" >/dev/null 2>&1 || apt-cache show "$each" >/dev/null; done
"""
# Debian's runc is what a kernel without control groups of version 2 has; containers lie on a file system that may be overlaid once more.
CONTAINERS = '[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\n'


@dataclass(frozen=True)
class Block:
    """A block of commands of the ``chapter`` with this number."""

    line: int
    text: str
    chapter: int

    @property
    def is_installation(self) -> bool:
        return "pip install" in self.text

    @property
    def fetches(self) -> bool:
        """Whether it needs the world."""
        return self.is_installation or "deploy.image.build" in self.text

    @property
    def is_upgrade(self) -> bool:
        return "upgrade check" in self.text

    @property
    def is_of_container(self) -> bool:
        return "identity-container" in self.text

    @property
    def manifests(self) -> list[str]:
        """What kubectl writes."""
        return re.findall(r"kubectl [^>]*> ([^\s)]+)", self.text)

    @property
    def upgraded(self) -> str:
        """Where the version is to which this block upgrades."""
        return [str(PREFIX), *re.findall(r"/opt/[\w-]+(?=/bin)", self.text)][-1]

    @property
    def is_under_load(self) -> bool:
        """Whether something is done to replicas that serve."""
        return re.search(r"systemctl (restart|kill).* (identity|patroni)@", self.text) is not None


def blocks(guide: str) -> Iterator[Block]:
    """What is indented by four spaces: the commands, and what they are given to read."""
    lines = guide.splitlines()
    begin: int | None = None
    chapter = 0
    for number, line in enumerate([*lines, "end"]):
        if line.startswith("    ") and begin is None and (number == 0 or not lines[number - 1].strip()):
            begin = number
        elif begin is not None and line.strip() and not line.startswith("    "):
            text = "\n".join(each[4:] for each in lines[begin:number]).rstrip("\n")
            yield Block(begin + 1, text + "\n", chapter)
            begin = None
        if heading := HEADING.match(line):
            chapter = int(heading[1])


def script(found: list[Block], *, installs: bool) -> str:
    """One terminal for all: what one block exports or where it goes holds for the next."""
    parts = ["set -euo pipefail"]
    for block in found:
        if block.is_installation and not installs:
            continue
        parts.append(f'echo "{MARK}{block.line} after $SECONDS s" >&2')
        if block.fetches:
            reached = " ".join(
                f"{name}={shlex.quote(value)}" for name, value in os.environ.items() if CERTIFICATES.match(name)
            )
            outside = f"nsenter --net=/proc/{os.getpid()}/ns/net env {reached} bash -eu /dev/fd/3"
            parts.append(f"{outside} 3<<'OUTSIDE'\n{block.text}OUTSIDE")
            continue
        text = block.text
        if block.is_upgrade:
            text = NEWER.format(prefix=block.upgraded) + (NEWER_IMAGE if block.is_of_container else "") + text
        if block.manifests:
            text += VALIDATED.format(python=sys.executable, files=" ".join(block.manifests))
        if block.is_under_load:
            begin = LOAD_BEGIN.format(
                python=sys.executable, checkout=CHECKOUT, options="--failover" if "patroni@" in text else ""
            )
            text = f"{begin}{text}{LOAD_END}"
        parts.append(text)
    return "\n".join(parts)


def mount(*arguments: str | Path) -> None:
    subprocess.run(["mount", *map(str, arguments)], check=True)


def be_empty(installed: Iterable[str], *, installs: bool) -> None:
    """The folders as they are, what is written to them gone at the end. ``installed`` are the environments that the guide makes."""
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
        for prefix in map(Path, installed):
            prefix.mkdir(exist_ok=True)
            mount("--bind", "-o", "ro", environment, prefix)


def stand_in() -> None:
    """systemd, an apt-get that looks whether there is such a package, kubectl, and containers where there is no systemd."""
    programs = Path("/usr/local/sbin")
    programs.mkdir(exist_ok=True)
    for name in ("systemctl", "journalctl"):
        (programs / name).write_text(
            f"#!{sys.executable} -IS\n" + (Path(__file__).with_name("systemctl.py")).read_text()
        )
        (programs / name).chmod(0o755)
    (programs / "apt-get").write_text(APT_GET)
    (programs / "apt-get").chmod(0o755)
    (programs / "kubectl").symlink_to(Path(sys.prefix) / "bin/kubectl")
    Path("/etc/containers").mkdir(exist_ok=True)
    Path("/etc/containers/containers.conf").write_text(CONTAINERS)
    Path("/var/lib/containers").mkdir(exist_ok=True)
    mount("-t", "tmpfs", "none", "/var/lib/containers")


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
    options = f"-k /run/postgresql -c fsync=off -c external_pid_file={POSTGRESQL_PID}"
    # Debian's unit is one for all servers, and this is the only one: a stop of the unit stops this.
    unit = Path("/etc/systemd/system/postgresql.service.d/machine.conf")
    unit.parent.mkdir(parents=True)
    unit.write_text(f"[Service]\nPIDFile={POSTGRESQL_PID}\n")
    return "\n".join(
        [
            f"({as_postgres} {programs}/initdb -D {data} -A peer --auth-host scram-sha-256 -E UTF8 --no-sync --locale=C) >/dev/null",
            f"({as_postgres} {programs}/pg_ctl -D {data} -w -l {data}/log start -o '{options}') >/dev/null",
            "systemctl start nginx",
        ]
    )


def main(guide: Path, chapters: Container[int], *, installs: bool) -> int:
    found = [block for block in blocks(guide.read_text()) if block.chapter in chapters]
    be_empty((prefix for block in found for prefix in VENV.findall(block.text)), installs=installs)
    stand_in()
    environment = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/root",
        "LANG": "C.UTF-8",
    }
    environment |= CHEAP_PASSPHRASE
    whole = "\n".join(["ip link set lo up", debian_servers(), script(found, installs=installs)])
    command = ["unshare", "--net", "bash", "-c", whole]
    process = subprocess.Popen(command, env=environment, cwd=CHECKOUT)
    # As the first process of its own machine this is the parent of all that have lost theirs: who has ended is gone.
    while True:
        pid, status = os.wait()
        if pid == process.pid:
            return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--install", action="store_true")
    parser.add_argument("--chapters", type=lambda text: {int(each) for each in text.split(",")}, default=range(100))
    parser.add_argument("guide", type=Path)
    asked = parser.parse_args()
    sys.exit(main(asked.guide.resolve(), asked.chapters, installs=asked.install))
