// What the entries of a log of ours say has changed: who asked for it, and whether it makes this document of the one before.
import { base64urlDecode, canonicalize, hashBody, isPublicKey, utf8, verifies } from "./codec.js";
import { demand, instantOf, meeting, record, text, texts } from "./entry.js";
import { Working } from "./working.js";
const SECOND = 1000000n;
const DAY = 86400n * SECOND;
const SECONDS = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$/;
// Label and origin, DID, purpose, hash of the body, nonce, expiry.
const CHALLENGE = /^didauth:v1 [!-~]{1,512} (\S+) (\S+) (\S+) (\S+) ([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)$/;
const MOST_OF_CHALLENGE = 2048;
const MOST_OPERATIONS = 50;
const MOST_BBS_KEYS = 3;
const POSSESSION_OCTETS = 80;
const BBS = "Bls12381G2Key2020";
const PURPOSES = {
    update: "update",
    keyRotated: "rotate",
    recovered: "recover",
    deactivated: "deactivate",
};
const BIRTH = ["strictGrace", "strictEvidence", "recoveryWindow"];
// What a change says beside its operation.
const MEMBERS = {
    create: [...BIRTH, "recoveryKey"],
    update: ["authorization", "operations", "strictEvidence"],
    keyRotated: ["authorization", "newKey", "oldKeyId", "revokeAt"],
    recovered: ["authorization", "newKey", "recoveryKey", "restoreVersion", "revokeAll"],
    deactivated: ["authorization"],
    logKeyRetired: ["retired"],
};
/** The state after an entry of the DID `did`, whose `proof` may show that who lists a BBS key has it. */
export async function changed(before, entry, did, proof) {
    const change = record(entry.parameters.change);
    const operation = text(change.operation);
    const known = new Set(["operation", "proofBy", "possession", ...(Object.hasOwn(MEMBERS, operation) ? (MEMBERS[operation] ?? []) : [])]);
    demand(Object.keys(change).every((name) => known.has(name)), "the change has a member that its operation has not");
    demand((operation === "create") === (before === undefined), "a first entry creates, and no other does");
    demand(entry.parameters.deactivated === (operation === "deactivated" ? true : undefined), "an entry ends the DID, or says so, alone");
    const after = before === undefined ? born(entry, change, did) : await followed(before, entry, change, operation, did);
    if (operation !== "deactivated")
        after.working.check(did);
    const made = after.working.json(did);
    demand(canonicalize(made) === canonicalize(entry.document), "the document is not what the change makes of the one before");
    return { ...after, proves: possessed(before, after, change, proof) };
}
/** Whether BBS keys come with proofs of possession from here on; one that joins then has a proof beside it, whose pairing is not computed here. */
function possessed(before, after, change, proof) {
    const begins = "possession" in change;
    demand(!begins || (change.possession === true && before?.proves !== true), "an entry begins to ask for proofs of possession, once");
    const proves = begins || before?.proves === true;
    const offered = proof.possession === undefined ? {} : record(proof.possession);
    if (!proves)
        demand(Object.keys(offered).length === 0, "proofs of possession are asked for from one entry on, and not before");
    else {
        const restored = before?.past.find(({ number }) => number === change.restoreVersion);
        const fresh = after.working.keysOf(BBS).filter((key) => !(restored ?? before)?.working.has(key));
        demand(fresh.length <= MOST_BBS_KEYS && [...fresh].sort().join() === Object.keys(offered).sort().join(), "a BBS key that joins has a proof of possession");
        for (const each of Object.values(offered))
            demand(base64urlDecode(text(each)).length === POSSESSION_OCTETS, "a proof of possession has 80 octets");
    }
    return proves;
}
function born(entry, change, did) {
    const { strictGrace, strictEvidence, recoveryWindow = 72 * 3600, recoveryKey } = change;
    // What is as it was before there was a choice is not said.
    const isPlain = [undefined, false].includes(strictGrace) && [undefined, true].includes(strictEvidence);
    const isWindow = Number.isInteger(recoveryWindow) && 0 <= Number(recoveryWindow) && Number(recoveryWindow) <= 30 * 86_400;
    const isRule = isPlain && isWindow && change.recoveryWindow !== 72 * 3600;
    demand(isRule, "the first entry says the rules of its log in another form");
    const working = Working.read(entry.document, did);
    working.demandController();
    const isKey = recoveryKey === undefined || (isPublicKey(text(recoveryKey)) && !working.has(text(recoveryKey)));
    demand(isKey, "the recovery key is none, or in the document");
    return {
        number: 1,
        at: entry.at,
        working,
        recoveryKey: recoveryKey === undefined ? undefined : text(recoveryKey),
        strictGrace: strictGrace === undefined,
        strictEvidence: strictEvidence === true,
        unbound: 0,
        recoveryWindow: BigInt(Number(recoveryWindow)) * SECOND,
        retired: new Set(),
        challenges: new Map(),
        proves: false,
        past: [],
    };
}
async function followed(before, entry, change, operation, did) {
    const { at, number } = entry;
    const ends = before.working.due();
    const challenges = new Map([...before.challenges].filter(([, end]) => end > at));
    const past = [...before.past.filter(({ until }) => at - until <= before.recoveryWindow), { number: before.number, until: at, working: before.working }];
    const following = { ...before, number, at, past, challenges };
    if (operation === "keyExpired") {
        demand(ends === at, "no grace period ends at this time");
        const working = before.working.without((method) => method.revoked !== undefined && instantOf(method.revoked) === at);
        return { ...following, working, retired: withGone(before, working, before.recoveryKey, before.retired) };
    }
    demand(ends === undefined || ends > at, "a grace period has ended, and its version is missing");
    if (operation === "logKeyRotated" || operation === "logKeyRetired")
        return { ...following, past: before.past };
    const begins = operation === "update" && "strictEvidence" in change;
    demand(!begins || (change.strictEvidence === true && !before.strictEvidence), "strictEvidence begins once, and is never turned off");
    const strictEvidence = before.strictEvidence || begins;
    const [asked, challenge, expiry, isBound] = await meeting("controller", () => authorised({ ...before, strictEvidence }, entry, change, operation, did));
    const unbound = before.unbound + (isBound ? 0 : 1);
    const [working, recoveryKey, back] = applied(before, at, change, operation, asked, did);
    working.list(entry.document);
    const retired = new Set([...before.retired].filter((key) => !back.has(key)));
    return { ...following, working, recoveryKey, strictEvidence, unbound, challenges: challenges.set(challenge, expiry), retired: withGone(before, working, recoveryKey, retired) };
}
/** The new document and recovery key, and the keys that came back with a restored version. */
function applied(before, at, change, operation, asked, did) {
    const working = before.working.copy();
    const isNew = (key) => !working.has(key) && !before.working.has(key) && key !== before.recoveryKey && !before.retired.has(key);
    const nothing = new Set();
    switch (operation) {
        case "update": {
            const operations = asked === undefined ? change.operations : stepsOf(asked);
            demand(Array.isArray(operations) && operations.length > 0 && operations.length <= MOST_OPERATIONS, "an update has no operations, or too many");
            for (const step of operations)
                working.apply(record(step), did, isNew, asked !== undefined);
            const begins = operations.some((step) => step.operation === "setStrictEvidence");
            demand(begins === "strictEvidence" in change, "an entry begins strictEvidence where its body asks for that, and says so");
            break;
        }
        case "keyRotated": {
            const [key, old] = [keyOf(change.newKey), working.method(text(change.oldKeyId))];
            const multibase = text(key.publicKeyMultibase);
            demand(old.revoked === undefined && isNew(multibase), "the key was rotated already, or its successor is not new");
            const purposes = texts(key.purposes);
            working.add(did, text(key.type), multibase, purposes.length > 0 ? purposes : working.purposes(old.id), old.id);
            const end = change.revokeAt === undefined ? undefined : text(change.revokeAt);
            demand(end === undefined || SECONDS.test(end), "the end of a grace period has another form");
            if (end === undefined || instantOf(end) <= at)
                working.remove(old.id);
            else
                old.revoked = end;
            break;
        }
        case "recovered": {
            const [version, key, successor] = ["restoreVersion" in change ? change.restoreVersion : before.number, keyOf(change.newKey), text(change.recoveryKey)];
            demand(typeof change.revokeAll === "boolean" && isPublicKey(successor), "a recovery is malformed");
            const restored = version === before.number ? before : before.past.find((one) => one.number === version && at - one.until <= before.recoveryWindow);
            demand(restored !== undefined, "the version that is restored is out of reach");
            const start = restored.working.without((method) => method.revoked !== undefined && instantOf(method.revoked) <= at && restored !== before);
            const multibase = text(key.publicKeyMultibase);
            demand(isNew(multibase) && isNew(successor) && multibase !== successor, "a key of the recovery is not new");
            const recovered = change.revokeAll === true ? start.without(() => true) : start;
            recovered.add(did, text(key.type), multibase, texts(key.purposes));
            recovered.demandController();
            return [recovered, successor, new Set(recovered.keys())];
        }
        default:
            return [new Working(), undefined, nothing];
    }
    working.demandController();
    return [working, before.recoveryKey, nothing];
}
function withGone(before, working, recoveryKey, retired) {
    const gone = before.working.keys().filter((key) => !working.has(key));
    return new Set([...retired, ...gone, ...(before.recoveryKey !== undefined && before.recoveryKey !== recoveryKey ? [before.recoveryKey] : [])]);
}
/** The key that a change brings, with nothing else. */
function keyOf(value) {
    const key = record(value);
    demand(Object.keys(key).sort().join() === "publicKeyMultibase,purposes,type", "a key has other members");
    return key;
}
/** The operations that a body of updateDid asks for. */
function stepsOf(asked) {
    demand(!("operations" in asked) || Object.keys(asked).length === 1, "operations stands alone in a body");
    return "operations" in asked ? asked.operations : [asked];
}
/** Checks the controller's signature. Gives the body that it is over, where the log asks for bodies, the challenge with its end, and whether
 * it is bound to what the entry states. */
async function authorised(before, entry, change, operation, did) {
    const purpose = PURPOSES[operation];
    demand(purpose !== undefined, "the entry records an unknown kind of change");
    const evidence = record(change.authorization);
    const [key, challenge, isRecovery] = [text(evidence.key), text(evidence.challenge), operation === "recovered"];
    const members = Object.keys(evidence).filter((name) => name !== "body");
    demand(members.sort().join() === "challenge,key,scheme,signature", "the evidence has other members");
    demand(evidence.scheme === (isRecovery ? "RecoveryKey" : "DIDAuth"), "the evidence is of another scheme");
    const mayAsk = isRecovery ? key === before.recoveryKey : before.working.mayAuthenticate(key, did, entry.at);
    demand(mayAsk, "the change was asked for by a key that does not control the DID");
    const [, named, offered, hash = "", nonce = "", expiry = ""] = CHALLENGE.exec(challenge) ?? [];
    const bound = offered === purpose || (offered === "-" && !before.strictEvidence);
    demand(challenge.length <= MOST_OF_CHALLENGE && named === did && bound, "the evidence is for something else");
    demand([nonce, ...(hash === "-" ? [] : [hash])].every((part) => base64urlDecode(part).length === 32), "the evidence is for something else");
    const end = instantOf(expiry);
    const lifetime = end - entry.at;
    demand(lifetime > 0n && lifetime <= DAY, "the challenge was not in force");
    demand(!before.challenges.has(challenge), "the challenge was spent before");
    const good = await verifies(key, utf8(challenge), base64urlDecode(text(evidence.signature)));
    demand(good, "the controller's signature is wrong");
    const asked = evidence.body === undefined ? undefined : record(evidence.body);
    demand((asked !== undefined) === (before.strictEvidence && operation !== "deactivated"), "the entry lacks a body, or keeps one that is not asked for");
    demand(!before.strictEvidence || hash !== "-", "the challenge is bound to no body");
    if (asked !== undefined)
        demand((await hashBody(canonicalize(asked))) === hash && asks(asked, change, operation, did), "the body asks for something else");
    const isInGrace = before.strictGrace && !isRecovery && before.working.method(`${did}#${key}`).revoked !== undefined;
    demand(!isInGrace || !touchesControl(change, operation, asked), "a key in its grace period cannot do this");
    return [asked, challenge, end, before.strictEvidence || (operation === "deactivated" && offered === purpose && hash !== "-")];
}
function touchesControl(change, operation, asked) {
    const steps = asked === undefined ? change.operations : stepsOf(asked);
    const ofKeys = (step) => /(VerificationMethod|StrictEvidence)$/.test(String(record(step).operation));
    return operation !== "update" || steps.some(ofKeys);
}
/** Whether a body of rotateDidKey or recoverDid asks for the change; an update is read from its body alone. */
function asks(asked, change, operation, did) {
    if (operation === "update")
        return !("operations" in change);
    const key = record(change.newKey);
    if (operation === "keyRotated") {
        const [old, end] = [text(asked.oldKeyId), typeof asked.revokeOldAfter === "string" ? asked.revokeOldAfter : undefined];
        return ((old.startsWith("#") ? did + old : old) === change.oldKeyId &&
            Working.typeOf(text(asked.newKeyType)) === key.type &&
            ("newPublicKeyMultibase" in asked ? asked.newPublicKeyMultibase : key.publicKeyMultibase) === key.publicKeyMultibase &&
            canonicalize("purpose" in asked ? asked.purpose : []) === canonicalize(key.purposes) &&
            secondOf(end) === secondOf(change.revokeAt));
    }
    const [first, successor] = [record(asked.newAuthenticationKey), asked.newRecoveryKey];
    return (Working.typeOf(text(first.type)) === key.type &&
        first.publicKeyMultibase === key.publicKeyMultibase &&
        canonicalize(Working.primaryPurposes(text(key.type))) === canonicalize(key.purposes) &&
        ("revokeAllExistingKeys" in asked ? asked.revokeAllExistingKeys : false) === change.revokeAll &&
        (asked.restoreVersion ?? undefined) === change.restoreVersion &&
        (successor == null || record(successor).publicKeyMultibase === change.recoveryKey));
}
// Entries say times in whole seconds.
const secondOf = (time) => (time === undefined ? undefined : instantOf(text(time)) / SECOND);
