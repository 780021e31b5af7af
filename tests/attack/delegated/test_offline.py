"""A proof out of an HTTP answer convinces a program that has nothing but its JSON and the issuer's log, and no network."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.attack.delegated.scene import Json, People, Scene

PROGRAM = Path(__file__).parents[3] / "plugins" / "prover_bbs" / "examples" / "offline_verifier.py"
SHOP, CHALLENGE = "https://shop.example", "the challenge of the shop"
# Runs the program where any use of a socket, and any room of the service above the use cases, is an error.
ALONE = """
import runpy, sys
def refuse(event, arguments):
    if event.startswith("socket."):
        raise RuntimeError(f"it wants the network: {event}")
sys.addaudithook(refuse)
sys.argv = sys.argv[1:]
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
finally:
    rooms = {name.split(".")[1] for name in sys.modules if name.startswith("identity_core.")}
    if rooms & {"api", "bootstrap", "store", "throttle", "cli", "client", "database"}:
        raise RuntimeError(f"it imports {sorted(rooms)}")
"""


class Papers:
    """What the verifier has been sent, as files."""

    def __init__(self, folder: Path, scene: Scene) -> None:
        answer = scene.ask(scene.body(challenge=CHALLENGE, domain=SHOP))
        assert answer.status == 201, answer.body
        self.answer: Json = answer.json
        self.folder = folder
        (folder / "issuer.jsonl").write_bytes(scene.people.ivo.log())
        (folder / "other.jsonl").write_bytes(scene.people.mallory.log())

    def words(
        self,
        *asked: str,
        proof: Json | None = None,
        log: str = "issuer",
        audience: str = SHOP,
        challenge: str = CHALLENGE,
    ) -> list[str]:
        """Write the answer to its file and return the arguments of the program."""
        (self.folder / "answer.json").write_text(json.dumps(self.answer if proof is None else proof))
        words = ["answer.json", f"{log}.jsonl", *(asked or ("age", "gte", "18"))]
        return [*words, "--audience", audience, "--challenge", challenge]

    def check(self, *asked: str, proof: Json | None = None) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-I", "-c", ALONE, str(PROGRAM), *self.words(*asked, proof=proof)]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False, timeout=300)


@pytest.fixture
def papers(tmp_path: Path, scene: Scene) -> Papers:
    """A proof of the suite that is issued where none is named."""
    return Papers(tmp_path, scene)


@pytest.fixture
def run_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[list[str]], tuple[object, str]]:
    """Run the program in this process, because a start takes half a second; return its status and what it wrote to standard error."""
    monkeypatch.chdir(tmp_path)

    def run(words: list[str]) -> tuple[object, str]:
        monkeypatch.setattr(sys, "argv", [str(PROGRAM), *words])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(PROGRAM), run_name="__main__")
        return ended.value.code, capsys.readouterr().err

    return run


def test_from_the_json_alone(papers: Papers, scene: Scene) -> None:
    done = papers.check()
    valid, unchecked = done.stdout.splitlines()
    assert (done.returncode, valid) == (0, f"valid: age gte 18, issuer {scene.people.ivo.did}"), done.stderr
    assert unchecked.startswith("unchecked: ")
    never = {"holder", "credentialValidity", "credentialStatus", "revocation"}
    assert never <= set(unchecked.removeprefix("unchecked: ").split(", "))
    assert papers.check(proof=papers.answer["proof"]).returncode == 0
    # The proof itself says three of them, and a verifier who asks for that has them.
    required = papers.check("age", "gte", "18", "--require")
    assert required.returncode == 0, required.stderr
    assert never & set(required.stdout.splitlines()[1].removeprefix("unchecked: ").split(", ")) == {"revocation"}


def test_proof_of_suite_1_does_not_say_what_verifier_may_require(tmp_path: Path, people: People) -> None:
    papers = Papers(tmp_path, Scene.create(people, suite=1))
    done = papers.check()
    assert done.returncode == 0, done.stderr
    assert papers.check("age", "gte", "18", "--require").returncode == 1


def test_false_statement_is_refused(papers: Papers, run_here: Callable[[list[str]], tuple[object, str]]) -> None:
    proof = papers.answer["proof"]
    text = proof["proof"]
    edited = proof | {"proof": text[:900] + ("A" if text[900] != "A" else "B") + text[901:]}
    signals = proof | {"publicSignals": [*proof["publicSignals"][:5], "21", *proof["publicSignals"][6:]]}
    assert run_here(papers.words()) == (0, "")
    changes: list[dict[str, Any]] = [
        {"audience": "https://bank.example"},
        {"challenge": "the challenge of a bank"},
        {"log": "other"},
        {"proof": edited},
        {"proof": signals},
        {"proof": {"proof": "x"}},
    ]
    for words in (("age", "gte", "21"), ("income", "gte", "18")):
        assert_refused(*run_here(papers.words(*words)))
    for change in changes:
        assert_refused(*run_here(papers.words(**change)))


def assert_refused(status: object, errors: str) -> None:
    assert status == 1
    assert errors.startswith("not valid: ")


@pytest.mark.parametrize("age", ["inf", "-inf", "nan", "1e300", "-1", "soon"])
def test_age_that_is_no_number_of_seconds_is_refused(
    run_here: Callable[[list[str]], tuple[object, str]], age: str
) -> None:
    words = ["answer.json", "log.jsonl", "age", "gte", "18", "--audience", SHOP, "--challenge", CHALLENGE]
    status, errors = run_here([*words, f"--max-age={age}"])
    assert status == 2
    assert f"argument --max-age: '{age}' is not a whole number of seconds: give one such as 300" in errors
