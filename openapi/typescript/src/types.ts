// What a client of the document's operations looks like, and what it is given.

import type { components, operations } from "./document.js";
import type { OPERATIONS } from "./operations.js";
import type { Expectation } from "./proofs/verify.js";
import type { Signer } from "./signing.js";

type Bodies = components["schemas"];

export type OperationId = keyof typeof OPERATIONS & keyof operations;

type OrNone<T> = [T] extends [never] ? unknown : T;
type Given<N extends OperationId, K extends "path" | "query" | "header"> = OrNone<NonNullable<operations[N]["parameters"][K]>>;
type Body<N extends OperationId> = operations[N] extends { requestBody: { content: { "application/json": infer B } } }
  ? { body: B }
  : NonNullable<operations[N]["requestBody"]> extends never
    ? unknown
    : NonNullable<operations[N]["requestBody"]> extends { content: { "application/json": infer B } }
      ? { body?: B }
      : unknown;
type Content<R> = R extends { content: { "application/json": infer J } }
  ? J
  : R extends { content: { "application/octet-stream": unknown } }
    ? Uint8Array<ArrayBuffer>
    : R extends { content: { "text/plain": unknown } | { "text/jsonl": unknown } }
      ? string
      : void;

/** The parameters of an operation, those of path, query and header beside each other, and its `body`. */
export type Arguments<N extends OperationId> = Given<N, "path"> & Given<N, "query"> & Omit<Given<N, "header">, "If-None-Match"> & Body<N>;
/** What an operation answers when it does what was asked. */
export type Answer<N extends OperationId> = Content<
  operations[N]["responses"][keyof operations[N]["responses"] & (200 | 201 | 202 | 204)]
>;
/** The operations that answer page by page. */
export type Paged = { [N in OperationId]: Answer<N> extends { items: unknown[]; nextCursor: string | null } ? N : never }[OperationId];
type Item<N extends OperationId> = Answer<N> extends { items: (infer I)[] } ? I : never;

export interface CallOptions {
  signal?: AbortSignal | undefined;
}

type Method<N extends OperationId> = (
  ...given: {} extends Arguments<N> ? [given?: Arguments<N> & CallOptions] : [given: Arguments<N> & CallOptions]
) => Promise<Answer<N>>;

export type Client = { readonly [N in OperationId]: Method<N> } & {
  /** The same service, with the operations that a DID may ask for signed by `signer`. */
  as(signer: Signer): Client;
  /** Creates a delegation of `holder`, who signs it. */
  delegate(holder: Signer, terms: Omit<Bodies["CreateDelegationRequest"], "holderDid">): Promise<Bodies["Delegation"]>;
  /** Requests the proof that the token `request.ibct` allows its agent. */
  prove(agent: Signer, request: Omit<Bodies["DelegatedProofRequest"], "holderDid" | "agentDid">): Promise<Bodies["ZKProof"]>;
  /** `verifyProof`. Throws `TypeError` unless predicates, challenge, domain and issuer are expected: the proof could be a replay. */
  verify(proof: string | Bodies["ZKProof"], expect: Expectation): Promise<Bodies["VerificationResult"]>;
  /** The items of all pages. Ends with an error after `maxPages` of them. */
  each<N extends Paged>(name: N, given: Arguments<N> & CallOptions): AsyncGenerator<Item<N>, void>;
};

export interface IdentityOptions {
  /** The service, without the prefix of its operations. */
  url: string;
  apiKey?: string | undefined;
  /** Gives an access token for each request, where there is no `apiKey`. */
  token?: (() => Promise<string>) | undefined;
  /** The `public_url` of the service where it is another than `url`: challenges of any other are not signed. */
  origin?: string | undefined;
  /** For one attempt (default 30 s). */
  timeoutMs?: number | undefined;
  /** How often more than once (default 2). */
  retries?: number | undefined;
  /** The longest wait before an attempt (default 60 s): who is told to wait longer is told so by an error. */
  maxWaitMs?: number | undefined;
  maxAnswerOctets?: number | undefined;
  maxPages?: number | undefined;
  /** Sees each attempt before it is sent, that for a challenge too, and may add headers. It holds the Authorization. */
  onRequest?: ((request: SentRequest) => void | Promise<void>) | undefined;
  /** Sees what came back, before its body is read. What either throws ends the call. */
  onResponse?: ((response: ReceivedResponse) => void | Promise<void>) | undefined;
  fetch?: typeof fetch | undefined;
}

export interface SentRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
}

export interface ReceivedResponse {
  readonly request: SentRequest;
  readonly status: number;
  readonly headers: Headers;
}
