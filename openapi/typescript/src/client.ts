// Every operation of the document as a method: typed, signed where a signer is named, tried again where that changes nothing.

import { canonicalize, hashBody, readStream } from "./codec.js";
import type { components } from "./document.js";
import { boundExpectation, type Expectation } from "./expectation.js";
import { OPERATIONS, type Operation, type Operations, type Pages } from "./operations.js";
import { signChallenge, type Signer } from "./signing.js";
import type { Arguments, IdentityOptions, Paged } from "./types.js";

/** The service refused (`code` is one of the document's), or gave no answer (`UNREACHABLE`), or none that can be read (`UNREADABLE`). */
export class IdentityError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly details: { readonly [name: string]: unknown } = {},
    readonly retryAfterMs?: number,
  ) {
    super(`${status} ${code}: ${message}`);
    this.name = "IdentityError";
  }

  get requestId(): string | undefined {
    return typeof this.details.requestId === "string" ? this.details.requestId : undefined;
  }

  /** What can be done about it; undefined if the service gave no remedy. */
  get remedy(): string | undefined {
    return typeof this.details.remedy === "string" ? this.details.remedy : undefined;
  }
}

type Options = Omit<IdentityOptions, keyof typeof DEFAULTS> & typeof DEFAULTS;
type Schemas = components["schemas"];
type Values = { readonly [name: string]: unknown };

const DEFAULTS = { timeoutMs: 30_000, retries: 2, maxWaitMs: 60_000, maxAnswerOctets: 16 * 1024 * 1024, maxPages: 10_000 };
const PASSING = new Set([429, 502, 503, 504]);

/** A client of the service at `options.url`, with a method for each operation. */
export interface Client extends Operations {}
export class Client {
  // Hidden from logs: the API key is among them.
  readonly #options: Options;
  readonly #signer: Signer | undefined;

