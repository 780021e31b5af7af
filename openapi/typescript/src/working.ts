// A DID document of ours on which operations are carried out.

import { isPublicKey, multikey } from "./codec.js";
import { demand, instantOf, record, text, texts, type Json } from "./entry.js";

export interface Method {
  readonly id: string;
  readonly type: string;
  readonly publicKeyMultibase: string;
  /** The end of a grace period. */
  revoked?: string;
}

type Service = { readonly id: string; readonly type: string; readonly serviceEndpoint: string };

const RELATIONSHIPS = ["authentication", "assertionMethod", "keyAgreement", "capabilityInvocation", "capabilityDelegation"];
const SIGNING = RELATIONSHIPS.filter((name) => name !== "keyAgreement");
// In the order in which a document lists their contexts; with the purposes of a first key, and of a later one.
interface KeyType {
  context: string;
  /** Multicodec, and octets of a raw key. */
  prefix: number[];
  size: number;
  primary: string[];
  secondary: string[];
}
const ASSERTION = { primary: ["assertionMethod"], secondary: ["assertionMethod"] };
const TYPES: { readonly [type: string]: KeyType } = Object.assign(Object.create(null), {
  Ed25519VerificationKey2020: { context: "ed25519-2020", prefix: [0xed, 0x01], size: 32, primary: SIGNING, secondary: ["authentication"] },
  X25519KeyAgreementKey2020: { context: "x25519-2020", prefix: [0xec, 0x01], size: 32, primary: ["keyAgreement"], secondary: ["keyAgreement"] },
  Bls12381G2Key2020: { context: "bls12381-2020", prefix: [0xeb, 0x01], size: 96, ...ASSERTION },
  EcdsaSecp256r1VerificationKey2019: { context: "ecdsa-2019", prefix: [0x80, 0x24], size: 33, ...ASSERTION },
});
// By type of service, in the order in which a document lists them. Logs of before the others were known have DIDComm's alone.
const DIDCOMM = "https://didcomm.org/messaging/contexts/v2";
const SERVICE_CONTEXTS = [
  ["DIDCommMessaging", DIDCOMM],
  ["LinkedDomains", "https://identity.foundation/.well-known/did-configuration/v1"],
  ["LinkedVerifiablePresentation", "https://identity.foundation/linked-vp/contexts/v1"],
];
const MOST_KEYS = 20;
const MOST_SERVICES = 20;
const MOST_ALIASES = 10;
const MOST_OF_URI = 2048;
const FRAGMENT = /^[A-Za-z0-9._~-]{1,64}$/;
const TERM = /^[A-Za-z0-9][A-Za-z0-9._~:/#?=&%+-]{0,255}$/;
const PCHAR = "[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2}";
const QUERY = `(?:${PCHAR}|\\?)*`;
const URI = new RegExp(`^([A-Za-z][A-Za-z0-9+.-]{0,31}):(?://([^/?#]*))?((?:${PCHAR})*(?:\\?${QUERY})?(?:#${QUERY})?)$`);
const AUTHORITY = /^(?:\[[0-9A-Fa-f:.]{2,45}\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+)(?::([0-9]{1,5}))?$/;
const WITH_HOST = ["http", "https", "ws", "wss", "ftp", "ftps"];
// Schemes that a browser runs, or that mean the reader's own machine.
const REFUSED = ["javascript", "vbscript", "livescript", "data", "blob", "file", "filesystem", "jar", "about", "view-source"];
const MEMBERS: { readonly [operation: string]: string } = {
  addService: "operation,service",
  updateService: "operation,service",
  removeService: "operation,serviceId",
  addVerificationMethod: "operation,verificationMethod",
  removeVerificationMethod: "keyId,operation",
  setAlsoKnownAs: "alsoKnownAs,operation",
  setStrictEvidence: "operation,strictEvidence",
};

export class Working {
  constructor(
    private methods: Method[] = [],
    private related: { [relationship: string]: string[] } = {},
    private services: Service[] = [],
    private aliases: string[] = [],
    private contexts: string[] = [],
  ) {}

  /** What a document says; whether it says it in our form its `json` tells. */
  static read(document: Json, did: string): Working {
    const list = (name: string): unknown[] => (document[name] === undefined ? [] : (document[name] as unknown[]));
    const working = new Working();
    for (const one of list("verificationMethod")) {
      const { id, type, publicKeyMultibase } = record(one);
      demand(id === `${did}#${text(publicKeyMultibase)}`, "the fragment of a key's id is not its key");
      const purposes = RELATIONSHIPS.filter((name) => name in document && texts(document[name]).includes(String(id)));
      working.add(did, text(type), text(publicKeyMultibase), purposes);
    }
    working.services = list("service").map((one) => {
      const { id, type, serviceEndpoint } = record(one);
      return { id: text(id), type: text(type), serviceEndpoint: text(serviceEndpoint) };
    });
    working.aliases = document.alsoKnownAs === undefined ? [] : texts(document.alsoKnownAs);
    working.list(document);
    return working;
  }

  static typeOf = (name: string): string => (name === "Ed25519" ? "Ed25519VerificationKey2020" : name);

  static primaryPurposes = (type: string): string[] => TYPES[type]?.primary ?? [];

  copy(): Working {
    const related = Object.fromEntries(Object.entries(this.related).map(([name, ids]) => [name, [...ids]]));
    return new Working(this.methods.map((method) => ({ ...method })), related, [...this.services], [...this.aliases], this.contexts);
  }

  /** The contexts of its services, which it lists if the document before did, or if `document`, which its entry has, does. */
  list(document: Json): void {
    const said = Array.isArray(document["@context"]) ? document["@context"] : [];
    const known = [DIDCOMM, ...this.contexts, ...said];
    const used = SERVICE_CONTEXTS.filter(([type]) => this.services.some((service) => service.type === type));
    this.contexts = used.flatMap(([, context]) => (known.includes(context) ? [context as string] : []));
  }

  json(did: string): Json {
    const types = new Set(this.methods.map(({ type }) => type));
    const suites = Object.entries(TYPES).filter(([type]) => types.has(type));
    const contexts = suites.map(([, { context }]) => `https://w3id.org/security/suites/${context}/v1`);
    const made: Json = {
      "@context": ["https://www.w3.org/ns/did/v1", ...contexts, ...this.contexts],
      id: did,
      controller: did,
    };
    if (this.aliases.length > 0) made.alsoKnownAs = this.aliases;
    if (this.methods.length > 0) made.verificationMethod = this.methods.map((method) => ({ ...method, controller: did }));
    for (const name of RELATIONSHIPS) if (this.related[name]?.length) made[name] = this.related[name];
    if (this.services.length > 0) made.service = this.services;
    return made;
  }

  keys = (): string[] => this.methods.map(({ publicKeyMultibase }) => publicKeyMultibase);

  keysOf = (type: string): string[] => this.methods.filter((method) => method.type === type).map(({ publicKeyMultibase }) => publicKeyMultibase);

  has = (key: string): boolean => this.keys().includes(key);

  method(id: string): Method {
    const found = this.methods.find((method) => method.id === id);
    demand(found !== undefined, "the document has no such key");
    return found;
  }

  purposes = (id: string): string[] => RELATIONSHIPS.filter((name) => this.related[name]?.includes(id));

  /** When the next grace period ends. */
  due(): bigint | undefined {
    const ends = this.methods.flatMap(({ revoked }) => (revoked === undefined ? [] : [instantOf(revoked)]));
    return ends.length === 0 ? undefined : ends.reduce((one, other) => (one < other ? one : other));
  }

  mayAuthenticate(key: string, did: string, at: bigint): boolean {
    const method = this.methods.find(({ publicKeyMultibase }) => publicKeyMultibase === key);
    if (method === undefined || !this.related.authentication?.includes(`${did}#${key}`)) return false;
    return method.revoked === undefined || at < instantOf(method.revoked);
  }

  /** The rules of a document: how much of each there may be, keys of their types, endpoints that are harmless. */
  check(did: string): void {
    const counts = [this.methods.length, this.services.length, this.aliases.length];
    demand([MOST_KEYS, MOST_SERVICES, MOST_ALIASES].every((most, place) => (counts[place] ?? 0) <= most), "the document has too many entries");
    for (const { type, publicKeyMultibase } of this.methods) checkKey(type, publicKeyMultibase);
    for (const { id, type, serviceEndpoint } of this.services) {
      demand(FRAGMENT.test(id.slice(did.length + 1)) && id.startsWith(`${did}#`), "the id of a service is not a fragment of the DID");
      demand(TERM.test(type), "the type of a service is not a term");
      checkUri(serviceEndpoint);
    }
    this.aliases.forEach(checkUri);
    const ids = [...this.methods, ...this.services].map(({ id }) => id);
    demand(new Set(ids).size === ids.length && new Set(this.aliases).size === this.aliases.length, "the document has something twice");
  }

  /** Somebody must be left who controls the DID; a key in grace does not count. */
  demandController(): void {
    const left = this.methods.some(({ id, revoked }) => revoked === undefined && this.related.authentication?.includes(id));
    demand(left, "the document has no key for authentication");
  }

  add(did: string, name: string, key: string, purposes: string[], before?: string): void {
    const type = Working.typeOf(name);
    const isKnown = type in TYPES && new Set(purposes).size === purposes.length && purposes.length > 0 && purposes.every((name) => TYPES[type]?.primary.includes(name));
    demand(isKnown && !this.has(key), "the key is there already, of an unknown type, or cannot serve these purposes");
    const method = { id: `${did}#${key}`, type, publicKeyMultibase: key };
    const insert = <T>(list: T[], item: T, place: number) => void list.splice(place === -1 ? list.length : place, 0, item);
    insert<Method>(this.methods, method, this.methods.findIndex(({ id }) => id === before));
    for (const name of purposes) insert((this.related[name] ??= []), method.id, this.related[name].indexOf(before ?? ""));
  }

  remove(id: string): void {
    this.methods.splice(this.methods.indexOf(this.method(id)), 1);
    for (const [name, ids] of Object.entries(this.related)) this.related[name] = ids.filter((one) => one !== id);
  }

  without(gone: (method: Method) => boolean): Working {
    const left = this.copy();
    for (const { id } of this.methods.filter(gone)) left.remove(id);
    return left;
  }

  /** An operation of updateDid, as a body says it, or an entry without one. */
  apply(step: Json, did: string, isNew: (key: string) => boolean, isBody: boolean): void {
    const operation = text(step.operation);
    const members = Object.keys(step).filter((name) => !(isBody && operation === "addVerificationMethod" && name === "relationships"));
    demand(Object.hasOwn(MEMBERS, operation) && MEMBERS[operation] === members.sort().join(), "an operation is unknown, or has other members");
    const named = (id: unknown) => (isBody ? this.fragment(text(id), did) : text(id));
    if (operation === "addService" || operation === "updateService") {
      const { type, serviceEndpoint, id, ...more } = record(step.service);
      // A body that was signed names its service; an entry may leave the name to its type.
      demand(isBody ? id !== undefined : Object.keys(more).length === 0, "a service has other members");
      demand(id !== undefined || operation === "addService", "the document has no such service");
      const service = { id: `${did}#${id === undefined ? this.freeFragment(text(type)) : named(id)}`, type: text(type), serviceEndpoint: text(serviceEndpoint) };
      const place = this.services.findIndex((one) => one.id === service.id);
      demand((place === -1) === (operation === "addService"), "the document has this service already, or has no such service");
      this.services.splice(place === -1 ? this.services.length : place, 1, service);
    } else if (operation === "removeService") {
      const place = this.services.findIndex(({ id }) => id === `${did}#${named(step.serviceId)}`);
      demand(place !== -1, "the document has no such service");
      this.services.splice(place, 1);
    } else if (operation === "removeVerificationMethod") {
      const id = text(step.keyId);
      this.remove(isBody && id.startsWith("#") ? did + id : id);
    } else if (operation === "setAlsoKnownAs") {
      demand(Array.isArray(step.alsoKnownAs), "alsoKnownAs is not a list");
      this.aliases = (step.alsoKnownAs as unknown[]).map(text);
    } else if (operation === "setStrictEvidence") {
      // The entry says it, not the document.
      demand(isBody && step.strictEvidence === true, "strictEvidence is asked for by a body, and is never turned off");
    } else {
      const method = record(step.verificationMethod);
      const [type, key] = [text(method.type), text(method.publicKeyMultibase)];
      demand(isBody || Object.keys(method).sort().join() === "publicKeyMultibase,purposes,type", "a key has other members");
      const { relationships = [] } = step;
      const said = texts(isBody ? relationships : method.purposes);
      demand(isNew(key), "the key is or has been one of this DID");
      this.add(did, type, key, said.length > 0 || !isBody ? said : (TYPES[Working.typeOf(type)]?.secondary ?? []));
    }
  }

  private fragment(id: string, did: string): string {
    const place = id.lastIndexOf("#");
    demand(["", did].includes(id.slice(0, Math.max(place, 0))) && (place !== -1 || !id.startsWith("did:")), "the service is one of another DID");
    return id.slice(place + 1);
  }

  /** As a service without an id is named: `linkeddomains-1`. */
  private freeFragment(type: string): string {
    const plain = type.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 56);
    const taken = new Set(this.services.map(({ id }) => id.slice(id.indexOf("#") + 1)));
    let ordinal = 1;
    while (taken.has(`${plain || "service"}-${ordinal}`)) ordinal += 1;
    return `${plain || "service"}-${ordinal}`;
  }
}

/** Whether the text is a key of its type; whether one of another type than Ed25519 is a point of its curve is not computed here. */
function checkKey(type: string, key: string): void {
  const kind = TYPES[type];
  demand(kind !== undefined && multikey(key, kind.prefix, kind.size).length === kind.size, "a key is of an unknown type");
  demand(type !== "Ed25519VerificationKey2020" || isPublicKey(key), "a key is one under which anybody signs");
}

/** An absolute ASCII URI without credentials, and of no scheme that runs code or reads local files. */
function checkUri(uri: string): void {
  const [, scheme = "", authority, rest] = (uri.length <= MOST_OF_URI ? URI.exec(uri) : null) ?? [];
  const name = scheme.toLowerCase();
  demand(scheme !== "" && !REFUSED.includes(name), "an address is not a URI, or of a scheme that is not allowed");
  if (authority) {
    const [whole, port = "0"] = AUTHORITY.exec(authority) ?? [];
    demand(whole !== undefined && Number(port) <= 65_535, "an address has a malformed host or port, or credentials");
  } else demand(!WITH_HOST.includes(name) && (authority !== undefined || rest !== ""), "an address names no host");
}
