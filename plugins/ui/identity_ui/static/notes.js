// Signed notes: checkpoints of logs, cosignatures of witnesses, and the policy that says whose count (C2SP signed-note, tlog-checkpoint,
// tlog-cosignature, tlog-policy). What identity ledger verify --policy takes is taken here, but for cosignatures of ML-DSA-44, which count for nothing.
import { sha256, utf8, verifiesRaw } from "./client/codec.js";
import { Unmet } from "./client/entry.js";

const LOG = 1, WITNESS = 4, WITNESS_ML_DSA = 6;
const OCTETS = new Map([[LOG, 32], [WITNESS, 32], [WITNESS_ML_DSA, 1312]]); // of a key
const MOST = 256, MOST_LINES = 4096, MOST_OF_POLICY = 512 * 1024, MOST_OF_NOTE = 64 * 1024;
const LATEST = 253402300799n; // the last second of the year 9999
const NONE = "none";
export const joined = (...parts) => Uint8Array.from(parts.flatMap((part) => [...part]));
export const same = (one, other) => one.length === other.length && one.every((octet, place) => octet === other[place]);
const hex = (octets) => [...octets].map((octet) => octet.toString(16).padStart(2, "0")).join("");

// Refuses by the requirement that is not met, which the page has in words.
export function demand(holds, requirement) {
  if (!holds) throw new Unmet(requirement, requirement);
}

async function verifies(octets, message, signature) {
  try {
    return await verifiesRaw(octets, message, signature);
  } catch (error) {
    if (error.name === "NotSupportedError") throw error;
    return false; // no point of the curve, or one under which anybody signs
  }
}

// Octets from base64 in its one form.
export function unpacked(text, requirement) {
  let octets;
  try {
    octets = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    throw new Unmet(requirement, requirement);
  }
  demand(btoa(String.fromCharCode(...octets)) === text, requirement);
  return octets;
}

// The checkpoint of a signed note, not yet verified.
export function opened(note) {
  const end = note.lastIndexOf("\n\n"), text = note.slice(0, end + 1), [origin, size, root, ...rest] = text.split("\n");
  demand(note.length <= MOST_OF_NOTE && !/[\x00-\x09\x0b-\x1f]/.test(note), "checkpoint");
  demand(end > 0 && origin && /^(0|[1-9]\d{0,18})$/.test(size) && rest.length === 1 && note.endsWith("\n"), "checkpoint");
  const lines = note.slice(end + 2, -1).split("\n").map((line) => /^\u2014 ([^\s\x85+]+) (\S+)$/.exec(line));
  demand(lines.every(Boolean), "checkpoint");
  const signatures = lines.map(([, name, packed]) => ({ name, octets: unpacked(packed, "checkpoint") }));
  demand(signatures.every((one) => one.octets.length >= 5), "checkpoint");
  const found = { text, origin, size: BigInt(size), root: unpacked(root, "checkpoint"), signatures };
  demand(found.root.length === 32, "checkpoint");
  return found;
}

// A key from name+id+base64.
async function keyOf(written, requirement) {
  const [, name, id, packed] = /^([^\s\x85+]+)\+([0-9a-f]{8})\+(\S+)$/.exec(written) || [];
  demand(name, requirement);
  const octets = unpacked(packed, requirement);
  demand(octets.length - 1 === OCTETS.get(octets[0]), requirement);
  const tag = (await sha256(joined(utf8(`${name}\n`), octets))).slice(0, 4);
  demand(hex(tag) === id, requirement);
  return { name, tag, kind: octets[0], octets: octets.slice(1) };
}

// The policy in a text; the key of a log alone asks for no witness.
export async function policyOf(text) {
  const policy = { logs: [], witnesses: [], groups: [], quorum: NONE };
  if (!/\s/.test(text)) {
    const key = await keyOf(text, "key");
    demand(key.kind === LOG, "key");
    return { ...policy, logs: [key] };
  }
  const lines = text.split("\n"), seen = { names: new Set([NONE]), members: new Set(), keys: new Set(), quorums: 0 };
  demand(text.length <= MOST_OF_POLICY && lines.length <= MOST_LINES && !/[\x00-\x08\x0b-\x1f\x7f]/.test(text), "policy");
  for (const line of lines) {
    const words = line.split(/[ \t]+/).filter(Boolean);
    if (words.length > 0 && !words[0].startsWith("#")) await readLine(policy, seen, words);
  }
  demand(seen.quorums === 1 && Math.max(policy.logs.length, policy.witnesses.length, policy.groups.length) <= MOST, "policy");
  return policy;
}

