// A line of a log in the did:webvh 1.0 entry shape: what our own logs and those of did:webvh have in common.
import { base58, base58Decode, canonicalize, sha256, utf8, verifies } from "./codec.js";
/** The first requirement that an entry does not meet. */
export class Unmet extends TypeError {
    requirement;
    constructor(requirement, message) {
        super(message);
        this.requirement = requirement;
    }
}
/** What `work` gives; what it refuses is refused by `requirement`, where nothing within it said another. */
export async function meeting(requirement, work) {
    try {
        return await work();
    }
    catch (error) {
        if (error instanceof Unmet || isUnable(error))
            throw error;
        throw new Unmet(requirement, error instanceof Error ? error.message : String(error));
    }
}
/** Whether the runtime lacks Ed25519, which says nothing about a log. */
const isUnable = (error) => error instanceof Error && error.name === "NotSupportedError";
export const HASH = "Qm[1-9A-HJ-NP-Za-km-z]{44}";
const MEMBERS = "parameters,proof,state,versionId,versionTime";
const VERSION_ID = new RegExp(`^([1-9][0-9]{0,9})-(${HASH})$`);
const TIME = /^([0-9]{4}-[0-9]{2}-[0-9]{2})T([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?(Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$/;
const [FIRST, LAST] = ["0001-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z"].map(Date.parse);
/** Exactly the five members, each of its type. */
export function readEntry(value) {
    const entry = record(value);
    demand(Object.keys(entry).sort().join() === MEMBERS, "the entry does not have exactly the members of an entry");
    const { proof, ...body } = entry;
    demand(Array.isArray(proof) && proof.length > 0, "the entry has no proof");
    const [, number, hash] = VERSION_ID.exec(text(body.versionId)) ?? [];
    demand(hash !== undefined, "the versionId is not a number and a hash");
    const [parameters, document] = [record(body.parameters), record(body.state)];
    const [versionId, at] = [text(body.versionId), instantOf(text(body.versionTime))];
    return { number: Number(number), versionId, hash, at, parameters, document, proofs: proof.map(record), body };
}
/** The value of a JSON text that can be read in one way: no name twice in an object, no integer that a number does not hold. */
export function parseStrict(line) {
    const value = JSON.parse(line);
    const between = line.replace(/"(?:[^"\\]|\\.)*"/g, '"');
    demand(between.split(":").length - 1 === members(value), "an object has two members of the same name");
    for (const number of between.match(/-?[0-9][0-9.eE+-]*/g) ?? [])
        demand(/[.eE]/.test(number) || Number.isSafeInteger(Number(number)), "an integer is too large");
    return value;
}
function members(value) {
    if (typeof value !== "object" || value === null)
        return 0;
    const values = Object.values(value);
    return values.reduce((sum, one) => sum + members(one), Array.isArray(value) ? 0 : values.length);
}
/**
 * RFC 3339 §5.6 with a zone, in microseconds. `Date.parse` takes days that do not exist. As in the service, leap seconds and times outside
 * the years 1 to 9999 in UTC are refused.
 */
export function instantOf(time) {
    const [, day = "", clock = "", fraction = "", zone = ""] = TIME.exec(time.toUpperCase()) ?? [];
    const [local, instant] = [Date.parse(`${day}T${clock}Z`), Date.parse(`${day}T${clock}${zone}`)];
    const isInCalendar = !day.startsWith("0000") && instant >= FIRST && instant <= LAST;
    const isTime = isInCalendar && new Date(local).toISOString() === `${day}T${clock}.000Z`;
    demand(isTime, "the versionTime is not a time");
    return BigInt(instant) * 1000n + BigInt(fraction.padEnd(6, "0").slice(0, 6));
}
/** The hash of the first entry, with a placeholder wherever it stands, is the identifier; its own hash covers the identifier put in. */
export async function checkFirstHash(entry, scid) {
    const octets = canonicalize({ ...entry.body, versionId: scid });
    const follows = (await multihash(octets.replaceAll(scid, "{SCID}"))) === scid;
    if (!follows)
        throw new Unmet("identifier", "the identifier does not follow from the first entry");
    demand((await multihash(octets)) === entry.hash, "the hash does not fit the entry");
}
/** The hash of a later entry covers it with the versionId of its predecessor in place of its own. */
export async function checkNextHash(entry, predecessor) {
    const octets = canonicalize({ ...entry.body, versionId: predecessor });
    demand((await multihash(octets)) === entry.hash, "the hash does not fit the entry");
}
/** The one of `signers` that made a good proof of `body`: `eddsa-jcs-2022` (VC Data Integrity EdDSA 1.0 §3.3) by a did:key. */
export async function checkProof(proof, body, signers) {
    const { proofValue, ...config } = proof;
    const right = config.type === "DataIntegrityProof" && config.cryptosuite === "eddsa-jcs-2022";
    demand(right && config.proofPurpose === "assertionMethod", "the proof is of another type, cryptosuite or purpose");
    // Body and fragment must be the same key: some readers look at one, some at the other.
    const signer = [...signers].find((key) => config.verificationMethod === `did:key:${key}#${key}`);
    if (signer === undefined)
        throw new Unmet("keys", "the proof is by a key that may not sign this entry");
    demand(typeof proofValue === "string" && proofValue.startsWith("z"), "the signature of the proof is wrong");
    const parts = await Promise.all([config, body].map((part) => sha256(utf8(canonicalize(part)))));
    const signature = base58Decode(proofValue.slice(1));
    const good = await verifies(signer, Uint8Array.from(parts.flatMap((part) => [...part])), signature);
    demand(good, "the signature of the proof is wrong");
    return signer;
}
export const multihash = async (text) => base58(Uint8Array.from([0x12, 0x20, ...(await sha256(utf8(text)))]));
export function record(value) {
    if (typeof value !== "object" || value === null || Array.isArray(value))
        throw new TypeError("a part of the log is not an object");
    return value;
}
export function text(value) {
    if (typeof value !== "string")
        throw new TypeError("a part of the log is not text");
    return value;
}
/** Texts, none of them twice. */
export function texts(value, most = Infinity) {
    demand(Array.isArray(value) && value.length <= most && new Set(value).size === value.length, "a list is not a list, too long, or has something twice");
    return value.map(text);
}
export function demand(holds, otherwise) {
    if (!holds)
        throw new TypeError(otherwise);
}
