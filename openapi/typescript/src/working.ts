// A DID document of ours on which operations are carried out.

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
const TYPES: { readonly [type: string]: { context: string; primary: string[]; secondary: string[] } } = {
  Ed25519VerificationKey2020: { context: "ed25519-2020", primary: SIGNING, secondary: ["authentication"] },
  X25519KeyAgreementKey2020: { context: "x25519-2020", primary: ["keyAgreement"], secondary: ["keyAgreement"] },
  Bls12381G2Key2020: { context: "bls12381-2020", primary: ["assertionMethod"], secondary: ["assertionMethod"] },
};
const MEMBERS: { readonly [operation: string]: string } = {
  addService: "operation,service",
  updateService: "operation,service",
  removeService: "operation,serviceId",
  addVerificationMethod: "operation,verificationMethod",
  removeVerificationMethod: "keyId,operation",
  setAlsoKnownAs: "alsoKnownAs,operation",
};

export class Working {
  constructor(
    private methods: Method[] = [],
    private related: { [relationship: string]: string[] } = {},
    private services: Service[] = [],
    private aliases: string[] = [],
  ) {}

  /** What a document says; whether it says it in our form its `json` tells. */
  static read(document: Json, did: string): Working {
    const list = (name: string): unknown[] => (document[name] === undefined ? [] : (document[name] as unknown[]));
    const working = new Working();
    working.methods = list("verificationMethod").map((one) => {
      const { id, type, publicKeyMultibase } = record(one);
      demand(id === `${did}#${text(publicKeyMultibase)}`, "the fragment of a key's id is not its key");
      return { id, type: text(type), publicKeyMultibase: text(publicKeyMultibase) };
    });
    for (const name of RELATIONSHIPS) if (name in document) working.related[name] = texts(document[name]);
    working.services = list("service").map((one) => {
      const { id, type, serviceEndpoint } = record(one);
      return { id: text(id), type: text(type), serviceEndpoint: text(serviceEndpoint) };
    });
    working.aliases = document.alsoKnownAs === undefined ? [] : texts(document.alsoKnownAs);
    return working;
  }

  static typeOf = (name: string): string => (name === "Ed25519" ? "Ed25519VerificationKey2020" : name);

  static primaryPurposes = (type: string): string[] => TYPES[type]?.primary ?? [];

  copy(): Working {
    const related = Object.fromEntries(Object.entries(this.related).map(([name, ids]) => [name, [...ids]]));
    return new Working(this.methods.map((method) => ({ ...method })), related, [...this.services], [...this.aliases]);
  }

  json(did: string): Json {
    const types = new Set(this.methods.map(({ type }) => type));
    const suites = Object.entries(TYPES).filter(([type]) => types.has(type));
    const contexts = suites.map(([, { context }]) => `https://w3id.org/security/suites/${context}/v1`);
    const hasMessages = this.services.some(({ type }) => type === "DIDCommMessaging");
    const made: Json = {
      "@context": ["https://www.w3.org/ns/did/v1", ...contexts, ...(hasMessages ? ["https://didcomm.org/messaging/contexts/v2"] : [])],
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

  /** Somebody must be left who controls the DID; a key in grace does not count. */
  demandController(): void {
    const left = this.methods.some(({ id, revoked }) => revoked === undefined && this.related.authentication?.includes(id));
    demand(left, "the document has no key for authentication");
  }

  add(did: string, type: string, key: string, purposes: string[], before?: string): void {
    const isKnown = type in TYPES && purposes.length > 0 && purposes.every((name) => TYPES[type]?.primary.includes(name));
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

  /** An operation of updateDid, as a body or an entry says it. */
  apply(step: Json, did: string, isNew: (key: string) => boolean): void {
    const operation = text(step.operation);
    const members = Object.keys(step).filter((name) => operation !== "addVerificationMethod" || name !== "relationships").sort().join();
    demand(MEMBERS[operation] === members, "an operation is unknown, or has other members");
    const fragment = (id: unknown) => this.fragment(text(id), did);
    if (operation === "addService" || operation === "updateService") {
      const { type, serviceEndpoint, id } = record(step.service);
      const name = id === undefined ? this.freeFragment(text(type)) : fragment(id);
      const service = { id: `${did}#${name}`, type: text(type), serviceEndpoint: text(serviceEndpoint) };
      const place = this.services.findIndex((one) => one.id === service.id);
      demand((place === -1) === (operation === "addService"), "the document has this service already, or has no such service");
      this.services.splice(place === -1 ? this.services.length : place, 1, service);
    } else if (operation === "removeService") {
      const place = this.services.findIndex(({ id }) => id === `${did}#${fragment(step.serviceId)}`);
      demand(place !== -1, "the document has no such service");
      this.services.splice(place, 1);
    } else if (operation === "removeVerificationMethod") {
      const id = text(step.keyId);
      this.remove(id.startsWith("#") ? did + id : id);
    } else if (operation === "setAlsoKnownAs") this.aliases = texts(step.alsoKnownAs);
    else {
      const method = record(step.verificationMethod);
      const [type, key] = [Working.typeOf(text(method.type)), text(method.publicKeyMultibase)];
      const said = texts(method.purposes ?? step.relationships ?? []);
      demand(isNew(key), "the key is or has been one of this DID");
      this.add(did, type, key, said.length > 0 ? said : (TYPES[type]?.secondary ?? []));
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
