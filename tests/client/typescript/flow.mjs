// A life of a DID through the client, in Node and in a browser alike: the test looks at what it answers.

const service = (id) => ({
  operation: "addService",
  service: { id, type: "LinkedDomains", serviceEndpoint: "https://hana.example/" },
});

export async function flow({ createIdentity, createSigner, verifyLog, IdentityError }, url, apiKey) {
  const hooks = [0, 0];
  const onRequest = ({ headers }) => {
    hooks[0] += 1;
    headers.set("X-Request-ID", "seen-by-the-hook");
  };
  const id = createIdentity({ url, apiKey, onRequest, onResponse: ({ status }) => void (hooks[1] += status >= 200) });
  const codeOf = (error) => {
    if (!(error instanceof IdentityError)) throw error;
    return [error.status, error.code, error.requestId];
  };
  const created = await id.createDid({ body: { method: "ids", options: { recoveryKey: true } } });
  const { did } = created;
  const hana = await createSigner(created);
  await id.as(hana).updateDid({ did, body: service("files") });
  const rotation = { oldKeyId: created.keys.authentication.keyId, newKeyType: "Ed25519VerificationKey2020" };
  const rotated = await id.as(hana).rotateDidKey({ did, body: rotation });
  const refused = await id.as(hana).updateDid({ did, body: service("notes") }).catch(codeOf);
  const unsigned = await id.updateDid({ did, body: service("notes") }).catch(codeOf);
  const next = await createSigner({ did, keys: { authentication: rotated.newKey } });
  const { didDocumentMetadata } = await id.resolveIdentifier({ identifier: did, versionId: 3 });
  await id.as(next).updateDid({ did, body: service("notes") });
  const { authentication } = (await id.createDid({ body: { method: "ids" } })).keys;
  const newAuthenticationKey = { type: "Ed25519VerificationKey2020", publicKeyMultibase: authentication.publicKey };
  const byRecovery = id.as(await createSigner(created, "recovery"));
  await byRecovery.recoverDid({ did, body: { newAuthenticationKey, revokeAllExistingKeys: true } });
  const history = [];
  for await (const item of id.each("listDidHistory", { did, limit: 2 })) history.push(item.operation);
  await id.as(await createSigner({ did, keys: { authentication } })).deactivateDid({ did, body: { confirm: true, reason: "☂ is über" } });
  // The entries of this method hold no evidence.
  const { did: plain } = await id.createDid({ body: { method: "key" } });
  const log = await id.getDidLog({ did });
  const { versions, deactivated } = await verifyLog(log, { did, now: new Date(Date.now() + 60_000) });
  return { did, log, history, rotation: didDocumentMetadata.versionId, versions, deactivated, refused, unsigned, plain, hooks };
}
