"""Verifying a proof of suite 2 in headless Chromium with the verifier of the TypeScript client: one credential, valid and not revoked, an
interval of 64 bits, the holder's consent.

`python -m tools.bench.bench_browser_verify`; upper limit 150 ms. The first verification of a page makes the generators and compiles the
code; it is reported beside the others. The size of the file is its gzip, upper limit 45 kB.
"""

from __future__ import annotations

import gzip
import json
import shutil
import statistics
from typing import Any, Final
from urllib.parse import urlsplit

from playwright.sync_api import sync_playwright

from identity_codec import multikey
from openapi.clients import PAGE_MODULES
from tests.presenting import AUDIENCE, NONCE, NOW, target

BUNDLE: Final = PAGE_MODULES / "proofs" / "verify.js"
ORIGIN: Final = "http://localhost"
ROUNDS: Final = 30
FLAGS: Final = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage")
MEASURE: Final = """async ([proof, options, rounds, isPrepared]) => {
  const started = performance.now();
  const { prepare, verify } = await import("/proofs/verify.js");
  const loaded = performance.now() - started, taken = [];
  if (isPrepared) prepare(96);
  for (let round = 0; round < rounds; round++) {
    const begin = performance.now();
    const { verdict } = await verify(proof, { ...options, now: new Date(options.now) });
    taken.push(performance.now() - begin);
    if (verdict !== "valid") throw new Error(verdict);
  }
  return { loaded, taken };
}"""


def question() -> tuple[str, dict[str, Any]]:
    """Return a proof, and what its verifier expects and has."""
    scene = target()
    (method,) = scene.keys
    did = method.partition("#")[0]
    key = multikey.encode_public(multikey.BLS12381G2, scene.keys[method])
    own = {"id": method, "type": "Multikey", "controller": did, "publicKeyMultibase": key}
    expect = {
        "predicates": [one.json for one in scene.question.credentials[0].predicates],
        "challenge": NONCE.decode(),
        "domain": AUDIENCE,
        "issuerDid": did,
    }
    document = {"id": did, "verificationMethod": [own], "assertionMethod": [method]}
    return scene.prove(), {"expect": expect, "documents": [document], "now": int(NOW.timestamp() * 1_000)}


def measured(*, is_prepared: bool) -> dict[str, Any]:
    """Return milliseconds in a new page: loading the file, and each verification."""
    proof, options = question()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=[*FLAGS])
        page = browser.new_page()

        def fulfil(route: Any) -> None:
            path = PAGE_MODULES / urlsplit(route.request.url).path.removeprefix("/")
            if path.suffix == ".js":
                route.fulfill(body=path.read_text("utf-8"), content_type="text/javascript")
            else:
                route.fulfill(body="<!doctype html><title>verifier</title>", content_type="text/html")

        page.route(f"{ORIGIN}/**", fulfil)
        page.goto(f"{ORIGIN}/")
        found: dict[str, Any] = page.evaluate(MEASURE, [proof, options, ROUNDS, is_prepared])
        browser.close()
    return found


def main() -> None:
    """Print the figures."""
    found, prepared = measured(is_prepared=False), measured(is_prepared=True)
    first, *later = found["taken"]
    print(
        json.dumps(
            {"gzip_bytes": len(gzip.compress(BUNDLE.read_bytes(), 9, mtime=0)), "load_ms": round(found["loaded"])}
        )
    )
    print(f"the first verification of a page: {first:.0f} ms; after prepare(): {prepared['taken'][0]:.0f} ms")
    print(
        f"each further one: median {statistics.median(later):.0f} ms, largest {max(later):.0f} ms (upper limit 150 ms)"
    )


if __name__ == "__main__":
    main()
