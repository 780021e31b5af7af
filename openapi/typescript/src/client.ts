// Every operation of the document as a method: typed, signed where a signer is named, tried again where that changes nothing.

import { canonicalize, hashBody } from "./codec.js";
import { OPERATIONS, type Operation } from "./operations.js";
import { signChallenge, type Signer } from "./signing.js";
import type { Expectation } from "./proofs/verify.js";
import type { Client as Calls, IdentityOptions, OperationId } from "./types.js";

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
type Values = { readonly [name: string]: unknown };

const PREFIX = "/api/v1";
const JSON_FORM = "application/json";
const DEFAULTS = { timeoutMs: 30_000, retries: 2, maxWaitMs: 60_000, maxAnswerOctets: 16 * 1024 * 1024, maxPages: 10_000 };
const PASSING = new Set([429, 502, 503, 504]);

/** A client of the service at `options.url`, with a method for each operation. */
export type Client = Calls;
export const Client = function (options: IdentityOptions): Client {
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  return new Service({ ...DEFAULTS, ...given, url: options.url.replace(/\/+$/, "") }).client();
} as unknown as new (options: IdentityOptions) => Client;

/** @deprecated until 1.2: call `new Client(options)`. */
export const createIdentity = (options: IdentityOptions): Client => new Client(options);

class Service {
  constructor(
    private readonly options: Options,
    private readonly signer?: Signer,
  ) {}

  client(): Client {
    const methods = Object.entries<Operation>(OPERATIONS).map(([name, operation]) => [
      name,
      (given: Values = {}) => this.call(operation, given),
    ]);
    const as = (signer: Signer) => new Service(this.options, signer).client();
    const operations = Object.fromEntries(methods) as unknown as Client;
    const jobs: Pick<Client, "delegate" | "prove" | "verify"> = {
      delegate: (holder, terms) => as(holder).createDelegation({ body: { ...terms, holderDid: holder.did } }),
      prove: async (agent, request) => {
        const parties = { holderDid: request.ibct.invoker, agentDid: request.ibct.target };
        return (await as(agent).generateDelegatedProof({ body: { ...request, ...parties } })).proof;
      },
      verify: async (proof, expect) => {
        requireBound(expect);
        const members = typeof proof === "string" ? { proof } : { ...proof, proof: proof.proof! };
        return operations.verifyProof({ body: { ...expect, ...members } });
      },
    };
    return { ...operations, ...jobs, as, each: this.each.bind(this) as Client["each"] };
  }

  private async *each(name: OperationId, given: Values): AsyncGenerator<unknown, void> {
    let cursor: unknown = given.cursor;
    for (let page = 0; page < this.options.maxPages; page += 1) {
      const answer = (await this.call(OPERATIONS[name], { ...given, cursor })) as { items?: unknown; nextCursor?: unknown };
      if (!Array.isArray(answer.items)) throw new IdentityError(200, "UNREADABLE", "the page has no items");
      yield* answer.items;
      if (answer.nextCursor === null) return;
      if (typeof answer.nextCursor !== "string" || answer.nextCursor === cursor)
        throw new IdentityError(200, "UNREADABLE", "the page does not lead to another");
      cursor = answer.nextCursor;
    }
    throw new IdentityError(200, "UNREADABLE", `the pages do not end after ${this.options.maxPages}`);
  }

  /** Sends `createDid` with `options.strictEvidence`, and as it is to a method whose entries hold no evidence. */
  private async call(operation: Operation, given: Values): Promise<unknown> {
    const body = given.body as { options?: object } | null | undefined;
    if (operation !== OPERATIONS.createDid || typeof body !== "object" || body === null || "strictEvidence" in (body.options ?? {}))
      return this.send(operation, given);
    try {
      return await this.send(operation, { ...given, body: { ...body, options: { ...body.options, strictEvidence: true } } });
    } catch (error) {
      // The Idempotency-Key is that of an earlier try, which such a method answered.
      const isOfNoUse = error instanceof IdentityError && (error.details.member === "strictEvidence" || error.code === "IDEMPOTENCY_MISMATCH");
      if (!isOfNoUse) throw error;
    }
    return this.send(operation, given);
  }

