// The types of operations, and the options of a client.

import type { Operations, Pages } from "./operations.js";

export type OperationId = keyof Operations;
/** The parameters of an operation, those of path, query and header beside each other, and its `body`. */
export type Arguments<N extends OperationId> = NonNullable<Parameters<Operations[N]>[0]>;
/** What an operation answers when it does what was asked. */
export type Answer<N extends OperationId> = Awaited<ReturnType<Operations[N]>>;
/** The operations that answer page by page. */
export type Paged = keyof Pages;

export interface CallOptions {
  signal?: AbortSignal | undefined;
}

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

export type SentRequest = Pick<Request, "method" | "url" | "headers">;
export type ReceivedResponse = Pick<Response, "status" | "headers"> & { readonly request: SentRequest };
