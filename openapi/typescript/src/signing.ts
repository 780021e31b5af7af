// What a controller signs: challenges of the service and capability tokens, and nothing else.

import { base58, base64url, byCodePoints, canonicalize, decimalText, sha256, signing, utf8, type Octets } from "./codec.js";
import type { components } from "./document.js";
import { isAssigned } from "./unicode14.js";

export type Ibct = components["schemas"]["IBCT"];

/** A DID and what signs for it. `sign` gives the 64 octets of an Ed25519 signature, so that a key of a KMS fits. */
export interface Signer {
  readonly did: string;
  sign(message: Octets): Promise<Octets>;
}

/** What `createDid` answers, and what `identity did create --keys` writes. */
export interface IssuedKeys {
  did: string;
  keys: { [purpose: string]: unknown };
}

const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])$/;

/** Signs with the key that was issued for `purpose`. */
export async function createSigner(issued: IssuedKeys, purpose: "authentication" | "recovery" = "authentication"): Promise<Signer> {
  const key = issued.keys[purpose] as { privateKey?: unknown } | undefined;
  if (typeof key?.privateKey !== "string") throw new TypeError(`no private key for ${purpose} was issued`);
  return { did: issued.did, sign: await signing(key.privateKey) };
}

const CHANGES = ["update", "rotate", "recover", "deactivate"];

/** What a signature is for. `target` is the path below `/api/v1` with the query; without it the challenge must name none. */
export interface Wanted {
  origin: string;
  purpose: string;
  bodyHash?: string;
  target?: string;
}

/** The credentials of an `Authorization` header. Throws for a challenge of another service, for another DID, purpose, target or body, and
 * for one that any change of the DID could be recorded under: without purpose, or for a change without a body. */
export async function signChallenge(signer: Signer, challenge: string, wanted: Wanted) {
  const [label, issued = "", did, purpose, bodyHash, , expiry, ...more] = challenge.split(" ");
  const [origin = "", ...bound] = issued.split("#");
  if (label !== "didauth:v1" || expiry === undefined || more.length > 0) throw new TypeError("not a DIDAuth challenge");
  if (!sameOrigin(origin, wanted.origin)) throw new TypeError(`the challenge is one of ${origin}`);
  // In the log of a DID without strictEvidence such a signature serves for every change.
  if (purpose === "-" || (bodyHash === "-" && CHANGES.includes(String(purpose))))
    throw new TypeError("the challenge is not bound to a purpose and a body: request one with purpose, and for a change of a DID with bodyHash");
  if (did !== signer.did || purpose !== wanted.purpose || bodyHash !== (wanted.bodyHash ?? "-") || bound.join("#") !== (await hashTarget(wanted.target)))
    throw new TypeError("the challenge authorises something else than what was asked for");
  const signature = await signer.sign(utf8(challenge));
  return btoa(`${challenge}.${base64url(signature)}`);
}

/** The hash of the canonical form of a target (getDidAuthChallenge), and nothing without one. */
async function hashTarget(target: string | undefined): Promise<string> {
  if (target === undefined) return "";
  const escape = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
  const encoded = (text: string) => encodeURIComponent(decodeURIComponent(text)).replace(/[!'()*]/g, escape);
  const [path = "", ...rest] = target.replace(/^\/api\/v1/, "").split("?");
  const pairs = rest.join("?").split("&").filter((pair) => pair !== "").map((pair) => {
    const [name = "", ...value] = pair.replaceAll("+", "%20").split("=");
    return `${encoded(name)}=${encoded(value.join("="))}`;
  });
  const query = pairs.sort().join("&");
  return base64url(await sha256(utf8(path.split("/").map(encoded).join("/") + (query === "" ? "" : `?${query}`))));
}

/** The names of this machine are one: no one else listens there. */
function sameOrigin(one: string, other: string): boolean {
  const [first, second] = [new URL(one), new URL(other)];
  for (const url of [first, second]) if (LOOPBACK.test(url.hostname)) url.hostname = "localhost";
  return first.protocol === second.protocol && first.host === second.host;
}

/** The action of a token: that `type` of `attribute` is proved, of `value` where one is given and of any other value otherwise. */
export async function actionOf(attribute: string, type: string, value?: unknown): Promise<string> {
  const plain = (octet: number) => /[A-Za-z0-9_/-]/.test(String.fromCharCode(octet));
  const percent = (octet: number) => `%${octet.toString(16).toUpperCase().padStart(2, "0")}`;
  const written = Array.from(utf8(attribute), (octet) => (plain(octet) ? String.fromCharCode(octet) : percent(octet))).join("");
  return `zkp.prove.${written}.${type}${value === undefined ? "" : `.${await pinOf(value)}`}`;
}

/** A number as the integer that it is, otherwise as its shortest decimal text. */
const exact = (value: unknown): unknown => (typeof value === "number" && !Number.isSafeInteger(value) ? decimalText(value) : value);

/** An integer is its own pin; everything else is pinned by the hash of its canonical form, texts in NFC and sets sorted. */
async function pinOf(given: unknown): Promise<string> {
  const value = exact(given);
  if (typeof value === "number" && value >= 0) return canonicalize(value);
  if (typeof value === "string" && /^[1-9][0-9]{15,18}$/.test(value) && !Number.isSafeInteger(Number(value))) return value;
  const each = (Array.isArray(value) ? value.map(exact) : [value]).map((one: unknown) => {
    if (typeof one !== "string" && typeof one !== "boolean" && !Number.isSafeInteger(one))
      throw new TypeError("a value is a text, a number, a boolean, or an array of these");
    if (typeof one === "string" && !isAssigned(one)) throw new TypeError("a text has a character that Unicode 14.0 does not assign");
    return canonicalize(typeof one === "string" ? one.normalize("NFC") : one);
  });
  const canonical = Array.isArray(value) ? `[${[...new Set(each)].sort(byCodePoints).join(",")}]` : String(each[0]);
  return `h${base64url((await sha256(utf8(canonical))).slice(0, 16))}`;
}

/** A token for one request of an agent, good for `expiresIn` seconds from now. */
export async function signToken(
  holder: Signer,
  wish: { target: string; action: string; delegationRef: string; expiresIn?: number },
): Promise<Ibct> {
  const now = Math.floor(Date.now() / 1000);
  const time = (seconds: number) => new Date(seconds * 1000).toISOString().replace(".000Z", "Z");
  const token = {
    id: `urn:uuid:${crypto.randomUUID()}`,
    type: "InvocationBoundCapabilityToken" as const,
    invoker: holder.did,
    target: wish.target,
    action: wish.action,
    delegationRef: wish.delegationRef,
    nonce: base64url(crypto.getRandomValues(new Uint8Array(16))),
    issuedAt: time(now),
    expiresAt: time(now + (wish.expiresIn ?? 900)),
  };
  return { ...token, proofValue: base58(await holder.sign(utf8(canonicalize(token)))) };
}

/** @deprecated until 1.2: call `signToken`. */
export const signIbct = signToken;
