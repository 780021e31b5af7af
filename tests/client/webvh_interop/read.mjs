// Standard input: {"did", "host", "url", "logs": {name: [line]}}. Fetches the DID over HTTP from the service at `url`, which stands in for
// `host`, and reads each log as it is. Standard output: {"asked": [URL], "found", "logs": {name: result}}, a result being
// {"doc", "versionId", "deactivated"} or {"error"}.
import { webcrypto } from "node:crypto";
import { text } from "node:stream/consumers";
import { resolveDID, resolveDIDFromLog } from "didwebvh-ts";

const verifier = {
  async verify(signature, message, publicKey) {
    const key = await webcrypto.subtle.importKey("raw", publicKey, { name: "Ed25519" }, false, ["verify"]);
    return webcrypto.subtle.verify("Ed25519", key, signature, message);
  },
};

const { did, host, url, logs } = JSON.parse(await text(process.stdin));
const asked = [];
const fetchThere = globalThis.fetch;
globalThis.fetch = (place, ...rest) => {
  asked.push(String(place));
  return fetchThere(String(place).replace(`https://${host}`, url), ...rest);
};

async function result(reading) {
  try {
    const { doc, meta } = await reading();
    if (meta?.error) return { error: String(meta.error) };
    return { doc, versionId: meta.versionId, deactivated: meta.deactivated };
  } catch (error) {
    return { error: String(error) };
  }
}

const found = await result(() => resolveDID(did, { verifier }));
const read = {};
for (const [name, lines] of Object.entries(logs)) {
  const log = lines.map((line) => JSON.parse(line));
  read[name] = await result(() => resolveDIDFromLog(log, { verifier }));
}
process.stdout.write(JSON.stringify({ asked, found, logs: read }));
