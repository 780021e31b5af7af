// What a verifier compares with a proof.

import type { components } from "./document.js";

/**
 * The members of a request of `verifyProof` without the proof. Without predicates, challenge, domain or issuer a proof could be a replay, or
 * answer another question: such an expectation is refused, unless `allowUnbound`.
 */
export type Expectation = Omit<components["schemas"]["VerifyProofRequest"], "proof" | "publicSignals" | "predicateType" | "proofId"> & {
  allowUnbound?: boolean | undefined;
};
/** What an expectation has to name, as `missing` of a result. */
export const BOUND = ["predicate", "challenge", "domain", "issuerDid"] as const;
export type Bound = (typeof BOUND)[number];

/** The members that an expectation leaves out of those that bind a proof to its verifier. */
export function missingOf(expect: Expectation): Bound[] {
  const { predicate, predicates = [], credentials, challenge, domain, issuerDid } = expect;
  const bound: Record<Bound, unknown> = { predicate: predicate ?? predicates[0] ?? credentials, challenge, domain, issuerDid: issuerDid ?? credentials };
  return BOUND.filter((name) => bound[name] === undefined);
}

/** The members of the request. Throws `TypeError` for an expectation with which a proof could be a replay. */
export function boundExpectation({ allowUnbound = false, ...expect }: Expectation): Omit<Expectation, "allowUnbound"> {
  const missing = missingOf(expect);
  if (missing.length > 0 && allowUnbound !== true) throw new TypeError(`the proof could be a replay: expect ${missing.join(", ")}, or set allowUnbound`);
  return expect;
}
