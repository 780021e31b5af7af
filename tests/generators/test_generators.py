"""Generators of other projects make a client of the document with default options; it compiles where its compiler is here."""

from __future__ import annotations

import compileall
import json
import os
import re
import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

from openapi.clients import DOCUMENT
from tests.architecture.sizes import ROOT
from tests.servers import local_server

HERE = Path(__file__).parent
# Those without a flow below.
LANGUAGES = ("typescript-axios", "kotlin", "rust", "swift6", "csharp", "dart")
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
# The jar of the generator has Jackson with its module for times; Debian has the annotations.
JAVA_ANNOTATIONS = ("/usr/share/java/jsr305.jar", "/usr/share/java/geronimo-annotation-1.3-spec.jar")
# Warnings about code of the generator itself, and not about what it makes of the document.
JAVA_WARNINGS = ("-Xlint:all,-processing,-serial,-deprecation", "-Werror")

pytestmark = pytest.mark.nightly


def missing(what: str) -> None:
    """Skip; fail in CI."""
    (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{what} is not installed")


def program(name: str) -> str:
    """Return the path of a program; skip without it, fail in CI."""
    found = shutil.which(name, path=os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])))
    if found is None:
        missing(name)
    return str(found)


def run(*words: str | Path, cwd: Path, **environment: str) -> str:
    """Return what the program prints."""
    done = subprocess.run(words, cwd=cwd, env=os.environ | environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout.strip()


def generate(language: str, folder: Path, *options: str) -> None:
    words = (program("openapi-generator-cli"), "generate", "-i", DOCUMENT, "-g", language, "-o", folder)
    run(*words, *options, cwd=folder.parent)


def assert_makes_five_calls(*words: str | Path, cwd: Path, **environment: str) -> None:
    """Run a program with the URL of a server and its API key as the last words."""
    with local_server() as server:
        printed = run(*words, server.url, server.api_key, cwd=cwd, **environment)
    assert re.sub(r"did:\S+", "DID", printed).split("\n") == FIVE_CALLS


@pytest.mark.parametrize("language", LANGUAGES)
def test_openapi_generator_makes_a_client(language: str, tmp_path: Path) -> None:
    generate(language, tmp_path)
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) > 100


def test_generated_go_makes_the_five_calls(tmp_path: Path) -> None:
    """The module compiles with Go 1.19 too. Its own tests need a library, so ``go mod tidy`` is not run."""
    go = program("go")
    generate("go", tmp_path)
    (tmp_path / "five_calls").mkdir()
    shutil.copy(HERE / "five_calls.go", tmp_path / "five_calls" / "main.go")
    offline = {"GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOTOOLCHAIN": "local"}
    run(go, "vet", ".", "./five_calls", cwd=tmp_path, **offline)
    run(go, "build", "-o", "calls", "./five_calls", cwd=tmp_path, **offline)
    assert_makes_five_calls(tmp_path / "calls", cwd=tmp_path)


def test_generated_java_makes_the_five_calls(tmp_path: Path) -> None:
    """The option ``openApiNullable`` is off, because its library is not among Debian's packages."""
    javac, java = program("javac"), program("java")
    jar = Path(str(resources.files("openapi_generator_cli"))) / "openapi-generator.jar"
    paths = (str(jar), *JAVA_ANNOTATIONS, str(tmp_path / "out"))
    for path in paths[:-1]:
        if not Path(path).exists():
            missing(path)
    generate("java", tmp_path, "--library", "native", "--additional-properties", "openApiNullable=false")
    sources = sorted((tmp_path / "src" / "main").rglob("*.java"))
    assert len(sources) > 200
    (tmp_path / "out").mkdir()
    classes = ("-d", "out", "-cp", os.pathsep.join(paths))
    run(javac, *JAVA_WARNINGS, *classes, *sources, HERE / "FiveCalls.java", cwd=tmp_path)
    assert_makes_five_calls(java, "-cp", os.pathsep.join(paths), "FiveCalls", cwd=tmp_path)


def test_generated_php_makes_the_five_calls(tmp_path: Path) -> None:
    """A notice or warning of PHP ends the program."""
    php = program("php")
    if not Path("/usr/share/php/GuzzleHttp/autoload.php").exists():
        missing("php-guzzlehttp-guzzle")
    generate("php", tmp_path)
    words = (php, "-d", "include_path=/usr/share/php", HERE / "five_calls.php", tmp_path)
    assert_makes_five_calls(*words, cwd=tmp_path)


