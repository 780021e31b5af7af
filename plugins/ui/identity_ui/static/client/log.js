// The log of a DID, checked without the service.
import { canonicalize, isPublicKey, utf8 } from "./codec.js";
import { changed } from "./changes.js";
import { checkFirstHash, checkNextHash, checkProof, demand, HASH, meeting, multihash, readEntry, record, text, texts, Unmet } from "./entry.js";
import { MOST_OF_WEBVH, nextWebvh, unapproved } from "./webvh.js";
/** `line` counts from 1; `requirement` is what it does not meet. */
export class LogInvalid extends Error {
    line;
    requirement;
    constructor(message, line, requirement) {
        super(`line ${line}: ${message}`);
        this.line = line;
        this.requirement = requirement;
        this.name = "LogInvalid";
    }
}
const MOST_OCTETS = 16 * 1024;
const MOST_KEYS = 10;
const TIME = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z$/;
const PROOF_MEMBERS = "created,cryptosuite,proofPurpose,proofValue,type,verificationMethod";
/**
 * Verify the text of `getDidLog`: identity, order, integrity, the signature for each change, and that it leads from one document to the next;
 * or a log of did:webvh 1.0. Throws `LogInvalid`.
 *
 * `identity did log verify` also checks that keys of other types than Ed25519 are points of their curves, and the signatures of
 * proofs of possession of BBS keys.
 */
