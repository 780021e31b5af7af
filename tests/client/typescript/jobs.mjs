// Does each job of the list on standard input, and prints what came of it by the job's name.

import { inspect } from "node:util";
import * as client from "identity-service-client";
import { flow } from "./flow.mjs";
import { story } from "./story.mjs";

const { createIdentity, createSigner, signChallenge, signIbct, verifyLog } = client;

// What is null in JSON is a member that is there and undefined.
const optionsOf = (said) => Object.fromEntries(Object.entries(said).map(([name, value]) => [name, value ?? undefined]));

const KINDS = {
  canonicalize: ({ value }) => client.canonicalize(value),
  action: ({ attribute, type, value }) => client.actionOf(attribute, type, value),
  log: async ({ log, did, witnesses, now }) => {
    const entries = [];
    const found = await verifyLog(log, {
      onEntry: ({ line, versionId, operation, isAsked }) => entries.push([line, versionId, operation ?? "", isAsked]),
      ...(did === undefined ? {} : { did }),
      ...(witnesses == null ? {} : { witnesses }),
      ...(now === undefined ? {} : { now: new Date(now) }),
    });
    return { ...found, entries };
  },
  proof: ({ proof, now, expect, ...options }) =>
    client.verify(proof, { ...options, expect: { allowUnbound: true, ...expect }, now: new Date(now * 1_000) }),
  verify: ({ value, options }) => new client.Client(optionsOf(options)).verify("e30", value),
  "verify loosely": ({ value, options }) => new client.Client(optionsOf(options)).verify("e30", { ...value, allowUnbound: true }),
  checkpoint: async ({ note, logKey, witnesses, cosignatures }) => {
    const { cosigned, ...found } = await client.verifyCheckpoint(note, { logKey, witnesses, cosignatures });
    return { ...found, cosigned: Object.fromEntries(Object.entries(cosigned).map(([name, at]) => [name, at.getTime() / 1000])) };
  },
  inclusion: ({ size, root, ...proof }) => client.verifyInclusion({ origin: "a", size, root, cosigned: {} }, proof),
  consistency: ({ first, second, ...proof }) => {
    const [earlier, later] = [first, second].map(([size, root]) => ({ origin: "a", size, root, cosigned: {} }));
    return client.verifyConsistency(earlier, later, proof);
  },
  "other origin": ({ first, second }) => client.verifyConsistency({ origin: "a", size: first[0], root: first[1], cosigned: {} }, { origin: "b", size: second[0], root: second[1], cosigned: {} }, { hashes: [] }),
  status: ({ list, entry, signers }) => client.readStatus(list, entry, signers),
  ibct: async ({ issued, wish }) => signIbct(await createSigner(issued), wish),
  sign: async ({ issued, challenge, wanted }) => signChallenge(await createSigner(issued), challenge, wanted),
  shown: ({ options }) => [new client.Client(options)].flatMap((id) => [JSON.stringify(id), inspect(id, { depth: 9, showHidden: true })]),
  story: ({ url, apiKey }) => story(client, url, apiKey),
  flow: ({ url, apiKey }) => flow(client, url, apiKey),
  call: async ({ operation, given, issued, options }) => {
    const id = createIdentity(optionsOf(options));
    return (issued === undefined ? id : id.as(await createSigner(issued)))[operation](given);
  },
  each: async ({ operation, given, options }) => {
    const items = [];
    for await (const item of createIdentity(optionsOf(options)).each(operation, given)) items.push(item);
    return items;
  },
  aborted: async ({ operation, given, options }) => {
    const aborting = new AbortController();
    setTimeout(() => aborting.abort(), 20);
    return createIdentity(optionsOf(options))[operation]({ ...given, signal: aborting.signal });
  },
};

async function outcome({ kind, ...job }) {
  try {
    return { value: (await KINDS[kind](job)) ?? null };
  } catch (error) {
    const { status, code, retryAfterMs, line, requirement } = error;
    return { error: { name: error.name, message: error.message, status, code, retryAfterMs, line, requirement } };
  }
}

let text = "";
for await (const part of process.stdin) text += part;
const jobs = Object.entries(JSON.parse(text));
const outcomes = await Promise.all(jobs.map(async ([name, job]) => [name, await outcome(job)]));
process.stdout.write(JSON.stringify(Object.fromEntries(outcomes)));
