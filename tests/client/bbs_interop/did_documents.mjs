// jsonld.js: expands DID documents in safe mode, which refuses what their contexts do not define. Gives the types of the services of each,
// or why it is refused.
import fs from 'fs';
import jsonld from 'jsonld';

const {contexts, documents} = JSON.parse(fs.readFileSync(0, 'utf8'));
const documentLoader = async url => {
  if(!Object.hasOwn(contexts, url)) {
    throw new Error(`nobody is asked for ${url}`);
  }
  return {documentUrl: url, document: contexts[url]};
};

const answers = [];
for(const document of documents) {
  try {
    const [expanded] = await jsonld.expand(document, {safe: true, documentLoader});
    const services = expanded['https://www.w3.org/ns/did#service'];
    answers.push(services.map(service => service['@type'][0]));
  } catch(error) {
    answers.push(error.details?.event?.code ?? String(error));
  }
}
console.log(JSON.stringify(answers));
