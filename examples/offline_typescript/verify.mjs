// An offline verifier in JavaScript: checks the log of a DID without any service, and prints the keys of its issuer.
//
//     node verify.mjs issuer.jsonl did:ids:…
//
// The log may come from anywhere. Ends with 0 if it is genuine, else with 1 and the reason. A proof itself is verified by
// `examples/run.py offline_python`: this client has no pairing of BLS12-381.
import { readFile } from "node:fs/promises";
import { verifyLog } from "identity-service-client";

const [file, did] = process.argv.slice(2);
try {
  // Entries of the future are refused; five minutes allow for clocks that differ.
  const log = await verifyLog(await readFile(file, "utf8"), { did, now: new Date(Date.now() + 300_000) });
  if (log.deactivated) throw new Error("the DID is deactivated");
  console.log("genuine", log.did, log.versionId, ...(log.didDocument.assertionMethod ?? []));
} catch (error) {
  console.error("refused:", error.message);
  process.exitCode = 1;
}
