// An offline verifier in JavaScript: checks a proof with the log of its issuer and no service, and prints the verdict.
//
//     node verify.mjs proof.json issuer.jsonl age gte 18 https://shop.example 'the challenge that I gave' did:ids:…
//
// Proof and log may come from anywhere. Ends with 0 if the proof is valid, else with 1 and the checks that failed.
import { readFile } from "node:fs/promises";
import { verify } from "identity-service-client";

const [proofFile, logFile, attributeName, type, value, domain, challenge, issuerDid] = process.argv.slice(2);
try {
  const [proof, log] = await Promise.all([readFile(proofFile, "utf8"), readFile(logFile, "utf8")]);
  const expect = { predicate: { attributeName, type, value: JSON.parse(value) }, domain, challenge, issuerDid };
  const found = await verify(JSON.parse(proof), { expect, logs: [log] });
  const failed = found.checks.filter(({ ok }) => ok !== true).map(({ check, code }) => `${check} ${code}`);
  console.log(found.verdict, found.issuerDid, ...failed, ...found.missing);
  process.exitCode = found.verdict === "valid" ? 0 : 1;
} catch (error) {
  console.error("refused:", error.message);
  process.exitCode = 1;
}