  constructor(options: IdentityOptions, signer?: Signer) {
    const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
    this.#signer = signer;
    this.#options = { ...DEFAULTS, ...given, url: new URL(options.url).href.replace(/\/+$/, "") };
    for (const [name, operation] of Object.entries<Operation>(OPERATIONS))
      Object.assign(this, { [name]: (parameters: Values = {}) => this.#call(operation, parameters) });
  }

  /** The same service, with the operations that a DID may ask for signed by `signer`. */
  readonly as = (signer: Signer): Client => new Client(this.#options, signer);

  /** Creates a delegation of `holder`, who signs it. */
  readonly delegate = (holder: Signer, terms: Omit<Schemas["CreateDelegationRequest"], "holderDid">): Promise<Schemas["Delegation"]> =>
    this.as(holder).createDelegation({ body: { ...terms, holderDid: holder.did } });

  /** Requests the proof that the token `request.ibct` allows its agent. */
  readonly prove = async (agent: Signer, request: Omit<Schemas["DelegatedProofRequest"], "holderDid" | "agentDid">): Promise<Schemas["ZKProof"]> => {
    const parties = { holderDid: request.ibct.invoker, agentDid: request.ibct.target };
    return (await this.as(agent).generateDelegatedProof({ body: { ...request, ...parties } })).proof;
  };

  /** `verifyProof`. Throws `TypeError` unless predicates, challenge, domain and issuer are expected: the proof could be a replay. */
  readonly verify = async (proof: string | Schemas["ZKProof"], expect: Expectation): Promise<Schemas["VerificationResult"]> => {
    const members = typeof proof === "string" ? { proof } : { ...proof, proof: proof.proof! };
    return this.verifyProof({ body: { ...boundExpectation(expect), ...members } });
  };

  /** The items of all pages. Ends with an error after `maxPages` of them. */
  readonly each = <N extends Paged>(name: N, given: Arguments<N>): AsyncGenerator<Pages[N], void> => this.#items(OPERATIONS[name], given as Values);

  async *#items(operation: Operation, given: Values): AsyncGenerator<any, void> {
    let cursor: unknown = given.cursor;
    for (let page = 0; page < this.#options.maxPages; page += 1) {
      const answer = (await this.#call(operation, { ...given, cursor })) as { items?: unknown; nextCursor?: unknown };
      if (!Array.isArray(answer.items)) throw new IdentityError(200, "UNREADABLE", "the page has no items");
      yield* answer.items;
      if (answer.nextCursor === null) return;
      if (typeof answer.nextCursor !== "string" || answer.nextCursor === cursor)
        throw new IdentityError(200, "UNREADABLE", "the page does not lead to another");
      cursor = answer.nextCursor;
    }
    throw new IdentityError(200, "UNREADABLE", `the pages do not end after ${this.#options.maxPages}`);
  }

  /** Sends `createDid` with `options.strictEvidence`, and as it is to a method whose entries hold no evidence. */
  async #call(operation: Operation, given: Values): Promise<unknown> {
    const body = given.body as { options?: object } | null | undefined;
    if (operation !== OPERATIONS.createDid || typeof body !== "object" || body === null || "strictEvidence" in (body.options ?? {}))
      return this.#send(operation, given);
    try {
      return await this.#send(operation, { ...given, body: { ...body, options: { ...body.options, strictEvidence: true } } });
    } catch (error) {
      // The Idempotency-Key is that of an earlier try, which such a method answered.
      const isOfNoUse = error instanceof IdentityError && (error.details.member === "strictEvidence" || error.code === "IDEMPOTENCY_MISMATCH");
      if (!isOfNoUse) throw error;
    }
    return this.#send(operation, given);
  }

  async #send(operation: Operation, given: Values): Promise<unknown> {
    // The members of a body as they are sent: dates as texts, `undefined` left out; and one form, which is signed and sent.
    const body = given.body === undefined ? undefined : canonicalize(JSON.parse(JSON.stringify(given.body)));
    const headers = new Headers({ Accept: operation.forms[0] });
    for (const name of operation.headers) if (given[name] !== undefined) headers.set(name, String(given[name]));
    if (operation.idempotent && !headers.has("Idempotency-Key")) headers.set("Idempotency-Key", crypto.randomUUID());
    if (body !== undefined) headers.set("Content-Type", "application/json");
    // What is not a change, or the same change under one Idempotency-Key, may be asked for again.
    const repeatable = operation.method === "GET" || operation.idempotent;
    for (let attempt = 0; ; attempt += 1) {
      try {
        await this.#authorize(operation, headers, body, given);
        return await this.#attempt(operation, given, headers, body);
      } catch (error) {
        if (attempt >= this.#options.retries || !(error instanceof IdentityError) || !passes(error, repeatable)) throw error;
        const wait = error.retryAfterMs ?? 250 * 2 ** attempt * (1 + Math.random());
        if (wait > this.#options.maxWaitMs) throw error;
        await pause(wait, given.signal as AbortSignal | undefined);
      }
    }
  }

  /** A challenge is good for one attempt, so each has its own. */
  async #authorize(operation: Operation, headers: Headers, body: string | undefined, given: Values): Promise<void> {
    const { apiKey, token, origin, url } = this.#options;
    if (this.#signer !== undefined && operation.scheme !== undefined && operation.purpose !== undefined) {
      const bodyHash = body === undefined ? {} : { bodyHash: await hashBody(body) };
      const wanted = { purpose: operation.purpose, target: place(operation, given), ...bodyHash };
      const asked = { did: this.#signer.did, ...wanted, named: true, signal: given.signal };
      const accepted = new Headers({ Accept: "application/json" });
      const { challenge } = (await this.#attempt(OPERATIONS.getDidAuthChallenge, asked, accepted)) as { challenge?: unknown };
      const signed = await signChallenge(this.#signer, String(challenge), { origin: origin ?? url, ...wanted });
      headers.set("Authorization", `${operation.scheme} ${signed}`);
    } else if (operation.keyed && (apiKey !== undefined || token !== undefined))
      headers.set("Authorization", apiKey !== undefined ? `ApiKey ${apiKey}` : `Bearer ${await token?.()}`);
  }

  async #attempt(operation: Operation, given: Values, headers: Headers, body?: string): Promise<unknown> {
    const target = `${this.#options.url}/api/v1${place(operation, given)}`;
    // A copy: what a hook adds to one attempt is not in the next.
    const request = { method: operation.method, url: target, headers: new Headers(headers) };
    await this.#options.onRequest?.(request);
    const [own, caller] = [AbortSignal.timeout(this.#options.timeoutMs), given.signal as AbortSignal | undefined];
    const signal = caller === undefined ? own : AbortSignal.any([own, caller]);
    const asked = { method: operation.method, headers: request.headers, signal, redirect: "error", credentials: "omit" } as const;
    const send = this.#options.fetch ?? fetch;
    const response = await this.#answered(caller, () => send(target, body === undefined ? asked : { ...asked, body }));
    await this.#options.onResponse?.({ request, status: response.status, headers: response.headers });
    const octets = await this.#answered(caller, () => readStream(response.body, this.#options.maxAnswerOctets));
    if (octets === undefined)
      throw new IdentityError(response.status, "UNREADABLE", `the answer has more than ${this.#options.maxAnswerOctets} octets`);
    if (!response.ok) throw refusal(response, octets);
    return meaning(operation, response, octets);
  }

  /** What `work` gives; a lost connection and a timeout are told apart from a `caller` that gave up. */
  async #answered<T>(caller: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (caller?.aborted) throw caller.reason;
      throw new IdentityError(0, "UNREACHABLE", `${this.#options.url} does not answer: ${reason(error)}`);
    }
  }
}

/** @deprecated until 1.2: call `new Client(options)`. */
export const createIdentity = (options: IdentityOptions): Client => new Client(options);

/** Path below the prefix, and query. */
function place(operation: Operation, given: Values): string {
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    if (given[name] === undefined || given[name] === "") throw new TypeError(`${operation.path} needs ${name}`);
    return encodeURIComponent(String(given[name]));
  });
  const query = new URLSearchParams();
  for (const name of operation.query) if (given[name] !== undefined) query.set(name, String(given[name]));
  return `${path}${query.size > 0 ? `?${query}` : ""}`;
}

function passes(error: IdentityError, repeatable: boolean): boolean {
  if (error.status === 429) return true;
  const inProgress = error.status === 409 && error.code === "REQUEST_IN_PROGRESS";
  return repeatable && (PASSING.has(error.status) || error.code === "UNREACHABLE" || inProgress);
}

function meaning(operation: Operation, response: Response, octets: Uint8Array<ArrayBuffer>): unknown {
  const media = (response.headers.get("Content-Type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (!operation.forms.includes(media))
    throw new IdentityError(response.status, "UNREADABLE", `the answer is ${media || "of no type"}, not ${operation.forms[0]}`);
  if (media === "application/octet-stream") return octets;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(octets);
    return media.startsWith("text/") ? text : JSON.parse(text);
  } catch (error) {
    throw new IdentityError(response.status, "UNREADABLE", `the answer is no ${media}: ${reason(error)}`);
  }
}

function refusal(response: Response, octets: Uint8Array<ArrayBuffer>): IdentityError {
  const wait = /^[0-9]{1,9}$/.exec(response.headers.get("Retry-After") ?? "");
  const retryAfterMs = wait === null ? undefined : Number(wait[0]) * 1000;
  const text = new TextDecoder().decode(octets);
  try {
    const { code, message, details } = (JSON.parse(text) as { error: Values }).error;
    if (typeof code !== "string") throw new TypeError("no code");
    const known = typeof details === "object" && details !== null ? (details as Values) : {};
    return new IdentityError(response.status, code, String(message), known, retryAfterMs);
  } catch {
    // A proxy before the service, for example: its own words are all that there is.
    return new IdentityError(response.status, "UNREADABLE", text.slice(0, 200), {}, retryAfterMs);
  }
}

function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}

/** Waits, and ends with the reason of `signal` where that is aborted. */
function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const ended = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", ended);
      if (signal?.aborted) reject(signal.reason);
      else resolve();
    };
    const timer = setTimeout(ended, signal?.aborted ? 0 : milliseconds);
    signal?.addEventListener("abort", ended);
  });
}
