// For whom and when a proof is made, and the text in which it travels: base64url of one canonical JSON object (PROTOCOL.md §7).

import { base64url, canonicalize, utf8, type Octets } from "../codec.js";
import { isPrintable } from "./credential.js";
import { sha256 } from "./curve.js";
import { bytes, check, integer, members, number, optional, readCanonical, shaped, string } from "./frames.js";

/** The context of a proof. Times are seconds since 1970. */
export interface Context {
  readonly audience: string;
  readonly nonce: Octets;
  readonly issuedAt: number;
  readonly expiresAt: number;
  readonly proofId: string;
  readonly capability: Octets | undefined;
  readonly agent: string | undefined;
}

const [MOST_CHARACTERS, MOST_TEXT, LAST_SECOND, CLOCK_SKEW] = [131_072, 512, 253_402_300_799, 60];

/** Return what `parse` makes of the members of an envelope. Throws `ProofRefused`; nothing is done on the curve. */
export function readEnvelope<T>(text: string, names: readonly string[], parse: (value: Record<string, unknown>) => T): T {
  check(text.length <= MOST_CHARACTERS, `the envelope has more than ${MOST_CHARACTERS} characters`);
  const value = shaped("the envelope is not base64url of canonical JSON", () => readCanonical(bytes(text)));
  return shaped("the envelope has not the shape of one", () => parse(members(value, names)));
}

export function readContext(value: unknown): Context {
  const said = members(value, ["audience", "nonce", "proofId", "issuedAt", "expiresAt"], ["agent", "capability"]);
  const capability = Object.hasOwn(said, "capability") ? bytes(said.capability) : undefined;
  const agent = Object.hasOwn(said, "agent") ? string(said.agent) : undefined;
  const [issuedAt, expiresAt] = [integer(said.issuedAt, 0, LAST_SECOND), integer(said.expiresAt, 0, LAST_SECOND)];
  const context = { audience: string(said.audience), nonce: bytes(said.nonce), issuedAt, expiresAt, proofId: string(said.proofId), capability, agent };
  const texts = [context.audience, context.proofId, ...(agent === undefined ? [] : [agent])];
  check(texts.every((text) => isPrintable(text, MOST_TEXT)), "audience, proof id and agent are printable");
  check(context.nonce.length >= 16 && context.nonce.length <= 256, "a nonce has 16 to 256 bytes");
  check(capability === undefined || capability.length === 32, "a capability digest has 32 bytes");
  check(issuedAt < expiresAt, "a proof expires after it is issued");
  return context;
}

/** Return the fields of a context in their order. */
export function contextFields(context: Context): Octets[] {
  const { audience, nonce, issuedAt, expiresAt, proofId, capability, agent } = context;
  return [utf8(audience), nonce, number(issuedAt), number(expiresAt), utf8(proofId), optional(capability), optional(agent === undefined ? undefined : utf8(agent))];
}

/** Return base64url of the SHA-256 of the JCS of a context, a public signal. */
export function contextDigest({ audience, nonce, issuedAt, expiresAt, proofId, capability, agent }: Context): string {
  const json = {
    ...{ audience, expiresAt, issuedAt, nonce: base64url(nonce), proofId },
    ...(capability === undefined ? {} : { capability: base64url(capability) }),
    ...(agent === undefined ? {} : { agent }),
  };
  return base64url(sha256(utf8(canonicalize(json))));
}

/** Check that a context is valid at `now`, in seconds. Its end has no tolerance. Throws `ProofRefused`. */
export function checkTime({ issuedAt, expiresAt }: Context, now: number): void {
  check(now < expiresAt, "the proof has expired");
  check(issuedAt <= now + CLOCK_SKEW, "the proof is not valid yet");
}
