// Five calls with the client that openapi-generator makes as typescript-fetch, as it is: node five_calls.js URL API_KEY.
import { createPrivateKey, sign } from "node:crypto";
import { AuthApi, Configuration, DidsApi, ServiceApi } from "./client";

const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const PKCS8_OF_ED25519 = Buffer.from("302e020100300506032b657004220420", "hex");

function signChallenge(did: string, secret: string, challenge: string): string {
  let number = 0n;
  for (const digit of secret.slice(1)) number = number * 58n + BigInt(ALPHABET.indexOf(digit));
  const seed = Buffer.from(number.toString(16).padStart(72, "0"), "hex").subarray(-32);
  const key = createPrivateKey({ key: Buffer.concat([PKCS8_OF_ED25519, seed]), format: "der", type: "pkcs8" });
  const signature = sign(null, Buffer.from(challenge), key).toString("base64url");
  return Buffer.from(`${did}.${signature}`).toString("base64");
}

async function makeCalls(url: string, apiKey: string): Promise<void> {
  // Not `apiKey`: the generated code would send it in each header that a scheme of the operation names.
  const connect = (header: string, text: string) =>
    new Configuration({ basePath: `${url}/api/v1`, headers: { [header]: text } });
  const operator = connect("X-API-Key", apiKey);
  const dids = new DidsApi(operator);
  const created = await dids.createDid({ createDidRequest: { method: "ids", keyType: "Ed25519" } });
  const did = created.did;
  console.log("created", did);
  console.log("resolved", (await dids.resolveDid({ did })).didDocument?.id === did ? "True" : "False");
  const { challenge } = await new AuthApi(operator).getDidAuthChallenge({ did });
  const signed = signChallenge(did, created.keys?.authentication?.privateKey ?? "", challenge);
  const holder = new DidsApi(connect("Authorization", `DIDAuth ${signed}`));
  const service = { id: "agent", type: "AgentService", serviceEndpoint: "https://agent.example/" };
  const updated = await holder.updateDid({ did, updateDidRequest: { operation: "addService", service } });
  console.log("updated", updated.versionId);
  console.log("history", (await dids.listDidHistory({ did })).items.length);
  console.log("health", (await new ServiceApi(operator).getHealth()).status);
}

void makeCalls(process.argv[2] ?? "", process.argv[3] ?? "");
