// Digital Bazaar's bbs-2023: derives from credentials with base proofs, and verifies what was derived, by either side.
import {createDiscloseCryptosuite, createVerifyCryptosuite} from '@digitalbazaar/bbs-2023-cryptosuite';
import {DataIntegrityProof} from '@digitalbazaar/data-integrity';
import jsigs from 'jsonld-signatures';
import fs from 'fs';

const MULTIKEY = 'https://w3id.org/security/multikey/v1';
const {contexts, cases} = JSON.parse(fs.readFileSync(0, 'utf8'));
const documents = new Map(Object.entries(contexts));
const {AssertionProofPurpose} = jsigs.purposes;

// As an application loads what it knows no context of: from a resolver, as Multikeys.
function resolving(resolver) {
  return async url => {
    const known = documents.get(url);
    if(known !== undefined) {
      return {documentUrl: url, document: known};
    }
    const place = `${resolver}${encodeURIComponent(url)}?publicKeyFormat=Multikey`;
    const answer = await fetch(place, {headers: {accept: 'application/did+ld+json'}});
    if(!answer.ok) {
      throw new Error(`${url}: ${answer.status}`);
    }
    return {documentUrl: url, document: await answer.json()};
  };
}

function loader(method, publicKey) {
  const controller = method.split('#')[0];
  const key = {'@context': MULTIKEY, id: method, type: 'Multikey', controller, publicKeyMultibase: publicKey};
  return async url => {
    const document = url === method ? key : documents.get(url);
    if(document === undefined) {
      throw new Error(`nobody is asked for ${url}`);
    }
    return {documentUrl: url, document};
  };
}

async function resolvedAndVerified(credential, resolver) {
  const documentLoader = resolving(resolver);
  const {document: controller} = await documentLoader(credential.proof.verificationMethod.split('#')[0]);
  const result = await jsigs.verify(credential, {
    suite: new DataIntegrityProof({cryptosuite: createVerifyCryptosuite()}),
    purpose: new AssertionProofPurpose({controller}),
    documentLoader
  });
  return result.verified;
}

async function verified(credential, publicKey) {
  const method = credential.proof.verificationMethod;
  const controller = {id: method.split('#')[0], assertionMethod: [method]};
  const result = await jsigs.verify(credential, {
    suite: new DataIntegrityProof({cryptosuite: createVerifyCryptosuite()}),
    purpose: new AssertionProofPurpose({controller}),
    documentLoader: loader(method, publicKey)
  });
  return result.verified;
}

const answers = [];
for(const {credential, publicKey, pointers, resolver} of cases) {
  if(resolver !== undefined) {
    answers.push(await resolvedAndVerified(credential, resolver));
    continue;
  }
  if(pointers === undefined) {
    answers.push(await verified(credential, publicKey));
    continue;
  }
  answers.push(await jsigs.derive(credential, {
    suite: new DataIntegrityProof({cryptosuite: createDiscloseCryptosuite({selectivePointers: pointers})}),
    purpose: new AssertionProofPurpose(),
    documentLoader: loader(credential.proof.verificationMethod, publicKey)
  }));
}
console.log(JSON.stringify(answers));
