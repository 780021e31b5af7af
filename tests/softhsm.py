"""Tokens of a private SoftHSM for tests: their own folder, as many tokens as tests ask for, gone afterwards.

Needs SoftHSM 2 (Debian: ``softhsm2``). Where it is absent the tests skip and say so; in CI they fail. The library reads
where its tokens are from ``SOFTHSM2_CONF`` when a process first uses it, so there is one folder for the whole session.

Use: ``from tests.softhsm import softhsm`` in a conftest; in several test modules it would be several folders.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

PIN = "never-shown-4711"
_PLACES = ("/usr/lib/softhsm/libsofthsm2.so", "/usr/lib/*/softhsm/libsofthsm2.so", "/usr/lib*/pkcs11/libsofthsm2.so")


def library() -> Path | None:
    """The PKCS#11 library of SoftHSM."""
    return next((found for place in _PLACES for found in Path("/").glob(place.lstrip("/"))), None)


@dataclass
class SoftHsm:
    """A folder of tokens. ``take_out`` and ``put_back`` are what happens to a token that is a thing."""

    folder: Path
    module: Path
    program: str
    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    places: dict[str, Path] = field(default_factory=dict)

    @classmethod
    def create(cls, folder: Path) -> SoftHsm:
        """An empty one. Raises ``FileNotFoundError`` where SoftHSM is not installed."""
        module, program = library(), shutil.which("softhsm2-util")
        if module is None or program is None:
            raise FileNotFoundError("SoftHSM is not installed (Debian: apt-get install softhsm2)")
        softhsm = cls(folder, module, program)
        (folder / "away").mkdir()
        for place, configuration in (("tokens", softhsm.configuration), ("new", folder / "new.conf")):
            (folder / place).mkdir()
            text = f"directories.tokendir = {folder}/{place}\nobjectstore.backend = file\nlog.level = ERROR\n"
            configuration.write_text(text)
        return softhsm

    @property
    def configuration(self) -> Path:
        return self.folder / "softhsm2.conf"

    def new_token(self, label: str | None = None) -> str:
        """Return the label of a new token; its PIN is ``PIN``. It is made in an empty folder: the program reads every token of its own."""
        label = label or f"token-{next(self.numbers)}"
        subprocess.run(
            [self.program, "--init-token", "--free", "--label", label, "--so-pin", "so-pin-1", "--pin", PIN],
            env={**os.environ, "SOFTHSM2_CONF": str(self.folder / "new.conf")},
            check=True,
            capture_output=True,
            timeout=60,
        )
        (made,) = (self.folder / "new").iterdir()
        self.places[label] = made.rename(self.folder / "tokens" / made.name)
        return label

    def take_out(self, label: str) -> None:
        self.places[label].rename(self.folder / "away" / label)

    def put_back(self, label: str) -> None:
        (self.folder / "away" / label).rename(self.places[label])


@pytest.fixture(scope="session")
def softhsm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SoftHsm]:
    """One SoftHSM for the session, which this process and those that it starts use."""
    try:
        made = SoftHsm.create(tmp_path_factory.mktemp("softhsm"))
    except FileNotFoundError as error:
        if os.environ.get("CI"):
            pytest.fail(str(error))
        pytest.skip(str(error))
    before = os.environ.get("SOFTHSM2_CONF")
    os.environ["SOFTHSM2_CONF"] = str(made.configuration)
    yield made
    if before is None:
        del os.environ["SOFTHSM2_CONF"]
    else:
        os.environ["SOFTHSM2_CONF"] = before
