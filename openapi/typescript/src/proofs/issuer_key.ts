// The key by which a proof is verified: taken from the DID document of the issuer, never from the proof.

import { multikey, type Octets } from "../codec.js";
import { instantOf } from "../entry.js";

type Json = Record<string, unknown>;

const BLS_PREFIX = [0xeb, 0x01];
const BLS_SIZE = 96;
/** More keys than this in force at once deserve a warning: an issuer with one for each holder marks its holders. */
const MANY_KEYS = 4;

/** Return the 96 bytes of a key under `assertionMethod` that is in force at `now`, or undefined. */
export function assertionKey(document: Json, methodId: string, now: Date): Octets | undefined {
  const method = assertionMethods(document).get(methodId);
  return method && keyOf(String(document.id), method, now);
}

/** Return whether more than four keys in force sign credentials in the issuer's name. */
export function hasManyKeys(document: Json, now: Date): boolean {
  const methods = [...assertionMethods(document).values()];
  return methods.length > MANY_KEYS && methods.filter((method) => keyOf(String(document.id), method, now) !== undefined).length > MANY_KEYS;
}

/** Return the methods under `assertionMethod` by absolute id; a method may stand where it is used (DID Core §5.3). */
function assertionMethods(document: Json): Map<string, Json> {
  const did = String(document.id);
  const lists = [document.verificationMethod, document.assertionMethod].map((all): unknown[] => (Array.isArray(all) ? all : []));
  const [held = [], listed = []] = lists;
  const named = new Map<string, Json>();
  for (const method of held.filter(isObject).reverse()) named.set(absolute(did, method) ?? "", method);
  const methods = new Map<string, Json>();
  for (const one of listed) {
    const name = absolute(did, one) ?? "";
    const method = isObject(one) ? one : named.get(name);
    if (method !== undefined && !methods.has(name)) methods.set(name, method);
  }
  return methods;
}

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);

function absolute(did: string, reference: unknown): string | undefined {
  const name = isObject(reference) ? reference.id : reference;
  return typeof name !== "string" ? undefined : name.startsWith("#") ? did + name : name;
}

function keyOf(did: string, method: Json, now: Date): Octets | undefined {
  const { revoked, controller = did, publicKeyMultibase: text } = method;
  try {
    const isRevoked = typeof revoked === "string" && BigInt(now.getTime()) * 1000n >= instantOf(revoked);
    return isRevoked || controller !== did || typeof text !== "string" ? undefined : multikey(text, BLS_PREFIX, BLS_SIZE);
  } catch {
    // No key of this type, or a time that cannot be read.
    return undefined;
  }
}