async function readLine(policy, seen, [what, ...words]) {
  if (what === "log" && (words.length === 1 || words.length === 2)) {
    policy.logs.push(await newKey(seen, words[0], true));
  } else if (what === "witness" && (words.length === 2 || words.length === 3)) {
    define(seen, words[0]);
    policy.witnesses.push({ label: words[0], key: await newKey(seen, words[1], false) });
  } else if (what === "group" && words.length >= 3) {
    policy.groups.push(groupOf(seen, words));
  } else {
    demand(what === "quorum" && words.length === 1 && seen.names.has(words[0]), "policy");
    seen.quorums += 1;
    policy.quorum = words[0];
  }
}

function define(seen, name) {
  demand(!seen.names.has(name), "policy");
  seen.names.add(name);
}

async function newKey(seen, written, isLog) {
  const key = await keyOf(written, "policy"), known = `${isLog} ${hex(key.octets)}`;
  demand((key.kind === LOG) === isLog && !seen.keys.has(known), "policy");
  seen.keys.add(known);
  return key;
}

function groupOf(seen, [name, threshold, ...members]) {
  for (const member of members) {
    demand(member !== NONE && seen.names.has(member) && !seen.members.has(member), "policy");
    seen.members.add(member);
  }
  define(seen, name);
  const least = { all: members.length, any: 1 }[threshold] || (/^[1-9]\d{0,3}$/.test(threshold) ? Number(threshold) : 0);
  demand(least >= 1 && least <= members.length, "policy");
  return { name, least, members };
}

function isMet(policy, names) {
  const met = new Set([...names, NONE]);
  for (const { name, least, members } of policy.groups) if (members.filter((member) => met.has(member)).length >= least) met.add(name);
  return met.has(policy.quorum);
}

// The first signature that says it is by ``key``, or undefined.
const by = (checkpoint, key) => {
  const line = checkpoint.signatures.find(({ name, octets }) => name === key.name && same(octets.slice(0, 4), key.tag));
  return line && line.octets.slice(4);
};

// When a witness cosigned, in seconds; null where it did not.
async function cosignedAt(checkpoint, key) {
  const signature = key.kind === WITNESS ? by(checkpoint, key) : undefined;
  if (signature === undefined) return null;
  demand(signature.length === 72, "cosigned");
  const seconds = BigInt(`0x${hex(signature.slice(0, 8))}`);
  demand(seconds > 0n && seconds <= LATEST, "cosigned");
  demand(await verifies(key.octets, utf8(`cosignature/v1\ntime ${seconds}\n${checkpoint.text}`), signature.slice(8)), "cosigned");
  return seconds;
}

// That a log of the policy has signed the checkpoint and a quorum has cosigned it; what was checked, by whom, and when the quorum was there.
export async function checkSigned(checkpoint, policy) {
  const present = policy.logs.filter((key) => key.name === checkpoint.origin && by(checkpoint, key) !== undefined);
  demand(present.length > 0, "signed");
  // A log that changes its key signs with both.
  for (const key of present) {
    const signature = by(checkpoint, key);
    demand(signature.length === 64 && (await verifies(key.octets, utf8(checkpoint.text), signature)), "signed");
  }
  const times = [];
  for (const { label, key } of policy.witnesses) {
    const seconds = await cosignedAt(checkpoint, key);
    if (seconds !== null) times.push({ label, seconds });
  }
  times.sort((one, other) => (one.seconds < other.seconds ? -1 : one.seconds > other.seconds ? 1 : 0));
  const names = times.map((one) => one.label);
  demand(isMet(policy, names), "quorum");
  const last = names.findIndex((_, place) => isMet(policy, names.slice(0, place + 1)));
  const isAsked = policy.quorum !== NONE;
  return {
    checked: ["signed", ...(times.length > 0 ? ["cosigned"] : []), ...(isAsked ? ["quorum"] : [])],
    witnesses: names.length > 0 ? names.join(", ") : null,
    cosignedAt: isAsked ? new Date(Number(times[last].seconds) * 1000).toISOString().replace(".000", "") : null,
  };
}
