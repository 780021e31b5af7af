"""``systemctl`` and ``journalctl`` where no systemd runs: starts what a unit says as the unit says it, on the machine of ``machine.py``.

Of a unit it obeys what decides whether a guide's commands are true: who runs it, with which variables, credentials and folders, how it
is started, reloaded and ended, and what drop-ins and instances (``identity@1``) change. It confines nothing; ``systemd-analyze`` looks
at that.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping
from pathlib import Path

FOLDERS = (Path("/etc/systemd/system"), Path("/lib/systemd/system"))
RUNNING = Path("/run/units")
STATE = Path("/var/lib")
BRACED = re.compile(r"\$\{(\w+)\}")


class Unit:
    def __init__(self, name: str) -> None:
        self.name = name.removesuffix(".service")
        stem, at, self.instance = self.name.partition("@")
        file = f"{stem}{at}.service"
        found = next((folder / file for folder in FOLDERS if (folder / file).is_file()), None)
        if found is None:
            sys.exit(f"Failed to find {self.name}.service: there is no {file}")
        self.credentials = Path("/run/credentials") / self.name
        # Each drop-in may add, and an empty value takes back what stands before it.
        self.values: dict[str, list[str]] = {}
        for path in (found, *sorted((FOLDERS[0] / f"{file}.d").glob("*.conf"))):
            self._read(path)

    def _read(self, path: Path) -> None:
        section = ""
        for line in path.read_text().replace("\\\n", " ").splitlines():
            if line.startswith("["):
                section = line
            elif section == "[Service]" and "=" in line and line[0] not in "#;":
                name, value = line.split("=", 1)
                if not value:
                    self.values[name] = []
                else:
                    self.values.setdefault(name, []).append(self._specified(value))

    def _specified(self, value: str) -> str:
        for specifier, meant in (("%S", str(STATE)), ("%d", str(self.credentials)), ("%i", self.instance)):
            value = value.replace(specifier, meant)
        return value

    def one(self, name: str, default: str = "") -> str:
        return self.values.get(name, [default])[-1]

    @property
    def _pid_file(self) -> Path:
        return Path(self.one("PIDFile") or RUNNING / f"{self.name}.pid")

    @property
    def pid(self) -> int | None:
        try:
            pid = int(self._pid_file.read_text())
            # A process that has ended and that its parent has not waited for is none.
            return None if Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].startswith("Z") else pid
        except (FileNotFoundError, ProcessLookupError, ValueError):
            return None

    def _environment(self) -> dict[str, str]:
        variables = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "LANG": "C.UTF-8",
            "INVOCATION_ID": uuid.uuid4().hex,
        }
        lines = list(self.values.get("Environment", []))
        for each in self.values.get("EnvironmentFile", []):
            lines += Path(each.removeprefix("-")).read_text().splitlines()
        for line in lines:
            if "=" in line and not line.startswith("#"):
                name, value = line.split("=", 1)
                variables[name] = "".join(shlex.split(value)) if value.startswith(('"', "'")) else value
        return variables

    def _prepare(self, user: pwd.struct_passwd) -> None:
        mode = int(self.one("StateDirectoryMode", "0755"), 8)
        for folder in self.one("StateDirectory").split():
            (STATE / folder).mkdir(exist_ok=True)
            os.chown(STATE / folder, user.pw_uid, user.pw_gid)
            (STATE / folder).chmod(mode)
        for pair in self.values.get("LoadCredential", []):
            name, source = pair.split(":", 1)
            self.credentials.mkdir(parents=True, exist_ok=True)
            held = self.credentials / name
            held.unlink(missing_ok=True)
            shutil.copyfile(source, held)
            os.chown(held, user.pw_uid, user.pw_gid)
            held.chmod(0o400)

    def _command(self, line: str, variables: Mapping[str, str]) -> list[str]:
        line = BRACED.sub(lambda match: variables.get(match[1], ""), line)
        return [
            part
            for word in shlex.split(line.removeprefix("-"))
            for part in (variables.get(word[1:], "").split() if word.startswith("$") else [word])
        ]

    def start(self) -> None:
        if self.pid is not None:
            return
        user = pwd.getpwnam(self.one("User", "root"))
        self._prepare(user)
        variables = self._environment() | {"USER": user.pw_name, "HOME": user.pw_dir}
        RUNNING.mkdir(exist_ok=True)
        is_forking = self.one("Type") == "forking"
        with (RUNNING / f"{self.name}.log").open("ab") as log:
            for line in (*self.values.get("ExecStartPre", []), self.one("ExecStart")):
                process = subprocess.Popen(
                    self._command(line, variables),
                    env=variables,
                    user=user.pw_uid,
                    group=user.pw_gid,
                    extra_groups=os.getgrouplist(user.pw_name, user.pw_gid),
                    umask=int(self.one("UMask", "0022"), 8),
                    cwd="/",
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
                if (line != self.one("ExecStart") or is_forking) and process.wait(60) != 0:
                    sys.exit(f"Job for {self.name}.service failed: {line}")
        if not is_forking:
            self._pid_file.write_text(str(process.pid))
        (RUNNING / f"{self.name}.invocation").write_text(variables["INVOCATION_ID"])

    def stop(self) -> None:
        self._end(self.pid)

    def _end(self, pid: int | None) -> None:
        if pid is None:
            return
        os.kill(pid, signal.SIGTERM)
        end = time.monotonic() + 60
        while self.pid == pid:
            if time.monotonic() > end:
                sys.exit(f"{self.name}.service does not end")
            time.sleep(0.02)

    def _processes(self) -> list[int]:
        """Those that the unit has started, and theirs: systemd knows them by their control group."""
        mark = b"INVOCATION_ID=" + (RUNNING / f"{self.name}.invocation").read_bytes()
        found: set[int] = set()
        parents: dict[int, int] = {}
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                if mark in (folder / "environ").read_bytes().split(b"\0"):
                    found.add(int(folder.name))
        while more := {pid for pid, parent in parents.items() if parent in found} - found:
            found |= more
        return sorted(found)

    def kill(self, number: signal.Signals) -> None:
        for pid in self._processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def restart(self) -> None:
        self.stop()
        self.start()

    def reload(self) -> None:
        pid, lines = self.pid, self.values.get("ExecReload", [])
        if pid is None or not lines:
            sys.exit(f"Failed to reload {self.name}.service: it does not run or knows no way")
        for line in lines:
            subprocess.run(self._command(line, {"MAINPID": str(pid)} | self._environment()), check=True)

    def is_active(self) -> None:
        if self.pid is None:
            sys.exit("inactive")
        print("active")


def main(program: str, words: list[str]) -> None:
    if program == "journalctl":
        # -u UNIT -o cat
        print((RUNNING / f"{words[words.index('-u') + 1]}.log").read_text(), end="")
        return
    names = [word for word in words[1:] if not word.startswith("-")]
    if words[0] == "kill":
        options = [word.removeprefix("--signal=") for word in words if word.startswith("--signal=")]
        for name in names:
            Unit(name).kill(signal.Signals[f"SIG{options[-1] if options else 'TERM'}"])
        return
    if words[0] == "daemon-reload":
        return
    if words[0] in ("enable", "disable") and "--now" not in words:
        sys.exit(f"this stand-in has no boot: {words[0]} --now")
    verbs = {"enable": Unit.start, "disable": Unit.stop, "start": Unit.start, "stop": Unit.stop}
    verbs |= {"restart": Unit.restart}
    verbs |= {"reload": Unit.reload, "is-active": Unit.is_active}
    for name in names:
        verbs[words[0]](Unit(name))


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        main(Path(sys.argv[0]).name, sys.argv[1:])