export async function verifyLog(log, expected = {}) {
    const lines = log.replace(/\n$/, "").split("\n");
    const isWebvh = methodOf(lines[0] ?? "").startsWith("did:webvh:");
    const states = [];
    for (const [index, line] of lines.entries()) {
        try {
            const before = states.at(-1);
            const state = isWebvh ? await nextWebvh(before, line) : await next(before, line);
            const [now, did] = [expected.now, state.did];
            await meeting("order", () => demand(now === undefined || state.at <= BigInt(now.getTime()) * 1000n, "the entry is of the future"));
            await meeting("identifier", () => demand(expected.did === undefined || isWebvh || did === expected.did, `the log is one of ${did}`));
            expected.onEntry?.(told(state, index + 1));
            states.push(state);
        }
        catch (error) {
            throw refused(error, index);
        }
    }
    const state = states.at(-1);
    const { did, number: versions, versionId, body, deactivated, updateKeys, document } = state;
    if (isWebvh)
        await checkWebvh(states, expected);
    const updated = String(body.versionTime);
    const unboundChanges = isWebvh ? undefined : state.control.unbound;
    return { did, versions, versionId, updated, deactivated, updateKeys, didDocument: document, unboundChanges };
}
function told({ versionId, body, parameters }, line) {
    const { operation, authorization } = (parameters.change ?? {});
    const said = typeof operation === "string" ? operation : undefined;
    return { line, versionId, versionTime: String(body.versionTime), operation: said, isAsked: authorization !== undefined };
}
/** The method that the first entry names, if any. */
function methodOf(line) {
    try {
        return line.length > MOST_OF_WEBVH ? "" : String(record(record(JSON.parse(line)).parameters).method);
    }
    catch {
        return "";
    }
}
/** A DID of did:webvh may move, so its last entry names the DID of the log. */
async function checkWebvh(states, expected) {
    const [last, did] = [states.length - 1, states.at(-1)?.did];
    try {
        await meeting("identifier", () => demand(expected.did === undefined || did === expected.did, `the log is one of ${did}`));
        const place = await meeting("witnesses", () => unapproved(states, expected.witnesses));
        if (place !== undefined)
            throw new LogInvalid("too few witnesses approved of the entry", place + 1, "witnesses");
    }
    catch (error) {
        throw refused(error, last);
    }
}
/** The error to throw: an error that is not a refusal of the log is unchanged. */
function refused(error, index) {
    return error instanceof Unmet ? new LogInvalid(error.message, index + 1, error.requirement) : error;
}
/** The state after an entry of a log of ours. */
async function next(before, line) {
    const entry = await meeting("form", () => readOurs(line));
    const { at, body, document, parameters, proofs } = entry;
    await meeting("order", () => {
        demand(entry.number === (before?.number ?? 0) + 1, "the entry does not have the next number");
        demand(before === undefined || at > before.at, "the entry is not later than the one before");
        demand(!before?.deactivated, "the DID was deactivated before");
    });
    const did = before?.did ?? (await born(parameters));
    await meeting("identifier", () => demand(document.id === did, "the document is one of another DID"));
    await meeting("hash", () => (before === undefined ? checkFirstHash(entry, String(parameters.scid)) : checkNextHash(entry, before.versionId)));
    const keys = await meeting("keys", () => keysOf(before, parameters));
    const signers = before === undefined || before.nextKeyHashes.length > 0 ? keys.updateKeys : before.updateKeys;
    const proof = await meeting("signature", () => theProof(proofs, body));
    const signer = await meeting("signature", () => checkProof(proof, body, signers));
    const change = await meeting("change", () => {
        const others = before === undefined ? ["method", "scid"] : ["deactivated"];
        const known = new Set(["change", "updateKeys", "nextKeyHashes", ...others]);
        demand(Object.keys(parameters).every((name) => known.has(name)), "the entry has a parameter that it cannot have");
        return record(parameters.change);
    });
    const control = await meeting("change", () => changed(before?.control, entry, did, proof));
    const proofBy = (before?.control ?? control).working.mayAuthenticate(signer, did, at) ? "controller" : "service";
    await meeting("change", () => demand(change.proofBy === proofBy, "the entry says that its proof is another's"));
    await meeting("keys", () => checkKeys(before, keys, change));
    const gone = change.operation === "logKeyRotated" && before !== undefined ? before.updateKeys : [];
    return { ...entry, did, ...keys, deactivated: parameters.deactivated === true, control: { ...control, retired: new Set([...control.retired, ...gone]) } };
}
function readOurs(line) {
    demand(utf8(line).length <= MOST_OCTETS, "the entry is too large");
    const value = JSON.parse(line);
    // Ambiguous text, such as two members of one name or a number out of range, differs from its canonical form.
    demand(canonicalize(value) === line, "the entry is not in canonical form");
    const entry = readEntry(value);
    demand(TIME.test(String(entry.body.versionTime)), "the versionTime has another form");
    return entry;
}
/** The one proof of an entry of ours, without unknown members. */
function theProof(proofs, body) {
    const [proof = {}] = proofs;
    const { possession, ...others } = proof;
    demand(proofs.length === 1 && proof.created === body.versionTime, "the entry has not one proof of its time");
    demand(Object.keys(others).sort().join() === PROOF_MEMBERS, "the proof says something else than the entry");
    demand(!("possession" in proof) || Object.keys(record(possession)).length > 0, "the proof has an empty member");
    return proof;
}
/** A change without a controller's signature must not pass the log to a key without an earlier commitment. */
function checkKeys(before, after, change) {
    const operation = text(change.operation);
    if (before === undefined || !["keyExpired", "logKeyRotated", "logKeyRetired"].includes(operation))
        return;
    const rotates = before.nextKeyHashes.length > 0;
    demand(rotates || operation === "keyExpired", "only a log that pre-rotates goes on under another key by itself");
    demand(rotates || after.nextKeyHashes.length === 0, "a log begins to pre-rotate with a change that its controller asked for");
    const stays = canonicalize([before.updateKeys, before.nextKeyHashes]) === canonicalize([after.updateKeys, after.nextKeyHashes]);
    const leaves = !after.updateKeys.some((key) => before.updateKeys.includes(key));
    const isRight = { keyExpired: stays || leaves, logKeyRotated: leaves, logKeyRetired: stays }[operation];
    demand(isRight === true, "without its controller a log keeps its keys and the next ones, or leaves every key of before");
    if (operation !== "logKeyRetired")
        return;
    const { multikey, treeSize, compromised, ...more } = record(change.retired);
    const isSaid = Number.isSafeInteger(treeSize) && Number(treeSize) > 0 && typeof compromised === "boolean" && Object.keys(more).length === 0;
    demand(isSaid && isPublicKey(text(multikey)), "the retirement of a log key is malformed");
    const isGone = before.control.retired.has(text(multikey)) && !before.updateKeys.includes(text(multikey));
    demand(isGone, "a key is retired after another has taken the log over from it");
}
/** The DID in a first entry; its hash is the identifier. */
async function born(parameters) {
    const [, prefix] = /^(did:[a-z0-9]+):1\.0$/.exec(String(parameters.method)) ?? [];
    if (prefix === undefined)
        throw new Unmet("method", "the log is of an unknown method");
    const isHash = typeof parameters.scid === "string" && new RegExp(`^${HASH}$`).test(parameters.scid);
    if (!isHash)
        throw new Unmet("identifier", "the first entry has no identifier");
    return `${prefix}:${String(parameters.scid)}`;
}
/** The keys that may sign (did:webvh 1.0, "Authorized Keys" and "Pre-Rotation Key Hash Generation and Verification"). */
async function keysOf(before, parameters) {
    const rotates = before !== undefined && before.nextKeyHashes.length > 0;
    const says = "updateKeys" in parameters || "nextKeyHashes" in parameters;
    const ends = "deactivated" in parameters;
    if (before !== undefined && !rotates && (!says || ends)) {
        const isPlain = !ends || (canonicalize(parameters.updateKeys ?? null) === "[]" && !("nextKeyHashes" in parameters));
        demand(isPlain, "a log that ends says that no key may go on with it");
        return { updateKeys: before.updateKeys, nextKeyHashes: before.nextKeyHashes };
    }
    demand("updateKeys" in parameters && (!rotates || "nextKeyHashes" in parameters), "the entry does not say updateKeys and nextKeyHashes");
    const [updateKeys, nextKeyHashes] = [texts(parameters.updateKeys, MOST_KEYS), "nextKeyHashes" in parameters ? texts(parameters.nextKeyHashes, MOST_KEYS) : []];
    demand(updateKeys.length > 0 && updateKeys.every(isPublicKey), "the entry names no key, or what is none of Ed25519");
    demand(nextKeyHashes.every((hash) => new RegExp(`^${HASH}$`).test(hash)), "nextKeyHashes has what is not a hash");
    // The holder of the present key alone must not be able to pass the log on.
    const goesOn = nextKeyHashes.length > 0 || (before === undefined && !("nextKeyHashes" in parameters));
    demand(goesOn === (before === undefined || !ends), "a log that pre-rotates does so until its end");
    const committed = before?.nextKeyHashes ?? [];
    for (const key of rotates ? updateKeys : [])
        demand(committed.includes(await multihash(key)), "the entry before did not commit to a key of updateKeys");
    return { updateKeys, nextKeyHashes };
}
