// The status of a credential, read without the service from a list that anybody may have handed on.

import { base64urlDecode, canonicalize, readStream, type Octets } from "./codec.js";
import type { components } from "./document.js";
import { checkProof, demand, meeting, record, text } from "./entry.js";

const ENTRIES = 131_072;

/**
 * Whether the credential with the `entry` in its `credentialStatus` is revoked, or suspended, by the answer of `getStatusList` (Bitstring
 * Status List 1.0 §3.2). `signers` may sign the list: the `updateKeys` of a log that was verified. A list tells nothing of what was changed
 * after it was made. Throws `TypeError` unless it is the list that the entry names, and by one of them.
 */
export async function readStatus(
  list: components["schemas"]["StatusListCredential"],
  entry: components["schemas"]["CredentialStatusEntry"],
  signers: readonly string[],
): Promise<boolean> {
  const { proof, ...body } = record(list);
  const [signed, subject] = [record(proof), record(body.credentialSubject)];
  const isThatList = entry.type === "BitstringStatusListEntry" && entry.statusListCredential === text(body.id);
  const isList = Array.isArray(body.type) && body.type.includes("BitstringStatusListCredential");
  demand(isThatList && isList && entry.statusPurpose === text(subject.statusPurpose), "the list is not the one of the entry");
  const signer = await checkProof(signed, body, signers);
  const isOfIssuer = body.issuer === `did:key:${signer}` && canonicalize(signed["@context"]) === canonicalize(body["@context"]);
  demand(isOfIssuer, "the proof is not the issuer's, or of another context");
  const bits = await meeting("form", () => unpacked(text(subject.encodedList)));
  demand(/^(?:0|[1-9][0-9]{0,5})$/.test(entry.statusListIndex) && Number(entry.statusListIndex) < ENTRIES, "the list has no such place");
  const place = Number(entry.statusListIndex);
  return ((bits[place >> 3] ?? 0) & (0x80 >> (place & 7))) !== 0;
}

/** The bits; no more of them are unpacked than a list has. */
async function unpacked(encoded: string): Promise<Octets> {
  demand(encoded.startsWith("u"), "the bits are not multibase base64url");
  const packed = new Blob([base64urlDecode(encoded.slice(1))]).stream();
  const bits = await readStream(packed.pipeThrough(new DecompressionStream("gzip")), ENTRIES / 8);
  demand(bits?.length === ENTRIES / 8, "the list has another number of bits");
  return bits as Octets;
}
