// Standard input: {"url", "method", "did", "keyId", "message", "signature", "key"}. Looks up `did` and its key as an application of
// Digital Bazaar's did-io does whose driver asks the service at `url`, and `key` by the driver of did:key, which asks no one.
// Standard output: {"document", "method", "found", "verified", "forged", "local"}.
import { text } from "node:stream/consumers";
import { CachedResolver, findVerificationMethod } from "@digitalbazaar/did-io";
import { driver as keyDriver } from "@digitalbazaar/did-method-key";
import { Ed25519VerificationKey2020 } from "@digitalbazaar/ed25519-verification-key-2020";

const asked = JSON.parse(await text(process.stdin));
const octets = (hex) => new Uint8Array(Buffer.from(hex, "hex"));
const headers = { accept: "application/did+ld+json" };
const look = async (identifier) => {
  const answer = await fetch(asked.url + encodeURIComponent(identifier), { headers });
  if (!answer.ok) throw new Error(String(answer.status));
  return answer.json();
};

const resolver = new CachedResolver();
resolver.use({ method: asked.method, get: ({ did, url }) => look(url ?? did) });
const document = await resolver.get({ did: asked.did });
const method = await resolver.get({ did: asked.keyId });
const found = findVerificationMethod({ doc: document, methodId: asked.keyId });
const key = await Ed25519VerificationKey2020.from(method);
const { verify } = key.verifier();
const verified = await verify({ data: octets(asked.message), signature: octets(asked.signature) });
const forged = await verify({ data: octets(asked.message + "00"), signature: octets(asked.signature) });

const keys = keyDriver();
keys.use({ multibaseMultikeyHeader: "z6Mk", fromMultibase: Ed25519VerificationKey2020.from });
const own = new CachedResolver();
own.use(keys);
const local = await own.get({ did: asked.key });
process.stdout.write(JSON.stringify({ document, method, found, verified, forged, local }));
