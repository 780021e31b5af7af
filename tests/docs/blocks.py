"""Runner of the examples of the site's pages: a page is one shell session in an empty folder, with a running instance.

- `console`: lines after `$ ` are typed, `> ` continues a line; what follows is printed, where `…` stands for left-out text. A command
  whose output begins with `error:` ends with another status than 0, every other one with 0.
- a `code-block` or a `literalinclude` with a caption is a file of that name, which is there from then on.
- `sh`: shown and not run, because it stays in the foreground or is for another machine.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.servers import Forked

FENCE = re.compile(r"^(`{3,})(.*?)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
CAPTION = re.compile(r"\A:caption: (\S+)\n\n?")
MARK = "\x1e"
# Asks the test process to fork a command: a Python that starts and imports the command line costs ten times as much.
SHIM = """#!{python} -IS
import json, os, socket, sys
order = {{"arguments": sys.argv[1:], "environment": dict(os.environ), "folder": os.getcwd()}}
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as channel:
    channel.connect({address!r})
    socket.send_fds(channel, [json.dumps(order).encode()], [0, 1, 2])
    sys.exit(int(channel.recv(16)))
"""


@dataclass(frozen=True, slots=True)
class Step:
    """A command with what it prints, or a file (``command`` is empty) with its name and content."""

    line: int
    command: str
    prints: str
    file: str = ""


def fences(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, information string and content of each fenced block."""
    for found in FENCE.finditer(text):
        yield text.count("\n", 0, found.start()) + 2, found[2].strip(), found[3]


def steps(text: str, at: Path = Path()) -> list[Step]:
    """What a page in the folder ``at`` does, in its order."""
    found: list[Step] = []
    for line, language, content in fences(text):
        if language == "console":
            found += _typed(line, content)
        elif language.startswith(("{code-block}", "{literalinclude}")):
            caption = CAPTION.match(content)
            if caption is None:
                raise ValueError(f"line {line}: a code-block has a caption, the name of its file")
            source = language.partition("{literalinclude}")[2].strip()
            file = (at / source).read_text(encoding="utf-8") if source else content[caption.end() :]
            found.append(Step(line, "", file, caption[1]))
    return found


def _typed(line: int, content: str) -> Iterator[Step]:
    begins, command, printed = line, "", ""
    for offset, text in enumerate(content.splitlines()):
        if text.startswith("$ "):
            if command:
                yield Step(begins, command, printed)
            begins, command, printed = line + offset, text[2:], ""
        elif text.startswith("> ") and command and not printed:
            command += f"\n{text[2:]}"
        elif command:
            printed += f"{text}\n"
        else:
            raise ValueError(f"line {line + offset}: a console block begins with a command")
    if command:
        yield Step(begins, command, printed)


def fits(printed: str, expected: str) -> bool:
    """Return whether it printed what the page shows; a page that shows nothing leaves it open, and columns may be wider."""
    pattern = re.sub(r"(\\ ){2,}", " {2,}", re.escape(expected.strip())).replace("…", ".*")
    return not expected.strip() or re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None


def run(page: Sequence[Step], folder: Path, environment: Mapping[str, str]) -> list[str]:
    """Runs a page in ``folder``. What went otherwise than the page says, with its line."""
    script = ["exec 2>&1 </dev/null"]
    for number, step in enumerate(page):
        if step.file:
            (folder / f".{number}").write_text(step.prints, encoding="utf-8")
            script.append(f"cp .{number} '{step.file}'")
        else:
            script.append(step.command)
        script.append(f"printf '{MARK}%s{MARK}' $?")
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)],
        cwd=folder,
        env=dict(environment),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    parts = done.stdout.split(MARK)
    faults = []
    for step, printed, status in zip(page, parts[::2], parts[1::2], strict=False):
        is_refused = step.prints.startswith("error:") and not step.file
        if (status != "0") is not is_refused or not (step.file or fits(printed, step.prints)):
            faults.append(f"line {step.line}: {step.command}\nended with {status} and printed:\n{printed}")
    if len(parts) // 2 != len(page):
        faults.append(f"the session ended before its last command:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return faults


class ForkedCommands:
    """A folder with an ``identity`` that this process forks. Close it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        address = str(folder / "commands")
        self._listening.bind(address)
        self._listening.listen(16)
        program = folder / "identity"
        program.write_text(SHIM.format(python=sys.executable, address=address))
        program.chmod(0o755)
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _serve(self) -> None:
        while True:
            try:
                channel, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._run, args=(channel,), daemon=True).start()

    def _run(self, channel: socket.socket) -> None:
        with channel:
            message, descriptors, _, _ = socket.recv_fds(channel, 1 << 18, 3)
            process = Forked(json.loads(message) | {"session": False}, descriptors)
            for descriptor in descriptors:
                os.close(descriptor)
            channel.send(str(process.wait()).encode())
