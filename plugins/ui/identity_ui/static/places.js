// Where an entry stands in the ledger's log (C2SP tlog-proof), and that the log of one checkpoint grew from that of another (RFC 9162).
import { base64urlDecode, sha256 } from "./client/codec.js";
import { parseStrict } from "./client/entry.js";
import { verifyLog } from "./client/log.js";
import { checkSigned, demand, joined, opened, same, unpacked } from "./notes.js";

const FIRST_LINE = "c2sp.org/tlog-proof@v1";
const MOST_HASHES = 63, MOST_CHARACTERS = 128 * 1024;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
const LEAF = /^identity-ledger-leaf\/v1\nsequence ([1-9]\d{0,18})\ntransaction ([0-9a-f]{64})\nblock ([1-9]\d{0,18})\nrecorded (\S+)\nversion ([1-9]\d{0,18})\ndid ([^\n]+)\n\n/;
const NOTE = /[^\n]+\n[^\n]+\n[^\n]+\n\n(?:\u2014 [^\n]+\n)+/g;
const OF_GROWTH = "first,firstRootHash,hashes,second,secondRootHash";

const node = (left, right) => sha256(joined([1], left, right));

// RFC 9162 §2.1.3.2; ``index`` and ``size`` are of BigInt.
async function rootOf(leaf, index, size, hashes) {
  demand(index < size, "path");
  let place = index, last = size - 1n, hash = leaf;
  for (const sibling of hashes) {
    demand(last > 0n, "path");
    if (place & 1n || place === last) {
      hash = await node(sibling, hash);
      while (!(place & 1n) && place) [place, last] = [place >> 1n, last >> 1n];
    } else {
      hash = await node(hash, sibling);
    }
    [place, last] = [place >> 1n, last >> 1n];
  }
  demand(last === 0n, "path");
  return hash;
}

// What ``identity ledger prove`` writes: the entry itself is in ``extra``. ``policy`` is null where nobody said whose checkpoints count,
// ``service`` the text of the service's own log, or empty. The log of any DID looks like it: it counts as checked only for ``expectedDid``.
export async function checkPlace(text, policy, service, expectedDid = "") {
  const end = text.indexOf("\n\n"), lines = text.slice(0, Math.max(end, 0)).split("\n");
  demand(text.length <= MOST_CHARACTERS && end > 0 && lines[0] === FIRST_LINE, "place");
  const [, packed] = /^extra (\S+)$/.exec(lines[1]) || [], [, index] = /^index (0|[1-9]\d{0,18})$/.exec(lines[2]) || [];
  demand(packed && index && lines.length - 3 <= MOST_HASHES, "place");
  const extra = unpacked(packed, "place"), hashes = lines.slice(3).map((line) => unpacked(line, "place"));
  demand(hashes.every((hash) => hash.length === 32), "place");
  const leaf = new TextDecoder("utf-8", { ignoreBOM: true }).decode(extra), [head, sequence, transaction, , recorded, version, did] = LEAF.exec(leaf) || [];
  demand(sequence && TIME.test(recorded) && !did.includes("\ufffd"), "place"); // octets that are no text
  demand(BigInt(sequence) - 1n === BigInt(index), "path");
  const checkpoint = opened(text.slice(end + 2));
  demand(same(await rootOf(await sha256(joined([0], extra)), BigInt(index), checkpoint.size, hashes), checkpoint.root), "path");
  const signed = policy === null ? { checked: [] } : await checkSigned(checkpoint, policy);
  const told = { did, version, transaction, time: recorded, index, size: String(checkpoint.size), origin: checkpoint.origin, ...signed };
  demand(service !== "" || expectedDid === "", "service");
  if (service === "") return told;
  const serviceDid = await checkNotRetired(service, leaf.slice(head.length), BigInt(index));
  if (expectedDid === "") return { ...told, serviceDid };
  demand(serviceDid === expectedDid, "service");
  return { ...told, serviceDid, checked: [...signed.checked, "service", "retired"] };
}

