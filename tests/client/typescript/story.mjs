// The jobs of the client at a service that loses answers: the test looks at what comes back.

/** A `fetch` that loses the first answer to each path of `lost`, and requests challenges that are bound to nothing while `unbound`. */
function network() {
  const between = { unbound: false, keys: {}, sent: {} };
  const lost = new Set(["/credentials", "/delegations"]);
  between.fetch = async (target, request) => {
    const url = new URL(target);
    const path = url.pathname.slice("/api/v1".length);
    const key = request.headers.get("Idempotency-Key");
    if (key !== null) (between.keys[path] ??= []).push(key);
    between.sent[request.method] = (between.sent[request.method] ?? 0) + 1;
    if (between.unbound && path === "/auth/challenge") for (const name of ["purpose", "bodyHash", "target"]) url.searchParams.delete(name);
    const response = await fetch(url, request);
    if (lost.delete(path)) throw new TypeError("the answer was lost");
    return response;
  };
  return between;
}

/** Verifies two checkpoints of the ledger, that the later one continues the earlier one, and that it has an entry. */
async function readLedger(id, { verifyCheckpoint, verifyConsistency, verifyInclusion }) {
  const { verifierKey: logKey } = await id.getLedgerKey();
  const earlier = await verifyCheckpoint(await id.getLedgerCheckpoint(), { logKey });
  const { transactionHash: transaction } = await id.createDid({ body: { method: "ids" } });
  const entry = await id.getLedgerInclusionProof({ transaction });
  const later = await verifyCheckpoint(entry.checkpoint, { logKey });
  await verifyInclusion(later, entry);
  await verifyConsistency(earlier, later, await id.getLedgerConsistencyProof({ first: earlier.size, second: later.size }));
  return [earlier.origin === later.origin, later.size - earlier.size];
}

export async function story(client, url, apiKey) {
  const { actionOf, Client, createSigner, IdentityError, signToken } = client;
  const between = network();
  const id = new Client({ url, apiKey, fetch: between.fetch });
  const options = { storeSecrets: true, additionalKeys: [{ type: "Bls12381G2Key2020", purpose: ["assertionMethod"] }] };
  const { did: issuerDid } = await id.createDid({ body: { method: "ids", options } });
  const hana = await createSigner(await id.createDid({ body: { method: "ids" } }));
  const aki = await createSigner(await id.createDid({ body: { method: "ids" } }));
  const { id: schemaId } = await id.createCredentialSchema({ body: { attributes: [{ name: "age", type: "integer" }] } });
  const { id: credentialId } = await id.issueCredential({ body: { issuerDid, holderDid: hana.did, schemaId, attributes: { age: 37 } } });
  const action = await actionOf("age", "gte", 18);
  const terms = { agentDid: aki.did, actions: [action], autonomyLevel: 2, expiresAt: new Date(Date.now() + 3_600_000).toISOString() };
  const delegation = await id.delegate(hana, terms);
  const ibct = await signToken(hana, { target: aki.did, action, delegationRef: delegation.id });
  const predicate = { attributeName: "age", type: "gte", value: 18 };
  const asked = { predicate, challenge: "order 4711 of today", domain: "https://shop.example" };
  const proof = await id.prove(aki, { credentialId, ...asked, ibct });
  const expect = { ...asked, issuerDid };
  const verdicts = [];
  for (const expected of [expect, { ...expect, challenge: "order 4712 of today" }, { challenge: asked.challenge, allowUnbound: true }])
    verdicts.push((await id.verify(proof, expected)).verdict);
  let delegations = 0;
  for await (const _ of id.as(hana).each("listDelegations", {})) delegations += 1;
  const credentials = (await id.as(hana).listCredentials()).items.length;
  const refused = await id.delegate(hana, { ...terms, expiresAt: "2099-01-01T00:00:00Z" }).catch((error) => {
    if (!(error instanceof IdentityError)) throw error;
    return [error.status, error.code, error.remedy, error.requestId];
  });
  const ledger = await readLedger(id, client);
  between.unbound = true;
  const changes = between.sent.PATCH ?? 0;
  const body = { operation: "addService", service: { id: "files", type: "LinkedDomains", serviceEndpoint: "https://hana.example/" } };
  const unsigned = await id.as(hana).updateDid({ did: hana.did, body }).catch((error) => error.message);
  return { verdicts, keys: between.keys, delegations, credentials, refused, ledger, unsigned, changes: (between.sent.PATCH ?? 0) - changes };
}
