export { createIdentity, IdentityError } from "./client.js";
export type { Answer, Arguments, CallOptions, Identity, IdentityOptions, OperationId, Paged, ReceivedResponse, SentRequest } from "./types.js";
export { canonicalize } from "./codec.js";
export { LogInvalid, verifyLog } from "./log.js";
export type { CheckedEntry, LogCheck, VerifiedLog } from "./log.js";
export type { Requirement } from "./entry.js";
export { actionOf, createSigner, signChallenge, signIbct } from "./signing.js";
export type { Ibct, IssuedKeys, Signer } from "./signing.js";
export type { components, operations, paths } from "./document.js";
