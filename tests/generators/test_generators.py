"""Generators of other projects make a client of the document with default options; it compiles where its compiler is here."""

from __future__ import annotations

import compileall
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from openapi.clients import DOCUMENT
from tests.architecture.sizes import ROOT
from tests.servers import local_server

LANGUAGES = ("python", "go", "java", "typescript-fetch", "typescript-axios", "php", "ruby", "kotlin", "rust")
NODE_GENERATORS = {
    "@hey-api/openapi-ts": (
        "openapi-ts",
        "-i",
        str(DOCUMENT),
        "-o",
        "out",
        "-p",
        "@hey-api/typescript",
        "@hey-api/sdk",
    ),
    "swagger-typescript-api": ("swagger-typescript-api", "generate", "-p", str(DOCUMENT), "-o", "out", "-n", "api.ts"),
    "openapi-zod-client": ("openapi-zod-client", str(DOCUMENT), "-o", "out/zod.ts"),
    "orval@7": ("orval", "--input", str(DOCUMENT), "--output", "out/api.ts", "--client", "fetch"),
}

FIVE_CALLS = ["created DID", "resolved True", "updated 2", "history 2", "health ok"]

pytestmark = pytest.mark.nightly


def program(name: str) -> str:
    """Return the path of a program; skip without it, fail in CI."""
    found = shutil.which(name, path=os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])))
    if found is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{name} is not installed")
    return found


def run(*words: str | Path, cwd: Path, **environment: str) -> str:
    """Return what the program prints."""
    done = subprocess.run(words, cwd=cwd, env=os.environ | environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout.strip()


def generate(language: str, folder: Path) -> None:
    run(program("openapi-generator-cli"), "generate", "-i", DOCUMENT, "-g", language, "-o", folder, cwd=folder)


@pytest.mark.parametrize("language", LANGUAGES)
def test_openapi_generator_makes_a_client(language: str, tmp_path: Path) -> None:
    generate(language, tmp_path)
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) > 100


def test_generated_go_compiles(tmp_path: Path) -> None:
    """It did not while a pattern had a byte order mark."""
    go = program("go")
    generate("go", tmp_path)
    run(go, "mod", "tidy", cwd=tmp_path)
    run(go, "build", "./...", cwd=tmp_path)


def test_generated_python_makes_the_five_calls(tmp_path: Path) -> None:
    """It needs python-dateutil, which ``tox -e generators`` installs."""
    generate("python", tmp_path)
    assert compileall.compile_dir(tmp_path, quiet=1)
    with local_server() as server:
        calls = (sys.executable, Path(__file__).with_name("five_calls.py"), server.url, server.api_key)
        printed = run(*calls, cwd=tmp_path, PYTHONPATH=os.pathsep.join((str(tmp_path), str(ROOT))))
    assert re.sub(r"did:\S+", "DID", printed).split("\n") == FIVE_CALLS


def test_datamodel_code_generator_makes_importable_models(tmp_path: Path) -> None:
    words = ("--input", DOCUMENT, "--input-file-type", "openapi", "--output", tmp_path / "models.py")
    run(program("datamodel-codegen"), *words, cwd=tmp_path)
    run(sys.executable, "-c", "import models; models.StatusGapsManifest", cwd=tmp_path)


def test_generated_typescript_makes_the_five_calls(tmp_path: Path) -> None:
    """The client compiles in strict mode and needs no dependency."""
    npm, node = program("npm"), program("node")
    (tmp_path / "client").mkdir()
    generate("typescript-fetch", tmp_path / "client")
    run(npm, "install", "--no-audit", "--no-fund", "--prefix", tmp_path, "typescript@5", "@types/node@20", cwd=tmp_path)
    shutil.copy(Path(__file__).with_name("five_calls.ts"), tmp_path)
    options = ("--strict", "--module", "nodenext", "--moduleResolution", "nodenext", "--target", "es2022")
    tsc = tmp_path / "node_modules" / ".bin" / "tsc"
    run(tsc, *options, "--types", "node", "--outDir", "dist", "five_calls.ts", cwd=tmp_path)
    with local_server() as server:
        printed = run(node, tmp_path / "dist" / "five_calls.js", server.url, server.api_key, cwd=tmp_path)
    assert re.sub(r"did:\S+", "DID", printed).split("\n") == FIVE_CALLS


@pytest.mark.parametrize("package", NODE_GENERATORS)
def test_node_generators_make_a_client(package: str, tmp_path: Path) -> None:
    name, *arguments = NODE_GENERATORS[package]
    run(program("npm"), "install", "--no-audit", "--no-fund", "--prefix", tmp_path, package, cwd=tmp_path)
    (tmp_path / "out").mkdir()
    run(tmp_path / "node_modules" / ".bin" / name, *arguments, cwd=tmp_path)
    assert list((tmp_path / "out").rglob("*.ts"))