  private async send(operation: Operation, given: Values): Promise<unknown> {
    // The members of a body as they are sent: dates as texts, `undefined` left out; and one form, which is signed and sent.
    const body = given.body === undefined ? undefined : canonicalize(JSON.parse(JSON.stringify(given.body)));
    const headers = new Headers({ Accept: operation.forms[0] ?? JSON_FORM });
    for (const name of operation.headers) if (given[name] !== undefined) headers.set(name, String(given[name]));
    if (operation.idempotent && !headers.has("Idempotency-Key")) headers.set("Idempotency-Key", crypto.randomUUID());
    if (body !== undefined) headers.set("Content-Type", "application/json");
    // What is not a change, or the same change under one Idempotency-Key, may be asked for again.
    const repeatable = operation.method === "GET" || operation.idempotent;
    for (let attempt = 0; ; attempt += 1) {
      try {
        await this.authorize(operation, headers, body, given);
        return await this.attempt(operation, given, headers, body);
      } catch (error) {
        if (attempt >= this.options.retries || !(error instanceof IdentityError) || !passes(error, repeatable)) throw error;
        const wait = error.retryAfterMs ?? 250 * 2 ** attempt * (1 + Math.random());
        if (wait > this.options.maxWaitMs) throw error;
        await pause(wait, given.signal as AbortSignal | undefined);
      }
    }
  }

  /** A challenge is good for one attempt, so each has its own. */
  private async authorize(operation: Operation, headers: Headers, body: string | undefined, given: Values): Promise<void> {
    const { apiKey, token, origin, url } = this.options;
    if (this.signer !== undefined && operation.scheme !== undefined && operation.purpose !== undefined) {
      const bodyHash = body === undefined ? {} : { bodyHash: await hashBody(body) };
      const wanted = { purpose: operation.purpose, target: place(operation, given), ...bodyHash };
      const asked = { did: this.signer.did, ...wanted, named: true, signal: given.signal };
      const answer = await this.attempt(OPERATIONS.getDidAuthChallenge, asked, new Headers({ Accept: JSON_FORM }));
      const challenge = (answer as { challenge?: unknown }).challenge;
      const signed = await signChallenge(this.signer, String(challenge), { origin: origin ?? url, ...wanted });
      headers.set("Authorization", `${operation.scheme} ${signed}`);
    } else if (operation.keyed && (apiKey !== undefined || token !== undefined))
      headers.set("Authorization", apiKey !== undefined ? `ApiKey ${apiKey}` : `Bearer ${await token?.()}`);
  }

  private async attempt(operation: Operation, given: Values, headers: Headers, body?: string): Promise<unknown> {
    const { onRequest, onResponse } = this.options;
    const target = `${this.options.url}${PREFIX}${place(operation, given)}`;
    // A copy: what a hook adds to one attempt is not in the next.
    const request = { method: operation.method, url: target, headers: new Headers(headers) };
    await onRequest?.(request);
    const [own, caller] = [AbortSignal.timeout(this.options.timeoutMs), given.signal as AbortSignal | undefined];
    const signal = caller === undefined ? own : AbortSignal.any([own, caller]);
    const asked = { method: operation.method, headers: request.headers, signal, redirect: "error", credentials: "omit" } as const;
    const send = this.options.fetch ?? fetch;
    const response = await this.answered(caller, () => send(target, body === undefined ? asked : { ...asked, body }));
    await onResponse?.({ request, status: response.status, headers: response.headers });
    const octets = await this.answered(caller, () => read(response, this.options.maxAnswerOctets));
    if (!response.ok) throw refusal(response, octets);
    return meaning(operation, response, octets);
  }

  /** What `work` gives; a lost connection and a timeout are told apart from a `caller` that gave up. */
  private async answered<T>(caller: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (caller?.aborted) throw caller.reason;
      if (error instanceof IdentityError) throw error;
      throw new IdentityError(0, "UNREACHABLE", `${this.options.url} does not answer: ${reason(error)}`);
    }
  }
}

/** Throws for an expectation without which a proof could be a replay, or answer another question. */
function requireBound(expect: Expectation): void {
  const { predicate, predicates, credentials, challenge, domain, issuerDid } = expect;
  const bound = { predicate: predicate ?? predicates ?? credentials, challenge, domain, issuerDid: issuerDid ?? credentials };
  const missing = Object.entries(bound).flatMap(([name, value]) => (value === undefined ? [name] : []));
  if (missing.length > 0) throw new TypeError(`the proof could be a replay: expect ${missing.join(", ")}`);
}

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

async function read(response: Response, most: number): Promise<Uint8Array<ArrayBuffer>> {
  const parts: BlobPart[] = [];
  let length = 0;
  const reader = response.body?.getReader();
  for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
    length += part.value.length;
    if (length > most) {
      await reader?.cancel();
      throw new IdentityError(response.status, "UNREADABLE", `the answer has more than ${most} octets`);
    }
    parts.push(part.value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

function meaning(operation: Operation, response: Response, octets: Uint8Array<ArrayBuffer>): unknown {
  if (response.status === 204) return undefined;
  const media = mediaOf(response);
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

const mediaOf = (response: Response): string => (response.headers.get("Content-Type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";

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