def test_generated_ruby_makes_the_five_calls(tmp_path: Path) -> None:
    ruby = program("ruby")
    if subprocess.run([ruby, "-e", "require 'typhoeus'"], capture_output=True).returncode:
        missing("ruby-typhoeus")
    generate("ruby", tmp_path)
    assert_makes_five_calls(ruby, "-I", "lib", HERE / "five_calls.rb", cwd=tmp_path)


def test_generated_python_makes_the_five_calls(tmp_path: Path) -> None:
    """It needs python-dateutil, which ``tox -e generators`` installs."""
    generate("python", tmp_path)
    assert compileall.compile_dir(tmp_path, quiet=1)
    path = os.pathsep.join((str(tmp_path), str(ROOT)))
    assert_makes_five_calls(sys.executable, HERE / "five_calls.py", cwd=tmp_path, PYTHONPATH=path)


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
    shutil.copy(HERE / "five_calls.ts", tmp_path)
    options = ("--strict", "--module", "nodenext", "--moduleResolution", "nodenext", "--target", "es2022")
    tsc = tmp_path / "node_modules" / ".bin" / "tsc"
    run(tsc, *options, "--types", "node", "--outDir", "dist", "five_calls.ts", cwd=tmp_path)
    assert_makes_five_calls(node, tmp_path / "dist" / "five_calls.js", cwd=tmp_path)


@pytest.mark.parametrize("name", ["identity_core/api/identity.json", "openapi/reference.json"])
def test_redocly_finds_nothing(name: str, tmp_path: Path) -> None:
    """Its strict set. Spectral runs in ``tests/client``."""
    options = ("--no-audit", "--no-fund", "--ignore-scripts", "--prefix", tmp_path)
    run(program("npm"), "install", *options, "@redocly/cli@2", cwd=tmp_path)
    redocly = tmp_path / "node_modules" / ".bin" / "redocly"
    (tmp_path / "redocly.yaml").write_text("extends: [recommended-strict]\n")
    printed = run(redocly, "lint", ROOT / name, "--format", "json", cwd=tmp_path)
    assert json.loads(printed[: printed.rindex("}") + 1])["totals"] == {"errors": 0, "warnings": 0, "ignored": 0}


def test_kin_openapi_finds_no_contradiction(tmp_path: Path) -> None:
    """Requests and answers of all stories of the specification pass a proxy that checks them by the document."""
    go, identity = program("go"), program("identity")
    if not Path("/usr/share/gocode/src/github.com/getkin/kin-openapi").exists():
        missing("golang-github-getkin-kin-openapi-dev")
    debian = {"GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "GOTOOLCHAIN": "local"}
    run(go, "build", "-o", tmp_path / "proxy", HERE / "validating_proxy.go", cwd=tmp_path, **debian)
    with (
        local_server() as server,
        subprocess.Popen(
            [tmp_path / "proxy", ROOT / "openapi" / "reference.json", server.url], stdout=subprocess.PIPE, text=True
        ) as proxy,
    ):
        try:
            assert proxy.stdout is not None
            url = proxy.stdout.readline().strip()
            run(identity, "conformance", url, cwd=tmp_path, IDENTITY_API_KEY=server.api_key)
        finally:
            proxy.terminate()
        printed = proxy.stdout.read()
    assert re.findall("error: .*", printed) == []
    assert len(printed.splitlines()) > 250


@pytest.mark.parametrize("package", NODE_GENERATORS)
def test_node_generators_make_a_client(package: str, tmp_path: Path) -> None:
    name, *arguments = NODE_GENERATORS[package]
    # Version 7 of typescript has no compiler interface, which @hey-api/openapi-ts calls.
    options = ("--no-audit", "--no-fund", "--prefix", tmp_path)
    run(program("npm"), "install", *options, package, "typescript@5", cwd=tmp_path)
    (tmp_path / "out").mkdir()
    run(tmp_path / "node_modules" / ".bin" / name, *arguments, cwd=tmp_path)
    assert list((tmp_path / "out").rglob("*.ts"))
