"""Firefox, driven by the protocol of its own remote control (Marionette, WebDriver commands), as far as the tests of pages use it."""

from __future__ import annotations

import itertools
import json
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
START_SECONDS = 90
WAIT_SECONDS = 60


class Firefox:
    """A headless Firefox with a new profile, until it is closed."""

    def __init__(self, folder: Path) -> None:
        program = shutil.which("firefox-esr") or shutil.which("firefox")
        if program is None:
            raise FileNotFoundError("firefox-esr is not installed")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        (folder / "user.js").write_text(f'user_pref("marionette.port", {port});\n')
        command = [program, "--headless", "--marionette", "--no-remote", "--profile", str(folder)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._ids = itertools.count(1)
        self._socket = self._connect(port)
        self._read()
        self.call("NewSession", capabilities={"alwaysMatch": {"acceptInsecureCerts": False}})
        self.call("SetTimeouts", implicit=0, pageLoad=WAIT_SECONDS * 1000, script=WAIT_SECONDS * 1000)

    def _connect(self, port: int) -> socket.socket:
        ends = time.monotonic() + START_SECONDS
        while True:
            try:
                return socket.create_connection(("127.0.0.1", port), timeout=WAIT_SECONDS * 2)
            except ConnectionRefusedError:
                if time.monotonic() > ends or self._process.poll() is not None:
                    raise
                time.sleep(0.2)

    def _read(self) -> Any:
        length, data = b"", b""
        while not length.endswith(b":"):
            length += self._receive(1)
        while len(data) < int(length[:-1]):
            data += self._receive(int(length[:-1]) - len(data))
        return json.loads(data)

    def _receive(self, most: int) -> bytes:
        data = self._socket.recv(most)
        if not data:
            raise ConnectionError("Firefox closed the connection")
        return data

    def call(self, command: str, **parameters: Any) -> Any:
        """Return the value of a WebDriver command. Raises ``RuntimeError``: for its error."""
        message = json.dumps([0, next(self._ids), f"WebDriver:{command}", parameters]).encode()
        self._socket.sendall(b"%d:%s" % (len(message), message))
        _, _, error, result = self._read()
        if error:
            raise RuntimeError(f"{command}: {error['error']}: {error['message']}")
        return result.get("value", result) if isinstance(result, dict) else result

    def goto(self, url: str) -> None:
        self.call("Navigate", url=url)

    def url(self) -> str:
        return str(self.call("GetCurrentURL"))

    def run(self, script: str) -> Any:
        return self.call("ExecuteScript", script=script, args=[])

    def find(self, selector: str) -> str:
        """Return an element that is shown, and wait for it."""
        self.wait(
            f"const one = document.querySelector({json.dumps(selector)}); return one !== null && one.checkVisibility()"
        )
        return str(self.call("FindElement", using="css selector", value=selector)[ELEMENT])

    def click(self, selector: str) -> None:
        self.call("ElementClick", id=self.find(selector))

    def type(self, selector: str, text: str) -> None:
        """Type a text, or choose a file by its path."""
        self.call("ElementSendKeys", id=self.find(selector), text=text)

    def wait(self, script: str) -> None:
        """Wait until the script returns true. Raises ``TimeoutError``."""
        ends = time.monotonic() + WAIT_SECONDS
        while not self.run(script):
            if time.monotonic() > ends:
                raise TimeoutError(f"{self.url()}: {script}")
            time.sleep(0.1)

    def wait_for_text(self, selector: str, text: str) -> None:
        self.wait(
            f"const one = document.querySelector({json.dumps(selector)}); "
            f"return one !== null && one.checkVisibility() && one.textContent.includes({json.dumps(text)})"
        )

    def close(self) -> None:
        self._socket.close()
        self._process.terminate()
        self._process.wait(timeout=30)
