// Logs of did:webvh 1.0 (https://identity.foundation/didwebvh/v1.0/), read as a resolver reads them, without fetching.
import { isPublicKey, utf8 } from "./codec.js";
import { checkFirstHash, checkNextHash, checkProof, demand, HASH, meeting, multihash, parseStrict, readEntry, record, text, texts, Unmet } from "./entry.js";
const VERSION = "did:webvh:1.0";
/** Maximum number of bytes of an entry. */
export const MOST_OF_WEBVH = 256 * 1024;
const DEFAULTS = { updateKeys: [], nextKeyHashes: [], witness: {}, watchers: [], portable: false, deactivated: false, ttl: 3600 };
const DID = new RegExp(`^did:webvh:(${HASH}):([^:]+)((?::(?:[A-Za-z0-9._-]|%[0-9A-Fa-f]{2})+)*)$`);
const LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
const HOST = new RegExp(`^(?:${LABEL}\\.)+(${LABEL})(?:%3A[1-9][0-9]{1,4})?$`);
// An address has a number for its last label (WHATWG URL, "ends in a number"), and no domain does.
const NUMBER = /^(?:0[xX][0-9A-Fa-f]*|[0-9]+)$/;
/** The state after the entry of a line. */
export async function nextWebvh(before, line) {
    const [entry, parameters] = await meeting("form", () => {
        demand(utf8(line).length <= MOST_OF_WEBVH, "the entry is too large");
        const read = readEntry(parseStrict(line));
        return [read, parametersOf(before, read.parameters)];
    });
    await meeting("order", () => {
        demand(entry.number === (before?.number ?? 0) + 1, "the entry does not have the next number");
        demand(!before?.deactivated, "the DID was deactivated before");
        demand(before === undefined || entry.at > before.at, "the entry is not later than the one before");
    });
    const scid = before?.scid ?? (await meeting("identifier", () => text(parameters.scid)));
    await meeting("hash", () => (before === undefined ? checkFirstHash(entry, scid) : checkNextHash(entry, before.versionId)));
    const { portable, deactivated } = parameters;
    const did = await meeting("identifier", () => didOf(before, entry.document, scid, portable));
    const [updateKeys, nextKeyHashes, signers] = await meeting("keys", async () => {
        const own = texts(parameters.updateKeys);
        return [own, texts(parameters.nextKeyHashes), await signersOf(before, entry.parameters, own)];
    });
    await meeting("signature", async () => {
        for (const proof of entry.proofs)
            await checkProof(proof, entry.body, signers);
    });
    const witnesses = await meeting("form", () => ("witness" in entry.parameters ? witnessesOf(parameters.witness) : before?.witnesses));
    return { ...entry, did, scid, updateKeys, nextKeyHashes, witnesses, portable, deactivated };
}
/** The parameters in force: those of the entry over those before over the defaults ("DID Method Parameters"). */
function parametersOf(before, said) {
    const defaults = DEFAULTS;
    const given = Object.fromEntries(Object.entries(said).map(([name, value]) => [name, value === null ? defaults[name] : value]));
    const isKnown = ("method" in given || before === undefined ? given.method : VERSION) === VERSION;
    if (!isKnown)
        throw new Unmet("method", "the log is of another version of did:webvh");
    for (const name of Object.keys(given))
        demand(Object.hasOwn(DEFAULTS, name) || name === "method" || name === "scid", "a parameter is unknown");
    demand(("scid" in given) === (before === undefined), "the first entry has an scid, and no other has");
    demand(before !== undefined || "updateKeys" in given, "the first entry names no updateKeys");
    const { updateKeys, nextKeyHashes, portable } = before ?? DEFAULTS;
    const inForce = { ...DEFAULTS, updateKeys, nextKeyHashes, portable, ...given };
    texts(inForce.watchers);
    for (const name of ["portable", "deactivated"])
        demand(typeof inForce[name] === "boolean", `${name} is neither true nor false`);
    const { ttl } = inForce;
    demand(Number.isInteger(ttl) && 0 <= Number(ttl) && Number(ttl) <= 2 ** 31, "ttl is not a number of seconds");
    demand(before === undefined || given.portable !== true || before.portable, "a DID is portable from the start or never");
    return inForce;
}
/** The keys that may sign: those before the entry; with pre-rotation its own, to which the previous entry committed. */
async function signersOf(before, said, own) {
    const committed = before?.nextKeyHashes ?? [];
    const rotates = committed.length > 0;
    demand(!rotates || ("updateKeys" in said && "nextKeyHashes" in said), "with pre-rotation every entry says updateKeys and nextKeyHashes");
    for (const key of rotates ? own : [])
        demand(committed.includes(await multihash(key)), "the entry before did not commit to a key of updateKeys");
    const signers = before === undefined || rotates ? own : before.updateKeys;
    for (const key of signers)
        demand(isPublicKey(key), "an update key is not an Ed25519 multikey");
    return signers;
}
function didOf(before, document, scid, portable) {
    const did = text(document.id);
    const [, named, host = "", path = ""] = DID.exec(did) ?? [];
    demand(named === scid, "the document is one of another DID");
    const [, top] = HOST.exec(host) ?? [];
    demand(top !== undefined && !NUMBER.test(top), "the host is not a domain name");
    for (const segment of path.split(":").slice(1).map(unescaped))
        demand(segment !== "." && segment !== ".." && !/[\p{C}\p{Z}/\\?#%]/u.test(segment.replaceAll(" ", "")), "the path leaves its place");
    if (before === undefined || did === before.did)
        return did;
    const aliases = document.alsoKnownAs;
    const toldFrom = portable && Array.isArray(aliases) && aliases.includes(before.did);
    demand(toldFrom, "the DID was moved without being portable, or without naming where it came from");
    return did;
}
/** The text of a segment of a path. Bytes that are not UTF-8 become a replacement character, as in the service. */
function unescaped(segment) {
    const octets = Array.from(segment.match(/%..|./g) ?? [], (one) => (one.length === 3 ? parseInt(one.slice(1), 16) : one.charCodeAt(0)));
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(octets));
}
function witnessesOf(value) {
    const said = record(value);
    if (Object.keys(said).length === 0)
        return undefined;
    demand(Object.keys(said).sort().join() === "threshold,witnesses" && Array.isArray(said.witnesses), "witness is malformed");
    const ids = said.witnesses.map((one) => text(record(one).id).replace(/^did:key:/, ""));
    const [keys, threshold] = [texts(ids), Number(said.threshold)];
    for (const key of keys)
        demand(isPublicKey(key), "a witness key is not an Ed25519 multikey");
    const isReachable = typeof said.threshold === "number" && Number.isInteger(threshold) && 1 <= threshold && threshold <= keys.length;
    demand(isReachable, "the threshold cannot be met, or asks for nobody");
    return { threshold, keys };
}
/**
 * The number, from 0, of the first entry with too few approvals, by the text of `did-witness.json` ("DID Witnesses"). An approval holds for all entries
 * before its own, and a list that is replaced must itself approve of the entry that replaces it.
 */
export async function unapproved(states, witnessFile) {
    const required = states.map((state, place) => states[place - 1]?.witnesses ?? state.witnesses);
    const last = required.flatMap((witnesses, place) => (witnesses === undefined ? [] : [place])).at(-1);
    if (last === undefined || witnessFile === undefined)
        return last;
    const everybody = new Set(required.flatMap((witnesses) => witnesses?.keys ?? []));
    const approvals = parseStrict(witnessFile);
    demand(Array.isArray(approvals), "did-witness.json is not a list");
    const said = new Map();
    for (const one of approvals) {
        const { versionId, proof } = record(one);
        demand(Array.isArray(proof), "did-witness.json is malformed");
        const known = said.get(text(versionId)) ?? [];
        said.set(text(versionId), known);
        for (const each of proof)
            known.push(each);
    }
    const seen = new Set();
    for (const [place, { versionId }] of [...states.entries()].reverse()) {
        for (const proof of said.get(versionId) ?? []) {
            const key = await approver(proof, versionId, everybody);
            if (key !== undefined)
                seen.add(key);
        }
        const witnesses = required[place];
        if (witnesses !== undefined && witnesses.keys.filter((key) => seen.has(key)).length < witnesses.threshold)
            return place;
    }
    return undefined;
}
/** The witness of a valid approval; an invalid one is ignored. */
async function approver(proof, versionId, everybody) {
    try {
        return await checkProof(record(proof), { versionId }, everybody);
    }
    catch {
        return undefined;
    }
}
