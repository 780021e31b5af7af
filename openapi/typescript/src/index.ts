export { Client, createIdentity, IdentityError } from "./client.js";
export type { Client as Identity } from "./client.js";
export type { Answer, Arguments, CallOptions, IdentityOptions, OperationId, Paged, ReceivedResponse, SentRequest } from "./types.js";
export { canonicalize } from "./codec.js";
export { LogInvalid, verifyLog } from "./log.js";
export type { CheckedEntry, LogCheck, VerifiedLog } from "./log.js";
export type { Requirement } from "./entry.js";
export { readStatus } from "./status.js";
export { verifyCheckpoint, verifyConsistency, verifyInclusion } from "./checkpoint.js";
export type { Checkpoint, CheckpointCheck } from "./checkpoint.js";
export { actionOf, createSigner, signChallenge, signIbct, signToken } from "./signing.js";
export type { Ibct, IssuedKeys, Signer } from "./signing.js";
export type { components, operations, paths } from "./document.js";
export type { Expectation } from "./expectation.js";
export type { Verdict, Verification, VerifyOptions } from "./proofs/verify.js";

import type { Verification, VerifyOptions } from "./proofs/verify.js";

/** Load the verifier and make what the usual proofs need, so that the first call of `verify` is as fast as later ones. */
export const prepareVerifier = async (): Promise<void> => (await import("./proofs/verify.js")).prepare(96);

/** See `proofs/verify.ts`, which is loaded with its curve library by the first call. */
export const verify = async (proof: unknown, options: VerifyOptions): Promise<Verification> => (await import("./proofs/verify.js")).verify(proof, options);