// That no retired key has signed the entry, where it stands at or past the size of the log at which the key was retired.
async function checkNotRetired(service, entry, index) {
  const retired = new Map();
  let did;
  try {
    ({ did } = await verifyLog(service));
    for (const line of service.replace(/\n$/, "").split("\n")) {
      const { change, updateKeys, nextKeyHashes } = JSON.parse(line).parameters;
      // Each entry of a service's log is signed by the generation of the log key that it names, and commits to the next.
      demand(updateKeys && updateKeys.length === 1 && nextKeyHashes && nextKeyHashes.length > 0, "service");
      if (change.operation !== "logKeyRetired") continue;
      const { multikey, treeSize } = change.retired, known = retired.get(multikey);
      // Said twice, the earlier holds.
      retired.set(multikey, known === undefined || treeSize < known ? treeSize : known);
    }
  } catch (error) {
    if (error.name === "NotSupportedError") throw error;
    demand(false, "service");
  }
  let signer = null;
  try {
    [, signer] = /^did:key:([^#]+)#/.exec(JSON.parse(entry).proof[0].verificationMethod) || [];
  } catch {
    // An entry of another method: no key of this service has signed it.
  }
  demand(!retired.has(signer) || index < BigInt(retired.get(signer)), "retired");
  return did;
}

// RFC 9162 §2.1.4.2: the roots of both trees, as the hashes lead to them from the root of the older.
async function rootsOf(first, second, root, hashes) {
  demand(first > 0n && first < second, "growth");
  const steps = first & (first - 1n) ? [...hashes] : [root, ...hashes];
  demand(steps.length > 0, "growth");
  let place = first - 1n, last = second - 1n;
  while (place & 1n) [place, last] = [place >> 1n, last >> 1n];
  let older = steps[0], newer = steps[0];
  for (const step of steps.slice(1)) {
    demand(last > 0n, "growth");
    if (place & 1n || place === last) {
      [older, newer] = [await node(step, older), await node(step, newer)];
      while (!(place & 1n) && place) [place, last] = [place >> 1n, last >> 1n];
    } else {
      newer = await node(newer, step);
    }
    [place, last] = [place >> 1n, last >> 1n];
  }
  demand(last === 0n, "growth");
  return [older, newer];
}

// What getLedgerConsistencyProof answers, and two checkpoints, the older first.
export async function checkGrowth(text, policy, notes) {
  let first, second, hashes, roots;
  try {
    const said = parseStrict(text);
    demand(Object.keys(said).sort().join() === OF_GROWTH, "answer");
    ({ first, second } = said);
    demand(Number.isSafeInteger(first) && Number.isSafeInteger(second) && said.hashes.length <= 2 * MOST_HASHES, "answer");
    [hashes, roots] = [said.hashes, [said.firstRootHash, said.secondRootHash]].map((each) => each.map(base64urlDecode));
    demand([...hashes, ...roots].every((hash) => hash.length === 32), "answer");
  } catch {
    demand(false, "answer");
  }
  const found = (notes.match(NOTE) || []).map(opened), rest = notes.replace(NOTE, "").trim();
  demand(found.length === 2 && rest === "" && found[0].origin === found[1].origin, "checkpoints");
  const isTheirs = ({ size, root }, place) => size === BigInt([first, second][place]) && same(root, roots[place]);
  demand(found.every(isTheirs), "checkpoints");
  if (first === second) demand(hashes.length === 0 && same(roots[0], roots[1]), "growth");
  else {
    const computed = await rootsOf(BigInt(first), BigInt(second), roots[0], hashes);
    demand(computed.every((root, place) => same(root, roots[place])), "growth");
  }
  const [older, newer] = policy === null ? [{ checked: [] }, {}] : [await checkSigned(found[0], policy), await checkSigned(found[1], policy)];
  return { firstSize: String(first), size: String(second), origin: found[0].origin, ...newer, checked: older.checked };
}
